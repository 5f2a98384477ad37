"""To whom comparisons refer: by default to the people who answered both questions.

Oracles: counts of the complete rows where there is hardly any noise; collections that are drawn
with noise from a known law. The wrong variant counts people who did not answer among those who did
not say yes, as comparisons of all people do.
"""

import json

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.errors import TableError
from incrowd.estimation.compare import conditional_share, difference, odds_ratio
from incrowd.estimation.crosstab import crosstab
from incrowd.estimation.weighting.weighting import without
from incrowd.presentation.data import plain
from incrowd.survey import Choice, YesNo
from tests.conftest import local_plan, run, yes_no_question
from tests.estimation.conftest import Setting

PEOPLE = 20_000
MISSING = {"no": 0.05, "yes": 0.4}  # of the answers to `sick`, by `smokes`
NOT_ASKED = 0.1  # of the answers to `smokes`
TRULY_SICK = 0.3  # in both groups


@pytest.fixture(scope="module")
def known():
    """A plan with almost no noise, its reports, and the number of people with each answer.

    Among those who answer, the same share of both groups is sick.
    """
    questions = [yes_no_question(id) | {"optional": True} for id in ("smokes", "sick")]
    privacy = {"epsilon": 60.0, "analysis": "local"}
    plan = local_plan(*questions, privacy=privacy, table=[{"questions": ["smokes", "sick"]}])
    random = np.random.default_rng(4)
    smokes = random.choice(["no", "yes"], PEOPLE)
    sick = np.where(random.random(PEOPLE) < TRULY_SICK, "yes", "no").astype(object)
    sick[random.random(PEOPLE) < np.vectorize(MISSING.get)(smokes)] = None
    given = smokes.astype(object)
    given[random.random(PEOPLE) < NOT_ASKED] = None
    answers = pa.table({"smokes": given.tolist(), "sick": sick.tolist()})
    names = ("no", "yes", None)
    counts = np.array([[np.sum((given == a) & (sick == b)) for b in names] for a in names])
    assert counts.sum() == PEOPLE
    return plan, incrowd.randomize(plan, answers, simulation_seed=1), counts


def odds(counts):
    """The odds of yes in the second row divided by those in the first."""
    return counts[1, 1] * counts[0, 0] / (counts[1, 0] * counts[0, 1])


def sick_odds(result):
    """Of sick = yes: those who smoke against those who do not."""
    [figure] = [
        each
        for each in result.odds_ratios
        if each.name.startswith("odds ratio of sick = yes: smokes = yes against smokes = no")
    ]
    return figure


def test_groups_are_compared_among_those_who_answered(known):
    """5 standard errors. Wrong: all people, as if who did not answer had said no."""
    plan, reports, counts = known
    result = incrowd.compare(plan, reports, "smokes", "sick")
    assert (result.groups, result.answers) == (("no", "yes"), ("no", "yes"))
    complete = counts[:2, :2]
    assert result.answered == pytest.approx(complete.sum() / PEOPLE, abs=1e-3)
    shares = complete / complete.sum(axis=1, keepdims=True)
    assert [s.estimate for s in result.shares] == pytest.approx(list(shares.flat), abs=1e-3)
    errors = np.sqrt(shares * (1 - shares) / complete.sum(axis=1, keepdims=True))
    found = [s.standard_error for s in result.shares]
    assert found == pytest.approx(list(errors.flat), rel=0.03)
    right = sick_odds(result)
    assert right.estimate == pytest.approx(odds(complete), rel=0.01)
    assert right.low < 1 < right.high and result.independence.p_value > 1e-4
    wrong = incrowd.compare(plan, reports, "smokes", "sick", of_those_who_answered=False)
    assert wrong.groups == ("no", "yes", "no answer") and wrong.answered is None
    assert sick_odds(wrong).high < 0.7 and wrong.independence.p_value < 1e-9


def test_a_comparison_a_regression_and_a_correlation_refer_to_the_same_people(known):
    """phi of the complete rows; the coefficient is the logarithm of the odds ratio."""
    plan, reports, counts = known
    ratio = sick_odds(incrowd.compare(plan, reports, "smokes", "sick"))
    model = incrowd.regress(plan, reports, "sick", on=["smokes"])
    assert np.log(ratio.estimate) == pytest.approx(model.coefficients[-1].estimate, abs=0.005)
    wrong = incrowd.compare(plan, reports, "smokes", "sick", of_those_who_answered=False)
    assert abs(np.log(sick_odds(wrong).estimate) - model.coefficients[-1].estimate) > 0.3
    result = incrowd.correlate(plan, reports)
    complete = counts[:2, :2]
    rows, columns = complete.sum(axis=1), complete.sum(axis=0)
    phi = np.linalg.det(complete) / np.sqrt(rows.prod() * columns.prod())
    assert result.pairs[0].estimate == pytest.approx(phi, abs=2e-3)
    assert model.left_out == pytest.approx(1 - complete.sum() / PEOPLE, abs=1e-3)


def test_a_crosstab_counts_those_who_answered_both_questions(known):
    plan, reports, counts = known
    result, complete = crosstab(plan, reports, "smokes", "sick"), counts[:2, :2]
    assert result.counts[:2, :2] == pytest.approx(complete, abs=20)
    assert result.people == pytest.approx(complete.sum(), abs=20)
    assert result.counts[:2, 2] == pytest.approx(complete.sum(axis=1), abs=20)
    share = complete.sum() / PEOPLE
    error = np.sqrt(PEOPLE * share * (1 - share))  # who answers is part of the sample
    assert result.count_errors[2, 2] == pytest.approx(error, rel=0.03)
    assert result.table.estimate[:2, :2] == pytest.approx(complete / complete.sum(), abs=1e-3)
    assert result.table.estimate[2, 2] == pytest.approx(1)
    whole = crosstab(plan, reports, "smokes", "sick", of_those_who_answered=False)
    assert whole.counts[:3, :3] == pytest.approx(counts, abs=20)
    assert whole.people == pytest.approx(PEOPLE)


def test_weights_come_before_those_who_answered(known):
    """Each row has the factor of its group; those who answered neither keep their share."""
    plan, reports, counts = known
    margins = {"smokes": {"no": 0.9, "yes": 0.1}}
    result = crosstab(plan, reports, "smokes", "sick", margins=margins)
    groups = counts[:2].sum(axis=1)
    weights = np.array([0.9, 0.1]) * groups.sum() / groups
    complete = counts[:2, :2] * weights[:, None]
    assert result.table.estimate[:2, :2] == pytest.approx(complete / complete.sum(), abs=2e-3)
    assert result.counts[:2, :2] == pytest.approx(complete, abs=30)


def test_noise_alone_is_that_of_those_who_answered(known):
    plan, reports, _ = known
    result = crosstab(plan, reports, "smokes", "sick", noise_only=True)
    assert result.count_errors.max() < 1
    assert all(each.standard_error < 1e-3 for each in result.of_rows)


@pytest.mark.slow
def test_every_output_says_to_whom_figures_refer(known, tmp_path):
    plan, reports, counts = known
    share = f"{100 * counts[:2, :2].sum() / PEOPLE:.1f}% of the people"
    for whole in (False, True):
        options = {"of_those_who_answered": not whole}
        two_way = incrowd.compare(plan, reports, "smokes", "sick", **options)
        crossed = crosstab(plan, reports, "smokes", "sick", **options)
        for result in (two_way, crossed):
            view = result.view()
            assert (f"of those who answered both questions: {share}" in view.lines) is not whole
            assert any("counts as one of the answers" in line for line in view.lines) is whole
            assert (result.facts()["answered"] is None) is whole
    notes = incrowd.correlate(plan, reports).view().notes
    assert "each correlation describes the people who answered both questions" in notes
    (tmp_path / "plan.json").write_text(plan.dumps())
    incrowd.save_reports(reports, tmp_path / "r.parquet")
    compared = ("compare", tmp_path / "plan.json", tmp_path / "r.parquet", "smokes", "sick")
    assert share in run(*compared, "-o", tmp_path / "page.html").stdout
    assert share in (tmp_path / "page.html").read_text()
    figures = json.loads(run(*compared, "--of-all-people", "--json").stdout)
    assert figures["groups"][-1] == "no answer" and figures["answered"] is None


def test_a_survey_without_optional_questions_says_nothing_about_answers():
    plan = local_plan(yes_no_question("a"), yes_no_question("b"), crowd=1000)
    people = pa.table({"a": ["yes", "no"] * 500, "b": ["no"] * 500 + ["yes"] * 500})
    reports = incrowd.randomize(plan, people, simulation_seed=1)
    result = incrowd.compare(plan, reports, "a", "b")
    assert result.answered is None and len(result.view().lines) == 1
    whole = incrowd.compare(plan, reports, "a", "b", of_those_who_answered=False)
    assert plain(whole.facts()) == plain(result.facts())


def test_hardly_anybody_who_answered_is_an_error_that_names_the_option():
    questions = [yes_no_question(id) | {"optional": True} for id in ("a", "b")]
    plan = local_plan(*questions, table=[{"questions": ["a", "b"]}], crowd=1000)
    people = pa.table({"a": ["yes"] + [None] * 999, "b": [None] * 1000})
    reports = incrowd.randomize(plan, people, simulation_seed=1)
    with pytest.raises(TableError, match="of_those_who_answered=False"):
        incrowd.compare(plan, reports, "a", "b")


SMOKES, SICK = YesNo(id="smokes"), Choice(id="sick", options=("no", "yes"), optional=True)
LAW = np.array([[0.5 * 0.95 * 0.7, 0.5 * 0.95 * 0.3, 0.025], [0.21, 0.09, 0.2]])
FIGURES = {
    "share": (lambda t: conditional_share(t, ("sick", "yes"), ("smokes", "yes")), 0.3),
    "difference": (
        lambda t: difference(t, ("sick", "yes"), ("smokes", "yes"), ("smokes", "no")), 0.0
    ),
    "odds": (lambda t: odds_ratio(t, ("sick", "yes"), ("smokes", "yes"), ("smokes", "no")), 1.0),
}  # fmt: skip


def coverage(tables, figure):
    made, truth = FIGURES[figure]
    figures = [made(table) for table in tables]
    return np.mean([each.low <= truth <= each.high for each in figures])


@pytest.mark.slow
def test_intervals_cover_the_figures_of_those_who_answered():
    """1,000 collections of 4,000 people with a tenth of the bits flipped: a right interval falls
    outside .95 +- 4 x .007 with probability 6e-5. The wrong variant, all people, hardly covers."""
    at = Setting((SMOKES, SICK), (BitFlip.at_least(0.1),) * 2, LAW, 4000)
    joints = at.joints(at.collections(11, 1000), margin=True)
    among = [without(joint)[0] for joint in joints]
    for figure in FIGURES:
        assert abs(coverage(among, figure) - 0.95) < 0.028, figure
        assert coverage(joints, figure) < 0.1, figure
