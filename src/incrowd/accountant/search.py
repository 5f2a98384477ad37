"""The smallest noise, and the smallest epsilon, at which a bound is small enough.

The reports depend on one parameter, the noise of a reference bit flip. A bound of delta is
converted to the signal of the Gaussian mechanism with that delta. The logarithm of this signal is
nearly linear in the logit of the noise, even for very small delta, so few bounds are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.numerics.extrema import root
from incrowd.accountant.schema import Contribution, Sendable, as_contribution
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import IncrowdError, PrecisionError, PrivacyError

# The large-N limit: the collections of a crowd reveal as much as a Gaussian mechanism.


LEAST_SIGNAL, MOST_SIGNAL = -700.0, 30.0  # the range of logarithms of signals
SMALLEST = 1e-320


def log_signal(sent: Contribution, crowd: int) -> float:
    """Return ln mu of everything one person sends, even if mu itself would overflow.

    mu^2 = sum over reports of (prod phi^d - 1) / N, for a homogeneous crowd of N:
    docs/mathematics.md#large-crowds. A linked report has a crowd of one.
    """
    phis = np.array([sum(n * part.log_phi for part, n in s.parts) for s, _ in sent.every])
    copies = np.log([count for _, count in sent.every])
    crowds = np.array([crowd] * len(sent.reports) + [1] * len(sent.linked))
    large = phis > 30
    with np.errstate(over="ignore", divide="ignore"):
        log_squares = np.where(large, phis, np.log(np.expm1(phis))) + copies - np.log(crowds)
    return float(np.logaddexp.reduce(log_squares)) / 2


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return delta of the Gaussian mechanism with signal mu at epsilon (Balle, Wang 2018)."""
    beyond, below = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return _tail(beyond) - math.exp(min(epsilon, 700)) * _tail(below)


def _tail(deviations: float) -> float:
    """Return the probability that a standard normal variable exceeds `deviations`."""
    return math.erfc(deviations * math.sqrt(0.5)) / 2


def gaussian_signal(epsilon: float, delta: float) -> float:
    """Return the signal mu at which the Gaussian mechanism has that delta at epsilon, 0 < delta <
    1."""
    wanted = math.log(max(delta, SMALLEST))

    def excess(log_mu: float) -> float:
        return math.log(max(gaussian_delta(epsilon, math.exp(log_mu)), SMALLEST)) - wanted

    if excess(LEAST_SIGNAL) >= 0 or excess(MOST_SIGNAL) <= 0:
        return math.exp(LEAST_SIGNAL if excess(LEAST_SIGNAL) >= 0 else MOST_SIGNAL)
    return math.exp(root(excess, LEAST_SIGNAL, MOST_SIGNAL, close=1e-13, relative=1e-14))


Height = Callable[[BitFlip], float]  # falls as the noise grows; the aim is a value of at most zero
NoiseFamily = Callable[[BitFlip], Sendable]  # more noise, more privacy
BoundFunction = Callable[[Contribution], float]  # of delta, or eta

LEAST, MOST = BitFlip(1), BitFlip(DENOMINATOR // 2 - 1)
MOST_STEPS = 40
LONGEST = 3.0  # of one step, in logits
SHORTEST = 1e-3  # of a bracket, in logits: a narrower one does not make the height much sharper
NARROW = 1e-7  # the share of its logit below which a bracket is not worth another step
CLOSE = 1 - 3e-5  # the share of the wanted value that ends a search
MIDDLE = BitFlip(DENOMINATOR // 4)


def smallest(
    family: NoiseFamily,
    crowd: int,
    epsilon: float,
    wanted: float,
    phases: Sequence[tuple[BoundFunction, float]],
) -> BitFlip:
    """Return the smallest noise at which the last bound is at most `wanted`.

    phases: (bound, share of the wanted value that is close enough), with ever sharper bounds; each
    search starts where the previous one ended. Raises PrivacyError if no noise is enough.
    """
    goal = math.log(gaussian_signal(epsilon, wanted))

    def height(bound: BoundFunction) -> Height:
        return lambda flip: excess(_unless_beyond(bound, as_contribution(family(flip))))

    def excess(value: float) -> float:
        if not value:
            return -math.inf  # as from the noise on whose local epsilon is small enough
        above = math.log(gaussian_signal(epsilon, value)) - goal
        return above if value <= wanted else max(above, NARROW)  # the range of signals is limited

    flip, slope = _guess(family, crowd, goal)
    for bound, close in phases:
        holding, slope = first_below(height(bound), flip, slope, -excess(wanted * close))
        flip = holding or MOST
    if holding is None:
        raise _unreachable(family, bound, wanted)
    return flip


def _unless_beyond(bound: BoundFunction, sent: Contribution) -> float:
    """Return the bound, or 1 if so little noise is beyond double precision."""
    try:
        return bound(sent)
    except PrecisionError:
        return 1.0


def _guess(family: NoiseFamily, crowd: int, goal: float) -> tuple[BitFlip, float]:
    """Return the noise in the large-N limit, and the slope of its ln signal there per logit."""

    def excess(logit: float) -> float:
        return log_signal(as_contribution(family(BitFlip.from_logit(logit))), crowd) - goal

    low = high = -1.0
    while excess(high) > 0:
        if high >= MOST.logit:
            return MOST, -1.0
        low, high = high, min(high / 4, MOST.logit)
    while excess(low) <= 0 and low > LEAST.logit:
        low, high = max(2 * low, LEAST.logit), low
    logit = root(excess, low, high, close=1e-6) if excess(low) > 0 else low
    slope = (excess(0.99 * logit) - excess(1.01 * logit)) / (-0.02 * logit)
    return BitFlip.from_logit(logit), min(slope, -1e-3)


def _unreachable(family: NoiseFamily, bound: BoundFunction, wanted: float) -> IncrowdError:
    """Return the error if no noise is enough, with the best result and the fixed parts."""
    most = as_contribution(family(MOST))
    fixed = _fixed(family)
    times = bound(most) / wanted
    if not fixed:
        return PrivacyError.of("privacy", "accountant.out-of-reach", times=times)
    return PrivacyError.of("privacy", "accountant.fixed-out-of-reach", times=times, fixed=fixed)


def _fixed(family: NoiseFamily) -> list[Sentence | str]:
    """Return the channels that do not change with the noise."""
    most, less = (as_contribution(family(flip)) for flip in (MOST, MIDDLE))
    changing = {part for part, _ in most.parts} ^ {part for part, _ in less.parts}
    fixed = {
        str(each): each
        for part, _ in most.parts
        if part not in changing
        for each in [part.channel.description]
    }
    return [*fixed.values()]


def smallest_local(family: NoiseFamily, epsilon: float) -> BitFlip:
    """Return the smallest noise whose local epsilon is at most epsilon, exactly, by bisection."""

    def local(numerator: int) -> float:
        return as_contribution(family(BitFlip(numerator))).local_epsilon

    failing, holding = 0, MOST.numerator
    if local(holding) > epsilon:
        fixed = _fixed(family)
        raise PrivacyError.of(
            "privacy",
            "accountant.small-local-epsilon",
            epsilon=epsilon,
            least=local(holding),
            alone=sentence("accountant.fixed-alone", fixed=fixed) if fixed else "",
        )
    while holding - failing > 1:
        middle = (failing + holding) // 2
        failing, holding = (failing, middle) if local(middle) <= epsilon else (middle, holding)
    return BitFlip(holding)


def first_epsilon(bound: Callable[[float], float], delta: float, highest: float) -> float:
    """Return the epsilon at which a falling bound of delta reaches `delta`, rounded up.

    Raises PrivacyError if the bound is still larger at the highest epsilon.
    """

    def margin(epsilon: float) -> float:
        return math.log(max(bound(epsilon), 1e-300) / delta)

    if margin(0.0) <= 0:
        return 0.0
    if margin(highest) > 0:
        raise PrivacyError.of("delta", "accountant.no-such-epsilon", value=delta, most=highest)
    epsilon = root(margin, 0.0, highest, close=1e-9, relative=1e-9)
    while margin(epsilon) > 0:
        epsilon = epsilon * (1 + 1e-7) + 1e-9
    return float(epsilon)


def first_below(
    height: Height, start: BitFlip, slope: float, close: float
) -> tuple[BitFlip | None, float]:
    """Return the smallest noise at which `height` lies between -close and zero, and the slope
    there.

    Secant steps in the logit of the noise, or bisection if a step leaves the bracket. Where the
    height falls to minus infinity, there is no secant. slope: the slope of the height per logit,
    approximately. The noise is None if the height is above zero everywhere.
    """
    failing, holding = 0, MOST.numerator + 1
    channel, last = start, None
    for _ in range(MOST_STEPS):
        excess = height(channel)
        if excess > 0:
            failing = max(failing, channel.numerator)
        else:
            holding = min(holding, channel.numerator)
        if last and last[0] != channel:
            secant = (excess - last[1]) / (channel.logit - last[0].logit)
            slope = secant if -math.inf < secant < 0 else slope
        if -close <= excess <= 0 or _narrow(failing, holding, min(-close / slope, SHORTEST)):
            break
        last = channel, excess
        channel = _next(channel, -(excess + close / 2) / slope, failing, holding)
    return (BitFlip(holding) if holding <= MOST.numerator else None), slope


def _narrow(failing: int, holding: int, enough: float) -> bool:
    """Return whether nothing between the two numerators is worth trying.

    enough: a distance in logits within which the height changes by no more than is close enough.
    """
    if holding - failing <= 1:
        return True
    if not failing or holding > MOST.numerator:
        return False
    low, high = BitFlip(failing).logit, BitFlip(holding).logit
    return high - low < max(-NARROW * low, enough)


def _next(channel: BitFlip, step: float, failing: int, holding: int) -> BitFlip:
    """Return the noise `step` logits away, or the middle of the bracket if that lies outside it."""
    limited = max(-LONGEST, min(step, LONGEST))
    tried = BitFlip.from_logit(channel.logit + limited)
    if failing < tried.numerator < holding:
        return tried
    low, high = BitFlip(max(failing, 1)), BitFlip(min(holding, MOST.numerator))
    middle = BitFlip.from_logit((low.logit + high.logit) / 2).numerator
    return BitFlip(max(failing + 1, min(middle, holding - 1)))
