"""Certified (epsilon, delta) for everything one person sends in a crowd, by any analysis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import NamedTuple, overload

import numpy as np

from incrowd.accountant.analyses import ANALYSES, Analysis
from incrowd.accountant.analyses import analysis as registered
from incrowd.accountant.analyses.base import QUICK
from incrowd.accountant.analyses.composing import Composing
from incrowd.accountant.analyses.local import check_no_shifts
from incrowd.accountant.channels.base import rounded_down, rounded_up
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import AnalysisName, AssumptionCode, WorstPair
from incrowd.accountant.composition import CurveOrigin, PrivacyCurve
from incrowd.accountant.curves import MOST_STEPS, STEPS
from incrowd.accountant.displays import Displayed, DisplayRows
from incrowd.accountant.numerics.arrays import (
    FloatArray,
    NumberArray,
    WholeNumberArray,
    elementwise,
)
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.numerics.precision import MOST_EXPONENT, SMALLEST, grown
from incrowd.accountant.pairs import pair_eta, papers_pair
from incrowd.accountant.ratios import Ratios
from incrowd.accountant.schema import (
    Alternatives,
    Contribution,
    Sendable,
    alternatives,
    as_contribution,
    check_crowd,
    check_epsilon,
    check_promise,
)
from incrowd.accountant.search import CLOSE, MIDDLE, NoiseFamily, log_signal, smallest
from incrowd.accountant.worst import delta
from incrowd.arguments import checked_class
from incrowd.catalog.sentences import joined, sentence
from incrowd.errors import ArgumentError, PrecisionError, PrivacyError

# The privacy cost of devices that draw again until their reports fit into the slots of an upload.


class Redrawn(NamedTuple):
    """(epsilon, delta) of reports that are drawn again if they do not fit."""

    epsilon: float
    delta: float


def redrawn(
    epsilon: float, delta: float, *, tail: float, crowd: int, named: bool = False
) -> Redrawn:
    """Return the guarantee given that all reports fit: epsilon - N ln(1 - t), and
    delta (1 - t)^-N + e^epsilon ((1 - t)^-N - 1).

    epsilon, delta: those of the reports as they are first drawn. tail: an upper bound t of the
    probability that one person's reports do not fit, for any answers. crowd: the number N of people
    that the guarantee relies on; the answers of all others are treated as known, and add no cost.
    named: whether the guarantee is that of reports with names, which show whether they fit; then
    delta only grows by the factor. At t = 0 nothing changes. Proof: docs/protocol.md, "Slots".

    Raises PrivacyError unless 0 <= tail < 1 and crowd is at least 1.
    """
    if not 0 <= tail < 1:
        raise PrivacyError.of("tail", "accountant.from-0-below-1", value=tail)
    if crowd < 1:
        raise PrivacyError.of("crowd", "accountant.at-least-one", value=crowd)
    cost = -crowd * math.log1p(-tail)
    unseen = 0.0 if named else _unseen(epsilon, cost)
    return Redrawn(epsilon + cost, min(1.0, grown(delta, cost) + unseen))


UNUSED = 2  # a crowd, where nothing counts on one
CLOSER = 1e-9  # relative, of an epsilon that redraws raise


def _unseen(epsilon: float, cost: float) -> float:
    """Return what redraws add to delta since a collection does not show whether all reports fit."""
    return grown(math.expm1(min(cost, MOST_EXPONENT)), epsilon)


def _before_redraws(epsilon: float, delta: float, cost: float) -> tuple[float, float]:
    """Return the (epsilon, delta) of reports as first drawn that gives (epsilon, delta) given that
    they fit; epsilon is below 0, or delta nearly 0, if none does."""
    if not cost:
        return epsilon, delta
    drawn = epsilon - cost
    return drawn, max((delta - _unseen(drawn, cost)) * math.exp(-cost), SMALLEST)


def redraw_cost(by: Analysis, sent: Contribution, crowd: int) -> float:
    """Return what the redraws of earlier rounds add to epsilon: -N ln(1 - t) each.

    N is the crowd if the analysis relies on one; `local` itself adds the cost of one person's
    redraws. The rounds are independent, so that everything fits with the product of their chances.
    """
    return sent.redraws * crowd if by.shuffled else 0.0


@checked_class
@dataclass(frozen=True, repr=False)
class Certificate(Displayed):
    """The (epsilon, delta) of what one person sends, by one analysis.

    Attributes
    ----------
    analysis : str
        The name of the analysis that was requested.
    epsilon : float
        The epsilon that was requested.
    delta : DeltaBounds
        `upper` is certified; `lower` and `estimate` are numerical.
    worst : tuple of WorstPair
        For each kind of report, the pair of records (and the crowd) that gave the bound.
    assumption : str
        The code of the assumption that the bound depends on.
    proved : bool
        Whether the bound holds for every collection.
    by : str
        The analysis that gave the bound: `shuffle` chooses among several. It is "additive" if
        nothing but counts with additive noise can change.
    beside : tuple of str
        The codes of what the bound assumes besides: "services-apart" if reports that count on a
        crowd are composed with shifts of counts. For shifts alone it is the assumption itself.

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> certificate = accountant.certify("shuffle", flip, crowd=10_000, epsilon=0.1)
    >>> certificate
    Certificate(delta <= 1.085e-07 at epsilon=0.1; exact; whole-crowd)
    >>> certificate.by, certificate.assumption, certificate.proved
    ('exact', 'whole-crowd', True)
    """

    analysis: AnalysisName
    epsilon: float
    delta: DeltaBounds
    worst: tuple[WorstPair, ...]
    assumption: AssumptionCode
    proved: bool
    by: str
    beside: tuple[AssumptionCode, ...] = ()

    def __repr__(self) -> str:
        return f"Certificate({_bounded(self)})"

    def rows(self) -> DisplayRows:
        """Return the figures, and what they depend on."""
        return _rows(self)


def _bounded(figures: Certificate | Assessment) -> str:
    """Return the bound of delta, the analysis, and what both depend on, for `repr`."""
    delta = rounded_up(figures.delta.upper)
    sign = "<=" if figures.proved else "="
    basis = f"{figures.by}; {_assumed(figures)}"
    return f"delta {sign} {delta} at epsilon={figures.epsilon:.6g}; {basis}"


def _assumed(figures: Certificate | Assessment) -> str:
    """Return the codes of the assumptions, and that a figure is not a guarantee."""
    codes = " and ".join((figures.assumption, *figures.beside))
    return codes if figures.proved else f"{codes}, not a guarantee"


def _rows(figures: Certificate | Assessment, *more: tuple[str, str]) -> DisplayRows:
    """Return what a notebook shows; more: rows after delta."""
    return (
        ("epsilon", f"{figures.epsilon:.6g}"),
        ("delta, upper bound", rounded_up(figures.delta.upper)),
        ("delta, lower bound", rounded_down(figures.delta.lower)),
        *more,
        ("analysis", figures.by),
        ("assumption", _assumed(figures)),
    )


def certify(
    analysis: AnalysisName, sent: Alternatives | Sendable, crowd: int | None, epsilon: float
) -> Certificate:
    """Certify delta at epsilon for everything that one person sends, each report in its own crowd.

    Parameters
    ----------
    analysis : str
        A key of `ANALYSES`, such as "shuffle".
    sent : Contribution, Schema, Channel, or Alternatives
        A schema stands for one report, and a channel for one report of one question. For
        alternatives, the largest delta is certified.
    crowd : int or None
        The number of honest people, the same for every report; "local" and shifts of counts ignore
        it. It may be None if nothing else is sent.
    epsilon : float
        Below 700 in a crowd; any finite value for "local".

    Returns
    -------
    Certificate
        The bounds of delta, and what they depend on. The cost of redraws is included.

    Raises
    ------
    PrivacyError
        If the analysis is unknown or does not support what is sent, the crowd is below 2 or None
        where something counts on it, or epsilon is out of range.

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> alone = accountant.certify("local", flip, crowd=1, epsilon=1.0).delta.upper
    >>> hidden = accountant.certify("shuffle", flip, crowd=10_000, epsilon=1.0).delta.upper
    >>> hidden < 1e-6 < alone
    True
    """
    by = registered(analysis)
    possible = tuple(dict.fromkeys(alternatives(sent)))
    crowd = _checked(by, possible, crowd)
    _check_epsilon(by, epsilon)
    cost = redraw_cost(by, possible[0], crowd)
    drawn = max(epsilon - cost, 0.0)
    certificates = (by.certificate(s, crowd, drawn) for s in possible)
    delta, worst, least = max(certificates, key=lambda result: result.delta.upper)
    if cost:
        named = epsilon >= max(s.local_epsilon for s in possible)
        unseen = 0.0 if named else _unseen(drawn, cost)
        upper = grown(delta.upper, cost) + unseen if epsilon >= cost else 1.0
        delta = DeltaBounds(delta.lower, max(delta.estimate, delta.lower), min(upper, 1.0))
    basis = (worst, _assumption(by, possible), by.proved, least or by.name)
    return Certificate(analysis, epsilon, delta, *basis, _beside(possible))


def _checked(by: Analysis, possible: Sequence[Contribution], crowd: int | None) -> int:
    """Return the crowd, or any number if nothing counts on it.

    Raises PrivacyError if it is below 2, or None where something counts on it.
    """
    if crowd is not None:
        if by.shuffled:
            check_crowd(crowd)
        return crowd
    if by.shuffled and any(sent.needs_crowd for sent in possible):
        raise PrivacyError.of("crowd", "accountant.no-crowd")
    return UNUSED


def _assumption(by: Analysis, possible: Sequence[Contribution]) -> AssumptionCode:
    """Return what an analysis assumes; of shifts alone, only that the services do not work
    together."""
    shifted = any(sent.shifts for sent in possible)
    alone = shifted and not any(sent.needs_crowd for sent in possible)
    return "services-apart" if alone else by.assumption


def _beside(possible: Sequence[Contribution]) -> tuple[AssumptionCode, ...]:
    """Return what is assumed in addition if some of it counts on a crowd."""
    shifted = any(sent.shifts for sent in possible)
    both = shifted and any(sent.needs_crowd for sent in possible)
    return ("services-apart",) if both else ()


def _check_epsilon(by: Analysis, epsilon: float) -> None:
    """Raise PrivacyError if an analysis cannot compute delta at epsilon."""
    if by.shuffled:
        check_epsilon(epsilon)
    elif not 0 <= epsilon < math.inf:
        raise PrivacyError.of("epsilon", "accountant.finite-epsilon", value=epsilon)


def privacy_curve(
    analysis: AnalysisName, sent: Sendable, crowd: int | None, *, steps: int = STEPS
) -> PrivacyCurve:
    """Return delta as a function of epsilon, for everything that one person sends.

    Parameters
    ----------
    analysis : str
        "shuffle", "seat", "blanket", or "exact" (for one bit) bound delta over all pairs of records
        at every epsilon. "outlier" uses the pair that is worst for one report.
    sent : Contribution, Schema, or Channel
        As for `certify`.
    crowd : int or None
        The number of honest people, the same for every report; as for `certify`.
    steps : int
        The number of grid points per standard deviation of a collection's privacy loss.

    Returns
    -------
    PrivacyCurve
        An upper bound at every epsilon.

    Raises
    ------
    PrivacyError
        As for `certify`, if the analysis has no curve, or unless steps is from 1 to 1000.

    Notes
    -----
    The largest delta over pairs is again a convex curve, and therefore that of some pair of laws
    (docs/mathematics.md#composition).

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> week = accountant.privacy_curve("seat", flip, crowd=10_000)
    >>> year = week**52
    >>> week.epsilon(1e-6) < year.epsilon(1e-6) < 52 * week.epsilon(1e-6)
    True
    """
    by = registered(analysis)
    if not isinstance(by, Composing):
        names = [name for name, one in ANALYSES.items() if isinstance(one, Composing)]
        choices = joined("shared.or", names)
        raise PrivacyError.of("analysis", "accountant.no-curve", value=analysis, choices=choices)
    sent = as_contribution(sent)
    people = _checked(by, [sent], crowd)
    if not 1 <= steps <= MOST_STEPS:
        raise PrivacyError.of(
            "steps", "accountant.whole-between", value=steps, low=1, high=MOST_STEPS
        )
    assumption = _assumption(by, [sent])
    origin = CurveOrigin(by.name, assumption, people if sent.needs_crowd else None)
    return replace(by.curve(sent, people, steps), origins=(origin,))


# The smallest noise, and the smallest epsilon, that achieve a guarantee by any analysis.


def smallest_noise(
    analysis: AnalysisName,
    family: Callable[[BitFlip], Alternatives | Sendable],
    crowd: int,
    epsilon: float,
    delta: float,
) -> BitFlip:
    """Return the smallest noise n / 2^32 for which a certified guarantee holds.

    Parameters
    ----------
    analysis : str
        A key of `ANALYSES`; "local" uses only epsilon.
    family : callable
        Maps a bit flip to everything that one person sends. More noise has to give more privacy.
        For the same noise on all questions of k reports, use
        `lambda flip: Contribution.of(Schema.uniform(domains, flip), k)`.
    crowd : int
        The number of honest people.
    epsilon, delta : float
        The guarantee.

    Returns
    -------
    BitFlip
        The noise. Its delta is at most the given one. Slightly less noise may also be enough: the
        search ends when delta is within a share of 3e-5 of the given one.

    Raises
    ------
    PrivacyError
        If no noise below 1/2 is enough (the message states what can be achieved), a value is out of
        range, or delta is too small to be certified: below 1e-12 for several reports, 1e-290 for
        one.

    Notes
    -----
    Of alternatives, the one with the largest signal is calibrated first; its noise is usually
    enough for the others.

    Examples
    --------
    >>> from incrowd import accountant
    >>> noise = accountant.smallest_noise("shuffle", lambda flip: flip, 10_000, 0.5, 1e-8)
    >>> noise.epsilon > 4  # the local epsilon that a crowd of 10,000 reduces to 0.5
    True
    """
    by = registered(analysis)
    check_promise(crowd if by.shuffled else 2, epsilon, delta)
    possible = alternatives(_of_middle(family))
    cost = redraw_cost(by, possible[0], crowd)
    promise = crowd, *_before_redraws(epsilon, delta, cost)
    _check_delta("delta", delta, by, possible, epsilon, cost)
    signals = [log_signal(sent, crowd) for sent in possible]
    first, *others = sorted(range(len(possible)), key=lambda i: -signals[i])

    def of(i: int) -> NoiseFamily:
        return lambda flip: alternatives(family(flip))[i]

    noise = by.noise(of(first), *promise)
    for i in others:
        if by.bound(as_contribution(of(i)(noise)), *promise[:2]) > promise[2]:
            noise = max(noise, by.noise(of(i), *promise))
    return noise


def _of_middle(
    family: Callable[[BitFlip], Alternatives | Sendable],
) -> Alternatives | Sendable:
    """Return what is sent with medium noise. Raises ArgumentError unless the function
    takes a bit flip."""
    try:
        signature(family).bind(MIDDLE)
    except (TypeError, ValueError) as error:
        raise ArgumentError.of("family", "accountant.family", reason=str(error)) from None
    return family(MIDDLE)


def _check_delta(
    field: str,
    delta: float,
    by: Analysis,
    possible: Sequence[Contribution],
    epsilon: float,
    cost: float = 0.0,
) -> None:
    """Raise PrecisionError if delta (or eta) is too small to calibrate noise for it.

    cost: the cost of the redraws of earlier rounds.
    """
    least, sent = max(((by.least_delta(each), each) for each in possible), key=lambda one: one[0])
    if cost:
        least = grown(least, cost) + _unseen(epsilon - cost, cost)
    if delta < least:
        reports = (
            sentence("accountant.reports-together", reports=sent.copies)
            if sent.copies > 1
            else sentence("accountant.one-report")
        )
        if cost:
            reports = sentence("accountant.with-redraws", reports=reports)
        raise PrecisionError.of(
            field,
            "accountant.small-delta",
            value=delta,
            reports=reports,
            least=rounded_up(least, 3),
        )


def clearly_keeps(
    analysis: AnalysisName,
    sent: Alternatives | Sendable,
    crowd: int | None,
    epsilon: float,
    delta: float,
) -> bool:
    """Return whether a quick and loose, but proved, bound already gives (epsilon, delta).

    If not, a certificate may still give it.
    """
    by, possible = registered(analysis), alternatives(sent)
    crowd = _checked(by, possible, crowd)
    check_promise(crowd, epsilon, delta)
    cost = redraw_cost(by, possible[0], crowd)
    drawn, most = _before_redraws(epsilon, delta, cost)
    return drawn >= 0 and all(by.bound(each, crowd, drawn, QUICK) <= most for each in possible)


def smallest_noise_for_eta(
    analysis: AnalysisName, family: NoiseFamily, crowd: int, epsilon: float, eta: float
) -> BitFlip:
    """Return the smallest noise for which P[privacy ratio > e^epsilon] is at most eta.

    family: as in `smallest_noise`. Raises PrivacyError if no noise below 1/2 is enough.
    """
    by = registered(analysis)
    check_promise(crowd, epsilon, eta)
    _check_delta("eta", eta, by, alternatives(family(MIDDLE)), epsilon)

    def bound(sent: Contribution) -> float:
        return by.eta(sent, crowd, epsilon)

    return smallest(family, crowd, epsilon, eta, [(bound, CLOSE)])


@overload
def smallest_delta(
    analysis: AnalysisName, sent: Alternatives | Sendable, crowd: int | None, epsilon: float
) -> float: ...


@overload
def smallest_delta(
    analysis: AnalysisName,
    sent: Alternatives | Sendable,
    crowd: WholeNumberArray,
    epsilon: float | NumberArray,
) -> FloatArray: ...


@overload
def smallest_delta(
    analysis: AnalysisName,
    sent: Alternatives | Sendable,
    crowd: int | None,
    epsilon: NumberArray,
) -> FloatArray: ...


def smallest_delta(
    analysis: AnalysisName,
    sent: Alternatives | Sendable,
    crowd: int | WholeNumberArray | None,
    epsilon: float | NumberArray,
) -> float | FloatArray:
    """Return the smallest delta that is certified at epsilon: `certify(...).delta.upper`.

    Parameters
    ----------
    analysis : str
        A key of `ANALYSES`.
    sent : Contribution, Schema, Channel, or Alternatives
        As for `certify`.
    crowd : int, array of int, or None
        The number of honest people; as for `certify`.
    epsilon : float or array of float
        As for `certify`. Arrays are broadcast against each other.

    Returns
    -------
    float or array of float
        Delta, rounded up; each value of an array is that of a call with numbers.

    Raises
    ------
    PrivacyError
        As for `certify`.
    UsageError
        If the shapes of arrays do not fit together.

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> accountant.smallest_delta("shuffle", flip, 10_000, [0.1, 0.2]) < [1e-6, 1e-15]
    array([ True,  True])
    """

    def smallest(epsilon: float, crowd: int | None = None) -> float:
        return certify(analysis, sent, crowd, epsilon).delta.upper

    return elementwise(smallest, **_with_crowd(crowd, epsilon=epsilon))


def _with_crowd(
    crowd: int | WholeNumberArray | None, **value: float | NumberArray
) -> dict[str, float | NumberArray]:
    """Return the arguments that are broadcast: a value, and the crowd if there is one."""
    return value if crowd is None else {**value, "crowd": crowd}


@overload
def smallest_epsilon(
    analysis: AnalysisName, sent: Alternatives | Sendable, crowd: int | None, delta: float
) -> float: ...


@overload
def smallest_epsilon(
    analysis: AnalysisName,
    sent: Alternatives | Sendable,
    crowd: WholeNumberArray,
    delta: float | NumberArray,
) -> FloatArray: ...


@overload
def smallest_epsilon(
    analysis: AnalysisName,
    sent: Alternatives | Sendable,
    crowd: int | None,
    delta: NumberArray,
) -> FloatArray: ...


def smallest_epsilon(
    analysis: AnalysisName,
    sent: Alternatives | Sendable,
    crowd: int | WholeNumberArray | None,
    delta: float | NumberArray,
) -> float | FloatArray:
    """Return the smallest epsilon at which the certified delta is small enough, rounded up.

    Parameters
    ----------
    analysis : str
        A key of `ANALYSES`.
    sent : Contribution, Schema, Channel, or Alternatives
        As for `certify`.
    crowd : int, array of int, or None
        The number of honest people; as for `certify`.
    delta : float or array of float
        The largest delta that is allowed. Arrays are broadcast against each other.

    Returns
    -------
    float or array of float
        Epsilon; each value of an array is that of a call with numbers.

    Raises
    ------
    PrivacyError
        Unless 0 < delta < 1, or if delta is smaller than can be computed.
    UsageError
        If the shapes of arrays do not fit together.

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> accountant.smallest_epsilon("shuffle", flip, crowd=10_000, delta=1e-6) < 0.1
    True
    """

    def smallest(delta: float, crowd: int | None = None) -> float:
        return _smallest_epsilon(analysis, sent, crowd, delta)

    return elementwise(smallest, **_with_crowd(crowd, delta=delta))


def _smallest_epsilon(
    analysis: AnalysisName, sent: Alternatives | Sendable, crowd: int | None, delta: float
) -> float:
    by, possible = registered(analysis), alternatives(sent)
    crowd = _checked(by, possible, crowd)
    check_promise(crowd, 0.0, delta)
    cost = redraw_cost(by, possible[0], crowd)
    enough = cost
    while True:
        _, most = _before_redraws(enough, delta, cost)
        if cost and most <= SMALLEST:  # with names, nothing is unseen
            for one in possible:
                check_no_shifts(one)
            return max(one.local_epsilon for one in possible)
        least = max(by.epsilon(one, crowd, most) for one in possible) + cost
        if least <= enough or not cost:
            return least
        enough = least * (1 + CLOSER)


# Assessments: delta and eta of given channels, by any analysis.


@dataclass(frozen=True)
class OrderFigures:
    """The delta and eta of the papers' pair in one order.

    The records are as far apart as allowed, and everybody else holds one of them.
    """

    delta: float
    eta: float


@checked_class
@dataclass(frozen=True, repr=False)
class Assessment(Displayed):
    """The delta and eta of what one person sends in a crowd, by one analysis.

    Attributes
    ----------
    analysis : str
        The name of the analysis.
    epsilon : float
        The epsilon that was requested.
    crowd : int or None
        The number of honest people; None if nothing counts on them.
    copies : int
        The number of reports that one person sends.
    delta : DeltaBounds
        `upper` is certified.
    eta : float
        P[privacy ratio > e^epsilon]: for "blanket" a bound for every collection, for "outlier"
        numerical, otherwise exact.
    worst : tuple of WorstPair
        The worst pair of records for each kind of report.
    assumption : str
        The code of the assumption that the figures depend on.
    proved : bool
        Whether delta is bounded for every collection.
    by : str
        The analysis that gave the bound of delta: `shuffle` chooses among several.
    presence, absence : OrderFigures or None
        The papers' pair in a crowd of equal records, in either order. None for several reports, or
        channels other than bit flips.
    beside : tuple of str
        What the figures assume besides, as for `Certificate`.

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.at_least(0.1)
    >>> found = accountant.assess("outlier", flip, crowd=200, epsilon=1.0)
    >>> found.proved  # a crowd in which all others hold the same record
    False
    >>> found.presence.delta < found.absence.delta <= found.delta.upper
    True
    """

    analysis: AnalysisName
    epsilon: float
    crowd: int | None
    copies: int
    delta: DeltaBounds
    eta: float
    worst: tuple[WorstPair, ...]
    assumption: AssumptionCode
    proved: bool
    by: str
    presence: OrderFigures | None
    absence: OrderFigures | None
    beside: tuple[AssumptionCode, ...] = ()

    def __repr__(self) -> str:
        return f"Assessment(eta={rounded_up(self.eta)}, {_bounded(self)})"

    def rows(self) -> DisplayRows:
        """Return the figures, and what they depend on."""
        crowd = "none" if self.crowd is None else f"{self.crowd:,} people"
        more = (("eta", rounded_up(self.eta)), ("crowd", crowd), ("reports", f"{self.copies:,}"))
        return _rows(self, *more)


def assess(analysis: AnalysisName, sent: Sendable, crowd: int | None, epsilon: float) -> Assessment:
    """Compute delta and eta at epsilon for everything that one person sends.

    Parameters
    ----------
    analysis : str
        A key of `ANALYSES`.
    sent : Contribution, Schema, or Channel
        As for `certify`.
    crowd : int or None
        The number of honest people; as for `certify`.
    epsilon : float
        As for `certify`.

    Returns
    -------
    Assessment
        The figures, and what they depend on.

    Raises
    ------
    PrivacyError
        If a value is out of range, the analysis is unknown, or the crowd is too large for "exact".

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.at_least(0.1)
    >>> exact = accountant.assess("exact", flip, crowd=200, epsilon=1.0)
    >>> exact.proved, round(exact.delta.upper, 8)
    (True, 4.85e-06)
    """
    by, sent = registered(analysis), as_contribution(sent)
    people = _checked(by, [sent], crowd)
    check_crowd(people)
    _check_epsilon(by, epsilon)
    (bounds, worst, least), chance = by.figures(sent, people, epsilon)
    presence, absence = (_papers_order(sent, first, people, epsilon) for first in (True, False))
    basis = (worst, _assumption(by, [sent]), by.proved, least or by.name)
    figures = (bounds, chance, *basis, presence, absence)
    return Assessment(by.name, epsilon, crowd, sent.copies, *figures, _beside([sent]))


def _papers_order(
    sent: Contribution, presence: bool, crowd: int, epsilon: float
) -> OrderFigures | None:
    schema = sent.single
    if schema is None or not all(part.channel.is_flip for part, _ in schema.parts):
        return None
    return _order(papers_pair(schema, presence), crowd, epsilon)


def _order(ratios: Ratios, crowd: int, epsilon: float) -> OrderFigures:
    return OrderFigures(delta(ratios, crowd, epsilon).estimate, pair_eta(ratios, crowd, epsilon))


def curves(sent: Sendable, crowd: int, epsilons: Sequence[float]) -> dict[str, np.ndarray]:
    """Return certified bounds of delta at every epsilon, by analysis; only scalable analyses.

    Without "local" if counts shift, and without "outlier" for channels other than bit flips.
    """
    sent = as_contribution(sent)
    flips = all(part.channel.is_flip for part, _ in sent.parts)
    return {
        name: by.bounds(sent, crowd, epsilons)
        for name, by in ANALYSES.items()
        if by.scalable and (by.shuffled or not sent.shifts) and (by.proved or flips)
    }
