"""Conditions, sections, matrices and texts around the questions, designed in the studio."""

import tomllib

import pytest

from incrowd.errors import UsageError
from incrowd.studio.document import SurveyDocument, apply, version
from incrowd.studio.operations import (
    MoveQuestion,
    PlaceQuestion,
    RemoveQuestion,
    SetQuestion,
    ids,
    question,
)
from incrowd.studio.questionnaire import AddMatrix, AddSection, MovePart, RemovePart, SetPart
from incrowd.survey import Survey
from tests.oracles.studio import form_fields

TEXT = """\
name = "Smoking"
crowd = 1000

[privacy]
epsilon = 1.0

[[question]]
id = "smokes"
type = "yesno"
text = "Do you smoke?"

[[question]]
id = "age"
type = "number"
edges = [0, 18, 65]

# The habit.
[[question]]
id = "daily"
type = "yesno"
text = "Every day?"
asked_if = "smokes = yes"  # only smokers

[[question]]
id = "brand"
type = "choice"
options = ["A", "B", "else"]
other = "else"
asked_if = "daily = yes and not (age < 18 or smokes = no)"

[[question]]
id = "calm"
type = "choice"
options = ["never", "often"]
text = "I feel calm"

[[question]]
id = "tired"
type = "choice"
options = ["never", "often"]
text = "I feel tired"
"""
HTMX = {"HX-Request": "true"}


def edited(*operations, text=TEXT):
    result = apply(SurveyDocument(text), *operations)
    Survey.of(result.content)
    return result


def refused(operation, text=TEXT):
    with pytest.raises(UsageError) as error:
        apply(SurveyDocument(text), operation)
    return str(error.value)


def asked_if(document, id):
    return question(document.content, id).get("asked_if")


def test_conditions_follow_what_is_renamed():
    result = edited(
        SetQuestion("smokes", {"id": "smoker"}),
        SetQuestion("daily", {"id": "every day"}),
    )
    assert asked_if(result, "every day") == "smoker = yes"
    nested = '"every day" = yes and not (age < 18 or smoker = no)'
    assert asked_if(result, "brand") == nested
    assert "# only smokers" in result.text and "# The habit." in result.text
    options = SetQuestion("brand", {"options": ["A", "C", "rest"]}, {"B": "C", "else": "rest"})
    more = SetQuestion("calm", {"asked_if": "brand = B or brand = else"})
    assert asked_if(edited(more, options), "calm") == "brand = C or brand = rest"
    assert question(edited(options).content, "brand")["other"] == "rest"


def test_a_question_that_decides_is_not_removed():
    assert "decides who is asked daily, brand" in refused(RemoveQuestion("smokes"))
    assert ids(edited(RemoveQuestion("brand"), RemoveQuestion("daily")).content)[:2] == [
        "smokes",
        "age",
    ]


def test_a_question_is_not_moved_before_one_that_decides():
    up = edited(MoveQuestion("daily", -1))
    assert ids(up.content)[:3] == ["smokes", "daily", "age"]
    with pytest.raises(UsageError, match="'smokes' decides who"):
        apply(up, MoveQuestion("daily", -1))
    with pytest.raises(UsageError, match="daily"):
        apply(up, MoveQuestion("smokes", 1))


def test_a_label_of_not_asked_goes_with_the_condition():
    labels = SetQuestion("daily", {"labels": {"not asked": "does not smoke", "yes": "Yes"}})
    result = edited(labels, SetQuestion("daily", {"asked_if": None}))
    assert question(result.content, "daily")["labels"] == {"yes": "Yes"}


def with_sections():
    return edited(
        AddSection({"id": "you", "title": "You"}, ("smokes", "daily")),
        AddSection({"id": "feelings", "title": "Feelings"}, ("calm", "tired")),
    )


def test_the_questions_of_a_section_are_moved_together():
    there = with_sections()
    assert ids(there.content) == ["smokes", "daily", "age", "brand", "calm", "tired"]
    assert "conditions" not in there.content
    moved = edited(MoveQuestion("age", -1), text=there.text)
    assert ids(moved.content) == ["age", "smokes", "daily", "brand", "calm", "tired"]
    within = edited(MoveQuestion("tired", -1), MoveQuestion("tired", -1), text=there.text)
    assert ids(within.content)[-2:] == ["tired", "calm"]
    last = edited(MovePart("section", "feelings", -1), text=there.text)
    assert ids(last.content) == ["smokes", "daily", "age", "calm", "tired", "brand"]
    assert "decides who" in refused(
        MovePart("section", "you", 1),
        edited(MovePart("section", "feelings", -1), text=there.text).text.replace(
            'id = "age"', 'id = "age"\nasked_if = "smokes = yes"'
        ),
    )
    assigned = edited(
        SetQuestion("brand", {"section": "you"}),
        text=there.text.replace("daily = yes and not (age < 18 or smokes = no)", "daily = yes"),
    )
    assert ids(assigned.content) == ["smokes", "daily", "brand", "age", "calm", "tired"]


def test_a_dissolved_section_leaves_its_condition_to_its_questions():
    there = edited(
        SetPart("section", "feelings", {"asked_if": "smokes = yes"}), text=with_sections().text
    )
    left = edited(RemovePart("section", "feelings"), text=there.text)
    assert asked_if(left, "calm") == asked_if(left, "tired") == "smokes = yes"
    assert [each["id"] for each in left.content["section"]] == ["you"]


def test_a_section_without_questions_goes():
    left = edited(RemoveQuestion("calm"), RemoveQuestion("tired"), text=with_sections().text)
    assert [each["id"] for each in left.content["section"]] == ["you"]


def test_questions_become_a_matrix_and_questions_again():
    there = edited(AddMatrix({"id": "mood", "text": "How?"}, questions=("calm", "tired")))
    assert there.content["matrix"] == [
        {"id": "mood", "text": "How?", "type": "choice", "options": ["never", "often"]}
    ]
    assert question(there.content, "calm") == {
        "id": "calm",
        "text": "I feel calm",
        "matrix": "mood",
    }
    renamed = edited(
        SetQuestion("brand", {"asked_if": None}),
        MoveQuestion("brand", 1),
        SetQuestion("brand", {"asked_if": "calm = often"}),
        SetPart("matrix", "mood", {"options": ["never", "always"]}, {"often": "always"}),
        text=there.text,
    )
    assert asked_if(renamed, "brand") == "calm = always"
    assert ids(renamed.content) == ["smokes", "age", "daily", "calm", "tired", "brand"]
    again = edited(RemovePart("matrix", "mood"), text=there.text)
    assert again.content == tomllib.loads(TEXT)


def test_unlike_questions_do_not_become_a_matrix():
    unlike = AddMatrix({"id": "mood", "text": "How?"}, questions=("calm", "brand"))
    assert "its answers differ from those of 'calm'" in refused(unlike)


# --- the page -------------------------------------------------------------------------------------


@pytest.fixture
def project(studio):
    return studio.projects.create("Smoking", TEXT)


@pytest.fixture
def raw(project):
    return lambda: tomllib.loads(project.text())


@pytest.fixture
def page(browser, project):
    return lambda id="": browser.get(f"/p/smoking/design?open={id}").text


@pytest.fixture
def post(browser, project):
    def posted(do, *, status=200, **fields):
        data = {"do": do, "seen": version(project.text()), "tags": "en", **fields}
        response = browser.post("/p/smoking/design", data=data, headers=HTMX)
        assert response.status_code == status, response.text
        return response.text

    return posted


@pytest.fixture
def save(post, page):
    def saved(id, **fields):
        return post(**form_fields(page(id), "editor") | fields)

    return saved


@pytest.mark.parametrize("id", ["daily", "brand", "calm"])
def test_a_form_with_a_condition_changes_nothing_by_itself(save, project, id):
    save(id)
    assert project.text() == TEXT


def test_a_condition_is_built_from_rows(save, raw):
    def now():
        return next(each for each in raw()["question"] if each["id"] == "calm").get("asked_if")

    save("calm", **{"asked.question.0": "smokes"})
    assert now() == "smokes = yes"
    save("calm", **{"asked.answer.0": "no"})
    assert now() == "smokes = no"
    save("calm", **{"asked.answer.0": "yes"})
    save("calm", **{"asked.question.1": "age"})
    assert now() == "smokes = yes and age >= 18"
    save("calm", **{"asked.joined": "any", "asked.operator.1": "below"})
    assert now() == "smokes = yes or age < 18"
    save("calm", **{"asked.operator.1": "is-not"})
    assert now() == 'smokes = yes or age != "0 to <18"'
    save("calm", **{"asked.question.1": "brand", "asked.operator.1": "is"})
    assert now() == "smokes = yes or brand = A"
    save("calm", **{"asked.remove": "0"})
    assert now() == "brand = A"
    save("calm", **{"asked.remove": "0"})
    assert now() is None


def test_a_condition_is_edited_as_text_and_mistakes_are_at_its_field(save, page, raw):
    save("brand", asked_if="not (smokes = no or age < 18)")
    assert raw()["question"][3]["asked_if"] == "not (smokes = no or age < 18)"
    html = save("brand", asked_if="smokes = maybe")
    condition = html[html.index('id="question-condition"') :]
    assert "is not one of the answers to" in condition.split("</fieldset>")[0]
    assert save("brand", asked_if="").count("is not one of the answers to") == 0
    assert "asked_if" not in raw()["question"][3]


def test_the_list_states_conditions_in_the_words_of_the_survey(browser, page, project):
    html = page()
    assert "Asked if “Do you smoke?” is “yes”" in html
    nested = "“Every day?” is “yes” and not (“age” is below 18 or “Do you smoke?” is “no”)"
    assert f"Asked if {nested}" in html
    browser.cookies.set("incrowd-studio-language", "de")
    assert "Nur falls: „Do you smoke?“ = „yes“" in page()


def test_the_page_says_which_conditions_no_longer_fit(save, post):
    html = save("age", edges="0, 21, 65")
    assert "This no longer fits: brand: daily = yes and not (age &lt; 18 or smokes = no)." in html
    assert "This refers to it and was adjusted: daily: smoker = yes." in save(
        "smokes", short_name="smoker"
    )


def test_a_refused_edit_says_why(post, project):
    assert "decides who is asked" in post("order", status=422, remove="smokes")
    assert project.text() == TEXT


@pytest.mark.slow
def test_sections_are_made_filled_moved_and_dissolved(post, page, raw, save):
    assert "enter a title" in post("add-section", status=422, title="Feelings")
    post("add-section", title="Feelings", q=["calm", "tired"])
    post("add-section", title="Habits", q=["daily"])
    assert [each["id"] for each in raw()["section"]] == ["feelings", "habits"]
    fields = {"title.en": "Your feelings", "text.en": "Today."}
    post("part", kind="section", of="feelings", **fields)
    assert raw()["section"][0] == {"id": "feelings", "title": "Your feelings", "text": "Today."}
    fields = {"title.en": "Your feelings", "text.en": "Today.", "asked_if": ""}
    post("part", kind="section", of="feelings", **fields, **{"asked.question.0": "smokes"})
    assert raw()["section"][0]["asked_if"] == "smokes = yes"
    assert page().count("Asked if “Do you smoke?” is “yes”") == 3
    save("brand", section="habits")
    assert raw()["question"][3]["section"] == "habits"
    post("part-order", kind="section", up="feelings")
    assert ids(raw())[2:4] == ["calm", "tired"]
    post("part-order", kind="section", remove="habits")
    assert [each["id"] for each in raw()["section"]] == ["feelings"]


def test_a_matrix_is_made_of_questions_or_of_lines(post, page, raw, save):
    assert "answers and items" in post("add-matrix", status=422, text="How?", items="a\nb")
    post("add-matrix", text="How do you feel?", q=["calm", "tired"])
    html = save("calm", **{"text.en": "I am calm"})
    assert "The answers are those of the matrix “How do you feel?”" in html
    assert raw()["question"][4] == {"id": "calm", "text": "I am calm", "matrix": "how_do_you"}
    lines = {"items": "The food\nThe room", "options": "good\nbad"}
    post("add-matrix", text="How was it?", **lines)
    assert raw()["question"][6:] == [
        {"id": "the_food", "text": "The food", "matrix": "how_was_it"},
        {"id": "the_room", "text": "The room", "matrix": "how_was_it"},
    ]
    texts = {"text.en": "How was it?", "options": "good\npoor"}
    post("part", kind="matrix", of="how_was_it", **texts, **{"is.optional": "on"})
    assert raw()["matrix"][1]["options"] == ["good", "poor"]
    assert raw()["matrix"][1]["optional"] is True
    Survey.of(raw())
    assert '<select id="outcome"' in page() and "the_food" in page()


def test_the_page_says_which_conditions_a_matrix_changes(post, save, raw):
    post("add-matrix", text="Mood", q=["calm", "tired"])
    save("brand", asked_if="")
    post("order", down="brand")  # below the matrix
    save("brand", asked_if="calm = often")
    renamed = post("part", kind="matrix", of="mood", **{"text.en": "Mood"}, options="never\nalways")
    assert "This refers to it and was adjusted: brand: calm = always." in renamed
    removed = post("part", kind="matrix", of="mood", **{"text.en": "Mood"}, options="never\na\nb")
    assert "This no longer fits: brand: calm = always." in removed


def test_consent_and_thanks_are_written_and_removed(post, raw):
    post("page", **{"consent.en": "You can stop.", "thanks.en": "Thank you!"})
    assert raw()["page"] == {"consent": "You can stop.", "thanks": "Thank you!"}
    post("page", **{"consent.en": "", "thanks.en": "Thank you!", "consent.de": "x"})
    assert raw()["page"] == {"thanks": "Thank you!"}


def test_other_and_the_limits_of_numbers(save, raw):
    save("age", minimum="0", maximum="120", **{"is.whole": "on"})
    asked = raw()["question"][1]
    assert (asked["minimum"], asked["maximum"], asked["whole"]) == (0, 120, True)
    assert "above the maximum" in save("age", minimum="200,5", maximum="120")
    save("brand", **{"option.2": "something else"})
    assert raw()["question"][3]["other"] == "something else"
    save("brand", other="")
    assert "other" not in raw()["question"][3]


def test_no_answer_has_a_wording(save, raw):
    save("calm", **{"is.optional": "on"})
    save("calm", **{"label.none.en": "I prefer not to say"})
    assert raw()["question"][4]["labels"] == {"no answer": "I prefer not to say"}
    save("calm", **{"label.0.en": "Never"})
    assert raw()["question"][4]["labels"] == {"never": "Never", "no answer": "I prefer not to say"}


MISTAKES = (
    "[[section]]\ntitle = 4\n",
    '[[section]]\nid = ["s"]\ntitle = ["x"]\nasked_if = 5\n',
    '[[matrix]]\nid = "m"\ntype = 3\noptions = "x"\nlabels = 4\nsection = 4\n',
    '[page]\nconsent = 4\nthanks = ["x"]\n',
    '[[question]]\nid = "c"\nmatrix = "m"\n',
    '[[question]]\nid = "c"\ntype = "yesno"\nasked_if = 5\nsection = ["x"]\n',
    '[[question]]\nid = "c"\ntype = "yesno"\nasked_if = "smokes = maybe or x = 4"\n',
    '[[question]]\nid = "c"\ntype = "yesno"\nasked_if = "smokes ="\n',
)


@pytest.mark.slow
def test_mistakes_are_shown_and_stay_until_they_are_corrected(browser, project, page, save):
    for mistake in MISTAKES:
        text = f"{TEXT}\n{mistake}"
        project.save(text, expected=version(project.text()))
        for id in ("smokes", "brand", *(["c"] if '"c"' in mistake else [])):
            assert 'id="editor"' in page(id)
            save(id)
            assert project.text() == text


@pytest.mark.parametrize(
    ("id", "before", "order"),
    [
        ("tired", "smokes", "tired smokes age daily brand calm"),
        ("age", "", "smokes daily brand calm tired age"),
        ("smokes", "daily", "age smokes daily brand calm tired"),
        ("calm", "calm", "smokes age daily brand calm tired"),
        ("calm", "tired", "smokes age daily brand calm tired"),
        ("tired", "calm", "smokes age daily brand tired calm"),
    ],
)
def test_a_question_is_dropped_before_another(id, before, order):
    text = TEXT.replace(" and not (age < 18 or smokes = no)", "")
    assert ids(edited(PlaceQuestion(id, before), text=text).content) == order.split()


def test_a_question_is_not_dropped_before_one_that_decides():
    for edit in (PlaceQuestion("daily", "smokes"), PlaceQuestion("smokes", "")):
        with pytest.raises(UsageError) as raised:
            edited(edit)
        assert raised.value.problems[0].code == "studio.asked-before"
    with pytest.raises(UsageError):
        edited(PlaceQuestion("daily", "gone"))


def test_a_dropped_question_stays_in_its_section_and_skips_others_as_a_whole():
    sections = (AddSection({"id": "mood", "title": "Mood"}, ("calm", "tired")),)
    within = edited(*sections, PlaceQuestion("calm", "smokes"))
    assert ids(within.content) == ["smokes", "age", "daily", "brand", "calm", "tired"]
    beside = edited(*sections, PlaceQuestion("brand", "tired"))
    assert ids(beside.content) == ["smokes", "age", "daily", "calm", "tired", "brand"]


def moved(browser, project, **fields):
    form = {"seen": project.document().version, "tags": "en", **fields}
    return browser.post("/p/smoking/design", data=form, headers=HTMX)


def test_where_a_question_is_now_is_announced(browser, studio):
    project = studio.projects.create("Smoking", TEXT)
    answer = moved(browser, project, do="order", moved="tired", before="age")
    assert "“I feel tired” is number 2 of 6." in answer.text
    answer = moved(browser, project, do="order", down="tired")
    assert "“I feel tired” is number 3 of 6." in answer.text
    answer = moved(browser, project, do="order", moved="smokes", before="")
    assert answer.status_code == 422 and "decides who is asked this question" in answer.text


@pytest.mark.parametrize(
    ("fields", "options", "notice"),
    [
        ({"row": "down.0"}, ["B", "A", "else"], "“A” is answer 2 of 3."),
        ({"row": "up.2"}, ["A", "else", "B"], "“else” is answer 2 of 3."),
        ({"row": "up.0"}, ["A", "B", "else"], ""),
        ({"placed": "2.0"}, ["else", "A", "B"], "“else” is answer 1 of 3."),
        ({"placed": "0."}, ["B", "else", "A"], "“A” is answer 3 of 3."),
        ({"placed": "0.2"}, ["B", "A", "else"], "“A” is answer 2 of 3."),
        ({"placed": "7.x"}, ["A", "B", "else"], ""),
        ({"row": "remove.1"}, ["A", "else"], ""),
    ],
)
def test_where_an_answer_is_now_is_announced(browser, studio, fields, options, notice):
    project = studio.projects.create("Smoking", TEXT)
    names = ("A", "B", "else")
    form = {f"{key}.{n}": name for n, name in enumerate(names) for key in ("option", "was")}
    form |= {"of": "brand", "short_name": "brand", "type": "choice", "other": "else"}
    answer = moved(browser, project, do="set", **form, **fields)
    assert question(project.document().content, "brand")["options"] == options
    assert notice in answer.text and (" is answer " in answer.text) == bool(notice)


def test_a_condition_says_what_it_does_to_precision(browser, studio):
    shares = 'text = "Do you smoke?"\nshares = { yes = 0.2 }'
    text = TEXT.replace('text = "Do you smoke?"', shares).replace("crowd = 1000", "crowd = 50000")
    studio.projects.create("Smoking", text)
    effect = "Fewer people are asked, so the shares among them are less precise."
    page = browser.get("/p/smoking/design?open=daily").text
    assert effect in page
    assert "if about 20% of the people are." in page
    assert effect not in browser.get("/p/smoking/design?open=smokes").text
