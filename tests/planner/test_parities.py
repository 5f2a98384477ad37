"""Pairs of yes/no questions planned as parities: how precise they are, and when they are chosen."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import incrowd
from incrowd.guarantees.certified import recertify
from incrowd.planner.allocation import PlanLimits, log_odds
from incrowd.planner.loads import Clique, SearchVariable
from incrowd.planner.precision import guessed_excess
from incrowd.planner.search import inflations, search, with_parities
from incrowd.planner.task import SearchTask
from incrowd.plans.changes import families
from incrowd.plans.sent import sent_by
from tests.conftest import slowly

TWO, THREE, SEVERAL = SearchVariable(2), SearchVariable(3), SearchVariable(3, 2)


def best_ratio(count):
    return Clique.of(frozenset(range(count))).ratio


def all_pairs(places):
    return tuple(map(frozenset, itertools.combinations(places, 2)))


def task(variables, tables, mean=False, **limits):
    return SearchTask(tuple(variables), tuple(tables), PlanLimits(1.0, **limits), mean)


def kinds(found):
    """How many messages are of so many variables, those of parities apart."""
    return [len(m) for m in found.messages[: found.parities]], sorted(
        map(len, found.messages[found.parities :])
    )


def changed_most(sizes, cost):
    """The most that the bits cost that one change of answers changes. sizes: of cliques whose
    parities and single bits cost `cost` = (of a parity, of a bit)."""
    return sum(
        max(d * (size - d) * pair + d * single for d in range(size + 1))
        for size, (pair, single) in zip(sizes, cost, strict=True)
    )


def survey(count, *more, epsilon=1.0, crowd=20_000, **keys):
    asked = [{"id": f"q{i}", "type": "yesno"} for i in range(count)]
    privacy = {"epsilon": epsilon, "delta": 1e-6}
    raw = {"name": "pairs", "crowd": crowd, "privacy": privacy, "tables": "pairs"}
    raw |= {"question": [*asked, *more]} | keys
    return incrowd.Survey.of({key: value for key, value in raw.items() if value is not None})


@pytest.fixture(scope="module")
def twenty():
    return incrowd.plan(survey(20))


@pytest.mark.slow
def test_all_pairs_of_twenty_questions(twenty):
    """The bars: 33 people of noise in a cell, 105 pieces if half say yes to each question, and a
    local epsilon of 261; cells after least squares had 43.6 people, 256 pieces and 591."""
    parities, *bits = twenty.messages
    assert parities.parities and len(parities.ids) == 20
    assert [message.ids for message in bits] == [(id,) for id in parities.ids]
    tables = [each for each in incrowd.forecast(twenty) if len(each.questions) == 2]
    assert len(tables) == 190
    q, single = parities.noise.q, bits[0].noise.q
    v, w = (x * (1 - x) / (1 - 2 * x) ** 2 for x in (q, single))
    people = math.sqrt(20_000 * (2 * w + v) / 4)
    assert people < 33
    assert [each.noise_error * 20_000 for each in tables] == pytest.approx([people] * 190)
    assert v / w == pytest.approx(4, rel=1e-3)
    assert sum(m.record_bits for m in twenty.messages) / 2 == 105
    worst = max(
        d * (20 - d) * math.log(1 / q - 1) + d * math.log(1 / single - 1) for d in range(21)
    )
    assert twenty.guarantee.local_epsilon == pytest.approx(worst, rel=1e-9)
    assert worst == pytest.approx(261, abs=1.5)


@pytest.mark.slow
def test_the_certificate_is_close_and_of_all_ways_to_change_answers(twenty):
    """Between half and all answers, each way counted; the noise is the smallest that keeps all."""
    assert 0.99e-6 < recertify(twenty).delta.upper <= 1e-6
    [family] = families(twenty.messages)
    ways = list(family.differences(1))
    expected = [(d * (20 - d), d) for d in range(10, 21)]
    assert [(pairs, sum(bits)) for pairs, *bits in ways] == expected
    assert len(sent_by(twenty).each) == len(ways)


@pytest.mark.parametrize("count", [3, 4, 7, 20, 60])
def test_the_best_ratio_of_both_noises(count):
    """Against a numerical minimum of variance times leak, of a number D that need not be whole."""

    def product(ratio):
        variance = (2 / ratio + 1) / 4
        return variance * ((count + ratio) / 2) ** 2

    best = minimize_scalar(product, bounds=(0.1, 60), method="bounded", options={"xatol": 1e-9})
    assert best_ratio(count) == pytest.approx(best.x, rel=1e-4)
    assert best_ratio(20) == pytest.approx(4)


@pytest.mark.parametrize("count", [5, 8, 20])
def test_all_pairs_are_parities_and_no_search_has_less(count):
    """The closed form of their inflation; crossed tables of any kind have more."""
    problem = task([TWO] * count, all_pairs(range(count)))
    found = with_parities(problem)
    assert kinds(found) == ([count], [1] * count)
    ratio = best_ratio(count)
    whole = max(d * (count - d) + d * ratio for d in range(count + 1))
    assert found.excess == pytest.approx(4 / 3 * (1 + 2 / ratio) * whole)
    excess = np.array(inflations(problem, found.messages, found.leaks, 1)) - 1
    assert excess == pytest.approx([found.excess] * len(problem.tables))
    if count < 20:
        assert found.excess < 0.97 * search(problem).excess


@pytest.mark.parametrize("mean", [False, True])
def test_what_is_used_is_what_one_change_can_cost(mean):
    """Two groups of questions by parities, beside a table of others and one across."""
    tables = [
        *all_pairs(range(6)),
        *all_pairs(range(6, 11)),
        frozenset({11, 12}),
        frozenset({0, 12}),
    ]
    problem = task([TWO] * 11 + [THREE, SEVERAL], tables, mean)
    found = with_parities(problem)
    assert kinds(found)[0] in ([6, 5], [5, 6])
    rest = found.messages[2 + 11 :]
    leaks = np.array(found.leaks)
    sizes = [len(message) for message in found.messages[:2]]
    single = [leaks[2], leaks[2 + sizes[0]]]
    for used, cost in ((found.use.leak, leaks), (found.use.local_epsilon, log_odds(leaks))):
        singles = [cost[2], cost[2 + sizes[0]]]
        of_groups = changed_most(sizes, list(zip(cost[:2], singles, strict=True)))
        others = sum(
            (2 if 12 not in message else 6) * each
            for message, each in zip(rest, cost[13:], strict=True)
        )
        assert used == pytest.approx(of_groups + others)
    assert found.use.leak == pytest.approx(1.0)
    assert single == pytest.approx([best_ratio(n) * leaks[i] for i, n in enumerate(sizes)])
    excess = np.array(inflations(problem, found.messages, found.leaks, 2))
    worst = excess.mean() if mean else excess.max()
    assert worst - 1 == pytest.approx(found.excess, rel=1e-3)


def test_tables_of_three_answers_or_questions_are_crossed():
    """Pairs with a question of three answers, and a table of three questions, are not told by
    parities; the pairs of the others still are."""
    tables = [*all_pairs(range(8)), frozenset({0, 8}), frozenset({1, 2, 3})]
    found = with_parities(task([TWO] * 8 + [THREE], tables))
    assert found.parities == 1 and found.messages[0] == frozenset(range(8))
    for table in (frozenset({0, 8}), frozenset({1, 2, 3})):
        assert any(table <= message for message in found.messages[1:])


@pytest.mark.parametrize(
    "variables", [[THREE] * 6, [SEVERAL] + [THREE] * 5, [TWO] * 2 + [THREE] * 4], ids=str
)
def test_without_two_answers_each_there_are_no_parities(variables):
    tables = all_pairs(range(1 if SEVERAL in variables else 0, 6))
    found = with_parities(task(variables, tables))
    assert found.parities == 0


def test_few_wanted_pairs_are_cells():
    """Ten pairs of twenty questions, no question in two of them: parities would pay for 190."""
    tables = [frozenset({2 * i, 2 * i + 1}) for i in range(10)]
    found = with_parities(task([TWO] * 20, tables))
    assert found.parities == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "share"),
    [("reports", 0.9), ("local_epsilon", 0.1), *slowly(("local_epsilon", 0.5))],
)
def test_limits_are_kept(limit, share):
    """Where parities send or leak too much, what the search for cells finds can be chosen."""
    free = with_parities(replace(task([TWO] * 9, all_pairs(range(9))), limits=PlanLimits(100.0)))
    assert free.parities
    limits = PlanLimits(100.0, **{limit: share * getattr(free.use, limit)})
    problem = replace(task([TWO] * 9, all_pairs(range(9))), limits=limits)
    found = with_parities(problem)
    assert found.fits and getattr(found.use, limit) <= getattr(limits, limit) * (1 + 1e-9)
    assert 1 + found.excess <= 1.02 * (1 + search(problem).excess)


@pytest.mark.slow
def test_a_survey_with_other_questions_has_both():
    """The forecast says the inflation that the planner makes small."""
    more = [
        {"id": "hours", "type": "number", "edges": [0, 10, 20, 30, 40]},
        {"id": "two", "type": "choice", "options": ["u", "v"]},
    ]
    ids = ["q0", "q1", "q2", "q3", "two"]
    table = [{"questions": list(pair)} for pair in itertools.combinations(ids, 2)]
    plan = incrowd.plan(survey(4, *more, crowd=1000, tables=None, table=table))
    assert [message.ids for message in plan.messages if message.parities] == [tuple(ids)]
    excess = [table.inflation - 1 for table in incrowd.forecast(plan)]
    assert guessed_excess(plan.survey, plan.messages) == pytest.approx(max(excess), rel=1e-6)
    assert incrowd.Plan.loads(plan.dumps()) == plan
    assert recertify(plan).delta.upper <= 1e-6


def test_a_capped_local_epsilon_is_kept_by_all_ways_to_change_answers():
    privacy = {"epsilon": 1.0, "delta": 1e-6, "local_epsilon": 30.0}
    plan = incrowd.plan(survey(6, privacy=privacy))
    assert plan.guarantee.local_epsilon <= 30
    assert sent_by(plan).local_epsilon <= 30


@pytest.mark.slow
def test_rounds_and_rows_are_counted_together():
    """In three rounds 5 questions change up to 3 x 15 times; in each round other answers can."""
    plan = incrowd.plan(survey(5, rounds=3))
    pair, single = (plan.messages[i].noise.epsilon for i in (0, 1))
    worst = max(
        sum(d * (5 - d) * pair + d * single for d in ds)
        for ds in itertools.combinations_with_replacement(range(6), 3)
    )
    assert plan.guarantee.local_epsilon == pytest.approx(worst, rel=1e-9)
    assert recertify(plan).delta.upper <= 1e-6


@pytest.mark.parametrize(
    ("tables", "searches"),
    [(all_pairs(range(3)), 1), ((*all_pairs(range(3)), frozenset({3})), 2), (all_pairs((0, 3)), 1)],
)
def test_cells_are_searched_for_again_only_beside_parities(monkeypatch, tables, searches):
    """All cells, and those beside the parities; there are none without three connected yes/no
    questions, and none beside if the parities hold all tables."""
    made = []
    monkeypatch.setattr(
        "incrowd.planner.search.search", lambda each: made.append(each) or search(each)
    )
    assert with_parities(task([TWO] * 3 + [THREE], tables))
    assert len(made) == searches
