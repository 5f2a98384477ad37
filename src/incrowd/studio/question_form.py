"""The form of a question: what it shows, and the question that a filled form describes.

The fields of a type of question are defined by the type (`incrowd.survey.forms`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.datastructures import FormData

from incrowd.characters import on_one_line
from incrowd.errors import UsageError
from incrowd.studio.chosen_values import number, share_of
from incrowd.studio.condition_form import typed_condition
from incrowd.studio.document import Raw
from incrowd.studio.operations import answers
from incrowd.survey.forms import EDGES, OPTIONS, KeyInput
from incrowd.survey.options_files import KEY as OPTIONS_FILE
from incrowd.survey.question import NO_ANSWER, UNANSWERED, AnyQuestion
from incrowd.survey.questions import TYPES, type_of

SHOWN = 5  # answers in a summary
OF_ANSWERS = ("labels", "shares", "values")  # keys of all types, by answer
LIMITS = ("minimum", "maximum")  # of numbers that people type
ON_ONE_LINE = ("title", "label", "option")  # texts without paragraphs, by the beginning of a field


# --- what a form shows ----------------------------------------------------------------------------


class QuestionForm(NamedTuple):
    """The content of the form of a question.

    answers: those that have names in files. editable: whether a person edits them. inputs: for the
    other keys of the type, with their texts. has_edges: whether its ranges can be taken from data.
    can_be_open: whether its type can be sent in the clear. has_codes: whether codes in the data
    can mean no answer. has_other: whether one option can be for everything else. has_limits:
    whether people type numbers, which can be limited.
    """

    answers: tuple[str, ...] = ()
    editable: bool = False
    inputs: tuple[tuple[KeyInput, str], ...] = ()
    has_edges: bool = False
    can_be_open: bool = False
    has_codes: bool = False
    has_other: bool = False
    has_limits: bool = False


def shown_form(asked: Raw) -> QuestionForm:
    """Return the form of a question; without any inputs if its type is unknown."""
    kind = type_of(asked)
    if kind is None:
        return QuestionForm()
    others = [each for each in kind.design_form.inputs if each != OPTIONS]
    return QuestionForm(
        named_answers(asked),
        _has(kind, OPTIONS),
        tuple((each, _shown_value(asked.get(each.key))) for each in others),
        _has(kind, EDGES),
        not kind.not_open,
        not kind.hashed,
        "other" in kind.own_keys(),
        {*LIMITS} <= {*kind.own_keys()},
    )


def _shown_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def named_answers(asked: Raw) -> tuple[str, ...]:
    """Return the answers that have names in files."""
    kind = type_of(asked)
    return answers(asked) if kind and kind.named else ()


def new_inputs() -> tuple[KeyInput, ...]:
    """Return the inputs of the form for a new question of any type."""
    inputs = {each.key: each for kind in TYPES.values() for each in kind.design_form.inputs}
    return tuple(inputs.values())


def summary(asked: Raw) -> str:
    """Return the answers of a question in one line; empty if its type has no inputs."""
    kind = type_of(asked)
    if kind is None or not kind.design_form.inputs:
        return ""
    stated = asked.get(kind.design_form.inputs[0].key)
    shown = named_answers(asked)
    if not kind.named and isinstance(stated, list):
        shown = tuple(format(e, "g") if isinstance(e, float) else str(e) for e in stated)
    more = f", … ({len(shown):,})" if len(shown) > SHOWN else ""
    return f"{', '.join(shown[:SHOWN])}{more}"


def outcomes(asked: Raw) -> tuple[str, ...]:
    """Return what a regression can explain: the question, or each of its answers."""
    kind, id = type_of(asked), asked.get("id")
    if not kind or not id or asked.get("open") or kind.not_explained:
        return ()
    question = kind.without_wording(asked)
    if question and question.exclusive and question.values:
        return (str(id),)
    return tuple(f"{id}={answer}" for answer in named_answers(asked))


def predicts(asked: Raw) -> bool:
    """Return whether a question can be a predictor as a whole."""
    kind = type_of(asked)
    return kind is None or (kind.exclusive and not kind.rounded and not kind.not_explained)


def is_crossed(asked: Raw) -> bool:
    """Return whether a question can be in a table with others."""
    kind = type_of(asked)
    return kind is None or not kind.hashed


def words_in(words: Any, tag: str, main: str) -> str:
    """Return a text in exactly one language, for its field."""
    if isinstance(words, dict):
        return str(words.get(tag, ""))
    return str(words or "") if tag == main else ""


def codes_of(asked: Raw, answer: str) -> str:
    """Return the codes that stand for an answer in a file."""
    values = asked.get("values")
    pairs = values.items() if isinstance(values, dict) else ()
    return ", ".join(code for code, each in pairs if str(each) == answer)


# --- what a form describes ------------------------------------------------------------------------


def text_of(form: FormData, name: str) -> str:
    """Return a field of a form, without spaces around it."""
    text = str(form.get(name, "")).strip()
    return on_one_line(text) if name.partition(".")[0] in ON_ONE_LINE else text


def new_question(form: FormData, there: Sequence[Any]) -> Raw:
    """Return a new question, with the fields that its type needs. there:
    the ids of all questions."""
    name, text = _type_name(form), text_of(form, "text")
    id = text_of(form, "short_name") or new_id(text, there)
    entries: Raw = {"id": id, "type": name} | ({"text": text} if text else {})
    inputs = TYPES[name].design_form.inputs
    return entries | {each.key: _typed(form, each) or _default(each) for each in inputs}


def _type_name(form: FormData) -> str:
    name = text_of(form, "type")
    if name not in TYPES:
        if not name:
            raise UsageError.of("type", "survey.no-type", types=[*TYPES])
        raise UsageError.of("type", "shared.use-one-of", value=name, choices=[*TYPES])
    return name


def new_id(text: str, there: Sequence[Any]) -> str:
    """Return a short name for a question: the first words of its text, unlike all others."""
    words = re.findall(r"[^\W_]+", text.lower())
    stem = "_".join(words[:3])[:32].strip("_") or "question"
    names = (stem, *(f"{stem}_{number}" for number in range(2, len(there) + 3)))
    return next(name for name in names if name not in there)


def _typed(form: FormData, input: KeyInput) -> Any:
    """Return the value of an input; None or empty if nothing was typed."""
    if input.kind == "lines":
        return lines_of(form, input.key)
    text = text_of(form, input.key)
    return numbers_of(input.key, text) if input.kind == "numbers" else number(text, int)


def _default(input: KeyInput) -> Any:
    return list(input.default) if isinstance(input.default, tuple) else input.default


def lines_of(form: FormData, name: str) -> list[str]:
    """Return the different lines of a field that are not empty."""
    lines = (each.strip() for each in text_of(form, name).split("\n"))
    return list(dict.fromkeys(each for each in lines if each))


def numbers_of(name: str, written: str) -> list[float | int]:
    """Return numbers with commas, semicolons or spaces between them. Raises UsageError."""
    split = re.split(r"\s*;\s*", written) if ";" in written else re.split(r",\s*|\s+", written)
    numbers: list[float | int] = []
    for each in filter(None, (part.strip() for part in split)):
        try:
            value = float(each.replace(",", "."))
            numbers.append(int(value) if value.is_integer() and "." not in each else value)
        except (ValueError, OverflowError):
            raise UsageError.of(name, "studio.not-numbers", value=each) from None
    return numbers


def changed_question(
    before: Raw, form: FormData, main: str, earlier: Sequence[Raw] = ()
) -> tuple[Raw, dict[str, str]]:
    """Return the question that a form describes, and the options that it renames.

    main: the language of the survey. earlier: the questions before this one.
    """
    wanted = dict(before)
    if not (id := text_of(form, "short_name")):
        raise UsageError.of("id", "studio.no-id")
    wanted["id"] = id
    put_words(wanted, form, ("text", "help"), main)
    put(wanted, "asked_if", typed_condition(form, before, earlier, main))
    if "matrix" in before and "type" not in before:
        return wanted, {}  # the matrix has the answers
    if "section" in form:
        put(wanted, "section", text_of(form, "section") or None)
    return _with_answers(wanted, before, form, main)


def _with_answers(
    wanted: Raw, before: Raw, form: FormData, main: str
) -> tuple[Raw, dict[str, str]]:
    """Return a question with the type and the answers of a form, and the options that it
    renames."""
    wanted["type"] = name = _type_name(form)
    tags = str(form.get("tags", "")).split()
    for key in ("optional", "open"):
        put(wanted, key, f"is.{key}" in form or None, keep=before.get(key) is False)
    rows = _rows(form)
    renamed = {was: now for _, was, now in rows if was and now and was != now}
    kind, lists = TYPES[name], _has(TYPES[name], OPTIONS)
    if name != before.get("type") and not lists:
        for key in OF_ANSWERS:
            wanted.pop(key, None)  # they are about other answers
    elif kind.named and rows:
        put(wanted, "labels", _labels(form, rows, tags, main, before) or None)
        put(wanted, "shares", _shares(form, rows, kind.exclusive) or None)
        put(wanted, "values", _codes(form, rows, before) or None)
    if lists and (rows or lines_of(form, "more")):
        wanted[OPTIONS.key] = _options(form, rows)
    _put_details(wanted, form, renamed)
    _put_keys(wanted, kind, form)
    if wanted.get("open") is True or (not lists and answers(wanted) != answers(before)):
        wanted.pop("shares", None)  # those of open questions are counted, others no longer exist
    _put_missing(wanted, form)
    return wanted, renamed


def _put_details(wanted: Raw, form: FormData, renamed: Mapping[str, str]) -> None:
    """Set the option for everything else, and the limits of numbers, if the form shows them."""
    stated = wanted.get("other")
    other = text_of(form, "other") if "other" in form else str(stated or "")
    if renamed.get(other, other) != str(stated or ""):
        put(wanted, "other", renamed.get(other, other) or None)
    if {*LIMITS} & {*form}:
        for key in LIMITS:
            value = number(text_of(form, key))
            whole = isinstance(value, float) and value.is_integer()
            put(wanted, key, (int(value) if whole else value) if value != "" else None)
        put(wanted, "whole", "is.whole" in form or None, keep=wanted.get("whole") is False)


def _put_keys(wanted: Raw, kind: type[AnyQuestion], form: FormData) -> None:
    """Set the keys that a type has; those that only other types have go."""
    keys = kind.own_keys()
    for key in (OPTIONS_FILE, *(key for each in TYPES.values() for key in each.own_keys())):
        if key not in keys and not (key == OPTIONS_FILE and OPTIONS.key in keys):
            wanted.pop(key, None)
    for each in kind.design_form.inputs:
        typed = _typed(form, each) if each != OPTIONS else None
        if typed or not (each.key in wanted or (each == OPTIONS and OPTIONS_FILE in wanted)):
            wanted[each.key] = typed or _default(each)


def _put_missing(wanted: Raw, form: FormData) -> None:
    """Set the codes for no answer, if the form shows them; unchanged numbers stay numbers."""
    if "missing" in form:
        before = wanted.get("missing")
        codes = [each.strip() for each in text_of(form, "missing").split(",") if each.strip()]
        same = isinstance(before, list) and list(map(str, before)) == codes
        put(wanted, "missing", before if same else codes or None)


def put_words(
    wanted: Raw, form: FormData, keys: Sequence[str], main: str, prefix: str = ""
) -> None:
    """Set the texts that a form shows, in the languages of the survey. prefix: before the keys in
    the names of the fields."""
    tags = str(form.get("tags", "")).split()
    for key in keys:
        put(wanted, key, _words(form, f"{prefix}{key}", tags, main, wanted.get(key)))


def put(wanted: Raw, key: str, value: Any, *, keep: bool = False) -> None:
    """Set a key, or remove it. keep: whether "false" is written there, and may stay."""
    if value is not None:
        wanted[key] = value
    elif not keep:
        wanted.pop(key, None)


def _words(
    form: FormData, field: str, tags: Sequence[str], main: str, before: Any
) -> str | dict[str, str] | None:
    """Return a text in the languages of the survey: plain text if it has only the main one."""
    texts = {tag: text for tag in tags if (text := text_of(form, f"{field}.{tag}"))}
    if not texts:
        return None
    if [*texts] == [main] and not isinstance(before, dict):
        return texts[main]
    order = [tag for tag in before if tag in texts] if isinstance(before, dict) else []
    return {tag: texts[tag] for tag in dict.fromkeys([*order, *texts])}


def _rows(form: FormData) -> list[tuple[int, str, str]]:
    """Return the rows of answers: number, the name that the page showed, the name now."""
    rows = []
    for row in range(len(form)):
        if f"option.{row}" not in form:
            break
        rows.append((row, str(form.get(f"was.{row}", "")), text_of(form, f"option.{row}")))
    return rows


def moved_row(form: FormData) -> int | None:
    """Return the number of the row of answers that a button or its handle moves; None if there is
    none."""
    action, _, at = text_of(form, "row").partition(".")
    if placed := text_of(form, "placed"):
        action, at = "placed", placed.partition(".")[0]
    return _number(at) if action in ("up", "down", "placed") else None


def _number(text: str) -> int:
    """Return the number of a row; -1 for text that is none."""
    return int(text) if text.isdecimal() and len(text) < 10 else -1


def _options(form: FormData, rows: list[tuple[int, str, str]]) -> list[str]:
    """Return the options of the form, after the button of a row was used, or a row was dropped."""
    action, _, at = text_of(form, "row").partition(".")
    gone = _number(at) if action == "remove" else None
    order = [row for row in rows if row[2] and row[0] != gone]
    position = next((n for n, row in enumerate(order) if row[0] == moved_row(form)), None)
    if position is not None:
        row = order.pop(position)
        other = position + (-1 if action == "up" else 1)
        if placed := text_of(form, "placed"):
            before = _number(placed.partition(".")[2])
            other = next((n for n, row in enumerate(order) if row[0] == before), len(order))
        order.insert(max(other, 0), row)
    options = [name for _, _, name in order]
    return [*options, *(each for each in lines_of(form, "more") if each not in options)]


def _labels(
    form: FormData,
    rows: Sequence[tuple[int, str, str]],
    tags: Sequence[str],
    main: str,
    before: Raw,
) -> dict[str, Any]:
    labels = before.get("labels")
    there = labels if isinstance(labels, dict) else {}
    written = {
        name: _words(form, f"label.{number}", tags, main, there.get(was))
        for number, was, name in rows
        if name
    }
    written |= {state: there[state] for state in UNANSWERED if state in there}
    if any(f"label.none.{tag}" in form for tag in tags):
        written[NO_ANSWER] = _words(form, "label.none", tags, main, there.get(NO_ANSWER))
    return {name: words for name, words in written.items() if words is not None}


def _shares(
    form: FormData, rows: Sequence[tuple[int, str, str]], exclusive: bool
) -> dict[str, Any]:
    """Return the shares that were typed in percent, or as numbers of people for each answer: if
    one is above 100, it is no percentage."""
    typed = {name: text_of(form, f"share.{place}") for place, _, name in rows if name}
    typed[NO_ANSWER] = text_of(form, "share.none")
    shares = {name: share_of(text) for name, text in typed.items() if text}
    numbers = {name: each for name, each in shares.items() if not isinstance(each, str)}
    whole = len(numbers) == len(shares) and all(name in shares for *_, name in rows if name)
    if exclusive and whole and max(numbers.values(), default=0) > 1 and min(numbers.values()) >= 0:
        return {name: round(each / sum(numbers.values()), 6) for name, each in numbers.items()}
    return shares


def _codes(form: FormData, rows: Sequence[tuple[int, str, str]], before: Raw) -> dict[str, str]:
    """Return the codes that a form states. If it did not change those of an answer, they stay: a
    code may contain a comma, or be the blank cell."""
    values = before.get("values")
    there = values if isinstance(values, dict) else {}
    codes: dict[str, str] = {}
    for place, was, name in rows:
        typed = text_of(form, f"code.{place}")
        if was and typed == codes_of(before, was).strip():
            written = [code for code, answer in there.items() if str(answer) == was]
        else:
            written = [code.strip() for code in typed.split(",") if code.strip()]
        codes |= dict.fromkeys(written, name) if name else {}
    return codes


def _has(kind: type[AnyQuestion] | None, input: KeyInput) -> bool:
    return kind is not None and input in kind.design_form.inputs


def answer_keys() -> tuple[str, ...]:
    """Return all keys that describe the answers to a question."""
    keys = dict.fromkeys(key for kind in TYPES.values() for key in kind.own_keys())
    return (*keys, OPTIONS_FILE, *OF_ANSWERS)


def are_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the types of two questions write answers in the same way."""
    kinds = type_of(one), type_of(other)
    first = [kind.design_form.inputs[:1] if kind else None for kind in kinds]
    return kinds[0] == kinds[1] or (bool(first[0]) and first[0] == first[1])
