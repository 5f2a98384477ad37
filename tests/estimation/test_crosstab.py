"""Crosstabs, against counting the answers themselves where there is hardly any noise."""

import math

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.catalog.sentences import translated
from incrowd.estimation.crosstab import crosstab
from incrowd.estimation.wording import people_words
from tests.conftest import local_plan, yes_no_question

PEOPLE = 6000
COLORS = ("red", "green", "blue")


@pytest.fixture(scope="module")
def known():
    """A plan with almost no noise, reports, and the answers as numbers."""
    privacy = {"epsilon": 60.0, "analysis": "local"}
    color = {"id": "color", "type": "choice", "options": list(COLORS)}
    tables = [{"questions": ["sick", "color"]}]
    plan = local_plan(yes_no_question("sick"), color, privacy=privacy, table=tables)
    random = np.random.default_rng(8)
    sick, place = random.integers(0, 2, PEOPLE), random.integers(0, 3, PEOPLE)
    answers = {"sick": np.array(["no", "yes"])[sick], "color": np.array(COLORS)[place]}
    counts = np.zeros((2, 3))
    np.add.at(counts, (sick, place), 1)
    return plan, incrowd.randomize(plan, pa.table(answers)), counts


def test_counts_and_margins_are_those_of_the_answers(known):
    plan, reports, counts = known
    result = crosstab(plan, reports, "sick", "color")
    assert (result.rows, result.columns, result.people) == (("no", "yes"), COLORS, PEOPLE)
    assert result.counts[:-1, :-1] == pytest.approx(counts, abs=1)
    assert result.counts[:-1, -1] == pytest.approx(counts.sum(axis=1), abs=1)
    assert result.counts[-1, :-1] == pytest.approx(counts.sum(axis=0), abs=1)
    assert result.counts[-1, -1] == pytest.approx(PEOPLE)
    share = counts / PEOPLE
    errors = PEOPLE * np.sqrt(share * (1 - share) / PEOPLE)  # of sampling alone
    assert result.count_errors[:-1, :-1] == pytest.approx(errors, rel=0.02)


def test_shares_of_rows_and_columns_have_the_errors_of_subgroups(known):
    plan, reports, counts = known
    result = crosstab(plan, reports, "sick", "color")
    for axis, figures in ((1, result.of_rows), (0, result.of_columns)):
        whole = np.broadcast_to(counts.sum(axis=axis, keepdims=True), counts.shape)
        share = counts / whole
        errors = np.sqrt(share * (1 - share) / whole)
        for figure, one, error in zip(figures, share.flat, errors.flat, strict=True):
            assert figure.estimate == pytest.approx(one, abs=1e-3)
            assert figure.standard_error == pytest.approx(error, rel=0.03)
            assert figure.low < one < figure.high


def test_weights_give_the_margins(known):
    plan, reports, _ = known
    result = crosstab(plan, reports, "sick", "color", margins={"sick": {"yes": 0.2, "no": 0.8}})
    assert result.weighted_to == ("sick",)
    assert result.table.estimate[:-1, -1] == pytest.approx([0.8, 0.2])


def test_weights_that_are_equal_within_each_group_have_no_design_effect_there(known):
    """The groups are as large as they were in the survey, whatever size the margins give them."""
    plan, reports, counts = known
    given = {"margins": {"sick": {"yes": 0.2, "no": 0.8}}}
    for result in (
        crosstab(plan, reports, "sick", "color", **given),
        incrowd.compare(plan, reports, "sick", "color", **given),
    ):
        people = [each.people for each in result.precision]
        assert people == pytest.approx(counts.sum(axis=1), abs=1)
        effects = [each.design_effect for each in result.precision]
        assert effects == pytest.approx([1.0, 1.0], rel=0.05)


def test_without_sampling_hardly_any_error_is_left(known):
    plan, reports, _ = known
    result = crosstab(plan, reports, "sick", "color", noise_only=True)
    assert math.isclose(float(result.count_errors.max()), 0, abs_tol=0.1)


def test_the_turned_crosstab_has_the_same_figures(known):
    plan, reports, _ = known
    one = crosstab(plan, reports, "sick", "color")
    other = crosstab(plan, reports, "color", "sick")
    assert other.counts == pytest.approx(one.counts.T)
    turned = [other.of_columns[2 * column + row] for row in range(2) for column in range(3)]
    assert [each.estimate for each in turned] == pytest.approx(
        [each.estimate for each in one.of_rows]
    )


def test_an_estimated_share_above_all_people_is_said_to_be_about_all_of_them():
    (above,) = people_words((), 1.033)
    assert "about 100% of the people" in above and "103" not in above
    assert "etwa 100 % der Personen" in translated(above, "de")
    (below,) = people_words((), 0.876)
    assert "87.6% of" in below
