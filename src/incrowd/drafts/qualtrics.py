"""Qualtrics' survey file (.qsf): JSON with an element for each question, and for their order.

The parts: https://api.qualtrics.com (survey definitions), and the files that Qualtrics exports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.drafts.columns import ColumnDraft, SkippedColumn
from incrowd.drafts.conditions import (
    EarlierAnswers,
    NotExpressed,
    all_of,
    any_of,
    negated,
)
from incrowd.drafts.draft import Draft
from incrowd.drafts.expressions import FormCondition
from incrowd.drafts.form import Form, FormFile, numbers, one_of, some_of, with_other
from incrowd.drafts.layout import FormItem, FormPart, laid_out
from incrowd.drafts.missing import number
from incrowd.drafts.wording import FormWording, Languages, Translations, without_html
from incrowd.errors import AnswersError
from incrowd.survey.conditions import Condition
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
    section: its block, if there are several. conditions: of a single block."""

    payload: Json
    repeated: str
    section: FormPart | None = None
    conditions: tuple[FormCondition, ...] = ()


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
    items = (item for each in _placed(elements) for item in _items(each, wording))
    note = "a survey file does not say how many people answer; set the crowd"
    title = without_html(_text(entry.get("SurveyName"))) or name
    layout = laid_out(items, wording)
    notes = [note]
    if layout.sections:
        notes.append("the titles of sections are names of blocks, which people do not see; reword")
    return layout.draft(title, notes, languages.main)


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
        yield from (Placed(payload, "") for payload in questions.values())
        return
    flow = _flow([_table(each.get("Payload")) for each in elements if each.get("Element") == "FL"])
    order = {id: place for place, id in enumerate(flow)}
    blocks = [block for block in blocks if block.get("Type") != "Trash"]
    for block in sorted(blocks, key=lambda block: order.get(_text(block.get("ID")), len(order))):
        looped = _table(block.get("Options")).get("Looping") not in (None, "", "None", False)
        id, title = _text(block.get("ID")), _text(block.get("Description"))
        above = flow.get(id, ())
        section = None
        if len(blocks) > 1:
            section, above = FormPart(id, title.casefold(), {LANGUAGE: title}, above), ()
        for each in map(_table, _list(block.get("BlockElements"))):
            payload = questions.get(_text(each.get("QuestionID")))
            if payload:
                repeated = (title or "block") if looped else ""
                yield Placed(payload, repeated, section, above)


def _flow(flows: Sequence[Json]) -> dict[str, tuple[FormCondition, ...]]:
    """Return the blocks in the order in which people see them, each with its conditions. People see
    a block that is at several places if they come to one of these."""
    ways: dict[str, list[tuple[FormCondition, ...]]] = {}
    ended: list[FormCondition] = []
    for flow in flows:
        for id, conditions in _places(flow, (), ended):
            ways.setdefault(id, []).append(conditions)
    return {id: each[0] if len(each) == 1 else _one_of(each) for id, each in ways.items()}


def _places(
    flow: Json, above: tuple[FormCondition, ...], ended: list[FormCondition]
) -> Iterator[tuple[str, tuple[FormCondition, ...]]]:
    """Yield the blocks with the conditions of the branches around each. ended: those of the people
    who have not come to an end before."""
    if flow.get("Type") == "Branch":
        above = (*above, _logic(flow.get("BranchLogic"), "a branch of the survey flow says so"))
    elif flow.get("Type") == "BlockRandomizer" and flow.get("SubSet"):
        above = (*above, FormCondition("the block is drawn at random", _at_random))
    elif flow.get("Type") == "EndSurvey" and above:
        text = " and ".join(each.text for each in above)
        ends = above
        ended.append(FormCondition(f"not ({text})", lambda answers: negated(_all(ends, answers))))
    if id := _text(flow.get("ID")):
        yield id, (*above, *ended)
    for each in _list(flow.get("Flow")):
        yield from _places(_table(each), above, ended)


def _one_of(ways: Sequence[tuple[FormCondition, ...]]) -> tuple[FormCondition, ...]:
    if not all(ways):
        return ()
    text = " or ".join(" and ".join(each.text for each in way) for way in ways)
    return (FormCondition(text, lambda answers: any_of(_all(way, answers) for way in ways)),)


def _all(conditions: Sequence[FormCondition], answers: EarlierAnswers) -> Condition:
    return all_of(each.read(answers) for each in conditions)


# Logic: a list of lists of comparisons, each with the word that connects it with the one before.

_COMPARED = {
    **{"EqualTo": "=", "NotEqualTo": "!=", "GreaterThan": ">", "GreaterThanOrEqual": ">="},
    **{"LessThan": "<", "LessThanOrEqual": "<="},
}
_CHOSEN, _NOT_CHOSEN = "Selected", "NotSelected"
_EMPTY, _NOT_EMPTY = "Empty", "NotEmpty"
_OPERAND = re.compile(
    r"q://(?P<id>[^/]+)/(?:(?:SelectableChoice|SelectableAnswer)/(?P<first>[^/]+)"
    r"(?:/(?P<second>[^/]+))?|ChoiceTextEntryValue|ChoiceNumericEntryValue(?:/(?P<row>[^/]+))?)"
)


def _at_random(answers: EarlierAnswers) -> Condition:
    raise NotExpressed("conditions depend on answers")


def _logic(logic: Any, otherwise: str) -> FormCondition:
    """Return a condition. otherwise: its text if Qualtrics does not describe it."""
    text = _described(logic) or otherwise
    return FormCondition(text, lambda answers: _read(_table(logic), answers))


def _read(logic: Json, answers: EarlierAnswers) -> Condition:
    """Return the condition of a list of lists; within each list, and between them, and comes before
    or."""
    sets = [_table(each) for key, each in logic.items() if key.isdigit()]
    if not sets:
        raise NotExpressed("it has no comparisons that are known here")
    return _connected(
        [
            (
                _text(each.get("Type")),
                _connected(
                    [
                        (_text(one.get("Conjuction") or one.get("Conjunction")), _one(one, answers))
                        for key, one in ((key, _table(one)) for key, one in each.items())
                        if key.isdigit()
                    ]
                ),
            )
            for each in sets
        ]
    )


def _connected(parts: Sequence[tuple[str, Condition]]) -> Condition:
    """Return conditions connected by the words before them, such as And, Or, AndIf, and OrIf."""
    if not parts:
        raise NotExpressed("it has no comparisons that are known here")
    alternatives: list[list[Condition]] = []
    for word, condition in parts:
        word = word.casefold().removesuffix("if")
        if not alternatives or word == "or":
            alternatives.append([condition])
        elif word == "and":
            alternatives[-1].append(condition)
        else:
            raise NotExpressed(f"it connects comparisons by {word or 'nothing'!r}")
    return any_of(map(all_of, alternatives))


def _one(comparison: Json, answers: EarlierAnswers) -> Condition:
    if comparison.get("LogicType") != "Question":
        raise NotExpressed("it depends on something other than answers")
    operator = _text(comparison.get("Operator"))
    match = _OPERAND.fullmatch(_text(comparison.get("LeftOperand")))
    if match is None:
        raise NotExpressed("it compares something that a survey does not have")
    id, option = match["id"], match["first"]
    if option and match["second"]:
        id, option = f"{id}/{option}", match["second"]
    if match["row"]:
        id = f"{id}/{match['row']}"
    if option and operator in (_CHOSEN, _NOT_CHOSEN):
        chosen = answers.compared(id, "has", option)
        return chosen if operator == _CHOSEN else negated(chosen)
    if not option and operator in (_EMPTY, _NOT_EMPTY):
        empty = answers.unanswered(id)
        return empty if operator == _EMPTY else negated(empty)
    if not option and operator in _COMPARED:
        return answers.compared(id, _COMPARED[operator], _text(comparison.get("RightOperand")))
    raise NotExpressed(f"it compares by {operator or 'nothing'!r}")


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


def _items(placed: Placed, wording: FormWording) -> Iterator[FormItem]:
    payload = placed.payload
    kind, id = _text(payload.get("QuestionType")), _id(payload)
    if kind in _QUIET:
        return
    if placed.repeated:
        why = sentence("drafts.asked-repeatedly", repeat=placed.repeated)
        yield FormItem(SkippedColumn(id, why))
        return
    settings = _table(_table(payload.get("Validation")).get("Settings"))
    forced = settings.get("ForceResponse") == "ON" and settings.get("ForceResponseType") != "OFF"
    conditions = placed.conditions
    if logic := payload.get("DisplayLogic"):
        conditions = (*conditions, _logic(logic, "the display logic says so"))
    for item in _typed(id, payload, settings, wording):
        every = (*conditions, *item.conditions)
        yield item._replace(required=forced, conditions=every, section=placed.section)


def _id(payload: Json) -> str:
    return _text(payload.get("DataExportTag")) or _text(payload.get("QuestionID"))


def _typed(id: str, payload: Json, settings: Json, wording: FormWording) -> Iterator[FormItem]:
    """Yield the columns of a question, each with its wording. Logic names them by the number of the
    question and of the row."""
    kind, selector = _text(payload.get("QuestionType")), _text(payload.get("Selector"))
    words = _in_languages(payload, wording, lambda part: part.get("QuestionText"))
    number_of = _text(payload.get("QuestionID"))
    matrix, only = FormPart(number_of, id, words), _shown_if(payload, "Choices")
    if kind == _MULTIPLE_CHOICE and selector in _SINGLE | _SEVERAL:
        fallback = _NPS if selector == "NPS" else {}
        places = _codes(payload, "Choices", "ChoiceOrder", wording, fallback)
        column = _chosen(id, places, settings, wording, selector in _SEVERAL)
        for place in _with_entry(payload):
            column = with_other(column, places[place].code if place in places else "")
        column = _with_note(column, only.values())
        yield FormItem(column, words, name=number_of, codes=_by_place(places))
    elif kind == _MATRIX and selector in _MATRICES:
        places = _codes(payload, "Answers", "AnswerOrder", wording)
        several = payload.get("SubSelector") == _CHECKED
        for place, row, label in _rows(id, payload, wording):
            column = _chosen(row, places, settings, wording, several)
            name, codes = f"{number_of}/{place}", _by_place(places)
            column = _with_note(column, _shown_if(payload, "Answers").values())
            yield FormItem(
                column, label, conditions=only[place], matrix=matrix, name=name, codes=codes
            )
    elif kind == _BAR:
        stated = _table(payload.get("Configuration"))
        bounds = [number(_text(stated.get(f"CSSlider{end}"))) for end in ("Min", "Max")]
        if selector == "STAR":
            bounds = [0.0, number(_text(stated.get("StarCount"))) or _STARS]
        low, high = (d if b is None else b for b, d in zip(bounds, _SLIDER, strict=True))
        whole = _text(stated.get("NumDecimals")) == "0"
        for place, row, label in _rows(id, payload, wording):
            column = numbers(row, low, high, whole)
            name = f"{number_of}/{place}"
            yield FormItem(column, label, conditions=only[place], matrix=matrix, name=name)
    elif kind == _ENTRY and settings.get("ContentType") == "ValidNumber":
        valid = _table(settings.get("ValidNumber"))
        least, most = (number(_text(valid.get(end))) for end in ("Min", "Max"))
        whole = _text(valid.get("NumDecimals")) == "0"
        yield FormItem(numbers(id, least, most, whole), words, name=number_of)
    else:
        name = " ".join(filter(None, (kind, selector)))
        why = _LEFT_OUT.get(kind) or sentence("drafts.uncounted-type", type=name)
        yield FormItem(SkippedColumn(id, why), words, name=number_of)


def _shown_if(payload: Json, key: str) -> dict[str, tuple[FormCondition, ...]]:
    """Return the condition of each choice, row, or answer."""
    stated = {
        place: _table(each).get("DisplayLogic") for place, each in _table(payload.get(key)).items()
    }
    otherwise = "its display logic says so"
    return {p: (_logic(each, otherwise),) if each else () for p, each in stated.items()}


def _with_note(column: ColumnDraft, only: Iterable[tuple[FormCondition, ...]]) -> ColumnDraft:
    """Note that some answers are shown to some people only."""
    texts = "; ".join(dict.fromkeys(each.text for conditions in only for each in conditions))
    if not texts or isinstance(column, SkippedColumn):
        return column
    return column.noting(f"In the form, other answers decide which are shown: {texts}.")


def _with_entry(payload: Json) -> list[str]:
    """Return the choices beside which people can write."""
    choices = _table(payload.get("Choices"))
    written = ("true", True)
    return [place for place, each in choices.items() if _table(each).get("TextEntry") in written]


class CodedAnswer(NamedTuple):
    """An answer: the code that Qualtrics exports for it, and its wording."""

    code: str
    words: Translations


def _by_place(answers: Mapping[str, CodedAnswer]) -> dict[str, str]:
    return {place: answer.code for place, answer in answers.items()}


def _chosen(
    id: str, answers: Mapping[str, CodedAnswer], settings: Json, wording: FormWording, several: bool
) -> ColumnDraft:
    codes = {answer.code: answer.words for answer in answers.values()}
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
) -> dict[str, CodedAnswer]:
    """Return each answer by its key in the file."""
    stated = _table(payload.get(key)) or {**(fallback or {})}
    recoded = _table(payload.get("RecodeValues"))
    answers: dict[str, CodedAnswer] = {}
    for place in _ordered(stated, payload.get(order)):
        code = _text(recoded.get(place)) or place
        words = _display(payload, key, place, wording) or {
            wording.languages.main: _text(_table(stated[place]).get("Display"))
        }
        taken = {answer.code for answer in answers.values()}
        answers[place] = CodedAnswer(code if code not in taken else place, words)
    return answers


def _ordered(stated: Json, order: Any) -> list[str]:
    """Return the keys of answers or rows in the order in which people see them."""
    listed = [_text(each) for each in _list(order)]
    return [each for each in dict.fromkeys([*listed, *stated]) if each in stated]


def _rows(id: str, payload: Json, wording: FormWording) -> Iterator[tuple[str, str, Translations]]:
    """Yield the key of each row, the name of its column in exported answers, and its wording."""
    tags = _table(payload.get("ChoiceDataExportTags"))
    for place in _ordered(_table(payload.get("Choices")), payload.get("ChoiceOrder")):
        words = _display(payload, "Choices", place, wording)
        yield place, _text(tags.get(place)) or f"{id}_{place}", words


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


FORM = Form(sentence("drafts.qualtrics"), recognized, draft_of)
