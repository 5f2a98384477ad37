"""What every output says of a result: its promise, and warnings about simulations."""

from __future__ import annotations

from typing import Any

from incrowd.presentation.guarantee_text import promise_lines
from incrowd.views import Line, Result, View

# Every output warns about reports that were made with a known seed: they protect nobody.


SEED = "simulation_seed"
WARNING = "simulation"


def simulation_warning(seed: int) -> str:
    """Return the warning above every output of a simulation."""
    return (
        f"Simulation. These reports were randomized with the known seed {seed}, so the noise can "
        "be removed and they protect nobody. The promise stated here holds for reports randomized "
        "without a seed."
    )


def promised(result: Result) -> tuple[str, ...]:
    """Return the guarantee of a result and what it assumes, in sentences; first a warning if its
    reports are simulated."""
    warned = [] if result.seed is None else [simulation_warning(result.seed)]
    if result.guarantee is None:
        return tuple(warned)
    heading, sentence, *more = map(str, promise_lines(result.guarantee))
    return (*warned, f"{heading}: {sentence}", *more)


def marked(facts: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """Add the seed (null for real reports) to JSON-ready facts, and for a simulation a warning."""
    warning = {} if seed is None else {WARNING: simulation_warning(seed)}
    return warning | facts | {SEED: seed}


def all_notes(view: View) -> Line:
    """Return everything that a view says outside of its tables."""
    below = (text for table in view.tables for text in table.notes)
    return (*view.legend, *view.lines, *below, *view.notes)
