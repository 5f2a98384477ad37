"""Estimates into a file; its ending says what kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet

from incrowd.estimation.results import Estimates
from incrowd.presentation.data import as_json, as_table
from incrowd.reports.files import checked_ending, replaced


def save_estimates(estimates: Estimates, path: str | Path) -> None:
    """Write the estimates as .csv, .json, .parquet or .html.

    The file appears whole or not at all. Raises UsageError if the ending is another, or if the
    file cannot be written.
    """
    writer = _WRITERS[check_ending(path)]
    with replaced(path) as temporary:
        writer(estimates, temporary)


def check_ending(path: str | Path) -> str:
    """The ending of the path, in lower case; to call before the work starts.

    Raises UsageError if nothing can be written with that ending.
    """
    return checked_ending(path, _WRITERS)


def _write_csv(estimates: Estimates, path: Path) -> None:
    pyarrow.csv.write_csv(as_table(estimates), path)


def _write_json(estimates: Estimates, path: Path) -> None:
    text = json.dumps(as_json(estimates), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_parquet(estimates: Estimates, path: Path) -> None:
    pyarrow.parquet.write_table(as_table(estimates), path)


def _write_html(estimates: Estimates, path: Path) -> None:
    # Drawing takes longer to import than the other endings take to write.
    from incrowd.presentation.page import page

    path.write_text(page(estimates), encoding="utf-8")


_WRITERS: dict[str, Callable[[Estimates, Path], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
    ".html": _write_html,
}
