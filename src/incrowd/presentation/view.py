"""The view of a result, which terminal, page, notebook and JSON render."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incrowd.presentation.receipts import simulation_warning

ViewLine = tuple[str, ...]


@dataclass(frozen=True)
class Numbers:
    """A table of rounded figures for people. The first column holds the row labels.

    whole: headings of columns that a narrow terminal must not wrap. spaces: between columns, where
    a terminal draws no lines. notes: sentences to show below the table.
    """

    title: str
    headings: ViewLine
    lines: tuple[ViewLine, ...]
    whole: ViewLine = ()
    spaces: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """A result for people and for programs. Every figure for people is already rounded.

    facts: the result for programs, JSON-ready and not rounded. legend: what stands above all else:
    the wording behind ids, or that a forecast is of no use. promise: the guarantee. lines: figures
    outside of tables. notes: sentences to show below. seed: None for real reports, else the seed of
    a simulation, about which every renderer warns.
    """

    title: str
    facts: Mapping[str, Any]
    seed: int | None = None
    legend: tuple[str, ...] = ()
    promise: str = ""
    lines: tuple[str, ...] = ()
    tables: tuple[Numbers, ...] = ()
    notes: tuple[str, ...] = ()


def view_page(view: View) -> str:
    """A self-contained HTML page of a view."""
    from incrowd.presentation.shell import rendered  # its templates are slow to load

    warned = [] if view.seed is None else [simulation_warning(view.seed)]
    texts = [*warned, *view.legend, view.promise, *view.lines]
    return rendered("view.html", title=view.title, texts=texts, view=view)
