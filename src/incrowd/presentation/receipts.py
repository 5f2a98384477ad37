"""What every output says of a result: its promise, and warnings about simulations."""

from __future__ import annotations

from typing import Any

from incrowd.catalog.sentences import translatable
from incrowd.presentation.guarantee_text import promise_lines
from incrowd.views import Line, Result, View

# Every output warns about reports that were made with a known seed: they protect nobody.


SEED = "simulation_seed"
WARNING = "simulation"


def simulation_warning(seed: int) -> str:
    """Return the warning above every output of a simulation."""
    return translatable("presentation.invented-by-seed", seed=seed)


def invented_warning(result: Result) -> str:
    """Return the warning above a result of invented people; "" for a result of real ones."""
    if result.seed is not None:
        return simulation_warning(result.seed)
    return translatable("presentation.invented-for-rehearsal") if result.invented else ""


def promised(result: Result) -> tuple[str, ...]:
    """Return the guarantee of a result and what it assumes, in sentences; first a warning if its
    reports are simulated."""
    warned = [warning] if (warning := invented_warning(result)) else []
    if result.guarantee is None:
        return tuple(warned)
    heading, claim, *more = promise_lines(result.guarantee)
    promise = translatable("estimation.labeled", name=heading, text=claim)
    return (*warned, promise, *(translatable(each.code, **each.arguments) for each in more))


def marked(facts: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """Add the seed (null for real reports) to JSON-ready facts, and for a simulation a warning."""
    warning = {} if seed is None else {WARNING: simulation_warning(seed)}
    return warning | facts | {SEED: seed}


def all_notes(view: View) -> Line:
    """Return everything that a view says outside of its tables."""
    below = (text for table in view.tables for text in table.notes)
    return (*view.above, *view.lines, *below, *view.notes)
