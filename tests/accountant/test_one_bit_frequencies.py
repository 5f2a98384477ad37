"""delta of one bit in a given crowd to 60 digits; what is cut and rounded is allowed for."""

import math

import mpmath
import numpy as np
import pytest

from incrowd.accountant import one_bit as module
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.one_bit import CUT, LOG_CUT, BitOrder, deltas, one_bit
from tests.conftest import slowly

ROUNDED_UP = 1e-9  # share by which `one_bit` rounds up
FIGURES = 1e-11  # its error besides
TIGHT = 1e-9  # relative distance of the bounds in a small crowd
TIGHT_IN_LARGE = 1e-7  # and in one of 10^9
CASES = 300


def chances(channel, x):
    """P(1|x) and P(1|x'), exactly."""
    found = [mpmath.mpf(n) / DENOMINATOR for n in (channel.one_if_zero, channel.one_if_one)]
    return found[x], found[1 - x]


def small_law(own, stray, same, other):
    """{ones: chance} of the others, person by person."""
    law = [mpmath.mpf(1)]
    for chance in [own] * same + [stray] * other:
        law = [
            (law[t] if t < len(law) else 0) * (1 - chance) + (law[t - 1] * chance if t else 0)
            for t in range(len(law) + 1)
        ]
    return dict(enumerate(law))


def binomial(trials, chance, reach):
    """{ones: chance} but for what is farther than `reach` from the mean."""
    middle = int(trials * chance)
    return {
        t: mpmath.exp(
            mpmath.loggamma(trials + 1)
            - mpmath.loggamma(t + 1)
            - mpmath.loggamma(trials - t + 1)
            + t * mpmath.log(chance)
            + (trials - t) * mpmath.log(1 - chance)
        )
        for t in range(max(0, middle - reach), min(trials, middle + reach) + 1)
    }


def summed(one, other):
    """The law of the sum of two independent counts."""
    law = {}
    for t, chance in one.items():
        for u, more in other.items():
            law[t + u] = law.get(t + u, 0) + chance * more
    return law


def divergence(law, own, stray, epsilon):
    """Hockey-stick divergence of x from x' beside others with this law."""
    factor, total = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(0)
    for t in {*law, *(t + 1 for t in law)}:
        before, here = law.get(t - 1, 0), law.get(t, 0)
        ratio = own * before + (1 - own) * here - factor * (stray * before + (1 - stray) * here)
        total += max(ratio, 0)
    return total


def truth(channel, x, same, other, epsilon):
    """Exact delta, to 60 digits."""
    with mpmath.workdps(60):
        own, stray = chances(channel, x)
        return divergence(small_law(own, stray, same, other), own, stray, epsilon)


def some_channel(generator):
    """Flips from 2^-32 to 1/2, any pair of chances, chances near 0 and 1, and exactly there."""
    near = [int(2 ** generator.uniform(0, 32)) for _ in range(2)]
    ends = [0, 1, DENOMINATOR // 2, DENOMINATOR - 1, DENOMINATOR]
    return [
        Bit(min(near[0], DENOMINATOR // 2), DENOMINATOR - min(near[0], DENOMINATOR // 2)),
        Bit(*map(int, generator.integers(0, DENOMINATOR + 1, 2))),
        Bit(near[0], DENOMINATOR - near[1]),
        Bit(int(generator.choice(ends)), int(generator.integers(0, DENOMINATOR + 1))),
    ][generator.integers(4)]


def local_epsilon(channel, x):
    """The largest log-ratio of a report, at most 50."""
    reports = [row for row in channel.matrix if row[x] > 0]
    ratios = [math.log(row[x] / row[1 - x]) if row[1 - x] else 50.0 for row in reports]
    return min(max(0.0, *ratios), 50.0)


def some_epsilon(generator, local):
    """0, up to the local one, just below and just above it, and anything from 1e-12 to 10."""
    near = local * (1 - 10 ** generator.uniform(-9, -2))
    small = 10 ** generator.uniform(-12, 1)
    found = [0.0, generator.uniform(0, local), near, local * (1 + 1e-7), small]
    return float(found[generator.integers(len(found))])


def random_cases(seed, count):
    """(channel, x, same, other, epsilon)."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        channel, x = some_channel(generator), int(generator.integers(2))
        same, other = map(int, generator.integers(0, 12, 2))
        epsilon = some_epsilon(generator, local_epsilon(channel, x))
        yield channel, x, same, other + (same + other == 0), epsilon


def bounds(channel, x, same, other, epsilon):
    """(lower, upper) of one crowd."""
    order = BitOrder.of(channel, x, epsilon)
    if order is None:
        return 0.0, 0.0
    found = deltas(order, np.array([same]), np.array([other]))
    return float(found.lower[0]), float(found.upper[0])


def below_truth(cases):
    """How many upper bounds are below delta."""
    return sum(bounds(*case)[1] < truth(*case) for case in cases)


@pytest.mark.slow
def test_the_bounds_enclose_delta_to_sixty_digits():
    for case in random_cases(0, CASES):
        true, (lower, upper) = truth(*case), bounds(*case)
        assert lower <= true <= upper, case
        assert upper <= max(true * (1 + TIGHT), 1e-290), case


@pytest.mark.slow
def test_the_allowance_holds_for_any_cut(monkeypatch):
    """However roughly the tails and frequencies are cut, bounds stay bounds; without the
    allowance they do not."""
    cases = list(random_cases(1, CASES))
    monkeypatch.setattr(module, "LOG_CUT", 3.0)
    monkeypatch.setattr(module, "CUT", CUT * math.exp(LOG_CUT - 3))
    assert below_truth(cases) == 0
    monkeypatch.setattr(module, "CUT", 0.0)
    assert below_truth(cases) > 0


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"PHASE": 0.0}, {"NEAR": np.array([0])}])
def test_the_allowance_for_rounding_and_the_three_places_are_needed(monkeypatch, wrong):
    cases = list(random_cases(2, CASES))
    assert below_truth(cases) == 0
    for name, value in wrong.items():
        monkeypatch.setattr(module, name, value)
    assert below_truth(cases) > 0


@pytest.mark.parametrize(
    ("q", "crowd", "epsilon"),
    [
        (0.1, 200, 1.0),
        (0.3, 5000, 0.01),
        (0.49, 3000, 0.0),
        (1e-9, 10_000, 3.0),
        (1e-6, 2000, 0.5),
        (0.25, 1000, 1.05),  # delta is 1e-116
        (0.02, 10_000, 0.3),
    ],
)
def test_all_crowds_at_once_agree_with_their_enumeration(q, crowd, epsilon):
    flip, same = BitFlip.at_least(q), np.arange(crowd)
    rounded_up = one_bit(flip, crowd, epsilon).delta
    found = deltas(BitOrder.of(Bit.from_flip(flip), 1, epsilon), same, crowd - 1 - same)
    seen = rounded_up > 1e-290
    assert (found.upper[seen] >= rounded_up[seen] * (1 - ROUNDED_UP - FIGURES)).all()
    assert (found.lower <= rounded_up).all()
    assert (found.upper[seen] <= found.lower[seen] * (1 + TIGHT)).all()


@pytest.mark.parametrize("numerator", [DENOMINATOR // 2 - n for n in (1, 2, 100)])
@pytest.mark.parametrize("crowd", [2, 4, 11])
def test_enumeration_is_no_lower_next_to_a_half(numerator, crowd):
    """p and q are nearly the same there, and so are e^epsilon p and q."""
    flip = BitFlip(numerator)
    for share in (0.0, 0.3, 0.6, 0.9):
        epsilon = flip.epsilon * share
        true = truth(Bit.from_flip(flip), 1, crowd - 1, 0, epsilon)
        found = one_bit(flip, crowd, epsilon).delta[-1]
        assert true <= found <= true * (1 + 2 * ROUNDED_UP)


@pytest.mark.parametrize(
    ("channel", "epsilon", "share"),
    [
        (Bit(212, DENOMINATOR - 212), 1.0, 0.0),
        (Bit(212, DENOMINATOR - 212), 1.0, 0.4),
        *slowly((Bit(100, DENOMINATOR - 500), 0.8, 0.7)),
    ],
)
def test_a_crowd_of_a_billion(channel, epsilon, share):
    others = 10**9 - 1
    same = int(share * others)
    with mpmath.workdps(40):
        own, stray = chances(channel, 1)
        law = summed(binomial(others - same, stray, 200), binomial(same, own, 400))
        true = divergence(law, own, stray, epsilon)
    lower, upper = bounds(channel, 1, same, others - same, epsilon)
    assert lower <= true <= upper <= lower * (1 + TIGHT_IN_LARGE)
