"""What two questions have to do with each other, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from incrowd.estimation.weighting.margins import weights_facts, weights_words
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import digits, finite, percent
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.view import Numbers, View

if TYPE_CHECKING:
    from incrowd.estimation.association import IndependenceTest
    from incrowd.estimation.quotients import Comparison
    from incrowd.estimation.shares_apart import ShareDifference
    from incrowd.estimation.two_way import TwoWay

HEADINGS = ("figure", "estimate", "95% interval")
UNITS = {"share": "%", "difference": " pp"}  # the rest are plain numbers
POINTS = "pp: percentage points"
POSSIBLE = {"share": (0.0, 1.0), "difference": (-1.0, 1.0)}  # of the rest no end is impossible
CUT = "*"
IMPOSSIBLE = (
    f"{CUT} beyond what is possible (a share below 0% or above 100%, a difference of more than 100 "
    "points): the interval is not cut off, so that its width still tells how little is known"
)


def view(found: TwoWay) -> View:
    """What two questions have to do with each other.

    JSON has no infinity: it is null, and `unbounded` says on which side there is no limit.
    """
    facts = finite(asdict(found)) | {"guarantee": guarantee_facts(found.guarantee)}
    facts |= weights_facts(facts.pop("weighted_to"), facts.pop("error_ratio"))
    if not found.wording:
        del facts["wording"]
    first, second = found.questions
    return View(
        title=f"{second} by {first}, 95% intervals",
        facts=facts,
        seed=found.seed,
        legend=found.wording,
        promise=guarantee_sentence(found.guarantee),
        lines=(independence_words(found.independence),),
        tables=(_crosstab(found), _figures(found)),
        notes=tuple(_said_below(found)),
    )


def share_view(found: ShareDifference) -> View:
    """How far apart two shares are."""
    name, estimate, interval = row(found.figure, "difference")
    return View(
        title=name,
        facts=finite(asdict(found)) | {"guarantee": guarantee_facts(found.guarantee)},
        seed=found.seed,
        promise=guarantee_sentence(found.guarantee),
        lines=(f"{name}: {estimate}, 95% interval {interval}",),
        notes=tuple(filter(None, (found.figure.reason, POINTS))),
    )


def independence_words(test: IndependenceTest) -> str:
    """The test of independence, or why there is none."""
    if not test.estimable:
        return f"independence: not estimable: {test.reason}"
    degrees = test.degrees_of_freedom
    unit = "degree" if degrees == 1 else "degrees"
    chi = f"chi-square {test.statistic:.4g} on {degrees} {unit} of freedom"
    without = ""
    if test.left_out:
        without = f"; without {', '.join(test.left_out)}, which may be zero"
    return f"independence: {chi}, p = {test.p_value:.3g}{without}"


def _crosstab(found: TwoWay) -> Numbers:
    """The shares of answers within each group, with their intervals."""
    reasons, number = _reasons(found.figures), len(found.answers)
    cells = [
        f"{row(item, 'share')[1]} ({_words(item, 'share')}){_mark(item, reasons)}"
        for item in found.shares
    ]
    lines = tuple(
        (group, *cells[place * number : (place + 1) * number])
        for place, group in enumerate(found.groups)
    )
    first, second = found.questions
    title = f"{second} among each {first}, 95% intervals"
    return Numbers(title, (first, *found.answers), lines)


def _figures(found: TwoWay) -> Numbers:
    """The name, the estimate and the interval of each figure but those of the crosstab.

    A number in brackets names a note. Differences are in percentage points.
    """
    reasons = _reasons(found.figures)
    kinds = [(kind, item) for kind, item in found.kinds() if kind != "share"]
    lines = tuple(row(item, kind, _mark(item, reasons)) for kind, item in kinds)
    first, second = found.questions
    return Numbers(f"{second} by {first}, 95% intervals", HEADINGS, lines)


def row(item: Comparison, kind: str = "", mark: str = "") -> tuple[str, str, str]:
    """A figure and its interval in words. kind: as `TwoWay.kinds` has it."""
    estimate = _say(item, kind)(item.estimate) if item.estimable else "none"
    return item.name, estimate, _words(item, kind) + mark


def _say(item: Comparison, kind: str) -> Callable[[float], str]:
    """How the values of a kind of figure are written."""
    if kind not in UNITS:
        return "{:.4f}".format
    return partial(_percent, places=digits([item]), unit=UNITS[kind])


def _words(item: Comparison, kind: str) -> str:
    """The interval, its impossible ends marked."""
    say, (least, most) = _say(item, kind), POSSIBLE.get(kind, (-math.inf, math.inf))
    return interval_words(item, lambda end: say(end) + (CUT if not least <= end <= most else ""))


def _percent(value: float, places: int, unit: str) -> str:
    return f"{percent(value, places)}{unit}"


def _reasons(items: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(item.reason for item in items if item.reason))


def _mark(item: Comparison, reasons: Sequence[str]) -> str:
    return f" ({reasons.index(item.reason) + 1})" if item.reason else ""


def _said_below(found: TwoWay) -> list[str]:
    """To what the table is weighted, if it is, and the notes on its figures."""
    marked = any(CUT in _words(item, kind) for kind, item in found.kinds())
    weights = list(filter(None, [weights_words(found.weighted_to, found.error_ratio)]))
    return [*weights, *([IMPOSSIBLE] if marked else []), *notes(found.figures)]


def notes(items: Sequence[Comparison]) -> list[str]:
    """What has to be said below the figures, first why there is no limit, or no estimate."""
    misses = f"each interval is for its own figure: of {len(items)}, about one in twenty misses"
    misses += f"; {POINTS}"
    return [*(f"({n}) {reason}" for n, reason in enumerate(_reasons(items), 1)), misses]


def interval_words(item: Comparison, say: Callable[[float], str] = "{:.4f}".format) -> str:
    """ "0.2000 to 0.3000", "above 0.8000", "below 0.3000" or "anything"."""
    if item.unbounded == "everywhere":
        return "anything"
    ends = {"above": item.low, "below": item.high}
    if item.unbounded in ends:
        return f"{item.unbounded} {say(ends[item.unbounded])}"
    return f"{say(item.low)} to {say(item.high)}"
