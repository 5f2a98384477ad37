"""Covariances of estimates against explicit matrices and enumeration."""

from functools import reduce

import numpy as np
import pytest

from incrowd.accountant.channels.k_ary import KAry
from incrowd.errors import TableError
from incrowd.estimation.decoders import decoder, question_decoder
from incrowd.estimation.tables import estimate_table
from incrowd.reports.moments import moments, pair_moments
from incrowd.survey import Choice, YesNo
from tests.conftest import pack
from tests.estimation.conftest import FLIP, MIXED, records
from tests.oracles.axes import patterns

AXES = (slice(0, 1), slice(1, 4), slice(4, 7))


# --- covariance ------------------------------------------------------------------------------


@pytest.mark.parametrize(("copies", "noise_only"), [(1, False), (1, True), (3, False), (3, True)])
def test_yes_no_covariance_is_the_explicit_kronecker_formula(copies, noise_only):
    """docs/mathematics.md#estimates, with 8 x 8 matrices:
    (C^-1 diag(y/m) C^-T - diag(pi))/(kN) + sampling / N."""
    bits = np.random.default_rng(4).integers(0, 2, (600, 3))
    axes = [slice(i, i + 1) for i in range(3)]
    decoders = [question_decoder(YesNo(id=str(i)), FLIP) for i in range(3)]
    counts = pair_moments(pack(bits), axes)
    found = estimate_table("012", decoders, counts, copies, noise_only, covariance=True)
    shares = np.bincount(bits @ [4, 2, 1], minlength=8) / 600
    inverse = reduce(np.kron, [np.linalg.inv(FLIP.matrix)] * 3)
    pi = inverse @ shares
    wanted = (inverse @ np.diag(shares) @ inverse.T - np.diag(pi)) / 600
    if not noise_only:
        wanted = wanted + (np.diag(pi) - np.outer(pi, pi)) / (600 / copies)
    assert np.allclose(found.estimate.ravel(), pi, atol=1e-12)
    assert np.allclose(found.error.covariance, wanted, rtol=1e-10, atol=1e-14)


def values_row_by_row(bits, questions, axes, margin):
    """g of every report, flattened: the definition, without moments."""
    g = (bits - FLIP.q) / (FLIP.p - FLIP.q)
    parts = []
    for question, axis in zip(questions, axes, strict=True):
        part = g[:, axis]
        part = np.hstack([1 - part, part]) if question.domain.bits == 1 else part
        parts.append(np.hstack([part, np.ones((len(g), 1))]) if margin else part)
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), parts)


@pytest.mark.parametrize("margin", [False, True])
def test_one_copy_has_the_sample_covariance_of_g(margin):
    bits = np.random.default_rng(5).integers(0, 2, (400, 7))
    decoders = [question_decoder(q, FLIP, margin) for q in MIXED]
    found = estimate_table(
        [q.id for q in MIXED], decoders, pair_moments(pack(bits), AXES), covariance=True
    )
    rows = values_row_by_row(bits, MIXED, AXES, margin)
    assert np.allclose(found.estimate.ravel(), rows.mean(axis=0), atol=1e-11)
    wanted = np.cov(rows.T, bias=True) / 400
    assert np.allclose(found.error.covariance, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("copies", [1, 4])
def test_covariance_of_overlapping_cells_is_exact_by_enumeration(copies):
    """Exact expected counts of a crowd of unequal records; oracle: the covariance of g given each
    record by enumerating its 128 reports, and the covariance of the records' indicators."""
    crowd = list(records())
    weights = np.random.default_rng(6).dirichlet(np.ones(len(crowd)))
    reports = patterns(7)
    g = values_row_by_row(reports, MIXED, AXES, margin=True)
    tensors = np.array([pair_moments(pack(r[None]), AXES) for r in reports])
    expected, noise = 0, 0
    for weight, (record, cells) in zip(weights, crowd, strict=True):
        flips = (reports != record).sum(axis=1)
        chance = FLIP.q**flips * FLIP.p ** (7 - flips)
        assert np.allclose(chance @ g, cells, atol=1e-10)
        expected = expected + weight * np.tensordot(chance, tensors, 1)
        noise = noise + weight * (g.T @ (chance[:, None] * g) - np.outer(cells, cells))
    truths = np.array([cells for _, cells in crowd])
    pi = weights @ truths
    sampling = truths.T @ (weights[:, None] * truths) - np.outer(pi, pi)
    people = 500
    counts = expected * people * copies
    decoders = [question_decoder(q, FLIP, True) for q in MIXED]
    ids = [q.id for q in MIXED]
    fixed = estimate_table(ids, decoders, counts, copies, noise_only=True, covariance=True)
    assert np.allclose(fixed.error.covariance, noise / (people * copies), rtol=1e-8, atol=1e-12)
    found = estimate_table(ids, decoders, counts, copies, covariance=True)
    wanted = noise / (people * copies) + sampling / people
    assert np.allclose(found.error.covariance, wanted, rtol=1e-8, atol=1e-12)
    as_if_people = estimate_table(ids, decoders, counts, 1, covariance=True)
    assert (copies == 1) == np.allclose(
        as_if_people.error.covariance, wanted, rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize(("people", "exact"), [(100, False), (20_000, True)])
def test_variances_and_margins_are_those_of_the_tables(people, exact):
    """Of few people the covariance would be negative in some direction; there a variance is larger
    than that of the cell by itself, and never smaller."""
    generator = np.random.default_rng(7)
    crowd = np.array([record for record, _ in records()])
    sent = np.repeat(crowd[generator.integers(len(crowd), size=people)], 4, axis=0)
    bits = sent ^ (generator.random(sent.shape) < FLIP.q)
    decoders = [question_decoder(q, FLIP, True) for q in MIXED]
    ids = [q.id for q in MIXED]
    joint = estimate_table(ids, decoders, pair_moments(pack(bits), AXES), 4, covariance=True)
    singles = [decoder(q, FLIP.inverse) for q in MIXED]
    table = estimate_table(ids, singles, moments(pack(bits), AXES), 4)
    inner = (slice(-1),) * 3
    assert np.allclose(joint.estimate[inner], table.estimate, atol=1e-12)
    ratio = joint.standard_error[inner] / table.standard_error
    assert np.allclose(ratio, 1, rtol=1e-9) if exact else np.all(ratio >= 1 - 1e-12)
    assert exact or np.max(ratio) > 1.0001
    margin = estimate_table(["sex"], singles[1:2], moments(pack(bits), AXES[1:2]), 4)
    assert np.allclose(joint.estimate[-1, :-1, -1], margin.estimate, atol=1e-12)
    assert np.all(joint.standard_error[-1, :-1, -1] >= margin.standard_error * (1 - 1e-12))


def test_a_table_too_large_says_so():
    decoders = [question_decoder(YesNo(id=str(i)), FLIP) for i in range(11)]
    with pytest.raises(TableError, match="2,048 cells"):
        estimate_table("x" * 11, decoders, np.ones([2] * 11), covariance=True)


# --- k-ary response --------------------------------------------------------------------------


def test_k_ary_response_with_100_options():
    """Epsilon 1, 10,000 reports: P(r|x) = e / (e + 99) if r = x, else 1 / (e + 99). The estimate
    of a true share of .50 averages .50, and its error is the spread."""
    size, people, trials = 100, 10_000, 500
    matrix = (np.ones((size, size)) + (np.e - 1) * np.eye(size)) / (np.e + size - 1)
    shares = np.full(size, 0.5 / (size - 1))
    shares[0] = 0.5
    options = tuple(map(str, range(size)))
    decoder = question_decoder(Choice(id="k", options=options), KAry.from_epsilon(1.0, size))
    counts = np.random.default_rng(22).multinomial(people, matrix @ shares, size=trials)
    pairs = np.zeros(size * (size - 1) // 2)  # of a report one bit is set
    found = [
        estimate_table(["k"], [decoder], np.concatenate([[people], c, pairs]), covariance=True)
        for c in counts[:5]
    ]
    estimates = np.linalg.solve(matrix, counts.T / people)[0]
    assert np.allclose([f.estimate[0] for f in found], estimates[:5], atol=1e-7)
    error = estimates.std(ddof=1)
    assert abs(estimates.mean() - 0.5) < 3 * error / np.sqrt(trials)
    assert found[0].standard_error[0] == pytest.approx(error, rel=5 / np.sqrt(2 * trials))
