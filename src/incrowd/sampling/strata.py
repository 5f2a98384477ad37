"""People by what they answer openly: which strata are released, and who is in them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from incrowd.encoding.records import People
from incrowd.errors import AnswersError, IncrowdWarning, InWords
from incrowd.plans import Plan
from incrowd.plans.strata import Group, Names, grouped, label, left_out, strata
from incrowd.sampling.permanent import Memory
from incrowd.survey import Survey

FEWER = "collect more reports, or plan for the crowd that you have"


def crowds(
    plan: Plan, people: People, memory: Memory | None = None
) -> Iterator[tuple[Names, People, Memory | None]]:
    """The people of every release, with the memory of their devices: all, if no question is open.

    Raises AnswersError if no stratum is large enough; what is left out or merged is told.
    """
    if not plan.survey.open:
        yield (), people, memory
        return
    numbers = people.strata(plan.survey)
    groups = released(plan.survey, numbers)
    tell(plan.survey, numbers, groups)
    for names, rows in zip(groups, rows_of(plan, people, groups), strict=True):
        yield names, people.take(rows), memory and [memory[row] for row in rows]


def released(survey: Survey, numbers: np.ndarray) -> dict[Names, Group]:
    """The releases of people in some strata, by the survey's own rule. Raises as `crowds`."""
    known = strata(survey)
    found = {tuple(known[n] for n in group): group for group in grouped(survey, numbers)}
    if not found:
        most = f"{np.bincount(numbers).max(initial=0):,} people in the largest stratum"
        allowed = (
            f"a stratum is released from {survey.crowd:,} people on; ask more, or merge answers"
        )
        raise AnswersError.of("answers", InWords(most), allowed)
    return found


def tell(survey: Survey, numbers: np.ndarray, found: Mapping[Names, Group]) -> None:
    """Say by an IncrowdWarning which of the strata of some people are left out, or merged."""
    for line in release_lines(survey, numbers, found):
        warnings.warn(line, IncrowdWarning, stacklevel=2)


def release_lines(
    survey: Survey, numbers: np.ndarray, found: Mapping[Names, Group]
) -> Iterator[str]:
    """Which of the strata of some people are left out, and which are merged."""
    known = strata(survey)
    people = np.bincount(numbers, minlength=len(known))
    rest = [n for n, name in enumerate(known) if people[n] and name in left_out(survey, found)]
    if rest:
        few = f"fewer than {survey.crowd:,} people are in each"
        listed = ", ".join(known[n] for n in rest)
        yield f"not released: {listed} ({people[rest].sum():,} people): {few}"
    for names in found:
        if len(names) > 1:
            said = f"{label(names)}: fewer than {survey.crowd:,} people are in each"
            yield f"released as one: {said}"


def tell_fewer(plan: Plan, people: int) -> None:
    """Say by an IncrowdWarning if fewer people than the crowd were randomized, and none is open."""
    if people < plan.survey.crowd and not plan.survey.open:
        said = f"{people:,} people are randomized, and the plan's promise counts on "
        warnings.warn(f"{said}{plan.survey.crowd:,}: {FEWER}", IncrowdWarning, stacklevel=3)


def rows_of(plan: Plan, people: People, groups: Mapping[Names, Group]) -> Iterator[np.ndarray]:
    """The rows of the people of every release."""
    numbers = people.strata(plan.survey)
    return (np.flatnonzero(np.isin(numbers, group)) for group in groups.values())


def people_of(plan: Plan, people: People, groups: Mapping[Names, Group] | None) -> Iterator[People]:
    """The people of every release, among some; all of them where no question is open."""
    if groups is None:
        return iter([people])
    return map(people.take, rows_of(plan, people, groups))
