"""Codes for no answer in data, and the edges of bins where such codes or huge numbers are."""

import tomllib
from itertools import pairwise
from math import inf

import numpy as np
import pandas
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import incrowd
from incrowd.drafts.columns import edges
from incrowd.drafts.missing import no_answers, spikes
from incrowd.encoding.records import NO_ANSWERS, EncodedAnswers
from tests.conftest import examples

ROWS = 800
GENERATOR = np.random.default_rng(23)
INCOMES = GENERATOR.lognormal(10.3, 0.5, ROWS).round()
HOURS = GENERATOR.integers(10, 60, ROWS)


def tenth(values, code):
    """The values with a code in every tenth row."""
    return np.where(np.arange(ROWS) % 10 == 0, code, values)


def survey_of(draft):
    return incrowd.Survey.of(tomllib.loads(draft.toml))


CODED = {  # answers, and the code in 10% of the rows
    "seven nines": (INCOMES, 9_999_999),
    "nines within the range": (INCOMES, 99_999),
    "nines not far out": (HOURS, 99),
    "a nine behind a scale": (GENERATOR.integers(1, 6, ROWS), 9),
    "a nine close behind a scale": (GENERATOR.integers(1, 8, ROWS), 9),
    "a negative code": (HOURS, -9),
    "a long negative code": (INCOMES, -999_999),
}


@pytest.mark.parametrize("name", CODED)
def test_a_code_in_a_tenth_of_the_rows_is_no_answer(name):
    """On the main of issue 23: edges = [0, 5000000], without a question."""
    answers, code = CODED[name]
    data = pandas.DataFrame({"a": tenth(answers, code)})
    draft = incrowd.draft(data)
    survey = survey_of(draft)
    assert survey.codes_of("a").missing == (str(code),)
    assert f"a: {code} was taken to mean no answer" in draft.undecided
    without = survey_of(incrowd.draft(pandas.DataFrame({"a": answers[np.arange(ROWS) % 10 > 0]})))
    (question,), (same,) = survey.questions, without.questions
    assert question == same.model_copy(update={"optional": True})
    assert EncodedAnswers.of(survey, incrowd.load_answers(data, survey)).number == ROWS


ANSWERS = {
    "a scale to nine": np.arange(ROWS) % 9 + 1,
    "a scale from seven to nine": np.arange(ROWS) % 3 + 7,
    "ages to 99": np.arange(ROWS) % 82 + 18,
    "a rare nine": np.where(np.arange(ROWS) == 5, 9, np.arange(ROWS) % 6),
    "degrees below zero": np.arange(ROWS) % 9 - 9,
    "one popular number": np.where(np.arange(ROWS) % 10 > 2, 9, np.arange(ROWS) % 11),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_not_taken_for_codes(name):
    values = pandas.Series(ANSWERS[name]).value_counts()
    counts = {str(n): int(rows) for n, rows in values.items()}
    assert no_answers(counts, {}) == ()


def test_eight_and_nine_go_together():
    counts = dict.fromkeys(map(str, [1, 2, 3, 4, 5, 8, 9]), 100)
    assert no_answers(counts, {}) == ("8", "9")
    assert no_answers(counts | {"6": 100, "7": 100}, {}) == ()


def test_a_label_decides():
    """The wrong variant takes 9 by its place alone."""
    counts = {"1": 300, "2": 300, "9": 100, "-1": 5}
    labels = {"1": "woman", "2": "man", "9": "other", "-1": "lost"}
    assert no_answers(counts, labels) == ("-1",)
    assert no_answers(counts, labels | {"9": "Refused"}) == ("9", "-1")
    assert no_answers(counts, {}) == ("9", "-1")


def test_another_number_far_out_in_many_rows_is_asked_about():
    data = pandas.DataFrame({"income": tenth(INCOMES, 5_000_000)})
    draft = incrowd.draft(data)
    said = "income: 5000000 occurs in 80 rows, far from all other numbers; if it means no answer"
    assert any(line.startswith(said) for line in draft.undecided)
    assert f"# DECIDE: {said.removeprefix('income: ')}" in draft.toml
    found = survey_of(draft).question("income").edges
    assert len(found) == 5 and found[-1] < INCOMES.max()
    assert spikes({n: 10 for n in range(20)} | {30: 200}) == []


def test_few_bins_are_asked_about():
    """Nine tenths have visited nobody: one edge beside 0, which follows those who have."""
    visits = np.where(np.arange(ROWS) % 10, 0, GENERATOR.integers(1, 40, ROWS))
    draft = incrowd.draft(pandas.DataFrame({"visits": visits, "hours": HOURS}))
    low, high = survey_of(draft).question("visits").edges
    assert low == 0 and 10 <= high <= 30
    assert (
        "visits: there are only 2 bins, because most answers are equal; choose the edges"
        in draft.undecided
    )
    assert not any("hours: only" in line for line in draft.undecided)


@pytest.mark.parametrize("huge", [1e6, 1e12, 1e300])
def test_a_few_huge_numbers_change_no_unit(huge):
    """Wrong variant: a unit from the spread of the middle 90%, as it was."""
    incomes = np.append(INCOMES, np.full(ROWS // 12, huge) * (1 + np.arange(ROWS // 12)))
    found = edges(*np.unique(incomes, return_counts=True))
    assert len(found) == 5 and all(edge % 1000 == 0 for edge in found)
    inside = np.histogram(incomes, [*found, inf])[0] / len(incomes)
    assert np.all((inside > 0.1) & (inside < 0.3))
    inner = np.quantile(incomes, [0.05, 0.95])
    assert 10 ** (np.floor(np.log10(np.diff(inner)[0])) - 1) > 1000


@examples(60)
@given(
    st.dictionaries(
        st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e9, 1e9, width=32)),
        st.integers(1, 500),
        min_size=2,
        max_size=40,
    )
)
@example({-123456400.0: 3, -123456399.0: 2, -123456398.0: 2})
def test_edges_rise_and_begin_below_all_numbers(rows):
    numbers, counts = np.array(list(rows), float), np.array(list(rows.values()))
    if len(np.unique(numbers)) < 2:
        return
    found = edges(numbers, counts)
    assert len(found) >= 2
    assert all(one < other for one, other in pairwise(found))
    assert found[0] <= numbers.min()


def test_the_options_of_lists_are_counted_each_for_itself():
    """Check-all answers: all options are frequent, nearly all combinations are rare."""
    options = ["phone", "tablet", "television", "radio", "watch"]
    chosen = GENERATOR.random((ROWS, 5)) < [0.9, 0.5, 0.4, 0.3, 0.008]
    cells = [";".join(np.array(options)[row]) or "none" for row in chosen]
    combinations = pandas.Series(cells).value_counts()
    assert (combinations < 10).sum() > 5 and 0 < chosen[:, 4].sum() < 10
    for data in (cells, [cell.split(";") if cell != "none" else [] for cell in cells]):
        draft = incrowd.draft(pandas.DataFrame({"devices": data}))
        rare = [line for line in draft.undecided if "rows" in line]
        assert rare == ["devices: one option occurs in fewer than 10 rows; group it with others"]
        question = survey_of(draft).question("devices")
        assert (question.type, sorted(question.options)) == ("multi", sorted(options))
        assert question.at_most == max(map(int, chosen.sum(axis=1)))


def test_a_code_among_the_items_of_lists_is_no_answer():
    data = pandas.DataFrame({"a": ["1;2", "2;3", "3", "99", "1;3"] * 20})
    survey = survey_of(incrowd.draft(data))
    assert survey.question("a").options == ("1", "2", "3")
    assert survey.codes_of("a").missing == ("99",)
    encoded = EncodedAnswers.of(survey, incrowd.load_answers(data, survey)).encoded["a"]
    assert np.sum(encoded.places == 3) == 20


def test_lists_with_commas_are_left_out_with_what_to_do():
    data = pandas.DataFrame({"a": ["Phone, TV", "Phone", "TV", "TV, Radio"] * 20, "b": [1, 0] * 40})
    (gone,) = incrowd.draft(data).left_out
    assert gone.reason.startswith("some cells contain several answers, separated by commas")


def test_codes_with_one_label_stay_apart(tmp_path):
    """Two towns may have one name. The wrong variant merges them silently."""
    import pyreadstat

    codes = [1.0] * 90 + [2.0] * 6 + [3.0] * 6
    labels = {"a": {1: "good", 2: "bad", 3: "bad"}}
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(pandas.DataFrame({"a": codes}), path, variable_value_labels=labels)
    draft = incrowd.draft(path)
    survey = survey_of(draft)
    assert survey.question("a").options == ("good", "bad (2)", "bad (3)")
    assert survey.codes_of("a").values == {"1": "good", "2": "bad (2)", "3": "bad (3)"}
    assert EncodedAnswers.of(survey, incrowd.load_answers(path, survey)).number == 102
    said = "a: 2 codes have the label bad; if they mean the same answer, merge them"
    assert said in draft.undecided


TEXTS = {
    "free text": ([f"I said {n} words" for n in range(100)], "it is free text, with 100 different"),
    "dates with a time": ([f"2024-03-{n % 28 + 1:02} 10:{n % 60:02}" for n in range(100)], "dates"),
    "codes of people": ([f"P{n:04}" for n in range(100)], "it looks like an id"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_why_texts_make_no_question(name):
    texts, reason = TEXTS[name]
    data = pandas.DataFrame({"a": texts, "b": [1, 0] * 50})
    (gone,) = incrowd.draft(data).left_out
    assert reason in gone.reason and 'type = "text"' not in gone.reason


def test_a_wrong_code_of_nines_is_known_when_answers_are_read():
    assert {"9", "9999999", "-9999999", "-98"} <= NO_ANSWERS
    survey = incrowd.Survey.of(
        {
            "name": "x",
            "crowd": 10,
            "privacy": {"epsilon": 1.0, "delta": 1e-6},
            "question": [{"id": "a", "type": "choice", "options": ["1", "2"]}],
        }
    )
    with pytest.raises(incrowd.AnswersError, match=r'add missing = \["9999999"\] to the question'):
        EncodedAnswers.of(
            survey, incrowd.load_answers(pandas.DataFrame({"a": [1, 9_999_999]}), survey)
        )
