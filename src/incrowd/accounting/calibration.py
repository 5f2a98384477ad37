"""The smallest noise that keeps a promise: searched with quick bounds, settled with sharp ones.

What is sent is a family with one parameter, the noise of a reference bit flip. A bound of delta
is read as the signal of the Gaussian mechanism that has it: so it becomes nearly linear in the
logit of the noise, however far out it is, and few bounds have to be worked out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scipy.optimize import brentq

from incrowd.accounting.candidates import CANDIDATES, Candidate, candidates
from incrowd.accounting.certificates import certify, delta_bound, privacy_curve
from incrowd.accounting.eta import eta as eta_of
from incrowd.accounting.gaussian_limit import gaussian_signal, log_signal, signal
from incrowd.accounting.ratios import BEYOND_PRECISION
from incrowd.accounting.schema import Schema, Sent, as_sent, check_crowd, check_epsilon
from incrowd.accounting.search import LEAST, MOST, NARROW, Height, first_below
from incrowd.accounting.worst import largest_bound, likely_worst, worst_delta
from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.errors import IncrowdError, InWords, PrivacyError

__all__ = [
    "gaussian_signal",
    "signal",
    "smallest_epsilon",
    "smallest_noise",
    "smallest_noise_for_eta",
]

Family = Callable[[BitFlip], Sent | Schema]  # more noise, more privacy
Bound = Callable[[Sent], float]  # of delta, or eta

QUICK = 4  # steps of the quick composition
ROUGH, CLOSE = 0.9, 1 - 3e-5  # share of the wanted value that ends each phase
CLOSE_COMPOSED = 0.996  # the composition itself is looser than that
MIDDLE = BitFlip(DENOMINATOR // 4)
PROMISE = InWords("the promise")


def smallest_noise(
    analysis: str, family: Family, crowd: int, epsilon: float, delta: float
) -> BitFlip:
    """The smallest noise n / 2^32 for which what is sent gives (epsilon, delta), certified.

    family: everything one person sends, for a bit flip; more noise has to give more privacy. The
    same noise on all questions of k reports is
    `lambda flip: Sent.of(Schema.uniform(domains, flip), k)`. `local` asks for delta = 0.
    Raises PrivacyError if no noise below 1/2 gives it, saying what is reachable.
    """
    if analysis == "local":
        _check(2, epsilon, delta)  # whatever the crowd: it is not counted on
        return _smallest_local(family, epsilon)
    _check(crowd, epsilon, delta)

    def certified(sent: Sent) -> float:
        return certify(analysis, sent, crowd, epsilon).delta.upper

    quick, sharp = _of_few_pairs(analysis, crowd, epsilon)
    close = CLOSE if as_sent(family(MIDDLE)).single else CLOSE_COMPOSED
    phases = [(quick, ROUGH), (sharp, close), (certified, close)]
    return _smallest(family, crowd, epsilon, delta, phases)


def smallest_noise_for_eta(
    analysis: str, family: Family, crowd: int, epsilon: float, eta: float
) -> BitFlip:
    """The smallest noise for which P[privacy ratio > e^epsilon] is at most eta, as `eta` finds it.

    family: as in `smallest_noise`. Raises PrivacyError if no noise below 1/2 gives it.
    """
    _check(crowd, epsilon, eta)

    def bound(sent: Sent) -> float:
        return eta_of(analysis, sent, crowd, epsilon)

    return _smallest(family, crowd, epsilon, eta, [(bound, CLOSE)])


def _check(crowd: int, epsilon: float, delta: float) -> None:
    check_crowd(crowd)
    check_epsilon(epsilon)
    if not 0 < delta < 1:
        raise PrivacyError.of("delta", delta, "should lie strictly between 0 and 1")


def _of_few_pairs(analysis: str, crowd: int, epsilon: float) -> tuple[Bound, Bound]:
    """A quick and a sharp bound, both to search with only.

    Of several reports the quick one is a coarse composition. Of one report both know only the
    pair of records that was the worst when the quick one was first asked.
    """
    place: int | None = None

    def known(schema: Schema) -> list[Candidate]:
        found = candidates(analysis, schema)
        return found if place is None else found[place : place + 1] or found

    def quick(sent: Sent) -> float:
        nonlocal place
        if sent.single is None or analysis not in CANDIDATES:
            return delta_bound(analysis, sent, crowd, epsilon, QUICK)
        found = known(sent.single)
        value, worst = largest_bound(found, crowd, epsilon)
        place = found.index(worst) if place is None else place
        return value

    def sharp(sent: Sent) -> float:
        if sent.single is None or analysis not in CANDIDATES:
            return delta_bound(analysis, sent, crowd, epsilon)
        return worst_delta(known(sent.single), crowd, epsilon).delta.upper

    return quick, sharp


def _smallest(
    family: Family,
    crowd: int,
    epsilon: float,
    wanted: float,
    phases: Sequence[tuple[Bound, float]],
) -> BitFlip:
    """Search after search, each from where the last one ended, with ever sharper bounds.

    phases: a bound, and the share of the wanted value that is close enough to it.
    """
    goal = math.log(gaussian_signal(epsilon, wanted))

    def height(bound: Bound) -> Height:
        return lambda flip: excess(_unless_beyond(bound, as_sent(family(flip))))

    def excess(found: float) -> float:
        above = math.log(gaussian_signal(epsilon, found)) - goal
        return above if found <= wanted else max(above, NARROW)  # signals end before numbers do

    found, slope = _guess(family, crowd, goal)
    for bound, close in phases:
        holding, slope = first_below(height(bound), found, slope, -excess(wanted * close))
        found = holding or MOST
    if holding is None:
        raise _unreachable(family, bound, wanted)
    return found


def _unless_beyond(bound: Bound, sent: Sent) -> float:
    """The bound, or 1 where so little noise is left that double precision ends."""
    try:
        return bound(sent)
    except PrivacyError as error:
        if error.problems[0].field != BEYOND_PRECISION:
            raise
        return 1.0


def _guess(family: Family, crowd: int, goal: float) -> tuple[BitFlip, float]:
    """The noise in the large-N limit, and what its ln signal loses there for a logit."""

    def excess(logit: float) -> float:
        return log_signal(as_sent(family(BitFlip.from_logit(logit))), crowd) - goal

    low = high = -1.0
    while excess(high) > 0:
        if high >= MOST.logit:
            return MOST, -1.0
        low, high = high, min(high / 4, MOST.logit)
    while excess(low) <= 0 and low > LEAST.logit:
        low, high = max(2 * low, LEAST.logit), low
    logit = brentq(excess, low, high, xtol=1e-6) if excess(low) > 0 else low
    slope = (excess(0.99 * logit) - excess(1.01 * logit)) / (-0.02 * logit)
    return BitFlip.from_logit(logit), min(slope, -1e-3)


def _unreachable(family: Family, bound: Bound, wanted: float) -> IncrowdError:
    """No noise keeps the promise; says what the most noise gives, and what is fixed."""
    most = as_sent(family(MOST))
    fixed = _fixed(family)
    reached = f"the nearest reachable is {bound(most) / wanted:.3g} times the wanted one"
    if not fixed:
        return PrivacyError.of("privacy", PROMISE, f"no noise below 1/2 keeps it; {reached}")
    allowed = (
        f"no noise on the other questions keeps it; {reached}, from the fixed randomisers alone "
        f"({fixed}); give them more noise, or let the promise be weaker"
    )
    return PrivacyError.of("privacy", PROMISE, allowed)


def _fixed(family: Family) -> str:
    """The channels that do not change with the noise."""
    most, less = (as_sent(family(flip)) for flip in (MOST, MIDDLE))
    changing = {part for part, _ in most.parts} ^ {part for part, _ in less.parts}
    fixed = {str(part.channel): None for part, _ in most.parts if part not in changing}
    return ", ".join(fixed)


def _smallest_local(family: Family, epsilon: float) -> BitFlip:
    """The smallest noise whose local epsilon is at most epsilon, exactly: by bisection."""

    def found(numerator: int) -> float:
        return as_sent(family(BitFlip(numerator))).local_epsilon

    failing, holding = 0, MOST.numerator
    if found(holding) > epsilon:
        fixed = _fixed(family)
        alone = f"; the fixed randomisers ({fixed}) give as much by themselves" if fixed else ""
        reached = f"no noise below 1/2 keeps it: epsilon is {found(holding):.4g} at least{alone}"
        raise PrivacyError.of("privacy", InWords(f"a local epsilon of {epsilon:.6g}"), reached)
    while holding - failing > 1:
        middle = (failing + holding) // 2
        failing, holding = (failing, middle) if found(middle) <= epsilon else (middle, holding)
    return BitFlip(holding)


def smallest_epsilon(analysis: str, sent: Sent | Schema, crowd: int, delta: float) -> float:
    """The smallest epsilon at which the certified delta is at most `delta`, rounded up.

    Raises PrivacyError if delta is not between 0 and 1, or lies below what can be computed.
    """
    _check(crowd, 0.0, delta)
    sent = as_sent(sent)
    highest = min(sent.local_epsilon, 699.0)
    if analysis not in CANDIDATES:
        return _first_epsilon(lambda e: delta_bound(analysis, sent, crowd, e), delta, highest)
    if sent.single is None:
        return privacy_curve(analysis, sent, crowd).epsilon(delta)
    found = candidates(analysis, sent.single)
    tried = [likely_worst(found, crowd, highest / 2)]
    while True:
        epsilon = _first_epsilon(lambda e: largest_bound(tried, crowd, e)[0], delta, highest)
        bound, worst = largest_bound(found, crowd, epsilon)
        if bound <= delta or worst in tried:
            return epsilon
        tried.append(worst)


def _first_epsilon(bound: Callable[[float], float], delta: float, highest: float) -> float:
    """Where a falling bound of delta meets `delta`, rounded up."""

    def margin(epsilon: float) -> float:
        return math.log(max(bound(epsilon), 1e-300) / delta)

    if margin(0.0) <= 0:
        return 0.0
    if margin(highest) > 0:
        raise PrivacyError.of("delta", delta, f"is not reached by any epsilon up to {highest:.3g}")
    epsilon = brentq(margin, 0.0, highest, xtol=1e-9, rtol=1e-9)
    while margin(epsilon) > 0:
        epsilon = epsilon * (1 + 1e-7) + 1e-9
    return float(epsilon)
