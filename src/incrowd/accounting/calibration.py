"""The smallest noise that keeps a promise: searched with quick bounds, settled with sharp ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from scipy.optimize import brentq
from scipy.special import ndtr

from incrowd.accounting import local
from incrowd.accounting.certificates import CANDIDATES, certify, delta_bound, privacy_curve
from incrowd.accounting.eta import eta as eta_of
from incrowd.accounting.ratios import BEYOND_PRECISION
from incrowd.accounting.schema import Schema, check_crowd, check_epsilon
from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.errors import PrivacyError
from incrowd.survey import Domain

Promise = Callable[[BitFlip], float]  # ln of what a noise guarantees, less ln of what is wanted

BEYOND = 700.0
MOST_STEPS = 40
NARROW = 1e-8  # in logits; a narrower bracket is not worth another step
QUICK = 4  # steps of the quick composition
CLOSE = 3e-5  # relative slack in delta that is not worth another step
LEAST, MOST = BitFlip(1), BitFlip(DENOMINATOR // 2 - 1)


def smallest_noise(
    analysis: str,
    domains: Sequence[Domain],
    crowd: int,
    epsilon: float,
    delta: float,
    copies: int = 1,
) -> BitFlip:
    """The smallest noise n / 2^32 on every bit that gives (epsilon, delta), certified.

    Raises PrivacyError if no noise below 1/2 gives it, saying what is reachable.
    """
    _check(crowd, epsilon, delta)
    if analysis == "local":
        return local.noise(epsilon, sum(d.distance for d in domains), copies)

    def quick(channel: BitFlip) -> float:
        schema = Schema.uniform(domains, channel)
        return _log_ratio(delta_bound(analysis, schema, crowd, epsilon, copies, QUICK), delta)

    def sharp(channel: BitFlip) -> float:
        schema = Schema.uniform(domains, channel)
        if copies > 1:
            return _log_ratio(delta_bound(analysis, schema, crowd, epsilon, copies), delta)
        return _log_ratio(certify(analysis, schema, crowd, epsilon).delta.upper, delta)

    return _search(quick, sharp, _guess(domains, crowd, epsilon, delta, copies))


def smallest_noise_for_eta(
    analysis: str,
    domains: Sequence[Domain],
    crowd: int,
    epsilon: float,
    eta: float,
    copies: int = 1,
) -> BitFlip:
    """The smallest noise for which P[privacy ratio > e^epsilon] is at most eta, as `eta` finds it.

    Raises PrivacyError if no noise below 1/2 gives it.
    """
    _check(crowd, epsilon, eta)

    def promise(channel: BitFlip) -> float:
        schema = Schema.uniform(domains, channel)
        return _log_ratio(eta_of(analysis, schema, crowd, epsilon, copies), eta)

    return _search(promise, promise, _guess(domains, crowd, epsilon, eta, copies))


def _check(crowd: int, epsilon: float, delta: float) -> None:
    check_crowd(crowd)
    check_epsilon(epsilon)
    if not 0 < delta < 1:
        raise PrivacyError.of("delta", delta, "should lie strictly between 0 and 1")


def _log_ratio(found: float, wanted: float) -> float:
    return math.log(max(found, 1e-300)) - math.log(wanted)


def _guess(
    domains: Sequence[Domain], crowd: int, epsilon: float, delta: float, copies: int
) -> BitFlip:
    """The noise in the large-N limit: k (phi^d - 1) / N = mu^2, mu of the Gaussian mechanism."""
    distance = sum(domain.distance for domain in domains)
    gaussian = partial(_gaussian_delta, epsilon)
    low, high = 1e-9, 1e3
    if gaussian(low) < delta < gaussian(high):
        mu = brentq(lambda m: gaussian(m) - delta, low, high)
    else:
        mu = low if gaussian(low) >= delta else high
    log_phi = math.log1p(crowd * mu**2 / copies) / distance
    return BitFlip.from_logit(
        max(BitFlip.from_phi(math.exp(min(log_phi, 20.0))).logit, -300 / distance)
    )


def _gaussian_delta(epsilon: float, mu: float) -> float:
    """delta of the Gaussian mechanism with signal mu (Balle, Wang 2018)."""
    return float(
        ndtr(mu / 2 - epsilon / mu) - math.exp(min(epsilon, 700)) * ndtr(-mu / 2 - epsilon / mu)
    )


def _search(quick: Promise, sharp: Promise, guess: BitFlip) -> BitFlip:
    """Bracket and solve with the quick bound, then step with its slope to where the sharp one
    just holds; at the end the promise is checked once more at the noise that is returned."""
    known: dict[int, float] = {}

    def at(logit: float) -> float:
        channel = BitFlip.from_logit(logit)
        if channel.numerator not in known:
            try:
                known[channel.numerator] = quick(channel)
            except PrivacyError as error:  # so little noise that double precision ends
                if error.problems[0].field != BEYOND_PRECISION:
                    raise
                known[channel.numerator] = BEYOND
        return known[channel.numerator]

    low, high = _bracket(at, guess.logit)
    logit = brentq(at, low, high, xtol=1e-4, rtol=1e-4) if at(low) > 0 else low
    slope = (at(logit + 0.01) - at(logit - 0.01)) / 0.02
    return _settle(sharp, logit, min(slope, -1e-3))


def _bracket(at: Callable[[float], float], start: float) -> tuple[float, float]:
    """Logits between which the promise begins to hold. Raises PrivacyError if it never does."""
    low = high = min(start, MOST.logit)
    width = 0.05
    while at(high) > 0:
        if high >= MOST.logit:
            times = f"the nearest reachable is {math.exp(at(high)):.3g} times the wanted delta"
            raise PrivacyError.of("privacy", "the promise", f"no noise below 1/2 keeps it; {times}")
        low, high, width = high, min(high + width, MOST.logit), 2 * width
    width = 0.05
    while at(low) <= 0 and low > LEAST.logit:
        low, high, width = max(low - width, LEAST.logit), low, 2 * width
    return low, high


def _settle(sharp: Promise, logit: float, slope: float) -> BitFlip:
    """Newton steps with a known slope, or bisection where they leave the bracket, until the
    promise holds and hardly more than that."""
    failing, holding = -math.inf, math.inf
    best: BitFlip | None = None
    for _ in range(MOST_STEPS):
        channel = BitFlip.from_logit(logit)
        margin = sharp(channel)
        if margin <= 0 and logit < holding:
            best, holding = channel, logit
        elif margin > 0:
            failing = max(failing, logit)
        if (best is channel and margin > -CLOSE) or holding - failing < NARROW:
            break
        logit -= (margin + CLOSE / 3) / slope
        if not failing < logit < holding:
            logit = (failing + holding) / 2 if failing > -math.inf else holding - 0.01
    if best is None:
        raise PrivacyError.of("privacy", "the promise", "cannot be certified at any noise")
    return best


def smallest_epsilon(
    analysis: str, schema: Schema, crowd: int, delta: float, copies: int = 1
) -> float:
    """The smallest epsilon at which the certified delta is at most `delta`, rounded up.

    Raises PrivacyError if delta is not between 0 and 1, or lies below what can be computed.
    """
    _check(crowd, 0.0, delta)
    if copies > 1 and analysis in CANDIDATES:
        return (privacy_curve(analysis, schema, crowd, copies)[0] ** copies).epsilon(delta)

    def margin(epsilon: float) -> float:
        return _log_ratio(delta_bound(analysis, schema, crowd, epsilon, copies), delta)

    highest = min(schema.local_epsilon * copies, 699.0)
    if margin(0.0) <= 0:
        return 0.0
    if margin(highest) > 0:
        raise PrivacyError.of("delta", delta, f"is not reached by any epsilon up to {highest:.3g}")
    epsilon = brentq(margin, 0.0, highest, xtol=1e-9, rtol=1e-9)
    while margin(epsilon) > 0:
        epsilon = epsilon * (1 + 1e-7) + 1e-9
    return float(epsilon)
