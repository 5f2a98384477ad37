"""Charts of single results, as altair charts, which notebooks show."""

from __future__ import annotations

import math

import altair
import numpy as np

from incrowd.accountant.composition import PrivacyCurve
from incrowd.estimation.displayed import with_cells
from incrowd.estimation.tables import TableEstimate
from incrowd.presentation.charts import WIDE, chart_spec, curve_parts, specification

POINTS = 120
LEAST_DELTA = 1e-12  # where a curve ends: below it there is little but rounding


def of_table(table: TableEstimate) -> altair.TopLevelMixin:
    """Return a point and an interval for each cell, as on the page of estimates."""
    return altair.Chart.from_dict(chart_spec(with_cells(table), WIDE))


def of_curve(curve: PrivacyCurve) -> altair.TopLevelMixin:
    """Return delta against epsilon, down to a delta of 1e-12, on a logarithmic scale."""
    last = max(curve.epsilon(max(LEAST_DELTA, 2 * curve.doubt)), math.ulp(1.0))
    epsilons = np.linspace(0.0, last, POINTS)
    deltas = np.array([curve.delta(float(each)) for each in epsilons])
    parts = curve_parts(epsilons, {"upper bound": deltas})
    return altair.Chart.from_dict(specification("curves.json", **parts))
