"""Codes: how a file of answers writes what is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator

from incrowd.errors import InWords, Problem
from incrowd.survey.question import AnyQuestion
from incrowd.survey.toml import Frozen

KEYS = ("values", "missing")  # of a question, as they are written


def _none(value: object) -> bool:
    return not value


class Codes(Frozen):
    """How a file of answers writes the answers to one question.

    values: what stands in the file -> the answer that it means. missing: what stands there for no
    answer. Neither is sent: a device answers by name, so that questions and messages have none.
    """

    question: str
    values: dict[str, str] = Field(default_factory=dict, exclude_if=_none)
    missing: tuple[str, ...] = Field(default=(), exclude_if=_none)

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
    answered = [_without(question) for question in questions]
    written = [
        {"question": question.get("id"), **{key: question[key] for key in KEYS if key in question}}
        for question in questions
        if isinstance(question, Mapping) and any(key in question for key in KEYS)
    ]
    codes = raw.get("codes", [])
    lists = {"codes": [*codes, *written]} if written and isinstance(codes, list | tuple) else {}
    return {**raw, "question": answered, **lists}


def _without(question: object) -> object:
    if not isinstance(question, Mapping):
        return question
    return {key: value for key, value in question.items() if key not in KEYS}


def code_problems(
    codes: Sequence[Codes], questions: Mapping[str, AnyQuestion], wrong: Sequence[str] = ()
) -> Iterator[Problem]:
    """Codes that do not go with their questions. wrong: the ids of other questions."""
    for each in codes:
        if each.question in questions:
            yield from _unfit(questions[each.question], each)
        elif each.question not in wrong:
            allowed = "no question has this id; use the id of one"
            yield Problem("codes.question", each.question, allowed)


def _unfit(question: AnyQuestion, codes: Codes) -> Iterator[Problem]:
    answers = question.choices if question.named else ()
    for code, answer in codes.values.items():
        field, shown = f"values of {question.id}", InWords(f"{code} stands for {answer!r}")
        if answers and answer not in answers:
            names = ", ".join(answers[:12])
            wanted = f"a code should stand for one of {names}; no answer belongs to `missing`"
            yield Problem(field, shown, wanted)
        elif question.of_numbers and not _is_number(answer):
            wanted = "a code should stand for a number; no answer belongs to `missing`"
            yield Problem(field, shown, wanted)
    for code in codes.missing:
        if code in codes.values or code in answers:
            allowed = "it is an answer as well; keep one of them"
            yield Problem(f"missing of {question.id}", code, allowed)


def _is_number(answer: str) -> bool:
    try:
        float(answer)
    except ValueError:
        return False
    return True
