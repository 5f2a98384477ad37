"""A model and what strata say of it -> coefficients, or why they cannot be estimated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.regression.evidence import Table
from incrowd.estimation.regression.model import Levels, Model, Term, design, holding
from incrowd.estimation.regression.results import Fit, coefficients
from incrowd.estimation.regression.solving import (
    BEYOND_NOISE,
    Strata,
    linear_root,
    logistic_root,
    sandwich,
    weakest,
)
from incrowd.estimation.tables import NOISE_ONLY

LEAST_PEOPLE = 0.5  # without noise a share is of whole people, up to rounding
MORE = "collect more reports, or put answers together"
NOT_FOUND = (
    "the coefficients run away: some of the predictors together leave hardly a doubt of {outcome} "
    f"(separation); {MORE}, or use fewer predictors"
)


Part = tuple[Sequence[Levels], JointEstimate]  # strata, and their cells one after the other


def fit_tables(model: Model, strata: Sequence[tuple[Levels, JointEstimate]]) -> Fit:
    """Fit a model to the joint tables of some strata.

    strata: for each the answers to the questions that are asked in clear, and the unbiased table of
    the others with its covariance. One stratum without such answers is the whole collection.
    """
    return _fit_parts(model, _apart(strata))


def fit_together(model: Model, strata: Sequence[Levels], joint: JointEstimate) -> Fit:
    """Fit a model to one table of all strata, whose errors hang together, as weights make them.

    joint: the tables of the strata one after the other, in shares of all people.
    """
    return _fit_parts(model, [(strata, joint)])


def _fit_parts(model: Model, strata: Sequence[Part]) -> Fit:
    parts = _tables(model, strata)
    sampled = strata[0][1].errors != NOISE_ONLY
    if model.family == "logistic" and (reason := _separated(model, strata, parts)):
        return no_fit(reason)
    return fit(model, Strata(parts, sampled))


def _apart(strata: Sequence[tuple[Levels, JointEstimate]]) -> list[Part]:
    return [((levels,), joint) for levels, joint in strata]


def _tables(model: Model, strata: Sequence[Part]) -> list[Table]:
    """What the joint tables say, their axes those of `Model.randomized`."""
    return [Table(joint, design(model, *levels), model.family) for levels, joint in strata]


def fit(model: Model, strata: Strata) -> Fit:
    """The root of the score, with the sandwich for its covariance."""
    names = [term.name for term in model.terms]
    root = linear_root if model.family == "linear" else logistic_root
    beta = root(strata, len(names))
    if beta is None:
        return no_fit(NOT_FOUND.format(outcome=model.explained))
    least = weakest(strata, beta)
    if not least.enough:
        known = f"is {least.information:.3g} with a standard error of {least.error:.2g}"
        return no_fit(
            f"too little is known of {names[least.coefficient]}: the information about it {known}, "
            f"and cannot be told from zero; {MORE}, or use fewer predictors"
        )
    covariance = sandwich(strata, beta)
    return Fit(coefficients(names, beta, covariance), covariance)


def silent_share(model: Model, strata: Sequence[tuple[Levels, JointEstimate]]) -> float:
    """The share of the people of these strata who did not answer."""
    if not model.optional:
        return 0.0
    parts = _tables(model, _apart(strata))
    people = sum(part.people for part in parts)
    each = (part.people * part.share(part.design.counted * 1.0)[0] for part in parts)
    return 1 - sum(each) / people


def counted_shares(
    model: Model, strata: Sequence[Levels], joint: JointEstimate
) -> tuple[float, float]:
    """Of one table of strata, in shares of all people: those in it, and those in the model."""
    (table,) = _tables(model, [(strata, joint)])
    counted = table.design.counted * 1.0
    return table.share(np.ones_like(counted))[0], table.share(counted)[0]


def no_fit(reason: str) -> Fit:
    """Why there are no coefficients."""
    return Fit((), np.zeros((0, 0)), reason)


def _groups(model: Model) -> Iterator[Term]:
    """All combinations of levels that the model tells apart, those of reference included."""
    for variables in [*((each,) for each in model.predictors), *model.interactions]:
        levels = (
            [level for level, held in zip(each.levels, each.counted, strict=True) if held]
            for each in variables
        )
        yield from (Term(tuple(zip(variables, each, strict=True))) for each in product(*levels))


class _Told(NamedTuple):
    """What is told of the people of a group with or without the outcome: their share of all, and
    its error by the noise."""

    who: str
    share: float
    noise: float


def _separated(model: Model, strata: Sequence[Part], parts: Sequence[Table]) -> str:
    """Which group has an outcome of which nobody knows whether anybody is there; "" if none.

    Its log odds are those of two shares, and both have to be above zero beyond the noise, and be at
    least half a person. Who was drawn needs no such limit: its error shrinks with the share, that
    of the noise does not. Proof: docs/regression.md#what-cannot-be-estimated.
    """
    least = LEAST_PEOPLE / sum(part.people for part in parts)
    told = (_told(model, group, strata, parts) for group in _groups(model))
    unseen = [
        each
        for each in chain.from_iterable(told)
        if each.share <= max(BEYOND_NOISE * each.noise, least)
    ]
    if not unseen:
        return ""
    who, share, noise = min(unseen, key=lambda each: each.share / max(each.noise, 1e-300))
    return (
        f"the share of people {who} is {share:.4g} with an error of {noise:.2g} by the noise, and "
        f"cannot be told from zero (separation); {MORE}"
    )


def _told(
    model: Model, group: Term, strata: Sequence[Part], parts: Sequence[Table]
) -> Iterator[_Told]:
    """Of those in a group who have the outcome, and of those who do not."""
    people = sum(part.people for part in parts)
    for score, said in ((1.0, "with"), (0.0, "without")):
        share = variance = 0.0
        for (levels, _), part in zip(strata, parts, strict=True):
            here = holding(model, group, *levels) & part.design.counted & (part.design.y == score)
            value, noise = part.share(here * 1.0)
            weight = part.people / people
            share, variance = share + weight * value, variance + weight**2 * noise
        yield _Told(f"{group.name} {said} {model.explained}", share, max(variance, 0.0) ** 0.5)
