"""Curves from and to other tools never lower delta.

Oracle: the sum of max(0, P - e^epsilon Q) over all outcomes, in fractions and 50 digits.
"""

import json
import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as theirs
from dp_accounting.pld.pld_pmf import create_pmf
from mpmath import mp, mpf
from scipy.stats import binom

from incrowd import accountant
from incrowd.accountant.composition import MOST_POINTS, LossLaw, PrivacyCurve
from incrowd.accountant.numerics.precision import UNIT
from incrowd.errors import PrivacyError

OURS = 1e-12  # allowances for rounding that a curve may contain
THEIRS = 1e-13  # the rounding of Fourier transforms of dp_accounting, which it does not count
STEPS = (0.3, 0.05, 0.011, 0.003)


# --- the oracle ----------------------------------------------------------------------------------


class Outcomes:
    """The outcomes of independent pairs of laws, and their exact delta in the worse order."""

    def __init__(self, *pairs):
        self.atoms = {(Fraction(1), Fraction(1)): 1}
        for p, q in pairs:
            atoms = {}
            for ((a, b), n), (c, d) in product(self.atoms.items(), zip(p, q, strict=True)):
                key = a * Fraction(c), b * Fraction(d)
                atoms[key] = atoms.get(key, 0) + n
            self.atoms = atoms

    def delta(self, epsilon):
        return max(self.deltas(epsilon))

    def deltas(self, epsilon):
        with mp.workdps(50):
            alpha = mp.exp(mpf(epsilon))
            sums = [mpf(0), mpf(0)]
            for (a, b), n in self.atoms.items():
                one, other = (mpf(x.numerator) / x.denominator for x in (a, b))
                sums[0] += n * max(one - alpha * other, 0)
                sums[1] += n * max(other - alpha * one, 0)
            return [min(each, mpf(1)) for each in sums]  # doubles may add up to a little more

    @property
    def losses(self):
        """The finite losses from zero."""
        return sorted({abs(float(mp.log(a) - mp.log(b))) for a, b in self.atoms if a and b})


def drawn_law(source, size):
    """Probabilities from about 1e-12 to 1; some of them zero."""
    weights = [
        source.random() * 10 ** source.uniform(-12, 0) ** source.choice((0, 1, 1))
        for _ in range(size)
    ]
    if source.random() < 0.3:
        weights[source.randrange(size)] = 0.0
    total = math.fsum(weights) or 1.0
    return [w / total for w in weights] if any(weights) else [1.0] + [0.0] * (size - 1)


def drawn_pair(source):
    size = source.randint(2, 4)
    p = drawn_law(source, size)
    if source.random() < 0.5:
        return p, drawn_law(source, size)
    tilt = [x * math.exp(source.uniform(-1, 1)) for x in p]  # close to each other
    return p, [t / math.fsum(tilt) for t in tilt]


def epsilons(source, outcomes):
    """Zero, losses and their neighbors, and values between and beyond them."""
    losses = outcomes.losses or [1.0]
    some = source.sample(losses, min(len(losses), 6))
    near = [each + source.choice((-1e-9, 0.0, 1e-9)) for each in some]
    others = [source.uniform(0, losses[-1] + 0.5) for _ in range(8)]
    return [0.0, *(max(e, 0.0) for e in near), *others, losses[-1] + 1e-3, 5.0, 20.0]


def counted_twice(pairs):
    """How much larger a sum of infinite masses is than the mass of their union, which is exact."""
    alone = [
        (sum(a for a, b in zip(*two, strict=True) if not b) for two in ((p, q), (q, p)))
        for p, q in pairs
    ]
    return max(
        sum(each) - (1 - math.prod(1 - i for i in each)) for each in zip(*alone, strict=True)
    )


# --- round trips ---------------------------------------------------------------------------------


def there(curve, interval=None):
    """What a user gets: a distribution of dp_accounting."""
    return accountant.to_dp_accounting(curve, interval=interval)


def broken_low(curve, interval=None):
    """A wrong way out: losses between points of the lattice are rounded down."""
    step = 3 * curve.forward.step
    laws = []
    for law in (curve.forward, curve.backward):
        places = np.floor(law.losses / step + 1e-9).astype(int)
        mass = np.bincount(places - places.min(), law.mass)
        laws.append(LossLaw(step, int(places.min()), mass, law.infinite))
    return there(PrivacyCurve(*laws))


def broken_infinite(curve, interval=None):
    """Another wrong way: nothing has infinite loss."""
    laws = (LossLaw(x.step, x.first, x.mass, 0.0) for x in (curve.forward, curve.backward))
    sent = there(PrivacyCurve(*laws), interval)
    for pmf in (sent._pmf_remove, sent._pmf_add):
        pmf._infinity_mass = 0.0
    return sent


def round_trip(seed, out=there):
    """Carry out one round trip; raise AssertionError if a delta is too small anywhere."""
    source = random.Random(seed)
    pairs = [drawn_pair(source) for _ in range(2)]
    step, other = source.choice(STEPS), source.choice(STEPS)
    wide = source.choice((None, step, other))
    curves = [accountant.pair_curve(p, q, step=step) for p, q in pairs]
    moved = step + (wide or 0)  # a loss may rise by a step on each lattice
    again = [accountant.from_dp_accounting(out(c, wide)) for c in curves]
    many = source.randint(2, 3)
    cases = [
        (pairs[:1], [curves[0], out(curves[0], wide), again[0], out(again[0])], 1, 0.0),
        (pairs, [again[0] * again[1], PrivacyCurve.of([(c, 1) for c in again])], 2, 0.0),
        (pairs[:1] * many, [again[0] ** many], many, 0.0),
    ]
    laws = [law for curve in again for law in (curve.forward, curve.backward)]
    if all(law.mass.sum() > 0.01 for law in laws):  # dp_accounting cannot compose without any
        sent = [out(curve) for curve in again]
        both = [sent[0].compose(sent[1])] if len({law.step for law in laws}) == 1 else []
        composed = [sent[0].self_compose(many)]
        composed += [accountant.from_dp_accounting(composed[0])]
        cases += [(pairs, both, 2, THEIRS), (pairs[:1] * many, composed, many, THEIRS)]
    for used, bounds, count, rounding in cases:
        outcomes, loose = Outcomes(*used), OURS + counted_twice(used)
        for epsilon in epsilons(source, outcomes):
            exact = outcomes.delta(epsilon)
            above = float(outcomes.delta(max(epsilon - count * moved, 0.0)))
            if epsilon < count * moved:
                above = 1.0
            for bound in bounds:
                delta = getattr(bound, "get_delta_for_epsilon", None) or bound.delta
                value = float(delta(epsilon))
                assert value + rounding >= exact, (seed, count, epsilon, value, float(exact))
                assert value <= above + loose, (seed, count, epsilon, value, above)


QUICK = range(8)


@pytest.mark.parametrize("seed", QUICK)
def test_a_round_trip_never_lowers_delta(seed):
    round_trip(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 500, 50))
def test_500_round_trips_never_lower_delta(first):
    for seed in range(first, first + 50):
        round_trip(seed)


@pytest.mark.parametrize("wrong", [broken_low, broken_infinite])
def test_wrong_round_trips_are_rejected(wrong):
    with pytest.raises(AssertionError):
        for seed in QUICK:
            round_trip(seed, wrong)


# --- distributions of dp_accounting --------------------------------------------------------------


def test_remove_is_forward_and_add_is_backward():
    """A sampled mechanism, whose orders differ."""
    sent = theirs.from_laplace_mechanism(1.0, sampling_prob=0.2, value_discretization_interval=0.01)
    curve = accountant.from_dp_accounting(sent)
    for epsilon in (0.02, 0.05, 0.1):
        remove, add = (
            pmf.get_delta_for_epsilon(epsilon) for pmf in (sent._pmf_remove, sent._pmf_add)
        )
        assert remove > 1.05 * add
        assert math.isclose(curve.forward.delta(epsilon), remove, rel_tol=1e-9)
        assert math.isclose(curve.backward.delta(epsilon), add, rel_tol=1e-9, abs_tol=1e-13)
        again = accountant.to_dp_accounting(curve)
        assert again._pmf_add.get_delta_for_epsilon(epsilon) >= add


def test_a_symmetric_distribution_stays_symmetric():
    sent = theirs.from_gaussian_mechanism(2.0, value_discretization_interval=0.01)
    curve = accountant.from_dp_accounting(sent)
    assert curve.forward is curve.backward
    assert accountant.to_dp_accounting(curve)._symmetric


def test_an_optimistic_distribution_is_refused():
    """Its delta is below that of the mechanism, which is known in closed form."""
    options = {"pessimistic_estimate": False, "value_discretization_interval": 0.5}
    sent = theirs.from_randomized_response(0.5, 2, **options)  # the answer with .75, otherwise .25
    assert sent.get_delta_for_epsilon(0.9) < 0.75 - math.exp(0.9) * 0.25
    with pytest.raises(PrivacyError, match="optimistic"):
        accountant.from_dp_accounting(sent)


def test_what_is_not_a_guarantee_is_not_sent_as_a_bound():
    """dp_accounting does not compose it with a bound, and it does not come back as one."""
    flip = accountant.BitFlip.from_epsilon(2.0)
    bound, other = (accountant.privacy_curve(name, flip, 1000) for name in ("seat", "outlier"))
    for curve in (other, bound * other):
        sent = accountant.to_dp_accounting(curve, interval=0.01)
        with pytest.raises(ValueError, match="Estimation types"):
            sent.compose(accountant.to_dp_accounting(bound, interval=0.01))
        with pytest.raises(PrivacyError, match="optimistic"):
            accountant.from_dp_accounting(sent)


def test_tails_that_dp_accounting_cuts_stay_infinite():
    """Composed 1,000 times with a large truncation; Fourier transforms leave negative masses."""
    sent = theirs.from_gaussian_mechanism(30.0, value_discretization_interval=0.005)
    sent = sent.self_compose(1000, tail_mass_truncation=1e-6)
    assert sent._pmf_remove._infinity_mass >= 1e-6
    curve = accountant.from_dp_accounting(sent)
    for epsilon in (0.0, 2.0, 5.0, 50.0):
        assert curve.delta(epsilon) >= sent.get_delta_for_epsilon(epsilon)
    assert curve.delta(50.0) >= 1e-6


def test_what_is_missing_from_a_total_is_infinite():
    sparse = create_pmf({0: 0.5, 3: 0.25}, 0.1, 0.125, pessimistic_estimate=True)
    curve = accountant.from_dp_accounting(theirs.PrivacyLossDistribution(sparse))
    assert curve.delta(1.0) >= 0.25


def test_more_points_than_a_curve_has_are_put_on_a_coarser_lattice():
    sparse = create_pmf({-(10**7): 0.25, 10**7 + 1: 0.75}, 1e-4, 0.0, pessimistic_estimate=True)
    sent = theirs.PrivacyLossDistribution(sparse)
    curve = accountant.from_dp_accounting(sent)
    assert len(curve.forward.mass) <= MOST_POINTS
    for epsilon in (0.0, 500.0, 999.0, 1000.0, 1000.00005, 1000.01):
        assert curve.delta(epsilon) >= sent.get_delta_for_epsilon(epsilon)
    assert curve.delta(1000.5) < 1e-9


def test_losses_that_are_large_keep_delta():
    """Near a loss of 700, a rounding error of the loss is larger than a UNIT."""
    p, q = [1.0, 0.0], [math.exp(-700.0), 1.0]
    outcomes = Outcomes((p, q))
    for step in (0.1, 0.7, 1.0):
        curve = accountant.pair_curve(p, q, step=step)
        for bound in (curve, accountant.from_dp_accounting(there(curve))):
            for epsilon in (699.0, 699.9999, 700.0 - 1e-9):
                assert bound.forward.delta(epsilon) >= outcomes.deltas(epsilon)[0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("step", [5e-324, 1e-300, 1e-20, 1e20, 1e100])
@pytest.mark.parametrize("first", [-(2**53), -(10**15), 0, 10**15, 2**53])
def test_extreme_lattices_compose(step, first):
    """Two losses one step apart, three times; without a warning, and never below the exact sum."""
    data = {"step": step}
    for order in ("forward", "backward"):
        data |= {f"{order}_first": first, f"{order}_mass": [0.25, 0.5], f"{order}_infinite": 0.25}
    composed = accountant.from_losses(data) ** 3
    for epsilon in (0.0, 1.0, 3 * first * step, (3 * first + 1.5) * step):
        exact = 1 - 0.75**3  # an infinite loss in any of the three
        for seconds in range(4):
            loss = mpf(step) * (3 * first + seconds)
            chance = math.comb(3, seconds) * 0.5**seconds * 0.25 ** (3 - seconds)
            exact += chance * max(1 - mp.exp(min(mpf(epsilon) - loss, 0)), 0)
        assert composed.delta(epsilon) >= min(exact, 1.0)


def test_distant_places_keep_the_tail():
    """A million losses far from zero: the window is counted from near the mean, in whole numbers.

    Counted from zero in doubles, it would be wrong by 10^5 steps: the sum has a place of 10^21.
    """
    first, count, step = 10**15, 10**6, 1e-20
    one = {"first": first, "mass": [0.5, 0.5], "infinite": 0.0}
    both = {
        f"{order}_{key}": value for order in ("forward", "backward") for key, value in one.items()
    }
    law = (accountant.from_losses({"step": step, **both}) ** count).forward
    for deviations in (-3, 0, 3, 6):
        above = round(count / 2 + deviations * math.sqrt(count) / 2)
        exact = binom.sf(above, count, 0.5)
        tail = law.mass[max(above + 1 + count * first - law.first, 0) :].sum() + law.infinite
        assert exact * (1 - 1e-9) <= tail <= exact + 1e-8


def test_curves_with_different_steps_compose():
    p, q, r = [0.75, 0.25], [0.25, 0.75], [0.5, 0.5]
    fine, coarse = accountant.pair_curve(p, q, step=0.01), accountant.pair_curve(p, r, step=0.03)
    exact = Outcomes((p, q), (p, q), (p, r))
    composed = PrivacyCurve.of([(fine, 2), (coarse, 1)])
    for epsilon in (0.0, 0.5, 1.0, 1.8, 2.5):
        assert exact.delta(epsilon) <= composed.delta(epsilon) <= float(exact.delta(epsilon)) + 0.02


def test_a_curve_of_ours_composes_there_as_here():
    """A year of weeks; dp_accounting's own composition differs by the cut tails alone."""
    flip = accountant.BitFlip.from_epsilon(2.0)
    week = accountant.privacy_curve("shuffle", flip, 10_000)
    year, sent = week**52, accountant.to_dp_accounting(week).self_compose(52)
    for epsilon in (0.2, 0.5, 0.8):
        assert math.isclose(year.delta(epsilon), sent.get_delta_for_epsilon(epsilon), rel_tol=1e-3)


# --- plain data ----------------------------------------------------------------------------------


def plain_delta(losses, epsilon):
    """delta from the plain form, as its documentation says, in fractions and 50 digits."""
    with mp.workdps(50):
        sums = []
        for order in ("forward", "backward"):
            total = mpf(losses[f"{order}_infinite"])
            for i, mass in enumerate(losses[f"{order}_mass"]):
                loss = (losses[f"{order}_first"] + i) * mpf(losses["step"])
                total += mass * max(1 - mp.exp(epsilon - loss), 0)
            sums.append(total)
        return max(sums)


def test_the_plain_form_survives_json_and_npz(tmp_path):
    source = random.Random(5)
    p, q = drawn_pair(source)
    curve = accountant.pair_curve(p, q, step=0.01)
    losses = accountant.to_losses(curve)
    np.savez(tmp_path / "curve.npz", **losses)
    with np.load(tmp_path / "curve.npz") as loaded:
        from_npz = accountant.from_losses(loaded)
    from_json = accountant.from_losses(json.loads(json.dumps(losses)))
    exact = Outcomes((p, q))
    for epsilon in (0.0, 0.3, 1.0):
        stated = plain_delta(losses, epsilon)
        assert exact.delta(epsilon) <= stated <= float(exact.delta(max(epsilon - 0.01, 0.0))) + 0.01
        assert from_json.delta(epsilon) == from_npz.delta(epsilon) >= stated


def test_allowances_are_in_the_plain_form():
    """What a curve adds for rounding is part of the infinite mass that others read."""
    law = LossLaw(0.1, 0, np.array([1.0]), 0.0)
    losses = accountant.to_losses(PrivacyCurve(law, law))
    assert losses["forward_infinite"] >= law.doubt >= UNIT


def test_without_dp_accounting_the_error_says_what_works(monkeypatch):
    monkeypatch.setitem(
        __import__("sys").modules, "dp_accounting.pld.privacy_loss_distribution", None
    )
    curve = accountant.pair_curve([0.75, 0.25], [0.25, 0.75])
    with pytest.raises(PrivacyError, match="to_losses"):
        accountant.to_dp_accounting(curve)
