"""REDCap's data dictionary: a CSV file with a row for each field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.drafts.columns import ColumnDraft, DraftQuestion, SkippedColumn, yes_no
from incrowd.drafts.draft import Draft
from incrowd.drafts.expressions import (
    ExpressionLanguage,
    is_empty,
    same,
    written,
)
from incrowd.drafts.form import Form, FormFile, SheetTable, ambiguous, numbers, one_of
from incrowd.drafts.layout import FormItem, FormPart, laid_out
from incrowd.drafts.missing import number
from incrowd.drafts.wording import ENGLISH, FormWording
from incrowd.survey import YesNo
from incrowd.survey.words import LANGUAGE

# The names of the columns in a downloaded file, in order, and those of the API where they differ.
_NAMES = {
    "field_name": "Variable / Field Name",
    "form_name": "Form Name",
    "section_header": "Section Header",
    "field_type": "Field Type",
    "field_label": "Field Label",
    "choices": "Choices, Calculations, OR Slider Labels",
    "note": "Field Note",
    "validation": "Text Validation Type OR Show Slider Number",
    "low": "Text Validation Min",
    "high": "Text Validation Max",
    "identifier": "Identifier?",
    "branching": "Branching Logic (Show field only if...)",
    "required": "Required Field?",
    "alignment": "Custom Alignment",
    "number": "Question Number (surveys only)",
    "matrix": "Matrix Group Name",
    "ranking": "Matrix Ranking?",
    "annotation": "Field Annotation",
}
_SHORT = {
    "choices": "select_choices_or_calculations",
    "note": "field_note",
    "validation": "text_validation_type_or_show_slider_number",
    "low": "text_validation_min",
    "high": "text_validation_max",
    "branching": "branching_logic",
    "required": "required_field",
    "matrix": "matrix_group_name",
    "ranking": "matrix_ranking",
    "annotation": "field_annotation",
}


def _folded(name: str) -> str:
    return " ".join(name.strip(" \t\"'\ufeff").casefold().split())


_KEYS = {_folded(name): key for names in (_NAMES, _SHORT) for key, name in names.items()}
SEARCHED = 20  # first rows, for the header
FEWEST_COLUMNS, FEWEST_FIELDS = 15, 2  # of a dictionary whose header is in another language
_ASKED = frozenset({"text", "radio", "dropdown", "checkbox", "yesno", "truefalse", "slider"})
_NOT_ASKED = {
    "calc": sentence("drafts.calculated"),
    "sql": sentence("drafts.in-a-database"),
    "file": sentence("drafts.file"),
    "signature": sentence("drafts.signature"),
}
_TYPES = _ASKED | {*_NOT_ASKED, "notes", "descriptive"}
_SLIDER = (0.0, 100.0)
_CODE = re.compile(r"[\w.+-]+")
_BREAKS = re.compile(r"\r?\n|\\n")
_HIDDEN = re.compile(r"@HIDDEN(-SURVEY)?(?![-\w])")
_COMPUTED = re.compile(r"@(CALCTEXT|CALCDATE)\b")
_FIXED = re.compile(r"@READONLY(-SURVEY)?(?![-\w])")

_LANGUAGE_OF_CONDITIONS = ExpressionLanguage(
    r"\[\s*([A-Za-z]\w*)\s*(?:\(\s*([^\s()\[\]]+)\s*\))?(?::value)?\s*\]",
    lambda match: _box_name(match[1], match[2]) if match[2] else match[1],
    functions={"isblankormissingcode": is_empty, "round": same, "number": same},
)

DictionaryRow = Mapping[str, str]


def _box_name(field: str, code: str) -> str:
    """Return the name of a box of a checkbox field in branching logic."""
    return f"{field}({code.casefold()})"


def _key(column: str) -> str:
    return _KEYS.get(_folded(column), _folded(column))


def _fields(rows: SheetTable) -> list[DictionaryRow]:
    """Return the fields of a dictionary; none of a table that is not one.

    A header in another language is recognized by the types of fields, which are always English.
    """
    header, *others = _from_header(rows) or [[]]
    keys = [_key(name) for name in header]
    if not {"field_name", "field_type"} <= {*keys}:
        place = [*_NAMES].index("field_type")
        types = [_folded(row[place]) for row in others if len(row) > place]
        names = [row[0] for row in others]
        complete = FEWEST_COLUMNS <= len(header) <= len(_NAMES) and len({*names}) == len(names)
        if not complete or len(types) < FEWEST_FIELDS or not {*types} <= _TYPES:
            return []
        keys = [*_NAMES][: len(header)]
    fields = ({k: c.strip() for k, c in zip(keys, row, strict=False) if k} for row in others)
    return [field for field in fields if field.get("field_name")]


def _from_header(rows: SheetTable) -> SheetTable:
    """Return the rows from the header on, which may follow a title; all without a known header."""
    first = (place for place, row in enumerate(rows[:SEARCHED]) if _is_header(row))
    return rows[next(first, 0) :]


def _is_header(row: Sequence[str]) -> bool:
    return {"field_name", "field_type"} <= {*map(_key, row)}


def recognized(file: FormFile) -> bool:
    """Return whether a CSV file or the first sheet of a workbook is a data dictionary."""
    header = (_from_header(file.first_rows) or [[]])[0]
    return _is_header(header) or bool(_fields(file.first_rows))


def draft_of(name: str, file: FormFile) -> Draft:
    """Draft a question for each field that people answer, and for each box of a checkbox field."""
    fields = _fields(file.rows)
    names = sorted({re.escape(field["field_name"]) for field in fields}, key=len, reverse=True)
    one = "|".join(names) or "(?!)"
    one += r"|[a-z]+(?:[-_][a-z0-9]+)+"  # variables of the software, and of other projects
    reference = re.compile(rf"(?:\[[\w-]+\])?\[(?:{one})(?:[(:][^\[\]]*)?\](?:\[[\w-]+\])?")
    wording = FormWording(ENGLISH, reference)
    notes = (
        "a data dictionary does not say how many people answer; set the crowd",
        "a data dictionary does not say whether instruments or events repeat; if they do, a person "
        "has several rows, so keep one of them",
        "a data dictionary does not list the project's codes for missing data, such as NI; add any "
        "to `missing`",
    )
    return laid_out(_items(fields, wording), wording).draft(name, notes, LANGUAGE)


class PlacedField(NamedTuple):
    """A field with the header above it, and its matrix. first: whether it is the first one."""

    row: DictionaryRow
    section: FormPart | None
    matrix: FormPart | None
    first: bool


def _placed(fields: Sequence[DictionaryRow]) -> Iterator[PlacedField]:
    """Yield the fields. The header of the first field of a matrix is the text of the matrix; any
    other begins a section, which ends with its instrument."""
    section: FormPart | None = None
    matrices: dict[str, FormPart] = {}
    for place, row in enumerate(fields):
        header, name = row.get("section_header", ""), row.get("matrix", "")
        if place and row.get("form_name") != fields[place - 1].get("form_name"):
            section = None
        if name:
            matrices.setdefault(name, FormPart(name, name, {LANGUAGE: header}))
        elif header:
            section = FormPart(place, header.casefold(), {LANGUAGE: header})
        yield PlacedField(row, section, matrices.get(name), place == 0)


def _items(fields: Sequence[DictionaryRow], wording: FormWording) -> Iterator[FormItem]:
    for field in _placed(fields):
        row = field.row
        name, kind = row["field_name"], _folded(row.get("field_type", "")).split(" ")[0]
        if kind == "descriptive":
            continue
        if why := _left_out(row, kind, field.first):
            yield FormItem(SkippedColumn(name, why))
            continue
        choices, words = _choices(row.get("choices", "")), {LANGUAGE: row.get("field_label", "")}
        note, branching = {LANGUAGE: row.get("note", "")}, row.get("branching", "")
        conditions = (written(branching, _LANGUAGE_OF_CONDITIONS),) if branching else ()
        if kind == "checkbox":
            for code, label in choices.items():
                above = field.matrix.words.get(LANGUAGE, "") if field.matrix else ""
                box = _box(row, code, label, above, wording)
                yield box._replace(help=note, conditions=conditions, section=field.section)
            continue
        column = _typed(name, kind, row, choices, wording)
        required = row.get("required", "").casefold() == "y"
        yield FormItem(column, words, note, required, conditions, field.section, field.matrix)


def _left_out(row: DictionaryRow, kind: str, first: bool) -> Sentence | None:
    """Return why people do not answer a field, or may not be counted by it; None if they do."""
    name, annotation = row["field_name"], row.get("annotation", "")
    if first and kind == "text":
        return sentence("drafts.record-id", name=name)
    if row.get("identifier", "").casefold() == "y":
        return sentence("drafts.identifier")
    if name.startswith("redcap_"):
        return sentence("drafts.about-the-record")
    if kind in _NOT_ASKED:
        return _NOT_ASKED[kind]
    if _COMPUTED.search(annotation):
        return sentence("drafts.calculated")
    if _HIDDEN.search(annotation):
        return sentence("drafts.hidden-field")
    if _FIXED.search(annotation):
        return sentence("drafts.read-only")
    return None


def _typed(
    name: str, kind: str, row: DictionaryRow, choices: Mapping[str, str], wording: FormWording
) -> ColumnDraft:
    if kind in ("yesno", "truefalse"):
        column = yes_no(name, {})
        labels = {"yes": "True", "no": "False"}
        return replace(column, keys={**column.keys, "labels": labels}) if kind[0] == "t" else column
    if kind in ("radio", "dropdown"):
        codes = {code: {LANGUAGE: label} for code, label in choices.items()}
        return ambiguous(one_of(name, codes, wording), _twice(row.get("choices", "")))
    low, high = _bound(row.get("low", "")), _bound(row.get("high", ""))
    if kind == "slider":
        low, high = (_SLIDER[0] if low is None else low), (_SLIDER[1] if high is None else high)
        slider = numbers(name, low, high)
        shown = wording.plain(row.get("choices", ""))
        return slider.noting(f"Labels of the slider: {shown}.") if shown else slider
    if row.get("validation", "").startswith(("integer", "number")):
        whole = row["validation"].startswith("integer")
        column = numbers(name, low, high, whole)
        if "comma" in row["validation"]:
            return column.noting("In exported answers, these numbers have a decimal comma.")
        return column
    return SkippedColumn(name, sentence("drafts.text-or-date"))


def _bound(text: str) -> float | None:
    """Return a bound, also with a decimal comma; None if it is a date or the name of a field."""
    return number(text.replace(",", ".", 1))


def _twice(text: str) -> list[str]:
    """Return the codes that have two different labels."""
    pairs = {
        (code.strip(), label.strip())
        for code, comma, label in (part.partition(",") for part in text.split("|"))
        if comma
    }
    return [code for code, times in Counter(code for code, _ in pairs).items() if times > 1]


def _choices(text: str) -> dict[str, str]:
    """Parse codes and labels, as in `1, Yes | 2, No`; labels may contain commas and bars.

    Without any comma, as in `Mr. | Mrs.`, each code is its own label.
    """
    parts = text.split("|") if "|" in text else _BREAKS.split(text)
    pairs = [
        (code.strip(), comma, label) for code, comma, label in (p.partition(",") for p in parts)
    ]
    coded = [bool(comma) and bool(_CODE.fullmatch(code)) for code, comma, _ in pairs]
    choices: dict[str, str] = {}
    last = ""
    for part, (code, _, label), begins in zip(parts, pairs, coded, strict=True):
        if begins or not any(coded):
            last = code.strip() if begins else part.strip()
            if last:
                choices.setdefault(last, label.strip() or last if begins else last)
        elif last and part.strip():
            choices[last] = f"{choices[last]} | {part.strip()}"
    return choices


def _box(row: DictionaryRow, code: str, label: str, above: str, wording: FormWording) -> FormItem:
    """Return one box of a checkbox field, a column of 1 and 0 in REDCap's files. above: the text of
    its matrix."""
    texts = above, row.get("field_label", ""), f"({wording.plain(label)})"
    suffix = re.sub(r"[^a-z0-9_]", "_", code.casefold())
    question = DraftQuestion(f"{row['field_name']}___{suffix}", {"type": YesNo.type_name()})
    if row.get("branching"):
        question = question.noting("In the data, people who were not asked have 0.")
    words = {LANGUAGE: " ".join(filter(None, texts))}
    return FormItem(question, words, required=True, name=_box_name(row["field_name"], code))


FORM = Form(sentence("drafts.data-dictionary"), recognized, draft_of)
