"""REDCap's data dictionary: a CSV file with a row for each field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.drafts.columns import ColumnDraft, DraftQuestion, SkippedColumn, yes_no
from incrowd.drafts.draft import Draft
from incrowd.drafts.form import (
    Form,
    FormFile,
    SheetTable,
    ambiguous,
    numbers,
    one_of,
    optional,
    worded,
)
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

DictionaryRow = Mapping[str, str]


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
    headers = _matrix_headers(fields)
    columns = tuple(
        each
        for place, field in enumerate(fields)
        for each in _questions(field, place == 0, headers.get(field.get("matrix", ""), ""), wording)
    )
    notes = (
        "a data dictionary does not say how many people answer; set the crowd",
        "a data dictionary does not say whether instruments or events repeat; if they do, a person "
        "has several rows, so keep one of them",
        "a data dictionary does not list the project's codes for missing data, such as NI; add any "
        "to `missing`",
    )
    return Draft(name, None, columns, notes)


def _matrix_headers(fields: Sequence[DictionaryRow]) -> dict[str, str]:
    """Return the text above each matrix, which the first of its fields has."""
    headers: dict[str, str] = {}
    for field in fields:
        if matrix := field.get("matrix"):
            headers.setdefault(matrix, field.get("section_header", ""))
    return headers


def _questions(
    row: DictionaryRow, first: bool, header: str, wording: FormWording
) -> Iterator[ColumnDraft]:
    name, kind = row["field_name"], _folded(row.get("field_type", "")).split(" ")[0]
    if kind == "descriptive":
        return
    if why := _left_out(row, kind, first):
        yield SkippedColumn(name, why)
        return
    choices = _choices(row.get("choices", ""))
    if kind == "checkbox":
        for code, label in choices.items():
            yield _box(row, code, label, header, wording)
        return
    column = worded(
        _typed(name, kind, row, choices, wording),
        wording,
        {LANGUAGE: _under(header, row.get("field_label", ""))},
        {LANGUAGE: row.get("note", "")},
    )
    required = row.get("required", "").casefold() == "y"
    yield optional(column, required, row.get("branching", ""))


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
        column = numbers(name, low, high)
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


def _box(
    row: DictionaryRow, code: str, label: str, header: str, wording: FormWording
) -> ColumnDraft:
    """Return one box of a checkbox field, a column of 1 and 0 in REDCap's files."""
    text = " ".join(
        filter(None, (_under(header, row.get("field_label", "")), f"({wording.plain(label)})"))
    )
    suffix = re.sub(r"[^a-z0-9_]", "_", code.casefold())
    question = DraftQuestion(f"{row['field_name']}___{suffix}", {"type": YesNo.type_name()})
    column = worded(question, wording, {LANGUAGE: text}, {LANGUAGE: row.get("note", "")})
    if isinstance(column, DraftQuestion) and (branching := row.get("branching")):
        return column.noting(
            f"Asked only if {branching}. In the data everyone else has 0, which means no."
        )
    return column


def _under(header: str, label: str) -> str:
    """Return the wording of a field below the text of its matrix."""
    return " ".join(filter(None, (header, label)))


FORM = Form(sentence("drafts.data-dictionary"), recognized, draft_of)
