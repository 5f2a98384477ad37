"""Surveys of interviews: in the list, apart from other surveys, and designed on one page."""

import re
import tomllib
from fractions import Fraction

import pytest

from incrowd.interviews.designs import DESIGNS, ItemDesign, design_of
from incrowd.interviews.devices import DEVICES
from incrowd.studio import interview_design, interview_words
from incrowd.studio.document import version
from incrowd.studio.home import interviews_begun, summaries
from incrowd.studio.interview_designs import (
    DesignSetting,
    Expectation,
    design_in,
    form_of_design,
    new_design,
)
from incrowd.studio.pages import INTERVIEW_STEPS
from tests.conftest import one_in
from tests.oracles.interview_studio import SURVEY


@pytest.fixture
def project(studio):
    return studio.projects.create("Groups", SURVEY)


@pytest.fixture
def change(browser, project):
    """Send a form of the page; return what the file has then."""

    def changing(do, text=None, **fields):
        data = {"do": do, "seen": version(project.text() if text is None else text), **fields}
        answer = browser.post("/p/groups/interview", data=data)
        assert answer.status_code == 303, answer.text
        return tomllib.loads(project.text())

    return changing


def question(content, id):
    return next(each for each in content["question"] if each["id"] == id)


ARMED = {"of": "armed", "short_name": "armed", "type": "yesno", "tags": "en", "text.en": "Did you?"}
SIZE = {"die": "dice", "spinner": "sectors", "cards": "cards", "coin": "tosses"}


class TestAmongOtherSurveys:
    def test_one_form_begins_it_with_a_device(self, browser, studio):
        german = {"Accept-Language": "de"}
        new = {"title": "Drogen", "device": "birthday"}
        answer = browser.post("/new-interviews", data=new, headers=german)
        assert answer.headers["location"] == "/p/drogen/interview"
        content = studio.projects.open("drogen").document().content
        assert content == {"name": "Drogen", "language": "de", "device": {"kind": "birthday"}}
        refused = browser.post("/new-interviews", data={"title": "A", "device": "oracle"})
        assert refused.status_code == 422 and "oracle" in refused.text

    def test_an_example_opens_with_its_report(self, browser, studio):
        answer = browser.post("/example-interviews")
        assert answer.headers["location"] == "/p/work-and-benefits/report"
        page = browser.get(answer.headers["location"])
        assert page.status_code == 200 and "undeclared" in page.text
        assert studio.projects.open("work-and-benefits").typed_answers.stat().st_mode & 0o077 == 0

    def test_the_list_says_how_far_it_is(self, browser, studio, project):
        def line():
            return next(each for each in summaries(studio.projects) if each.name == "groups")

        assert (line().stage.name, line().questions, line().people) == ("designed", 2, 300)
        assert f'href="/p/groups/{line().stage.next.step}"' in browser.get("/").text
        (project.path / "answers.csv").write_text("armed,paid\n")
        assert line().stage.name == "read"
        project.survey_path.write_text(SURVEY.replace('"1/6", no', '"1/7", no'))
        assert line().stage.name == "broken"
        project.survey_path.write_text(interviews_begun("Groups", "die"))
        assert line().stage.name == "empty"

    @pytest.mark.parametrize("step", one_in(3, ["results", "precision", "publish", "watch"]))
    def test_pages_of_other_surveys_lead_back(self, browser, project, step):
        page = browser.get(f"/p/groups/{step}")
        assert page.status_code == 200
        assert "answered in interviews" in page.text and 'href="/p/groups/interview"' in page.text
        assert 'href="/p/groups/precision"' not in page.text
        for step_of_interviews, _ in INTERVIEW_STEPS:
            assert f'href="/p/groups/{step_of_interviews}"' in page.text

    def test_other_surveys_have_no_pages_of_interviews(self, browser, studio):
        studio.projects.create("Health", 'name = "Health"\ncrowd = 1000\n')
        page = browser.get("/p/health/interview")
        assert "not answered in interviews" in page.text
        assert 'href="/p/health/design"' in page.text
        refused = browser.post("/p/health/interview", data={"do": "undo"})
        assert refused.status_code == 422 and "not answered in interviews" in refused.text

    def test_the_usual_design_leads_to_its_own(self, browser, project):
        answer = browser.get("/p/groups/design")
        assert (answer.status_code, answer.headers["location"]) == (303, "/p/groups/interview")
        assert browser.post("/p/groups/design", data={"do": "undo"}).status_code == 422

    def test_a_broken_text_keeps_its_pages(self, browser, change, project):
        change("survey", name="New", device="die")
        project.survey_path.write_text(project.text().replace('name = "New"', "name = "))
        page = browser.get("/p/groups/interview").text
        assert "not a valid survey file" in page and 'href="/p/groups/answers"' in page

    def test_its_history_works(self, browser, change, project):
        change("survey", name="New", device="die")
        page = browser.get("/p/groups/history").text
        assert "name was &#34;Groups&#34;, and is now &#34;New&#34;" in page
        versions = re.findall(r"/p/groups/history/(\w+)", page)
        seen = version(project.text())
        browser.post(f"/p/groups/history/{versions[-1]}/restore", data={"seen": seen})
        assert project.text() == SURVEY


class TestChanges:
    def test_the_survey_has_its_values(self, change):
        content = change("survey", name="New", device="die", dice="2", people="500", share="12,5")
        assert content["name"] == "New"
        assert content["device"] == {"kind": "die", "dice": 2}
        assert content["aim"] == {"people": 500, "share": 0.125}

    def test_another_device_has_its_own_size(self, change):
        change("survey", name="A", device="die", dice="2")
        content = change("survey", name="A", device="cards", dice="2")
        assert content["device"] == {"kind": "cards"}

    def test_groups_come_with_their_column_and_go_without_a_trace(self, change):
        content = change("survey", name="A", device="die", groups="1, 2")
        assert content["groups"] == {"codes": ["1", "2"]}
        assert content["columns"] == {"group": "group"}
        content = change("set", **ARMED, **{"0.kind": "forced", "1.kind": "direct"})
        kinds = [each["kind"] for each in question(content, "armed")["designs"]]
        assert kinds == ["forced", "direct"]
        content = change("survey", name="A", device="die", groups="")
        assert "groups" not in content and "columns" not in content
        assert question(content, "armed")["design"]["kind"] == "forced"

    @pytest.mark.parametrize("device", one_in(5, DEVICES))
    def test_a_new_question_has_a_design_that_the_device_realizes(self, browser, studio, device):
        studio.projects.create(device, interviews_begun("A", device))
        project = studio.projects.open(device)
        data = {"do": "add", "seen": version(project.text()), "text": "Do you?", "type": "yesno"}
        browser.post(f"/p/{device}/interview", data=data)
        survey = project.interviews()
        assert survey.items[0].design.ratio <= 5 * Fraction(6, 5)

    def test_a_choice_of_the_list_is_written(self, change):
        content = change("set", **ARMED, **{"0.kind": "forced", "0.choice": "1/3"})
        assert question(content, "armed")["design"] == {"kind": "forced", "no": "1/3", "yes": "1/3"}

    def test_a_choice_does_not_change_facts_about_people(self, change):
        change("set", **ARMED, **{"0.kind": "unrelated"})
        facts = {"0.kind": "unrelated", "0.p": "5/6", "0.prevalence": "1/4"}
        change("set", **ARMED, **facts, **{"0.question.en": "Born in spring?"})
        picked = {**facts, "0.choice": "1/2", "0.question.en": "Born in spring?"}
        asked = question(change("set", **ARMED, **picked), "armed")
        assert asked["design"] == {
            "kind": "unrelated",
            "p": "1/2",
            "prevalence": "1/4",
            "question": "Born in spring?",
        }

    def test_what_is_typed_counts_more_than_the_list(self, change):
        typed = {"0.kind": "forced", "0.choice": "1/3", "0.forced.0": "1/6", "0.forced.1": "2/6"}
        design = question(change("set", **ARMED, **typed), "armed")["design"]
        assert design == {"kind": "forced", "no": "1/6", "yes": "2/6"}

    def test_a_statement_has_its_wordings(self, change):
        change("set", **ARMED, **{"0.kind": "crosswise"})
        both = ARMED | {"tags": "en de", "text.de": "Haben Sie?"}
        words = {"0.kind": "crosswise", "0.statement.en": "In May.", "0.statement.de": "Im Mai."}
        asked = question(change("set", **both, **words), "armed")
        assert asked["text"] == {"en": "Did you?", "de": "Haben Sie?"}
        assert asked["design"]["statement"] == {"en": "In May.", "de": "Im Mai."}

    @pytest.mark.parametrize("kind", one_in(4, sorted(DESIGNS.keys() - {"matrix"})))
    def test_every_design_has_its_form(self, browser, change, kind):
        design = question(change("set", **ARMED, **{"0.kind": kind}), "armed")["design"]
        assert design["kind"] == kind
        page = browser.get("/p/groups/interview?open=armed")
        assert page.status_code == 200, page.text
        assert f'<option value="{kind}" selected>' in page.text

    def test_probabilities_follow_renamed_and_removed_answers(self, change):
        names = ("never", "once", "often")
        rows = {f"was.{n}": name for n, name in enumerate(names)}
        rows |= {"option.0": "not", "option.1": "once", "option.2": "often", "row": "remove.2"}
        paid = {"of": "paid", "short_name": "paid", "type": "choice", "tags": "en"}
        asked = question(change("set", **paid, **rows, **{"0.kind": "forced"}), "paid")
        assert asked["options"] == ["not", "once"]
        assert asked["design"]["forced"] == {"not": "1/6", "once": "1/6"}

    def test_codes_of_the_data_stay(self, browser, project, change):
        text = SURVEY.replace('type = "yesno"', 'type = "yesno"\nvalues = { 7 = "yes", 8 = "no" }')
        project.survey_path.write_text(text)
        asked = question(change("set", **ARMED, **{"0.kind": "forced"}), "armed")
        assert asked["values"] == {"7": "yes", "8": "no"}

    def test_questions_move_and_go_and_comments_stay(self, change, project):
        content = change("order", down="armed")
        assert [each["id"] for each in content["question"]] == ["paid", "armed"]
        assert '# about an armed group\n[[question]]\nid = "armed"' in project.text()
        content = change("order", remove="paid")
        assert [each["id"] for each in content["question"]] == ["armed"]
        assert len(change("undo")["question"]) == 2

    def test_a_form_without_changes_changes_nothing(self, change, project):
        page = {"0.kind": "forced", "0.choice": "1/6", "0.forced.0": "1/6", "0.forced.1": "1/6"}
        change("set", **ARMED | {"text.en": "Did you work with an armed group?"}, **page)
        assert project.text() == SURVEY

    def test_an_edit_of_an_older_version_is_refused(self, browser, project):
        old = project.text()
        project.survey_path.write_text(old.replace("Groups", "Elsewhere"))
        data = {"do": "survey", "seen": version(old), "name": "Here", "device": "die"}
        answer = browser.post("/p/groups/interview", data=data)
        assert answer.status_code == 409 and "Elsewhere" in answer.text
        assert 'action="/p/groups/interview"' in answer.text
        data["insist"] = version(project.text())
        browser.post("/p/groups/interview", data=data)
        assert project.title == "Here"


class TestMistakes:
    def problems(self, project, opened=""):
        return interview_design.page_of(project, opened)

    def about(self, part, key):
        return [str(problem) for each, problem in part.problems if each == key]

    def test_they_are_at_their_question_and_their_group(self, project):
        text = SURVEY.replace('"1/6", no = "1/6"', '"1/7", no = "1/6"')
        project.survey_path.write_text(text)
        page = self.problems(project, "armed")
        (wrong,) = self.about(page.questions[0], "design 0")
        assert "29/42" in wrong  # 1 - 1/7 - 1/6: the truth
        assert page.questions[1].problems == () and page.problems == ()

    def test_they_are_at_the_part_of_the_survey(self, project):
        project.survey_path.write_text(SURVEY.replace('kind = "die"', 'kind = "die"\ndice = 3'))
        assert self.about(self.problems(project), "device")

    def test_a_page_shows_them(self, browser, project):
        project.survey_path.write_text(SURVEY.replace('"1/6", no', '"5/6", no'))
        page = browser.get("/p/groups/interview?open=armed").text
        assert "no probability for the truth" in page
        assert page.count('class="warn fault"') == 1

    def test_a_survey_without_questions_has_none(self, project):
        project.survey_path.write_text(interviews_begun("Groups", "die"))
        page = self.problems(project)
        assert (page.problems, page.is_ready) == ((), False)


def setting(device, answers=("no", "yes"), design=None, **expected):
    return DesignSetting(device, answers, answers, Expectation(**expected), (design,))


class TestTheShortList:
    @pytest.mark.parametrize("device", one_in(3, DEVICES))
    @pytest.mark.parametrize("kind", ["forced", "warner", "crosswise", "kuk", "mangat"])
    def test_the_device_realizes_each_choice(self, device, kind):
        held = DEVICES[device]()
        form = form_of_design(0, {"kind": kind}, setting(held))
        assert form.choices
        for each in form.choices:
            assert held.realizes(Fraction(each.value))

    def test_the_promise_is_that_of_the_matrix(self):
        raw = {"kind": "warner", "p": "5/6"}
        form = form_of_design(0, raw, setting(DEVICES["die"](), design=design_in(raw)))
        promises = {each.value: " ".join(map(str, each.promise)) for each in form.choices}
        assert "more than 5 times as sure" in promises["5/6"]  # (5/6) / (1/6)
        assert "more than 2 times as sure" in promises["2/3"]  # (4/6) / (2/6)
        assert [each.value for each in form.choices if each.chosen] == ["5/6"]

    def test_the_error_is_that_of_the_formula(self):
        """Warner (1965): the variance of the share is (λ(1 - λ)) / (n (2p - 1)²)."""
        share, people, p = 0.2, 300, 5 / 6
        reported = p * share + (1 - p) * (1 - share)
        error = (reported * (1 - reported) / people) ** 0.5 / (2 * p - 1)
        raw = {"kind": "warner", "p": "5/6"}
        chosen = setting(DEVICES["die"](), design=design_in(raw), share=share, people=people)
        form = form_of_design(0, raw, chosen)
        shown = {each.value: each.error for each in form.choices}
        assert shown["5/6"] == f"{100 * error:.1f}"

    def test_probabilities_beyond_the_list_are_shown_beside_it(self):
        raw = {"kind": "forced", "yes": "1/6", "no": "2/6"}
        form = form_of_design(0, raw, setting(DEVICES["die"](), design=design_in(raw)))
        assert not any(each.chosen for each in form.choices)
        assert form.other.chosen and ("the truth", "3/6") in [
            (str(what), share) for what, share in form.other.steps
        ]

    def test_every_design_has_a_name_and_usual_probabilities(self):
        assert interview_words.DESIGN_NAMES.keys() == DESIGNS.keys()
        assert interview_words.DEVICE_NAMES.keys() == DEVICES.keys()
        for kind in DESIGNS.keys() - {"matrix"}:
            raw = new_design(kind, DEVICES["die"](), ("no", "yes"))
            assert not [*ItemDesign(("no", "yes"), (design_of(raw),)).problems()]
