"""The smallest noise and the smallest epsilon that keep a promise, by any analysis."""

from __future__ import annotations

import math
from collections.abc import Callable

from incrowd.accounting.analyses import analysis as registered
from incrowd.accounting.analyses.base import QUICK
from incrowd.accounting.gaussian_limit import log_signal
from incrowd.accounting.redraws import redraw_cost
from incrowd.accounting.schema import AnySent, Schema, Sent, alternatives, as_sent, check_promise
from incrowd.accounting.search import CLOSE, MIDDLE, Family, smallest
from incrowd.channels.bit_flip import BitFlip


def smallest_noise(
    analysis: str,
    family: Callable[[BitFlip], AnySent | Schema],
    crowd: int,
    epsilon: float,
    delta: float,
) -> BitFlip:
    """The smallest noise n / 2^32 for which what is sent gives (epsilon, delta), certified.

    family: everything one person sends, for a bit flip; more noise has to give more privacy. The
    same noise on all questions of k reports is
    `lambda flip: Sent.of(Schema.uniform(domains, flip), k)`. `local` asks for delta = 0. Of
    alternatives the one with the largest signal is calibrated first; that noise mostly does for the
    others. Raises PrivacyError if no noise below 1/2 gives it, saying what is reachable.
    """
    by, possible = registered(analysis), alternatives(family(MIDDLE))
    cost = redraw_cost(by, possible[0], crowd)
    promise = crowd, epsilon - cost, delta * math.exp(-cost)
    signals = [log_signal(sent, crowd) for sent in possible]
    first, *others = sorted(range(len(possible)), key=lambda i: -signals[i])

    def of(i: int) -> Family:
        return lambda flip: alternatives(family(flip))[i]

    found = by.noise(of(first), *promise)
    for i in others:
        if by.bound(as_sent(of(i)(found)), *promise[:2]) > promise[2]:
            found = max(found, by.noise(of(i), *promise))
    return found


def clearly_keeps(
    analysis: str, sent: AnySent | Schema, crowd: int, epsilon: float, delta: float
) -> bool:
    """Whether what is sent gives (epsilon, delta) by a bound that is proved, but quick and loose.

    If not, a certificate may still give it.
    """
    by, possible = registered(analysis), alternatives(sent)
    check_promise(crowd, epsilon, delta)
    cost = redraw_cost(by, possible[0], crowd)
    promised = max(epsilon - cost, 0.0), QUICK
    return all(by.bound(each, crowd, *promised) <= delta * math.exp(-cost) for each in possible)


def smallest_noise_for_eta(
    analysis: str, family: Family, crowd: int, epsilon: float, eta: float
) -> BitFlip:
    """The smallest noise for which P[privacy ratio > e^epsilon] is at most eta, as `eta` finds it.

    family: as in `smallest_noise`. Raises PrivacyError if no noise below 1/2 gives it.
    """
    found = registered(analysis)
    check_promise(crowd, epsilon, eta)

    def bound(sent: Sent) -> float:
        return found.eta(sent, crowd, epsilon)

    return smallest(family, crowd, epsilon, eta, [(bound, CLOSE)])


def smallest_epsilon(analysis: str, sent: AnySent | Schema, crowd: int, delta: float) -> float:
    """The smallest epsilon at which the certified delta is at most `delta`, rounded up.

    Raises PrivacyError if delta is not between 0 and 1, or lies below what can be computed.
    """
    by, possible = registered(analysis), alternatives(sent)
    check_promise(crowd, 0.0, delta)
    cost = redraw_cost(by, possible[0], crowd)
    return max(by.epsilon(one, crowd, delta * math.exp(-cost)) for one in possible) + cost
