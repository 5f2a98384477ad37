"""Privacy curves from and to other tools: distributions of dp_accounting, plain data, two laws.

A curve is a law of losses on a lattice for each order. Every way in and out keeps delta an upper
bound at every epsilon, alone and composed: losses between two points of a lattice are split so that
both laws keep their totals, and what is missing from a total of one, or in doubt because of
rounding, counts as infinite loss. Proof: docs/mathematics.md#exchange.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.accountant.composition import MOST_POINTS, LossLaw, PrivacyCurve
from incrowd.accountant.numerics.lattice import Split, gathered, neighbors
from incrowd.accountant.numerics.precision import UNIT
from incrowd.errors import PrivacyError

STEP = 1e-4  # of a lattice; the default of dp_accounting
WIDEST, FARTHEST = 1e100, 2**53  # the largest step and place: their product is far from infinity
NOT_ONE = 1e-6  # a total above 1 by more than this is a mistake, not rounding
OF_A_LOG = 4 * UNIT  # the error of a difference of two logarithms, relative to their sizes
ORDERS = ("forward", "backward")
KEYS = ("step", *(f"{order}_{what}" for order in ORDERS for what in ("first", "mass", "infinite")))

Masses = npt.NDArray[np.float64]


def pair_curve(p: Sequence[float], q: Sequence[float], *, step: float = STEP) -> PrivacyCurve:
    """Return the privacy curve of two distributions of an outcome, in both orders.

    Parameters
    ----------
    p, q : sequence of float
        The probabilities of each outcome under the two neighbors. What is missing from a total of 1
        counts as an outcome that reveals everything.
    step : float
        The distance of two points of the lattice of losses. It is doubled until the losses fit on
        131,072 points.

    Returns
    -------
    PrivacyCurve
        An upper bound of delta of this pair at every epsilon. It bounds a mechanism if no other
        pair of neighbors reveals more.

    Raises
    ------
    PrivacyError
        If a value is not a probability, a total is above 1, the lengths differ, or step is not
        above 0 and at most 1e100.

    References
    ----------
    docs/mathematics.md#exchange.

    Examples
    --------
    >>> from incrowd import accountant
    >>> response = accountant.pair_curve([0.75, 0.25], [0.25, 0.75])  # local epsilon ln 3
    >>> round(response.delta(0.5), 4), round((response**2).delta(0.5), 4)
    (0.3378, 0.4595)
    """
    if len(p) != len(q):
        raise PrivacyError.of("q", "accountant.other-length", value=len(q), most=len(p))
    one, other = _checked("p", p), _checked("q", q)
    _check_step("step", step)
    return PrivacyCurve(_of_pair(one, other, step), _of_pair(other, one, step))


def to_dp_accounting(curve: PrivacyCurve, *, interval: float | None = None) -> Any:
    """Return a curve as a distribution of dp_accounting, a pessimistic one if it is a bound.

    The order `forward` becomes the one for REMOVE, and `backward` the one for ADD. In a curve of
    this package, both are orders of two collections of the same people, one of whom answers
    differently (REPLACE_ONE). What the curve assumes, such as a shuffler and a number of honest
    people, is not part of the distribution: state it together with every figure. A curve that is
    not a guarantee, such as one of "outlier", becomes an optimistic distribution, which neither
    program composes with a bound.

    Parameters
    ----------
    curve : PrivacyCurve
        The curve.
    interval : float, optional
        The discretization interval of the distribution. dp_accounting composes only distributions
        of the same interval. The default is the step of the curve.

    Returns
    -------
    PrivacyLossDistribution
        Its delta is at least that of the curve, up to the rounding of dp_accounting itself: what
        dp_accounting computes has no allowance for its own Fourier transforms (about 1e-15).

    Raises
    ------
    PrivacyError
        If dp_accounting is not installed, or interval is not above 0 and at most 1e100.

    References
    ----------
    docs/mathematics.md#exchange.

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> week = accountant.privacy_curve("seat", flip, 10_000)
    >>> theirs = accountant.to_dp_accounting(week).self_compose(52)
    >>> bool(abs(theirs.get_epsilon_for_delta(1e-6) - (week**52).epsilon(1e-6)) < 1e-3)
    True
    """
    try:
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    except ModuleNotFoundError:
        raise PrivacyError.of("dp_accounting", "accountant.no-dp-accounting") from None
    step = _step(curve) if interval is None else interval
    _check_step("interval", step)
    symmetric = curve.backward is curve.forward
    laws = [_sent(law, step) for law in ([curve.forward] if symmetric else _orders(curve))]
    masses, infinite = zip(*((_by_place(law), law.infinite) for law in laws), strict=True)
    other = {}
    if not symmetric:
        other = {
            "rounded_probability_mass_function_add": masses[1],
            "infinity_mass_add": infinite[1],
        }
    return PrivacyLossDistribution.create_from_rounded_probability(
        masses[0],
        infinite[0],
        step,
        pessimistic_estimate=curve.proved,
        symmetric=symmetric,
        **other,
    )


def from_dp_accounting(distribution: Any) -> PrivacyCurve:
    """Return a distribution of dp_accounting as a curve, which composes with all others.

    The curve holds for the neighbors of the distribution. Compose it with curves of this package
    only if it holds for one person's different answers (REPLACE_ONE), for example by calling
    dp_accounting with twice the sensitivity.

    Parameters
    ----------
    distribution : PrivacyLossDistribution
        A pessimistic one. The order for REMOVE becomes `forward`, and the one for ADD `backward`.

    Returns
    -------
    PrivacyCurve
        Its delta is at least that of the distribution at every epsilon. Negative masses, which
        Fourier transforms of dp_accounting leave, count as zero, and what is missing from a total
        of 1 as infinite loss. If there are more than 131,072 points, the step is doubled until
        there are not.

    Raises
    ------
    PrivacyError
        If it is an optimistic distribution, which bounds nothing, or no distribution at all.

    References
    ----------
    docs/mathematics.md#exchange.

    Examples
    --------
    >>> from dp_accounting.pld import privacy_loss_distribution as theirs
    >>> from incrowd import accountant
    >>> sums = theirs.from_gaussian_mechanism(10.0, sensitivity=2.0)  # one person replaced
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> answers = accountant.privacy_curve("shuffle", flip, 10_000)
    >>> both = answers * accountant.from_dp_accounting(sums)
    >>> answers.epsilon(1e-6) < both.epsilon(1e-6) < 1.1
    True
    """
    remove, add = (getattr(distribution, name, None) for name in ("_pmf_remove", "_pmf_add"))
    if remove is None or add is None:
        raise PrivacyError.of("distribution", "accountant.no-distribution", value=distribution)
    forward = _received(remove)
    return PrivacyCurve(forward, forward if add is remove else _received(add))


def to_losses(curve: PrivacyCurve) -> dict[str, Any]:
    """Return a curve as plain numbers and lists, for JSON and for other programs.

    What the curve assumes, and whether it is a guarantee (`proved`), is not part of them: state it
    together with every figure.

    Parameters
    ----------
    curve : PrivacyCurve
        The curve.

    Returns
    -------
    dict
        "step", and for each order ("forward" and "backward"): "forward_first", an integer;
        "forward_mass", a list; and "forward_infinite". The loss ``(first + i) * step`` has the
        probability ``mass[i]``, and an infinite loss the probability `infinite`. So delta at
        epsilon is `infinite`, plus the sum of ``mass * (1 - exp(epsilon - loss))`` over the losses
        above epsilon; the larger of the two orders counts. `infinite` includes allowances for
        rounding. All keys are also names of arrays for ``numpy.savez``.

    Raises
    ------
    ArgumentError
        If the argument is not a curve.

    References
    ----------
    docs/mathematics.md#exchange.

    Examples
    --------
    >>> import json
    >>> from incrowd import accountant
    >>> curve = accountant.pair_curve([0.75, 0.25], [0.25, 0.75])
    >>> text = json.dumps(accountant.to_losses(curve))
    >>> accountant.from_losses(json.loads(text)).delta(0.5) >= curve.delta(0.5)
    True
    """
    step = _step(curve)
    data: dict[str, Any] = {"step": step}
    for order, law in zip(ORDERS, _orders(curve), strict=True):
        sent = _sent(law, step)
        data |= {
            f"{order}_first": sent.first,
            f"{order}_mass": sent.mass.tolist(),
            f"{order}_infinite": sent.infinite,
        }
    return data


def from_losses(losses: Mapping[str, Any]) -> PrivacyCurve:
    """Return the curve of plain numbers and lists, such as those of `to_losses`.

    Parameters
    ----------
    losses : mapping
        The keys that `to_losses` returns: a dictionary from JSON, or what ``numpy.load`` returns
        for a file of ``numpy.savez``.

    Returns
    -------
    PrivacyCurve
        Its delta is at least the one that the numbers state. What is missing from a total of 1
        counts as infinite loss.

    Raises
    ------
    PrivacyError
        If a key is missing, or a value is not possible.

    Examples
    --------
    >>> from incrowd import accountant
    >>> one = {"first": 1, "mass": [0.5, 0.25], "infinite": 0.25}  # losses 0.1 and 0.2, or all
    >>> both = {f"{order}_{k}": v for order in ("forward", "backward") for k, v in one.items()}
    >>> round(accountant.from_losses({"step": 0.1, **both}).delta(0.2), 4)
    0.25
    """
    for key in KEYS:
        if key not in losses:
            raise PrivacyError.of(key, "accountant.missing-key", keys=list(KEYS))
    step = _number("step", losses["step"])
    _check_step("step", step)
    laws = []
    for order in ORDERS:
        mass = _checked(f"{order}_mass", losses[f"{order}_mass"])
        first = _number(f"{order}_first", losses[f"{order}_first"])
        infinite = _checked(f"{order}_infinite", [losses[f"{order}_infinite"]])
        if not (first.is_integer() and abs(first) <= FARTHEST):
            raise PrivacyError.of(
                f"{order}_first", "accountant.whole-place", value=first, most=FARTHEST
            )
        if not len(mass):
            raise PrivacyError.of(f"{order}_mass", "accountant.no-mass")
        laws.append(_law(int(first) + np.arange(len(mass)), mass, float(infinite[0]), step))
    forward, backward = laws
    return PrivacyCurve(forward, backward)


def _orders(curve: PrivacyCurve) -> tuple[LossLaw, LossLaw]:
    return curve.forward, curve.backward


def _step(curve: PrivacyCurve) -> float:
    return max(law.step for law in _orders(curve))


def _sent(law: LossLaw, step: float) -> LossLaw:
    """Return a law on a lattice whose infinite mass includes all allowances for rounding."""
    law = law.on(step)
    return LossLaw(step, law.first, law.mass, _infinite(law.mass, law.losses, law.doubt))


def _infinite(mass: Masses, losses: Masses, infinite: float) -> float:
    """Return the mass of infinite loss: at least what is missing from 1, and more for rounding.

    A loss that is too small by a UNIT of its size lowers delta by at most its mass times that.
    """
    missing = 1 - math.fsum(mass)
    return min(max(infinite, missing) + UNIT * float(mass @ np.abs(losses)), 1.0)


def _by_place(law: LossLaw) -> dict[int, float]:
    """Return the masses that are not zero, by their place on the lattice; at least one."""
    places = np.flatnonzero(law.mass) if law.mass.any() else np.zeros(1, int)
    return dict(zip((law.first + places).tolist(), law.mass[places].tolist(), strict=True))


def _of_pair(p: Masses, q: Masses, step: float) -> LossLaw:
    """Return the law of ln(p/q) under p, each loss raised by its rounding error."""
    both, alone = (p > 0) & (q > 0), (p > 0) & (q == 0)
    log_p, log_q = np.log(p[both]), np.log(q[both])
    losses = log_p - log_q + OF_A_LOG * (1 + np.abs(log_p) + np.abs(log_q))
    return _gathered(losses, p[both], math.fsum(p[alone]), step)


def _received(pmf: Any) -> LossLaw:
    """Return one order of a distribution of dp_accounting, whose masses are a list or a mapping.

    Raises PrivacyError if it is optimistic.
    """
    if not pmf._pessimistic_estimate:
        raise PrivacyError.of("distribution", "accountant.optimistic-distribution")
    by_place = getattr(pmf, "_loss_probs", None)
    if by_place is None:
        mass = np.asarray(pmf._probs, float)
        places = pmf._lower_loss + np.arange(len(mass))
    else:
        places = np.array(list(by_place), np.int64)
        mass = np.array(list(by_place.values()), float)
    mass = _checked("distribution", np.maximum(mass, 0.0))
    (infinite,) = _checked("distribution", [pmf._infinity_mass])
    return _law(places, mass, float(infinite), float(pmf._discretization))


def _law(places: npt.NDArray[np.int64], mass: Masses, infinite: float, step: float) -> LossLaw:
    """Return the law with masses at whole multiples of a step."""
    losses = np.asarray(step * places, float)
    infinite = _infinite(mass, losses, infinite)
    if not len(places):
        return LossLaw(step, 0, np.zeros(1), infinite)
    if np.ptp(places) >= MOST_POINTS:
        return _gathered(losses, mass, infinite, step)
    first = int(places.min())
    return LossLaw(step, first, np.bincount(places - first, mass), infinite)


def _gathered(losses: Masses, mass: Masses, infinite: float, step: float) -> LossLaw:
    """Return the law on a lattice; its step is doubled until there are few points."""
    if not len(losses):
        return LossLaw(step, 0, np.zeros(1), _infinite(mass, losses, infinite))
    while float(np.ptp(losses)) / step >= MOST_POINTS - 2:
        step *= 2
    split = neighbors(losses, step, rate=-1.0)
    first, masses = gathered(Split(split.below, mass * split.lower, mass * split.upper))
    return LossLaw(step, first, masses, _infinite(mass, losses, infinite))


def _checked(field: str, given: Any) -> Masses:
    """Return probabilities as an array. Raises PrivacyError if they are not."""
    try:
        mass = np.asarray(given, float)
    except (TypeError, ValueError):
        mass = np.full(1, np.nan)
    wrong = mass[~(mass >= 0)] if mass.ndim == 1 else [math.nan]
    if len(wrong):
        raise PrivacyError.of(field, "accountant.no-probabilities", value=float(wrong[0]))
    if math.fsum(mass) > 1 + NOT_ONE:
        raise PrivacyError.of(field, "accountant.total-above-1", value=math.fsum(mass))
    return mass


def _number(field: str, given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise PrivacyError.of(field, "shared.not-a-number", value=given) from None


def _check_step(field: str, step: float) -> None:
    if not 0 < step <= WIDEST:
        raise PrivacyError.of(field, "accountant.step-of-losses", value=step, most=WIDEST)
