"""REDCap's data dictionary: a CSV file with a row for each field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from incrowd.catalog.sentences import sentence
from incrowd.drafts.columns import (
    BAD_NAME,
    ColumnDraft,
    DraftQuestion,
    SkippedColumn,
    is_id,
    labeled,
    yes_no,
)
from incrowd.drafts.draft import Draft
from incrowd.drafts.missing import number
from incrowd.drafts.xlsform import numbers
from incrowd.survey import YesNo

# The names of the columns in a downloaded file, and those of the API where they differ.
_NAMES = {
    "field_name": "Variable / Field Name",
    "field_type": "Field Type",
    "field_label": "Field Label",
    "choices": "Choices, Calculations, OR Slider Labels",
    "validation": "Text Validation Type OR Show Slider Number",
    "low": "Text Validation Min",
    "high": "Text Validation Max",
    "identifier": "Identifier?",
    "branching": "Branching Logic (Show field only if...)",
    "required": "Required Field?",
}
_SHORT = {
    "choices": "select_choices_or_calculations",
    "validation": "text_validation_type_or_show_slider_number",
    "low": "text_validation_min",
    "high": "text_validation_max",
    "branching": "branching_logic",
    "required": "required_field",
}
_KEYS = {name: key for names in (_NAMES, _SHORT) for key, name in names.items()}
_SLIDER = (0.0, 100.0)
_NOT_ASKED = {
    "calc": sentence("drafts.calculated"),
    "sql": sentence("drafts.in-a-database"),
    "file": sentence("drafts.file"),
    "signature": sentence("drafts.signature"),
}
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")

DictionaryRow = Mapping[str, str]


def is_dictionary(columns: Sequence[str]) -> bool:
    """Return whether a CSV file with these columns is a data dictionary."""
    return {"field_name", "field_type"} <= {_key(column) for column in columns}


def draft_of(name: str, rows: Sequence[Mapping[str, str | None]]) -> Draft:
    """Draft a question for each field that people answer, and for each box of a checkbox field."""
    fields = [{_key(key): (value or "").strip() for key, value in row.items()} for row in rows]
    columns = tuple(each for n, row in enumerate(fields) for each in _questions(row, n == 0))
    note = "a data dictionary does not say how many people answer; set the crowd"
    return Draft(name, None, columns, (note,))


def _key(column: str) -> str:
    return _KEYS.get(column.strip(), column.strip())


def _questions(row: DictionaryRow, first: bool) -> list[ColumnDraft]:
    name, kind = row["field_name"], row["field_type"]
    if kind == "descriptive":
        return []
    if kind in _NOT_ASKED:
        return [SkippedColumn(name, _NOT_ASKED[kind])]
    if first or row.get("identifier", "").lower() == "y":
        why = sentence("drafts.identifier")
        if first:
            why = sentence("drafts.record-id", name=name)
        return [SkippedColumn(name, why)]
    if not is_id(name):
        return [SkippedColumn(name, BAD_NAME)]
    choices = _choices(row.get("choices", ""))
    if kind == "checkbox":
        return [_box(row, code, label) for code, label in choices.items()]
    return [_worded(_typed(name, kind, row, choices), row)]


def _typed(name: str, kind: str, row: DictionaryRow, choices: Mapping[str, str]) -> ColumnDraft:
    if kind in ("yesno", "truefalse"):
        return yes_no(name, {})
    if kind in ("radio", "dropdown"):
        return labeled(name, choices)
    if kind == "slider":
        low, high = number(row.get("low", "")), number(row.get("high", ""))
        return numbers(name, low or _SLIDER[0], high or _SLIDER[1])
    if row.get("validation", "").startswith(("integer", "number")):
        return numbers(name, number(row.get("low", "")), number(row.get("high", "")))
    return SkippedColumn(name, sentence("drafts.text-or-date"))


def _choices(text: str) -> dict[str, str]:
    """Parse codes and labels, as in `1, Yes | 2, No`."""
    pairs = (part.partition(",") for part in text.split("|"))
    return {code.strip(): label.strip() or code.strip() for code, _, label in pairs if code.strip()}


def _box(row: DictionaryRow, code: str, label: str) -> DraftQuestion:
    """Return one box of a checkbox field, a column of 1 and 0 in REDCap's files."""
    text = " ".join(filter(None, (_label(row), f"({label})")))
    id = f"{row['field_name']}___{code.lower()}"
    question = DraftQuestion(id, {"text": text, "type": YesNo.type_name()})
    if branching := row.get("branching"):
        return question.noting(
            f"Asked only if {branching}. In the data everyone else has 0, which means no."
        )
    return question


def _label(row: DictionaryRow) -> str:
    """Return the wording of a field, without HTML tags."""
    return " ".join(_TAG.sub("", row.get("field_label", "")).split())


def _worded(column: ColumnDraft, row: DictionaryRow) -> ColumnDraft:
    if isinstance(column, SkippedColumn):
        return column
    keys: dict[str, Any] = {"text": text} if (text := _label(row)) else {}
    keys |= column.keys
    if row.get("required", "").lower() != "y":
        keys["optional"] = True
    question = replace(column, keys=keys)
    if branching := row.get("branching"):
        return question.noting(f"Asked only if {branching}, so it should be optional.")
    return question
