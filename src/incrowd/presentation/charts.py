"""Charts as inline SVG: drawn here, offline, by vl-convert; colored by the page's style sheet."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.csv
import vl_convert
from markupsafe import Markup, escape
from rich.cells import cell_len

from incrowd.catalog.sentences import ENGLISH, translated
from incrowd.estimation.displayed import Shown
from incrowd.files import replaced, write_text
from incrowd.number_text import bound, short_percent
from incrowd.plans import Plan
from incrowd.presentation.shell import INK, LINE, MUTED, rendered
from incrowd.views import CurvePlot, IntervalPlot

# The fonts of the style sheet are as wide as this one, with which Vega measures labels.
FONT = "sans-serif"
MOST_CELLS = 200
MOST_LETTERS = 40  # of the wording of a question in a chart
MOST_LABEL_LINES = 4
LABEL_LINE = 15  # pixels of a line of a label
LETTER = 7  # pixels of a wide letter
LOCALES: Mapping[str, Any] = {"de": "de-DE"}  # of d3, for numbers; English is its own

Limits = tuple[float, float]

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


def chart_svg(item: Shown, size: Size, label: str, language: str = ENGLISH) -> Markup:
    """Return one table as an <svg> element: a bar for the interval of each cell, a mark for its
    estimate, and the truth if known. The axis has no impossible shares: what lies beyond is cut off
    at an arrow.

    The answers to the last question are at the side; those to the others are the headings of small
    multiples with a common axis. label: plain text for screen readers. Needs no script and no
    network.
    """
    return drawn("table.json", label, language, **_chart_parts(item, size, language))


def chart_spec(item: Shown, size: Size) -> dict[str, Any]:
    """Return the same chart as a Vega-Lite specification."""
    return specification("table.json", **_chart_parts(item, size, ENGLISH))


def _chart_parts(item: Shown, size: Size, language: str) -> dict[str, Any]:
    answers = list(dict.fromkeys(cell.answer[-1] for cell in item.cells))
    names = [str(translated(answer, language)) for answer in answers]
    labels = label_room(names, size)
    groups = list(dict.fromkeys(cell.answer[:-1] for cell in item.cells))
    questions = tuple(map(shortened, item.table.questions))
    headings = [
        group_heading(questions, tuple(translated(answer, language) for answer in group))
        for group in groups
    ]
    place = {group: number for number, group in enumerate(groups)}
    row = {answer: number for number, answer in enumerate(answers)}
    domain = _domain(item)
    return {
        "values": [
            {
                "group": place[cell.answer[:-1]],
                "answer": cell.answer[-1],
                "place": row[cell.answer[-1]],
                "truth": cell.truth,
                **cut_off(cell.estimate, cell.low, cell.high, (0.0, 1.0), domain),
            }
            for cell in item.cells
        ],
        "names": (wrapped := [label_lines(name, labels - 26) for name in names]),
        "step": row_step(wrapped),
        "labels": labels,
        "plot": size.total - labels,
        "domain": domain,
        "across": str(translated(item.table.provenance.axis, language)),
        "has_truth": item.has_truth,
        # Groups are numbered, so that two answers with the same label never share a plot.
        "headings": f"{json.dumps(headings)}[datum.value]" if len(item.table.questions) > 1 else "",
    }


def _domain(item: Shown) -> list[float]:
    """Return the range of zero and everything possible that is drawn, with some space."""
    ends = [v for c in item.cells for v in (c.high, c.truth) if v is not None]
    high = min(max(0.0, *ends), 1.0) or 0.01
    return [0.0, high if high == 1 else min(1.03 * high, 1.0)]


class CutInterval(TypedDict):
    """What is drawn of a figure. below, above: where an arrow says that its interval goes on."""

    estimate: float | None
    low: float
    high: float
    below: float | None
    above: float | None


def cut_off(
    estimate: float, low: float, high: float, limits: Limits | None, domain: Sequence[float]
) -> CutInterval:
    """Return what is drawn of a figure within the domain of an axis. limits: of possible values."""
    least, most = limits or (-math.inf, math.inf)
    first, last = domain
    drawn = max(low, first), min(high, last)
    return {
        "estimate": estimate if first <= estimate <= last else None,
        "low": min(drawn[0], last),
        "high": max(drawn[1], first),
        "below": first if low < max(least, first) else None,
        "above": last if high > min(most, last) else None,
    }


def label_room(names: Iterable[str], size: Size) -> int:
    """Return the pixels of the longest label, up to the limit; a wide character has 7."""
    longest = max((cell_len(name) for name in names), default=0)
    return min(longest * LETTER + 26, size.most_labels)


def label_lines(name: str, pixels: int) -> list[str]:
    """Return the lines of a label. Words that are too long are broken anywhere."""
    letters = max(pixels // LETTER, 6)
    return textwrap.wrap(name, letters, max_lines=MOST_LABEL_LINES, placeholder=" …") or [""]


def row_step(labels: Sequence[Sequence[str]]) -> int:
    """Return the height of a row in pixels: that of the label with the most lines."""
    return max(26, *(LABEL_LINE * len(lines) + 8 for lines in labels))


def group_heading(questions: tuple[str, ...], group: tuple[str, ...]) -> str:
    """Return the heading of a small multiple: the answers to all questions but the last."""
    pairs = zip(questions, group, strict=False)
    return ", ".join(f"{question}: {answer}" for question, answer in pairs)


def shortened(wording: str) -> str:
    """Return the beginning of a wording, so that there is room for the answer after it."""
    return textwrap.shorten(wording, MOST_LETTERS, placeholder=" …")


def drawn(template: str, label: str, language: str = ENGLISH, **parts: Any) -> Markup:
    """Draw a Vega-Lite template as an <svg> element with a label. language: of its numbers."""
    spec = json.loads(rendered(template, **parts))
    svg = vl_convert.vegalite_to_svg(
        spec, config=CONFIG, allowed_base_urls=[], format_locale=LOCALES.get(language)
    )
    return inline(svg, label)


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


def intervals_svg(plot: IntervalPlot, size: Size, label: str, language: str = ENGLISH) -> Markup:
    """Return groups of intervals with a heading each, on a common linear axis, as an <svg> element.

    An estimate that is nan is not drawn. Where an interval goes beyond what is possible, or has no
    end, it is cut off at an arrow. label: plain text for screen readers.
    """
    every = [line for _, each in plot.groups for line in each if math.isfinite(line.estimate)]
    least, most = plot.limits or (-math.inf, math.inf)
    ends = [end for line in every for end in line[1:] if math.isfinite(end)]
    low, high = max(min(0.0, *ends, 0.0), least), min(max(0.0, *ends, 0.0), most)
    room = 0.03 * (high - low) or 0.01
    domain = [max(low - room, least) if low else 0.0, min(high + room, most)]
    names = [str(translated(line.label, language)) for line in every]
    labels = label_room(names, size)
    place = {line.label: number for number, line in enumerate(every)}
    values = [
        {
            "group": number,
            "answer": line.label,
            "place": place[line.label],
            **cut_off(line.estimate, line.low, line.high, plot.limits, domain),
        }
        for number, (_, each) in enumerate(plot.groups)
        for line in each
        if math.isfinite(line.estimate)
    ]
    headings = [shortened(str(translated(heading, language))) for heading, _ in plot.groups]
    return drawn(
        "forest.json",
        label,
        language,
        values=values,
        names=(wrapped := [label_lines(name, labels - 26) for name in names]),
        step=row_step(wrapped or [[""]]),
        headings=f"{json.dumps(headings)}[datum.value]",
        labels=labels,
        plot=size.total - labels,
        domain=domain,
        across=str(translated(plot.across, language)),
        nothing=0,
        number=".4~r",
        scale="linear",
    )


def curves_svg(plot: CurvePlot, size: Size, label: str, language: str = ENGLISH) -> Markup:
    """Return curves over one axis, with their names above them, as an <svg> element."""
    names = [str(translated(name, language)) for name, _ in plot.curves]
    values = [
        {"curve": name, "x": x, "y": y}
        for name, (_, points) in zip(names, plot.curves, strict=True)
        for x, y in points
        if math.isfinite(y)
    ]
    across, up = (str(translated(each, language)) for each in (plot.across, plot.up))
    return drawn(
        "lines.json", label, language, values=values, names=names, across=across, up=up, size=size
    )


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
