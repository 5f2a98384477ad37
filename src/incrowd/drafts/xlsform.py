"""XLSForm (ODK, KoboToolbox, SurveyCTO): a workbook with the sheets survey and choices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from incrowd.drafts.columns import DraftQuestion, Found, LeftOut, even, is_id, labeled
from incrowd.drafts.draft import Draft
from incrowd.survey.words import LANGUAGE, in_language

# The languages of a questionnaire whose columns name them, as `label::English (en)`.


_COLUMN = re.compile(r"(label|hint)(?:\s*::?\s*(.*))?")
_MORE = r"(?:-[A-Za-z0-9]{1,8})*"
_TAG = re.compile(rf".*\(([A-Za-z]{{2,3}}{_MORE})\)|([A-Za-z]{{2}}{_MORE})")

Table = dict[str, str]  # texts by the tags of their languages


class Languages(NamedTuple):
    """The columns that are taken: the tag of each language by its name, the main one first.

    notes: what nobody could know, and what was left out.
    """

    tags: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> str:
        """The tag of the survey's own language."""
        return next(iter(self.tags.values()))

    def words(self, row: Mapping[str, str], field: str) -> Table:
        """What a row says in its `label` or `hint`."""
        parts = {_COLUMN.fullmatch(column): text for column, text in row.items() if text}
        said = {p[2] or "": text for p, text in parts.items() if p and p[1] == field}
        found: Table = {}
        for name in (name for name in self.tags if name in said):
            found.setdefault(self.tags[name], said[name])
        return found

    def labels(self, answers: Mapping[str, Table]) -> tuple[dict[str, Table], tuple[str, ...]]:
        """Names of answers in several languages; and the languages in which two have one name."""
        named = {answer: words for answer, words in answers.items() if self.main in words}
        alike = []
        for tag in sorted({tag for words in named.values() for tag in words} - {self.main}):
            names = Counter(in_language(words, tag, self.main) for words in named.values())
            if max(names.values()) > 1:
                alike.append(tag)
                named = {
                    a: {t: w for t, w in words.items() if t != tag} for a, words in named.items()
                }
        return {answer: words for answer, words in named.items() if len(words) > 1}, tuple(alike)


def languages_of(columns: Iterable[str], default: str) -> Languages:
    """The languages of some columns. default: the main one, as the form names it, or nothing.

    Columns without a language are in the default one.
    """
    parts = (_COLUMN.fullmatch(column) for column in columns)
    names = list(dict.fromkeys(part[2] or "" for part in parts if part)) or [""]
    known = {name: tag for name in names if (tag := _tag(name or default))}
    main = _main(names, known, default)
    tags = {main: known.get(main, LANGUAGE)} | known
    guessed = [main] if main not in known and (main or len(names) > 1) else []
    unknown = [name for name in names if name not in tags]
    return Languages(tags, (*map(_guessed, guessed), *map(_left_out, unknown)))


def _main(names: Sequence[str], known: Mapping[str, str], default: str) -> str:
    """The name of the main language; one without a tag only if no other has the tag it gets."""
    for name in (default, ""):
        if name in known:
            return name
    if "" in names and LANGUAGE not in known.values():
        return ""
    return next(iter(known), names[0])


def _tag(name: str) -> str | None:
    """`en` of "English (en)" and of "en"; None where a name does not say it."""
    found = _TAG.fullmatch(name.strip())
    if not found:
        return None
    first, *rest = (found[1] or found[2]).split("-")
    return "-".join([first.lower(), *rest])


def _guessed(name: str) -> str:
    said = repr(name) if name else "a label without one"
    return f"nothing says which language {said} is: {LANGUAGE!r} was taken; set `language`"


def _left_out(name: str) -> str:
    said = repr(name) if name else "columns without a language"
    return f"the text in {said} was left out: write its tag, as in label::English (en)"


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
    settings = next(_rows(sheets.get("settings", ())), {})
    columns = [name for sheet in ("survey", "choices") for name in _names(sheets[sheet])]
    spoken = languages_of(columns, settings.get("default_language", ""))
    choices: dict[str, dict[str, Table]] = {}
    for row in _rows(sheets["choices"]):
        list_name = row.get("list_name") or row.get("list name", "")
        if code := row.get("name") or row.get("value", ""):
            choices.setdefault(list_name, {})[code] = spoken.words(row, "label")
    found = tuple(_found(row, choices, spoken) for row in _rows(sheets["survey"]) if _asks(row))
    notes = ("a form does not say how many people answer: set the crowd", *spoken.notes)
    return Draft(settings.get("form_title") or name, None, found, notes, spoken.main)


def _names(sheet: Sequence[Sequence[Any]]) -> list[str]:
    return [str(name or "").strip() for name in sheet[0]] if sheet else []


def _rows(sheet: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """Rows by the names of the columns, all as text."""
    names = _names(sheet)
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


def _found(row: Row, choices: Mapping[str, Mapping[str, Table]], spoken: Languages) -> Found:
    name, (kind, _, rest) = row["name"], row.get("type", "").partition(" ")
    if not is_id(name):
        return LeftOut(name, "a name has no comma and no space around it; rename it")
    words = choices.get(rest.split(" ")[0], {})
    codes = {code: next(iter(said.values()), code) for code, said in words.items()}
    if rest.endswith("or_other"):
        codes |= {"other": "other"}
    found = _typed(name, kind.lower(), codes, row.get("constraint", ""))
    if isinstance(found, LeftOut):
        return found
    made = _worded(found, row, words, spoken)
    if not row.get("required", "").lower().startswith(("yes", "true", "1")):
        made = replace(made, keys={**made.keys, "optional": True})
    if relevant := row.get("relevant"):
        return made.noting(f"Asked only if {relevant}: then it is optional.")
    return made


def _worded(
    made: DraftQuestion, row: Row, words: Mapping[str, Table], spoken: Languages
) -> DraftQuestion:
    """With its text, help and labels, in every language of the form that has a tag."""
    text, help = spoken.words(row, "label"), spoken.words(row, "hint")
    said = {"text": text, "help": help}
    keys: dict[str, Any] = {k: _words(v, spoken.main) for k, v in said.items() if v}
    keys |= made.keys
    answers = {made.keys.get("values", {}).get(code): each for code, each in words.items()}
    labels, alike = spoken.labels({answer: each for answer, each in answers.items() if answer})
    if labels:
        keys["labels"] = keys.get("labels", {}) | labels
    made = replace(made, keys=keys)
    if any(each and spoken.main not in each for each in (text, help, *words.values())):
        made = made.doubting(f"some of its words are not in {spoken.main!r}, the survey's language")
    for tag in alike:
        made = made.doubting(
            f"two answers have the same label in {tag!r}: its labels were left out"
        )
    return made


def _words(said: Table, main: str) -> str | Table:
    """Plain text, unless there are several languages with the survey's own among them."""
    return said if len(said) > 1 and main in said else next(iter(said.values()))


def _typed(name: str, kind: str, codes: Mapping[str, str], constraint: str) -> Found:
    if kind == "select_one":
        return labeled(name, codes)
    if kind == "select_multiple":
        return _multi(name, codes, constraint)
    if kind in ("integer", "decimal", "range"):
        return numbers(name, _bound(_LOW, constraint), _bound(_HIGH, constraint))
    if kind in ("acknowledge", "trigger"):
        return DraftQuestion(name, {"type": "yesno", "values": {"OK": "yes"}, "optional": True})
    return LeftOut(name, f"answers of type {kind} cannot be counted as shares")


def _multi(name: str, codes: Mapping[str, str], constraint: str) -> Found:
    found = labeled(name, codes)
    if isinstance(found, LeftOut):
        return found
    options = list(dict.fromkeys(codes.values()))
    counted = _COUNTED.search(constraint)
    most = int(counted[2]) - (counted[1] == "<") if counted else len(options)
    keys = {"type": "multi", "options": options, "at_most": max(1, min(most, len(options)))}
    made = DraftQuestion(name, keys | {"values": dict(codes)})
    if counted:
        return made
    return made.doubting("at_most is all of the options: fewer need less noise")


def _bound(pattern: re.Pattern[str], constraint: str) -> float | None:
    found = pattern.search(constraint)
    return float(found[1]) if found else None


def numbers(name: str, low: float | None, high: float | None) -> DraftQuestion:
    """A number between two bounds, as far as they are known."""
    if low is not None and high is not None and high > low:
        made = DraftQuestion(name, {"type": "number", "edges": even(low, high)})
        return made.noting("Edges are even: choose those that you report.")
    start = 0 if low is None else low
    made = DraftQuestion(name, {"type": "number", "edges": [start + each for each in GUESSED]})
    return made.doubting("nothing says what numbers there are: set the edges")
