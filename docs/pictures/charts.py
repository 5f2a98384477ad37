"""The charts of the manual: every number in them is computed here."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert
from scipy.stats import binom

import incrowd
from incrowd.planner.frontier import frontier
from incrowd.presentation.charts import CONFIG
from incrowd.presentation.shell import ACCENT, INK, MUTED
from reproduction.maximality import Mixed, one_bit_crowd, two_bits

WARN = "#8a4600"
WIDTH, HEIGHT = 430, 240
COLORS = [ACCENT, WARN, INK, MUTED]
DASHES = [[1, 0], [6, 3], [2, 2], [9, 3, 2, 3]]
HEALTH = Path(__file__).parents[2] / "examples" / "health.toml"
FREE_BIT = incrowd.Domain(1, 0, 1)
Rows = list[dict[str, Any]]


def to_svg(chart: Any) -> str:
    """Return a chart as SVG, in the look of the manual."""
    look = CONFIG | {
        "axisY": CONFIG["axisX"] | {"grid": True},
        "legend": {"labelColor": INK},
        "title": {"color": INK},
    }
    spec = _rounded(chart.to_dict(validate=False))
    return str(vl_convert.vegalite_to_svg(spec, config=look, allowed_base_urls=[]))


def _rounded(spec: Any) -> Any:
    """Return a specification whose numbers have nine digits: what comes after them differs by
    machine."""
    if isinstance(spec, dict):
        return {key: _rounded(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return list(map(_rounded, spec))
    return float(f"{spec:.9g}") if isinstance(spec, float) else spec


def lines(rows: Rows, x: alt.X, y: alt.Y, names: list[str]) -> Any:
    """Return one line for each name, told apart by color and by dash."""
    legend = alt.Legend(orient="top", title=None, labelLimit=300, labelFontSize=12, columns=2)
    color = alt.Scale(domain=names, range=COLORS[: len(names)])
    dash = alt.Scale(domain=names, range=DASHES[: len(names)])
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x,
            y,
            alt.Color("name", type="nominal", scale=color, legend=legend),
            alt.StrokeDash("name", type="nominal", scale=dash, legend=legend),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def axis(channel: Any, field: str, title: str, **scale: Any) -> Any:
    """Return an axis of numbers; form: how they are written, the rest goes to its scale."""
    form = scale.pop("form", ",.4~r")
    drawn = alt.Axis(format=form, titleFontSize=13, labelFontSize=12)
    scaled = alt.Scale(nice=False, **scale)
    return channel(field, type="quantitative", title=title, scale=scaled, axis=drawn)


def hiding() -> str:
    """Return how many reports say yes if Ann's answer is yes, and if it is no: alone, and among
    200."""
    flip = incrowd.BitFlip.at_least(0.25)
    names = ["Ann's answer is yes", "Ann's answer is no"]
    alone = alt.Chart(alt.InlineData(values=_law(flip, 1, names))).mark_bar()
    places = alt.X("count", type="ordinal", title="reports that say yes")
    places = places.axis(labelAngle=0, labelFontSize=12, titleFontSize=13)
    offset = alt.XOffset("name", type="nominal", sort=names)
    crowd = alt.Chart(alt.InlineData(values=_law(flip, 200, names))).mark_line(strokeWidth=2)
    counts = axis(alt.X, "count", "reports that say yes", domain=[70, 130])
    panels = [alone.encode(places, offset), crowd.encode(counts)]
    titles = ["alone", "among 200 people, half of whom have yes"]
    shown = [_panel(panels[0], titles[0], names, 0.8), _panel(panels[1], titles[1], names, 0.08)]
    return to_svg(alt.vconcat(*shown, spacing=18).resolve_legend(color="shared"))


def _panel(chart: Any, title: str, names: list[str], top: float) -> Any:
    legend = alt.Legend(orient="top", title=None, labelLimit=300, labelFontSize=12)
    hue = alt.Scale(domain=names, range=COLORS[:2])
    sized = chart.encode(
        axis(alt.Y, "chance", "probability", form=".0%", domain=[0, top]),
        alt.Color("name", type="nominal", scale=hue, legend=legend),
    ).properties(width=WIDTH, height=150)
    return sized.properties(title=alt.Title(title, anchor="start", fontSize=13))


def _law(flip: incrowd.BitFlip, people: int, names: list[str]) -> Rows:
    """Return the law of the number of reports that say yes, half of the others having yes."""
    ones, zeros = people // 2, people - 1 - people // 2
    others = np.convolve(
        binom.pmf(range(ones + 1), ones, flip.p), binom.pmf(range(zeros + 1), zeros, flip.q)
    )
    laws = [np.convolve(others, own) for own in flip.matrix.T[::-1]]
    return [
        {"count": count, "chance": float(chance), "name": name}
        for name, law in zip(names, laws, strict=True)
        for count, chance in enumerate(law)
        if people == 1 or 70 <= count <= 130
    ]


def odds() -> str:
    """Return the most that a guess can rise to, for a few epsilons."""
    epsilons = {"epsilon 0.1": 0.1, "epsilon 1": 1.0, "epsilon 2": 2.0, "epsilon 5": 5.0}
    rows = [
        {"before": 100 * b, "after": 100 * b * math.exp(e) / (1 - b + b * math.exp(e)), "name": n}
        for n, e in epsilons.items()
        for b in np.linspace(0, 1, 101).tolist()
    ]
    x = axis(alt.X, "before", "how sure somebody was before, percent", domain=[0, 100])
    y = axis(alt.Y, "after", "how sure at most after, percent", domain=[0, 100])
    return to_svg(lines(rows, x, y, list(epsilons)))


def noise() -> str:
    """Return the smallest noise for epsilon 1, delta 1e-8, against the crowd."""
    crowds = np.geomspace(200, 1e7, 16).round().astype(int).tolist()
    names = {1: "1 yes/no question", 8: "8 yes/no questions", 20: "20 yes/no questions"}
    rows = [
        {"crowd": crowd, "noise": 100 * _noise(bits, crowd), "name": name}
        for bits, name in names.items()
        for crowd in crowds
    ]
    alone = 100 * incrowd.BitFlip.from_epsilon(1.0).q
    rows += [{"crowd": c, "noise": alone, "name": "1 question, nobody trusted"} for c in crowds]
    x = axis(alt.X, "crowd", "people in the crowd", type="log", form="~s", domain=[200, 1.3e7])
    y = axis(alt.Y, "noise", "bits that are flipped, percent", domain=[0, 50])
    return to_svg(lines(rows, x, y, [*names.values(), "1 question, nobody trusted"]))


def _noise(bits: int, crowd: int) -> float:
    def sent(flip: incrowd.BitFlip) -> incrowd.Schema:
        return incrowd.Schema.uniform([FREE_BIT] * bits, flip)

    return incrowd.smallest_noise("shuffle", sent, crowd, 1.0, 1e-8).q


CURVES = ("shuffle", "blanket", "outlier", "local")


def curve() -> str:
    """Return delta against epsilon for a joint report of the health survey with 25.5% noise."""
    survey, flip = incrowd.Survey.load(HEALTH), incrowd.BitFlip.at_least(0.255)
    sent = incrowd.Schema.uniform([d for q in survey.questions for d in q.domains], flip)
    crowd = survey.hidden(survey.crowd)
    rows = [
        {"epsilon": e, "delta": incrowd.certify(name, sent, crowd, e).delta.upper, "name": name}
        for name in CURVES
        for e in np.linspace(0, 3, 31).tolist()
    ]
    x = axis(alt.X, "epsilon", "epsilon")
    y = axis(alt.Y, "delta", "delta", type="log", form=".0e", domain=[1e-14, 1])
    return to_svg(lines(rows, x, y, list(CURVES)))


def reports_per_person() -> str:
    """Return the largest standard error of the health survey against reports a person may send."""
    found = frontier(incrowd.plan(incrowd.Survey.load(HEALTH))).reports
    rows = [{"reports": n, "error": 100 * e, "name": "largest error"} for n, e in found]
    x = axis(alt.X, "reports", "reports a person may send", type="log")
    y = axis(alt.Y, "error", "standard error, percent", type="log")
    points = lines(rows, x, y, ["largest error"]).mark_line(strokeWidth=2, point=True)
    return to_svg(points.encode(color=alt.value(ACCENT), strokeDash=alt.value([1, 0])))


def mixed() -> str:
    """Return delta by how the others' answers are mixed: the two counterexamples."""
    panels = [
        _mixed(one_bit_crowd(), "one bit, 39 people, q = 0.0256, epsilon 0.036"),
        _mixed(two_bits(), "two bits, 8 people, q = 0.1095, epsilon 2"),
    ]
    return to_svg(alt.vconcat(*panels, spacing=20))


def _mixed(found: Mixed, title: str) -> Any:
    rows = [{"ones": n, "delta": float(d)} for n, d in enumerate(found.delta)]
    x = axis(alt.X, "ones", "how many of the others hold ones", domain=[-0.4, found.N - 0.6])
    room = 0.06 * (found.worst - found.homogeneous)
    ends = [found.homogeneous - room, found.worst + room]
    y = axis(alt.Y, "delta", "delta", zero=False, domain=ends)
    data = alt.InlineData(values=rows)
    dots = alt.Chart(data).mark_circle(size=55, color=ACCENT, opacity=1).encode(x, y)
    alone = alt.Chart(alt.InlineData(values=[{}]))
    line = alone.mark_rule(color=WARN, strokeDash=[6, 3], strokeWidth=2)
    line = line.encode(y=alt.datum(found.homogeneous))
    sized = alt.layer(line, dots).properties(width=WIDTH, height=170)
    return sized.properties(title=alt.Title(title, anchor="start", fontSize=13))


def twenty() -> str:
    """Return twenty surveys of the same 2,000 people, of whom 3 percent say yes; q = 0.25."""
    flip, people, share = incrowd.BitFlip.at_least(0.25), 2000, 0.03
    generator = np.random.default_rng(4)
    yes = generator.binomial(int(people * share), flip.p, 20)
    counts = yes + generator.binomial(people - int(people * share), flip.q, 20)
    estimate = flip.inverse[1] @ [1 - counts / people, counts / people]
    error = math.sqrt(flip.p * flip.q / people) / (flip.p - flip.q)
    rows = [
        {"survey": n + 1, "mid": 100 * e, "low": 100 * (e - 1.96 * error)}
        | {"high": 100 * (e + 1.96 * error), "hit": bool(abs(e - share) <= 1.96 * error)}
        for n, e in enumerate(estimate.tolist())
    ]
    hue = alt.condition("datum.hit", alt.value(ACCENT), alt.value(WARN))
    x = axis(alt.X, "survey", "survey", domain=[0, 21])
    base = alt.Chart(alt.InlineData(values=rows)).encode(x, color=hue)
    y = axis(alt.Y, "low", "estimate and 95% interval, percent", domain=[-4, 12])
    bars = base.mark_rule(strokeWidth=2).encode(y, alt.Y2("high"))
    dots = base.mark_circle(size=50, opacity=1).encode(alt.Y("mid", type="quantitative"))
    alone = alt.Chart(alt.InlineData(values=[{}]))
    truth = alone.mark_rule(color=INK, strokeDash=[4, 3]).encode(y=alt.datum(100 * share))
    return to_svg(alt.layer(bars, dots, truth).properties(width=WIDTH, height=HEIGHT))


CHARTS: dict[str, Callable[[], str]] = {
    "hiding": hiding,
    "odds": odds,
    "noise": noise,
    "curve": curve,
    "reports-per-person": reports_per_person,
    "mixed": mixed,
    "twenty": twenty,
}
