"""Error against reports a person and against epsilon, as one HTML page, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import altair as alt
import pyarrow as pa
import pyarrow.csv
from markupsafe import Markup

from incrowd.plans import Plan
from incrowd.presentation.charts import drawn
from incrowd.presentation.number_text import short_percent
from incrowd.presentation.shell import ACCENT, INK, rendered
from incrowd.reports.files import replaced, write_text

Points = Sequence[tuple[float, float]]


def write_frontier(made: Plan, error: float, reports: Points, epsilons: Points, path: Path) -> None:
    """Write both curves as a page, and a .csv beside it. error: of the survey's own plan."""
    survey, sent = made.survey, float(sum(message.copies for message in made.messages))
    chosen = (sent, survey.privacy.epsilon, error)
    write_text(path, frontier_page(survey.name, reports, epsilons, chosen, survey.objective))
    with replaced(path.with_suffix(".csv")) as temporary:
        pyarrow.csv.write_csv(frontier_table(reports, epsilons), temporary)


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
    what = f"standard error, {objective} of the wanted tables"
    sending = "reports a person may send"
    charts = (
        ("More reports from each person", _svg(reports, sending, what, (sent, error))),
        ("Less privacy", _svg(epsilons, "epsilon", what, (epsilon, error))),
    )
    tables = (("reports a person", _texts(reports)), ("epsilon", _texts(epsilons)))
    return rendered("frontier.html", title=title, charts=charts, tables=tables)


def _svg(points: Points, across: str, up: str, chosen: tuple[float, float]) -> Markup:
    rows = [{"x": x, "y": 100 * y} for x, y in points]
    x = alt.X("x", type="quantitative", scale=alt.Scale(type="log")).title(across)
    scale = alt.Scale(type="log", nice=False, padding=8)
    y = alt.Y("y", type="quantitative", scale=scale).title(f"{up}, percent")
    line = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2, color=ACCENT, point={"color": ACCENT, "size": 24})
        .encode(x=x, y=y)
    )
    mark = (
        alt.Chart(alt.InlineData(values=[{"x": chosen[0], "y": 100 * chosen[1]}]))
        .mark_point(shape="diamond", size=140, color=INK, strokeWidth=2)
        .encode(x=x, y=y)
    )
    chart = alt.layer(line, mark).properties(width=560, height=280)
    return drawn(chart.to_dict(validate=False), f"{up} against {across}")


def _texts(points: Points) -> list[tuple[str, str]]:
    return [(f"{x:,.4g}", short_percent(y)) for x, y in points]
