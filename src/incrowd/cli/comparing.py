"""Comparisons of groups for people or machines."""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.text import Text

from incrowd.cli.console import out, printed_as_json, say, table
from incrowd.estimation.association import IndependenceTest
from incrowd.estimation.quotients import Comparison
from incrowd.presentation.guarantees import guarantee_sentence
from incrowd.presentation.number_text import finite
from incrowd.workflow.compare import TwoWay


def comparison(found: TwoWay, json: bool) -> None:
    """What two questions have to do with each other."""
    if printed_as_json(json, lambda: _facts(found), found.seed):
        return
    say(guarantee_sentence(found.guarantee))
    out.print(_independence(found.independence), markup=False, highlight=False)
    title = f"{found.questions[1]} by {found.questions[0]}, 95% intervals"
    shown = table(title, "figure", "estimate", "95% interval")
    v = (found.cramers_v,) if found.cramers_v else ()
    items = (*v, *found.shares, *found.differences, *found.odds_ratios)
    for item in items:
        shown.add_row(Text(item.name), _estimate(item), interval_words(item))
    out.print(shown)
    say(f"each interval is for its own figure: of {len(items)}, about one in twenty misses")
    for reason in sorted({item.reason for item in items if item.reason}):
        say(f"an interval has no limit: {reason}")


def _facts(found: TwoWay) -> dict[str, Any]:
    """No infinity and no nan, null in their place: `unbounded` says on which side there is no
    limit."""
    facts: dict[str, Any] = finite(dataclasses.asdict(found))
    return facts | {"guarantee": found.guarantee.model_dump()}


def _independence(test: IndependenceTest) -> str:
    if not test.estimable:
        return f"independence: not estimable: {test.reason}"
    chi = f"chi-square {test.statistic:.4g} on {test.degrees_of_freedom} degrees of freedom"
    return f"independence: {chi}, p = {test.p_value:.3g}"


def _estimate(item: Comparison) -> str:
    return f"{item.estimate:.4f}" if item.estimable else "none"


def interval_words(item: Comparison) -> str:
    """ "0.2000 to 0.3000", "above 0.8000", "below 0.3000" or "anything"."""
    if item.unbounded == "everywhere":
        return "anything"
    ends = {"above": item.low, "below": item.high}
    if item.unbounded in ends:
        return f"{item.unbounded} {ends[item.unbounded]:.4f}"
    return f"{item.low:.4f} to {item.high:.4f}"
