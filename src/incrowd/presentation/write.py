"""Write results and cards to files, in the format of their endings."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from incrowd.catalog.sentences import ENGLISH, LANGUAGES
from incrowd.errors import UsageError
from incrowd.estimation.results import Estimates
from incrowd.files import checked_ending, replaced
from incrowd.presentation.card import Card, html, markdown
from incrowd.presentation.data import json_ready
from incrowd.presentation.layouts import page
from incrowd.survey.surveys import worded
from incrowd.views import Result


def _json(result: Result, _: str) -> bytes:
    text = json.dumps(json_ready(result), indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _csv(result: Result, _: str) -> bytes:
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


def _parquet(result: Result, _: str) -> bytes:
    content = io.BytesIO()
    pyarrow.parquet.write_table(result.to_arrow(), content)
    return content.getvalue()


def _workbook(result: Result, language: str) -> bytes:
    from incrowd.presentation.workbook import workbook

    return workbook(result, language)


def _word(result: Result, language: str) -> bytes:
    from incrowd.presentation.report import document
    from incrowd.presentation.word import word

    return word(document(result, language))


def _r_script(result: Result, _: str) -> bytes:
    from incrowd.presentation.r_script import r_script

    return r_script(result).encode()


_OF_ROWS = (".csv", ".parquet")
R_SCRIPT = ".r"  # an ending in lower case
_WRITERS: Mapping[str, Callable[[Result, str], bytes]] = {
    ".csv": _csv,
    ".json": _json,
    ".parquet": _parquet,
    ".html": lambda result, language: page(result, language).encode(),
    ".xlsx": _workbook,
    ".docx": _word,
    R_SCRIPT: _r_script,
}
CARD_WRITERS: Mapping[str, Callable[[Card], str]] = {".html": html, ".md": markdown}


def check_ending(path: str | Path, *others: str) -> str:
    """Return the ending of a path, in lower case; call it before the work starts.

    others: endings of files that are not results. Raises UsageError if results cannot be written
    with that ending, and it is none of the others.
    """
    return checked_ending(path, (*others, *_WRITERS))


def content(result: Result, ending: str, language: str = ENGLISH) -> bytes:
    """Return the bytes of a file with that ending, which is one that `check_ending` returns.

    language: of pages, workbooks and documents. Raises UsageError if a package is missing.
    """
    return _WRITERS[ending](result, language)


def has_content(result: Result, ending: str) -> bool:
    """Return whether a result can be written with that ending: a list of figures needs some."""
    return ending not in _OF_ROWS or bool(result.long_table().rows)


def save(result: Result, path: str | Path, language: str = ENGLISH) -> bool:
    """Write a result as .csv, .json, .parquet, .html, .xlsx, .docx or .R, whole or not at all.

    A .csv or .parquet file of a result without figures is not written; the result is then False.
    Raises UsageError for any other ending, or if the file cannot be written.
    """
    ending = check_ending(path)
    if not has_content(result, ending):
        return False
    with replaced(path) as temporary:
        temporary.write_bytes(content(result, ending, language))
    return True


def save_estimates(estimates: Estimates, path: str | Path, *, language: str = ENGLISH) -> None:
    """Write estimates to a file, completely or not at all.

    A page (.html) and a document for Word (.docx) are reports for readers: who answered, each
    question with its results in sentences and bars, what can be said and what cannot, the promise,
    and the method.

    Parameters
    ----------
    estimates : Estimates
        What `estimate` returned.
    path : str or Path
        The ending determines the format: .csv, .json, .parquet, .html, .xlsx, .docx, or .R.
    language : {"en", "de"}
        Of the texts in .html, .xlsx, and .docx. Questions and answers are in this language if the
        survey has it.

    Raises
    ------
    UsageError
        For any other ending or language, and if the file cannot be written.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> incrowd.save_estimates(incrowd.estimate(plan, reports), "estimates.csv")
    """
    if language not in LANGUAGES:
        raise UsageError.of("language", "shared.use-one-of", value=language, choices=[*LANGUAGES])
    survey = worded(estimates.plan.survey, language)
    save(estimates.worded(survey), path, language)


def write_card(card: Card, path: str | Path) -> None:
    """Write a card as .html or .md, as `save_estimates` writes estimates."""
    writer = CARD_WRITERS[checked_ending(path, CARD_WRITERS)]
    with replaced(path) as temporary:
        temporary.write_text(writer(card), encoding="utf-8")
