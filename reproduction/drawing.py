"""Draws the figures of the papers, and writes them and one page with all rows into a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup

from incrowd.files import replaced
from incrowd.presentation.charts import CONFIG, FONT, inline
from incrowd.presentation.shell import ACCENT, INK, LINE, MUTED
from reproduction.figure import Axis, Curve, Figure
from reproduction.figures import figures
from reproduction.page import figure_page, papers_page
from reproduction.row import Row

COLORS = (ACCENT, INK, MUTED)
DASHES = ([1, 0], [6, 3], [2, 2])
WIDTH, HEIGHT = 560, 320
MOST_DOTS = 40  # points that are drawn one by one


def write_papers(
    folder: Path, rows: Sequence[Row], progress: Callable[[str], None] | None = None
) -> list[Path]:
    """Write papers.html, and each figure as .svg and .html, into a folder; return the paths.

    progress: called with the name of each figure. Raises UsageError if a file cannot be written.
    """
    drawn = [(figure, svg(figure)) for figure in figures(progress)]
    texts = {"papers.html": papers_page(rows, [(f, _inline(f, s)) for f, s in drawn])}
    for figure, picture in drawn:
        texts[f"{figure.stem}.svg"] = picture
        texts[f"{figure.stem}.html"] = figure_page(figure, _inline(figure, picture))
    for name, text in texts.items():
        with replaced(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def svg(figure: Figure) -> str:
    """Return a figure as an SVG document on a white background, drawn offline."""
    spec = chart(figure).to_dict(validate=False)
    return str(vl_convert.vegalite_to_svg(spec, config=look(), allowed_base_urls=[]))


def look() -> dict[str, Any]:
    """Return the style of all charts: grid and legend in the page's colors, on white."""
    grid = {"grid": True, "gridColor": LINE, "labelFlush": False, "labelPadding": 7}
    axes = {name: CONFIG[name] | grid for name in ("axisX", "axisY")}
    legend = {"labelColor": INK, "labelFont": FONT, "labelFontSize": 12, "symbolOpacity": 1}
    return CONFIG | axes | {"background": "white", "padding": 12, "legend": legend}


def _inline(figure: Figure, picture: str) -> Markup:
    """Return the picture for a page, with colors from its style sheet and unique ids."""
    named = re.sub(r'(\bid="|url\(#)', rf"\1{figure.stem}-", picture)
    return inline(named.replace('fill="white"', 'fill="none"', 1), figure.title)


def chart(figure: Figure) -> Any:
    """Return a figure as an Altair chart: lines for joined curves, dots for the others."""
    names = [curve.name for curve in figure.curves]
    layers = [_layer(figure, curve, names) for curve in figure.curves]
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _layer(figure: Figure, curve: Curve, names: list[str]) -> Any:
    points = zip(curve.x.tolist(), curve.y.tolist(), strict=True)
    rows = [{"x": x, "y": y, "curve": curve.name} for x, y in points]
    lines = all(other.joined for other in figure.curves)
    looks = [_legend(alt.Color, names, COLORS, "stroke" if lines else "circle")]
    if lines:
        looks.append(_legend(alt.StrokeDash, names, DASHES, "stroke"))
    return _marked(alt.Chart(alt.InlineData(values=rows)), curve).encode(
        _scaled(alt.X, "x", figure.x), _scaled(alt.Y, "y", figure.y), *looks
    )


def _marked(base: alt.Chart, curve: Curve) -> Any:
    """Return lines, with dots if there are few points; or only dots."""
    if not curve.joined:
        size = 60 if len(curve.x) <= MOST_DOTS else 16
        return base.mark_circle(opacity=0.6, size=size, clip=True)
    dots = {"size": 22} if 2 < len(curve.x) <= MOST_DOTS else False
    return base.mark_line(strokeWidth=1.8, clip=True, point=dots)


def _scaled(channel: Any, field: str, axis: Axis) -> Any:
    scale = alt.Scale(
        type="log" if axis.log else "linear", domain=[axis.low, axis.high], nice=False, zero=False
    )
    return channel(field, type="quantitative", scale=scale, title=axis.title, axis=_ticks(axis))


def _ticks(axis: Axis) -> Any:
    if axis.labels:
        places, names = list(range(len(axis.labels))), json.dumps(axis.labels)
        return alt.Axis(values=places, labelExpr=f"{names}[datum.value]")
    return alt.Axis(tickCount=8, format="~g")


def _legend(channel: Any, names: list[str], values: Sequence[Any], symbol: str) -> Any:
    """Return one legend for colors and dashes, or none for a single curve."""
    scale = alt.Scale(domain=names, range=list(values[: len(names)]))
    legend = alt.Legend(orient="top", title=None, labelLimit=320, symbolType=symbol)
    return channel("curve", type="nominal", scale=scale, legend=legend if len(names) > 1 else None)
