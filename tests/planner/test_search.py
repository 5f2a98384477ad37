"""The search for messages of cells: by enumeration, dense least squares, convex optimization."""

import itertools
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

from incrowd.accountant.certificates import smallest_noise
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from incrowd.catalog.sentences import translated
from incrowd.planner.allocation import CellsLoad, PlanLimits, log_odds
from incrowd.planner.covers import cheapest_cover, without_contained
from incrowd.planner.effects import Effects, excess_alone
from incrowd.planner.loads import SearchVariable, cells_load
from incrowd.planner.search import evaluate, inflations, search
from incrowd.planner.solving import solve
from incrowd.planner.task import SearchTask
from tests.planner.conftest import yes_no_survey

TWO, THREE, FOUR, FIVE = (SearchVariable(c) for c in (2, 3, 4, 5))
HEALTH = (TWO, FOUR, FOUR, FIVE, TWO)
HEALTH_TABLES = tuple(map(frozenset, ([0, 1], [2], [3], [4])))


def sets(*tables):
    return tuple(map(frozenset, tables))


def random_survey(seed, questions, tables, most):
    rng = np.random.default_rng(seed)
    wanted = set()
    while len(wanted) < tables:
        size = rng.choice([1, 2, 2, 2, 3])
        wanted.add(frozenset(rng.choice(questions, size, replace=False).tolist()))
    variables = tuple(SearchVariable(int(c)) for c in rng.integers(2, most + 1, questions))
    return variables, without_contained(sorted(wanted, key=sorted))


# --- what a message sends ------------------------------------------------------------------------


def records(variables):
    """All records of a message of cells, by listing what a person can answer."""
    answers = []
    for v in variables:
        chosen = range(v.answers)
        if v.most is None:
            answers.append([frozenset([a]) for a in chosen])
        else:
            some = range(min(v.most, v.answers) + 1)
            answers.append([frozenset(c) for k in some for c in itertools.combinations(chosen, k)])
    crossed = len(variables) > 1
    for each in itertools.product(*answers):
        axes = [
            a | {"any"} if v.most is not None and crossed else a
            for v, a in zip(variables, each, strict=True)
        ]
        yield frozenset(itertools.product(*axes))


@pytest.mark.parametrize(
    "variables",
    [[THREE], [TWO, TWO], [TWO, THREE], [SearchVariable(4, 2)], [SearchVariable(3, 2)],
     [SearchVariable(3, 2), TWO], [SearchVariable(4, 2), TWO, TWO], [SearchVariable(4, 5), THREE]],
)  # fmt: skip
def test_changed_bits_are_those_of_the_worst_pair_of_records(variables):
    every = set(records(variables))
    sent = cells_load(variables)
    assert sent.times == max(len(a ^ b) for a in every for b in every)
    assert sent.bits == len(frozenset().union(*every))
    assert sent.ones == max(map(len, every))


def test_a_lone_yes_no_is_one_bit():
    assert cells_load([TWO])[:1] == (1,) and cells_load([TWO]).bits == 1


# --- inflation -----------------------------------------------------------------------------------


def dense_inflation(variables, table, messages, leaks):
    """The same by linear algebra: unknown are the people with each combination of all exclusive
    answers, and with each option as well; the number of people is known."""
    plain = [i for i, v in enumerate(variables) if v.most is None]
    several = [i for i, v in enumerate(variables) if v.most is not None]
    joint = list(itertools.product(*(range(variables[i].answers) for i in plain)))
    kinds = [None, *((i, o) for i in several for o in range(variables[i].answers))]
    unknown = {key: n for n, key in enumerate(itertools.product(kinds, range(len(joint))))}

    def rows(ids, *, any_too):
        mine = [plain.index(i) for i in sorted(ids) if i in plain]
        options = [k for k in kinds if k is not None and k[0] in ids]
        shown = options + ([None] if any_too or not options else [])
        for kind, cell in itertools.product(
            shown, sorted({tuple(z[k] for k in mine) for z in joint})
        ):
            row = np.zeros(len(unknown))
            for n, z in enumerate(joint):
                if tuple(z[k] for k in mine) == cell:
                    row[unknown[kind, n]] = 1
            yield row

    known = np.array([[kind is None for kind, _ in unknown]], float)
    information, free = (
        np.zeros((len(unknown),) * 2),
        np.eye(len(unknown)) - np.linalg.pinv(known) @ known,
    )
    for ids, leak in zip(messages, leaks, strict=True):
        lone = len(ids) == 1 and not set(ids) & set(several)
        sent = np.array(list(rows(ids, any_too=len(ids) > 1)))
        if lone and len(sent) == 2:
            sent = sent[:1]  # one bit
        information += leak * sent.T @ sent
    covariance = free @ np.linalg.pinv(free @ information @ free, hermitian=True) @ free
    cells = np.array(list(rows(table, any_too=False)))
    share = 1.0
    count = len(cells)
    for i in set(table) & set(several):
        count //= variables[i].answers
        share = min(variables[i].most, variables[i].answers) / 2 / variables[i].answers
    sampling = share / count * (1 - share / count)
    return 1 + np.trace(cells @ covariance @ cells.T) / len(cells) / sampling


SEVERAL = SearchVariable(3, 2)


@pytest.mark.parametrize(
    ("variables", "messages", "tables"),
    [
        ((TWO, THREE, TWO), sets([0, 1], [1, 2], [0]), sets([0, 1], [1, 2], [0], [1])),
        ((TWO, TWO, TWO), sets([0, 1], [1, 2], [0, 2]), sets([0, 1], [0, 2])),
        ((TWO, THREE, THREE), sets([0, 1, 2], [1, 2]), sets([0, 2], [1, 2], [0, 1, 2], [0])),
        ((SEVERAL, THREE, TWO), sets([0, 1], [1, 2], [0, 2], [0]), sets([0, 1], [1, 2], [0], [1])),
    ],
)  # fmt: skip
def test_inflations_are_those_of_dense_least_squares(variables, messages, tables):
    leaks = np.random.default_rng(5).uniform(0.2, 3.0, len(messages))
    found = inflations(SearchTask(variables, tables, PlanLimits(1.0)), messages, leaks)
    oracle = [dense_inflation(variables, table, messages, leaks) for table in tables]
    assert found == pytest.approx(oracle, rel=1e-9)


def alone(variables):
    """The excess of a message's own table, by its terms."""
    everything = frozenset(range(len(variables)))
    effects = Effects.of(variables, [everything])
    (excess,) = effects.weights @ (1 / effects.precisions([everything]))
    return float(excess[0])


@pytest.mark.parametrize(
    ("variables", "excess"),
    [
        ([TWO], 4),
        ([THREE], 3),
        ([TWO, FIVE], 10),
        ([SEVERAL], 1 / (1 / 3 * 2 / 3)),  # two of three: an option has the share 1 / 3
        ([SEVERAL, FOUR], 1 / (1 / 12 * 11 / 12)),
    ],
)
def test_a_message_alone_has_a_closed_form(variables, excess):
    """Exclusive cells: their number; a share s of a table whose sum is not known: 1 / s(1 - s)."""
    assert excess_alone(variables) == pytest.approx(excess, rel=1e-12)
    assert alone(variables) == pytest.approx(excess, rel=1e-12)


# --- how the leak is shared ----------------------------------------------------------------------


def optimum(problem, messages):
    """The smallest largest (or mean) excess by a general solver: the logarithms of the leaks."""
    weights, precisions = problem.effects.weights, problem.effects.precisions(messages)
    changed = np.array([cells_load(problem.among(m)).times for m in messages])

    def excess(logs):
        return weights @ (1 / (precisions @ np.exp(logs[: len(messages)])))

    def leak(logs):
        return math.log(problem.limits.leak) - math.log(changed @ np.exp(logs[: len(messages)]))

    start = np.log(problem.limits.leak / changed.sum()) * np.ones(len(messages))
    constraints = [{"type": "ineq", "fun": leak}]
    if problem.mean:
        found = minimize(
            lambda x: math.log(excess(x).mean()),
            start,
            method="SLSQP",
            constraints=constraints,
            options={"maxiter": 500, "ftol": 1e-12},
        )
        return math.exp(found.fun)
    start = np.append(start, math.log(excess(start).max()))
    constraints.append({"type": "ineq", "fun": lambda x: x[-1] - np.log(excess(x))})
    found = minimize(
        lambda x: x[-1],
        start,
        method="SLSQP",
        constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return math.exp(found.fun)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_leaks_are_those_of_a_convex_solver(seed, mean):
    variables, tables = random_survey(seed, 6, 7, 4)
    problem = SearchTask(variables, tables, PlanLimits(50.0), mean)
    found = evaluate(problem, tables)
    assert found.excess == pytest.approx(optimum(problem, tables), rel=2e-4)
    assert found.use.leak == pytest.approx(50.0)
    excess = np.array(inflations(problem, found.messages, found.leaks)) - 1
    assert found.excess == pytest.approx(excess.mean() if mean else excess.max(), rel=1e-9)


def test_tables_without_common_questions_have_the_same_inflation():
    """Sum of (changed bits x cells) over what may leak; a lone yes/no costs 4."""
    found = search(SearchTask(HEALTH, HEALTH_TABLES, PlanLimits(1000.0)))
    assert set(found.messages) == set(HEALTH_TABLES)
    assert found.excess == pytest.approx((2 * 8 + 2 * 4 + 2 * 5 + 4) / 1000, rel=1e-9)
    mean = search(SearchTask(HEALTH, HEALTH_TABLES, PlanLimits(1000.0), mean=True))
    roots = sum(math.sqrt(cost) for cost in (16, 8, 10, 4))
    assert mean.excess == pytest.approx(roots**2 / 4 / 1000, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "epsilon", "precise_as"),
    [
        (20_000, 1.0, 19_271),
        (1000, 1.0, 569),
        (1000, 2.0, 807),
    ],
)
def test_the_example_keeps_nearly_all_of_its_precision(people, epsilon, precise_as):
    """People that every table is worth, by an independent computation; homogeneous crowds."""
    problem = SearchTask(HEALTH, HEALTH_TABLES, PlanLimits(1000.0))
    found = search(problem)
    counts = [cells_load(problem.among(message)).times for message in found.messages]
    relative = np.array(found.leaks) / found.leaks[0]

    def noises(first):
        return [BitFlip.from_excess(first.excess * r) for r in relative]

    def sent(first):
        reports = map(Schema.uniform, [[FREE_BIT]] * len(counts), noises(first))
        return sum_of(Contribution.of(r, n) for r, n in zip(reports, counts, strict=True))

    noise = smallest_noise("outlier", sent, people, epsilon, 1e-6)
    leaks = [each.excess for each in noises(noise)]
    effective = [people / i for i in inflations(problem, found.messages, leaks)]
    assert effective == pytest.approx([precise_as] * 4, rel=2e-3)


def sum_of(sent):
    total, *others = sent
    for other in others:
        total = total.also(other)
    return total


# --- which questions are crossed -----------------------------------------------------------------


def partitions(items):
    if not items:
        yield []
        return
    for smaller in partitions(items[1:]):
        for i, part in enumerate(smaller):
            yield [*smaller[:i], [items[0], *part], *smaller[i + 1 :]]
        yield [[items[0]], *smaller]


@pytest.mark.parametrize("seed", range(8))
def test_no_partition_of_the_tables_is_better(monkeypatch, seed):
    variables, tables = random_survey(100 + seed, 5, 6, 3 + seed % 3)
    problem = SearchTask(variables, tables, PlanLimits(1.0))
    ways = {
        without_contained([frozenset().union(*p) for p in parts]) for parts in partitions(tables)
    }
    best = min(evaluate(problem, way).excess for way in ways)
    fewest = search(problem)
    monkeypatch.setattr("incrowd.planner.search.CLOSE_ENOUGH", 1.0)
    found = search(problem)
    assert found.excess <= best * 1.002
    assert 1 + fewest.excess <= (1 + found.excess) * 1.0201
    assert fewest.use.reports <= found.use.reports * (1 + 1e-9)


def test_the_cheapest_cover_is_that_of_all_partitions():
    for seed in range(5):
        variables, tables = random_survey(200 + seed, 6, 6, 3)

        def cost(ids, variables=variables):
            among = [variables[i] for i in ids]
            return cells_load(among).times * excess_alone(among)

        found = sum(map(cost, cheapest_cover(tables, cost, disjoint=True)))
        unions = ([frozenset().union(*p) for p in parts] for parts in partitions(tables))
        assert found == min(sum(map(cost, without_contained(u))) for u in unions)


def test_questions_that_share_tables_are_crossed():
    """All pairs of three yes/no questions: one message of 8 cells costs 16, three of 4 cost 24."""
    problem = SearchTask((TWO,) * 3, sets([0, 1], [1, 2], [0, 2]), PlanLimits(1.0))
    assert search(problem).messages == sets([0, 1, 2])


def test_tables_of_one_question_inside_another_cost_nothing():
    problem = SearchTask((TWO, FIVE), sets([0, 1], [0], [1]), PlanLimits(10.0))
    found = search(problem)
    assert found.messages == sets([0, 1])
    assert inflations(problem, found.messages, found.leaks) == pytest.approx([3.0] * 3)


def test_a_table_of_many_cells_starves_no_other():
    """Half of the leak each; 10^5 cells beside one yes/no would leave it next to nothing."""
    variables = (SearchVariable(100_000), TWO)
    found = search(SearchTask(variables, sets([0], [1]), PlanLimits(1000.0)))
    assert dict(zip(found.messages, found.leaks, strict=True)) == pytest.approx(
        {frozenset([0]): 250.0, frozenset([1]): 500.0}
    )
    assert found.excess == pytest.approx(4 / 500)
    tables = sets([0], [1])
    result = inflations(SearchTask(variables, tables, PlanLimits(1.0)), found.messages, found.leaks)
    assert result == pytest.approx([1 + 1e5 / 250, 1 + 4 / 500])


def test_a_table_that_is_named_larger_gets_an_equal_share():
    """Unless it lies in a wanted table, or in another of them."""
    variables, limits, larger = (FIVE, FOUR, TWO), PlanLimits(1000.0), sets([0, 1, 2], [0, 2])
    found = search(SearchTask(variables, sets([0], [1]), limits, larger=larger))
    assert found.messages == sets([0], [1], [0, 1, 2])
    assert found.leaks[2] == pytest.approx(1000 / 3 / 2)
    inside = search(SearchTask(variables, larger[:1], limits, larger=larger))
    assert (inside.messages, inside.leaks) == (larger[:1], pytest.approx((500.0,)))


def test_a_small_table_inside_a_large_one_gets_a_message_of_its_own():
    variables = (SearchVariable(400), THREE)
    found = search(SearchTask(variables, sets([0, 1], [1]), PlanLimits(1000.0)))
    assert set(found.messages) == set(sets([0, 1], [1]))


def test_two_questions_of_several_answers_are_never_crossed():
    variables = (SearchVariable(3, 2), SearchVariable(3, 2), TWO)
    found = search(
        SearchTask(variables, sets([0, 2], [1, 2]), PlanLimits(100.0, local_epsilon=3.0))
    )
    assert set(found.messages) == set(sets([0, 2], [1, 2]))


# --- what else is limited ------------------------------------------------------------------------


def test_the_local_epsilon_is_kept_at_the_same_inflation_of_all():
    """Messages of different questions: the one inflation at which all ln(p / q) add up to it."""
    limits = PlanLimits(1000.0, local_epsilon=20.0)
    found = evaluate(SearchTask(HEALTH, HEALTH_TABLES, limits), HEALTH_TABLES)
    assert found.use.local_epsilon == pytest.approx(20.0, rel=1e-9)
    assert found.use.leak < 1000
    needed = {t: excess_alone([HEALTH[i] for i in t]) for t in HEALTH_TABLES}
    leaks = np.array([needed[m] / found.excess for m in found.messages])
    assert found.leaks == pytest.approx(leaks, rel=1e-3)


def test_a_local_epsilon_crosses_what_would_otherwise_be_apart():
    """Logarithms add up: fewer, larger messages leave more for each."""
    tables = sets(*([i] for i in range(4)))
    free = search(SearchTask((TWO,) * 4, tables, PlanLimits(1000.0)))
    held = search(SearchTask((TWO,) * 4, tables, PlanLimits(1000.0, local_epsilon=8.0)))
    apart = evaluate(SearchTask((TWO,) * 4, tables, PlanLimits(1000.0, local_epsilon=8.0)), tables)
    assert free.excess <= 16 / 1000 * (1 + 1e-9)
    assert held.excess < apart.excess * 0.9
    assert held.use.local_epsilon <= 8.0 * (1 + 1e-9)


def test_fewer_reports_are_sent_if_fewer_are_allowed():
    free = search(SearchTask(HEALTH, HEALTH_TABLES, PlanLimits(1000.0)))
    few = search(SearchTask(HEALTH, HEALTH_TABLES, PlanLimits(1000.0, reports=2.5)))
    assert few.use.reports <= 2.5 < free.use.reports
    assert few.excess > free.excess
    assert search(SearchTask(HEALTH, HEALTH_TABLES, PlanLimits(1000.0, reports=0.5))) is None


def test_the_slots_are_enough():
    """The chance of more reports than slots, by convolution of the bits that are sent."""
    for variables, leak in [([TWO, FOUR], 2.0), ([FIVE], 4.0), ([SearchVariable(300)], 0.5)]:
        sent, law = cells_load(variables), np.ones(1)
        use = CellsLoad.of((), [sent]).use(np.array([leak]), 1e-9)
        q = 1 / (1 + math.exp(log_odds(np.array(leak))))
        for bit in range(sent.bits):
            one = q if bit >= sent.ones else 1 - q
            law = np.convolve(law, [1 - one, one])
        assert law[int(use.slots) + 1 :].sum() <= 1e-9
        assert law[int(use.slots * 0.7) - 3 :].sum() > 1e-9  # and not many times too many
        assert use.reports == pytest.approx(law @ np.arange(len(law)) + 2 * q * sent.ones)


def test_leak_is_the_inverse_of_the_noise_variance():
    for noise in (BitFlip.at_least(0.01), BitFlip.at_least(0.3)):
        v = noise.p * noise.q / (noise.p - noise.q) ** 2
        assert float(log_odds(np.array(1 / v))) == pytest.approx(-noise.logit, rel=1e-12)
        assert noise.excess == pytest.approx(1 / v)
    assert Part(FREE_BIT, noise).local_epsilon == pytest.approx(-noise.logit)


@pytest.mark.slow
def test_progress_can_be_shown_in_german_by_another_process():
    texts = []
    solve(yes_no_survey(2), "crowd", error=0.05, progress=texts.append)
    assert len(texts) > 3
    for text in pickle.loads(pickle.dumps(texts)):
        assert translated(text, "de") != text
