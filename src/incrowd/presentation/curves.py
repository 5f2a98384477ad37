"""Delta against epsilon as one HTML page, for all analyses."""

from __future__ import annotations

from html import escape

import altair as alt
import numpy as np
import vl_convert

from incrowd.presentation.charts import ACCENT, INK, MUTED, config, inline
from incrowd.presentation.number_text import bound
from incrowd.presentation.style import style_sheet

FLOOR = 1e-16  # smaller bounds are left out of the picture, not of the csv


def curve_page(title: str, epsilons: np.ndarray, found: dict[str, np.ndarray]) -> str:
    """A self-contained page: one line an analysis, delta on a logarithmic scale, and the numbers.

    epsilons: shape (points,). found: certified bounds of delta of each analysis, same shape.
    """
    name = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{name}</title>\n<style>{style_sheet()}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>What the noise guarantees</h1>\n<p>{name}</p>\n{_svg(epsilons, found)}\n{_READ}"
        f"{_table(epsilons, found)}</main>\n</body>\n</html>\n"
    )


_READ = (
    "<p>Each line is the certified delta at that epsilon: <b>blanket</b> is a guarantee for every "
    "collection in which the whole crowd is honest; <b>local</b> trusts nobody; <b>outlier</b> is "
    "exact for homogeneous crowds and a lower bound on the worst case, so no guarantee.</p>\n"
)


def _svg(epsilons: np.ndarray, found: dict[str, np.ndarray]) -> str:
    rows = [
        {"epsilon": float(e), "delta": float(d), "analysis": analysis}
        for analysis, deltas in found.items()
        for e, d in zip(epsilons, deltas, strict=True)
        if d >= FLOOR
    ]
    names = list(found)
    colors = alt.Scale(domain=names, range=[ACCENT, INK, MUTED][: len(names)])
    dashes = alt.Scale(domain=names, range=[[1, 0], [6, 3], [2, 2]][: len(names)])
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("epsilon", type="quantitative"),
            y=alt.Y("delta", type="quantitative", scale=alt.Scale(type="log"))
            .title("delta")
            .axis(format=".0e", grid=True),
            color=alt.Color("analysis", type="nominal", scale=colors).legend(orient="top"),
            strokeDash=alt.StrokeDash("analysis", type="nominal", scale=dashes),
        )
        .properties(width=560, height=340)
    )
    svg = vl_convert.vegalite_to_svg(
        chart.to_dict(validate=False), config=config(), allowed_base_urls=[]
    )
    return inline(svg, "delta against epsilon for each analysis")


def _table(epsilons: np.ndarray, found: dict[str, np.ndarray]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ("epsilon", *found))
    body = "".join(
        f"<tr><td>{epsilon:.4g}</td>"
        + "".join(f"<td>{bound(deltas[i], 4)}</td>" for deltas in found.values())
        + "</tr>\n"
        for i, epsilon in enumerate(epsilons)
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n"
