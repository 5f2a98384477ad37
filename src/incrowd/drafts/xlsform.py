"""XLSForm (ODK, KoboToolbox, SurveyCTO): a workbook with the sheets survey and choices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from incrowd.catalog.sentences import sentence
from incrowd.drafts.columns import (
    BAD_NAME,
    ColumnDraft,
    DraftQuestion,
    SkippedColumn,
    even,
    is_id,
    labeled,
)
from incrowd.drafts.draft import Draft
from incrowd.survey import Multi, Number, YesNo
from incrowd.survey.words import LANGUAGE, in_language

# The languages of a questionnaire, which the names of columns contain: `label::English (en)`.

_COLUMN = re.compile(r"(label|hint)(?:\s*::?\s*(.*))?")
_MORE = r"(?:-[A-Za-z0-9]{1,8})*"
_TAG = re.compile(rf".*\(([A-Za-z]{{2,3}}{_MORE})\)|([A-Za-z]{{2}}{_MORE})")

Translations = dict[str, str]  # texts by the tags of their languages


class Languages(NamedTuple):
    """The languages whose columns are used.

    tags: the tag of each language by its name, the main language first. notes: what was assumed,
    and what was left out.
    """

    tags: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> str:
        """The tag of the survey's language."""
        return next(iter(self.tags.values()))

    def translations(self, row: Mapping[str, str], field: str) -> Translations:
        """Return the `label` or the `hint` of a row in each language."""
        parts = {_COLUMN.fullmatch(column): text for column, text in row.items() if text}
        texts = {part[2] or "": text for part, text in parts.items() if part and part[1] == field}
        by_tag: Translations = {}
        for name in (name for name in self.tags if name in texts):
            by_tag.setdefault(self.tags[name], texts[name])
        return by_tag

    def labels(
        self, answers: Mapping[str, Translations]
    ) -> tuple[dict[str, Translations], tuple[str, ...]]:
        """Return the labels of answers that have several languages, and the ambiguous languages.

        A language in which two answers have the same label is ambiguous, and left out.
        """
        named = {answer: words for answer, words in answers.items() if self.main in words}
        ambiguous = []
        for tag in sorted({tag for words in named.values() for tag in words} - {self.main}):
            names = Counter(in_language(words, tag, self.main) for words in named.values())
            if max(names.values()) > 1:
                ambiguous.append(tag)
                named = {
                    a: {t: w for t, w in words.items() if t != tag} for a, words in named.items()
                }
        labels = {answer: words for answer, words in named.items() if len(words) > 1}
        return labels, tuple(ambiguous)


def languages_of(columns: Iterable[str], default: str) -> Languages:
    """Return the languages of some columns. default: the form's name of the main one, or empty.

    Columns without a language are in the default language.
    """
    parts = (_COLUMN.fullmatch(column) for column in columns)
    names = list(dict.fromkeys(part[2] or "" for part in parts if part)) or [""]
    tags = {name: tag for name in names if (tag := _tag(name or default))}
    main = _main(names, tags, default)
    notes = []
    if main not in tags and (main or len(names) > 1):
        subject = repr(main) if main else "columns without a language"
        notes.append(
            f"{subject}: the language has no tag; {LANGUAGE!r} was assumed; set `language`"
        )
    tags = {main: tags.get(main, LANGUAGE)} | tags
    for name in (name for name in names if name not in tags):
        subject = repr(name) if name else "columns without a language"
        notes.append(f"{subject}: left out; add the language tag, as in label::English (en)")
    return Languages(tags, tuple(notes))


def _main(names: Sequence[str], tags: Mapping[str, str], default: str) -> str:
    """Return the name of the main language;
    one without a tag only if no other has the assumed tag."""
    for name in (default, ""):
        if name in tags:
            return name
    if "" in names and LANGUAGE not in tags.values():
        return ""
    return next(iter(tags), names[0])


def _tag(name: str) -> str | None:
    """Return the tag in the name of a language, such as `en` in "English (en)" and in "en"."""
    match = _TAG.fullmatch(name.strip())
    if not match:
        return None
    first, *rest = (match[1] or match[2]).split("-")
    return "-".join([first.lower(), *rest])


SHEETS = {"survey", "choices"}
READ = ("survey", "choices", "settings")
QUIET = ("note", "calculate", "hidden", "begin", "end", "start", "today", "deviceid", "username")
EXAMPLE_EDGES = [0, 1, 2, 5, 10]  # for numbers without bounds
_COUNTED = re.compile(r"count-selected\(\s*\.\s*\)\s*(<=?|=)\s*(\d+)")
_LOW = re.compile(r"\.\s*>=?\s*(-?[\d.]+)")
_HIGH = re.compile(r"\.\s*<=?\s*(-?[\d.]+)")

FormRow = Mapping[str, str]


def is_xlsform(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bool:
    """Return whether a workbook is an XLSForm: it has both sheets, and a column for the type."""
    return {*sheets} >= SHEETS and "type" in {*map(str, (sheets["survey"] or [[]])[0])}


def draft_of(name: str, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> Draft:
    """Draft a question for each row of the sheet `survey` that people answer."""
    settings = next(_rows(sheets.get("settings", ())), {})
    names = [*_names(sheets["survey"]), *_names(sheets["choices"])]
    languages = languages_of(names, settings.get("default_language", ""))
    choices: dict[str, dict[str, Translations]] = {}
    for row in _rows(sheets["choices"]):
        list_name = row.get("list_name") or row.get("list name", "")
        if code := row.get("name") or row.get("value", ""):
            choices.setdefault(list_name, {})[code] = languages.translations(row, "label")
    rows = filter(_is_question, _rows(sheets["survey"]))
    columns = tuple(_question(row, choices, languages) for row in rows)
    notes = ("a form does not say how many people answer; set the crowd", *languages.notes)
    return Draft(settings.get("form_title") or name, None, columns, notes, languages.main)


def _names(sheet: Sequence[Sequence[Any]]) -> list[str]:
    return [str(name or "").strip() for name in sheet[0]] if sheet else []


def _rows(sheet: Sequence[Sequence[Any]]) -> Iterator[FormRow]:
    """Yield the rows of a sheet as texts by the names of the columns."""
    names = _names(sheet)
    for row in sheet[1:]:
        filled = {n: _text(cell) for n, cell in zip(names, row, strict=False) if n}
        if any(filled.values()):
            yield filled


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else str(cell).strip()


def _is_question(row: FormRow) -> bool:
    """Return whether people answer a row; notes and groups are not questions."""
    return bool(row.get("name")) and not row.get("type", "").lower().startswith(QUIET)


def _question(
    row: FormRow, choices: Mapping[str, Mapping[str, Translations]], languages: Languages
) -> ColumnDraft:
    name, (kind, _, rest) = row["name"], row.get("type", "").partition(" ")
    if not is_id(name):
        return SkippedColumn(name, BAD_NAME)
    words = choices.get(rest.split(" ")[0], {})
    codes = {code: next(iter(labels.values()), code) for code, labels in words.items()}
    if rest.endswith("or_other"):
        codes |= {"other": "other"}
    question = _typed(name, kind.lower(), codes, row.get("constraint", ""))
    if isinstance(question, SkippedColumn):
        return question
    question = _worded(question, row, words, languages)
    if not row.get("required", "").lower().startswith(("yes", "true", "1")):
        question = replace(question, keys={**question.keys, "optional": True})
    if relevant := row.get("relevant"):
        return question.noting(f"Asked only if {relevant}, so it should be optional.")
    return question


def _worded(
    question: DraftQuestion, row: FormRow, words: Mapping[str, Translations], languages: Languages
) -> DraftQuestion:
    """Add text, help and labels in every language of the form that has a tag."""
    main = languages.main
    text, help = languages.translations(row, "label"), languages.translations(row, "hint")
    keys: dict[str, Any] = {}
    for key, texts in {"text": text, "help": help}.items():
        if texts:
            several = len(texts) > 1 and main in texts
            keys[key] = texts if several else next(iter(texts.values()))
    keys |= question.keys
    answers = {question.keys.get("values", {}).get(code): each for code, each in words.items()}
    labels, ambiguous = languages.labels({a: each for a, each in answers.items() if a})
    if labels:
        keys["labels"] = keys.get("labels", {}) | labels
    question = replace(question, keys=keys)
    if any(each and main not in each for each in (text, help, *words.values())):
        question = question.doubting(f"some texts are missing in {main!r}, the survey's language")
    for tag in ambiguous:
        question = question.doubting(
            f"two answers have the same label in {tag!r}; the labels in it were left out"
        )
    return question


def _typed(name: str, kind: str, codes: Mapping[str, str], constraint: str) -> ColumnDraft:
    if kind == "select_one":
        return labeled(name, codes)
    if kind == "select_multiple":
        return _multi(name, codes, constraint)
    if kind in ("integer", "decimal", "range"):
        return numbers(name, _bound(_LOW, constraint), _bound(_HIGH, constraint))
    if kind in ("acknowledge", "trigger"):
        return DraftQuestion(
            name, {"type": YesNo.type_name(), "values": {"OK": "yes"}, "optional": True}
        )
    return SkippedColumn(name, sentence("drafts.uncounted-type", type=kind))


def _multi(name: str, codes: Mapping[str, str], constraint: str) -> ColumnDraft:
    question = labeled(name, codes)
    if isinstance(question, SkippedColumn):
        return question
    options = list(dict.fromkeys(codes.values()))
    limit = _COUNTED.search(constraint)
    most = int(limit[2]) - (limit[1] == "<") if limit else len(options)
    keys = {
        "type": Multi.type_name(),
        "options": options,
        "at_most": max(1, min(most, len(options))),
    }
    question = DraftQuestion(name, keys | {"values": dict(codes)})
    if limit:
        return question
    return question.doubting("at_most allows all options; a smaller limit needs less noise")


def _bound(pattern: re.Pattern[str], constraint: str) -> float | None:
    match = pattern.search(constraint)
    return float(match[1]) if match else None


def numbers(name: str, low: float | None, high: float | None) -> DraftQuestion:
    """Return a question about a number between two bounds; None if there is no bound."""
    if low is not None and high is not None and high > low:
        question = DraftQuestion(name, {"type": Number.type_name(), "edges": even(low, high)})
        return question.noting("The edges are evenly spaced. Choose those that you will report.")
    start = 0 if low is None else low
    edges = [start + each for each in EXAMPLE_EDGES]
    question = DraftQuestion(name, {"type": Number.type_name(), "edges": edges})
    return question.doubting("the form does not state both bounds of the number; set the edges")
