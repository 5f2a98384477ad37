"""Which questions travel together: forecasts, budgets, certificates by an independent path."""

import math
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

import incrowd
from incrowd.estimation.precision import CellAxis
from incrowd.guarantees.certified import recertify
from incrowd.planner.allocation import FULL, PlanLimits, allocate, grid
from incrowd.planner.alternatives import alternatives
from incrowd.planner.forecast import forecast
from incrowd.planner.loads import Load
from incrowd.planner.precision import expected_error, guessed_excess, plan_error
from incrowd.planner.search import joint_ways
from incrowd.planner.task import task_of
from tests.conftest import one_in, slowly
from tests.planner.conftest import pairs_survey, yes_no_survey


def guessed(made):
    """What the planner makes small: the error if all answers are equally common."""
    return guessed_excess(made.survey, made.messages)


def smallest_sample(made):
    return min(table.effective_sample_size for table in forecast(made))


def simulated_error(made, share, trials, seed):
    """The spread of the estimate of one bit, from counts of set bits drawn as they fall out.

    Each trial draws who says yes, then for each message with the bit how many of the k reports
    of each of them show it; messages are weighted by the inverse of their noise variance."""
    generator = np.random.default_rng(seed)
    people = made.survey.crowd
    yes = generator.binomial(people, share, trials)
    total, weights = np.zeros(trials), 0.0
    for message in made.messages:
        if "q0" not in message.ids:
            continue
        q, k = message.noise.q, message.copies
        shown = generator.binomial(k * yes, 1 - q) + generator.binomial(k * (people - yes), q)
        weight = k * (1 - 2 * q) ** 2 / (q * (1 - q))
        total += weight * (shown / (k * people) - q) / (1 - 2 * q)
        weights += weight
    return (total / weights).std(ddof=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [{}, {"copies": 10}, {"copies": 100}, {"reports_per_person": 40}],
    ids=["joint", "10 copies", "100 copies", "40 messages"],
)
def test_the_expected_error_of_forty_bits_is_the_simulated_one(changes):
    """4,000 collections know a spread within 1.1% (one standard error); 5% is 4.5 of them. The
    wrong variant, copies counted as more people, is off by more."""
    made = incrowd.plan(yes_no_survey(40, **changes))
    assert recertify(made).delta.upper <= 1e-8
    found = simulated_error(made, 0.5, 4000, seed=40)
    expected = forecast(made)[0].standard_error
    assert expected == pytest.approx(found, rel=0.05)
    if "reports_per_person" in changes:
        assert len(made.messages) == 40
        assert expected * 1e7 < 1600  # almost only sampling: sqrt(N) / 2 = 1581
    if made.messages[0].copies > 1:
        as_people = math.sqrt(expected**2 / made.messages[0].copies)
        assert as_people != pytest.approx(found, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [5, 1000])
def test_pairs_of_twenty_questions(budget):
    """Certified, the planner's choice is no worse than the four plain ways that fit the budget."""
    changes = {"crowd": 1_000_000, "privacy": {"epsilon": 1.0, "delta": 1e-8}}
    best = guessed(incrowd.plan(pairs_survey(20, reports_per_person=budget, **changes)))
    ids = [f"q{i}" for i in range(20)]
    ways = [[{"questions": ids, "copies": k}] for k in (1, budget)]
    if budget >= 190:
        each = budget // 190
        for k in (1, each):
            ways.append([{"questions": list(p), "copies": k} for p in combinations(ids, 2)])
    for way in ways:
        other = guessed(incrowd.plan(pairs_survey(20, message=way, **changes)))
        assert best <= other * 1.001


def test_a_budget_of_one_is_one_joint_report():
    made = incrowd.plan(pairs_survey(4, crowd=20_000, reports_per_person=1))
    assert [set(m.ids) for m in made.messages] == [{"q0", "q1", "q2", "q3"}]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["largest", *slowly("mean")])
def test_messages_follow_the_wanted_tables(objective):
    """Two pairs that have nothing to do with each other travel apart, and are sharper so."""
    tables = [{"questions": ["q0", "q1"]}, {"questions": ["q2", "q3"]}]
    changes = {"crowd": 20_000, "table": tables, "objective": objective}
    made = incrowd.plan(yes_no_survey(4, reports_per_person=2, **changes))
    assert {frozenset(m.ids) for m in made.messages} == {
        frozenset({"q0", "q1"}),
        frozenset({"q2", "q3"}),
    }
    assert plan_error(made) < plan_error(incrowd.plan(yes_no_survey(4, **changes)))


def test_several_messages_end_to_end(tmp_path):
    """One collection a message; each table from every message that holds it; 5 standard errors.
    The wrong variant reads one message with the other's noise."""
    import pyarrow as pa

    groups = [{"questions": ["q0", "q1"], "copies": 2}, {"questions": ["q1", "q2"]}]
    made = incrowd.plan(
        yes_no_survey(
            3, crowd=20_000, message=groups, privacy={"epsilon": 3.0, "analysis": "local"}
        )
    )
    generator = np.random.default_rng(1)
    yes = [generator.random(20_000) < share for share in (0.2, 0.5, 0.8)]
    answers = pa.table({f"q{i}": values for i, values in enumerate(yes)})
    reports = incrowd.randomize(made, answers, simulation_seed=2)
    assert [len(part) for part in reports] == [40_000, 20_000]
    files = incrowd.save_reports(reports, tmp_path / "reports")
    assert [file.name for file in files] == ["message-1.parquet", "message-2.parquet"]
    for found in (incrowd.load_reports(tmp_path / "reports"), reports):
        estimates = incrowd.estimate(made, found)
        for table, true in zip(estimates.tables, incrowd.truth(made, answers), strict=True):
            assert np.all(np.abs(table.estimate - true) < 5 * table.standard_error)
    both = estimates.tables[1].error.noise[0]
    parts = [(m.noise.phi - 1) * m.copies for m in made.messages]
    assert both == pytest.approx(math.sqrt(1 / (20_000 * sum(parts))))
    with pytest.raises(incrowd.ReportsError, match="message 2"):
        incrowd.estimate(made, reports[:1])
    with pytest.raises(incrowd.TableError, match="travels together"):
        incrowd.estimate(made, reports, tables=[["q0", "q2"]])


@pytest.mark.parametrize("budget", [1, 3, 8])
def test_allocation_is_no_worse_than_any_on_its_grid(budget):
    """Two messages, every pair of copies and noise tried by hand."""
    tables = ((CellAxis(0.5, 2),), (CellAxis(0.5, 2), CellAxis(0.5, 2)))
    copies = tuple(range(1, budget))
    loads = [
        Load(1, distance=1, copies=copies or (1,), tables=tables[:1]),
        Load(1, distance=4, copies=copies or (1,), tables=tables[1:]),
    ]
    limits = PlanLimits(leak=50.0, reports=budget)
    found = allocate(loads, limits, effort=FULL._replace(points=200))
    if budget == 1:
        assert found is None
        return
    v = grid(200)
    best = math.inf
    for one, two in product(copies, repeat=2):
        if one + two > budget:
            continue
        excesses = [v / one / 0.25, ((v + 0.5) ** 2 - 0.25) / two / (3 / 16)]
        leaks = [one / v, two * ((1 + 1 / v) ** 4 - 1)]
        fits = np.add.outer(*leaks) <= 50.0
        best = min(best, np.maximum.outer(*excesses)[fits].min())
    assert found.excess <= best * (1 + 1e-9)


@pytest.mark.parametrize("objective", ["largest", "mean"])
@pytest.mark.parametrize("budget", one_in(3, [2, 5, 12]))
def test_mergers_that_are_not_solved_change_nothing(monkeypatch, budget, objective):
    """Against a search that solves every merger."""
    questions = [
        {"id": f"c{n}", "type": "choice", "options": list("abcd"[: 2 + n % 3])} for n in range(6)
    ]
    tables = [{"questions": [f"c{n}", f"c{n + 1}"]} for n in range(5)]
    changes = {"question": questions, "table": tables, "objective": objective, "tables": None}
    task = task_of(yes_no_survey(0, reports_per_person=budget, **changes))
    solved = []

    def counted(loads, limits, *, useful=math.inf, keep, **others):
        found = allocate(loads, limits, useful=useful if keep else math.inf, **others)
        solved.append(found is not None)
        return found

    found = []
    for keep in (True, False):
        solved.clear()
        monkeypatch.setattr("incrowd.planner.search.allocate", partial(counted, keep=keep))
        found.append((joint_ways(task, None), sum(solved)))
    (some, few), (every, all_of_them) = found
    assert some == every and some
    assert few < all_of_them or objective == "mean"


def test_forecast_error_is_the_planners():
    made = incrowd.plan(pairs_survey(3, crowd=20_000))
    largest = max(table.standard_error for table in forecast(made))
    assert expected_error(made.survey, made.messages) == pytest.approx(largest)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, *slowly(3)])
def test_a_malicious_sender_moves_a_cell_by_the_influence_at_most(copies):
    """All reports of one sender set to every pattern: the largest change is the one stated."""
    import pyarrow as pa

    tables = [{"questions": ["q0", "q1"]}]
    made = incrowd.plan(
        yes_no_survey(
            2,
            crowd=50,
            copies=copies,
            table=tables,
            privacy={"epsilon": 6.0, "analysis": "blanket"},
        )
    )
    answers = pa.table({"q0": [True] * 50, "q1": [False] * 50})
    (reports,) = incrowd.randomize(made, answers, simulation_seed=1)
    from dataclasses import replace

    found = []
    for pattern in range(4):
        packed = reports.packed.copy()
        packed[:copies, 0] = pattern
        found.append(incrowd.estimate(made, replace(reports, packed=packed)).tables[-1])
    cells = np.array([table.estimate.ravel() for table in found])
    assert np.ptp(cells, axis=0).max() == pytest.approx(found[0].provenance.influence)


def wide_beside(**changes):
    """A yes/no question, of which sampling is nearly all the error, beside 5,000 options."""
    options = [f"o{i}" for i in range(5000)]
    questions = [
        {"id": "a", "type": "yesno"},
        {"id": "site", "type": "choice", "options": options},
    ]
    return yes_no_survey(1, crowd=100_000, question=questions, **changes)


@pytest.mark.slow
def test_cells_keep_to_the_budget():
    """Counted by hand: one set bit, and each of 5,000 is flipped with probability q."""
    privacy = {"epsilon": 1.0, "delta": 1e-8}
    made = incrowd.plan(wide_beside(privacy=privacy, reports_per_person=50))
    a, site = made.messages
    assert a.copies + 1 + 5000 * site.noise.q <= 50
    assert site.reports_each == pytest.approx(1 + 5000 * site.noise.q)
    assert recertify(made).delta.upper <= 1e-8


def test_a_table_of_many_cells_gets_an_equal_part_of_the_leak():
    """5,000 options stand outside of the inflation: their two bits leak as much as the other."""
    made = incrowd.plan(wide_beside(privacy={"epsilon": 1.0, "delta": 1e-8}))
    a, site = made.messages
    assert 2 * site.noise.excess == pytest.approx(a.noise.excess, rel=0.05)
    assert guessed(made) == pytest.approx(4 / a.noise.excess)


@pytest.mark.slow
def test_other_ways_side_by_side():
    """Each is planned anew as the survey's own messages: the effective sample that is forecast for
    its least precise table; none that keeps to the budget has a larger one than the plan, and
    without a shuffler nearly nothing is left."""
    changes = {"crowd": 50_000, "privacy": {"epsilon": 1.0, "delta": 1e-8}}
    survey = pairs_survey(4, reports_per_person=18, **changes)
    made, pairs = incrowd.plan(survey), list(combinations(range(4), 2))
    best = smallest_sample(made)
    joint = [[f"q{i}" for i in range(4)]]
    each = [[f"q{i}", f"q{j}"] for i, j in pairs]
    found = {way.code: way for way in alternatives(made)}
    spent = found["table-messages-copies"]
    assert 6 < spent.reports_per_person <= 18
    assert spent.effective_sample_size <= best * 1.001
    for name, groups in [
        ("joint", joint),
        ("joint-copies", joint),
        ("table-messages", each),
    ]:
        way = found[name]
        assert way.messages == len(groups)
        copies = int(way.reports_per_person) // len(groups)
        fixed = [{"questions": ids, "copies": copies} for ids in groups]
        anew = incrowd.plan(pairs_survey(4, message=fixed, **changes))
        assert way.effective_sample_size == pytest.approx(smallest_sample(anew), rel=1e-3)
        assert guessed(made) <= guessed(anew) * 1.001
    assert found["local"].effective_sample_size < best / 100
