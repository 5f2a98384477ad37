"""Answers, or a questionnaire of other software -> a draft of a survey."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from incrowd.drafts import data, redcap, xlsform
from incrowd.drafts.draft import Draft
from incrowd.encoding.formats import excel
from incrowd.encoding.frames import is_frame
from incrowd.encoding.sources import Source, readable, source_of
from incrowd.encoding.whole import load_data
from incrowd.errors import AnswersError, InWords

NAME = "Survey"


def draft(
    answers: str | Path | IO[bytes] | Any,
    *,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Draft:
    """A survey written from data, or from a questionnaire: `toml` is its text.

    answers, format, encoding, sheet: as for `load_answers`. Of data the values decide (of SPSS and
    Stata files the labels, wording and codes for no answer too); an XLSForm workbook and a REDCap
    data dictionary are known by their columns. `undecided` says what nobody could know. Raises
    AnswersError if the file cannot be read, or nothing in it makes a question.
    """
    if is_frame(answers):
        return _asking(data.draft_of(NAME, load_data(answers)))
    source = source_of(answers, format, encoding, sheet)
    name = source.path.name.split(".")[0] or NAME
    return _asking(_form(name, source) or _data(name, source))


def _asking(made: Draft) -> Draft:
    """The draft. Raises AnswersError if there is no question in it."""
    if not made.asked:
        reasons = "; ".join(f"{gone.id} {gone.reason}" for gone in made.left_out[:3])
        works = f"name another file: {reasons}" if reasons else "name another file"
        raise AnswersError.of("answers", InWords("no column makes a question"), works)
    return made


def _form(name: str, source: Source) -> Draft | None:
    if source.kind != "xlsx" or source.sheet is not None:
        return None
    with readable(source.name):
        sheets = excel.sheets(source)
    return xlsform.draft_of(name, sheets) if xlsform.is_xlsform(sheets) else None


def _data(name: str, source: Source) -> Draft:
    found = load_data(source)
    if redcap.is_dictionary(found.table.column_names):
        return redcap.draft_of(name, found.table.to_pylist())
    return data.draft_of(name, found)
