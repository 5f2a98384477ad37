"""Strata: what the open questions of a survey divide people into, and which of them are released.

A stratum is a combination of answers to the open questions. Its number counts these combinations
in the order of the survey, the last question's answers changing fastest. Every released stratum is
a collection and a crowd of its own. Proof: docs/mathematics.md#open-strata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from typing import Literal, NamedTuple

import numpy as np

from incrowd.survey import Survey
from incrowd.survey.open import SEPARATOR

Group = tuple[int, ...]  # numbers of the strata that are released as one
Names = tuple[str, ...]  # the names of these strata; () where no question is open
Answers = tuple[str, ...]  # one to each of some open questions
Rule = Literal["delete", "merge"]

TOGETHER = " + "  # between the names of strata that are released as one


def strata(survey: Survey) -> Names:
    """The names of all strata, as "law / 2024"; none where no question is open."""
    if not survey.open:
        return ()
    return tuple(map(SEPARATOR.join, product(*(question.recorded for question in survey.open))))


def answers_in(survey: Survey) -> dict[str, Answers]:
    """For every stratum the answers to the open questions, as an analysis reads them."""
    read = (map(question.read_as, question.recorded) for question in survey.open)
    return dict(zip(strata(survey), product(*read), strict=True))


def stratum_numbers(survey: Survey, codes: Mapping[str, np.ndarray], people: int) -> np.ndarray:
    """The stratum of each person, int64, shape (people,).

    codes: for every open question which of its answers each person gave, from 0.
    """
    found = np.zeros(people, np.int64)
    for question in survey.open:
        found = found * len(question.recorded) + codes[question.id]
    return found


def releases(people: Mapping[int, int], least: int, rule: Rule) -> list[Group]:
    """Which strata are released, each group of them as one collection.

    people: how many there are in each stratum. least: how many a release needs. Large strata are
    released by themselves. The small ones are released as one if the rule is to merge them and
    they are enough together; else they are never released, nor are those that nobody is in. Who is
    in which stratum is public, so that this decision tells nothing that is protected.
    """
    large: list[Group] = [(number,) for number in sorted(people) if people[number] >= least]
    small = tuple(number for number in sorted(people) if 0 < people[number] < least)
    merged = rule == "merge" and sum(people[number] for number in small) >= least
    return large + ([small] if merged else [])


def grouped(survey: Survey, numbers: np.ndarray) -> list[Group]:
    """The releases of some people, by the survey's own crowd and rule; numbers: their strata."""
    people = dict(enumerate(np.bincount(numbers).tolist()))
    return releases(people, survey.crowd, survey.small_strata)


def left_out(survey: Survey, released: Iterable[Names]) -> Names:
    """The strata that none of some releases holds."""
    there = {name for names in released for name in names}
    return tuple(name for name in strata(survey) if name not in there)


def label(names: Names) -> str:
    """The name of a release."""
    return TOGETHER.join(names)


def said_by(survey: Survey, ids: Sequence[str], released: Iterable[Names]) -> set[tuple[str, ...]]:
    """What the people of some releases may have answered to some open questions."""
    open_ids = [question.id for question in survey.open]
    answers = answers_in(survey)
    places = [open_ids.index(id) for id in ids]
    return {tuple(answers[name][place] for place in places) for each in released for name in each}


def told_apart(
    survey: Survey, ids: Sequence[str], released: Sequence[Names]
) -> dict[str, list[Names]]:
    """What some releases say of some open questions: for each answer the releases it is read from.

    Releases whose people gave several answers are taken together with all others that have one of
    these; their answer is called after all of them, as "arts + law". In the order of the survey.
    """
    open_ids = [question.id for question in survey.open]
    places = [open_ids.index(id) for id in ids]
    answers = [question.answers for question in survey.open]
    combinations = answers_in(survey)
    home: dict[Answers, _Part] = {}
    for names in released:
        said = {tuple(combinations[name][place] for place in places) for name in names}
        known = {id(home[each]): home[each] for each in said if each in home}.values()
        part = _Part(
            frozenset(said).union(*(other.answers for other in known)),
            (*chain.from_iterable(other.releases for other in known), names),
        )
        home |= dict.fromkeys(part.answers, part)
    called: dict[tuple[Names, ...], list[str]] = {}
    for each in product(*(answers[place] for place in places)):
        if each in home:
            called.setdefault(home[each].releases, []).append(SEPARATOR.join(each))
    return {label(tuple(names)): list(found) for found, names in called.items()}


class _Part(NamedTuple):
    """Answers that no release tells apart, and the releases in which they were given."""

    answers: frozenset[Answers]
    releases: tuple[Names, ...]
