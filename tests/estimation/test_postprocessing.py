"""Projection, maximum likelihood, consistent tables and their bias, against independent oracles."""

import itertools
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.errors import TableError
from incrowd.estimation.decoders import channel_matrix, inverse_matrix, question_decoder
from incrowd.estimation.postprocess import (
    bootstrap_bias,
    make_consistent,
    maximize_likelihood,
    project_to_simplex,
)
from incrowd.estimation.tables import along_axes, estimate_table
from incrowd.reports.moments import histogram, pair_moments
from incrowd.survey import Choice, Multi, YesNo
from tests.conftest import examples, slowly

FLIP = BitFlip.at_least(0.2)
NOISY = BitFlip.at_least(0.3)
YES_NO = YesNo(id="a")
SEX = Choice(id="sex", options=("f", "m", "x"))
MULTI = Multi(id="uses", options=("u", "v"), at_most=1)


def channels_of(questions, flip):
    return [channel_matrix(q, flip.matrix) for q in questions]


def draw(questions, flip, shares, people, seed):
    """A histogram of reports by the explicit Kronecker product."""
    law = reduce(np.kron, channels_of(questions, flip)) @ np.ravel(shares)
    counts = np.random.default_rng(seed).multinomial(people, law / law.sum())
    return counts.reshape([1 << q.domain.bits for q in questions])


def raw(questions, flip, counts):
    inverses = [inverse_matrix(q, flip.inverse) for q in questions]
    return along_axes(inverses, counts / counts.sum())


# --- channels of whole questions -------------------------------------------------------------


def test_channel_of_a_choice_is_the_product_over_its_bits():
    found = channel_matrix(SEX, FLIP.matrix)
    for pattern, answer in np.ndindex(8, 3):
        bits = [pattern >> 2 & 1, pattern >> 1 & 1, pattern & 1]
        sent = np.eye(3, dtype=int)[answer]
        chance = np.prod([FLIP.q if b != s else FLIP.p for b, s in zip(bits, sent, strict=True)])
        assert found[pattern, answer] == pytest.approx(chance, rel=1e-12)
    assert np.array_equal(channel_matrix(YES_NO, FLIP.matrix), FLIP.matrix)


@pytest.mark.parametrize("question", [YES_NO, SEX, YesNo(id="b", optional=True)])
def test_inverse_matrix_is_a_left_inverse(question):
    product = inverse_matrix(question, FLIP.inverse) @ channel_matrix(question, FLIP.matrix)
    assert np.allclose(product, np.eye(len(question.answers)), atol=1e-12)


def test_overlapping_options_and_wide_questions_have_no_channel():
    with pytest.raises(TableError, match="options overlap"):
        channel_matrix(MULTI, FLIP.matrix)
    wide = Choice(id="w", options=tuple(map(str, range(17))))
    with pytest.raises(TableError, match="it has 17 bits"):
        channel_matrix(wide, FLIP.matrix)


# --- projection ------------------------------------------------------------------------------


def nearest(point):
    """The projection by trying every support: of the feasible points the nearest."""
    best = None
    for support in itertools.product([False, True], repeat=len(point)):
        chosen = np.array(support)
        if not chosen.any():
            continue
        found = np.where(chosen, point - (point[chosen].sum() - 1) / chosen.sum(), 0)
        distance = np.sum((found - point) ** 2)
        if found.min() >= -1e-12 and (best is None or distance < best[0]):
            best = distance, found
    return best[1]


def optimal(point, found):
    """Karush, Kuhn, Tucker: one amount off every positive cell, no more than it off the others."""
    if abs(found.sum() - 1) > 1e-9 or found.min() < 0:
        return False
    taken, positive = point - found, found > 0
    amount = taken[positive].mean()
    equal = np.allclose(taken[positive], amount, atol=1e-9)
    return bool(equal and np.all(point[~positive] <= amount + 1e-9))


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=7))
@examples(150)
def test_projection_is_the_nearest_point(values):
    point = np.array(values)
    found = project_to_simplex(point)
    assert np.allclose(found.estimate, nearest(point), atol=1e-9)
    assert optimal(point, found.estimate)
    assert "biased" in found.statement


def test_clipping_and_rescaling_is_not_the_projection():
    point = np.array([0.7, 0.5, -0.2])
    clipped = np.maximum(point, 0) / np.maximum(point, 0).sum()
    assert not optimal(point, clipped) and not optimal(point, np.maximum(point, 0))
    assert optimal(point, project_to_simplex(point).estimate)


def test_projection_keeps_shapes_and_proportions_and_refuses_nonsense():
    table = np.random.default_rng(1).dirichlet(np.ones(6)).reshape(2, 3)
    assert np.allclose(project_to_simplex(table).estimate, table, atol=1e-15)
    for wrong in (np.array([]), np.array([0.5, np.nan])):
        with pytest.raises(TableError, match="finite"):
            project_to_simplex(wrong)


# --- maximum likelihood ----------------------------------------------------------------------

SPARSE = np.array([0.6, 0.25, 0.15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).reshape(2, 2, 2, 2)
FOUR = tuple(YesNo(id=name) for name in "abcd")
FITS = [
    pytest.param((YES_NO, SEX), np.array([[0.5, 0, 0.2], [0, 0.3, 0]]), 400, id="choice"),
    pytest.param(
        FOUR[:3], np.array([[[0.7, 0.0], [0.1, 0]], [[0.0, 0.2], [0, 0]]]), 500, id="bits"
    ),
    pytest.param((SEX,), np.array([0.6, 0.3, 0.1]), 300, id="one"),
]


def log_likelihood(counts, channel, shares):
    return float(counts.ravel() @ np.log(channel @ shares))


def by_optimizer(counts, channel):
    """The largest log-likelihood found by a general optimizer on the simplex."""
    cells = channel.shape[1]
    total = counts.sum()

    def loss(shares):
        return -log_likelihood(counts, channel, shares) / total

    def slope(shares):
        return -channel.T @ (counts.ravel() / (channel @ shares)) / total

    found = minimize(
        loss,
        np.full(cells, 1 / cells),
        jac=slope,
        method="SLSQP",
        bounds=[(0, 1)] * cells,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    shares = np.maximum(found.x, 0) / np.maximum(found.x, 0).sum()
    return log_likelihood(counts, channel, shares), shares


@pytest.mark.parametrize(("questions", "shares", "people"), FITS)
def test_em_reaches_what_an_optimizer_reaches(questions, shares, people):
    for seed in range(5):
        counts = draw(questions, FLIP, shares, people, seed)
        channels = channels_of(questions, FLIP)
        found = maximize_likelihood(counts, channels)
        channel = reduce(np.kron, channels)
        best, fitted = by_optimizer(counts, channel)
        own = log_likelihood(counts, channel, found.estimate.ravel())
        assert found.converged and found.warning == "" and found.gap <= 1e-3
        assert own == pytest.approx(found.log_likelihood[-1], rel=1e-12)
        assert best - own <= found.gap + 1e-9
        assert np.abs(found.estimate.ravel() - fitted).max() < 0.01
        assert np.all(np.diff(found.log_likelihood) >= -1e-9)
        assert found.estimate.min() >= 0 and found.estimate.sum() == pytest.approx(1)
        assert "biased" in found.statement


def test_a_positive_raw_estimate_of_yes_no_questions_is_the_maximum():
    """Theory: a square channel fits any report shares whose inverse is not negative."""
    counts = draw(FOUR[:2], FLIP, [0.3, 0.2, 0.3, 0.2], 20_000, 1)
    found = maximize_likelihood(counts, channels_of(FOUR[:2], FLIP), tolerance=1e-9)
    assert np.allclose(found.estimate, raw(FOUR[:2], FLIP, counts), atol=1e-6)


def test_em_says_that_it_has_not_converged():
    counts = draw(FOUR, NOISY, SPARSE, 2000, 2)
    found = maximize_likelihood(counts, channels_of(FOUR, NOISY), most_steps=3)
    assert not found.converged and "not converged after 3 steps" in found.warning
    assert len(found.log_likelihood) == 4 and np.all(np.diff(found.log_likelihood) > 0)
    full = maximize_likelihood(counts, channels_of(FOUR, NOISY))
    assert full.log_likelihood[-1] - found.log_likelihood[-1] <= found.gap


def test_em_refuses_what_does_not_fit():
    with pytest.raises(TableError, match="shape"):
        maximize_likelihood(np.ones((2, 2)), [FLIP.matrix])
    with pytest.raises(TableError, match="not all zero"):
        maximize_likelihood(np.zeros(2), [FLIP.matrix])
    with pytest.raises(TableError, match="sum to 1"):
        maximize_likelihood(np.ones(2), [FLIP.inverse * 2])
    with pytest.raises(TableError, match="no answer can give"):
        maximize_likelihood(np.ones(2), [np.array([[1.0, 1.0], [0.0, 0.0]])])


def distance(estimate, shares):
    """Total variation."""
    return 0.5 * np.abs(estimate - shares).sum()


@pytest.mark.parametrize("people", [1000, *slowly(10_000)])
def test_post_processing_beats_the_raw_estimate_on_sparse_tables(people):
    """16 cells, 13 of them empty, noise .3, 20 collections: EM and the projection come nearer in
    total variation every time. On average the empty cells are above zero: the bias it costs."""
    fits, empty = [], SPARSE == 0
    for seed in range(20):
        counts = draw(FOUR, NOISY, SPARSE, people, 100 + seed)
        estimate = raw(FOUR, NOISY, counts)
        fitted = maximize_likelihood(counts, channels_of(FOUR, NOISY), tolerance=0.01).estimate
        projected = project_to_simplex(estimate).estimate
        assert distance(fitted, SPARSE) < distance(estimate, SPARSE)
        assert distance(projected, SPARSE) < distance(estimate, SPARSE)
        fits.append((fitted[empty].sum(), projected[empty].sum()))
    assert np.mean(fits, axis=0).min() > 0.01


# --- bias ------------------------------------------------------------------------------------

SMALL = np.array([[0.7, 0.02], [0.25, 0.03]])


def project(counts):
    return project_to_simplex(raw(FOUR[:2], NOISY, counts)).estimate


def simulated_bias(copies, people, trials=4000):
    """Person by person cells, all trials at once: an independent simulation."""
    generator = np.random.default_rng(7)
    channel = np.kron(NOISY.matrix, NOISY.matrix)
    cells = generator.multinomial(people, SMALL.ravel(), size=trials)
    counts = sum(
        generator.multinomial(copies * cells[:, i], channel[:, i] / channel[:, i].sum())
        for i in range(4)
    )
    fits = np.array([project(c.reshape(2, 2)) for c in counts])
    return fits.mean(axis=0) - SMALL, fits.std(axis=0) / np.sqrt(trials), fits.std(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [4, *slowly(1)])
def test_bootstrap_finds_the_bias(copies):
    channels = channels_of(FOUR[:2], NOISY)
    found = bootstrap_bias(project, SMALL, channels, 200, copies, draws=2000, seed=3)
    wanted, error, spread = simulated_bias(copies, 200)
    assert np.all(np.abs(found.bias - wanted) < 4.5 * np.hypot(error, found.standard_error))
    assert np.abs(wanted).max() > 10 * error.max()
    assert np.allclose(found.spread, spread, rtol=0.12)


@pytest.mark.slow
def test_bootstrap_knows_that_copies_are_not_people():
    """Spread of the raw estimate under little noise: docs/mathematics.md#estimates, explicitly."""
    little, people, copies = BitFlip.at_least(0.1), 300, 4
    questions = FOUR[:2]
    channel, pi = np.kron(little.matrix, little.matrix), SMALL.ravel()
    inverse = np.linalg.inv(channel)
    noise = inverse @ np.diag(channel @ pi) @ inverse.T - np.diag(pi)
    variance = np.diag(noise) / (people * copies) + (pi - pi**2) / people
    wanted = np.sqrt(variance).reshape(2, 2)

    def spread(people, copies):
        channels = channels_of(questions, little)
        found = bootstrap_bias(
            lambda c: raw(questions, little, c), SMALL, channels, people, copies, 2000
        )
        return found.spread

    tolerance = 5 / np.sqrt(2 * 2000)
    assert np.allclose(spread(people, copies), wanted, rtol=tolerance)
    assert not np.allclose(spread(people * copies, 1), wanted, rtol=tolerance)


@pytest.mark.slow
def test_bootstrap_sees_no_bias_in_the_raw_estimate():
    channels = channels_of(FOUR[:2], NOISY)
    found = bootstrap_bias(lambda c: raw(FOUR[:2], NOISY, c), SMALL, channels, 200, draws=1000)
    assert np.all(np.abs(found.bias) < 4 * found.standard_error)
    assert "1000 simulated" in found.statement


def test_bootstrap_is_repeatable_and_refuses_nonsense():
    channels = channels_of(FOUR[:2], NOISY)
    first, again, other = (
        bootstrap_bias(project, SMALL, channels, 50, draws=5, seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(first.bias, again.bias) and not np.array_equal(first.bias, other.bias)
    with pytest.raises(TableError, match="sum to 1"):
        bootstrap_bias(project, SMALL - 0.1, channels, 50)
    with pytest.raises(TableError, match="at least 2"):
        bootstrap_bias(project, SMALL, channels, 50, draws=1)


# --- consistent tables -----------------------------------------------------------------------

B, C = YesNo(id="b"), Choice(id="c", options=("x", "y"))
PLACES = {"sex": (SEX, slice(0, 3)), "b": (B, slice(3, 4)), "c": (C, slice(4, 6))}


def tables(names, people=4000, seed=5):
    """Joint estimates of some tables of one simulated collection."""
    generator = np.random.default_rng(seed)
    sex = generator.choice(3, people, p=[0.5, 0.3, 0.2])
    b = generator.random(people) < 0.2 + 0.2 * sex
    c = (generator.random(people) < 0.3 + 0.4 * b).astype(int)
    sent = np.hstack([np.eye(3)[sex], b[:, None], np.eye(2)[c]]).astype(bool)
    packed = np.packbits(sent ^ (generator.random(sent.shape) < FLIP.q), axis=1, bitorder="little")
    for ids in names:
        chosen = [PLACES[id] for id in ids]
        decoders = [question_decoder(question, FLIP) for question, _ in chosen]
        counts = pair_moments(packed, [axis for _, axis in chosen])
        yield estimate_table(ids, decoders, counts, covariance=True)


OVERLAPPING = [("sex", "b"), ("b", "c"), ("c", "sex"), ("c",)]


def test_shared_margins_agree_and_totals_are_one():
    given = list(tables(OVERLAPPING))
    before = given[0].estimate.sum(axis=1), given[2].estimate.sum(axis=0)
    assert not np.allclose(*before, atol=1e-4)
    found = make_consistent(given)
    sex_b, b_c, c_sex, c = found.estimates
    assert np.allclose(sex_b.sum(axis=1), c_sex.sum(axis=0), atol=1e-12)
    assert np.allclose(sex_b.sum(axis=0), b_c.sum(axis=1), atol=1e-12)
    assert np.allclose(b_c.sum(axis=0), c, atol=1e-12)
    assert np.allclose(c_sex.sum(axis=1), c, atol=1e-12)
    assert all(e.sum() == pytest.approx(1) for e in found.estimates)
    assert "biased" in found.statement and 0 < found.shift < 5
    again = [replace_estimate(t, e) for t, e in zip(given, found.estimates, strict=True)]
    assert make_consistent(again).shift < 1e-9


def replace_estimate(table, estimate):
    return type(table)(**{**vars(table), "estimate": estimate})


def test_the_adjustment_is_the_least_squares_one():
    """Oracle: the Karush-Kuhn-Tucker system of two tables with regular covariances."""
    one, two = tables([("sex", "c"), ("c",)])
    x = np.concatenate([one.estimate.ravel(), two.estimate])
    inverse = np.zeros((8, 8))
    inverse[:6, :6], inverse[6:, 6:] = (
        np.linalg.inv(one.error.covariance),
        np.linalg.inv(two.error.covariance),
    )
    rows = np.array([[1, 0, 1, 0, 1, 0, -1, 0], [0, 1, 0, 1, 0, 1, 0, -1], [1] * 6 + [0, 0]])
    system = np.block([[inverse, rows.T], [rows, np.zeros((3, 3))]])
    wanted = np.linalg.solve(system, np.concatenate([inverse @ x, [0, 0, 1]]))[:8]
    found = make_consistent([one, two])
    assert np.allclose(np.concatenate([e.ravel() for e in found.estimates]), wanted, atol=1e-10)


def test_consistent_tables_come_nearer():
    """Over 40 collections the margin of a two-way table comes nearer to the truth on average."""
    truth, off = np.array([0.5, 0.3, 0.2]), []
    for seed in range(40):
        given = list(tables([("sex", "b"), ("sex",)], 2000, seed))
        margin = make_consistent(given).estimates[0].sum(axis=1)
        off.append([distance(given[0].estimate.sum(axis=1), truth), distance(margin, truth)])
    assert np.mean(off, axis=0)[1] < np.mean(off, axis=0)[0]


def test_tables_that_cannot_be_made_consistent_are_errors():
    with pytest.raises(TableError, match="at least one"):
        make_consistent([])
    packed = histogram(np.zeros((5, 1), np.uint8), [slice(0, 1)])
    decoders = [question_decoder(B, FLIP, margin=True)]
    with pytest.raises(TableError, match="margin"):
        make_consistent([estimate_table(["b"], decoders, packed, covariance=True)])
