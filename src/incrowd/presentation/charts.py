"""Charts as inline SVG: drawn here, offline, by vl-convert; colored by the page's style sheet."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import vl_convert
from markupsafe import Markup, escape
from rich.cells import cell_len

from incrowd.presentation.data import Shown
from incrowd.presentation.shell import ACCENT, INK, LINE, MUTED

# The style sheet asks for fonts as wide as the one Vega measures the labels with.
FONT = "sans-serif"
MOST_CELLS = 200

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
# The empty frames that Vega draws around every group: a third of the text, nothing to see.
_UNSEEN = re.compile(r'<path class="(?:back|fore)ground"[^<>]*/>')


class Size(NamedTuple):
    """Pixels: the whole width of a chart, and what the labels down the side may take of it."""

    total: int
    most_labels: int


WIDE = Size(total=560, most_labels=200)
NARROW = Size(total=346, most_labels=130)


def chart_svg(item: Shown, size: Size, label: str) -> Markup:
    """One table as an <svg> element: point and interval for each cell, and the truth if known.

    The last question runs down the side; the answers to the others head small multiples that
    share one axis. label: what a screen reader says, plain text. Needs no script and no network.
    """
    spec = _chart(item, size).to_dict(validate=False)  # its parts were, when they were made
    return drawn(spec, label)


def drawn(spec: dict[str, Any], label: str) -> Markup:
    """A specification of Vega-Lite as an <svg> element, with that label."""
    return inline(vl_convert.vegalite_to_svg(spec, config=CONFIG, allowed_base_urls=[]), label)


def inline(svg: str, label: str) -> Markup:
    """Make the picture scale with the page, and name it for those who cannot see it."""
    view = re.search(r'viewBox="[^"]*"', svg)
    width = re.search(r'width="([\d.]+)"', svg)
    body = _UNSEEN.sub("", svg[svg.index(">") + 1 :])
    name = escape(label)
    return Markup(
        f'<svg {view and view[0]} style="width:{width and width[1]}px" role="img" '
        f'aria-label="{name}"><title>{name}</title>{body}'
    )


def _chart(item: Shown, size: Size) -> Any:
    questions, labels = item.table.questions, _label_width(_shown_answers(item), size)
    plot = size.total - labels
    groups = list(dict.fromkeys(cell.answer[:-1] for cell in item.cells))
    rows = [cell._asdict() | _place(cell.answer, groups) for cell in item.cells]
    layers = alt.layer(*_layers(item, labels, plot), data=alt.InlineData(values=rows))
    layers = layers.properties(width=plot, height=alt.Step(26))
    if len(questions) == 1:
        return layers
    headings = [group_heading(questions, group) for group in groups]
    return layers.facet(row=_facet(headings, plot), spacing=14)


def _shown_answers(item: Shown) -> list[str]:
    """The answers to the last question that are drawn, in order."""
    return list(dict.fromkeys(cell.answer[-1] for cell in item.cells))


def _label_width(names: Sequence[str], size: Size) -> int:
    """Room for the longest name, as far as it goes; 7 pixels are a roomy character."""
    return min(max(map(cell_len, names)) * 7 + 26, size.most_labels)


def _place(answer: tuple[str, ...], groups: list[tuple[str, ...]]) -> dict[str, Any]:
    return {"group": groups.index(answer[:-1]), "answer": answer[-1]}


def group_heading(questions: tuple[str, ...], group: tuple[str, ...]) -> str:
    """What heads a small multiple: the answers to all questions but the last."""
    pairs = zip(questions, group, strict=False)
    return ", ".join(f"{question}: {answer}" for question, answer in pairs)


def _facet(headings: list[str], plot: int) -> alt.Row:
    # Groups are numbered, not named, so that two answers that read alike never share a plot.
    header = alt.Header(
        labelExpr=f"{json.dumps(headings)}[datum.value]",
        labelOrient="top",
        labelAnchor="start",
        labelLimit=plot,
        labelPadding=6,
        title=None,
    )
    return alt.Row("group", type="ordinal", header=header)


def _layers(item: Shown, labels: int, plot: int) -> list[alt.Chart]:
    side = alt.Axis(labelLimit=labels - 26, minExtent=labels, maxExtent=labels, labelPadding=12)
    y = alt.Y("answer", type="nominal", sort=_shown_answers(item), title=None, axis=side)
    base, zero = alt.Chart().encode(y=y), alt.Chart().encode(x=alt.datum(0))
    low, estimate, truth = (_x(name, item, plot) for name in ("low", "estimate", "truth"))
    layers = [
        zero.mark_rule(color=MUTED, strokeWidth=1),
        base.mark_rule(color=ACCENT, strokeWidth=2).encode(x=low, x2="high"),
        base.mark_point(color=ACCENT, fill=ACCENT, size=46, opacity=1).encode(x=estimate),
    ]
    if item.has_truth:
        diamond = base.mark_point(shape="diamond", color=INK, size=150, strokeWidth=1.4, opacity=1)
        layers.append(diamond.encode(x=truth))
    return layers


def _x(field: str, item: Shown, plot: int) -> alt.X:
    axis = alt.Axis(format="~%", tickCount=plot // 60, grid=True)
    scale = alt.Scale(domain=_domain(item), nice=False)
    return alt.X(field, type="quantitative", title="share of people", axis=axis, scale=scale)


def _domain(item: Shown) -> list[float]:
    """Zero, everything that is drawn, and a little room at both ends."""
    ends = [v for c in item.cells for v in (c.low, c.high, c.truth) if v is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.03 * (high - low) or 0.01
    return [low - room, high + room]
