"""XLSForm (ODK, KoboToolbox, SurveyCTO): a workbook with the sheets survey and choices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incrowd.drafts.columns import is_id, labelled
from incrowd.drafts.draft import Draft
from incrowd.drafts.edges import even
from incrowd.drafts.found import Asked, Found, LeftOut

SHEETS = {"survey", "choices"}
QUIET = ("note", "calculate", "hidden", "begin", "end", "start", "today", "deviceid", "username")
GUESSED = [0, 1, 2, 5, 10]  # edges, where nothing says what numbers there are
_COUNTED = re.compile(r"count-selected\(\s*\.\s*\)\s*(<=?|=)\s*(\d+)")
_LOW = re.compile(r"\.\s*>=?\s*(-?[\d.]+)")
_HIGH = re.compile(r"\.\s*<=?\s*(-?[\d.]+)")

Row = Mapping[str, str]


def is_xlsform(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bool:
    """Whether a workbook is one: it has both sheets, and a column for the type."""
    return {*sheets} >= SHEETS and "type" in {*map(str, (sheets["survey"] or [[]])[0])}


def draft_of(name: str, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> Draft:
    """A question for each row of the sheet survey that people answer."""
    choices: dict[str, dict[str, str]] = {}
    for row in _rows(sheets["choices"]):
        list_name = row.get("list_name") or row.get("list name", "")
        if code := row.get("name") or row.get("value", ""):
            choices.setdefault(list_name, {})[code] = _label(row) or code
    found = tuple(_found(row, choices) for row in _rows(sheets["survey"]) if _asks(row))
    return Draft(name, None, found, ("a form does not say how many people answer: set the crowd",))


def _rows(sheet: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """Rows by the names of the columns, all as text."""
    names = [str(name or "").strip() for name in sheet[0]] if sheet else []
    for row in sheet[1:]:
        filled = {n: _text(cell) for n, cell in zip(names, row, strict=False) if n}
        if any(filled.values()):
            yield filled


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else str(cell).strip()


def _asks(row: Row) -> bool:
    """Whether people answer a row: notes and groups are none."""
    return bool(row.get("name")) and not row.get("type", "").lower().startswith(QUIET)


def _label(row: Row) -> str:
    """In the form's first language."""
    return next((row[key] for key in row if key.split(":")[0] == "label" and row[key]), "")


def _found(row: Row, choices: Mapping[str, Mapping[str, str]]) -> Found:
    name, (kind, _, rest) = row["name"], row.get("type", "").partition(" ")
    if not is_id(name):
        return LeftOut(name, "a name has no comma and no space around it; rename it")
    codes = dict(choices.get(rest.split(" ")[0], {}))
    if rest.endswith("or_other"):
        codes |= {"other": "other"}
    found = _typed(name, kind.lower(), codes, row.get("constraint", ""))
    if isinstance(found, LeftOut):
        return found
    keys: dict[str, Any] = {"text": _label(row)} if _label(row) else {}
    keys |= found.keys
    if not row.get("required", "").lower().startswith(("yes", "true", "1")):
        keys["optional"] = True
    made = Asked(name, keys, found.remarks, found.undecided)
    if relevant := row.get("relevant"):
        return made.noting(f"Asked only if {relevant}: then it is optional.")
    return made


def _typed(name: str, kind: str, codes: Mapping[str, str], constraint: str) -> Found:
    if kind == "select_one":
        return labelled(name, codes)
    if kind == "select_multiple":
        return _multi(name, codes, constraint)
    if kind in ("integer", "decimal", "range"):
        return numbers(name, _bound(_LOW, constraint), _bound(_HIGH, constraint))
    if kind in ("acknowledge", "trigger"):
        return Asked(name, {"type": "yesno", "values": {"OK": "yes"}, "optional": True})
    return LeftOut(name, f"answers of type {kind} cannot be counted as shares")


def _multi(name: str, codes: Mapping[str, str], constraint: str) -> Found:
    found = labelled(name, codes)
    if isinstance(found, LeftOut):
        return found
    options = list(dict.fromkeys(codes.values()))
    counted = _COUNTED.search(constraint)
    most = int(counted[2]) - (counted[1] == "<") if counted else len(options)
    keys = {"type": "multi", "options": options, "at_most": max(1, min(most, len(options)))}
    made = Asked(name, keys | {"values": dict(codes)})
    if counted:
        return made
    return made.doubting("at_most is all of the options: fewer need less noise")


def _bound(pattern: re.Pattern[str], constraint: str) -> float | None:
    found = pattern.search(constraint)
    return float(found[1]) if found else None


def numbers(name: str, low: float | None, high: float | None) -> Asked:
    """A number between two bounds, as far as they are known."""
    if low is not None and high is not None and high > low:
        made = Asked(name, {"type": "number", "edges": even(low, high)})
        return made.noting("Edges are even: choose those that you report.")
    start = 0 if low is None else low
    made = Asked(name, {"type": "number", "edges": [start + each for each in GUESSED]})
    return made.doubting("nothing says what numbers there are: set the edges")
