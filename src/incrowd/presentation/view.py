"""What is said of a result: the one place from which terminal, page, notebook and JSON take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Line = tuple[str, ...]


@dataclass(frozen=True)
class Numbers:
    """A table of figures as people read them. The first column says what the others are of.

    whole: headings of columns that no narrow terminal breaks. spaces: between its columns, where a
    terminal draws no lines. notes: what has to be said of it.
    """

    title: str
    headings: Line
    lines: tuple[Line, ...]
    whole: Line = ()
    spaces: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """A result as people and programs are told of it. Every figure for people is rounded here.

    facts: the same for programs, JSON-ready, not rounded. legend: what ids stand for, if they have
    words. promise: the guarantee. lines: figures that stand in no table. notes: what has to be said
    below. seed: None for real reports, else that of the simulation, of which each renderer warns.
    """

    title: str
    facts: Mapping[str, Any]
    seed: int | None = None
    legend: tuple[str, ...] = ()
    promise: str = ""
    lines: tuple[str, ...] = ()
    tables: tuple[Numbers, ...] = ()
    notes: tuple[str, ...] = ()
