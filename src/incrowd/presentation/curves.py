"""Curves as HTML pages: delta against epsilon, and error against what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from incrowd.plans import Plan
from incrowd.presentation.charts import drawn
from incrowd.presentation.number_text import bound, short_percent
from incrowd.presentation.shell import rendered
from incrowd.reports.files import replaced, write_text

Points = Sequence[tuple[float, float]]
FLOOR = 1e-16  # smaller bounds are left out of the picture, not of the csv


def curve_page(title: str, epsilons: np.ndarray, found: dict[str, np.ndarray]) -> str:
    """A self-contained page: one line an analysis, delta on a logarithmic scale, and the numbers.

    epsilons: shape (points,). found: certified bounds of delta of each analysis, same shape.
    """
    rows = [
        (f"{epsilon:.4g}", *(bound(deltas[i], 4) for deltas in found.values()))
        for i, epsilon in enumerate(epsilons)
    ]
    values = [
        {"epsilon": float(e), "delta": float(d), "analysis": analysis}
        for analysis, deltas in found.items()
        for e, d in zip(epsilons, deltas, strict=True)
        if d >= FLOOR
    ]
    label = "delta against epsilon for each analysis"
    chart = drawn("curves.json", label, values=values, names=list(found))
    return rendered("curves.html", title=title, chart=chart, names=("epsilon", *found), rows=rows)


def frontier_table(reports: Points, epsilons: Points) -> pa.Table:
    """The points of both curves: curve, value, and the standard error as a proportion."""
    rows = [("reports per person", float(x), y) for x, y in reports]
    rows += [("epsilon", x, y) for x, y in epsilons]
    names = ("curve", "value", "standard_error")
    return pa.table({n: [row[i] for row in rows] for i, n in enumerate(names)})


def frontier_page(
    title: str,
    reports: Points,
    epsilons: Points,
    chosen: tuple[float, float, float],
    objective: str,
) -> str:
    """A self-contained page with both curves and their points.

    reports, epsilons: reports a person, or epsilon, each with the standard error. chosen: of the
    survey's own plan the reports per person, epsilon, and the standard error. objective:
    "largest" or "mean" over the wanted tables.
    """
    sent, epsilon, error = chosen
    up = f"standard error, {objective} of the wanted tables"
    curves = [
        ("More reports from each person", "reports a person", " may send", reports, sent),
        ("Less privacy", "epsilon", "", epsilons, epsilon),
    ]
    charts, tables = [], []
    for heading, across, more, points, own in curves:
        axes = {"across": across + more, "up": up}
        label = f"{up} against {across}{more}"
        svg = drawn("frontier.json", label, points=points, chosen=(own, error), **axes)
        charts.append((heading, svg))
        tables.append((across, [(f"{x:,.4g}", short_percent(y)) for x, y in points]))
    return rendered("frontier.html", title=title, charts=charts, tables=tables)


def write_frontier(made: Plan, error: float, reports: Points, epsilons: Points, path: Path) -> None:
    """Write both curves as a page, and a .csv beside it. error: of the survey's own plan."""
    survey, sent = made.survey, float(sum(message.copies for message in made.messages))
    chosen = (sent, survey.privacy.epsilon, error)
    write_text(path, frontier_page(survey.name, reports, epsilons, chosen, survey.objective))
    with replaced(path.with_suffix(".csv")) as temporary:
        pyarrow.csv.write_csv(frontier_table(reports, epsilons), temporary)
