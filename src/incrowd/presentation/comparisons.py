"""What two questions have to do with each other, in words."""

from __future__ import annotations

from incrowd.estimation.association import IndependenceTest
from incrowd.estimation.quotients import Comparison

HEADINGS = ("figure", "estimate", "95% interval")


def title(questions: tuple[str, str]) -> str:
    """What stands above the figures."""
    return f"{questions[1]} by {questions[0]}, 95% intervals"


def independence_words(test: IndependenceTest) -> str:
    """The test of independence, or why there is none."""
    if not test.estimable:
        return f"independence: not estimable: {test.reason}"
    chi = f"chi-square {test.statistic:.4g} on {test.degrees_of_freedom} degrees of freedom"
    return f"independence: {chi}, p = {test.p_value:.3g}"


def row(item: Comparison) -> tuple[str, str, str]:
    """The name, the estimate and the interval of a figure."""
    return item.name, f"{item.estimate:.4f}" if item.estimable else "none", interval_words(item)


def notes(items: tuple[Comparison, ...]) -> list[str]:
    """What has to be said below the figures."""
    reasons = sorted({item.reason for item in items if item.reason})
    misses = f"each interval is for its own figure: of {len(items)}, about one in twenty misses"
    return [misses, *(f"an interval has no limit: {reason}" for reason in reasons)]


def interval_words(item: Comparison) -> str:
    """ "0.2000 to 0.3000", "above 0.8000", "below 0.3000" or "anything"."""
    if item.unbounded == "everywhere":
        return "anything"
    ends = {"above": item.low, "below": item.high}
    if item.unbounded in ends:
        return f"{item.unbounded} {ends[item.unbounded]:.4f}"
    return f"{item.low:.4f} to {item.high:.4f}"
