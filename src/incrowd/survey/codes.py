"""Codes: how a file of answers writes what is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, field_validator

from incrowd.errors import InWords, Problem
from incrowd.survey.toml import Frozen

KEYS = ("values", "missing")  # of a question, as they are written
_YESNO = ("yes", "no")


class Codes(Frozen):
    """How a file of answers writes the answers to one question.

    values: what stands in the file -> the answer that it means. missing: what stands there for no
    answer. Neither is sent: a device answers by name, so that questions and messages have none.
    """

    question: str
    values: dict[str, str] = Field(default_factory=dict, exclude_if=lambda found: not found)
    missing: tuple[str, ...] = Field(default=(), exclude_if=lambda found: not found)

    def __hash__(self) -> int:
        """Tables of codes have none of their own."""
        return hash(self.question)

    @field_validator("values", mode="before")
    @classmethod
    def _written(cls, values: object) -> object:
        if not isinstance(values, Mapping):
            raise ValueError('should be a table of codes and answers, as { 1 = "yes", 2 = "no" }')
        return {code.strip(): _text(answer) for code, answer in values.items()}

    @field_validator("missing", mode="before")
    @classmethod
    def _listed(cls, missing: object) -> object:
        if not isinstance(missing, list | tuple):
            raise ValueError('should be a list of codes, such as ["NA", "-99"]')
        return tuple(_text(code) for code in missing)


def _text(value: object) -> object:
    """Numbers of TOML as texts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return format(value, ".15g")
    return value.strip() if isinstance(value, str) else value


def with_codes(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A survey as it is written, with the codes of its questions in a list of their own."""
    questions = raw.get("question")
    if not isinstance(questions, list | tuple):
        return dict(raw)
    kept = [_without(question) for question in questions]
    found = [
        {"question": question.get("id"), **{key: question[key] for key in KEYS if key in question}}
        for question in questions
        if isinstance(question, Mapping) and any(key in question for key in KEYS)
    ]
    codes = raw.get("codes", [])
    lists = {"codes": [*codes, *found]} if found and isinstance(codes, list | tuple) else {}
    return {**raw, "question": kept, **lists}


def _without(question: object) -> object:
    if not isinstance(question, Mapping):
        return question
    return {key: value for key, value in question.items() if key not in KEYS}


def code_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Codes that do not go with their questions; silent on what is not even of the right kind."""
    questions = raw.get("question")
    known = {q["id"]: q for q in _mappings(questions) if isinstance(q.get("id"), str)}
    for codes in _mappings(raw.get("codes")):
        id, values, missing = (codes.get(key) for key in ("question", *KEYS))
        if not isinstance(id, str) or id not in known:
            if isinstance(id, str):
                yield Problem("codes.question", id, "no question has this id; use the id of one")
            continue
        values = values if isinstance(values, Mapping) else {}
        missing = missing if isinstance(missing, list | tuple) else ()
        yield from _value_problems(known[id], values)
        yield from _missing_problems(known[id], values, list(map(_text, missing)))


def _value_problems(question: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Problem]:
    allowed = _answers(question)
    for code, answer in values.items():
        if isinstance(_text(answer), str) and allowed and _text(answer) not in allowed:
            shown = InWords(f"{code} stands for {answer!r}")
            names = ", ".join(allowed[:12])
            wanted = f"a code should stand for one of {names}; no answer belongs to `missing`"
            yield Problem(f"values of {question['id']}", shown, wanted)
        elif question.get("type") in ("number", "amount") and not _is_number(answer):
            shown = InWords(f"{code} stands for {answer!r}")
            wanted = "a code should stand for a number; no answer belongs to `missing`"
            yield Problem(f"values of {question['id']}", shown, wanted)


def _missing_problems(
    question: Mapping[str, Any], values: Mapping[str, Any], missing: list[object]
) -> Iterator[Problem]:
    codes = [code.strip() for code in values if isinstance(code, str)]
    for code in missing:
        if code in codes or code in _answers(question):
            allowed = "it is an answer as well; keep one of them"
            yield Problem(f"missing of {question['id']}", code, allowed)


def _answers(question: Mapping[str, Any]) -> tuple[Any, ...]:
    options = question.get("options")
    if question.get("type") == "yesno":
        return _YESNO
    return tuple(options) if isinstance(options, list | tuple) else ()


def _is_number(answer: object) -> bool:
    try:
        float(str(answer))
    except ValueError:
        return False
    return not isinstance(answer, bool)


def _mappings(value: object) -> list[Mapping[str, Any]]:
    items = value if isinstance(value, list | tuple) else []
    return [item for item in items if isinstance(item, Mapping)]
