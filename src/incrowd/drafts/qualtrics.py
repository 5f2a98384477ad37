"""Qualtrics' survey file (.qsf): JSON with an element for each question, and for their order.

The parts: https://api.qualtrics.com (survey definitions), and the files that Qualtrics exports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.drafts.columns import ColumnDraft, SkippedColumn
from incrowd.drafts.draft import Draft
from incrowd.drafts.form import Form, FormFile, numbers, one_of, optional, some_of, worded
from incrowd.drafts.missing import number
from incrowd.drafts.wording import FormWording, Languages, Translations, without_html
from incrowd.errors import AnswersError
from incrowd.survey.words import LANGUAGE, TAG

Json = Mapping[str, Any]

MOST_DEPTH = 200  # of nested lists and tables
_REFERENCE = re.compile(r"\$\{[^{}]*\}")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def recognized(file: FormFile) -> bool:
    """Return whether a file is a survey file."""
    start = file.start.lstrip()
    named = any(f'"{part}"' in start for part in ("SurveyEntry", "SurveyElements"))
    return start.startswith("{") and named and file.source.kind == "jsonl"


# Parts of the file, which may be anything: lists where tables are empty, numbers for texts.


def _table(value: Any) -> dict[str, Any]:
    """Return a table; Qualtrics writes a list where the keys are 1, 2, 3, or there are none."""
    if isinstance(value, list):
        return {str(place): each for place, each in enumerate(value, start=1)}
    return {**value} if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return (
        [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    )


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


def _parsed(file: FormFile) -> Json:
    """Parse a file. Raises AnswersError for a damaged one."""
    try:
        _check_depth(file.text)
        return _table(json.loads(file.text))
    except (ValueError, RecursionError):
        raise AnswersError.of(
            "answers", "drafts.damaged-form", value=file.source.name, form=FORM.spoken
        ) from None


def _check_depth(text: str) -> None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > MOST_DEPTH:
            raise ValueError


# The questions.


class Placed(NamedTuple):
    """A question with its place. repeated: whether it is asked several times for each person.
    condition: what decides who is asked; "" if everyone is."""

    payload: Json
    repeated: str
    condition: str


def draft_of(name: str, file: FormFile) -> Draft:
    """Draft a question for each question of a survey, and for each row of its matrices.

    Raises AnswersError for a damaged file.
    """
    content = _parsed(file)
    entry = _table(content.get("SurveyEntry"))
    elements = [_table(each) for each in _list(content.get("SurveyElements"))]
    payloads = [_table(each.get("Payload")) for each in elements if each.get("Element") == "SQ"]
    languages = _languages(entry, payloads)
    wording = FormWording(languages, _REFERENCE)
    columns = tuple(c for each in _placed(elements) for c in _columns(each, wording))
    note = "a survey file does not say how many people answer; set the crowd"
    title = without_html(_text(entry.get("SurveyName"))) or name
    return Draft(title, None, columns, (note,), languages.main)


def _languages(entry: Json, payloads: Sequence[Json]) -> Languages:
    names = [_text(entry.get("SurveyLanguage")) or LANGUAGE]
    names += [name for each in payloads for name in _translations(each)]
    tags = {name: tag for name in dict.fromkeys(names) if re.fullmatch(TAG, tag := _tag(name))}
    return Languages(tags or {"": LANGUAGE})


def _tag(name: str) -> str:
    first, *rest = name.replace("_", "-").split("-")
    return "-".join([first.lower(), *rest])


def _translations(payload: Json) -> dict[str, Any]:
    """Return what is translated, by language; a list means that nothing is."""
    translated = payload.get("Language")
    return {**translated} if isinstance(translated, dict) else {}


def _placed(elements: Sequence[Json]) -> Iterator[Placed]:
    """Yield the questions in the order of their blocks; those in the trash are not asked."""
    questions = {
        _text(each.get("PrimaryAttribute")): _table(each.get("Payload"))
        for each in elements
        if each.get("Element") == "SQ"
    }
    blocks = [
        _table(block)
        for each in elements
        if each.get("Element") == "BL"
        for block in _list(each.get("Payload"))
    ]
    if not blocks:
        yield from (Placed(payload, "", "") for payload in questions.values())
        return
    branches = dict(
        pair
        for each in elements
        if each.get("Element") == "FL"
        for pair in _branches(_table(each.get("Payload")), "")
    )
    for block in blocks:
        if block.get("Type") == "Trash":
            continue
        looped = _table(block.get("Options")).get("Looping") not in (None, "", "None", False)
        repeated = (_text(block.get("Description")) or "block") if looped else ""
        for each in map(_table, _list(block.get("BlockElements"))):
            payload = questions.get(_text(each.get("QuestionID")))
            if payload:
                condition = branches.get(_text(block.get("ID")), "")
                yield Placed(payload, repeated, condition)


def _branches(flow: Json, condition: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks that only some people see, each with the condition or the reason."""
    kind = flow.get("Type")
    if kind == "Branch":
        condition = _described(flow.get("BranchLogic")) or "a branch of the survey flow says so"
    elif kind == "BlockRandomizer" and flow.get("SubSet"):
        condition = "the block is drawn at random"
    if condition and flow.get("ID"):
        yield _text(flow["ID"]), condition
    for each in _list(flow.get("Flow")):
        yield from _branches(_table(each), condition)


def _described(logic: Any) -> str:
    """Return the descriptions in a condition, as Qualtrics shows them."""
    parts = []
    for each in _list(_table(logic)):
        if isinstance(each, dict):
            words = without_html(_text(each.get("Description")))
            parts.append(words or _described(each))
    return " ".join(filter(None, parts))


# The types of questions.

_QUIET = frozenset({"DB", "Timing", "Meta", "Captcha"})
_LEFT_OUT: Mapping[str, Sentence] = {
    "RO": sentence("drafts.ranking"),
    "PGR": sentence("drafts.ranking"),
    "FileUpload": sentence("drafts.file"),
    "Draw": sentence("drafts.signature"),
    "TE": sentence("drafts.text-or-date"),
}
_SEVERAL = frozenset({"MAVR", "MAHR", "MACOL", "MSB"})
_SINGLE = frozenset({"SAVR", "SAHR", "SACOL", "DL", "SB", "NPS"})
_CHECKED = "MultipleAnswer"
_MATRICES = frozenset({"Likert", "Bipolar", "Profile"})
_SLIDER, _STARS = (0.0, 100.0), 5.0
_MULTIPLE_CHOICE, _MATRIX, _BAR, _ENTRY = "MC", "Matrix", "Slider", "TE"
_NPS = {str(n): {"Display": str(n)} for n in range(11)}


def _columns(placed: Placed, wording: FormWording) -> Iterator[ColumnDraft]:
    payload = placed.payload
    kind, id = _text(payload.get("QuestionType")), _id(payload)
    if kind in _QUIET:
        return
    if placed.repeated:
        yield SkippedColumn(id, sentence("drafts.asked-repeatedly", repeat=placed.repeated))
        return
    settings = _table(_table(payload.get("Validation")).get("Settings"))
    forced = settings.get("ForceResponse") == "ON" and settings.get("ForceResponseType") != "OFF"
    parts = (placed.condition, _described(payload.get("DisplayLogic")))
    if payload.get("DisplayLogic") and not parts[1]:
        parts = (placed.condition, "the display logic says so")
    condition = "; ".join(filter(None, parts))
    for column, words in _typed(id, payload, settings, wording):
        yield optional(worded(column, wording, words), forced, condition)


def _id(payload: Json) -> str:
    return _text(payload.get("DataExportTag")) or _text(payload.get("QuestionID"))


def _typed(
    id: str, payload: Json, settings: Json, wording: FormWording
) -> Iterator[tuple[ColumnDraft, Translations]]:
    """Yield the columns of a question, each with its wording."""
    kind, selector = _text(payload.get("QuestionType")), _text(payload.get("Selector"))
    words = _in_languages(payload, wording, lambda part: part.get("QuestionText"))
    if kind == _MULTIPLE_CHOICE and selector in _SINGLE | _SEVERAL:
        fallback = _NPS if selector == "NPS" else {}
        codes = _codes(payload, "Choices", "ChoiceOrder", wording, fallback)
        yield _chosen(id, codes, settings, wording, selector in _SEVERAL), words
    elif kind == _MATRIX and selector in _MATRICES:
        codes = _codes(payload, "Answers", "AnswerOrder", wording)
        several = payload.get("SubSelector") == _CHECKED
        for row, label in _rows(id, payload, wording):
            column = _chosen(row, codes, settings, wording, several)
            yield column, _together(words, label)
    elif kind == _BAR:
        stated = _table(payload.get("Configuration"))
        bounds = [number(_text(stated.get(f"CSSlider{end}"))) for end in ("Min", "Max")]
        if selector == "STAR":
            bounds = [0.0, number(_text(stated.get("StarCount"))) or _STARS]
        low, high = (d if b is None else b for b, d in zip(bounds, _SLIDER, strict=True))
        for row, label in _rows(id, payload, wording):
            yield numbers(row, low, high), _together(words, label)
    elif kind == _ENTRY and settings.get("ContentType") == "ValidNumber":
        valid = _table(settings.get("ValidNumber"))
        yield numbers(id, *(number(_text(valid.get(end))) for end in ("Min", "Max"))), words
    else:
        name = " ".join(filter(None, (kind, selector)))
        yield (
            SkippedColumn(id, _LEFT_OUT.get(kind) or sentence("drafts.uncounted-type", type=name)),
            words,
        )


def _chosen(
    id: str, codes: Mapping[str, Translations], settings: Json, wording: FormWording, several: bool
) -> ColumnDraft:
    if not several:
        return one_of(id, codes, wording)
    most = number(_text(settings.get("MaxChoices")))
    column = some_of(id, codes, wording, None if most is None else int(min(most, len(codes))))
    if isinstance(column, SkippedColumn):
        return column
    if any("," in text for pair in column.keys["values"].items() for text in pair):
        return column.noting(
            "Qualtrics exports the codes with commas; replace these by semicolons."
        )
    return replace(column, keys={**column.keys, "separator": ","})


def _codes(
    payload: Json, key: str, order: str, wording: FormWording, fallback: Json | None = None
) -> dict[str, Translations]:
    """Return the wording of each answer by the code that Qualtrics exports for it."""
    stated = _table(payload.get(key)) or {**(fallback or {})}
    recoded = _table(payload.get("RecodeValues"))
    codes: dict[str, Translations] = {}
    for place in _ordered(stated, payload.get(order)):
        code = _text(recoded.get(place)) or place
        words = _display(payload, key, place, wording) or {
            wording.languages.main: _text(_table(stated[place]).get("Display"))
        }
        codes[code if code not in codes else place] = words
    return codes


def _ordered(stated: Json, order: Any) -> list[str]:
    """Return the keys of answers or rows in the order in which people see them."""
    listed = [_text(each) for each in _list(order)]
    return [each for each in dict.fromkeys([*listed, *stated]) if each in stated]


def _rows(id: str, payload: Json, wording: FormWording) -> Iterator[tuple[str, Translations]]:
    """Yield the name of each row's column in exported answers, and its wording."""
    tags = _table(payload.get("ChoiceDataExportTags"))
    for place in _ordered(_table(payload.get("Choices")), payload.get("ChoiceOrder")):
        words = _display(payload, "Choices", place, wording)
        yield _text(tags.get(place)) or f"{id}_{place}", words


def _display(payload: Json, key: str, place: str, wording: FormWording) -> dict[str, str]:
    return _in_languages(
        payload, wording, lambda part: _table(_table(part.get(key)).get(place)).get("Display")
    )


def _in_languages(payload: Json, wording: FormWording, part_of: Any) -> dict[str, str]:
    """Return a text of a question in every language."""
    main, tags = wording.languages.main, wording.languages.tags
    versions = {main: payload} | {
        tags[name]: _table(part) for name, part in _translations(payload).items() if name in tags
    }
    texts = {tag: _text(part_of(part)) for tag, part in versions.items()}
    return {tag: text for tag, text in texts.items() if text}


def _together(first: Translations, second: Translations) -> dict[str, str]:
    """Return the wording of a matrix and of its row, in every language that has the row."""
    return {
        tag: " ".join(filter(None, (first.get(tag), text))) for tag, text in second.items()
    } or {**first}


FORM = Form(sentence("drafts.qualtrics"), recognized, draft_of)
