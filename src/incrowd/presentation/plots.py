"""Charts of single results, as altair charts, which notebooks show."""

from __future__ import annotations

import altair

from incrowd.estimation.displayed import with_cells
from incrowd.estimation.tables import TableEstimate
from incrowd.presentation.charts import WIDE, chart_spec


def of_table(table: TableEstimate) -> altair.TopLevelMixin:
    """Return a point and an interval for each cell, as on the page of estimates."""
    return altair.Chart.from_dict(chart_spec(with_cells(table), WIDE))
