"""The empty seat: never below the truth, and close to it.

The bound lies so far above the truth of crowds of twelve (the nearest: .90 of it, where the
bound says more than the local guarantee does) that no truth tells the wrong variants of single
steps: `test_seat_steps.py` does.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.stats import binom

from incrowd.accountant import seat
from incrowd.accountant.analyses import ANALYSES
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from incrowd.accountant.numerics.contours import ContourBound, least_bound
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema
from incrowd.errors import IncrowdError
from tests.conftest import one_in, slowly
from tests.oracles import crowds as truth


def mechanism(part):
    """P[report, record] of a question, from its channel's matrix."""
    if isinstance(part.channel, KAry):
        return part.channel.matrix
    return truth.of_bits(part.channel.matrix, *part.domain)


def any_part(random):
    """A question of one of the kinds that the package has."""
    kind, flip = random.integers(5), BitFlip.at_least(random.uniform(0.03, 0.48))
    if kind == 0:
        bits = int(random.integers(1, 4))
        return Part(Domain(bits, 0, bits), flip)
    if kind == 1:
        return Part(Domain(int(random.integers(2, 5)), 1, 1), flip)
    if kind == 2:
        bits = int(random.integers(2, 4))
        return Part(Domain(bits, 0, bits - 1), flip)
    if kind == 3:
        options = int(random.integers(2, 5))
        keep = random.uniform(1 / options + 0.02, 0.9)
        return Part(Domain(options, 1, 1), KAry.from_probabilities(keep, options))
    domains = [FREE_BIT, Domain(2, 0, 2), Domain(2, 1, 1), Domain(3, 1, 1), Domain(2, 0, 1)]
    bit = Bit.from_probabilities(*random.uniform(0.05, 0.95, 2))
    return Part(domains[random.integers(5)], bit)


def any_case(random, most):
    """Questions, their mechanism and a crowd of at most 12, as long as it can be enumerated."""
    parts = [any_part(random) for _ in range(1 + (random.random() < 0.4))]
    joint = truth.merged(truth.together(*map(mechanism, parts)))
    crowd = int(random.integers(2, 13))
    while crowd > 2 and not feasible(joint, crowd, most):
        crowd -= 1
    return Schema.of(parts), joint, crowd


def feasible(joint, crowd, most):
    """Whether the truths are not too many, nor the numbers of each law."""
    truths, numbers = truth.size(joint, crowd)
    return truths <= most and numbers <= 3000


def truths_below(schema, joint, crowd, epsilon):
    """How many truths were compared; fails if the bound is below one of them."""
    found = seat.bound(schema, crowd, epsilon)
    quick = seat.bound(schema, crowd, epsilon, sharp=False)
    assert found.delta <= quick.delta * 1.01
    every = np.concatenate(list(truth.deltas(joint, crowd, epsilon)))
    assert every.max() <= found.delta * (1 + 1e-9) + 1e-15, (schema, crowd, epsilon, found)
    return len(every)


def compared(seed, most, wanted):
    random, count = np.random.default_rng(seed), 0
    while count < wanted:
        schema, joint, crowd = any_case(random, most)
        if feasible(joint, crowd, most):
            local = schema.local_epsilon
            for epsilon in (
                0.0,
                random.uniform(0, min(local, 2.5)),
                random.uniform(0.2, 1) * local,
            ):
                count += truths_below(schema, joint, crowd, float(epsilon))
    return count


@pytest.mark.slow
def test_never_below_the_truth_of_any_crowd_and_pair():
    assert compared(14, 300, 3000) >= 3000


@pytest.mark.slow
def test_never_below_the_truth_of_any_crowd_and_pair_at_length():
    assert compared(15, 20_000, 200_000) >= 200_000


DEVICES = [
    Warner.from_probability(0.3),
    Simmons.from_probabilities(0.6, 0.2),
    Rappor.one_time(0.5),
    Rappor.from_probabilities(0.5, 0.7, 0.4),
]


@pytest.mark.parametrize("channel", one_in(3, DEVICES), ids=str)
def test_exact_devices(channel):
    domains = [FREE_BIT, Domain(3, 1, 1)]
    joint = truth.merged(truth.together(*(truth.of_bits(channel.matrix, *d) for d in domains[:1])))
    schema = Schema.uniform(domains[:1], channel)
    assert truths_below(schema, joint, 12, 0.2) == 24
    joint = truth.merged(truth.of_bits(channel.matrix, *domains[1]))
    assert truths_below(Schema.uniform(domains[1:], channel), joint, 4, 0.2) == 60


@pytest.mark.slow
def test_text_in_cohorts():
    """Five words in two cohorts that are sent openly: one of two bits, as the cohort hashes."""
    flip = BitFlip.at_least(0.3)
    block = truth.of_bits(flip.matrix, 2, 1, 1)
    hashes = np.array([[0, 0, 1, 1, 0], [0, 1, 0, 1, 0]])
    joint = truth.merged(np.vstack([block[:, places] / 2 for places in hashes]))
    schema = Schema.uniform([Domain(2, 1, 1)], flip)
    for crowd in (3, 5):
        for epsilon in (0.0, 0.5):
            truths_below(schema, joint, crowd, epsilon)


def one_bit(q, crowd, ones, epsilon):
    """delta of one bit, given how many of the others hold a one; by convolution, to about 1e-15."""
    held = binom.pmf(np.arange(ones + 1), ones, 1 - q)
    others = fftconvolve(held, binom.pmf(np.arange(crowd - ones), crowd - 1 - ones, q))
    shown, hidden = np.append(0.0, others), np.append(others, 0.0)
    x, other = (1 - q) * shown + q * hidden, q * shown + (1 - q) * hidden
    return np.maximum(x - math.exp(epsilon) * other, 0).sum()


def one_bit_share(q, crowd, epsilon, step):
    """The largest truth over the bound, trying every so many ones among the others."""
    found = seat.bound(Schema.uniform([FREE_BIT], BitFlip.at_least(q)), crowd, epsilon).delta
    exact = BitFlip.at_least(q).q
    tried = (one_bit(exact, crowd, ones, epsilon) for ones in range(0, crowd, step))
    return max(tried) / found


@pytest.mark.parametrize(
    ("q", "crowd", "epsilon"),
    [(0.1, 200, 1), *slowly((0.05, 500, 0.8), (0.4, 300, 0.0)), (0.3, 60, 0.5)],
)
def test_one_bit_against_every_number_of_ones(q, crowd, epsilon):
    """The shares were .64, .82, .98 and .67."""
    assert 0.4 < one_bit_share(q, crowd, epsilon, 1) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "crowd", "epsilon"), [(0.01, 3000, 1), (0.1, 10_000, 0.15), (0.4, 10_000, 0.0)]
)
def test_one_bit_against_every_number_of_ones_in_large_crowds(q, crowd, epsilon):
    assert 0.4 < one_bit_share(q, crowd, epsilon, 1) <= 1


# ----------------------------------------------------------------------------- classes


def all_classes(part):
    """Of every x, x', z the law of (P_x, P_x') / P_z under P_z."""
    joint = mechanism(part)
    for x in joint.T:
        for other in joint.T:
            for z in joint.T:
                yield x / z, other / z, z


def stop_losses(a, b, mass, betas, levels):
    """E max(0, A - beta B - t) for every beta and level t."""
    return np.maximum(a - np.multiply.outer(betas, b)[:, None] - levels[:, None], 0.0) @ mass


PARTS = [
    Part(FREE_BIT, BitFlip.at_least(0.2)),
    Part(Domain(2, 0, 2), Bit.from_probabilities(0.15, 0.6)),
    Part(Domain(3, 1, 1), BitFlip.at_least(0.2)),
    Part(Domain(3, 1, 1), Bit.from_probabilities(0.15, 0.6)),
    Part(Domain(4, 1, 1), BitFlip.at_least(0.1)),
    Part(Domain(3, 0, 1), BitFlip.at_least(0.25)),
    Part(Domain(3, 0, 2), BitFlip.at_least(0.2)),
    Part(Domain(4, 0, 2), BitFlip.at_least(0.3)),
    Part(Domain(3, 1, 2), Bit.from_probabilities(0.1, 0.7)),
    Part(Domain(3, 1, 1), KAry.from_probabilities(0.7, 3)),
    Part(Domain(5, 1, 1), KAry.from_probabilities(0.5, 5)),
]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_some_kept_class_exceeds_every_class_in_the_convex_order(part):
    """Whatever weight beta >= 0 the rest of the report gives x' in place of x."""
    betas, levels = np.array([0.0, 0.3, 1.0, 1.7, 6.0]), np.linspace(-30, 30, 41)
    found = seat.seats(Schema.of([part])).ratios
    kept = [(np.exp(r.log_a), np.exp(r.log_b), np.exp(r.log_mass)) for r in found]
    tables = np.array([stop_losses(*one, betas, levels) for one in kept])
    for some in all_classes(part):
        table = stop_losses(*some, betas, levels)
        assert (tables >= table - 1e-9).all(axis=(1, 2)).any()


def test_classes_are_those_of_records():
    """Every kept class belongs to some x, x' and z: the laws' second moments agree."""
    for part in PARTS:
        moments = {
            (round(float(z @ a**2), 9), round(float(z @ b**2), 9), round(float(z @ (a * b)), 9))
            for a, b, z in all_classes(part)
        }
        for r in seat.seats(Schema.of([part])).ratios:
            mass = np.exp(r.log_mass)
            exponents = (2 * r.log_a, 2 * r.log_b, r.log_a + r.log_b)
            assert tuple(round(float(mass @ np.exp(e)), 9) for e in exponents) in moments


@pytest.mark.slow
def test_the_common_mass_is_that_of_the_whole_mechanism():
    for one, two in pairwise(PARTS):
        joint = truth.together(mechanism(one), mechanism(two))
        found = seat.seats(Schema.of([one, two])).common
        assert joint.min(axis=1).sum() * (1 - 1e-11) <= found <= joint.min(axis=1).sum()


@pytest.mark.slow
def test_many_noises_are_joined_to_smaller_ones_and_stay_above():
    flips = [BitFlip.at_least(0.2 + 0.005 * i) for i in range(12)]
    many = Schema.of(Part(FREE_BIT, flip) for flip in flips)
    assert len(seat.seats(many).ratios) <= seat.MOST_CLASSES
    least, most = (Schema.uniform([FREE_BIT] * 12, f) for f in (flips[0], flips[-1]))
    bounds = [seat.bound(one, 10**5, 1.0, sharp=False).delta for one in (most, many, least)]
    assert bounds == sorted(bounds)


def test_thinned_ratios_keep_the_bound_above():
    schema = Schema.uniform([FREE_BIT] * 3 + [Domain(3, 1, 1)], BitFlip.at_least(0.2))
    ratios = seat.seats(schema).ratios
    thin = [seat.thinned(r, 9) for r in ratios]
    assert max(len(r.log_a) for r in thin) < max(len(r.log_a) for r in ratios)
    fine, coarse = (
        least_bound(ContourBound([r.law(1.0) for r in rs], 1e-3, 10**5, math.expm1(1.0), 0.9))[0]
        for rs in (ratios, thin)
    )
    assert fine <= coarse


# ----------------------------------------------------------------------------- how close

TABLE = [  # bits or questions, crowd, epsilon, delta: noise of the homogeneous crowd, certified
    ([FREE_BIT], 10**6, 1.0, 1e-8, 4.9388e-5, 5.0176e-5),
    ([FREE_BIT] * 2, 10**4, 1.0, 1e-6, 0.051132, 0.051653),
    ([FREE_BIT] * 8, 10**5, 1.0, 1e-6, 0.21418, 0.21453),
    ([FREE_BIT] * 16, 10**6, 0.5, 1e-8, 0.31578, 0.31599),
    ([Domain(5, 1, 1)] * 4, 10**6, 1.0, 1e-6, 0.18231, 0.18231),
    (
        [FREE_BIT] * 2 + [Domain(4, 1, 1)] * 2 + [Domain(5, 1, 1)],
        20_000,
        1.0,
        1e-6,
        0.25459,
        0.25473,
    ),
]


def smallest_noise(domains, crowd, epsilon, delta, low, high):
    """By bisection, to a hundred-thousandth."""
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        schema = Schema.uniform(domains, BitFlip.at_least(middle))
        held = seat.bound(schema, crowd, epsilon).delta <= delta
        low, high = (low, middle) if held else (middle, high)
    return high


@pytest.mark.parametrize(
    ("domains", "crowd", "epsilon", "delta", "homogeneous", "certified"), one_in(3, TABLE)
)
def test_noise(domains, crowd, epsilon, delta, homogeneous, certified):
    found = smallest_noise(domains, crowd, epsilon, delta, 0.98 * homogeneous, 1.05 * certified)
    assert homogeneous * (1 - 2e-4) < found < certified * (1 + 2e-4)


@pytest.mark.slow
def test_noise_of_forty_bits():
    schemas = [Schema.uniform([FREE_BIT] * 40, BitFlip.at_least(q)) for q in (0.3834, 0.38355)]
    above, below = (seat.bound(schema, 10**7, 2.0).delta for schema in schemas)
    assert below <= 1e-8 < above


# ----------------------------------------------------------------------------- far out


@pytest.mark.parametrize("q", [1e-6, 1e-3, 0.2, *slowly(0.4999999)])
@pytest.mark.parametrize("crowd", one_in(3, [2, 3, 4, 50, 10**9]))
def test_extremes(q, crowd):
    schema = Schema.uniform([FREE_BIT, Domain(3, 1, 1)], BitFlip.at_least(q))
    local = schema.local_epsilon
    last = 1.0
    for epsilon in (0.0, 1e-9, 0.3 * local, 0.999999 * local):
        found = seat.bound(schema, crowd, epsilon).delta
        below = max(epsilon - 1e-11 * (1 + epsilon), 0.0)
        assert (
            0
            <= found
            <= ANALYSES["local"].bound(Contribution.of(schema), crowd, below) * (1 + 1e-9) + 1e-11
        )
        assert found <= last * (1 + 1e-9)
        last = found
    assert seat.bound(schema, crowd, local).delta == 0


def test_far_out_in_the_tail():
    """1e-100 has digits as good as 1e-6 has: between a homogeneous crowd and the blanket."""
    schema = Schema.uniform([FREE_BIT] * 4, BitFlip.at_least(0.3))
    crowd = 10**5
    for epsilon in (0.1, 0.3, 0.5):
        found = seat.bound(schema, crowd, epsilon).delta
        homogeneous = ANALYSES["outlier"].bound(Contribution.of(schema), crowd, epsilon)
        assert (
            homogeneous * 0.9
            <= found
            <= ANALYSES["blanket"].bound(Contribution.of(schema), crowd, epsilon)
        )
    assert found < 1e-60


def test_what_cannot_be_said():
    schema = Schema.uniform([FREE_BIT], BitFlip.at_least(0.2))
    with pytest.raises(IncrowdError, match="crowd"):
        seat.bound(schema, 1, 1.0)
    with pytest.raises(IncrowdError, match="epsilon"):
        seat.bound(schema, 10, -1.0)
    parts = [Part(Domain(c, 1, 1), KAry.from_probabilities(0.6, c)) for c in range(4, 12)]
    with pytest.raises(IncrowdError, match="classes"):
        seat.bound(Schema.of(parts), 1000, 1.0)


def test_classes_of_free_bits():
    found = seat.of_questions(((FREE_BIT, 5),), BitFlip.at_least(0.2))
    assert len(found) == math.comb(7, 2)
    assert (found.sum(axis=1) == 5).all()
