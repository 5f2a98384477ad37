"""Regressions of people who have known margins: pseudo-maximum likelihood (Binder 1983).

The score is linear in the shares of people in cells, so that weighted shares make the score of the
weighted people, and their covariance, in which the weights are estimates, is carried on into the
sandwich. Proof: docs/regression.md#weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from incrowd.estimation.regression.fitting import counted_shares, fit_together
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.results import Fit
from incrowd.planner.margins import Known
from incrowd.planner.weighting import weighted_levels
from incrowd.plans import Plan
from incrowd.tally.tally import Tally
from incrowd.workflow.regression_strata import strata_by_answers

CLOSE = 1e-9


class Found(NamedTuple):
    """A fit, the share of the people who are no part of the model, of weights standard errors over
    those without them, and the share of people in strata that were released as one."""

    fit: Fit
    left_out: float
    error_ratio: float | None = None
    merged: float = 0.0


def weighted_fit(
    plan: Plan,
    model: Model,
    counted: Tally,
    known: Sequence[Known],
    noise_only: bool = False,
    plain: Fit | None = None,
) -> Found:
    """A fit to people who have known margins.

    counted: the joint table of the model and the margins. plain: the fit without weights. Raises
    TableError for margins that do not fit the releases or are not clear of the noise, ReportsError
    as `strata_by_answers`.
    """
    strata = strata_by_answers(plan, model, counted)
    apart = any(each.question.id in model.open for each in model.predictors)
    groups = {str(place): sorted(each.names) for place, each in enumerate(strata)}
    joint = weighted_levels(plan, counted, model, known, groups if apart else {})
    if noise_only:
        joint = joint.noise_alone()
    levels = [each.levels for each in strata]
    missing, merged = (_clear(1 - each) for each in reversed(counted_shares(model, levels, joint)))
    found = fit_together(model, levels, joint)
    ratio = None if plain is None else _error_ratio(found, plain)
    return Found(found, missing, ratio, merged)


def _clear(share: float) -> float:
    """Without what rounding leaves of nothing."""
    return share if abs(share) > CLOSE else 0.0


def _error_ratio(found: Fit, plain: Fit) -> float | None:
    """In the mean square; None if one of them has no coefficients."""
    errors = [np.trace(each.covariance) for each in (found, plain) if each.coefficients]
    return float(np.sqrt(errors[0] / errors[1])) if len(errors) == 2 and errors[1] else None
