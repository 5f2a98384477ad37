"""Tables of results for people at a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from incrowd.estimation.bootstrap import BootstrapBias
from incrowd.estimation.quotients import Comparison
from incrowd.presentation.comparisons import HEADINGS, row

FIGURES = ("mean", "worst", "joint", "bias", "limit", "stated", "found", "theory", "eff.")
SPREADS = ("mean_standard_error", "empirical_standard_error", "theoretical_standard_error")


def table(title: str, *names: str) -> Table:
    """An empty table for 80 columns: figures on the right, and before them what they are of."""
    made = Table(title=Text(title))
    for number, name in enumerate(names):
        made.add_column(name, justify="right" if number else "left", overflow="fold")
    return made


def postprocessed_table(
    title: str,
    answers: Sequence[Sequence[str]],
    estimate: np.ndarray,
    raw: np.ndarray,
    bias: BootstrapBias | None,
) -> Table:
    """Biased shares beside the unbiased ones, and by how much they are biased if that is known."""
    figures = ("post-processed", "unbiased", *(["bias"] if bias else []))
    shown = table(title, "answer", *figures)
    for place, answer in enumerate(product(*answers)):
        cells = [f"{estimate.flat[place]:.4f}", f"{raw.flat[place]:.4f}"]
        if bias:
            found, error = bias.bias.flat[place], bias.standard_error.flat[place]
            cells.append(f"{found:+.4f} ± {error:.4f}")
        shown.add_row(Text(" | ".join(answer)), *cells)
    return shown


def comparison_table(title: str, items: Sequence[Comparison]) -> Table:
    """A line for each figure, with its interval."""
    shown = table(title, *HEADINGS)
    for item in items:
        name, estimate, interval = row(item)
        shown.add_row(Text(name), estimate, interval)
    return shown


def simulation_table(title: str, qualities: Iterable[Mapping[str, Any]]) -> Table:
    """How good the estimates of each table were; their figures as in JSON."""
    grid = Table(title=title, box=None, header_style="dim", padding=(0, 1, 0, 0))
    grid.add_column("table", overflow="fold")
    for name in FIGURES:
        grid.add_column(name, justify="right", no_wrap=True)
    for quality in qualities:
        grid.add_row(Text("\n".join(quality["questions"])), *_line(quality))
    return grid


def simulation_legend(trials: int) -> str:
    """What the figures of a simulation are."""
    accuracy = (0.95 * 0.05 / trials) ** 0.5
    return (
        "All in percent. mean, worst, joint: coverage of the cells on average, of the worst cell, "
        f"of all cells of a table at once; one of them is known to ±{accuracy:.1%}. bias: the "
        "largest of a cell; beyond its limit it would be real (5% false alarm a table). stated, "
        "found, theory: standard errors, means over the cells. eff.: theoretical over found "
        "variance."
    )


def _line(facts: Mapping[str, Any]) -> Iterator[str]:
    """The figures of a table, in percent but for the last; they fit 80 columns."""
    for name in ("coverage", "worst_coverage", "joint_coverage"):
        yield f"{100 * facts[name]:.1f}"
    for name in ("max_abs_bias", "bias_limit", *SPREADS):
        yield f"{100 * facts[name]:.3g}"
    yield f"{facts['efficiency']:.2f}"
