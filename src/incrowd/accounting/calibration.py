"""The smallest noise and the smallest epsilon that keep a promise, by any analysis."""

from __future__ import annotations

import math

from incrowd.accounting.analyses import analysis as registered
from incrowd.accounting.analyses.base import QUICK
from incrowd.accounting.redraws import redraw_cost
from incrowd.accounting.schema import Schema, Sent, as_sent, check_promise
from incrowd.accounting.search import CLOSE, MIDDLE, Family, smallest
from incrowd.channels.bit_flip import BitFlip


def smallest_noise(
    analysis: str, family: Family, crowd: int, epsilon: float, delta: float
) -> BitFlip:
    """The smallest noise n / 2^32 for which what is sent gives (epsilon, delta), certified.

    family: everything one person sends, for a bit flip; more noise has to give more privacy. The
    same noise on all questions of k reports is
    `lambda flip: Sent.of(Schema.uniform(domains, flip), k)`. `local` asks for delta = 0.
    Raises PrivacyError if no noise below 1/2 gives it, saying what is reachable.
    """
    by = registered(analysis)
    cost = redraw_cost(by, as_sent(family(MIDDLE)), crowd)
    return by.noise(family, crowd, epsilon - cost, delta * math.exp(-cost))


def clearly_keeps(
    analysis: str, sent: Sent | Schema, crowd: int, epsilon: float, delta: float
) -> bool:
    """Whether what is sent gives (epsilon, delta) by a bound that is proved, but quick and loose.

    If not, a certificate may still give it.
    """
    by, sent = registered(analysis), as_sent(sent)
    check_promise(crowd, epsilon, delta)
    cost = redraw_cost(by, sent, crowd)
    return by.bound(sent, crowd, max(epsilon - cost, 0.0), QUICK) <= delta * math.exp(-cost)


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


def smallest_epsilon(analysis: str, sent: Sent | Schema, crowd: int, delta: float) -> float:
    """The smallest epsilon at which the certified delta is at most `delta`, rounded up.

    Raises PrivacyError if delta is not between 0 and 1, or lies below what can be computed.
    """
    by, sent = registered(analysis), as_sent(sent)
    check_promise(crowd, 0.0, delta)
    cost = redraw_cost(by, sent, crowd)
    return by.epsilon(sent, crowd, delta * math.exp(-cost)) + cost
