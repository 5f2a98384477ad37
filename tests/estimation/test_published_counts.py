"""Estimates from published counts: the exact law of what services add, in every analysis."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.accountant import AdditiveNoise
from incrowd.errors import ReportsError
from incrowd.estimation.readings import cells_reading, table
from incrowd.plans import CellsMessage
from incrowd.plans.message import SERVICES
from incrowd.reports.collection import Collection
from incrowd.reports.tally import MessageTally, Tally, as_counts
from incrowd.reports.tally_files import as_text, of_text
from incrowd.sampling.keystream import Keystream
from incrowd.simulation import Everybody, Trial, _theory, people_of_file
from tests.oracles.service_plans import QUESTIONS, plan_of, survey_of

AGE = {"id": "age", "type": "choice", "options": ["young", "old"]}
TOOLS = {"id": "tools", "type": "multi", "options": ["pen", "ink"], "at_most": 2}
SITE = {"id": "site", "type": "choice", "options": ["x", "y"], "open": True}
FLAT = AdditiveNoise.laplace(0.7, most=30)
SHARP = AdditiveNoise.laplace(1.5, most=20)


def collections(plan, cells, people=60, draws=SERVICES, strata=()):
    """Collections with these counts of each message."""
    return [
        Collection(
            plan=plan.digest,
            message=number,
            bits=64,
            packed=as_counts(np.asarray(each, np.int64)),
            seed=None,
            id=f"{number}{strata}",
            people=people,
            strata=strata,
            draws=draws,
        )
        for number, each in enumerate(cells)
    ]


def tables_of(plan, cells, ids, **more):
    """A table from these counts, which need not be whole numbers."""
    whole = {
        number: MessageTally(60, 0, 60, {message.ids: np.append(60, each)}, more.get("draws", 2))
        for number, (message, each) in enumerate(zip(plan.messages, cells, strict=True))
    }
    return table(plan, Tally(plan.digest, (ids,), messages=whole), ids, noise_only=True)


def coefficients(plan, cells, ids):
    """How much each cell of a table changes if one more person is published in a cell."""
    base = tables_of(plan, cells, ids).estimate
    for number, each in enumerate(cells):
        for place in range(len(each)):
            more = [np.array(each, float) for each in cells]
            more[number][place] += 1
            yield number, tables_of(plan, more, ids).estimate - base


# --- unbiased, with the variance of the law ------------------------------------------------------

CASES = {
    "one table": ([("smokes", "team")], ("team",)),
    "its cells": ([("smokes", "team")], ("smokes", "team")),
    "a single bit": ([("smokes",), ("team",)], ("smokes",)),
    "two tables": ([("smokes", "team"), ("team", "age")], ("team",)),
    "and a cell": ([("smokes", "team"), ("team", "age")], ("team", "age")),
}


@pytest.mark.parametrize("case", CASES)
def test_estimates_are_unbiased_with_the_exact_variance_of_the_law(case):
    """An estimate is linear in the counts: its mean is that of the true counts, its variance the
    sum of squared coefficients times that of the law. Wrong: the variance of one draw for two."""
    tables, ids = CASES[case]
    asked = [q for q in [*QUESTIONS, AGE] if any(q["id"] in ids for ids in tables)]
    plan = plan_of(survey_of(asked), *tables, law=FLAT)
    people = np.random.default_rng(5).multinomial(60, np.full(12, 1 / 12)).reshape(2, 3, 2)
    order = ["smokes", "team", "age"]
    inside = [margin(people, order, message.ids) for message in plan.messages]
    cells = [each.ravel()[1:] if each.shape == (2,) else each.ravel() for each in inside]
    found = tables_of(plan, cells, ids)
    assert found.estimate == pytest.approx(margin(people, order, ids) / 60)
    squares = sum(change**2 for _, change in coefficients(plan, cells, ids))
    exact = squares * SERVICES * FLAT.variance
    assert found.error.noise**2 == pytest.approx(exact)
    once = tables_of(plan, cells, ids, draws=1).error.noise ** 2
    assert once == pytest.approx(exact / 2) and not np.allclose(once, exact)


def margin(people, order, ids):
    """How many people give each combination of answers to some questions."""
    rest = tuple(place for place, id in enumerate(order) if id not in ids)
    left = [id for id in order if id in ids]
    return people.sum(axis=rest).transpose([left.index(id) for id in ids])


def test_several_options_have_the_exact_variance():
    """A person can choose both: no sum of options is known, one of "any answer" is."""
    survey = survey_of([TOOLS, QUESTIONS[0]])
    plan = plan_of(survey, ("tools", "smokes"), law=FLAT)
    inside = np.array([10, 5, 20, 8, 33, 27])
    for ids in (("tools", "smokes"), ("tools",), ("smokes",)):
        found = tables_of(plan, [inside], ids)
        squares = sum(change**2 for _, change in coefficients(plan, [inside], ids))
        assert found.error.noise**2 == pytest.approx(squares * SERVICES * FLAT.variance)
    assert tables_of(plan, [inside], ("tools",)).estimate == pytest.approx([15 / 60, 28 / 60])
    assert tables_of(plan, [inside], ("smokes",)).estimate == pytest.approx([33 / 60, 27 / 60])


def test_tables_with_other_laws_are_weighted_by_their_noise():
    """The more precise table counts more, in the way that has the least variance."""
    survey = survey_of([*QUESTIONS, AGE])
    sent = [
        CellsMessage(questions=tuple(map(survey.question, ids)), added=law)
        for ids, law in ((("team", "smokes"), FLAT), (("team", "age"), SHARP))
    ]
    plan = plan_of(survey).model_copy(update={"messages": tuple(sent)})
    changes = list(coefficients(plan, [np.full(6, 10.0)] * 2, ("team",)))
    first, second = (sum(c**2 for n, c in changes if n == message) for message in (0, 1))
    found = tables_of(plan, [np.full(6, 10.0)] * 2, ("team",)).error.noise ** 2
    assert found == pytest.approx(2 * (first * FLAT.variance + second * SHARP.variance))
    alone = [2 * 2 * law.variance * (1 - 1 / 3) / 60**2 for law in (FLAT, SHARP)]
    assert found == pytest.approx(1 / (1 / alone[0] + 1 / alone[1]))


def test_a_liar_moves_one_person_in_each_table():
    """However often somebody lies with one upload: each coefficient is at most one person."""
    survey = survey_of([*QUESTIONS, AGE])
    plan = plan_of(survey, ("smokes", "team"), ("age",), law=FLAT)
    made = collections(plan, [[10] * 6, [30]])
    found = incrowd.estimate(plan, made, tables=[["smokes", "team"], ["age"], ["team"]])
    for each in found:
        assert 0 < each.provenance.influence <= 1 / 60 + 1e-12
    alone = plan_of(survey, ("smokes", "team"), ("age",), ("smokes",), law=FLAT)
    cells = [[10] * 6, [30], [30]]
    changes = [np.abs(c).max() for _, c in coefficients(alone, cells, ("smokes",))]
    told = incrowd.estimate(alone, collections(alone, cells), tables=[["smokes"]])["smokes"]
    assert told.provenance.influence >= max(changes[:6]) + max(changes[7:]) - 1e-12


# --- tallies -------------------------------------------------------------------------------------


def test_the_draws_of_two_strata_add_up():
    """The variance of the whole is the sum of both; in a file as well."""
    plan = plan_of(survey_of([SITE, *QUESTIONS]), ("smokes", "team"), law=FLAT)
    parts = [
        incrowd.count(plan, collections(plan, [cells], n, strata=(name,)), tables=[("smokes",)])
        for name, n, cells in (("x", 30, [5] * 6), ("y", 12, [-1, 0, 3, 4, 2, 5]))
    ]
    whole = of_text(as_text(parts[0] + parts[1]))
    assert whole.messages[0].draws == 4 and [c[0].draws for c in whole.strata.values()] == [2, 2]
    assert whole.messages[0].tables[("smokes", "team")].tolist() == [42, 4, 5, 8, 9, 7, 10]
    found = incrowd.estimate(plan, whole, tables=[["smokes", "team"]])["smokes", "team"]
    variances = [2 * FLAT.variance * 5 / 6] * 2
    assert found.error.noise**2 == pytest.approx(sum(variances) / 42**2)


def test_a_tally_with_another_number_of_draws_is_refused():
    plan = plan_of(survey_of(), law=FLAT)
    tally = incrowd.count(plan, collections(plan, [[10] * 6]), tables=[("smokes",)])
    for draws in (0,):
        wrong = replace(tally, messages={0: replace(tally.messages[0], draws=draws)})
        with pytest.raises(ReportsError, match="noise was added 0 times"):
            incrowd.estimate(plan, wrong, tables=[["smokes"]])


def test_counts_below_zero_and_above_everybody_are_estimated_as_they_are():
    plan = plan_of(survey_of(), law=FLAT)
    made = collections(plan, [[-3, 70, 0, 0, 0, -7]])
    found = incrowd.estimate(plan, made, tables=[["smokes", "team"]])["smokes", "team"]
    assert found.estimate.min() < 0 and found.estimate.max() > 1
    assert found.estimate.sum() == pytest.approx(1)
    simplex = incrowd.postprocess(plan, made, tables=[["smokes", "team"]], method="simplex")[0]
    assert simplex.estimate.min() == 0 and simplex.estimate.sum() == pytest.approx(1)


# --- checks --------------------------------------------------------------------------------------


def test_a_sum_is_compared_with_the_people_by_its_noise():
    """z by the law; a sum that noise cannot explain is found, one that it can is not."""
    plan = plan_of(survey_of(), law=FLAT)
    deviation = np.sqrt(6 * 2 * FLAT.variance)
    found = incrowd.verify(plan, collections(plan, [[11] * 6]))
    (total,) = found.sums
    assert (total.counts, total.people, total.total) == (6, 60, 66)
    assert total.z == pytest.approx(6 / deviation) and found.holds
    assert found.reports is None and found.rejected == 0 and not found.missing
    wrong = incrowd.verify(plan, collections(plan, [[11, 11, 11, 11, 11, 150]]))
    assert not wrong.sums[0].possible and not wrong.holds and wrong.promise_holds
    assert not incrowd.verify(plan_of(survey_of(QUESTIONS[:1])), None).sums


def test_noise_stays_within_what_is_called_possible():
    """The exact law of the sum has less than 1e-9 beyond, on each side; half as far has more."""
    plan = plan_of(survey_of(), law=FLAT)
    (total,) = incrowd.verify(plan, collections(plan, [[10] * 6])).sums
    law = np.ones(1)
    for _ in range(12):
        law = np.convolve(law, FLAT.chances)
    beyond = [law[: len(law) // 2 - int(most)].sum() for most in (total.most, total.most / 2)]
    assert beyond[0] < 1e-9 < beyond[1]


def test_p_values_are_those_of_the_law():
    """Nobody is in a cell: the chance of its count or more, by convolution; of merged answers, that
    of as many cells."""
    plan = plan_of(survey_of(), law=SHARP)
    made = collections(plan, [[3, -1, 0, 1, 5, 40]])
    p = incrowd.estimate(plan, made, tables=[["smokes", "team"]])["smokes", "team"].error.p_values
    law = np.convolve(SHARP.chances, SHARP.chances)
    reach = len(law) // 2
    exact = [law[reach + n :].sum() if n <= reach else 0.0 for n in (3, -1, 0, 1, 5, 40)]
    assert p.ravel() == pytest.approx(exact, abs=1e-12)


# --- noise that is drawn again -------------------------------------------------------------------


@pytest.mark.slow
def test_the_bootstrap_draws_noise_by_the_law():
    """The noise of a reading has its covariance; 3,000 draws, within 6 standard errors."""
    plan = plan_of(survey_of([*QUESTIONS, AGE]), ("smokes", "team"), ("team", "age"), law=FLAT)
    tally = incrowd.count(plan, collections(plan, [[10] * 6] * 2), tables=[("team",)])
    reading, generator = cells_reading(plan, tally), np.random.default_rng(3)
    drawn = np.array([reading.noise(("team", "age"), generator).ravel() for _ in range(3000)])
    exact = np.sqrt(reading.combined(("team", "age")).noise_variance)
    assert np.abs(drawn.std(axis=0) / exact - 1).max() < 6 * np.sqrt(6 / 4 / 3000)
    assert np.abs(drawn.mean(axis=0)).max() < 6 * exact / np.sqrt(3000)
    wrong = exact / np.sqrt(2)
    assert np.abs(drawn.std(axis=0) / wrong - 1).max() > 6 * np.sqrt(6 / 4 / 3000)


# --- simulated surveys ---------------------------------------------------------------------------


def people(number=4000, seed=1):
    generator = np.random.default_rng(seed)
    team = generator.choice(["a", "b", "c"], number, p=[0.5, 0.3, 0.2])
    smokes = np.where(generator.random(number) < np.where(team == "a", 0.4, 0.15), "yes", "no")
    age = np.where(generator.random(number) < 0.5, "old", "young")
    site = generator.choice(["x", "y"], number)
    return pa.table({"site": site, "smokes": smokes, "team": team, "age": age})


TRIALS = 300


def trials(plan, population, fixed):
    trial = Trial(plan, population, fixed, None, None)
    generator, stream = np.random.default_rng(2), Keystream.for_simulation(2)
    return trial, list(zip(*(trial.run(generator, stream) for _ in range(TRIALS)), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("fixed", "strata"), [(False, False), (True, True)])
def test_simulated_surveys_have_the_theoretical_errors(fixed, strata):
    """Two draws in each of 300 collections: variances within 6 standard errors of the theory, the
    bias within 5, coverage not below 92%. With the theory of one draw the variances are off where
    noise dominates (fixed people)."""
    survey = survey_of([*([SITE] if strata else []), *QUESTIONS, AGE], crowd=150)
    plan = plan_of(
        survey, ("smokes", "team"), ("team", "age"), law=AdditiveNoise.laplace(0.3, most=120)
    )
    known = people_of_file(
        survey,
        people(4000 if not fixed else 150).select([question.id for question in survey.questions]),
    )
    population = Everybody.of(plan, known)
    trial, results = trials(plan, population, fixed)
    for ids, each in zip(trial.wanted, results, strict=True):
        estimates = np.array([table.estimate for table, _ in each])
        truth = population.cells(plan, ids)
        theory = _theory(plan, population, ids, fixed, trial.number)
        spread = estimates.std(axis=0, ddof=1)
        assert (
            np.abs(estimates.mean(axis=0) - truth).max() <= 5 * (theory / TRIALS**0.5).max() + 1e-12
        )
        if theory.min() > 0:
            limit = 6 * np.sqrt(0.9 / TRIALS)
            assert np.abs(spread / theory - 1).max() < limit
            assert not fixed or np.abs(spread / (theory / np.sqrt(2)) - 1).max() > limit
        held = [(table.low - 1e-12 <= truth) & (truth <= table.high + 1e-12) for table, _ in each]
        assert np.mean(held) > 0.92


# --- every analysis ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def owned():
    """A data owner's plan of all pairs of three questions, and the published counts."""
    survey = survey_of([*QUESTIONS, AGE], crowd=400)
    pairs = [("smokes", "team"), ("team", "age"), ("smokes", "age")]
    plan = plan_of(survey, *pairs, law=FLAT)
    known = people(400).select(["smokes", "team", "age"])
    return plan, incrowd.randomize(plan, known, simulation_seed=4), known


ANALYSES = {
    "estimate": lambda *given: incrowd.estimate(*given, tables=[["smokes", "team"]]),
    "covariance": lambda *given: incrowd.estimate(
        *given, tables=[["smokes", "team"]], covariance=True, simultaneous="max-t"
    ),
    "weighted": lambda *given: incrowd.estimate(
        *given, tables=[["smokes"]], margins={"age": {"young": 0.5, "old": 0.5}}
    ),
    "compare": lambda *given: incrowd.compare(*given, "smokes", "team"),
    "shares": lambda *given: incrowd.compare_shares(*given, {"smokes": "yes"}, {"age": "old"}),
    "correlate": lambda *given: incrowd.correlate(*given, scores={"age": [0, 1]}),
    "regress": lambda *given: incrowd.regress(*given, "smokes ~ team + age", family="linear"),
    "likelihood": lambda *given: incrowd.postprocess(*given, bootstrap=20),
    "consistent": lambda *given: incrowd.postprocess(*given, method="consistent"),
}


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_reads_published_counts(owned, name):
    """And states that they protect nobody from whoever holds the answers."""
    plan, made, _ = owned
    result = ANALYSES[name](plan, made)
    assert result.guarantee.mixed_by == ("curator",)
    facts = json.dumps(result.facts(), default=str)
    assert '"reports": 1' not in facts


# --- few people ----------------------------------------------------------------------------------


def test_few_people_have_intervals_by_the_law():
    """Of merged answers the law of the sum; noise that was added twice counts as two cells'."""
    plan = plan_of(survey_of(), law=SHARP)
    made = collections(plan, [[9, 4, 12, 20, 8, 5]])
    found = incrowd.estimate(plan, made, tables=[["team"], ["smokes", "team"]])
    for ids, cells, counts in (
        (("smokes", "team"), 1, [[9, 4, 12], [20, 8, 5]]),
        (("team",), 2, [29, 12, 17]),
    ):
        told = found[ids].error.published
        assert told.counts.tolist() == counts and told.people == 60
        assert (told.cells == 2 * cells).all() and (told.of == 12).all()
        assert (told.missing == 2).all() and told.noise == SHARP
        low, high = told.intervals(0.95, census=False)
        assert np.array_equal(found[ids].low, low) and np.array_equal(found[ids].high, high)
    merge = {"team": {"most": ["a", "b"]}}
    merged = incrowd.estimate(plan, made, tables=[["team"]], merge=merge)["team"]
    assert merged.error.published.counts.tolist() == [41, 17]
    assert merged.error.published.cells.tolist() == [8, 4]


def test_a_single_bit_is_read_from_both_sides():
    plan = plan_of(survey_of(QUESTIONS[:1]), law=SHARP)
    found = incrowd.estimate(plan, collections(plan, [[13]]))["smokes"]
    told = found.error.published
    assert told.counts.tolist() == [47, 13] and told.cells.tolist() == [2, 2]
    assert told.of.tolist() == [0, 0]
    assert found.low + found.high[::-1] == pytest.approx(np.ones(2))


def test_tables_that_several_messages_make_more_precise_have_no_such_intervals():
    """And those of 301 people; and options and a crossing that nobody counted alone."""
    plan = plan_of(survey_of(), ("smokes", "team"), ("team",), law=SHARP)
    found = incrowd.estimate(plan, collections(plan, [[10] * 6, [20] * 3]))
    assert found["team"].error.published is None
    alone = plan_of(survey_of(), law=SHARP)
    many = incrowd.estimate(alone, collections(alone, [[50] * 6], people=301))
    assert many["team"].error.exact is None and many["team"].error.published


def test_a_census_has_no_sampling_error():
    plan = plan_of(survey_of(census=True, crowd=400), law=SHARP)
    for people in (60, 400):
        made = collections(plan, [[people // 6] * 6], people=people)
        found = incrowd.estimate(plan, made)["team"]
        assert found.error.noise_only and np.array_equal(found.standard_error, found.error.noise)
        sampled = incrowd.estimate(
            plan_of(survey_of(crowd=400), law=SHARP),
            [replace(each, plan=plan_of(survey_of(crowd=400), law=SHARP).digest) for each in made],
        )["team"]
        assert (sampled.high - sampled.low > 1.5 * (found.high - found.low)).all()
    assert incrowd.compare(plan, made, "smokes", "team").facts()


def test_every_count_of_few_people_is_covered_as_promised():
    """Exactly: 12 people, 3 of them in one of three cells; the noise of all three is enumerated.
    If noise that was added twice is read as added once, intervals are too short."""
    plan = plan_of(survey_of(QUESTIONS[1:], census=True), law=SHARP)
    law, kept = np.convolve(SHARP.chances, SHARP.chances), np.arange(-9, 10)
    noise = np.array(list(product(kept, repeat=3)))
    chances = law[len(law) // 2 + noise].prod(axis=1)
    covered = {}
    for draws in (2, 1):
        tally = MessageTally(12, 0, 12, {("team",): np.array([12, 3, 5, 4])}, draws)
        counted = Tally(plan.digest, (("team",),), messages={0: tally})
        one = table(plan, counted, ("team",), noise_only=True).error.published
        every = one.mapped(lambda each: np.full(len(noise), each[0]))
        published = replace(every, counts=3 + noise[:, 0], missing=-noise.sum(axis=1))
        low, high = published.intervals(0.95, census=True)
        covered[draws] = chances[(low <= 3 / 12) & (high >= 3 / 12)].sum()
    assert covered[1] < 0.95 < covered[2]
