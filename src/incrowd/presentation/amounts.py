"""Means, totals and quantiles of numbers, for people and programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from incrowd.presentation.number_text import finite, written_out

if TYPE_CHECKING:
    from incrowd.estimation.amounts import Amounts, Figure, Quantile

HEADINGS = ("", "estimate", "std. error", "95% interval")
Row = tuple[str, str, str, str]


def note(found: Amounts, changes: Mapping[str, str]) -> str:
    """What the figures are of; only amounts, which have a mean, are rounded.

    changes: what was made of their table, as it says itself.
    """
    errors = "noise, rounding and sampling" if found.mean else "noise and sampling"
    margins = changes.get("weighted_to")
    weights = f", weighted to known margins of {margins}" if margins else ""
    return (
        f"of those who answered{weights}; errors: {errors}; quantiles: the estimate is a guess "
        "between edges, the interval holds however people are spread between them"
        f"{_influence(found)}"
    )


def _influence(found: Amounts) -> str:
    """How far one malicious sender can move the mean and the total."""
    if found.mean is None or found.total is None:
        return ""
    mean, total = found.mean.influence, found.total.influence
    if not math.isfinite(mean):
        return "; one person's false reports can shift the mean to any value"
    return (
        f"; one person's false reports can shift the mean by at most {written_out(mean)}, "
        f"the total by at most {written_out(total)}"
    )


def amounts_of(ids: Sequence[str], found: Mapping[str, Amounts]) -> Amounts | None:
    """The figures that belong to a table, if it is of one question of numbers."""
    return found.get(ids[0]) if len(ids) == 1 else None


def amount_facts(found: Amounts | None) -> dict[str, Any]:
    """The figures as JSON-ready data; null where nothing can be said, or without end."""
    facts = {} if found is None else asdict(found)
    return {name: finite(value) for name, value in facts.items() if value is not None}


def amount_rows(found: Amounts) -> Iterator[Row]:
    """A line for each figure: its name, the estimate, the standard error, the interval."""
    for name, figure in (("mean", found.mean), ("total", found.total)):
        if figure:
            yield name, *_figures(figure)
    for each in found.quantiles:
        name = "median" if each.share == 0.5 else f"{each.share:.0%} are below"
        yield name, _guess(each), "", _between(each.low, each.high)


def _figures(figure: Figure) -> tuple[str, str, str]:
    """With two significant digits of the error."""
    error = figure.standard_error
    places = max(1 - math.floor(math.log10(error)), 0) if 0 < error < math.inf else 2
    shown = (f"{value:,.{places}f}" for value in (figure.low, figure.high))
    if math.isnan(figure.estimate):
        return "none", "", " to ".join(shown)
    return f"{figure.estimate:,.{places}f}", f"{error:,.{places}f}", " to ".join(shown)


def _guess(found: Quantile) -> str:
    """Three significant digits, or all whole ones."""
    value = found.estimate
    if not math.isfinite(value):
        return "beyond the last edge"
    size = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(2 - size, 0)}f}"


def _between(low: float, high: float) -> str:
    """ "5 to 10", "10 or more" where the last range has no end, "less than 5", "anything"."""
    known = [f"{end:,.12g}" if math.isfinite(end) else "" for end in (low, high)]
    if all(known):
        return " to ".join(known)
    if known[0]:
        return f"{known[0]} or more"
    return f"less than {known[1]}" if known[1] else "anything"
