"""Charts as inline SVG: drawn here, offline, by vl-convert; colored by the page's style sheet."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import vl_convert
from markupsafe import Markup, escape
from rich.cells import cell_len

from incrowd.estimation.displayed import Shown
from incrowd.files import replaced, write_text
from incrowd.number_text import bound, short_percent
from incrowd.plans import Plan
from incrowd.presentation.shell import INK, LINE, MUTED, rendered
from incrowd.views import LabeledInterval

# The fonts of the style sheet are as wide as this one, with which Vega measures labels.
FONT = "sans-serif"
MOST_CELLS = 200
MOST_LETTERS = 40  # of the wording of a question in a chart

_TEXT = {"labelFont": FONT, "labelFontSize": 12, "titleFont": FONT, "titleFontSize": 12}
_QUIET = {"domain": False, "ticks": False, "titleColor": MUTED, "titleFontWeight": "normal"}
CONFIG: dict[str, Any] = {
    "aria": False,
    "background": None,
    "font": FONT,
    "padding": 2,
    "view": {"stroke": None},
    "header": {**_TEXT, "labelColor": INK, "labelFontWeight": "bold"},
    "axisX": {**_TEXT, **_QUIET, "labelColor": MUTED, "gridColor": LINE},
    "axisY": {**_TEXT, **_QUIET, "labelColor": INK, "grid": False},
}
# The empty frames that Vega draws around every group: a third of the text, and invisible.
_INVISIBLE = re.compile(r'<path class="(?:back|fore)ground"[^<>]*/>')
# A picture with one label needs no roles and labels for its parts.
_ROLES = re.compile(r' (?:role="graphics-[a-z]+"|aria-roledescription="[^"]*"|aria-label="[^"]*")')


class Size(NamedTuple):
    """The size in pixels: the width of a chart, and the largest part of it for the labels at the
    side."""

    total: int
    most_labels: int


WIDE = Size(total=560, most_labels=200)
NARROW = Size(total=346, most_labels=130)


def chart_svg(item: Shown, size: Size, label: str) -> Markup:
    """Return one table as an <svg> element: point and interval for each cell, and the truth if
    known.

    The answers to the last question are at the side; those to the others are the headings of small
    multiples with a common axis. label: plain text for screen readers. Needs no script and no
    network.
    """
    return drawn("table.json", label, **_chart_parts(item, size))


def chart_spec(item: Shown, size: Size) -> dict[str, Any]:
    """Return the same chart as a Vega-Lite specification."""
    return specification("table.json", **_chart_parts(item, size))


def _chart_parts(item: Shown, size: Size) -> dict[str, Any]:
    answers = list(dict.fromkeys(cell.answer[-1] for cell in item.cells))
    # Room for the longest label, up to the limit; a wide character has 7 pixels.
    labels = min(max(map(cell_len, answers)) * 7 + 26, size.most_labels)
    groups = list(dict.fromkeys(cell.answer[:-1] for cell in item.cells))
    questions = tuple(map(shortened, item.table.questions))
    headings = [group_heading(questions, group) for group in groups]
    place = {group: number for number, group in enumerate(groups)}
    return {
        "values": [
            cell._asdict() | {"group": place[cell.answer[:-1]], "answer": cell.answer[-1]}
            for cell in item.cells
        ],
        "answers": answers,
        "labels": labels,
        "plot": size.total - labels,
        "domain": _domain(item),
        "has_truth": item.has_truth,
        # Groups are numbered, so that two answers with the same label never share a plot.
        "headings": f"{json.dumps(headings)}[datum.value]" if len(item.table.questions) > 1 else "",
    }


def _domain(item: Shown) -> list[float]:
    """Return the range of zero and everything that is drawn, with some space at both ends."""
    ends = [v for c in item.cells for v in (c.low, c.high, c.truth) if v is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.03 * (high - low) or 0.01
    return [low - room, high + room]


def group_heading(questions: tuple[str, ...], group: tuple[str, ...]) -> str:
    """Return the heading of a small multiple: the answers to all questions but the last."""
    pairs = zip(questions, group, strict=False)
    return ", ".join(f"{question}: {answer}" for question, answer in pairs)


def shortened(wording: str) -> str:
    """Return the beginning of a wording, so that there is room for the answer after it."""
    return textwrap.shorten(wording, MOST_LETTERS, placeholder=" …")


def drawn(template: str, label: str, **parts: Any) -> Markup:
    """Draw a Vega-Lite template as an <svg> element with a label."""
    spec = json.loads(rendered(template, **parts))
    return inline(vl_convert.vegalite_to_svg(spec, config=CONFIG, allowed_base_urls=[]), label)


def specification(template: str, **parts: Any) -> dict[str, Any]:
    """Return a Vega-Lite template with the configuration of all charts, on white, to draw
    elsewhere."""
    spec: dict[str, Any] = json.loads(rendered(template, **parts))
    return spec | {"config": CONFIG | {"background": "white"}}


def inline(svg: str, label: str) -> Markup:
    """Make a picture scale with the page, and label it for screen readers."""
    view = re.search(r'viewBox="[^"]*"', svg)
    width = re.search(r'width="([\d.]+)"', svg)
    body = _ROLES.sub("", _INVISIBLE.sub("", svg[svg.index(">") + 1 :]))
    name = escape(label)
    return Markup(
        f'<svg {view and view[0]} width="{width and width[1]}" role="img" '
        f'aria-label="{name}"><title>{name}</title>{body}'
    )


def intervals_svg(
    groups: Sequence[tuple[str, Sequence[LabeledInterval]]], across: str, size: Size, label: str
) -> Markup:
    """Return groups of intervals with a heading each, on a common linear axis, as an <svg> element.

    across: the name of the axis. An estimate that is nan is not drawn; an infinite end lies at the
    edge. label: plain text for screen readers.
    """
    ends = [end for _, each in groups for line in each for end in line[1:] if math.isfinite(end)]
    low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    room = 0.03 * (high - low) or 0.01
    domain = [low - room, high + room]
    values = [
        {"group": number, "answer": line.label, **_within(line, domain)}
        for number, (_, each) in enumerate(groups)
        for line in each
        if math.isfinite(line.estimate)
    ]
    longest = max((cell_len(str(each["answer"])) for each in values), default=0)
    labels = min(longest * 7 + 26, size.most_labels)
    return drawn(
        "forest.json",
        label,
        values=values,
        headings=f"{json.dumps([shortened(heading) for heading, _ in groups])}[datum.value]",
        labels=labels,
        plot=size.total - labels,
        domain=domain,
        across=across,
        nothing=0,
        number=".4~r",
        scale="linear",
    )


def _within(line: LabeledInterval, domain: Sequence[float]) -> dict[str, float]:
    low, high = domain
    ends = {"estimate": line.estimate, "low": line.low, "high": line.high}
    return {name: min(max(end, low), high) for name, end in ends.items()}


# Pictures as files of their own, with a title and a white background.

LINE_HEIGHT = 20  # pixels of a line of the title
MOST_TITLE_LINES = 2
_VIEW = re.compile(r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)" width="[\d.]+"')
DOTS = 3.0  # of a bitmap, for each pixel


def svg_file(chart: str, title: str) -> str:
    """Return a chart, as `drawn` gives it, as the text of an .svg file with a title in it."""
    view = _VIEW.match(chart)
    assert view
    letters = int(float(view[1]) / 8)
    lines = textwrap.wrap(title, letters, max_lines=MOST_TITLE_LINES, placeholder=" …")
    above = LINE_HEIGHT * len(lines) + 14
    width, height = float(view[1]), float(view[2]) + above
    heading = "".join(
        f'<text x="4" y="{LINE_HEIGHT * (number + 1) - above}" font-family="{FONT}" '
        f'font-size="14" font-weight="bold" fill="{INK}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {-above} {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}"{chart[view.end() : chart.index(">") + 1]}'
        f'<rect y="{-above}" width="{width:g}" height="{height:g}" fill="#ffffff"/>'
        f"{heading}{chart[chart.index('>') + 1 :]}"
    )


def png_file(chart: str, title: str) -> bytes:
    """Return a chart as a .png file, with three dots for each pixel."""
    return bytes(vl_convert.svg_to_png(svg_file(chart, title), scale=DOTS))


# Curves as HTML pages: delta against epsilon, and error against its costs.

Points = Sequence[tuple[float, float]]
FLOOR = 1e-16  # smaller bounds are not drawn; the .csv file has them


def curve_page(title: str, epsilons: np.ndarray, bounds: dict[str, np.ndarray]) -> str:
    """Return a self-contained page: a curve for each analysis, delta on a log scale, and the
    numbers.

    epsilons: shape (points,). bounds: certified bounds on delta by each analysis, same shape.
    """
    rows = [
        (f"{epsilon:.4g}", *(bound(deltas[i], 4) for deltas in bounds.values()))
        for i, epsilon in enumerate(epsilons)
    ]
    label = "delta against epsilon for each analysis"
    chart = drawn("curves.json", label, **curve_parts(epsilons, bounds))
    return rendered("curves.html", title=title, chart=chart, names=("epsilon", *bounds), rows=rows)


def curve_parts(epsilons: np.ndarray, bounds: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return what the template of curves needs; epsilons, bounds: as in `curve_page`."""
    values = [
        {"epsilon": float(e), "delta": float(d), "analysis": analysis}
        for analysis, deltas in bounds.items()
        for e, d in zip(epsilons, deltas, strict=True)
        if d >= FLOOR
    ]
    return {"values": values, "names": list(bounds)}


class FrontierCurves(NamedTuple):
    """Curves of certified plans; each point is a value and the standard error, a proportion.

    reports, epsilons, local_epsilons: the values are the reports that a person may send, epsilon,
    and the epsilon that is left without the shuffler (no points if the analysis relies on none).
    sent, epsilon, error: those of the survey's plan. objective: whether errors are the largest or
    the mean over the wanted tables.
    """

    reports: Points
    epsilons: Points
    local_epsilons: Points
    sent: float
    epsilon: float
    error: float
    objective: str


class _Curve(NamedTuple):
    """across: the name of its values. more: an addition on the axis. chosen: the survey's value."""

    heading: str
    caption: str
    across: str
    more: str
    points: Points
    chosen: float


def _curves(curves: FrontierCurves) -> Iterator[_Curve]:
    reports = "reports per person"
    yield _Curve(
        "More reports from each person",
        "",
        reports,
        " that may be sent",
        curves.reports,
        curves.sent,
    )
    yield _Curve("Less privacy", "", "epsilon", "", curves.epsilons, curves.epsilon)
    if curves.local_epsilons:
        chosen, _ = curves.local_epsilons[0]
        yield _Curve(
            "What the shuffler adds",
            "If the shuffler failed, only the local epsilon would remain of the promise. "
            "Without a limit the plan is as precise as the mixing allows; local_epsilon in "
            "[privacy] moves it to the left. At the left end no mixing is needed.",
            "local epsilon",
            ", if the shuffler fails",
            curves.local_epsilons,
            chosen,
        )


def frontier_table(curves: FrontierCurves) -> pa.Table:
    """Return a row for each point: curve, value, and the standard error as a proportion."""
    rows = [(curve.across, float(x), y) for curve in _curves(curves) for x, y in curve.points]
    names = ("curve", "value", "standard_error")
    return pa.table({n: [row[i] for row in rows] for i, n in enumerate(names)})


def _value(x: float) -> str:
    return f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"


def frontier_page(title: str, curves: FrontierCurves) -> str:
    """Return a self-contained page with all curves and their points."""
    up = f"standard error, {curves.objective} of the wanted tables"
    charts, tables = [], []
    for curve in _curves(curves):
        axes = {"across": curve.across + curve.more, "up": "standard error"}
        label = f"{up} against {axes['across']}"
        chosen = curve.chosen, curves.error
        svg = drawn("frontier.json", label, points=curve.points, chosen=chosen, **axes)
        charts.append((curve.heading, curve.caption, svg))
        tables.append((curve.across, [(_value(x), short_percent(y)) for x, y in curve.points]))
    return rendered("frontier.html", title=title, up=up, charts=charts, tables=tables)


def write_frontier(
    plan: Plan, error: float, reports: Points, epsilons: Points, local: Points, path: Path
) -> None:
    """Write the curves as a page, and a .csv beside it. error: the error of this plan."""
    survey = plan.survey
    sent = sum(message.reports_each for message in plan.messages)
    chosen = sent, survey.privacy.epsilon, error, survey.objective
    curves = FrontierCurves(reports, epsilons, local, *chosen)
    write_text(path, frontier_page(survey.name, curves))
    with replaced(path.with_suffix(".csv")) as temporary:
        pyarrow.csv.write_csv(frontier_table(curves), temporary)
