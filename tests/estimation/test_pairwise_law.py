"""Laws of largest entropy with given pairs: iterative proportional fitting, and optimality."""

from itertools import combinations

import numpy as np
import pytest

from incrowd.estimation.pairwise_law import contrasts, pairwise_law

SHAPES = [(2, 2, 2), (3, 2, 4), (2, 2, 2, 2, 2)]


def others(law, kept):
    return tuple(axis for axis in range(law.ndim) if axis not in kept)


def margins(law, size=1):
    places = combinations(range(law.ndim), size)
    return {kept: law.sum(axis=others(law, kept)) for kept in places}


def moments(law, shares):
    rows = [contrasts(each)[1:] for each in shares]
    return {(a, b): rows[a] @ pair @ rows[b].T for (a, b), pair in margins(law, 2).items()}


def random_law(shape, seed):
    """With interactions of all orders."""
    law = np.random.default_rng(seed).dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
    return 0.8 * law + 0.2 / law.size


def fitted(law, sweeps=300):
    """Iterative proportional fitting to all pairs of a law."""
    found = np.full(law.shape, 1 / law.size)
    for _ in range(sweeps):
        for kept, pair in margins(law, 2).items():
            now = found.sum(axis=others(law, kept))
            found = found * np.expand_dims(pair / now, others(law, kept))
    return found


def shares_of(law):
    return list(margins(law).values())


@pytest.mark.parametrize("shape", SHAPES)
def test_the_law_is_that_of_iterative_proportional_fitting(shape):
    law = random_law(shape, 1)
    shares = shares_of(law)
    wanted = moments(law, shares)
    exact = {pair: np.zeros_like(values) for pair, values in wanted.items()}
    found = pairwise_law(shares, wanted, exact)
    assert found == pytest.approx(fitted(law), abs=1e-6)
    assert np.abs(found - law).max() > 1e-3, "interactions of three questions are not those of it"


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.001, 0.999), (0.2, 0.05, 0.75)])
def test_contrasts_are_uncorrelated_functions_of_mean_zero_and_variance_one(shares):
    rows = contrasts(np.array(shares))
    assert rows[0] == pytest.approx(np.ones(len(shares)))
    assert (rows * shares) @ rows.T == pytest.approx(np.eye(len(shares)), abs=1e-9)


def test_pairs_that_no_law_has_are_met_as_nearly_as_any_law_can():
    """Three questions cannot all differ from each other: correlations of -1 / 2 would need a
    probability below zero. By symmetry nothing is nearer than those of -1 / 3."""
    half = np.full(2, 0.5)
    wanted = {pair: np.array([[-0.5]]) for pair in combinations(range(3), 2)}
    found = pairwise_law([half] * 3, wanted, {pair: np.array([[1e-4]]) for pair in wanted})
    assert (found >= 0).all() and found.sum() == pytest.approx(1)
    for values in moments(found, [half] * 3).values():
        assert values.item() == pytest.approx(-1 / 3, abs=1e-3)


def test_errors_of_the_moments_move_the_law_by_a_part_of_them():
    """The slope of the relative entropy is that of the squared deviation over its variance: to
    first order a moment m is met up to m times its variance."""
    half, m, variance = np.full(2, 0.5), 0.1, 0.02
    found = pairwise_law([half] * 2, {(0, 1): np.array([[m]])}, {(0, 1): np.array([[variance]])})
    (met,) = moments(found, [half] * 2).values()
    assert m - met.item() == pytest.approx(variance * np.arctanh(met.item()), rel=1e-4)
