"""Strata: the groups into which open questions divide people, and which of them are released.

A stratum is a combination of answers to the open questions. Strata are numbered in the order of the
survey, the last question's answers changing fastest. Every released stratum is a separate
collection with a separate crowd. Proof: docs/mathematics.md#open-strata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from typing import Literal, NamedTuple

import numpy as np

from incrowd.survey import Survey
from incrowd.survey.open import SEPARATOR, stratum_names

StratumGroup = tuple[int, ...]  # numbers of the strata that are released as one
StratumNames = tuple[str, ...]  # the names of these strata; () where no question is open
StratumAnswers = tuple[str, ...]  # one to each of some open questions
SmallStrataRule = Literal["delete", "merge"]

TOGETHER = " + "  # between the names of strata that are released as one


def strata(survey: Survey) -> StratumNames:
    """Return the names of all strata, such as "law / 2024"; none if no question is open."""
    return stratum_names(survey.open)


def answers_in(survey: Survey) -> dict[str, StratumAnswers]:
    """Return for every stratum the answers to the open questions, after merging of answers."""
    read = (map(question.read_as, question.recorded) for question in survey.open)
    return dict(zip(strata(survey), product(*read), strict=True))


def stratum_numbers(survey: Survey, codes: Mapping[str, np.ndarray], people: int) -> np.ndarray:
    """Return the stratum of each person, int64, shape (people,).

    codes: for every open question the number of each person's answer, from 0.
    """
    numbers = np.zeros(people, np.int64)
    for question in survey.open:
        numbers = numbers * len(question.recorded) + codes[question.id]
    return numbers


def releases(people: Mapping[int, int], least: int, rule: SmallStrataRule) -> list[StratumGroup]:
    """Return which strata are released, each group of them as one collection.

    people: the number of people in each stratum. least: how many people a release needs. Large
    strata are released separately. The small ones are released as one if the rule is to merge them
    and together they have enough people; otherwise they are never released. Empty strata never are.
    Who is in which stratum is public, so this decision reveals nothing that is protected.
    """
    large: list[StratumGroup] = [(number,) for number in sorted(people) if people[number] >= least]
    small = tuple(number for number in sorted(people) if 0 < people[number] < least)
    merged = rule == "merge" and sum(people[number] for number in small) >= least
    return large + ([small] if merged else [])


def grouped(survey: Survey, numbers: np.ndarray, least: int) -> list[StratumGroup]:
    """Return the releases by the survey's rule. numbers: the stratum of each person. least: how
    many people a release needs."""
    people = dict(enumerate(np.bincount(numbers).tolist()))
    return releases(people, least, survey.small_strata)


def left_out(survey: Survey, released: Iterable[StratumNames]) -> StratumNames:
    """Return the strata that no release contains."""
    there = {name for names in released for name in names}
    return tuple(name for name in strata(survey) if name not in there)


def label(names: StratumNames) -> str:
    """Return the name of a release."""
    return TOGETHER.join(names)


def answers_of_releases(
    survey: Survey, ids: Sequence[str], released: Iterable[StratumNames]
) -> set[tuple[str, ...]]:
    """Return the answers that the people of some releases may have given to some open questions."""
    open_ids = [question.id for question in survey.open]
    answers = answers_in(survey)
    places = [open_ids.index(id) for id in ids]
    return {tuple(answers[name][place] for place in places) for each in released for name in each}


def releases_by_answer(
    survey: Survey, ids: Sequence[str], released: Sequence[StratumNames]
) -> dict[str, list[StratumNames]]:
    """Return for each answer to some open questions the releases with that answer.

    A release whose people gave several answers is combined with all others that have one of these;
    the answer is then named after all of them, such as "arts + law". In the order of the survey.
    """
    open_ids = [question.id for question in survey.open]
    places = [open_ids.index(id) for id in ids]
    answers = [question.answers for question in survey.open]
    combinations = answers_in(survey)
    home: dict[StratumAnswers, _AnswersTogether] = {}
    for names in released:
        given = {tuple(combinations[name][place] for place in places) for name in names}
        overlapping = {id(home[each]): home[each] for each in given if each in home}.values()
        part = _AnswersTogether(
            frozenset(given).union(*(other.answers for other in overlapping)),
            (*chain.from_iterable(other.releases for other in overlapping), names),
        )
        home |= dict.fromkeys(part.answers, part)
    called: dict[tuple[StratumNames, ...], list[str]] = {}
    for each in product(*(answers[place] for place in places)):
        if each in home:
            called.setdefault(home[each].releases, []).append(SEPARATOR.join(each))
    return {label(tuple(names)): list(groups) for groups, names in called.items()}


class _AnswersTogether(NamedTuple):
    """Answers that no release separates, and the releases in which they were given."""

    answers: frozenset[StratumAnswers]
    releases: tuple[StratumNames, ...]
