"""What everything that a person sends guarantees in a crowd: one function for every analysis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from incrowd.accountant.analyses import ANALYSES, Analysis
from incrowd.accountant.analyses import analysis as registered
from incrowd.accountant.analyses.base import QUICK
from incrowd.accountant.analyses.composing import Composing
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import AssumptionCode, WorstPair
from incrowd.accountant.composition import PrivacyCurve
from incrowd.accountant.curves import STEPS
from incrowd.accountant.numerics.positive_part import Bounds
from incrowd.accountant.pairs import pair_eta, papers_pair
from incrowd.accountant.ratios import Ratios
from incrowd.accountant.schema import (
    Alternatives,
    Sendable,
    Sent,
    alternatives,
    as_sent,
    check_crowd,
    check_epsilon,
    check_promise,
)
from incrowd.accountant.search import CLOSE, MIDDLE, Family, log_signal, smallest
from incrowd.accountant.worst import delta
from incrowd.errors import PrivacyError

# What it costs that devices draw again until their reports fit into the slots of an upload.


class Redrawn(NamedTuple):
    """(epsilon, delta) of reports that were drawn again where they did not fit."""

    epsilon: float
    delta: float


def redrawn(epsilon: float, delta: float, *, tail: float, crowd: int) -> Redrawn:
    """(epsilon - N ln(1 - t), delta (1 - t)^-N): the guarantee given that everybody's fits.

    epsilon, delta: of the reports as drawn the first time. tail: at most the chance t that one
    person's do not fit, whatever she answers. crowd: the people N that the guarantee counts on;
    others are as good as known, and cost nothing. At t = 0 nothing changes.

    Proof. Let P and Q be the laws of the reports of N people in two collections that differ in
    one person's answers, F the event that everybody's fit: P(F) and Q(F) are at least (1 - t)^N.
    Then P(S | F) <= (1 - t)^-N P(S and F) <= (1 - t)^-N (e^epsilon Q(S and F) + delta), and
    Q(S and F) <= Q(S | F).

    Raises PrivacyError unless 0 <= tail < 1 and crowd is at least 1.
    """
    if not 0 <= tail < 1:
        raise PrivacyError.of("tail", tail, "should be at least 0 and below 1")
    if crowd < 1:
        raise PrivacyError.of("crowd", crowd, "should be at least 1")
    cost = -crowd * math.log1p(-tail)
    return Redrawn(epsilon + cost, min(1.0, delta * math.exp(min(cost, 700.0))))


def redraw_cost(by: Analysis, sent: Sent, crowd: int) -> float:
    """What the redraws of earlier rounds add to epsilon, and to ln delta: -N ln(1 - t) for each.

    N is the crowd of an analysis that counts on one; `local` charges a person's own redraws itself.
    Each round is conditioned by itself, and the rounds are independent, so that the costs add up.
    """
    return sent.redraws * crowd if by.shuffled else 0.0


@dataclass(frozen=True)
class Certificate:
    """(epsilon, delta) of what one person sends, by one analysis.

    delta: lower and estimate are numerical, upper is certified. worst: the pair of records (and
    the crowd) that gave it, of each kind of report. proved: whether it holds for every collection.
    by: the analysis that bounded it, which `shuffle` chooses.
    """

    analysis: str
    epsilon: float
    delta: Bounds
    worst: tuple[WorstPair, ...]
    assumption: AssumptionCode
    proved: bool
    by: str


def certify(
    analysis: str, sent: Alternatives | Sendable, crowd: int, epsilon: float
) -> Certificate:
    """delta at epsilon for everything a person sends, each report in a crowd of its own; of
    alternatives the largest.

    sent: a `Sent`, or a schema for one report, or a channel for one report of one question.
    crowd: honest people, the same number for every report; `local` counts on none. Noise that was
    drawn again is charged (`redraw_cost`). Raises
    PrivacyError for an unknown analysis, one that cannot do what is sent, a crowd below 2 or an
    epsilon out of range.
    """
    by = registered(analysis)
    if by.shuffled:
        check_crowd(crowd)
    check_epsilon(epsilon)
    possible = tuple(dict.fromkeys(alternatives(sent)))
    cost = redraw_cost(by, possible[0], crowd)
    certificates = (by.certificate(s, crowd, max(epsilon - cost, 0.0)) for s in possible)
    delta, worst, least = max(certificates, key=lambda found: found.delta.upper)
    if cost:
        upper = delta.upper * math.exp(cost) if epsilon >= cost else 1.0
        delta = Bounds(delta.lower, max(delta.estimate, delta.lower), min(upper, 1.0))
    said = (worst, by.assumption, by.proved, least or by.name)
    return Certificate(analysis, epsilon, delta, *said)


def privacy_curve(analysis: str, sent: Sendable, crowd: int, *, steps: int = STEPS) -> PrivacyCurve:
    """The privacy curve of everything one person sends, each report in a crowd of its own.

    Pessimistic. analysis: `shuffle`, `seat`, `blanket` or `exact` (for one bit), which take the
    largest delta over all pairs of records at every epsilon (a convex curve again), or `outlier`,
    which takes the pair that is worst for one report. steps: grid points for a standard deviation
    of a collection's privacy loss.
    Raises PrivacyError as `certify` does.
    """
    by = registered(analysis)
    if not isinstance(by, Composing):
        known = [name for name, one in ANALYSES.items() if isinstance(one, Composing)]
        raise PrivacyError.of("analysis", analysis, f"it makes no curve; use {' or '.join(known)}")
    return by.curve(as_sent(sent), crowd, steps)


# The smallest noise and the smallest epsilon that keep a promise, by any analysis.


def smallest_noise(
    analysis: str,
    family: Callable[[BitFlip], Alternatives | Sendable],
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
    analysis: str, sent: Alternatives | Sendable, crowd: int, epsilon: float, delta: float
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


def smallest_epsilon(
    analysis: str, sent: Alternatives | Sendable, crowd: int, delta: float
) -> float:
    """The smallest epsilon at which the certified delta is at most `delta`, rounded up.

    Raises PrivacyError if delta is not between 0 and 1, or lies below what can be computed.
    """
    by, possible = registered(analysis), alternatives(sent)
    check_promise(crowd, 0.0, delta)
    cost = redraw_cost(by, possible[0], crowd)
    return max(by.epsilon(one, crowd, delta * math.exp(-cost)) for one in possible) + cost


# What a noise guarantees, by every analysis: the accountant's answers.


@dataclass(frozen=True)
class Order:
    """One order of the papers' own pair: records as far apart as allowed, the crowd at one."""

    delta: float
    eta: float


@dataclass(frozen=True)
class Assessment:
    """What a noise gives in a crowd at epsilon, by one analysis.

    delta: upper is certified. eta: P[privacy ratio > e^epsilon]; for `blanket` a bound for every
    collection, for `outlier` the largest found (numerical), else exact. by: the analysis that
    bounded delta, which `shuffle` chooses. worst: of each kind of report. presence, absence: the
    papers' own pair in a homogeneous crowd, in either order; None with several reports, or with
    channels that are no bit flips.
    """

    analysis: str
    epsilon: float
    crowd: int
    copies: int
    delta: Bounds
    eta: float
    worst: tuple[WorstPair, ...]
    assumption: AssumptionCode
    proved: bool
    by: str
    presence: Order | None
    absence: Order | None


def assess(analysis: str, sent: Sendable, crowd: int, epsilon: float) -> Assessment:
    """delta and eta at epsilon for everything a person sends, by one analysis.

    crowd: honest people. Raises PrivacyError for values out of range, an unknown analysis, or a
    crowd too large for `exact`.
    """
    by, sent = registered(analysis), as_sent(sent)
    check_crowd(crowd)
    check_epsilon(epsilon)
    (bounds, worst, least), chance = by.figures(sent, crowd, epsilon)
    presence, absence = (_papers_order(sent, first, crowd, epsilon) for first in (True, False))
    said = (worst, by.assumption, by.proved, least or by.name)
    return Assessment(
        by.name, epsilon, crowd, sent.copies, bounds, chance, *said, presence, absence
    )


def _papers_order(sent: Sent, presence: bool, crowd: int, epsilon: float) -> Order | None:
    schema = sent.single
    if schema is None or not all(part.channel.is_flip for part, _ in schema.parts):
        return None
    return _order(papers_pair(schema, presence), crowd, epsilon)


def _order(ratios: Ratios, crowd: int, epsilon: float) -> Order:
    return Order(delta(ratios, crowd, epsilon).estimate, pair_eta(ratios, crowd, epsilon))


def curves(sent: Sendable, crowd: int, epsilons: Sequence[float]) -> dict[str, np.ndarray]:
    """Certified bounds of delta at every epsilon, for the analyses that scale to any crowd."""
    sent = as_sent(sent)
    return {name: by.bounds(sent, crowd, epsilons) for name, by in ANALYSES.items() if by.scalable}
