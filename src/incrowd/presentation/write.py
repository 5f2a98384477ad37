"""Estimates, cards and frontiers into files; the ending says what kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from incrowd.errors import UsageError
from incrowd.estimation.results import Estimates
from incrowd.presentation.card import Card, html, markdown
from incrowd.presentation.data import as_json, as_table
from incrowd.reports.files import replaced


def _write_json(estimates: Estimates, path: Path) -> None:
    text = json.dumps(as_json(estimates), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_html(estimates: Estimates, path: Path) -> None:
    from incrowd.presentation.page import page  # drawing is slow to import

    path.write_text(page(estimates), encoding="utf-8")


Writers = Mapping[str, Callable[[Any, Path], object]]
_WRITERS: dict[str, Callable[[Estimates, Path], None]] = {
    ".csv": lambda estimates, path: pyarrow.csv.write_csv(as_table(estimates), path),
    ".json": _write_json,
    ".parquet": lambda estimates, path: pyarrow.parquet.write_table(as_table(estimates), path),
    ".html": _write_html,
}
CARD_WRITERS: Writers = {
    ".html": lambda card, path: path.write_text(html(card), encoding="utf-8"),
    ".md": lambda card, path: path.write_text(markdown(card), encoding="utf-8"),
}


def check_ending(path: str | Path, writers: Writers = _WRITERS) -> str:
    """The ending of the path, in lower case; to call before the work starts.

    Raises UsageError if nothing can be written with that ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in writers:
        raise UsageError.of("path", str(path), f"should end in one of {', '.join(writers)}")
    return ending


def save_estimates(estimates: Estimates, path: str | Path) -> None:
    """Write the estimates as .csv, .json, .parquet or .html.

    The file appears whole or not at all. Raises UsageError if the ending is another, or if the
    file cannot be written.
    """
    _save(estimates, path, _WRITERS)


def write_card(card: Card, path: str | Path) -> None:
    """Write a card as .html or .md, as `save_estimates` writes estimates."""
    _save(card, path, CARD_WRITERS)


def _save(made: Any, path: str | Path, writers: Writers) -> None:
    writer = writers[check_ending(path, writers)]
    with replaced(path) as temporary:
        writer(made, temporary)


def write_frontier_files(path: Path, page: str, table: pa.Table) -> None:
    """Write the page of a frontier, and its points as .csv beside it."""
    with replaced(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    with replaced(path.with_suffix(".csv")) as temporary:
        pyarrow.csv.write_csv(table, temporary)
