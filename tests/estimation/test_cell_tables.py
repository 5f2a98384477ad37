"""Tables of questions from cells, with their covariances: against linear algebra."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.errors import TableError
from incrowd.estimation.amounts import evidence, evidence_of, mean
from incrowd.estimation.cells import (
    CellCounts,
    CellsReading,
    expected_cells,
    planned_noise,
    planned_weight,
)
from incrowd.estimation.compare import odds_ratio
from incrowd.estimation.postprocess import (
    bootstrap_bias_of_cells,
    constrained_least_squares,
    project_to_simplex,
)
from incrowd.estimation.simultaneous import simultaneous_intervals
from incrowd.survey import Amount, Choice, Multi, YesNo
from incrowd.survey.question import Merged
from tests.estimation.conftest import ONE_REPORT, cells_of

A = YesNo(id="a")
B = Choice(id="b", options=["x", "y", "z"], optional=True)
C = Multi(id="c", options=["u", "v", "w"], at_most=2)
ONE = Multi(id="c", options=["u", "v", "w"], at_most=1)
D = Amount(id="d", edges=[0, 10, 50])
FLIPS = [BitFlip.at_least(q) for q in (0.1, 0.2, 0.05)]
PEOPLE = 1000


def joint_of(questions, reading, noise_only, margin):
    """A table with the covariance of all its cells."""
    return reading.table(questions, noise_only, ONE_REPORT, covariance=True, margin=margin)


def counts_of(crossings, law, people=PEOPLE):
    """The expected counts of some messages. law: answers to the share of people who give them, a
    dictionary by tuples of (question, answer); of a `multi` question a tuple of options."""
    parts = []
    for questions, flip in zip(crossings, FLIPS, strict=False):
        message = cells_of(questions, flip)
        shares = np.zeros(message.record_bits)
        for block in message.crossing.blocks:
            asked = {q.id: q for q in questions}
            cells = list(itertools.product(*(answers_of(asked[id]) for id in block.questions)))
            if block.shape == (1,):
                cells = cells[1:]
            for place, cell in enumerate(cells):
                shares[block.first + place] = sum(
                    share
                    for person, share in law.items()
                    if all(
                        gives(dict(person)[id], a)
                        for id, a in zip(block.questions, cell, strict=True)
                    )
                )
        expected = people * (flip.q + (flip.p - flip.q) * shares)
        parts.append(CellCounts(message, people, expected))
    return CellsReading(tuple(parts), 1.0)


def answers_of(question):
    if isinstance(question, Multi) and question.at_most == 1:
        return (*question.options, ())
    return question.recorded


def gives(answer, cell):
    """Whether a person's answer is that of a cell; of several options one is enough."""
    if isinstance(answer, tuple):
        return cell in answer if cell != () else answer == ()
    return answer == cell


def random_law(questions, seed):
    """A law of all combinations of answers; of `multi` questions of sets of options."""
    options = []
    for question in questions:
        if isinstance(question, Multi):
            sizes = range(question.at_most + 1)
            options.append([s for n in sizes for s in itertools.combinations(question.options, n)])
        else:
            options.append(question.recorded)
    people = list(itertools.product(*options))
    shares = np.random.default_rng(seed).dirichlet(np.ones(len(people)))
    ids = [question.id for question in questions]
    return {tuple(zip(ids, p, strict=True)): s for p, s in zip(people, shares, strict=True)}


def share(law, cell):
    """Of people who give all answers of a cell."""
    return sum(
        s for person, s in law.items() if all(gives(dict(person)[id], a) for id, a in cell.items())
    )


def cells_with_margins(questions):
    """Each cell as a dictionary; "any answer" leaves the question out."""
    axes = [[*question.answers, None] for question in questions]
    for cell in itertools.product(*axes):
        yield {q.id: a for q, a in zip(questions, cell, strict=True) if a is not None}


TABLES = {
    "exclusive": ([[A, B], [B, D], [A]], [A, B]),
    "part of a table": ([[A, B, D], [B]], [D, A]),
    "overlapping options": ([[C, A], [A, B]], [A, C]),
    "one option at most": ([[ONE, A], [A]], [ONE, A]),
    "options alone": ([[C], [A]], [C]),
}


@pytest.fixture(params=TABLES)
def setting(request):
    crossings, wanted = TABLES[request.param]
    asked = list({q.id: q for questions in crossings for q in questions}.values())
    law = random_law(asked, seed=len(request.param))
    return counts_of(crossings, law), wanted, law


def test_expected_counts_give_the_true_shares_and_their_sampling(setting):
    """The margins, the single cells, and the share of people in both of two cells; that of two
    overlapping options is not in the counts, and what is taken for it lies within its bounds."""
    reading, wanted, law = setting
    joint = joint_of(wanted, reading, noise_only=False, margin=True)
    cells = list(cells_with_margins(wanted))
    true = np.array([share(law, cell) for cell in cells])
    assert joint.estimate.ravel() == pytest.approx(true, abs=1e-12)
    both = (joint.error.covariance - joint.error.noise_covariance) * PEOPLE + np.outer(true, true)
    for (i, first), (j, second) in itertools.product(enumerate(cells), repeat=2):
        two = [id for id in first if id in second and first[id] != second[id]]
        if "c" in two and not joint.error.overlaps:
            assert both[i, j] <= min(true[i], true[j]) + 1e-9
        else:
            expected = 0.0 if two else share(law, first | second)
            assert both[i, j] == pytest.approx(expected, abs=1e-9)
    plain = joint_of(wanted, reading, noise_only=False, margin=False)
    kept = [place for place, cell in enumerate(cells) if len(cell) == len(wanted)]
    assert plain.estimate.ravel() == pytest.approx(true[kept], abs=1e-12)
    assert plain.error.covariance == pytest.approx(
        joint.error.covariance[np.ix_(kept, kept)], abs=1e-12
    )


def test_the_noise_covariance_is_that_of_the_bits(setting):
    """The estimate is affine in the counts, each with the variance N q (1 - q): its Jacobian by
    differences. Also that of tables alone, and how far one report can move a cell."""
    reading, wanted, _ = setting

    def linear(estimate):
        rows = []
        for number, part in enumerate(reading.parts):
            for bit in range(part.message.record_bits):
                moved = part._replace(reports=part.reports + np.eye(len(part.reports))[bit])
                parts = (*reading.parts[:number], moved, *reading.parts[number + 1 :])
                rows.append((estimate(reading._replace(parts=parts)) - estimate(reading)).ravel())
        return np.array(rows).T

    variances = np.concatenate(
        [
            np.full(len(p.reports), PEOPLE * p.message.noise.q * p.message.noise.p)
            for p in reading.parts
        ]
    )
    jacobian = linear(lambda r: joint_of(wanted, r, noise_only=True, margin=True).estimate)
    joint = joint_of(wanted, reading, noise_only=True, margin=True)
    assert joint.error.covariance == pytest.approx((jacobian * variances) @ jacobian.T, abs=1e-12)
    table = reading.table(wanted, True, ONE_REPORT)
    own = linear(lambda r: r.table(wanted, True, ONE_REPORT).estimate)
    assert table.error.noise.ravel() ** 2 == pytest.approx((own**2) @ variances, abs=1e-12)
    assert table.provenance.influence == pytest.approx(np.abs(own).max())


def test_the_planned_noise_is_that_of_one_person(setting):
    reading, wanted, _ = setting
    messages = [part.message for part in reading.parts]
    table = reading.table(wanted, True, ONE_REPORT)
    planned = planned_noise(messages, wanted, PEOPLE)
    assert planned == pytest.approx(table.error.noise**2 * PEOPLE)
    ids = tuple(question.id for question in wanted)
    noise = reading.combined(ids).noise_variance
    assert planned_weight(messages, ids, PEOPLE) == pytest.approx(1 / (noise * PEOPLE))


def test_expected_cells_are_those_of_independent_answers():
    shares = {"a": [0.7, 0.3], "c": [0.5, 0.3, 0.1]}
    people = itertools.product(
        [("no", 0.7), ("yes", 0.3)], [*zip("uvw", shares["c"], strict=True), ((), 0.1)]
    )
    law = {(("a", a), ("c", (c,) if c else ())): s * t for (a, s), (c, t) in people}
    reading = counts_of([[ONE, A]], law)
    found = expected_cells(reading.parts[0].message, PEOPLE, lambda question: shares[question.id])
    assert found.reports == pytest.approx(reading.parts[0].reports)


def test_merged_answers_have_the_sum_and_its_noise():
    """Merged before and after: the same linear function of the counts."""
    reading = counts_of([[A, B], [B]], random_law([A, B], 3))
    merged = B.with_merged((Merged("x or z", ("x", "z")),))
    table = reading.table([merged, A], False, ONE_REPORT)
    parts = [("x", "z") if answer == "x or z" else (answer,) for answer in merged.answers]
    rows = np.array([[answer in part for answer in B.answers] for part in parts], float)
    plain = joint_of([B, A], reading, noise_only=True, margin=False)
    assert table.estimate == pytest.approx(rows @ plain.estimate)
    whole = np.kron(rows, np.eye(2))
    variances = np.diagonal(whole @ plain.error.covariance @ whole.T)
    assert table.error.noise.ravel() ** 2 == pytest.approx(variances)


def test_empty_cells_have_exact_p_values_in_any_order():
    flip, counts = FLIPS[0], np.array([140, 90, 120, 100, 99, 101, 130, 95])
    part = CellCounts(cells_of([A, B], flip), PEOPLE, counts)
    table = CellsReading((part,), 1.0).table([B, A], False, ONE_REPORT)
    expected = binom.sf(counts - 1, PEOPLE, flip.q).reshape(2, 4).T
    assert table.error.p_values == pytest.approx(expected)
    margin = CellsReading((part,), 1.0).table([B], False, ONE_REPORT)
    assert margin.error.p_values is None


def test_messages_that_lost_reports_are_combined_by_shares():
    """Of the share of those who were lost the error is that of drawing without replacement."""
    law = random_law([A, B], 5)
    full, fewer = counts_of([[A, B], [B]], law), counts_of([[A, B], [B]], law, 800)
    reading = CellsReading((full.parts[0], fewer.parts[1]), 1.0)
    table = reading.table([B], True, ONE_REPORT)
    shares = np.array([share(law, {"b": answer}) for answer in B.answers])
    assert table.estimate == pytest.approx(shares)
    assert table.people == 800
    drawn = shares * (1 - shares) / 800 * (1 - 800 / 1000)
    noise = reading.combined(("b",)).noise_variance
    assert table.error.noise**2 == pytest.approx(noise + drawn)
    joint = joint_of([B], reading, noise_only=True, margin=False)
    assert np.diagonal(joint.error.covariance) == pytest.approx(noise + drawn)


# --- what is made of them --------------------------------------------------------------------


def test_the_mean_of_an_amount_has_the_variance_of_its_edges():
    """Noise N v for each cell of the table, summed over the other question, and sampling."""
    law = random_law([A, D], 7)
    reading = counts_of([[D, A]], law)
    joint = joint_of([D], reading, noise_only=False, margin=True)
    found = mean(evidence_of(D, joint, np.zeros((1, 4, 4)), PEOPLE))
    shares, edges = np.array([share(law, {"d": e}) for e in D.answers]), np.array(D.edges)
    v = FLIPS[0].p * FLIPS[0].q / (FLIPS[0].p - FLIPS[0].q) ** 2
    noise = 2 * v * np.sum((edges - edges.mean()) ** 2)
    sampling = shares @ edges**2 - (shares @ edges) ** 2
    assert found.estimate == pytest.approx(shares @ edges)
    assert found.standard_error == pytest.approx(math.sqrt((noise + sampling) / PEOPLE))


def test_the_amounts_of_cells_are_those_of_their_table():
    """Read directly: the same mean and error; and one sender, who has five reports, moves it at
    most as far as the worst of all cells of both messages, five times."""
    law = random_law([A, D], 7)
    reading = counts_of([[D, A], [D]], law)
    found = mean(evidence(SimpleNamespace(by_services=False), D, [reading], places=(5,)))
    joint = joint_of([D], reading, noise_only=False, margin=True)
    expected = mean(evidence_of(D, joint, np.zeros((1, 4, 4)), PEOPLE))
    assert found.estimate == pytest.approx(expected.estimate)
    assert found.standard_error == pytest.approx(expected.standard_error)
    moved = []
    for number, part in enumerate(reading.parts):
        for bit in np.eye(len(part.reports)):
            parts = list(reading.parts)
            parts[number] = part._replace(reports=part.reports + bit)
            false = mean(
                evidence(
                    SimpleNamespace(by_services=False),
                    D,
                    [CellsReading(tuple(parts), 1.0)],
                    places=(5,),
                )
            )
            moved.append(abs(false.estimate - found.estimate))
    assert found.influence == pytest.approx(5 * max(moved))


def test_overlapping_options_have_bonferroni_intervals():
    reading = counts_of([[C, A]], random_law([A, C], 8))
    joint = joint_of([C, A], reading, noise_only=False, margin=False)
    assert simultaneous_intervals(joint, method="max-t").method == "bonferroni"
    assert simultaneous_intervals(joint_of([A], reading, False, False)).method == "max-t"


def test_an_odds_ratio_is_that_of_the_cells():
    law = random_law([A, B], 9)
    joint = joint_of([A, B], counts_of([[A, B]], law), noise_only=False, margin=True)
    found = odds_ratio(joint, ("b", "x"), ("a", "yes"), ("a", "no"))
    yes, no = share(law, {"a": "yes", "b": "x"}), share(law, {"a": "no", "b": "x"})
    odds = [yes / (share(law, {"a": "yes"}) - yes), no / (share(law, {"a": "no"}) - no)]
    assert found.estimate == pytest.approx(odds[0] / odds[1], rel=0.1)
    assert found.low < odds[0] / odds[1] < found.high


def noisy_table():
    """A table of two questions, combined from three messages, with cells below zero."""
    law = {(("a", a), ("b", b)): 0.0 for a in A.recorded for b in B.recorded}
    law |= {(("a", "no"), ("b", "x")): 0.9, (("a", "yes"), ("b", "y")): 0.1}
    reading = counts_of([[A, B], [A], [B]], law)
    generator = np.random.default_rng(11)
    parts = [p._replace(reports=generator.normal(p.reports, 25.0)) for p in reading.parts]
    return CellsReading(tuple(parts), 1.0).combined(("a", "b"))


def test_constrained_least_squares_is_the_nearest_point_in_the_metric_of_the_noise():
    """Oracle: a general solver, with the pseudoinverse of the dense covariance. Wrong: the nearest
    point by plain distance."""
    table = noisy_table()
    metric = np.linalg.pinv(table.covariance_with(table), rcond=1e-9, hermitian=True)
    raw = table.shares.ravel()

    def distance(cells):
        return (cells - raw) @ metric @ (cells - raw) / 1e3

    sums = {"type": "eq", "fun": lambda z: z.sum() - 1}
    start = np.full(raw.size, 1 / raw.size)
    limits = {"bounds": [(0, 1)] * raw.size, "constraints": sums, "tol": 1e-14}
    nearest = minimize(distance, start, method="SLSQP", options={"maxiter": 2000}, **limits).x
    found = constrained_least_squares(table, table.shares).estimate.ravel()
    assert raw.min() < -0.005
    assert found.min() >= 0 and found.sum() == pytest.approx(1)
    assert found == pytest.approx(nearest, abs=1e-5)
    assert distance(found) <= distance(nearest) + 1e-9
    plain = project_to_simplex(table.shares).estimate.ravel()
    assert distance(plain) > distance(found) + 1e-3


@pytest.mark.slow
def test_the_bootstrap_draws_noise_of_the_tables_covariance():
    """Without a constraint the fit is the draw: its spread is that of noise plus sampling, within
    5 standard errors of 4,000 draws. Wrong: the noise of a single message's cells."""
    table, people, draws = noisy_table(), 1000, 4000
    shares = project_to_simplex(table.shares).estimate

    def noise(generator):
        return table.by_effect(generator.standard_normal(shares.shape), np.sqrt)

    found = bootstrap_bias_of_cells(lambda cells: cells, shares, noise, people, draws)
    expected = np.sqrt(table.noise_variance + shares * (1 - shares) / people)
    assert np.all(np.abs(found.spread / expected - 1) < 5 / math.sqrt(2 * draws))
    assert np.all(np.abs(found.bias) < 5 * expected / math.sqrt(draws))
    v = FLIPS[0].p * FLIPS[0].q / (FLIPS[0].p - FLIPS[0].q) ** 2 / people
    wrong = np.sqrt(v + shares * (1 - shares) / people)
    assert np.all(np.abs(found.spread / wrong - 1) > 5 / math.sqrt(2 * draws))


def test_a_covariance_of_too_many_cells_is_refused():
    wide = Choice(id="b", options=[str(n) for n in range(1200)])
    part = CellCounts(cells_of([wide, A], FLIPS[0]), 10, np.zeros(2400))
    with pytest.raises(TableError, match="2,400 cells"):
        joint_of([wide, A], CellsReading((part,), 1.0), noise_only=True, margin=False)
