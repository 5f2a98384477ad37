"""Known margins of a survey's questions, as users state them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from incrowd.catalog.sentences import likely, sentence
from incrowd.errors import Problem, UsageError
from incrowd.survey import UNANSWERED, AnyQuestion, Survey

BETWEEN = " | "  # questions of one margin, and their answers
CLOSE = 0.005  # to the sum, for rounded shares
MOST_SHOWN = 8

MarginAnswers = tuple[str, ...]
GivenMargins = Mapping[str, Mapping[str, float]]


class KnownMargin(NamedTuple):
    """A margin: its questions, and the share of people in each combination of answers, sum 1.

    people: their number, if the margin was stated in people. answered: whether these are shares of
    only those who answered: some people did not, and their share is not stated.
    """

    ids: tuple[str, ...]
    shares: Mapping[MarginAnswers, float]
    answered: bool = False
    people: float | None = None

    @property
    def name(self) -> str:
        """Its questions, as a user would write them."""
        return BETWEEN.join(self.ids)

    @property
    def words(self) -> str:
        """Its name, and whom it describes."""
        return f"{self.name} (of those who answered)" if self.answered else self.name


def known_margins(survey: Survey, given: GivenMargins) -> tuple[KnownMargin, ...]:
    """Return the margins that a user stated.

    given: for each question (or several, such as "faculty | sex") the share, percentage or number
    of people with each answer ("law | f"). Shares of merged answers are added up. Raises UsageError
    for unknown questions and answers, invalid numbers, and sums that disagree. Which answers are
    required depends on the released strata, and is checked when tables are estimated.
    """
    if not given:
        raise UsageError.of("margins", "estimation.no-margins")
    if problems := [each for item in given.items() for each in _problems(survey, *item)]:
        raise UsageError(*problems)
    totals = {name: math.fsum(shares.values()) for name, shares in given.items()}
    people = _people(totals)
    margins = []
    for name, numbers in given.items():
        questions, shares = (
            [survey.question(id) for id in _parts(name)],
            dict[MarginAnswers, float](),
        )
        for text, number in numbers.items():
            pairs = zip(questions, _parts(text), strict=True)
            answers = tuple(question.read_as(answer) for question, answer in pairs)
            shares[answers] = shares.get(answers, 0.0) + number / totals[name]
        partial = any(question.unanswered and not question.open for question in questions)
        answered = partial and not any(set(UNANSWERED) & set(answers) for answers in shares)
        margins.append(KnownMargin(_parts(name), shares, answered, people.get(name)))
    return tuple(margins)


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(BETWEEN))


def _problems(survey: Survey, name: str, shares: Any) -> Iterator[Problem]:
    ids, existing = _parts(name), [question.id for question in survey.questions]
    if not isinstance(shares, Mapping) or not shares:
        yield Problem(("margins", name), "estimation.no-shares", value=shares)
        return
    if wrong := [id for id in ids if id not in existing]:
        yield Problem(
            "margins",
            "estimation.no-such-question",
            value=wrong[0],
            hint=likely(wrong[0], existing),
            questions=existing,
        )
        return
    if len(set(ids)) < len(ids):
        yield Problem("margins", "survey.question-twice", value=name)
        return
    questions = [survey.question(id) for id in ids]
    if unfit := [question for question in questions if question.hashed or not question.exclusive]:
        yield Problem("margins", "estimation.unfit-margin", value=unfit[0].id)
        return
    yield from _wrong_answers(name, questions, shares)


def _wrong_answers(
    name: str, questions: list[AnyQuestion], shares: Mapping[str, Any]
) -> Iterator[Problem]:
    named = ((*q.answers, *(a for each in q.merged for a in each.answers)) for q in questions)
    possible = [BETWEEN.join(each) for each in product(*named)]
    for answer, value in shares.items():
        if answer not in possible:
            yield Problem(
                ("margins", name),
                "estimation.no-such-answer",
                value=answer,
                hint=likely(answer, possible),
                question=name,
                answers=[*possible[:MOST_SHOWN], *(["…"] * (len(possible) > MOST_SHOWN))],
            )
        elif isinstance(value, bool) or not isinstance(value, int | float):
            yield Problem(("margins", name, answer), "shared.not-a-number", value=value)
        elif not 0 < value < math.inf:
            yield Problem(("margins", name, answer), "estimation.share-of-zero", value=value)


def _people(totals: Mapping[str, float]) -> dict[str, float]:
    """Return the totals of the margins that are stated in people.

    Raises UsageError unless shares sum to 1, percentages to 100, and numbers of people to the same
    total in all margins.
    """
    people: dict[str, float] = {}
    for name, total in totals.items():
        if abs(total - 1) <= CLOSE or abs(total - 100) <= 100 * CLOSE:
            continue
        if total < 2 or 90 < total < 110:  # percentages, rather than so few people
            raise UsageError.of(("margins", name), "estimation.sum-of-shares", sum=total)
        people[name] = total
    if people and max(people.values()) > (1 + CLOSE) * min(people.values()):
        sums = [
            sentence("estimation.sum-of-margin", margin=name, sum=total)
            for name, total in people.items()
        ]
        raise UsageError.of("margins", "estimation.different-people", sums=sums)
    return people
