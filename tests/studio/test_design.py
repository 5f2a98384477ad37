"""The page on which a survey is designed: forms in, the survey file out."""

import re
import time
import tomllib

import pytest
from starlette.datastructures import FormData

from incrowd.studio.document import version
from incrowd.studio.question_form import changed_question, new_id, numbers_of
from incrowd.survey import Survey

TEXT = """\
# Ours.
name = "Health"
crowd = 1000

[privacy]
epsilon = 1.0

[[question]]
id = "smokes"
type = "yesno"
text = "Do you smoke?"

[[question]]
id = "health"  # of oneself
type = "choice"
options = ["good", "fair", "poor"]
text = { en = "How are you?", de = "Wie geht es Ihnen?" }
labels = { good = { en = "Good", de = "Gut" } }

[[question]]
id = "age"
type = "number"
edges = [0, 18, 65]
shares = { "0 to <18" = 0.2, "18 to <65" = 0.5, "65 or more" = 0.3 }

[[table]]
questions = ["smokes", "health"]
"""
HTMX = {"HX-Request": "true"}


@pytest.fixture
def project(studio):
    return studio.projects.create("Health", TEXT)


@pytest.fixture
def raw(project):
    return lambda: tomllib.loads(project.text())


FORM = re.compile(r'<form method="post"[^>]*id="editor">.*?</form>', re.DOTALL)


def fields_of(html):
    """The fields of the form of the open question, as a browser would send them."""
    form = FORM.search(html)[0]
    fields = {}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = re.search(r'name="([^"]*)"', tag)[1], re.search(r'value="([^"]*)"', tag)
        if 'type="checkbox"' not in tag:
            fields[name] = value[1] if value else ""
        elif " checked" in tag:
            fields[name] = "on"
    for name, text in re.findall(
        r'<textarea[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>', form, re.S
    ):
        fields[name] = text
    fields["type"] = re.search(r'<option value="(\w+)" selected', form)[1]
    return fields


@pytest.fixture
def opened(browser, project):
    def fields(id):
        return fields_of(browser.get(f"/p/health/design?open={id}").text)

    return fields


@pytest.fixture
def post(browser, project):
    def posted(do, *, status=200, headers=HTMX, **fields):
        data = {"do": do, "seen": version(project.text()), **fields}
        response = browser.post("/p/health/design", data=data, headers=headers)
        assert response.status_code == status, response.text
        return response

    return posted


@pytest.fixture
def save(browser, opened):
    def saved(of, /, *, status=200, **fields):
        data = opened(of) | fields
        response = browser.post("/p/health/design", data=data, headers=HTMX)
        assert response.status_code == status, response.text
        return response

    return saved


@pytest.mark.parametrize("id", ["smokes", "health", "age"])
def test_a_form_that_is_sent_as_it_was_shown_changes_nothing(save, project, id):
    save(id)
    assert project.text() == TEXT


def test_a_question_is_edited_in_place(save, raw, project):
    save("health", **{"text.en": "How do you feel?", "is.optional": "on", "share.0": "50"})
    asked = raw()["question"][1]
    assert asked["text"] == {"en": "How do you feel?", "de": "Wie geht es Ihnen?"}
    assert asked["optional"] is True and asked["shares"] == {"good": 0.5}
    assert "# Ours." in project.text() and "# of oneself" in project.text()


def test_options_are_renamed_moved_removed_and_added(save, raw):
    save("health", **{"option.0": "well", "row": "down.0"})
    asked = raw()["question"][1]
    assert asked["options"] == ["fair", "well", "poor"]
    assert asked["labels"] == {"well": {"en": "Good", "de": "Gut"}}
    save("health", row="remove.2", more="awful\r\n\r\ndead\r\nfair")
    assert raw()["question"][1]["options"] == ["fair", "well", "awful", "dead"]


def test_codes_and_missing(save, raw):
    save("health", **{"code.0": "1, 5", "code.2": "3", "missing": "9, NA"})
    asked = raw()["question"][1]
    assert asked["values"] == {"1": "good", "5": "good", "3": "poor"}
    assert asked["missing"] == ["9", "NA"]
    save("health", missing="")
    assert "missing" not in raw()["question"][1]


def test_codes_that_a_form_cannot_show_stay_unless_they_are_changed():
    """The wrong variant drops the code of blank cells, and takes a code with a comma for two."""
    values = {"x, y": "yes", "": "no"}
    before = {"id": "a", "type": "yesno", "values": values}
    shown = {"type": "yesno", "short_name": "a", "was.0": "yes", "option.0": "yes"}
    form = FormData(shown | {"code.0": "x, y", "was.1": "no", "option.1": "no", "code.1": ""})
    assert changed_question(before, form, "en")[0]["values"] == values
    changed = FormData([*form.items(), ("code.0", "z")])
    assert changed_question(before, changed, "en")[0]["values"] == {"z": "yes", "": "no"}


@pytest.mark.parametrize("wrong", ["Deutsch!", "fr de_AT", "a" * 40])
def test_a_wrong_tag_of_a_language_is_named(browser, project, wrong):
    for headers in (HTMX, {}):
        response = browser.get("/p/health/design", params={"also": wrong}, headers=headers)
        assert response.status_code == 422
        assert "should be the tag of a language" in response.text
        assert wrong.split()[-1] in response.text


def test_several_languages_are_added_at_once(browser, project):
    page = browser.get("/p/health/design", params={"also": "fr, de-AT"}).text
    assert 'name="also" maxlength="60" autocomplete="off" value="fr de-AT"' in page


def test_a_second_language_makes_a_table_of_the_text(browser, opened, raw):
    page = browser.get("/p/health/design?open=smokes&also=fr").text
    fields = fields_of(page) | {"text.fr": "Fumez-vous ?", "label.1.fr": "Oui", "label.1.en": "Yes"}
    assert browser.post("/p/health/design", data=fields, headers=HTMX).status_code == 200
    asked = raw()["question"][0]
    assert asked["text"] == {"en": "Do you smoke?", "fr": "Fumez-vous ?"}
    assert asked["labels"] == {"no": {"en": "Yes", "fr": "Oui"}}


@pytest.mark.parametrize(
    ("id", "kind", "expected"),
    [
        ("smokes", "choice", {"options": ["yes", "no"]}),
        ("smokes", "number", {"edges": [0, 10, 20]}),
        ("health", "multi", {"at_most": 2, "options": ["good", "fair", "poor"]}),
        ("health", "text", {}),
        ("age", "amount", {"edges": [0, 18, 65]}),
        ("age", "yesno", {}),
    ],
)
def test_another_type_leaves_a_survey_without_mistakes(save, project, raw, id, kind, expected):
    if kind == "text":
        project.save(TEXT.partition("[[table]]")[0], expected=version(TEXT))
    save(id, type=kind)
    asked = next(each for each in raw()["question"] if each["id"] == id)
    assert asked["type"] == kind and {key: asked.get(key) for key in expected} == expected
    assert "options" in asked if kind in ("choice", "multi") else "options" not in asked
    Survey.of(raw())


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (("200", "40", "10"), {"good": 0.8, "fair": 0.16, "poor": 0.04}),
        (("70", "20", "10"), {"good": 0.7, "fair": 0.2, "poor": 0.1}),
    ],
)
def test_shares_are_typed_in_percent_or_as_numbers_of_people(save, raw, typed, kept):
    save("health", **{f"share.{place}": text for place, text in enumerate(typed)})
    assert raw()["question"][1]["shares"] == kept


def test_numbers_of_people_are_typed_one_after_the_other(save, raw):
    save("health", **{"share.0": "200"})
    save("health", **{"share.1": "40"})
    save("health", **{"share.2": "10"})
    assert raw()["question"][1]["shares"] == {"good": 0.8, "fair": 0.16, "poor": 0.04}


def test_new_edges_drop_the_shares_of_the_old_ones(save, raw):
    save("age", edges="0; 20,5; 70")
    assert raw()["question"][2]["edges"] == [0, 20.5, 70]
    assert "shares" not in raw()["question"][2]


def test_a_renamed_question_is_followed_and_the_page_says_so(save, raw):
    response = save("health", short_name="condition")
    assert raw()["table"] == [{"questions": ["smokes", "condition"]}]
    assert "This refers to it and was adjusted: smokes × health" in response.text
    assert response.headers["hx-replace-url"].endswith("open=condition")


def test_questions_come_move_and_go(post, raw):
    post("add", text="How much do you drink?", type="number", edges="0 1 2")
    assert raw()["question"][3] == {
        "id": "how_much_do",
        "type": "number",
        "text": "How much do you drink?",
        "edges": [0, 1, 2],
    }
    post("order", up="how_much_do")
    assert [each["id"] for each in raw()["question"]][2:] == ["how_much_do", "age"]
    response = post("order", remove="smokes")
    assert "“Do you smoke?” was removed." in response.text and "smokes × health" in response.text
    assert "table" not in raw()
    post("undo")
    assert raw()["table"] == [{"questions": ["smokes", "health"]}]
    post("redo")
    assert "table" not in raw()


@pytest.mark.parametrize("kind", ["yesno", "choice", "multi", "number", "amount", "text"])
def test_every_new_question_can_be_planned(post, raw, kind):
    post("add", text="What?", type=kind)
    Survey.of(raw())


def test_tables_are_chosen_in_a_matrix(post, raw):
    post("tables", pair=["0-2", "1-2"])
    assert raw()["table"] == [{"questions": ["smokes", "age"]}, {"questions": ["health", "age"]}]
    post("table", q=["smokes", "health", "age"])
    assert raw()["table"][2] == {"questions": ["smokes", "health", "age"]}
    post("tables", pair=[])
    assert raw()["table"] == [{"questions": ["smokes", "health", "age"]}]
    post("no-table", q=["age", "smokes", "health"])
    assert "table" not in raw()
    post("tables", tables="pairs")
    assert raw()["tables"] == "pairs"
    post("tables", pair=["0-99", "x", "1-"], tables="")
    assert "tables" not in raw() and "table" not in raw()


def test_regressions_are_built_and_changed(post, raw):
    post("regression", outcome="smokes", on=["age", "health"], further="health=poor:age")
    assert raw()["regression"] == [
        {"outcome": "smokes", "on": ["age", "health", "health=poor:age"]}
    ]
    response = post(
        "regression", outcome="smokes", on=["age"], further="", place="0", penalty="firth"
    )
    assert raw()["regression"] == [{"outcome": "smokes", "on": ["age"], "penalty": "firth"}]
    assert "Do you smoke? ~ age" in response.text
    post("no-regression", place="0")
    assert "regression" not in raw()
    assert "at least one predictor" in post("regression", outcome="smokes", status=422).text


def test_the_survey_as_a_whole(post, raw, project):
    fields = {"name": "New", "language": "en", "crowd": "20.000", "epsilon": "0,5", "delta": ""}
    post("survey", **fields, local_epsilon="8", rounds="3", colluding="0", rows_per_person="1")
    assert raw() | {"question": 0, "table": 0} == {
        "name": "New",
        "crowd": 20000,
        "privacy": {"epsilon": 0.5, "local_epsilon": 8.0},
        "rounds": 3,
        "question": 0,
        "table": 0,
    }
    assert "# Ours." in project.text()


@pytest.mark.parametrize(
    ("do", "fields", "message"),
    [
        ("survey", {"name": "A", "language": "<b>"}, "language: got &#39;&lt;b&gt;&#39;"),
        ("add", {"text": "x", "type": "what"}, "use one of yesno"),
        ("add", {"short_name": "age", "type": "yesno"}, "another question already has this name"),
        ("order", {"remove": "nothing"}, "no longer in the survey"),
        ("table", {"q": "age"}, "at least two questions"),
        ("no-regression", {"place": "7"}, "no longer there"),
        ("what", {}, "use one of survey"),
        ("set", {"of": "nothing"}, "no longer in the survey"),
    ],
)
def test_a_mistake_changes_nothing_and_says_what_would_work(post, project, do, fields, message):
    assert message in post(do, status=422, **fields).text
    assert project.text() == TEXT


def test_without_script_every_change_leads_back_to_the_page(post, raw):
    response = post("order", status=303, headers={}, up="age", open="age")
    assert response.headers["location"] == "/p/health/design?open=age"
    assert [each["id"] for each in raw()["question"]] == ["smokes", "age", "health"]


def test_what_is_not_a_number_is_kept_and_the_survey_says_what_is_wrong(post, raw):
    page = post("survey", name="", crowd="many", epsilon="1,5", colluding="0.5").text
    assert raw()["crowd"] == "many" and "name" not in raw() and raw()["colluding"] == 0.5
    assert raw()["privacy"]["epsilon"] == 1.5
    assert "crowd: got &#39;many&#39;; should be a whole number" in page
    assert 'value="many"' in page and "colluding: got 0.5" in page


def test_edits_of_one_window_follow_each_other(browser, post, opened, raw):
    """Two forms that were filled before the first was sent; the second has the version after it."""
    question = opened("smokes") | {"text.en": "Do you smoke now?"}
    first = post("survey", name="Other")
    assert browser.post("/p/health/design", data=question, headers=HTMX).status_code == 409
    newest = first.headers["survey-version"]
    second = browser.post("/p/health/design", data=question | {"at": newest}, headers=HTMX)
    assert second.status_code == 200
    assert raw()["name"] == "Other" and raw()["question"][0]["text"] == "Do you smoke now?"


def test_an_edit_of_an_older_version_is_refused_with_what_was_changed(
    browser, post, opened, project, raw
):
    form = opened("smokes") | {"text.en": "Did you smoke?", "label.1.en": "Yes"}
    post("survey", name="Other")
    response = browser.post("/p/health/design", data=form, headers=HTMX)
    assert response.status_code == 409 and "survey-version" not in response.headers
    assert (
        "name: was &#34;Health&#34; and was changed elsewhere to &#34;Other&#34;" in response.text
    )
    assert 'name="text.en" value="Did you smoke?"' in response.text
    agreed = re.search(r'name="insist" value="(\w{64})"', response.text)[1]
    assert agreed == version(project.text())
    post("survey", name="Third")
    again = browser.post("/p/health/design", data=form | {"insist": agreed}, headers=HTMX)
    assert again.status_code == 409 and "Third" in again.text  # another one, which was not shown
    agreed = re.search(r'name="insist" value="(\w{64})"', again.text)[1]
    done = browser.post("/p/health/design", data=form | {"insist": agreed}, headers=HTMX)
    assert done.status_code == 200
    asked = raw()["question"][0]
    assert asked["text"] == "Did you smoke?" and asked["labels"] == {"no": "Yes"}
    assert raw()["name"] == "Third"


def test_answers_come_back_with_the_type_that_they_belong_to(save, raw):
    before = raw()["question"][1]
    save("health", type="yesno", **{"label.1.en": "Yes"})
    assert "options" not in raw()["question"][1] and raw()["question"][1]["type"] == "yesno"
    save("health", type="choice")
    assert raw()["question"][1] == before
    save("age", type="yesno")
    save("age", type="number")
    assert raw()["question"][2]["shares"]["65 or more"] == 0.3
    save("health", **{"option.2": "bad"})
    save("health", type="multi", at_most="2")
    assert raw()["question"][1]["options"] == ["good", "fair", "bad"]  # nothing older comes back


def test_one_translated_answer_leaves_a_survey_without_mistakes(browser, raw):
    page = browser.get("/p/health/design?open=health&also=fr").text
    fields = fields_of(page) | {"label.2.fr": "mauvaise"}
    response = browser.post("/p/health/design", data=fields, headers=HTMX)
    assert raw()["question"][1]["labels"]["poor"] == {"fr": "mauvaise"}
    assert "has no" not in response.text and "<iframe" in response.text
    assert Survey.of(raw()).label_of("health", "poor") == "poor"


def test_text_from_a_word_processor(save, raw):
    save("smokes", **{"text.en": "Do you\u00ad smoke?\r\n\r\nOr did\u200b you?"})
    assert raw()["question"][0]["text"] == "Do you smoke?\n\nOr did you?"


def test_the_text_is_edited_as_one_change(post, browser, project):
    seen = version(TEXT)
    post("text", toml=TEXT.replace("Ours", "Theirs").replace("\n", "\r\n"))
    assert project.text() == TEXT.replace("Ours", "Theirs")
    assert post("text", status=409, toml="name = 1", seen=seen)
    post("text", toml="name = ")
    assert project.text() == "name = "


@pytest.mark.parametrize(
    "text",
    [
        "name = ",
        "question = 3\n",
        "[[question]]\nid = 3\noptions = 1\nedges = 'x'\nlabels = 1\nshares = 2\nmissing = 3\n",
        "[[question]]\n[[question]]\n[[table]]\n[[regression]]\n",
        "privacy = 3\nlanguage = 4\nname = []\n[[question]]\nid = 'a'\noptions = [1, 2]\n",
        "[[question]]\nid = 'a'\ntype = 'choice'\noptions = [1, 2]\nshares = { 1 = 'x' }\n",
        "[[table]]\nquestions = 3\n[[regression]]\non = 3\n[[question]]\nid = 'a'\ntext = 5\n",
        "",
    ],
)
def test_a_mistaken_survey_is_shown_and_can_be_edited(browser, project, post, text):
    project.save(text, expected=version(TEXT))
    for query in ("", "?open=a", "?open=3", "?regression=0", "?regression=9&also=de"):
        assert browser.get(f"/p/health/design{query}").status_code == 200
    post("text", toml=TEXT)
    assert project.text() == TEXT


def test_problems_are_shown_where_they_belong(browser, project):
    wrong = TEXT.replace('["good", "fair", "poor"]', '["good"]').replace("1000", "1")
    project.save(wrong.replace('"smokes", "health"', '"smokes", "helth"'), expected=version(TEXT))
    page = browser.get("/p/health/design").text
    places = {
        "options of health": ('id="question-2"', 'id="question-3"'),
        "crowd: got 1": ('id="people-help"', 'id="more-survey"'),
        "helth": ('id="tables"', 'id="regressions"'),
    }
    for text, (start, end) in places.items():
        assert text in page[page.index(start) : page.index(end)]


def test_a_large_survey_is_small_and_quick(browser, project):
    asked = "".join(
        f'[[question]]\nid = "question_{n}"\ntype = "choice"\ntext = "Number {n}: do you agree?"\n'
        'options = ["agree", "neither", "disagree"]\n'
        for n in range(40)
    )
    project.save(TEXT.partition("[[question]]")[0] + asked, expected=version(TEXT))
    browser.get("/p/health/design")
    start = time.process_time()
    response = browser.get("/p/health/design?open=question_7")
    assert len(response.content) < 160_000
    assert time.process_time() - start < 0.5  # 0.06 on a quiet machine


def test_a_form_can_have_thousands_of_fields(post, raw):
    post("survey", name="Wide", **{f"share-{n}-0": "" for n in range(3000)})
    assert raw()["name"] == "Wide"


def test_hostile_names_are_escaped(browser, project, save, raw):
    hostile = '"><script>alert(1)</script>'
    save("smokes", short_name=hostile, **{"text.en": hostile})
    assert raw()["question"][0]["id"] == hostile
    for query in ({"open": hostile}, {"also": hostile}):
        page = browser.get("/p/health/design", params=query).text
        assert "<script>alert" not in page


def test_a_missing_project(browser):
    for path in ("/p/nothing/design", "/p/../design", "/p/nothing/preview/"):
        assert browser.get(path).status_code in (404, 422)


def test_names_for_new_questions():
    assert new_id("How old are you?", []) == "how_old_are"
    assert new_id("How old are you?", ["how_old_are"]) == "how_old_are_2"
    assert new_id("¿?", []) == "question"


@pytest.mark.parametrize(
    ("written", "edges"),
    [("0, 18,65", [0, 18, 65]), ("0 1.5 3", [0, 1.5, 3]), ("0,5; 1", [0.5, 1]), ("", [])],
)
def test_edges_are_read_as_people_write_them(written, edges):
    assert numbers_of("edges", written) == edges


def test_the_first_page_names_surveys_that_are_not_finished(browser, studio, project):
    browser.post("/new", data={"title": "Über uns"})
    project.save(TEXT.replace("1000", "1"), expected=version(TEXT))
    studio.projects.create("C", "name = ")
    page = browser.get("/").text
    assert ">Über uns</a>" in page and "No questions yet" in page
    assert ">Health</a>" in page and "crowd: got 1; should be at least 2" in page
    assert ">c</a>" in page


def test_the_page_asks_who_is_invited_and_says_what_follows(browser, project, post, raw):
    post("survey", name="Health", language="en", crowd="1000", invited="450", expected="60,5")
    assert raw()["people"] == {"invited": 450, "expected": 0.605} and "crowd" not in raw()
    page = browser.get("/p/health/design").text
    assert 'value="60.5"' in page and "/p/health/design/expected" in page
    text = browser.get("/p/health/design/expected").text
    assert "Of 450 people who are invited, 61% answer: 272." in text or "60%" in text
    assert "nothing is released, and everything is deleted" in text
    post(
        "survey", name="Health", language="en", crowd="", invited="450", expected="60", census="yes"
    )
    assert raw()["people"]["everybody"] is True and "census" not in raw()
    post(
        "survey", name="Health", language="en", crowd="200", invited="", expected="60", census="yes"
    )
    assert "people" not in raw() and (raw()["crowd"], raw()["census"]) == (200, True)


SIZES = {"group.good": "200", "group.fair": "60", "group.poor": "40"}


@pytest.fixture
def open_health(save, post):
    """Send a question with expected shares in the clear, and state who is invited."""
    save("health", **{"share.0": "70", "share.1": "20", "share.2": "10"})
    post("tables", pair=[])
    save("health", **{"is.open": "yes"})
    post("survey", name="Health", language="en", crowd="", expected="40", noise="services", **SIZES)


def test_an_opened_question_has_no_shares(open_health, raw):
    assert raw()["question"][1]["open"] is True and "shares" not in raw()["question"][1]
    Survey.of(raw())


def test_the_sizes_of_groups_go_with_the_question_that_forms_them(
    open_health, browser, opened, post, raw, save
):
    assert raw()["people"]["groups"] == {"good": 200, "fair": 60, "poor": 40}
    save("health", short_name="condition")
    assert "groups" in raw()["people"]
    fields = opened("condition")
    del fields["is.open"]
    assert browser.post("/p/health/design", data=fields, headers=HTMX).status_code == 200
    assert raw()["people"] == {"invited": 300, "expected": 0.4}
    Survey.of(raw())
    post("undo")
    post("order", remove="condition")
    assert "groups" not in raw()["people"]


def test_results_of_no_use_are_announced_also_if_those_of_everybody_are(open_health, browser, post):
    fields = {"name": "Health", "language": "en", "crowd": "", "expected": "40", **SIZES}
    post("survey", **fields, noise="services", epsilon="0.1")
    text = browser.get("/p/health/design/expected").text
    overall, group = map(float, re.findall(r"± ([\d.]+)", text))
    assert group > overall > 25 and "The results would show almost nothing." in text
