"""What two questions have to do with each other, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from incrowd.estimation.association import IndependenceTest
from incrowd.estimation.quotients import Comparison
from incrowd.estimation.two_way import TwoWay
from incrowd.presentation.number_text import digits, percent

HEADINGS = ("figure", "estimate", "95% interval")
UNITS = {"share": "%", "difference": " pp"}  # the rest are plain numbers
POINTS = "pp: percentage points"


def title(questions: tuple[str, str]) -> str:
    """What stands above the figures."""
    return f"{questions[1]} by {questions[0]}, 95% intervals"


def independence_words(test: IndependenceTest) -> str:
    """The test of independence, or why there is none."""
    if not test.estimable:
        return f"independence: not estimable: {test.reason}"
    chi = f"chi-square {test.statistic:.4g} on {test.degrees_of_freedom} degrees of freedom"
    return f"independence: {chi}, p = {test.p_value:.3g}"


def rows(found: TwoWay) -> list[tuple[str, str, str]]:
    """The name, the estimate and the interval of each figure; a number in brackets names a note.

    Shares are in percent, their differences in percentage points.
    """
    reasons = _reasons(found.figures)
    return [row(item, UNITS.get(kind), _mark(item, reasons)) for kind, item in found.kinds()]


def row(item: Comparison, unit: str | None = None, mark: str = "") -> tuple[str, str, str]:
    """A figure and its interval in words. unit: what follows a proportion times 100."""
    say = partial(_percent, places=digits([item]), unit=unit) if unit else "{:.4f}".format
    estimate = say(item.estimate) if item.estimable else "none"
    return item.name, estimate, interval_words(item, say) + mark


def _percent(value: float, places: int, unit: str) -> str:
    return f"{percent(value, places)}{unit}"


def _reasons(items: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(item.reason for item in items if item.reason))


def _mark(item: Comparison, reasons: Sequence[str]) -> str:
    return f" ({reasons.index(item.reason) + 1})" if item.reason else ""


def said_below(found: TwoWay) -> list[str]:
    """To what the table is weighted, if it is, and the notes on its figures."""
    return [*([found.weights_words] if found.margins else []), *notes(found.figures)]


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
