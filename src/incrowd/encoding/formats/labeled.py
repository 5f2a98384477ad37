"""SPSS and Stata files: codes, their labels, and the codes that mean no answer."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.encoding.cells import as_text, text_column
from incrowd.encoding.formats.reader import Data, Reader, Request, check_names
from incrowd.encoding.formats.registry import FORMATS
from incrowd.encoding.sources import Source, refused
from incrowd.errors import AnswersError, needing
from incrowd.survey import AnyQuestion, Codes

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Labeled:
    """The content of a file of a statistics package.

    columns: the codes as text (fractions as numbers), without those that the file declares missing.
    texts: the wording of each question. labels: for each column, code -> label. missing: for each
    column, the codes that it declares missing. names: of all columns, including those not read.
    """

    columns: Mapping[str, pa.Array]
    texts: Mapping[str, str]
    labels: Mapping[str, Labels]
    missing: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]


def answers(column: pa.Array, question: AnyQuestion, codes: Codes, labels: Labels) -> pa.Array:
    """Replace the codes of a column by labels, except for codes that the survey uses itself."""
    if not labels or codes.values:
        return column
    replaced = {
        code: label
        for code, label in labels.items()
        if code not in codes.missing and not _by_code(question, code, label, codes.missing)
    }
    if not replaced:
        return column
    return pa.array(
        [replaced.get(text or "", text) for text in pc.cast(column, pa.string()).to_pylist()],
        pa.string(),
    )


def _by_code(question: AnyQuestion, code: str, label: str, missing: Iterable[str]) -> bool:
    """Whether a question uses the code and not the label: numbers, and options that are codes."""
    if question.of_numbers:
        return label not in missing
    options = question.choices
    return label not in options and label not in missing and code in options


def labeled(source: Source, wanted: Sequence[str] | None = None) -> Labeled:
    """Read a file, or some of its columns. Raises AnswersError if it cannot be read."""
    about, _ = _read(source, metadataonly=True, user_missing=True)
    names = [name for name in about.column_names if wanted is None or name in wanted]
    values: Mapping[str, list[Any]] = _read(source, usecols=names)[1] if names else {}
    return Labeled(
        {name: _column(cells) for name, cells in values.items()},
        {name: text for name, text in about.column_names_to_labels.items() if text},
        {name: _texts(labels) for name, labels in about.variable_value_labels.items()},
        {name: _missing(about, name) for name in names},
        tuple(about.column_names),
    )


def _read(source: Source, **options: Any) -> tuple[Any, Mapping[str, list[Any]]]:
    """Return the metadata of a file, and the cells of its columns."""
    with needing("stats", AnswersError, source.name):
        import pyreadstat
    read: Any = pyreadstat.read_sav if source.kind == "sav" else pyreadstat.read_dta
    file = io.BytesIO(source.whole())
    try:
        values, about = read(file, output_format="dict", encoding=source.encoding, **options)
    except Exception:  # pyreadstat raises several exceptions, some of them built-in
        allowed = f"the {FORMATS[source.kind].spoken} file is damaged or incomplete; save it again"
        raise refused(source.name, allowed) from None
    return about, values


def _texts(labels: Mapping[Any, str]) -> Labels:
    return {as_text(code) or "": label.strip() for code, label in labels.items()}


def _column(cells: Sequence[Any]) -> pa.Array:
    """Return a column of codes as text; with fractions, of numbers, which have many spellings."""
    if any(isinstance(cell, float) and not cell.is_integer() for cell in cells):
        return pa.array(cells, pa.float64())
    return text_column([None if cell == "" else cell for cell in cells])


def _missing(about: Any, name: str) -> tuple[str, ...]:
    """Return the codes that a column declares missing: single ones, and labeled ones in ranges."""
    ranges = about.missing_ranges.get(name, ())
    labeled = about.variable_value_labels.get(name, {})
    single = [each["lo"] for each in ranges if each["lo"] == each["hi"]]
    within = [
        code
        for code in labeled
        for each in ranges
        if isinstance(code, type(each["lo"])) and each["lo"] <= code <= each["hi"]
    ]
    user = about.missing_user_values.get(name, ())
    return tuple(dict.fromkeys(as_text(code) or "" for code in [*single, *within, *user]))


class _Labeled(Reader):
    def table(self, source: Source) -> pa.Table:
        """Return all columns, as codes."""
        return pa.table(labeled(source).columns)

    def columns(self, source: Source, request: Request) -> list[str]:
        """Return the names of all columns."""
        return list(labeled(source, ()).names)

    def wanted(self, source: Source, request: Request) -> pa.Table:
        """Return the wanted columns, with codes replaced by their labels."""
        survey, read = request.survey, labeled(source, request.columns)
        names = check_names(read.names, survey, request.id)
        questions = {question.id: question for question in survey.questions}
        columns = {
            name: answers(
                read.columns[name],
                questions[name],
                survey.codes_of(name),
                read.labels.get(name, {}),
            )
            if name in questions
            else read.columns[name]
            for name in names
        }
        return pa.table(columns)

    def data(self, source: Source) -> Data:
        """Return all columns, with wording, labels, and codes for no answer."""
        read = labeled(source)
        return Data(pa.table(read.columns), read.texts, read.labels, read.missing)


READER = _Labeled()
