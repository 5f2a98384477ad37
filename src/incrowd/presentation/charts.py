"""Charts as inline SVG: drawn here, offline, by vl-convert; colored by the page's style sheet."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any, NamedTuple

import vl_convert
from markupsafe import Markup, escape
from rich.cells import cell_len

from incrowd.presentation.shell import INK, LINE, MUTED, rendered
from incrowd.presentation.shown import Shown

# The style sheet asks for fonts as wide as the one Vega measures the labels with.
FONT = "sans-serif"
MOST_CELLS = 200
MOST_LETTERS = 40  # of a question, in a chart

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
# Of a picture that is named as a whole its parts need no names.
_UNSAID = re.compile(r' (?:role="graphics-[a-z]+"|aria-roledescription="[^"]*")')


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
    answers = list(dict.fromkeys(cell.answer[-1] for cell in item.cells))
    # Room for the longest name, as far as it goes; 7 pixels are a roomy character.
    labels = min(max(map(cell_len, answers)) * 7 + 26, size.most_labels)
    groups = list(dict.fromkeys(cell.answer[:-1] for cell in item.cells))
    questions = tuple(map(shortened, item.table.questions))
    headings = [group_heading(questions, group) for group in groups]
    place = {group: number for number, group in enumerate(groups)}
    return drawn(
        "table.json",
        label,
        values=[
            cell._asdict() | {"group": place[cell.answer[:-1]], "answer": cell.answer[-1]}
            for cell in item.cells
        ],
        answers=answers,
        labels=labels,
        plot=size.total - labels,
        domain=_domain(item),
        has_truth=item.has_truth,
        # Groups are numbered, not named, so that two answers that read alike never share a plot.
        headings=f"{json.dumps(headings)}[datum.value]" if len(item.table.questions) > 1 else "",
    )


def _domain(item: Shown) -> list[float]:
    """Zero, everything that is drawn, and a little room at both ends."""
    ends = [v for c in item.cells for v in (c.low, c.high, c.truth) if v is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.03 * (high - low) or 0.01
    return [low - room, high + room]


def group_heading(questions: tuple[str, ...], group: tuple[str, ...]) -> str:
    """What heads a small multiple: the answers to all questions but the last."""
    pairs = zip(questions, group, strict=False)
    return ", ".join(f"{question}: {answer}" for question, answer in pairs)


def shortened(wording: str) -> str:
    """The beginning of a wording, so that the answer behind it is seen as well."""
    return textwrap.shorten(wording, MOST_LETTERS, placeholder=" …")


def drawn(template: str, label: str, **parts: Any) -> Markup:
    """A template of Vega-Lite's JSON as an <svg> element, with that label."""
    spec = json.loads(rendered(template, **parts))
    return inline(vl_convert.vegalite_to_svg(spec, config=CONFIG, allowed_base_urls=[]), label)


def inline(svg: str, label: str) -> Markup:
    """Make the picture scale with the page, and name it for those who cannot see it."""
    view = re.search(r'viewBox="[^"]*"', svg)
    width = re.search(r'width="([\d.]+)"', svg)
    body = _UNSAID.sub("", _UNSEEN.sub("", svg[svg.index(">") + 1 :]))
    name = escape(label)
    return Markup(
        f'<svg {view and view[0]} style="width:{width and width[1]}px" role="img" '
        f'aria-label="{name}"><title>{name}</title>{body}'
    )
