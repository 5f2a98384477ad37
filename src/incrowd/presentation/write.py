"""Write results and cards to files, in the format of their endings."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from incrowd.estimation.compare import TwoWay
from incrowd.estimation.compare_shares import ShareDifference
from incrowd.estimation.correlate import Correlations
from incrowd.estimation.crosstab import Crosstab
from incrowd.estimation.regression.results import Regression
from incrowd.estimation.results import Estimates
from incrowd.files import checked_ending, replaced
from incrowd.presentation import (
    comparisons,
    correlations,
    crosstabs,
    figures,
    postprocessed,
    regressions,
)
from incrowd.presentation.card import Card, html, markdown
from incrowd.presentation.data import as_json, as_table
from incrowd.presentation.number_text import finite
from incrowd.presentation.receipts import marked
from incrowd.presentation.view import View, view_page

if TYPE_CHECKING:
    from incrowd.estimation.postprocess import Postprocessed
    from incrowd.survey import Survey

Result = Estimates | Regression | TwoWay | ShareDifference | Crosstab | Correlations


class Document(NamedTuple):
    """A result in every form that a file can have; each form is made when it is written.

    facts: JSON-ready. page: HTML. table: an Arrow table, for .csv and .parquet. figures: for .xlsx
    and .R. view: of a result that has no page with charts.
    """

    facts: Callable[[], Any]
    page: Callable[[], str]
    table: Callable[[], pa.Table]
    figures: Callable[[], figures.Figures]
    view: View | None = None


def document(result: Result) -> Document:
    """The forms of a result."""
    if isinstance(result, Estimates):
        return Document(
            lambda: as_json(result),
            lambda: _estimates_page(result),
            lambda: as_table(result),
            lambda: figures.of_estimates(result),
        )
    if isinstance(result, Regression):
        return Document(
            lambda: finite(marked(regressions.facts(result), result.seed)),
            lambda: _regression_page(result),
            lambda: regressions.regression_table(result),
            lambda: figures.of_regression(result),
        )
    if isinstance(result, TwoWay):
        return _of_view(
            comparisons.view(result),
            lambda: comparisons.comparison_table(result.kinds(), result.seed),
            lambda: figures.of_comparison(result),
        )
    if isinstance(result, ShareDifference):
        return _of_view(
            comparisons.share_view(result),
            lambda: comparisons.comparison_table([("difference", result.figure)], result.seed),
            lambda: figures.of_difference(result),
        )
    if isinstance(result, Crosstab):
        return _of_view(
            crosstabs.view(result),
            lambda: crosstabs.crosstab_table(result),
            lambda: figures.of_crosstab(result),
        )
    return _of_view(
        correlations.view(result),
        lambda: correlations.correlation_table(result),
        lambda: figures.of_correlations(result),
    )


def postprocessed_document(tables: Sequence[Postprocessed], survey: Survey) -> Document:
    """The forms of tables that one method post-processed."""
    return _of_view(
        postprocessed.view(tables, survey),
        lambda: postprocessed.postprocessed_table(tables),
        lambda: figures.of_postprocessed(tables, survey),
    )


def _of_view(
    view: View, table: Callable[[], pa.Table], figures: Callable[[], figures.Figures]
) -> Document:
    return Document(
        lambda: marked(dict(view.facts), view.seed), lambda: view_page(view), table, figures, view
    )


def _estimates_page(estimates: Estimates) -> str:
    from incrowd.presentation.page import page  # drawing is slow to import

    return page(estimates)


def _regression_page(model: Regression) -> str:
    from incrowd.presentation.regression_page import page  # drawing is slow to import

    return page(model)


# --- formats ----------------------------------------------------------------------------------


def _json(document: Document) -> bytes:
    text = json.dumps(document.facts(), indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _csv(document: Document) -> bytes:
    content = io.BytesIO()
    pyarrow.csv.write_csv(as_text(document.table()), content)
    return content.getvalue()


def as_text(table: pa.Table) -> pa.Table:
    """A table in which no text begins like a formula: spreadsheets would compute it.

    An apostrophe is put before =, +, -, @, a tab and a carriage return: spreadsheets take what
    follows as text.
    """
    from incrowd.presentation.workbook import FORMULA

    columns = [
        pa.array(
            [
                f"'{each}" if each is not None and each.startswith(FORMULA) else each
                for each in column.to_pylist()
            ],
            pa.string(),
        )
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _parquet(document: Document) -> bytes:
    content = io.BytesIO()
    pyarrow.parquet.write_table(document.table(), content)
    return content.getvalue()


def _workbook(document: Document) -> bytes:
    from incrowd.presentation.workbook import workbook

    return workbook(document.figures())


def _r_script(document: Document) -> bytes:
    from incrowd.presentation.r_script import r_script

    return r_script(document.figures()).encode()


R_SCRIPT = ".r"  # an ending in lower case
_WRITERS: Mapping[str, Callable[[Document], bytes]] = {
    ".csv": _csv,
    ".json": _json,
    ".parquet": _parquet,
    ".html": lambda document: document.page().encode(),
    ".xlsx": _workbook,
    R_SCRIPT: _r_script,
}
CARD_WRITERS: Mapping[str, Callable[[Card], str]] = {".html": html, ".md": markdown}


def check_ending(path: str | Path) -> str:
    """Return the ending of a path, in lower case; call it before the work starts.

    Raises UsageError if results cannot be written with that ending.
    """
    return checked_ending(path, _WRITERS)


def content(document: Document, ending: str) -> bytes:
    """The bytes of a file with that ending, which is one that `check_ending` returns.

    Raises UsageError if a package is missing for it.
    """
    return _WRITERS[ending](document)


def save(document: Document, path: str | Path) -> None:
    """Write a result as .csv, .json, .parquet, .html, .xlsx or .R.

    The file is written whole or not at all. Raises UsageError for any other ending, or if the file
    cannot be written.
    """
    ending = check_ending(path)
    with replaced(path) as temporary:
        temporary.write_bytes(content(document, ending))


def save_estimates(estimates: Estimates, path: str | Path) -> None:
    """Write the estimates as .csv, .json, .parquet, .html, .xlsx or .R.

    The file is written whole or not at all. Raises UsageError for any other ending, or if the file
    cannot be written.
    """
    save(document(estimates), path)


def save_regression(model: Regression, path: Path) -> bool:
    """Write a regression, whole or not at all.

    A .csv file has a row for each coefficient. Without any, it is not written; returns False then.
    """
    if check_ending(path) in (".csv", ".parquet") and not model.estimable:
        return False
    save(document(model), path)
    return True


def write_card(card: Card, path: str | Path) -> None:
    """Write a card as .html or .md, as `save_estimates` writes estimates."""
    writer = CARD_WRITERS[checked_ending(path, CARD_WRITERS)]
    with replaced(path) as temporary:
        temporary.write_text(writer(card), encoding="utf-8")
