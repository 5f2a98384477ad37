"""Codes: how a file of answers encodes the answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator

from incrowd.errors import Of, Problem, Unfit
from incrowd.survey.question import SHOWN, AnyQuestion
from incrowd.survey.toml import Frozen

KEYS = (  # of a question in the TOML file
    *("values", "missing", "column", "columns", "separator", "thousands", "decimal"),
)


def _none(value: object) -> bool:
    return not value


class Codes(Frozen):
    """The codes of the answers to one question in a file of answers.

    values: code in the file -> answer; the code "" is a blank cell. missing: codes for no answer.
    column: the name of the column, if it is not the id. columns: the option that each of several
    columns stands for; their cells are yes or no, and `values` has the codes for these. separator:
    what separates the options in a cell, if it is not a semicolon. thousands, decimal: what
    separates the thousands and the decimals of numbers, if it is not nothing and a point. Codes are
    never sent: devices use the names of answers, so questions in messages have no codes.
    """

    question: str
    values: dict[str, str] = Field(default_factory=dict, exclude_if=_none)
    missing: tuple[str, ...] = Field(default=(), exclude_if=_none)
    column: str = Field(default="", strict=True, exclude_if=_none)
    columns: dict[str, str] = Field(default_factory=dict, exclude_if=_none)
    separator: str = Field(default="", max_length=8, strict=True, exclude_if=_none)
    thousands: str = Field(default="", max_length=1, strict=True, exclude_if=_none)
    decimal: str = Field(default="", max_length=1, strict=True, exclude_if=_none)

    def __hash__(self) -> int:
        """Hash the question only: tables are not hashable."""
        return hash(self.question)

    @field_validator("values", mode="before")
    @classmethod
    def _written(cls, values: object) -> object:
        if not isinstance(values, Mapping):
            raise Unfit("survey.write-codes")
        return {code.strip(): code_text(answer) for code, answer in values.items()}

    @field_validator("missing", mode="before")
    @classmethod
    def _listed(cls, missing: object) -> object:
        if not isinstance(missing, list | tuple):
            raise Unfit("survey.write-missing-codes")
        return tuple(code_text(code) for code in missing)


def code_text(value: object) -> object:
    """Return a code as text; numbers in TOML become text."""
    if isinstance(value, float):
        return format(value, ".15g")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else value


def with_codes(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Move the codes of a raw survey's questions into a separate list."""
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
    """Check codes against their questions. wrong: ids of questions with other mistakes."""
    for each in codes:
        if each.question in questions:
            yield from _unfit(questions[each.question], each)
            for key, names in (("column", (each.column,)), ("columns", each.columns)):
                for name in names:
                    if name in questions and name != each.question:
                        path = (key, Of(each.question))
                        yield Problem(path, "survey.column-of-another", value=name)
        elif each.question not in wrong:
            yield Problem(("codes", "question"), "survey.codes-of-nothing", value=each.question)


def _unfit(question: AnyQuestion, codes: Codes) -> Iterator[Problem]:
    answers = question.choices if question.named else ()
    if codes.columns:
        yield from _unfit_columns(question, codes)
        answers = YES_OR_NO
    for code, answer in codes.values.items():
        path, given = ("values", Of(question.id)), {"code": code, "answer": answer}
        if answers and answer not in answers:
            names = answers[:SHOWN]
            yield Problem(path, "survey.code-of-no-answer", **given, answers=names)
        elif question.of_numbers and not _is_number(answer):
            yield Problem(path, "survey.code-of-no-number", **given)
    for code in codes.missing:
        if code in codes.values or code in answers:
            yield Problem(("missing", Of(question.id)), "survey.missing-and-answer", value=code)
    if codes.separator:
        yield from _unfit_separator(question, codes)
    yield from _unfit_numbers(question, codes)


def _unfit_numbers(question: AnyQuestion, codes: Codes) -> Iterator[Problem]:
    signs = {"thousands": codes.thousands, "decimal": codes.decimal}
    for key, sign in signs.items():
        path = (key, Of(question.id))
        if sign and not question.one_value:
            yield Problem(path, "survey.sign-of-no-number", value=sign)
        elif sign.isalnum():
            yield Problem(path, "survey.sign-in-numbers", value=sign)
        elif sign and signs["thousands"] == (codes.decimal or "."):
            yield Problem(path, "survey.one-sign", value=sign)


YES_OR_NO = ("yes", "no")  # the answers in a column that stands for an option


def _unfit_columns(question: AnyQuestion, codes: Codes) -> Iterator[Problem]:
    path, columns = ("columns", Of(question.id)), [*codes.columns]
    if question.exclusive:
        yield Problem(path, "survey.columns-of-one-answer", value=columns)
    elif codes.column or codes.separator:
        yield Problem(path, "survey.columns-and-column", value=columns)
    else:
        for column, option in codes.columns.items():
            if option not in question.substantive:
                given = {"column": column, "answer": option}
                answers = question.substantive[:SHOWN]
                yield Problem(path, "survey.column-of-no-option", **given, answers=answers)


def _unfit_separator(question: AnyQuestion, codes: Codes) -> Iterator[Problem]:
    path, separator = ("separator", Of(question.id)), codes.separator
    if question.exclusive:
        yield Problem(path, "survey.separator-of-one-answer", value=separator)
        return
    written = {*codes.values, *(each for each in question.choices if each not in codes.values)}
    if inside := next((each for each in written if _is_list_of(each, separator, written)), None):
        yield Problem(path, "survey.separator-in-answer", value=separator, answer=inside)


def _is_list_of(answer: str, separator: str, answers: Collection[str]) -> bool:
    """Return whether an answer could also be a list of other answers."""
    parts = [part.strip() for part in answer.split(separator)]
    return len(parts) > 1 and all(not part or part in answers for part in parts)


def _is_number(answer: str) -> bool:
    try:
        float(answer)
    except ValueError:
        return False
    return True
