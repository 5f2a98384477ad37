"""REDCap's data dictionary: a CSV file with a row for each field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.drafts.columns import DraftQuestion, Found, LeftOut, is_id, labeled, yes_no
from incrowd.drafts.draft import Draft
from incrowd.drafts.missing import number
from incrowd.drafts.xlsform import numbers

# What a column is called in a downloaded file, and by the interface for programs.
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
_SLIDER = (0.0, 100.0)
_NOT_ASKED = {
    "calc": "it is calculated: ask for what you want to know, or group it in a new column",
    "sql": "its choices are in a database: list them as a choice",
    "file": "it is a file",
    "signature": "it is a signature",
}
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")

Row = Mapping[str, str]


def is_dictionary(columns: Sequence[str]) -> bool:
    """Whether a CSV file with these columns is one."""
    return {"field_name", "field_type"} <= {_key(column) for column in columns}


def draft_of(name: str, rows: Sequence[Mapping[str, str | None]]) -> Draft:
    """A question for each field that people answer, of a checkbox one for each of its boxes."""
    fields = [{_key(key): (value or "").strip() for key, value in row.items()} for row in rows]
    found = tuple(each for place, row in enumerate(fields) for each in _found(row, place == 0))
    told = "a dictionary does not say how many people answer: set the crowd"
    return Draft(name, None, found, (told,))


def _key(column: str) -> str:
    long = {value: key for key, value in _NAMES.items()}
    short = {value: key for key, value in _SHORT.items()}
    return long.get(column.strip()) or short.get(column.strip()) or column.strip()


def _found(row: Row, first: bool) -> list[Found]:
    name, kind = row["field_name"], row["field_type"]
    if kind == "descriptive":
        return []
    if kind in _NOT_ASKED:
        return [LeftOut(name, _NOT_ASKED[kind])]
    if first or row.get("identifier", "").lower() == "y":
        reason = f"it says who it is: use --id {name} if it says whose row it is"
        return [LeftOut(name, reason if first else "it is marked as an identifier")]
    if not is_id(name):
        return [LeftOut(name, "a name has no comma and no space around it; rename it")]
    choices = _choices(row.get("choices", ""))
    if kind == "checkbox":
        return [_box(row, code, label) for code, label in choices.items()]
    return [_worded(_typed(name, kind, row, choices), row)]


def _typed(name: str, kind: str, row: Row, choices: Mapping[str, str]) -> Found:
    if kind in ("yesno", "truefalse"):
        return yes_no(name, {})
    if kind in ("radio", "dropdown"):
        return labeled(name, choices)
    if kind == "slider":
        low, high = number(row.get("low", "")), number(row.get("high", ""))
        return numbers(name, low or _SLIDER[0], high or _SLIDER[1])
    if row.get("validation", "").startswith(("integer", "number")):
        return numbers(name, number(row.get("low", "")), number(row.get("high", "")))
    return LeftOut(name, "it is free text or a date")


def _choices(text: str) -> dict[str, str]:
    """`1, Yes | 2, No` as codes and labels."""
    pairs = (part.partition(",") for part in text.split("|"))
    return {code.strip(): label.strip() or code.strip() for code, _, label in pairs if code.strip()}


def _box(row: Row, code: str, label: str) -> DraftQuestion:
    """A checkbox is a column of 1 and 0 in REDCap's files."""
    text = " ".join(filter(None, (_label(row), f"({label})")))
    made = DraftQuestion(f"{row['field_name']}___{code.lower()}", {"text": text, "type": "yesno"})
    if branching := row.get("branching"):
        return made.noting(
            f"Asked only if {branching}: in the data others stand as 0, which is no."
        )
    return made


def _label(row: Row) -> str:
    """What people read, without the marks of a web page."""
    return " ".join(_TAG.sub("", row.get("field_label", "")).split())


def _worded(column: Found, row: Row) -> Found:
    if isinstance(column, LeftOut):
        return column
    keys: dict[str, Any] = {"text": text} if (text := _label(row)) else {}
    keys |= column.keys
    if row.get("required", "").lower() != "y":
        keys["optional"] = True
    made = DraftQuestion(column.id, keys, column.remarks, column.undecided)
    if branching := row.get("branching"):
        return made.noting(f"Asked only if {branching}: then it is optional.")
    return made
