"""Conditions: which people a question is asked, by their answers to earlier questions.

A condition compares answers: `smokes = yes`, `age >= 18`, combined by `and`, `or`, `not` and
parentheses. A person who did not answer a question, or was not asked it, gave none of its answers,
so that every comparison with it is false, except `!=`, which is `not ... =`. A choice of several
options equals each option that was chosen.

The answers are those that are sent. A number is compared with an edge of its ranges, so that the
range decides, and whoever knows the range knows whether the person was asked.

"Not asked" is one more answer, so that guarantees hold as for any answers. Proof:
docs/mathematics.md#conditions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BeforeValidator, InstanceOf, PlainSerializer, WithJsonSchema

from incrowd.errors import Unfit

MOST_NESTED = 32
EXAMPLE = "smokes = yes and age >= 18"


@dataclass(frozen=True)
class IsAnswer:
    """Whether a person gave an answer to a question."""

    question: str
    answer: str

    def __str__(self) -> str:
        return f"{_name(self.question)} = {_name(self.answer)}"


@dataclass(frozen=True)
class AtLeast:
    """Whether a person's number is at least an edge."""

    question: str
    edge: float

    def __str__(self) -> str:
        return f"{_name(self.question)} >= {self.edge:.12g}"


@dataclass(frozen=True)
class Below:
    """Whether a person's number is below an edge."""

    question: str
    edge: float

    def __str__(self) -> str:
        return f"{_name(self.question)} < {self.edge:.12g}"


@dataclass(frozen=True)
class Not:
    """Whether a condition does not hold."""

    condition: Condition

    def __str__(self) -> str:
        if isinstance(self.condition, IsAnswer):
            return f"{_name(self.condition.question)} != {_name(self.condition.answer)}"
        return f"not {_within(self.condition)}"


@dataclass(frozen=True)
class AllOf:
    """Whether all of some conditions hold."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(map(_within, self.conditions))


@dataclass(frozen=True)
class AnyOf:
    """Whether at least one of some conditions holds."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return " or ".join(map(_within, self.conditions))


AnswerComparison = IsAnswer | AtLeast | Below
Condition = AnswerComparison | Not | AllOf | AnyOf


def _within(condition: Condition) -> str:
    """Return the text of a condition within another one."""
    return f"({condition})" if isinstance(condition, AllOf | AnyOf) else str(condition)


def _name(name: str) -> str:
    """Return a name as it is written in a condition: in quotes if it could be read otherwise."""
    if re.fullmatch(r"[\w.-]+", name) and name not in WORDS:
        return name
    return json.dumps(name, ensure_ascii=False)


def comparisons(condition: Condition) -> Iterator[AnswerComparison]:
    """Yield all comparisons in a condition."""
    if isinstance(condition, Not):
        yield from comparisons(condition.condition)
    elif isinstance(condition, AllOf | AnyOf):
        for each in condition.conditions:
            yield from comparisons(each)
    else:
        yield condition


def with_comparisons(
    condition: Condition, replaced: Callable[[AnswerComparison], AnswerComparison]
) -> Condition:
    """Return a condition with other comparisons in the places of those that it has."""
    if isinstance(condition, Not):
        return Not(with_comparisons(condition.condition, replaced))
    if isinstance(condition, AllOf | AnyOf):
        parts = tuple(with_comparisons(each, replaced) for each in condition.conditions)
        return type(condition)(parts)
    return replaced(condition)


def holds(condition: Condition, compared: Callable[[AnswerComparison], np.ndarray]) -> np.ndarray:
    """Return for which people a condition holds. compared: for whom a comparison does."""
    if isinstance(condition, Not):
        return ~holds(condition.condition, compared)
    if isinstance(condition, AllOf | AnyOf):
        each = (holds(part, compared) for part in condition.conditions)
        return reduce(np.logical_and if isinstance(condition, AllOf) else np.logical_or, each)
    return compared(condition)


# Conditions in text.


def _number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise Unfit("survey.condition-number", value=value) from None
    if not np.isfinite(number):
        raise Unfit("survey.condition-number", value=value)
    return number + 0.0


def _not_at_an_edge(question: str, value: str) -> Condition:
    raise Unfit("survey.condition-edge", value=f"{question} … {value}")


OPERATORS: dict[str, Callable[[str, str], Condition]] = {
    "=": IsAnswer,
    "!=": lambda question, answer: Not(IsAnswer(question, answer)),
    ">=": lambda question, value: AtLeast(question, _number(value)),
    "<": lambda question, value: Below(question, _number(value)),
    "<=": _not_at_an_edge,
    ">": _not_at_an_edge,
}
WORDS = ("and", "or", "not")


class _Token(NamedTuple):
    """A part of a text. kind: "name", an operator, a word that connects, or a parenthesis."""

    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    """Split a text into names, operators, connecting words, and parentheses.

    A name without quotes may contain spaces, but no connecting word.
    """
    operators = "|".join(map(re.escape, sorted(OPERATORS, key=len, reverse=True)))
    quoted = r'"(?:[^"\\]|\\.)*"'
    pattern = re.compile(rf"\s*(?:({quoted})|({operators})|([()])|((?:(?!{operators})[^\s()\"])+))")
    tokens: list[_Token] = []
    place, text = 0, text.rstrip()
    while place < len(text):
        match = pattern.match(text, place)
        if match is None:
            raise _unreadable(text)
        place = match.end()
        in_quotes, operator, parenthesis, word = match.groups()
        if in_quotes:
            try:
                tokens.append(_Token("name", json.loads(in_quotes)))
            except ValueError:
                raise _unreadable(text) from None
        elif operator or parenthesis or word in WORDS:
            tokens.append(_Token(operator or parenthesis or word, match[0]))
        elif tokens and tokens[-1].kind == "word":
            tokens[-1] = _Token("word", f"{tokens[-1].text} {word}")
        else:
            tokens.append(_Token("word", word))
    return [each._replace(kind="name") if each.kind == "word" else each for each in tokens]


def _unreadable(text: str) -> Unfit:
    return Unfit("survey.no-condition", value=text, example=EXAMPLE)


def _check_depth(depth: int) -> None:
    if depth > MOST_NESTED:
        raise Unfit("survey.nested-condition", most=MOST_NESTED)


class _Reader:
    """Reads a condition by recursive descent: `or` binds less than `and`, and that less than
    `not`."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.depth = text, _tokens(text), 0

    def whole(self) -> Condition:
        condition = self._any()
        if self.tokens:
            raise _unreadable(self.text)
        return condition

    def _any(self) -> Condition:
        return self._joined("or", AnyOf, lambda: self._joined("and", AllOf, self._one))

    def _joined(
        self,
        word: str,
        joined: Callable[[tuple[Condition, ...]], Condition],
        part: Callable[[], Condition],
    ) -> Condition:
        parts = [part()]
        while self.tokens and self.tokens[0].kind == word:
            self.tokens.pop(0)
            parts.append(part())
        return joined(tuple(parts)) if len(parts) > 1 else parts[0]

    def _one(self) -> Condition:
        self.depth += 1
        _check_depth(self.depth)
        condition = self._unnested()
        self.depth -= 1
        return condition

    def _unnested(self) -> Condition:
        first = self._next()
        if first.kind == "not":
            return Not(self._one())
        if first.kind == "(":
            condition = self._any()
            if self._next().kind != ")":
                raise _unreadable(self.text)
            return condition
        operator, value = self._next(), self._next()
        if (first.kind, value.kind) != ("name", "name") or operator.kind not in OPERATORS:
            raise _unreadable(self.text)
        return OPERATORS[operator.kind](first.text, value.text)

    def _next(self) -> _Token:
        if not self.tokens:
            raise _unreadable(self.text)
        return self.tokens.pop(0)


def read_condition(text: str) -> Condition:
    """Read a condition. Raises ValueError that says what is wrong.

    Examples
    --------
    >>> str(read_condition("smokes = yes and not (age < 18 or pregnant = yes)"))
    'smokes = yes and not (age < 18 or pregnant = yes)'
    """
    return _Reader(text).whole()


# Conditions as data, in plans and bundles.


def facts(condition: Condition) -> dict[str, Any]:
    """Return a condition as JSON-ready data, as the protocol writes it."""
    if isinstance(condition, Not):
        return {"not": facts(condition.condition)}
    if isinstance(condition, AllOf | AnyOf):
        name = "all" if isinstance(condition, AllOf) else "any"
        return {name: [facts(each) for each in condition.conditions]}
    if isinstance(condition, IsAnswer):
        return {"question": condition.question, "answer": condition.answer}
    name = "at_least" if isinstance(condition, AtLeast) else "below"
    return {"question": condition.question, name: condition.edge}


def of_facts(data: Any, depth: int = 0) -> Condition:
    """Return the condition that `facts` wrote. Raises ValueError for anything else."""
    _check_depth(depth)
    match data:
        case {"not": inner, **others} if not others:
            return Not(of_facts(inner, depth + 1))
        case {"all": [_, _, *_] as parts, **others} | {"any": [_, _, *_] as parts, **others} if (
            not others
        ):
            joined = AllOf if "all" in data else AnyOf
            return joined(tuple(of_facts(each, depth + 1) for each in parts))
        case {"question": str(question), "answer": str(answer), **others} if not others:
            return IsAnswer(question, answer)
        case {"question": str(question), "at_least": int() | float() as edge, **others} if (
            not others
        ):
            return AtLeast(question, _number(str(edge)))
        case {"question": str(question), "below": int() | float() as edge, **others} if not others:
            return Below(question, _number(str(edge)))
    raise _unreadable(json.dumps(data, default=str))


def _validated(written: object) -> object:
    """Return the condition in a survey, as text, or in a plan, as data."""
    if written is None or isinstance(written, Condition):
        return written
    return read_condition(written) if isinstance(written, str) else of_facts(written)


AskedIf = Annotated[
    InstanceOf[IsAnswer]
    | InstanceOf[AtLeast]
    | InstanceOf[Below]
    | InstanceOf[Not]
    | InstanceOf[AllOf]
    | InstanceOf[AnyOf]
    | None,
    BeforeValidator(_validated),
    PlainSerializer(lambda condition: condition and facts(condition)),
    WithJsonSchema({"type": "string"}),  # as a survey writes it
]
