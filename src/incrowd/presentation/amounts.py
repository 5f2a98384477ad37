"""Means, totals and quantiles of numbers, for people and programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from incrowd.presentation.number_text import finite, written_out

if TYPE_CHECKING:
    from incrowd.estimation.amounts import Amounts, Figure

HEADINGS = ("", "estimate", "std. error", "95% interval")
AmountRow = tuple[str, str, str, str]


def note(amounts: Amounts, changes: Mapping[str, str]) -> str:
    """Describe the figures and their errors; only amounts, which have a mean, are rounded.

    changes: the columns `weighted_to` and `shares_of` of their table, if it has them.
    """
    errors = "noise, rounding and sampling" if amounts.mean else "noise and sampling"
    margins = changes.get("weighted_to")
    weights = f", weighted to known margins of {margins}" if margins else ""
    total = "; people who did not answer add nothing to the total" if amounts.total else ""
    ranges = "; percentiles lie between these edges, however people are distributed between them"
    return (
        f"of those who answered{weights}; errors: {errors}{total}"
        f"{ranges if amounts.quantiles else ''}{_influence(amounts)}"
    )


def _influence(amounts: Amounts) -> str:
    """State how far one person's false reports can shift the mean and the total."""
    if amounts.mean is None or amounts.total is None:
        return ""
    mean, total = amounts.mean.influence, amounts.total.influence
    if not math.isfinite(mean):
        return "; one person's false reports can shift the mean to any value"
    return (
        f"; one person's false reports can shift the mean by at most {written_out(mean)}, "
        f"the total by at most {written_out(total)}"
    )


def amounts_of(ids: Sequence[str], amounts: Mapping[str, Amounts]) -> Amounts | None:
    """The figures that belong to a table, if it is of one question with numbers."""
    return amounts.get(ids[0]) if len(ids) == 1 else None


def amount_facts(amounts: Amounts | None) -> dict[str, Any]:
    """The figures as JSON-ready data; null where there is no estimate or no limit."""
    facts = {} if amounts is None else asdict(amounts)
    return {name: finite(value) for name, value in facts.items() if value is not None}


def amount_rows(amounts: Amounts) -> Iterator[AmountRow]:
    """A line for each figure: its name, the estimate, the standard error, the interval."""
    for name, figure in named_figures(amounts):
        yield name, *_figures(figure)
    for each in amounts.quantiles:
        name = "median" if each.share == 0.5 else f"{100 * each.share:.12g}th percentile"
        yield name, _between(each.least, each.most), "", _between(each.low, each.high)


def named_figures(amounts: Amounts) -> Iterator[tuple[str, Figure]]:
    """The mean and the total, if there are any, with their names."""
    if amounts.mean:
        yield "mean", amounts.mean
    if amounts.total:
        yield f"total of {amounts.total_of:,.0f} people", amounts.total


def _figures(figure: Figure) -> tuple[str, str, str]:
    """Estimate, error and interval, with two significant digits of the error."""
    error = figure.standard_error
    places = max(1 - math.floor(math.log10(error)), 0) if 0 < error < math.inf else 2
    shown = (f"{value:,.{places}f}" for value in (figure.low, figure.high))
    if math.isnan(figure.estimate):
        return "none", "", " to ".join(shown)
    return f"{figure.estimate:,.{places}f}", f"{error:,.{places}f}", " to ".join(shown)


def _between(low: float, high: float) -> str:
    """ "5 to 10", "10 or more" where the last range has no end, "less than 5", "anything"."""
    least, most = (f"{end:,.12g}" if math.isfinite(end) else "" for end in (low, high))
    if least and most:
        return f"{least} to {most}"
    if least:
        return f"{least} or more"
    return f"less than {most}" if most else "anything"
