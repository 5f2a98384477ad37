"""The pictures of the page on the empty seat: what is published, the noise, the errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import altair as alt
import numpy as np
from charts import COLORS, FREE_BIT, HEIGHT, WIDTH, axis, lines, to_svg
from sketches import ACCENT, INK, LINE, MUTED, WARN, box, document, dot, text

import incrowd

PEOPLE = ["Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ida", "Jon"]
COMMON = {"Cleo", "Eve", "Hana"}  # who drew from the common law
BOUNDS = {"blanket": "blanket", "empty seat": "seat", "homogeneous crowds": "outlier"}
HEALTH = [FREE_BIT] * 2 + [incrowd.Domain(options, 1, 1) for options in (4, 4, 5)]
TWELVE = [FREE_BIT] * 4 + [incrowd.Domain(options, 1, 1) for options in (3, 4, 5, 6)] * 2
SURVEYS = {
    "2 yes/no, 3 choices; 20,000 people; epsilon 1": (HEALTH, 20_000, 1.0, 1e-6),
    "4 yes/no, 8 choices; 50,000 people; epsilon 1": (TWELVE, 50_000, 1.0, 1e-6),
    "40 yes/no; 10,000,000 people; epsilon 2": ([FREE_BIT] * 40, 10**7, 2.0, 1e-8),
}


def published() -> str:
    """Return what the blanket and the empty seat publish about nine other people."""
    rows = [
        ("The blanket: whoever sent a draw from her own law is named.", COMMON,
         "Ann hides among the reports without a name: three, and hers."),
        ("The empty seat: all are named, but one got up, and Ann sat down.", set(PEOPLE),
         "In whose place? She hides among all nine."),
    ]  # fmt: skip
    parts = []
    for row, (above, hiding, below) in enumerate(rows):
        top = 24 + 136 * row
        parts += [text(20, top, above, at="start"), text(20, top + 88, below, MUTED, 13, "start")]
        for place, name in enumerate(PEOPLE):
            shown = "?" if name in hiding and hiding is COMMON else name
            parts += _seat(20 + 54 * place, top + 14, shown, name in hiding)
    return document(262, parts)


def _seat(x: float, y: float, name: str, hides: bool) -> list[str]:
    frame, fill = (ACCENT, ACCENT) if hides else (LINE, MUTED)
    caption = text(x + 24, y + 42, name, WARN if name == "?" else INK, 13)
    return [box(x, y, 48, 52, frame), dot(x + 24, y + 17, fill), caption]


def seat_noise() -> str:
    """Return the noise of 8 yes/no questions against the crowd, and what is above the homogeneous
    one."""
    crowds = np.geomspace(1000, 1e7, 17).round().astype(int).tolist()
    found = {
        name: [_noise(analysis, [FREE_BIT] * 8, crowd, 1.0, 1e-6) for crowd in crowds]
        for name, analysis in BOUNDS.items()
    }
    least = np.array([_variance(flip, 1) for flip in found["homogeneous crowds"]])
    noise, excess = [], []
    for name, flips in found.items():
        above = 100 * (np.array([_variance(flip, 1) for flip in flips]) / least - 1)
        for crowd, flip, more in zip(crowds, flips, above.tolist(), strict=True):
            noise.append({"crowd": crowd, "value": 100 * flip.q, "name": name})
            excess.append({"crowd": crowd, "value": round(more, 6), "name": name})
    x = axis(alt.X, "crowd", "people in the crowd", type="log", form="~s", domain=[1000, 1e7])
    names = list(BOUNDS)
    flipped = axis(alt.Y, "value", "bits that are flipped, percent", domain=[0, 45])
    more = axis(alt.Y, "value", "more noise variance, percent", domain=[0, 60])
    panels = [lines(noise, x, flipped, names), lines(excess, x, more, names[:2])]
    return to_svg(alt.vconcat(*panels, spacing=18).resolve_legend(color="shared"))


def seat_errors() -> str:
    """Return the standard error of a share of one half, for three surveys, beside the blanket's."""
    rows = []
    for survey, (domains, *promise) in SURVEYS.items():
        errors = {
            name: (_variance(_noise(analysis, domains, *promise), 1) + 0.25) ** 0.5
            for name, analysis in BOUNDS.items()
        }
        rows += [
            {"survey": survey, "name": name, "error": round(100 * error / errors["blanket"], 4)}
            for name, error in errors.items()
        ]
    x = axis(alt.X, "error", "standard error of a yes/no share; blanket = 100", domain=[88, 101])
    y = alt.Y("survey", type="nominal", title=None, sort=list(SURVEYS))
    y = y.axis(labelLimit=320, labelFontSize=12)
    scale = alt.Scale(domain=list(BOUNDS), range=COLORS[:3])
    shape = alt.Scale(domain=list(BOUNDS), range=["circle", "diamond", "cross"])
    legend = alt.Legend(orient="top", title=None, labelFontSize=12)
    dots = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(size=90, opacity=1, strokeWidth=2)
        .encode(x, y, alt.Color("name", type="nominal", scale=scale, legend=legend))
        .encode(alt.Shape("name", type="nominal", scale=shape, legend=legend))
        .properties(width=WIDTH - 120, height=HEIGHT / 2)
    )
    return to_svg(dots)


def _noise(
    analysis: str, domains: Sequence[incrowd.Domain], crowd: int, epsilon: float, delta: float
) -> incrowd.BitFlip:
    def sent(flip: incrowd.BitFlip) -> incrowd.Schema:
        return incrowd.Schema.uniform(domains, flip)

    return incrowd.smallest_noise(analysis, sent, crowd, epsilon, delta)


def _variance(flip: incrowd.BitFlip, people: int) -> float:
    """Return the variance of a share by the noise alone: p q / (p - q)^2 / people."""
    return flip.p * flip.q / (flip.p - flip.q) ** 2 / people


PICTURES: dict[str, Callable[[], str]] = {
    "published": published,
    "seat-noise": seat_noise,
    "seat-errors": seat_errors,
}
