"""Rewrites the tables of docs/papers.md from the computed rows: `python -m reproduction.manual`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from reproduction.recomputed import rows
from reproduction.row import Row

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
HEADING = "## Paper by paper\n"


def tables(all_rows: Iterable[Row]) -> str:
    """Return a table for each paper, with the rows that do not agree."""
    parts = []
    for paper, lines in groupby(all_rows, key=lambda row: row.paper):
        wrong = [row for row in lines if row.kind != "agrees"]
        body = "".join(line(row) for row in wrong)
        head = "| place | printed | correct value | verdict |\n|---|---|---|---|\n"
        parts.append(f"\n### {paper}\n\n{head}{body}")
    return "".join(parts)


def line(row: Row) -> str:
    """Return one row of a table."""
    cells = (row.place, row.printed, row.true, row.verdict)
    return "| " + " | ".join(map(literal, cells)) + " |\n"


def literal(text: str) -> str:
    """Return the text with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", text).replace("<", "&lt;")


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8").split(HEADING)[0]
    PAGE.write_text(before + HEADING + tables(rows()), encoding="utf-8")
