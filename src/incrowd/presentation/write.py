"""Write results and cards to files, in the format of their endings."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from incrowd.estimation.results import Estimates
from incrowd.files import checked_ending, replaced
from incrowd.presentation.card import Card, html, markdown
from incrowd.presentation.data import json_ready
from incrowd.presentation.layouts import page
from incrowd.views import Result


def _json(result: Result) -> bytes:
    text = json.dumps(json_ready(result), indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _csv(result: Result) -> bytes:
    content = io.BytesIO()
    pyarrow.csv.write_csv(as_text(result.to_arrow()), content)
    return content.getvalue()


def as_text(table: pa.Table) -> pa.Table:
    """Return a table in which no text begins like a formula: spreadsheets would compute it.

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


def _parquet(result: Result) -> bytes:
    content = io.BytesIO()
    pyarrow.parquet.write_table(result.to_arrow(), content)
    return content.getvalue()


def _workbook(result: Result) -> bytes:
    from incrowd.presentation.workbook import workbook

    return workbook(result)


def _word(result: Result) -> bytes:
    from incrowd.presentation.report import document
    from incrowd.presentation.word import word

    return word(document(result))


def _r_script(result: Result) -> bytes:
    from incrowd.presentation.r_script import r_script

    return r_script(result).encode()


_OF_ROWS = (".csv", ".parquet")
R_SCRIPT = ".r"  # an ending in lower case
_WRITERS: Mapping[str, Callable[[Result], bytes]] = {
    ".csv": _csv,
    ".json": _json,
    ".parquet": _parquet,
    ".html": lambda result: page(result).encode(),
    ".xlsx": _workbook,
    ".docx": _word,
    R_SCRIPT: _r_script,
}
CARD_WRITERS: Mapping[str, Callable[[Card], str]] = {".html": html, ".md": markdown}


def check_ending(path: str | Path) -> str:
    """Return the ending of a path, in lower case; call it before the work starts.

    Raises UsageError if results cannot be written with that ending.
    """
    return checked_ending(path, _WRITERS)


def content(result: Result, ending: str) -> bytes:
    """Return the bytes of a file with that ending, which is one that `check_ending` returns.

    Raises UsageError if a package is missing for it.
    """
    return _WRITERS[ending](result)


def has_content(result: Result, ending: str) -> bool:
    """Return whether a result can be written with that ending: a list of figures needs some."""
    return ending not in _OF_ROWS or bool(result.long_table().rows)


def save(result: Result, path: str | Path) -> bool:
    """Write a result as .csv, .json, .parquet, .html, .xlsx, .docx or .R, whole or not at all.

    A .csv or .parquet file of a result without figures is not written; the result is then False.
    Raises UsageError for any other ending, or if the file cannot be written.
    """
    ending = check_ending(path)
    if not has_content(result, ending):
        return False
    with replaced(path) as temporary:
        temporary.write_bytes(content(result, ending))
    return True


def save_estimates(estimates: Estimates, path: str | Path) -> None:
    """Write estimates to a file, completely or not at all.

    Parameters
    ----------
    estimates : Estimates
        What `estimate` returned.
    path : str or Path
        The ending determines the format: .csv, .json, .parquet, .html, .xlsx, .docx, or .R.

    Raises
    ------
    UsageError
        For any other ending, and if the file cannot be written.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> incrowd.save_estimates(incrowd.estimate(plan, reports), "estimates.csv")
    """
    save(estimates, path)


def write_card(card: Card, path: str | Path) -> None:
    """Write a card as .html or .md, as `save_estimates` writes estimates."""
    writer = CARD_WRITERS[checked_ending(path, CARD_WRITERS)]
    with replaced(path) as temporary:
        temporary.write_text(writer(card), encoding="utf-8")
