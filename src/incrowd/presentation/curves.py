"""Curves as HTML pages: delta against epsilon, and error against what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from incrowd.files import replaced, write_text
from incrowd.plans import Plan
from incrowd.presentation.charts import drawn
from incrowd.presentation.number_text import bound, short_percent
from incrowd.presentation.shell import rendered

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


class FrontierCurves(NamedTuple):
    """Certified plans around that of a survey, each a value and the standard error, a proportion.

    reports, epsilons, local_epsilons: reports a person may send, epsilon, and what is left without
    the shuffler; no points of the last where none is relied on. sent, epsilon, error: of the
    survey's own plan. objective: whether errors are the largest or the mean over wanted tables.
    """

    reports: Points
    epsilons: Points
    local_epsilons: Points
    sent: float
    epsilon: float
    error: float
    objective: str


class _Curve(NamedTuple):
    """across: the name of its values; more: what the axis says besides. own: the survey's value."""

    heading: str
    caption: str
    across: str
    more: str
    points: Points
    own: float


def _curves(found: FrontierCurves) -> Iterator[_Curve]:
    reports = "reports per person"
    yield _Curve(
        "More reports from each person", "", reports, " that may be sent", found.reports, found.sent
    )
    yield _Curve("Less privacy", "", "epsilon", "", found.epsilons, found.epsilon)
    if found.local_epsilons:
        own, _ = found.local_epsilons[0]
        yield _Curve(
            "What the shuffler buys",
            "If the shuffler failed, the local epsilon would be all that is left of the promise. "
            "Without a limit the plan is as precise as the mixing allows; local_epsilon in "
            "[privacy] moves it to the left. At the left end nobody need mix.",
            "local epsilon",
            ", if the shuffler fails",
            found.local_epsilons,
            own,
        )


def frontier_table(found: FrontierCurves) -> pa.Table:
    """The points of all curves: curve, value, and the standard error as a proportion."""
    rows = [(curve.across, float(x), y) for curve in _curves(found) for x, y in curve.points]
    names = ("curve", "value", "standard_error")
    return pa.table({n: [row[i] for row in rows] for i, n in enumerate(names)})


def _value(x: float) -> str:
    return f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"


def frontier_page(title: str, found: FrontierCurves) -> str:
    """A self-contained page with all curves and their points."""
    up = f"standard error, {found.objective} of the wanted tables"
    charts, tables = [], []
    for curve in _curves(found):
        axes = {"across": curve.across + curve.more, "up": "standard error"}
        label = f"{up} against {axes['across']}"
        chosen = curve.own, found.error
        svg = drawn("frontier.json", label, points=curve.points, chosen=chosen, **axes)
        charts.append((curve.heading, curve.caption, svg))
        tables.append(
            (
                curve.across,
                [
                    (f"{x:,.3g}" if x < 1000 else f"{x:,.0f}", short_percent(y))
                    for x, y in curve.points
                ],
            )
        )
    return rendered("frontier.html", title=title, up=up, charts=charts, tables=tables)


def write_frontier(
    made: Plan, error: float, reports: Points, epsilons: Points, local: Points, path: Path
) -> None:
    """Write the curves as a page, and a .csv beside it. error: of the survey's own plan."""
    survey = made.survey
    sent = sum(message.reports_each for message in made.messages)
    own = sent, survey.privacy.epsilon, error, survey.objective
    found = FrontierCurves(reports, epsilons, local, *own)
    write_text(path, frontier_page(survey.name, found))
    with replaced(path.with_suffix(".csv")) as temporary:
        pyarrow.csv.write_csv(frontier_table(found), temporary)
