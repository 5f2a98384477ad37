"""Five yes/no questions whose pairs travel as parities: from the answers to every result."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import incrowd
from incrowd.errors import PlanError, TableError
from tests.oracles.one_bit_crowds import worst_delta

PEOPLE, IDS = 4000, ["a", "b", "c", "d", "e"]
RARE = 1e-6  # a p-value below rejects: the rate of false alarms of each test


@dataclass(repr=False)
class Path:
    plan: incrowd.Plan
    answers: np.ndarray
    reports: tuple[incrowd.Collection, ...]

    def true(self, ids):
        """The shares of the four combinations."""
        one, other = (self.answers[:, IDS.index(id)] for id in ids)
        return np.array([[np.mean((one == i) & (other == j)) for j in (0, 1)] for i in (0, 1)])


def survey(**keys):
    questions = [{"id": id, "type": "yesno"} for id in IDS]
    raw = {"name": "pairs", "crowd": PEOPLE, "tables": "pairs", "question": questions}
    return incrowd.Survey.of(raw | {"privacy": {"epsilon": 1.0, "delta": 1e-6}} | keys)


def columns(answers):
    return pa.table({id: np.where(answers[:, i], "yes", "no") for i, id in enumerate(IDS)})


@pytest.fixture(scope="module")
def path():
    """Answers that a hidden trait makes alike."""
    generator = np.random.default_rng(3)
    trait = generator.random((PEOPLE, 1)) < 0.4
    answers = generator.random((PEOPLE, 5)) < np.where(trait, 0.7, [0.02, 0.1, 0.2, 0.3, 0.4])
    plan = incrowd.plan(survey())
    reports = incrowd.randomize(plan, columns(answers), simulation_seed=5)
    return Path(plan, answers, reports)


def test_the_tables_are_near_the_answers(path):
    """Each cell within 5 standard errors of the noise (false alarms below 4e-5 in all), their
    margins those of the questions; and not what they would be if nobody's answers were alike."""
    found = incrowd.estimate(path.plan, path.reports, noise_only=True)
    apart = 0
    for ids in itertools.combinations(IDS, 2):
        table, truth = found.table(*ids), path.true(ids)
        errors = table.error.noise
        assert (np.abs(table.estimate - truth) < 5 * errors).all()
        for axis, id in enumerate(reversed(ids)):
            assert table.estimate.sum(axis=axis) == pytest.approx(found.table(id).estimate)
        independent = np.outer(truth.sum(axis=1), truth.sum(axis=0))
        apart += (np.abs(table.estimate - independent) > 5 * errors).any()
    assert apart > 5


def test_reports_are_possible_and_others_are_not(path):
    """Nobody sends fewer parities than the noise alone, and half of a batch was lost."""
    found = incrowd.verify(path.plan, path.reports)
    assert found.plan_holds and not found.impossible_people and not found.rejected
    first = path.reports[0]
    few = replace(first, packed=first.packed[: PEOPLE // 10])
    [wrong] = incrowd.verify(path.plan, [few, *path.reports[1:]]).impossible_people
    assert wrong.message == 1 and wrong.low > wrong.reports == PEOPLE // 10
    tens = np.full_like(first.packed[:7], 10)  # the numbers of ten pairs end with 9
    beyond = replace(first, packed=np.concatenate([first.packed, tens]))
    assert incrowd.verify(path.plan, [beyond, *path.reports[1:]]).rejected == 7


def test_a_tally_gives_the_same(path):
    counted = incrowd.count(path.plan, path.reports)
    by_tally = incrowd.estimate(path.plan, counted)
    by_reports = incrowd.estimate(path.plan, path.reports)
    for ids in itertools.combinations(IDS, 2):
        assert by_tally.table(*ids).estimate == pytest.approx(by_reports.table(*ids).estimate)


def test_a_regression_needs_no_more_than_two_questions(path):
    found = incrowd.regress(path.plan, path.reports, "b ~ c")
    truth = path.true(("c", "b"))
    slope = np.log(truth[1, 1] * truth[0, 0] / truth[0, 1] / truth[1, 0])
    assert abs(found.coefficients[1].estimate - slope) < 5 * found.coefficients[1].standard_error
    with pytest.raises(TableError, match="contain only pairs of its questions"):
        incrowd.regress(path.plan, path.reports, "b ~ c + d")
    told = r"request only what travels together: two of \(a, b, c, d, e\), \(a\)"
    with pytest.raises(TableError, match=told):
        incrowd.estimate(path.plan, path.reports, tables=[["a", "b", "c"]])


LINEAR = {"outcome": "b", "on": ["a", "c", "d", "e"], "family": "linear"}


def fitted(answers):
    """The coefficients of that model, by least squares over people."""
    others = [IDS.index(id) for id in LINEAR["on"]]
    x = np.column_stack([np.ones(len(answers)), answers[:, others]])
    return np.linalg.lstsq(x, answers[:, IDS.index("b")].astype(float), rcond=None)[0]


def test_a_linear_model_and_correlations_are_near_those_of_the_answers(path):
    """Five coefficients and ten correlations within 5 standard errors of the noise; the forecast
    of the slopes knows the shares, and takes nothing to depend on anything."""
    found = incrowd.regress(path.plan, path.reports, **LINEAR, noise_only=True)
    values, errors = np.array([(c.estimate, c.standard_error) for c in found.coefficients]).T
    assert found.method == "pairs" and errors.max() < 0.15
    assert (np.abs(values - fitted(path.answers)) < 5 * errors).all()
    shares = {id: (1 - share, share) for id, share in zip(IDS, path.answers.mean(0), strict=True)}
    expected = incrowd.forecast_regression(path.plan, **LINEAR, shares=shares)
    stated = incrowd.regress(path.plan, path.reports, **LINEAR).coefficients
    assert [c.standard_error for c in stated[1:]] == pytest.approx(
        [c.standard_error for c in expected.coefficients[1:]], rel=0.3
    )
    alike = incrowd.correlate(path.plan, path.reports, noise_only=True)
    apart = np.abs(alike.matrix - np.corrcoef(path.answers.T))[np.triu_indices(5, 1)]
    noise = alike.standard_errors[np.triu_indices(5, 1)]
    assert alike.questions == tuple(IDS) and noise.max() < 0.3
    assert (apart < 5 * noise).all() and (np.abs(alike.matrix)[0, 1:] > 0.05).all()


@pytest.mark.slow
def test_a_wanted_linear_model_of_many_questions_travels_as_parities():
    """Of eight questions 256 cells or 112 of all pairs, which parities tell; a fixed message of
    parities will do, and no plan without the bits of single questions."""
    ids = [f"q{i}" for i in range(8)]
    keys = {"question": [{"id": id, "type": "yesno"} for id in ids], "tables": None}
    wanted = [{"outcome": "q0", "on": ids[1:], "family": "linear"}]
    plan = incrowd.plan(survey(**keys, regression=wanted))
    assert [message.ids for message in plan.messages] == [tuple(ids), *((id,) for id in ids)]
    assert plan.messages[0].parities and plan.pairs_in_cells(ids)
    (expected,) = incrowd.forecast_regressions(plan)
    assert expected.estimable and expected.method == "pairs" and len(expected.coefficients) == 8
    groups = [{"questions": [id], "cells": True} for id in ids]
    groups.append({"questions": ids, "cells": True, "parities": True})
    survey(**keys, regression=wanted, message=groups)
    with pytest.raises(
        incrowd.SurveyError, match=r"q0, q1, .*; no message has all of these questions"
    ):
        survey(**keys, regression=[wanted[0] | {"family": "logistic"}], message=groups)
    alone = plan.model_copy(update={"messages": plan.messages[:-1]})
    with pytest.raises(PlanError, match="q7"):
        incrowd.Plan.loads(alone.dumps())


def p_value(reports, message, record):
    """That one person's record, sent by many, gave these counts: by the normal law of each bit."""
    counts = np.bincount(reports[:, 0], minlength=message.record_bits)
    q = message.noise.q
    chances = np.where(record, 1 - q, q)
    squares = (counts - PEOPLE * chances) ** 2 / (PEOPLE * chances * (1 - chances))
    return stats.chi2.sf(squares.sum(), message.record_bits)


def test_the_sampler_draws_the_law_of_a_record(path):
    """Everybody gives the answers yes, no, no, yes, no; those of others give other parities, and a
    wrong law: each single answer turned around but the first."""
    said = np.array([True, False, False, True, False])
    made = incrowd.randomize(path.plan, columns(np.tile(said, (PEOPLE, 1))), simulation_seed=8)
    message = path.plan.messages[0]
    assert message.parities

    def record(answers):
        return np.array([x != y for x, y in itertools.combinations(answers, 2)])

    assert p_value(made[0].packed, message, record(said)) > RARE
    assert p_value(made[0].packed, message, record(~said)) > RARE  # nobody can tell: no single bit
    for at in range(5):
        turned = said ^ (np.arange(5) == at)
        assert p_value(made[0].packed, message, record(turned)) < RARE


@pytest.mark.slow
def test_simulated_errors_are_those_that_are_stated():
    """Chi-square of 60 collections: the mean square over the stated variance, of all cells of all
    pairs and of the coefficients of a linear model, stays within 5 of its own standard errors; with
    half the noise it would not."""
    generator = np.random.default_rng(0)
    answers = generator.random((PEOPLE, 5)) < [0.1, 0.3, 0.5, 0.4, 0.2]
    plan, people = incrowd.plan(survey()), Path(None, answers, ())
    pairs, right = list(itertools.combinations(IDS, 2)), fitted(answers)
    cells, coefficients = [], []
    for seed in range(60):
        made = incrowd.randomize(plan, columns(answers), simulation_seed=seed)
        model = incrowd.regress(plan, made, **LINEAR, noise_only=True).coefficients
        apart = np.array([c.estimate for c in model]) - right
        coefficients.append(np.mean((apart / [c.standard_error for c in model]) ** 2))
        found = incrowd.estimate(plan, made, noise_only=True)
        tables = [(found.table(*ids), people.true(ids)) for ids in pairs]
        squares = [((t.estimate - true) / t.error.noise)[1, 1] ** 2 for t, true in tables]
        cells.append(np.mean(squares))
    for each in (np.array(cells), np.array(coefficients)):
        spread = each.std(ddof=1) / np.sqrt(60)
        assert abs(each.mean() - 1) < 5 * spread
        assert abs(2 * each.mean() - 1) > 5 * spread


@pytest.mark.slow
def test_a_fixed_message_of_parities(path):
    """As the survey has it; without a message of cells for each question it is refused."""
    pairs = {"questions": IDS, "cells": True, "parities": True}
    bits = [{"questions": [id], "cells": True} for id in IDS]
    plan = incrowd.plan(survey(message=[pairs, *bits]))
    assert [message.parities for message in plan.messages] == [True, *[False] * 5]
    fixed, free = (
        max(each.standard_error_even for each in incrowd.forecast(made))
        for made in (plan, path.plan)
    )
    assert free <= fixed < 1.1 * free  # noises as if each message leaked by itself
    with pytest.raises(incrowd.SurveyError, match="parities do not show its answers"):
        survey(message=[pairs, *bits[1:], {"questions": IDS}])


@pytest.mark.slow
def test_parities_whose_questions_have_no_bits_of_their_own():
    """Each question is in a table of cells: one parity and two cells differ at most. Their laws,
    composed by another program, have nearly all of the promised delta."""
    pairs = {"questions": ["a", "b"], "cells": True, "parities": True}
    questions = [{"id": id, "type": "yesno"} for id in "ab"]
    messages = [pairs, {"questions": ["a", "b"], "cells": True}]
    plan = incrowd.plan(survey(question=questions, tables=None, message=messages))
    assert incrowd.verify(plan).plan_holds
    noise = [message.noise.q for message in plan.messages]
    assert 0.9e-6 < worst_delta(list(zip(noise, [1, 2], strict=True)), PEOPLE, 1.0) <= 1e-6
