"""Delta against epsilon as one HTML page, for all analyses."""

from __future__ import annotations

import altair as alt
import numpy as np
from markupsafe import Markup

from incrowd.presentation.charts import ACCENT, INK, MUTED, drawn
from incrowd.presentation.number_text import bound
from incrowd.presentation.shell import rendered

FLOOR = 1e-16  # smaller bounds are left out of the picture, not of the csv


def curve_page(title: str, epsilons: np.ndarray, found: dict[str, np.ndarray]) -> str:
    """A self-contained page: one line an analysis, delta on a logarithmic scale, and the numbers.

    epsilons: shape (points,). found: certified bounds of delta of each analysis, same shape.
    """
    rows = [
        (f"{epsilon:.4g}", *(bound(deltas[i], 4) for deltas in found.values()))
        for i, epsilon in enumerate(epsilons)
    ]
    names, chart = ("epsilon", *found), _svg(epsilons, found)
    return rendered("curves.html", title=title, chart=chart, names=names, rows=rows)


def _svg(epsilons: np.ndarray, found: dict[str, np.ndarray]) -> Markup:
    rows = [
        {"epsilon": float(e), "delta": float(d), "analysis": analysis}
        for analysis, deltas in found.items()
        for e, d in zip(epsilons, deltas, strict=True)
        if d >= FLOOR
    ]
    names = list(found)
    colors = alt.Scale(domain=names, range=[ACCENT, ACCENT, INK, INK, MUTED][: len(names)])
    dashes = alt.Scale(domain=names, range=[[1, 0], [6, 3], [1, 0], [6, 3], [2, 2]][: len(names)])
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
    return drawn(chart.to_dict(validate=False), "delta against epsilon for each analysis")
