"""Writes the rows of docs/papers.md again, as computed: `python -m reproduction.manual`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from reproduction.recomputed import rows
from reproduction.row import Row

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
HEADING = "## Paper by paper\n"


def tables(found: Iterable[Row]) -> str:
    """A table for each paper, of what does not agree."""
    parts = []
    for paper, lines in groupby(found, key=lambda row: row.paper):
        wrong = [row for row in lines if row.kind != "agrees"]
        body = "".join(line(row) for row in wrong)
        head = "| place | it says | true | verdict |\n|---|---|---|---|\n"
        parts.append(f"\n### {paper}\n\n{head}{body}")
    return "".join(parts)


def line(row: Row) -> str:
    """One row of a table."""
    cells = (row.place, row.printed, row.true, row.verdict)
    return "| " + " | ".join(map(literal, cells)) + " |\n"


def literal(text: str) -> str:
    """The text with everything escaped that Markdown would read."""
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", text).replace("<", "&lt;")


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8").split(HEADING)[0]
    PAGE.write_text(before + HEADING + tables(rows()), encoding="utf-8")
