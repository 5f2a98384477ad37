"""Write estimates, regressions and cards to files, in the format of their endings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet

from incrowd.estimation.regression.results import Regression
from incrowd.estimation.results import Estimates
from incrowd.files import checked_ending, replaced
from incrowd.presentation.card import Card, html, markdown
from incrowd.presentation.data import as_json, as_table
from incrowd.presentation.number_text import finite
from incrowd.presentation.receipts import marked
from incrowd.presentation.regressions import facts as regression_facts
from incrowd.presentation.regressions import regression_table


def _write_json(facts: Any, path: Path) -> None:
    text = json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_html(estimates: Estimates, path: Path) -> None:
    from incrowd.presentation.page import page  # drawing is slow to import

    path.write_text(page(estimates), encoding="utf-8")


def _write_model(model: Regression, path: Path) -> None:
    from incrowd.presentation.regression_page import page  # drawing is slow to import

    path.write_text(page(model), encoding="utf-8")


Writers = Mapping[str, Callable[[Any, Path], object]]
_WRITERS: dict[str, Callable[[Estimates, Path], None]] = {
    ".csv": lambda estimates, path: pyarrow.csv.write_csv(as_table(estimates), path),
    ".json": lambda estimates, path: _write_json(as_json(estimates), path),
    ".parquet": lambda estimates, path: pyarrow.parquet.write_table(as_table(estimates), path),
    ".html": _write_html,
}
_REGRESSION_WRITERS: Writers = {
    ".html": _write_model,
    ".csv": lambda model, path: pyarrow.csv.write_csv(regression_table(model), path),
    ".json": lambda model, path: _write_json(
        finite(marked(regression_facts(model), model.seed)), path
    ),
}
CARD_WRITERS: Writers = {
    ".html": lambda card, path: path.write_text(html(card), encoding="utf-8"),
    ".md": lambda card, path: path.write_text(markdown(card), encoding="utf-8"),
}


def check_ending(path: str | Path) -> str:
    """Return the ending of a path, in lower case; call it before the work starts.

    Raises UsageError if estimates cannot be written with that ending.
    """
    return checked_ending(path, _WRITERS)


def save_estimates(estimates: Estimates, path: str | Path) -> None:
    """Write the estimates as .csv, .json, .parquet or .html.

    The file is written whole or not at all. Raises UsageError for any other ending, or if the file
    cannot be written.
    """
    _save(estimates, path, _WRITERS)


def check_regression_ending(path: Path) -> None:
    """Raise UsageError if a regression cannot be written with the ending of the path."""
    checked_ending(path, _REGRESSION_WRITERS)


def save_regression(model: Regression, path: Path) -> bool:
    """Write a regression as .html, .csv or .json, whole or not at all.

    A .csv file has a row for each coefficient. Without any, it is not written; returns False then.
    """
    if checked_ending(path, _REGRESSION_WRITERS) == ".csv" and not model.estimable:
        return False
    _save(model, path, _REGRESSION_WRITERS)
    return True


def write_card(card: Card, path: str | Path) -> None:
    """Write a card as .html or .md, as `save_estimates` writes estimates."""
    _save(card, path, CARD_WRITERS)


def _save(result: Any, path: str | Path, writers: Writers) -> None:
    writer = writers[checked_ending(path, writers)]
    with replaced(path) as temporary:
        writer(result, temporary)
