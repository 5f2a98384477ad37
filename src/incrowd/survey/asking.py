"""The expected share of people whom a question is asked, if answers are independent; and what those
who are asked can have answered."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np

from incrowd.survey.conditions import (
    AllOf,
    AnswerComparison,
    AnyOf,
    Condition,
    Not,
    comparisons,
    holds,
)
from incrowd.survey.question import NOT_ASKED, AnyQuestion

MOST_LAWS = 4096  # combinations of comparisons whose shares are added up one by one
Comparisons = frozenset[AnswerComparison]
AssumedShares = Callable[[AnyQuestion], Sequence[float] | np.ndarray]


def asked_share(
    question: AnyQuestion, questions: Sequence[AnyQuestion], shares: AssumedShares
) -> float:
    """Return the share of people whom a question is asked.

    Answers to different questions are assumed to be independent among those who are asked both.
    questions: of the survey, in order. shares: the share of each answer of a record but "not
    asked", among those who are asked.
    """
    if question.asked_if is None:
        return 1.0
    needed = _needed(question, {each.id: each for each in questions})
    if math.prod(_combinations(each, needed) for each in questions) > MOST_LAWS:
        return _of_independent(question, {each.id: each for each in questions}, shares)
    laws: dict[Comparisons, float] = {frozenset(): 1.0}  # of the comparisons that hold
    for each in questions:
        if each.id in needed:
            laws = _with_answers(each, needed[each.id], laws, shares(each))
    return float(sum(law for true, law in laws.items() if _holds(question.asked_if, true)))


def _combinations(question: AnyQuestion, needed: Mapping[str, set[AnswerComparison]]) -> int:
    """Return at most how many sets of comparisons with a question can hold together."""
    compared = len(needed.get(question.id, ()))
    return min(1 + compared, len(question.recorded)) if question.exclusive else 2**compared


def _of_independent(
    question: AnyQuestion, questions: Mapping[str, AnyQuestion], shares: AssumedShares
) -> float:
    """Return the share of people who are asked if all comparisons are independent: close to it, for
    conditions of very many comparisons."""
    chances: dict[str, float] = {}

    def asked(each: AnyQuestion) -> float:
        if each.id not in chances:
            chances[each.id] = 1.0 if each.asked_if is None else chance(each.asked_if)
        return chances[each.id]

    def chance(condition: Condition) -> float:
        if isinstance(condition, Not):
            return 1 - chance(condition.condition)
        if isinstance(condition, AllOf):
            return math.prod(map(chance, condition.conditions))
        if isinstance(condition, AnyOf):
            return 1 - math.prod(1 - chance(part) for part in condition.conditions)
        decides = questions[condition.question]
        of_asked = [*shares(decides), *([0.0] if decides.asked_if is not None else [])]
        given = sum(of_asked[place] for place in decides.deciding(condition) or ())
        silent = NOT_ASKED in map(decides.recorded.__getitem__, decides.deciding(condition) or ())
        return float(asked(decides) * given + (1 - asked(decides)) * silent)

    return min(max(asked(question), 0.0), 1.0)


def answers_of_asked(
    question: AnyQuestion, other: AnyQuestion, questions: Sequence[AnyQuestion]
) -> tuple[str, ...]:
    """Return the answers to choose from that people who are asked another question can have given
    to one of which everybody gives one answer; of any other question, all of its answers.

    questions: of the survey, in order, without mistakes in conditions.
    """
    if not (question.exclusive and question.decisive):
        return question.choices
    places = range(len(question.recorded) - len(question.unanswered))

    def shares(place: int, each: AnyQuestion) -> np.ndarray:
        size = len(each.recorded) - (each.asked_if is not None)
        even = np.full(size, 1 / size if each.exclusive else 0.5)
        return np.eye(size)[place] if each.id == question.id else even

    possible = (
        place for place in places if asked_share(other, questions, partial(shares, place)) > 0
    )
    return tuple(question.recorded[place] for place in possible)


def decided(questions: Sequence[AnyQuestion]) -> bool:
    """Return whether some questions decide all their conditions, which is so in a valid survey."""
    by_id = {each.id: each for each in questions}
    compared = (comparisons(each.asked_if) for each in questions if each.asked_if is not None)
    return all(
        each.question in by_id and by_id[each.question].deciding(each) is not None
        for each in chain.from_iterable(compared)
    )


def _needed(
    question: AnyQuestion, questions: dict[str, AnyQuestion]
) -> dict[str, set[AnswerComparison]]:
    """Return all comparisons on which it depends whether a question is asked, by their question,
    also those on which it depends whether these questions are asked."""
    needed: dict[str, set[AnswerComparison]] = {}
    left = [question]
    while left:
        condition = left.pop().asked_if
        for comparison in comparisons(condition) if condition is not None else ():
            if comparison.question not in needed:
                left.append(questions[comparison.question])
            needed.setdefault(comparison.question, set()).add(comparison)
    return needed


def _holds(condition: Condition | None, true: Comparisons) -> bool:
    if condition is None:
        return True
    return bool(holds(condition, lambda comparison: np.array(comparison in true)))


def _with_answers(
    question: AnyQuestion,
    compared: set[AnswerComparison],
    laws: dict[Comparisons, float],
    shares: Sequence[float] | np.ndarray,
) -> dict[Comparisons, float]:
    """Return the law of the comparisons that hold, with those of one more question."""
    asked = dict(_patterns(question, compared, shares))
    result: dict[Comparisons, float] = defaultdict(float)
    for true, law in laws.items():
        if _holds(question.asked_if, true):
            for pattern, share in asked.items():
                result[true | pattern] += law * share
        else:
            place = question.recorded.index(NOT_ASKED)
            result[true | _decided(question, compared, place)] += law
    return dict(result)


def _decided(question: AnyQuestion, compared: set[AnswerComparison], place: int) -> Comparisons:
    return frozenset(each for each in compared if place in (question.deciding(each) or ()))


def _patterns(
    question: AnyQuestion, compared: set[AnswerComparison], shares: Sequence[float] | np.ndarray
) -> Iterator[tuple[Comparisons, float]]:
    """Yield which comparisons can hold together, and the share of people for whom they do."""
    law: dict[Comparisons, float] = defaultdict(float)
    if question.exclusive:
        for place, share in enumerate(shares):
            law[_decided(question, compared, place)] += share
        yield from law.items()
        return
    law[frozenset()] = 1  # options are chosen independently of each other
    for comparison in compared:
        chosen = sum(shares[place] for place in question.deciding(comparison) or ())
        law = {
            pattern | extra: weight * share
            for pattern, weight in law.items()
            for extra, share in ((frozenset([comparison]), chosen), (frozenset(), 1 - chosen))
        }
    yield from law.items()
