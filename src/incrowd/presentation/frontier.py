"""Error against reports a person and against epsilon, as one HTML page, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import altair as alt
import pyarrow as pa
import vl_convert

from incrowd.presentation.charts import ACCENT, INK, config, inline
from incrowd.presentation.number_text import short_percent
from incrowd.presentation.style import style_sheet

Points = Sequence[tuple[float, float]]


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
    name = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{name}</title>\n<style>{style_sheet()}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>What a sharper answer costs</h1>\n<p>{name}. Every point is a certified plan; the "
        "diamond is the survey as it stands.</p>\n"
        f"<h2>More reports from each person</h2>\n"
        f"{_svg(reports, 'reports a person may send', what, (sent, error))}\n"
        f"<h2>Less privacy</h2>\n{_svg(epsilons, 'epsilon', what, (epsilon, error))}\n"
        f"{_numbers('reports a person', reports)}{_numbers('epsilon', epsilons)}"
        "</main>\n</body>\n</html>\n"
    )


def _svg(points: Points, across: str, up: str, chosen: tuple[float, float]) -> str:
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
    svg = vl_convert.vegalite_to_svg(
        chart.to_dict(validate=False), config=config(), allowed_base_urls=[]
    )
    return inline(svg, f"{up} against {across}")


def _numbers(name: str, points: Points) -> str:
    rows = "".join(f"<tr><td>{x:,.4g}</td><td>{short_percent(y)}</td></tr>\n" for x, y in points)
    head = f"<tr><th>{name}</th><th>standard error</th></tr>"
    return f"<table><thead>{head}</thead>\n<tbody>\n{rows}</tbody></table>\n"
