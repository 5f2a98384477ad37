"""Conditions of forms, in the names of a draft: a comparison in a form, with its codes, becomes one
with the ids and answers of earlier questions.

Whatever a survey cannot state raises NotExpressed with the reason; it is never left out silently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from incrowd.drafts.columns import DraftQuestion
from incrowd.drafts.missing import number
from incrowd.survey import Multi, Number, YesNo
from incrowd.survey.conditions import (
    AllOf,
    AnyOf,
    AtLeast,
    Below,
    Condition,
    IsAnswer,
    Not,
)
from incrowd.survey.question import NO_ANSWER, NOT_ASKED

ALWAYS, NEVER = AllOf(()), AnyOf(())  # of everybody, and of nobody
LARGEST = 1e12  # a number beyond it is a limit of the software
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}  # of a comparison whose sides are exchanged
PLAIN_CODES = {"1": "yes", "0": "no", "yes": "yes", "no": "no"}  # of yes and no without codes
_TICKED, _NOT_TICKED = frozenset({"1", "Y"}), frozenset({"", "0", "N"})
_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class NotExpressed(Exception):
    """A condition that a survey cannot state; the text is the reason."""


def all_of(parts: Iterable[Condition]) -> Condition:
    """Return the condition that all of some hold."""
    return _joined(AllOf, parts, NEVER)


def any_of(parts: Iterable[Condition]) -> Condition:
    """Return the condition that one of some holds."""
    return _joined(AnyOf, parts, ALWAYS)


def _joined(
    kind: type[AllOf] | type[AnyOf], parts: Iterable[Condition], decided: Condition
) -> Condition:
    flat: dict[Condition, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.conditions if isinstance(part, kind) else [part])
    if decided in flat:
        return decided
    return next(iter(flat)) if len(flat) == 1 else kind((*flat,))


def negated(condition: Condition) -> Condition:
    """Return the condition that another one does not hold."""
    if condition in (ALWAYS, NEVER):
        return NEVER if condition == ALWAYS else ALWAYS
    return condition.condition if isinstance(condition, Not) else Not(condition)


def has_negation(condition: Condition) -> bool:
    """Return whether a condition can hold for people who gave none of the answers in it."""
    if isinstance(condition, AllOf | AnyOf):
        return any(map(has_negation, condition.conditions))
    unanswered = isinstance(condition, IsAnswer) and condition.answer in (NO_ANSWER, NOT_ASKED)
    return isinstance(condition, Not) or unanswered


class Referred(NamedTuple):
    """What an expression refers to. codes: the code of each answer, by its name in expressions if
    that is another. box: the code of an option, if it is only that one. conditional: whether only
    some people are asked."""

    question: DraftQuestion
    codes: Mapping[str, str] = {}
    box: str | None = None
    conditional: bool = False


class EarlierAnswers(NamedTuple):
    """The answers that a condition can depend on.

    referred: what a name in an expression refers to; it raises NotExpressed. given: the names of
    boxes that everybody who takes part has ticked.
    """

    referred: Callable[[str], Referred]
    given: frozenset[str] = frozenset()

    def compared(self, name: str, operator: str, value: str) -> Condition:
        """Return a comparison of the form: =, !=, <, <=, >, >=, or has, which holds if an option is
        among those that were chosen."""
        if operator == "!=":
            return negated(self.compared(name, "=", value))
        if name in self.given:
            if operator not in ("=", "has"):
                raise NotExpressed("it compares a box by its size")
            return ALWAYS if value else NEVER
        what = self.referred(name)
        if what.box is not None:
            return _of_box(what, operator, value)
        if operator == "=" and not value:
            return self.unanswered(name)
        if what.question.keys["type"] == Number.type_name():
            return _of_number(what.question, operator, value)
        return _of_option(what, operator, value)

    def unanswered(self, name: str) -> Condition:
        """Return the condition that a question has no answer."""
        what = self.referred(name)
        states = {NO_ANSWER: what.question.keys.get("optional"), NOT_ASKED: what.conditional}
        return any_of(IsAnswer(what.question.id, state) for state, is_ in states.items() if is_)

    def were_asked(self, name: str) -> Condition:
        """Return the condition that people were asked a question."""
        what = None if name in self.given else self.referred(name)
        if what is None or not what.conditional:
            return ALWAYS
        return Not(IsAnswer(what.question.id, NOT_ASKED))


def _codes(question: DraftQuestion) -> Mapping[str, str]:
    """Return the answer of each code."""
    plain = PLAIN_CODES if question.keys["type"] == YesNo.type_name() else {}
    missing = dict.fromkeys(question.keys.get("missing", ()), NO_ANSWER)
    return (question.keys.get("values") or plain) | missing


def _of_box(what: Referred, operator: str, value: str) -> Condition:
    answer = _codes(what.question).get(what.box or "")
    if operator != "=" or value not in _TICKED | _NOT_TICKED or answer is None:
        raise NotExpressed(f"it compares one box of {what.question.id} with {value!r}")
    ticked = IsAnswer(what.question.id, answer)
    return ticked if value in _TICKED else Not(ticked)


def _of_option(what: Referred, operator: str, value: str) -> Condition:
    question, codes = what.question, _codes(what.question)
    several = question.keys["type"] == Multi.type_name()
    if operator in _HOLDS:
        bound = number(value)
        if several or bound is None:
            raise NotExpressed(f"it compares {question.id} by its size")
        sizes = {answer: number(code) for code, answer in codes.items() if answer != NO_ANSWER}
        return any_of(
            IsAnswer(question.id, answer)
            for answer, size in sizes.items()
            if size is not None and _HOLDS[operator](size, bound)
        )
    answer = _answer(codes, what.codes.get(value, value))
    if answer is None:
        raise NotExpressed(f"{question.id} has no answer with the code {value!r}")
    chosen = IsAnswer(question.id, answer)
    if operator == "=" and several and answer != NO_ANSWER:
        others = (each for each in dict.fromkeys(codes.values()) if each not in (answer, NO_ANSWER))
        return all_of([chosen, *(Not(IsAnswer(question.id, each)) for each in others)])
    return chosen


def _answer(codes: Mapping[str, str], value: str) -> str | None:
    """Return the answer of a code; 1 and 01 are the same number."""
    if value in codes:
        return codes[value]
    size = number(value)
    same = {answer for code, answer in codes.items() if size is not None and number(code) == size}
    return same.pop() if len(same) == 1 else None


def _of_number(question: DraftQuestion, operator: str, value: str) -> Condition:
    edge = number(value)
    if edge is None or abs(edge) > LARGEST:
        raise NotExpressed(f"it compares the number {question.id} with {value!r}")
    whole, above = bool(question.keys.get("whole")), math.floor(edge) + 1
    if whole and operator in ("=", "has"):
        if not edge.is_integer():
            return NEVER
        return all_of([AtLeast(question.id, edge), Below(question.id, above)])
    if operator in (">=", "<"):
        edge = float(math.ceil(edge)) if whole else edge
        return AtLeast(question.id, edge) if operator == ">=" else Below(question.id, edge)
    if whole and operator in ("<=", ">"):
        return AtLeast(question.id, above) if operator == ">" else Below(question.id, above)
    raise NotExpressed(
        f"{question.id} may be a fraction, and only >= and < compare it with an edge"
    )
