"""Laws on a lattice: mean-preserving splits, and sums of independent draws by FFT.

A lattice law is a vector of masses on the points (first + i) * step. The masses may be tilted: the
mass at v then has the factor exp(theta v). Splitting and coarsening preserve the mean of the
untilted law, so every expectation of a convex function can only rise.
Proof: docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.fft import irfft, rfft

from incrowd.accountant.numerics.laws import Law, Mean, saddlepoint
from incrowd.accountant.numerics.precision import EXPONENT_TO_ADD, MOST_EXPONENT, SMALLEST, UNIT


@dataclass(frozen=True)
class Lattice:
    """Masses on the points (first + i) * step, tilted by theta."""

    step: float
    first: int
    mass: np.ndarray
    theta: float = 0.0

    @property
    def points(self) -> np.ndarray:
        """The points themselves."""
        return self.step * np.arange(self.first, self.first + len(self.mass))

    def coarsened(self) -> Lattice:
        """Return double the step: every odd point gives half of its mass to each neighbor."""
        before = self.first % 2
        padded = np.pad(self.mass, (before, (len(self.mass) + before) % 2))
        even, odd = padded[0::2], padded[1::2]
        lift = np.exp(self.theta * self.step)
        mass = np.append(even, 0.0)
        mass[:-1] += odd / (2 * lift)
        mass[1:] += odd * (lift / 2)
        return Lattice(2 * self.step, (self.first - before) // 2, mass, self.theta)

    def plus(self, other: Lattice) -> Lattice:
        """Return the law of the sum of two independent values, on the coarser lattice."""
        one = self
        while one.step < 0.75 * other.step:
            one = one.coarsened()
        while other.step < 0.75 * one.step:
            other = other.coarsened()
        mass = convolved(one.mass, other.mass)
        return Lattice(one.step, one.first + other.first, mass, one.theta)

    def transform(self, size: int) -> np.ndarray:
        """Return Fourier transform on a circle of `size` points, zero at index 0."""
        turns = np.zeros((-(-len(self.mass) // size), size))
        turns.ravel()[: len(self.mass)] = self.mass
        return np.asarray(rfft(_rolled(turns.sum(axis=0), self.first % size)))

    def inverse(self, spectrum: np.ndarray, low: int, size: int) -> Lattice:
        """Return the law of a transform on the same lattice, once around the circle from `low`."""
        circle = np.asarray(irfft(spectrum, size))
        return replace(self, first=low, mass=np.maximum(_rolled(circle, -(low % size)), 0.0))


def _rolled(circle: np.ndarray, places: int) -> np.ndarray:
    """Return `numpy.roll`, which takes several times as long for few points."""
    return np.concatenate([circle[-places:], circle[:-places]]) if places else circle


class Split(NamedTuple):
    """The index of the point below each value, and the shares of that point and the next."""

    below: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def neighbors(value: np.ndarray, step: float, rate: float = 0.0) -> Split:
    """Return the shares of each value's two neighboring points that preserve a mean.

    rate: if negative, the mean of exp(rate v) is preserved; for zero, that of v. The expectation of
    any function that is convex in this quantity can only rise. The smaller share is accurate too.
    """
    place = value / step
    below = np.floor(place)
    if not rate:
        return Split(below, 1 - (place - below), place - below)
    gap = np.clip(value - below * step, 0.0, step)
    whole = np.expm1(rate * step)
    lower, upper = np.expm1(rate * (step - gap)) / whole, np.expm1(rate * gap) / whole
    return Split(below, lower * np.exp(rate * gap), upper)


def log_neighbors(value: np.ndarray, step: float) -> Split:
    """Return the logarithms of the shares of each value's neighbors that preserve the mean of
    exp(v).

    For a step above 745, the upper share is too small for a double, but has nearly the whole mean.
    """
    below = np.floor(value / step)
    gap = np.clip(value - below * step, 0.0, step)
    with np.errstate(divide="ignore"):  # a share of zero
        lower, upper = np.log(-np.expm1(gap - step)), np.log(-np.expm1(-gap))
    whole = math.log(-math.expm1(-step))
    return Split(below, lower - whole, upper - whole + gap - step)


def gathered(split: Split) -> tuple[int, np.ndarray]:
    """Return the first index and the masses from there on, for a split whose shares are masses."""
    first = int(split.below.min())
    size = int(split.below.max()) - first + 2
    index = (split.below - first).astype(np.int64)
    mass = np.bincount(index, split.lower, size)
    mass += np.bincount(index + 1, split.upper, size)
    return first, mass


def split(law: Law, step: float, theta: float = 0.0, cumulant: float = 0.0) -> Lattice:
    """Split each atom between its two neighboring points, preserving the mean, and then tilt.

    The mass at v is multiplied by exp(theta v - cumulant). The rest, at zero, is omitted.
    """
    below, lower, upper = neighbors(law.value, step)
    tilted = np.exp(law.log_mass + theta * step * below - cumulant)
    masses = Split(below, tilted * lower, tilted * upper * np.exp(theta * step))
    return Lattice(step, *gathered(masses), theta)


# Exponentially tilted laws: each probability is multiplied by exp(theta value).
#
# Under the right tilt the mean of a sum is near zero, so events of probability 1e-80 become common.


# The relative rise of the bound that the first lattice may cause. Steps an eighth of that, which
# take 8 times as long, reduce it to the tolerance of 1e-4 or less.
COARSEST = 1e-3
# Over the standard deviation of the sum. A smaller tilt changes no significant digit, and the error
# of cutting tails is divided by theta.
LEAST_TILT = 1e-3
LOG_NEVER = math.log(1e-14)  # ln of a probability that is negligible for a sum of 10^9 draws
FINEST_SEARCH = 1e-12  # of the largest value: a finer lattice never fits into memory
CLOSE_SEARCH = 1.05  # a step is determined up to this factor


@dataclass(frozen=True)
class TiltedLaw:
    """`count` draws of a law, each probability multiplied by exp(theta value - cumulant).

    cumulant: ln E[exp(theta X)] of one draw.
    """

    law: Law
    count: int
    theta: float
    cumulant: float

    @classmethod
    def at(cls, law: Law, count: int, theta: float) -> TiltedLaw:
        """Return the law tilted by theta."""
        return cls(law, count, theta, float(law.cumulant(theta)))

    @classmethod
    def at_saddlepoint(cls, law: Law, count: int) -> TiltedLaw:
        """Return the law tilted to mean zero, or slightly more if that is nearly no tilt.

        The additional tilt is limited so that the total of the sum stays about the same, since the
        weight of a rare large value grows exponentially.
        """
        saddle, theta = saddlepoint(law), LEAST_TILT / math.sqrt(count * law.second_moment)
        while theta > saddle and count * float(law.cumulant(theta)) > 1:
            theta /= 2
        return cls.at(law, count, max(theta, saddle))

    @cached_property
    def mass(self) -> np.ndarray:
        """The tilted probabilities of the atoms."""
        return np.asarray(np.exp(self.law.log_mass + self.theta * self.law.value - self.cumulant))

    @property
    def log_chernoff(self) -> float:
        """ln of a bound of E[max(0, S)] for the sum S: max(0, s) <= exp(theta s - 1) / theta."""
        return self.count * self.cumulant - 1 - math.log(self.theta)

    @property
    def chernoff(self) -> float:
        """The bound of E[max(0, S)]."""
        return bounded_exp(self.log_chernoff)

    def raised(self) -> TiltedLaw:
        """Raise values that practically never occur in a tilted sum to the edge of that range."""
        below = max(float(self.law.mass[self.law.value < 0].sum()), SMALLEST)
        bottom = (LOG_NEVER + self.cumulant - math.log(self.count * below)) / self.theta
        return TiltedLaw.at(self.law.at_least(min(bottom, 0.0)), self.count, self.theta)

    def spare_variance(self, sharp: bool = True) -> float:
        """Return the extra variance of a draw that a lattice may cause.

        It raises ln E[exp(theta S)] by N theta^2 / 2 times this variance; sharp: limit that too.
        """
        variance = float(self.mass @ self.law.value**2)
        return COARSEST * variance / (1 + sharp * self.count * self.theta**2 * variance / 2)

    def widest_step(self, spare: float) -> float:
        """Return the largest step whose splits add no more than the spare variance to one draw.

        Splitting v over a step h adds f (1 - f) h^2, where f is the fractional part: at most
        h^2 / 4, and at most |v| h.
        """
        size = np.abs(self.law.value)
        low, high = (share * float(size.max()) for share in (FINEST_SEARCH, 4.0))
        mean_size = float(self.mass @ size)
        if high * mean_size <= spare:  # far below a step, only the second limit counts
            return spare / mean_size if mean_size else math.inf
        while high > CLOSE_SEARCH * low:
            middle = math.sqrt(low * high)
            added = float(self.mass @ np.minimum(middle**2 / 4, size * middle))
            low, high = (middle, high) if added <= spare else (low, middle)
        return low

    def on_lattice(self, step: float) -> tuple[Lattice, float]:
        """Return one draw on the lattice, tilted to total mass one, and its cumulant after
        splitting."""
        draw = split(self.law, step, self.theta, self.cumulant)
        excess = float(draw.mass.sum() - self.mass.sum())
        draw = replace(draw, mass=draw.mass / (1 + excess))
        return draw, self.cumulant + math.log1p(excess)


def bounded_exp(exponent: float) -> float:
    """Return exp, limited to 1e304; a bound of that size is useless in any case."""
    return math.exp(min(exponent, MOST_EXPONENT))


# Laws of sums of independent integers, by fast Fourier transform.


NEGLIGIBLE = 50.0  # a frequency e^-50 = 2e-22 times weaker is lost in the rounding of the others


def circle_size(low: int, high: int) -> int:
    """Return a length for a circle that holds the points low..high, for which the transform is
    fast."""
    return fast_length(high - low + 1)


@lru_cache(maxsize=1024)
def fast_length(least: int) -> int:
    """Return the smallest product of twos, threes, and fives that is at least `least`."""
    odd = (int(3**i * 5**j) for i in range(least.bit_length()) for j in range(least.bit_length()))
    return min(n << max(-(-least // n) - 1, 0).bit_length() for n in odd if n < 2 * least)


def convolved(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the law of the sum of two independent values; the first places add up."""
    length = len(one) + len(other) - 1
    size = circle_size(1, length)
    return np.asarray(
        np.maximum(
            irfft(rfft(one, size) * rfft(other, size), size)[:length],
            0.0,
        )
    )


def convolution_error(one: np.ndarray, other: np.ndarray) -> float:
    """Return the effect of rounding on the mass of a tail of `convolved`; a margin, not a proof.

    The error of a transform is about a UNIT of the Euclidean norm, with signs that look random, so
    a sum of errors is about as large as their norm: at most sqrt(size) of the product of norms.
    One more UNIT of the whole mass is included in `LossLaw.doubt`.
    """
    size = circle_size(1, len(one) + len(other) - 1)
    return UNIT * math.sqrt(size * (one @ one) * (other @ other))


def power(spectrum: np.ndarray, mass: float, count: int) -> np.ndarray:
    """Return the transform of the sum of `count` draws of a law with this mass off zero, the rest
    at zero.

    (1 + z)^count with z = spectrum - mass, computed by log1p: z may be tiny and count huge.
    """
    z = spectrum - mass
    log_modulus = count * _log_modulus(z)
    result = np.zeros(len(z), complex)
    large = log_modulus > log_modulus.max() - NEGLIGIBLE
    phase = count * np.arctan2(z.imag[large], 1 + z.real[large])
    result[large] = np.exp(log_modulus[large] + 1j * phase)
    return result


def _log_modulus(z: np.ndarray) -> np.ndarray:
    """Return ln |1 + z|, accurate both for z near 0 and for z near -1."""
    square = z.real * (2 + z.real) + z.imag**2
    near = square > -0.5
    with np.errstate(divide="ignore"):  # ln 0 for a frequency that does not occur
        far = np.log(np.hypot(1 + z.real, z.imag))
    return np.asarray(np.where(near, 0.5 * np.log1p(np.where(near, square, 0.0)), far))


# Chernoff bounds of the range of a sum.


LOG_TAIL = 41.0  # tails beyond exp(-41) < 2e-18, a hundredth of UNIT, are bounded, not computed
# Exponents to try, from the lowest to the highest one: between two neighbors the bound is looser
# by less than a hundredth.
SHARES = np.linspace(0, 1, 64)
WIDEST = 100.0  # over the deviation of a draw: the best exponent for a sum is never larger


@dataclass(frozen=True)
class Reach:
    """The largest distance of a sum of draws from zero, except for a mass of e^-41.

    up and down: exponents s, and the cumulants of one draw at s and -s, including the extra spread
    that later coarsening may add.
    """

    up: tuple[np.ndarray, np.ndarray]
    down: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, draw: Lattice, count: int, extra_variance: float) -> Reach:
        """Return the reach of up to `count` draws; draw: the part of the law off zero.

        extra_variance: the extra variance of one draw, added by steps +-h with E[exp(s X)] <=
        exp(s^2 h^2 / 2).
        """
        support = np.flatnonzero(draw.mass)
        law = Law(draw.step * (draw.first + support), np.log(draw.mass[support]))
        return cls(*(_cumulants(one, count, extra_variance) for one in (law, law.negated())))

    def bounds(self, count: int) -> tuple[float, float]:
        """Return (low, high): the sum of `count` draws lies beyond either with probability <=
        e^-41.

        P[S >= x] <= exp(count K(s) - s x) for every s > 0.
        """
        high, low = (np.min((count * log + LOG_TAIL) / s) for s, log in (self.up, self.down))
        return -float(max(low, 0.0)), float(max(high, 0.0))

    def width(self, count: int) -> float:
        """Return the distance between the two bounds."""
        low, high = self.bounds(count)
        return high - low


def _cumulants(law: Law, count: int, extra_variance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a grid of s > 0 for which exp(s X) does not overflow, and ln E[exp(s X)]."""
    deviation = np.sqrt(law.second_moment + extra_variance)
    widest = max(deviation * np.sqrt(count), float(np.abs(law.value).max()))
    highest = min(WIDEST / deviation, EXPONENT_TO_ADD / max(float(law.value.max()), SMALLEST))
    lowest = 1 / widest
    s = lowest * (max(highest, 2 * lowest) / lowest) ** SHARES  # `numpy.geomspace` takes longer
    return s, law.cumulant(s) + s**2 * extra_variance / 2


# The law of a sum of many draws, on a lattice whose step grows with the spread.
#
# A single lattice for N draws would need about 1000 sqrt(N) points. Instead, the law of a block of
# draws is computed on a fine lattice, then that of four blocks on a lattice twice as coarse, and so
# on; the remaining draws (the digits of N in base 4) are added on the way.


def fold(draw: Lattice, reach: Reach, count: int, block: int) -> Lattice:
    """Return the law of the sum of `count` draws; exact up to the lattice if block >= count.

    draw: the part of the law off zero. reach: how far such sums can lie from zero.
    """
    if block >= count:
        return _direct(draw, reach, [count], count)[0]
    blocks, added = divmod(count, block)
    total, unit = _direct(draw, reach, [added, block], block)
    while blocks:
        blocks, digit = divmod(blocks, 4)
        added += digit * block
        block *= 4
        low, size = _circle(reach, block if blocks else added, total.step)
        one = unit.transform(size)
        two = one * one
        if digit:
            more = (one, two, two * one)[digit - 1]
            total = total.inverse(total.transform(size) * more, low, size)
        if blocks:
            total, unit = total.coarsened(), unit.inverse(two * two, low, size).coarsened()
    return total


def _direct(draw: Lattice, reach: Reach, counts: list[int], most: int) -> list[Lattice]:
    """Return the laws of sums of the given numbers of draws,
    on a circle that holds `most` draws."""
    low, size = _circle(reach, most, draw.step)
    one, mass = draw.transform(size), float(draw.mass.sum())
    return [draw.inverse(power(one, mass, count), low, size) for count in counts]


def _circle(reach: Reach, count: int, step: float) -> tuple[int, int]:
    """Return the first point and the number of points of a circle that holds the sum of `count`
    draws."""
    low, high = reach.bounds(max(count, 1))
    first, last = int(np.floor(low / step)) - 2, int(np.ceil(high / step)) + 2
    return first, circle_size(first, last)


# How the law of a sum of many draws is computed: the step of the lattice and the first block.


# Measured on one core: 2^15 points take milliseconds, 2^23 a second and 64 MiB.
MOST_HALVINGS = 14
FEW_POINTS, MOST_POINTS = 1 << 15, 1 << 23
DIRECT_POINTS = 1 << 16  # one transform of this size is faster than several smaller ones


@dataclass(frozen=True)
class Discretization:
    """A tilted law, and the lattice on which its sum will be computed.

    spare: the extra variance that a lattice may add to one (tilted) draw. step: the coarsest one
    that satisfies this. block: the number of draws on the first lattice. reach: how far sums can
    lie from zero. single: one draw on the lattice with that step, and its cumulant.
    """

    tilted: TiltedLaw
    spare: float
    step: float
    block: int
    reach: Reach
    single: tuple[Lattice, float]

    @property
    def points(self) -> float:
        """The number of lattice points of one draw or of the first block, whichever is larger."""
        return max(self.reach.width(self.block), float(np.ptp(self.tilted.law.value))) / self.step

    @property
    def most_halvings(self) -> int:
        """The number of times that the step can be halved before the lattice no longer
        fits into memory."""
        return max(1, min(MOST_HALVINGS, int(math.log2(MOST_POINTS / self.points))))

    @property
    def outside(self) -> float:
        """A bound of E[max(0, S); outside the windows], under the tilted law.

        Every block of every size can lose e^-41 beyond its window; s_+ e^(-ts) <= 1 / (e t).
        """
        lost = 2 * self.tilted.count / self.block + 64
        return math.exp(-LOG_TAIL) * lost / (math.e * self.tilted.theta)

    def sum(self, halvings: int = 0) -> tuple[Lattice, float]:
        """Return the tilted lattice law of the sum with the step halved `halvings` times; its
        cumulant."""
        tilted = self.tilted
        finer = tilted.on_lattice(self.step / 2**halvings) if halvings else None
        draw, cumulant = finer or self.single
        return fold(draw, self.reach, tilted.count, self.block), tilted.count * cumulant

    def positive_mean(self, halvings: int = 0) -> Mean:
        """Return a bound of E[max(0, S)] from that law."""
        total, cumulant = self.sum(halvings)
        scale = bounded_exp(cumulant)
        outside = scale * self.outside
        return Mean(scale * positive_mean(total) + outside, outside)


def discretize(
    tilted: TiltedLaw, spare: float, coarsest: float = math.inf, unit: float = 0.0
) -> Discretization:
    """Choose the step and the block.

    spare: the extra variance that one draw may have. coarsest: an upper limit of the step. unit: if
    positive, the step has to be a power of two times this one.
    """
    finest = 4 * float(np.ptp(tilted.law.value)) / MOST_POINTS
    step = max(min(tilted.widest_step(spare), coarsest), finest)
    if unit:
        step = unit * 2.0 ** math.floor(math.log2(step / unit))
    while True:
        single = tilted.on_lattice(step)
        reach = Reach.of(single[0], tilted.count, 2 * spare)
        block = _block(reach, tilted.count, step, spare)
        if 4 * reach.width(block) <= MOST_POINTS * step:
            return Discretization(tilted, spare, step, block, reach, single)
        step *= 2


def _block(reach: Reach, count: int, step: float, spare: float) -> int:
    """Return the number of draws on the first lattice.

    Each doubling of the step adds h^2 / 2 to the variance of a block of b draws. The next one, with
    twice the h and four times the b, adds as much per draw: levels h^2 / (2 b) in total. The block
    is made larger than necessary as long as the lattice stays small.
    """
    if reach.width(count) <= DIRECT_POINTS * step:
        return count
    levels = max(1.0, math.log(count, 4))
    block = math.ceil(levels * step**2 / (2 * spare))
    while block < count and reach.width(2 * block) <= FEW_POINTS / 4 * step:
        block *= 2
    return min(block, count)


def positive_mean(total: Lattice) -> float:
    """Return E[max(0, S)] of a tilted lattice law,
    without the tilt but not without its cumulant."""
    positive = total.points > 0
    values = total.points[positive]
    return float(np.sum(values * np.exp(-total.theta * values) * total.mass[positive]))
