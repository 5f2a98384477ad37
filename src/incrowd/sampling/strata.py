"""People by their open answers: which strata are released, and who is in them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import AnswersError, IncrowdWarning
from incrowd.plans import Plan
from incrowd.plans.strata import StratumGroup, StratumNames, grouped, label, left_out, strata
from incrowd.sampling.permanent import DeviceKeys
from incrowd.survey import Survey


def crowds(
    plan: Plan, people: EncodedAnswers, memory: DeviceKeys | None = None
) -> Iterator[tuple[StratumNames, EncodedAnswers, DeviceKeys | None]]:
    """Yield the people of every release with their device keys; all people if no question is open.

    Warns about strata that are left out or merged. Raises AnswersError if none is large enough.
    """
    if not plan.survey.open:
        yield (), people, memory
        return
    numbers = people.strata(plan.survey)
    groups = released(plan.survey, numbers)
    warn_of_small_strata(plan.survey, numbers, groups)
    for names, rows in zip(groups, rows_of(plan, people, groups), strict=True):
        yield names, people.take(rows), memory and [memory[row] for row in rows]


def released(survey: Survey, numbers: np.ndarray) -> dict[StratumNames, StratumGroup]:
    """Return the releases by the survey's rule. numbers: the stratum of each person. Raises as
    `crowds`."""
    labels = strata(survey)
    releases = {tuple(labels[n] for n in group): group for group in grouped(survey, numbers)}
    if not releases:
        raise AnswersError.of(
            "answers",
            "sampling.small-strata",
            people=int(np.bincount(numbers).max(initial=0)),
            crowd=survey.crowd,
        )
    return releases


def warn_of_small_strata(
    survey: Survey, numbers: np.ndarray, releases: Mapping[StratumNames, StratumGroup]
) -> None:
    """Warn about strata that are left out or merged."""
    for line in release_lines(survey, numbers, releases):
        warnings.warn(str(line), IncrowdWarning, stacklevel=2)


def release_lines(
    survey: Survey, numbers: np.ndarray, releases: Mapping[StratumNames, StratumGroup]
) -> Iterator[Sentence]:
    """Yield a warning about the strata that are left out, and one about each merged release."""
    labels = strata(survey)
    people = np.bincount(numbers, minlength=len(labels))
    rest = [n for n, name in enumerate(labels) if people[n] and name in left_out(survey, releases)]
    if rest:
        yield sentence(
            "sampling.not-released",
            strata=[labels[n] for n in rest],
            people=int(people[rest].sum()),
            crowd=survey.crowd,
        )
    for names in releases:
        if len(names) > 1:
            yield sentence("sampling.released-as-one", strata=label(names), crowd=survey.crowd)


def warn_of_fewer_people(plan: Plan, people: int) -> None:
    """Warn if there are fewer people than the crowd, unless questions are open."""
    if people < plan.survey.crowd and not plan.survey.open:
        line = sentence("sampling.few-randomized", people=people, crowd=plan.survey.crowd)
        warnings.warn(str(line), IncrowdWarning, stacklevel=3)


def rows_of(
    plan: Plan, people: EncodedAnswers, groups: Mapping[StratumNames, StratumGroup]
) -> Iterator[np.ndarray]:
    """Return the rows of the people of every release."""
    numbers = people.strata(plan.survey)
    return (np.flatnonzero(np.isin(numbers, group)) for group in groups.values())


def people_of(
    plan: Plan, people: EncodedAnswers, groups: Mapping[StratumNames, StratumGroup] | None
) -> Iterator[EncodedAnswers]:
    """Return the people of every release; all of them if groups is None."""
    if groups is None:
        return iter([people])
    return map(people.take, rows_of(plan, people, groups))
