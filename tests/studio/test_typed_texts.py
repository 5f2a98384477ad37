"""Texts as browsers and word processors send them, from the forms to the bundle."""

import json

import pytest

import incrowd
from incrowd.characters import HIDDEN, on_one_line, texts, typed
from incrowd.collection.protocol.bundle import Bundle
from incrowd.studio.document import version
from incrowd.studio.preparation import perform
from incrowd.survey import Survey
from tests.oracles.locked_survey import CHOICES

TEXT = """\
name = "Work"
crowd = 1000

[privacy]
epsilon = 1.0
delta = 1e-6

[[question]]
id = "ill"
type = "choice"
text = "Work?"
options = ["often", "never"]
"""
WORD = "Arbeits\u00adunfähig\u00adkeit"
PASTED = f"\ufeff{WORD}?\x0bHave you\u00a0come\r\nto work\u2028although\u200b you\twere ill\u2060?"
PLAIN = "Arbeitsunfähigkeit?\nHave you\u00a0come\nto work\nalthough you were ill?"


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\x0bb\x0cc\x85d\u2028e\u2029f", "a\nb\nc\nd\ne\nf"),
        ("co\u00adop\u200bera\ufefftion\u2060", "cooperation"),
        ("one\ttwo", "one two"),
        ("\u202eabc\u202c", "abc"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # Persian is written with it
        ("a\u00a0b – “c” 👩\u200d👧", "a\u00a0b – “c” 👩\u200d👧"),
    ],
)
def test_what_nobody_types_is_removed(sent, meant):
    assert typed(sent) == meant
    assert HIDDEN.search(typed(sent).replace("\n", "")) is None
    assert "\n" not in on_one_line(typed(sent))


def test_pasted_texts_reach_the_bundle(browser, studio):
    project = studio.projects.create("Work", TEXT)

    def send(do, **fields):
        fields |= {"do": do, "seen": version(project.text()), "tags": "en de"}
        answer = browser.post("/p/work/design", data=fields)
        assert answer.status_code == 303, answer.text

    rows = {"option.0": "of\u00adten", "was.0": "often", "option.1": "never\x0bat all"}
    rows |= {"label.0.de": "O\u00adft\u2028sehr", "label.1.en": "Not\tat\r\nall", "was.1": "never"}
    shown = {"of": "ill", "short_name": "ill", "type": "choice", "text.en": PASTED}
    send("set", **shown, **rows, **{"help.en": PASTED})
    send("page", **{"consent.en": PASTED, "thanks.en": PASTED, "consent.de": WORD})
    send("survey", name=f"{WORD}\r\nWork", crowd="1000")
    send("add-section", title=f"{WORD}\x0b2", q="ill")
    section = project.document().content["section"][0]["id"]
    titles = {"title.en": f"{WORD}\r\nTwo", "text.en": PASTED}
    send("part", kind="section", of=section, **titles)
    choices = {"choice": "both", "address-shuffler": "mix.example", "introduction": PASTED}
    choices |= {"address-collector": "count.example", "invitations": "1200", "version": version("")}
    choices |= {"period": f"{WORD}\t2027", "opens": CHOICES["opens"], "closes": CHOICES["closes"]}
    assert browser.post("/p/work/publish/choices", data=choices).status_code == 303
    survey = project.survey()
    project.plan_path.write_text(incrowd.plan(survey).dumps())
    for step in ("collector-key", "package", "bundle"):
        perform(project, step, "en")
    bundle = Bundle.parse((project.path / "shuffler" / "bundle.json").read_bytes())
    assert bundle.wording.introduction == PLAIN
    assert bundle.period == "Arbeitsunfähigkeit 2027"
    said = {text for _, text in texts(json.loads(bundle.encoded))}
    assert {PLAIN, "Arbeitsunfähigkeit Work", "Arbeitsunfähigkeit Two", "Not at all"} <= said
    assert "Oft sehr" in said and "never at all" in bundle.plan.survey.questions[0].choices


def test_codes_of_a_file_stay_as_they_are(browser, studio):
    text = TEXT.replace('options = ["often"', 'values = { "a\\tb" = "often" }\noptions = ["often"')
    project = studio.projects.create("Work", text)
    fields = {"do": "set", "seen": version(text), "of": "ill", "short_name": "ill"}
    fields |= {"type": "choice", "text.en": "Ill?", "tags": "en"}
    fields |= {"option.0": "often", "was.0": "often", "code.0": "a\tb"}
    fields |= {"option.1": "never", "was.1": "never", "code.1": "", "missing": "x\u00ad, 9"}
    assert browser.post("/p/work/design", data=fields).status_code == 303
    asked = project.document().content["question"][0]
    assert asked["values"] == {"a\tb": "often"} and asked["missing"] == ["x\u00ad", "9"]


def test_tabs_in_the_file_stay(browser, studio):
    project = studio.projects.create("Work", TEXT)
    text = TEXT.replace('name = "Work"', 'name = "Wo\u00adrk"\t# here')
    fields = {"do": "text", "seen": version(TEXT), "toml": text.replace("\n", "\r\n")}
    assert browser.post("/p/work/design", data=fields).status_code == 303
    assert project.text() == text.replace("\u00ad", "")
    assert Survey.load(project.survey_path).name == "Work"
