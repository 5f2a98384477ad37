"""Values of a survey as people type them in forms, and the operations that write them.

Text that is not a number is written as it was typed: the survey says what is wrong with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

from incrowd.characters import on_one_line
from incrowd.studio.document import Operation, Raw
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.operations import SetQuestion, SetValue, answers, whole_questions
from incrowd.studio.titles import answer_title_in
from incrowd.survey import NO_ANSWER
from incrowd.survey.open import SEPARATOR
from incrowd.survey.question import CLOSE
from incrowd.survey.questions import type_of
from incrowd.survey.words import LANGUAGE
from incrowd.survey.written import LEAST

Typed = Mapping[str, str]
PERCENT = 100
YES = "yes"  # in the field of a value that is true or not stated
MOST_SHARES = 12  # answers whose expected shares can be typed
MOST_GROUPS = 40  # whose sizes can be typed
PEOPLE = "people"  # the table of the file that says who is invited
HALF = "50"  # percent of the invited who answer, until a person types what she expects


class ValueField(NamedTuple):
    """A value of the survey as a whole: its name in forms, and its keys in the file.

    kind: the kind of the value, as it is typed. default: what no value means.
    """

    name: str
    keys: tuple[str, ...]
    kind: type
    default: Any = None


VALUES = (
    ValueField("name", ("name",), str),
    ValueField("language", ("language",), str, LANGUAGE),
    ValueField("crowd", ("crowd",), int),
    ValueField("rounds", ("rounds",), int, 1),
    ValueField("rows_per_person", ("rows_per_person",), int, 1),
    ValueField("colluding", ("colluding",), int, 0),
    ValueField("reports_per_person", ("reports_per_person",), int),
    ValueField("least", ("least",), int, LEAST),
    ValueField("census", ("census",), bool),
    ValueField("epsilon", ("privacy", "epsilon"), float),
    ValueField("delta", ("privacy", "delta"), float),
    ValueField("local_epsilon", ("privacy", "local_epsilon"), float),
    ValueField("noise", ("privacy", "noise"), str, "devices"),
    ValueField("service_epsilon", ("privacy", "service_epsilon"), float),
)

_GROUPED = re.compile(r"\d{1,3}([.,\s_']\d{3})+")


def number(text: str, kind: type = float) -> float | int | str:
    """Return the number that was typed, with a point or a comma; the text if it is not a finite
    one."""
    text = text.strip()
    plain = re.sub(r"\D", "", text) if kind is int and _GROUPED.fullmatch(text) else text
    try:
        value = float(plain.replace(",", "."))
    except ValueError:
        return text
    if not math.isfinite(value):
        return text
    return int(value) if kind is int and value.is_integer() else value


def typed_values(content: Raw) -> dict[str, str]:
    """Return the text of each field for the content of a file."""
    typed = {each.name: _shown(_value(content, each.keys)) for each in VALUES} | people_values(
        content
    )
    for place, asked in enumerate(whole_questions(content)):
        shares = asked.get("shares", {})
        for number, answer in enumerate(_answers(asked)):
            typed[share_name(place, number)] = percent_text(shares.get(answer))
    return typed


def share_name(question: int, answer: int) -> str:
    """Return the name of the field of the expected share of an answer, by their numbers."""
    return f"share-{question}-{answer}"


def _people(content: Raw) -> Raw:
    people = content.get(PEOPLE)
    return people if isinstance(people, dict) else {}


def people_values(content: Raw) -> dict[str, str]:
    """Return the texts of the fields that say who is invited; of a census, also its own."""
    people = _people(content)
    expected = people.get("expected")
    percent = expected.rstrip("% ") if isinstance(expected, str) else percent_text(expected)
    typed = {"invited": _shown(people.get("invited")), "expected": percent or HALF}
    groups = people.get("groups")
    sizes = groups if isinstance(groups, dict) else {}
    for name in dict.fromkeys([*stratum_names_of(content), *sizes]):
        typed[group_name(name)] = _shown(sizes.get(name))
    everybody = people.get("everybody") is True or content.get("census") is True
    return typed | {"census": YES if everybody else ""}


def group_name(stratum: str) -> str:
    """Return the name of the field of the number of people who are invited in a stratum."""
    return f"group.{stratum}"


def stratum_names_of(content: Raw) -> tuple[str, ...]:
    """Return the names of the groups of the open questions; none if they are too many to type."""
    listed = [
        (*answers(asked), NO_ANSWER) if asked.get("optional") is True else answers(asked)
        for asked in whole_questions(content)
        if asked.get("open") is True
    ]
    if not listed or math.prod(map(len, listed)) > MOST_GROUPS:
        return ()
    return tuple(SEPARATOR.join(map(str, each)) for each in product(*listed))


def stratum_fields(content: Raw) -> tuple[tuple[str, str], ...]:
    """Return the fields for the sizes of groups: names and labels."""
    return tuple((group_name(name), name) for name in stratum_names_of(content))


def _people_operations(content: Raw, typed: Typed) -> list[Operation]:
    """Return the operations that write who is invited. A crowd that nobody changes at the same time
    is removed when this is stated first: it then follows from it."""
    before, shown = _people(content), typed_values(content)
    invited = typed.get("invited", shown["invited"]).strip()
    groups = _groups(content, typed)
    if groups and all(isinstance(size, int) for size in groups.values()):
        invited = str(sum(groups.values()))
    if not invited:
        return [SetValue((PEOPLE,), None)] if PEOPLE in content else []
    text = typed.get("expected", shown["expected"]).strip().rstrip("% ")
    everybody = typed.get("census", shown["census"]).strip() == YES
    now = {
        "invited": number(invited, int),
        "expected": share_of(text or HALF),
        "everybody": everybody or None,
        "groups": groups or None,
    }
    if text == shown["expected"] and "expected" in before:
        now["expected"] = before["expected"]
    edits: list[Operation] = [
        SetValue((PEOPLE, key), value) for key, value in now.items() if value != before.get(key)
    ]
    if "census" in content and (everybody or not before):
        edits.append(SetValue(("census",), None))
    crowd = typed.get("crowd", shown["crowd"]).strip()
    if not before and "crowd" in content and crowd == shown["crowd"]:
        edits.append(SetValue(("crowd",), None))
    return edits


def _groups(content: Raw, typed: Typed) -> dict[str, Any]:
    """Return the number of people who are invited in each stratum, if any was typed."""
    prefix = group_name("")
    there = {key: text for key, text in people_values(content).items() if key.startswith(prefix)}
    there |= {key: text for key, text in typed.items() if key.startswith(prefix)}
    sizes = {key.removeprefix(prefix): text.strip() for key, text in there.items()}
    if not any(sizes.values()):
        return {}
    return {name: number(text, int) if text else 0 for name, text in sizes.items()}


def value_operations(content: Raw, typed: Typed) -> list[Operation]:
    """Return the operations that write typed values of the survey as a whole, if they differ."""
    operations = _people_operations(content, typed)
    done = {each.keys for each in operations if isinstance(each, SetValue)}
    invited = bool(operations and done != {(PEOPLE,)}) or (PEOPLE in content and not done)
    for each in VALUES:
        if (each.name == "census" and invited) or each.keys in done:
            continue
        if each.name in typed:
            new = _read(typed[each.name].strip(), each.kind)
            now = _value(content, each.keys)
            if new != now and (new, now) != (each.default, None):
                operations.append(SetValue(each.keys, new))
    return operations


def _read(text: str, kind: type) -> Any:
    """Return the value of a field; None for an empty one."""
    if not text:
        return None
    if kind is bool:
        return True if text == YES else text
    return on_one_line(text) if kind is str else number(text, kind)


def share_operations(content: Raw, typed: Typed) -> list[Operation]:
    """Return the operations that write typed shares into a valid survey, if they differ.

    Shares that cannot all hold are not written: `share_faults` says which.
    """
    return [
        SetQuestion(asked["id"], {"shares": shares or None})
        for place, asked in enumerate(whole_questions(content))
        if (shares := _shares(place, asked, typed)) != asked.get("shares", {})
        and _fault(asked, shares) is None
    ]


def share_faults(content: Raw, typed: Typed) -> tuple[Phrase, ...]:
    """Return why typed shares are not used, for each question whose shares cannot all hold."""
    return tuple(
        fault
        for place, asked in enumerate(whole_questions(content))
        if (shares := _shares(place, asked, typed)) != asked.get("shares", {})
        and (fault := _fault(asked, shares))
    )


def _fault(asked: Raw, shares: Mapping[str, Any]) -> Phrase | None:
    """Return why the shares of the answers to a question cannot all hold; None if they can."""
    if not shares:
        return None
    id = str(asked.get("id", ""))
    for text in shares.values():
        if isinstance(text, str) or not 0 <= text <= 1:
            shown = text if isinstance(text, str) else percent_text(text)
            return phrase(
                "{question}: “{text}” is not a share; type a number from 0 to 100. The charts use "
                "the shares from before.",
                question=id,
                text=shown,
            )
    total = math.fsum(shares.values())
    if total > 1 + CLOSE or total < 1 - CLOSE:
        return phrase(
            "{question}: the shares add up to {percent}%, not to 100%. The charts use the shares "
            "from before.",
            question=id,
            percent=percent_text(round(total, 4)),
        )
    return None


def _shares(place: int, asked: Raw, typed: Typed) -> dict[str, Any]:
    """Return the expected shares of a question, with those that were typed. The answers without a
    share have equal parts of the rest."""
    before: dict[str, Any] = dict(asked.get("shares", {}))
    stated = dict(before)
    for number_of, answer in enumerate(_answers(asked)):
        text = typed.get(share_name(place, number_of))
        if text is None or text.strip() == percent_text(stated.get(answer)):
            continue
        stated.pop(answer, None)
        if text.strip():
            stated[answer] = share_of(text)
    return before if stated == before else _completed(_answers(asked), stated)


def _completed(listed: tuple[str, ...], stated: dict[str, Any]) -> dict[str, Any]:
    empty = [answer for answer in listed if answer not in stated]
    numbers = [share for share in stated.values() if not isinstance(share, str)]
    rest = 1 - math.fsum(numbers)
    if not stated or not empty or len(numbers) < len(stated) or rest < 0:
        return stated
    return {answer: stated.get(answer, round(rest / len(empty), 8)) for answer in listed}


def share_of(text: str) -> float | str:
    """Return a share that was typed in percent; the text if it is not a number."""
    share = number(text.strip().rstrip("% "))
    return share if isinstance(share, str) else round(share / PERCENT, 8)


def _answers(asked: Raw) -> tuple[str, ...]:
    """Return the answers whose shares can be typed: those of questions with few answers."""
    if asked.get("open"):
        return ()
    kind = type_of(asked)
    listed = answers(asked) if kind and kind.named and kind.exclusive else ()
    if len(listed) > MOST_SHARES:
        return ()
    return (*listed, NO_ANSWER) if listed and asked.get("optional") is True else listed


def _value(content: Raw, keys: tuple[str, ...]) -> Any:
    value: Any = content
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return YES if value else ""
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def percent_text(share: Any) -> str:
    """Return a share of the file as it is typed: in percent."""
    if not isinstance(share, int | float):
        return "" if share is None else str(share)
    return f"{PERCENT * share:.10g}"


class ShareFields(NamedTuple):
    """The fields for the expected shares of one question: names and answers."""

    question: str
    fields: tuple[tuple[str, str], ...]


def share_fields(content: Raw) -> tuple[ShareFields, ...]:
    """Return the fields for expected shares, for each question that has any, with what people read
    for each answer."""
    return tuple(
        ShareFields(
            str(asked.get("id", "")),
            tuple(
                (share_name(place, number), answer_title_in(content, asked, each))
                for number, each in enumerate(answers)
            ),
        )
        for place, asked in enumerate(whole_questions(content))
        if (answers := _answers(asked))
    )
