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

    Warns about strata that are left out or merged. Raises AnswersError if none is large enough, or
    if noise is added to counts of fewer people than a release needs.
    """
    if not plan.survey.open:
        check_people(plan, people.number)
        yield (), people, memory
        return
    numbers = people.strata(plan.survey)
    groups = released(plan.survey, numbers, plan.least)
    warn_of_small_strata(plan.survey, numbers, groups, plan.least)
    for names, rows in zip(groups, rows_of(plan, people, groups), strict=True):
        yield names, people.take(rows), memory and [memory[row] for row in rows]


def check_people(plan: Plan, people: int) -> None:
    """Raise AnswersError if only the services add noise, and a release needs more people."""
    if plan.guarantee.crowd is None and people < plan.least:
        raise AnswersError.of(
            "answers", "sampling.fewer-than-least", people=people, least=plan.least
        )


def released(survey: Survey, numbers: np.ndarray, least: int) -> dict[StratumNames, StratumGroup]:
    """Return the releases by the survey's rule. numbers: the stratum of each person. least: how
    many people a release needs. Raises as `crowds`."""
    labels = strata(survey)
    groups = grouped(survey, numbers, least)
    releases = {tuple(labels[n] for n in group): group for group in groups}
    if not releases:
        raise AnswersError.of(
            "answers",
            "sampling.small-strata",
            people=int(np.bincount(numbers).max(initial=0)),
            crowd=least,
        )
    return releases


def warn_of_small_strata(
    survey: Survey,
    numbers: np.ndarray,
    releases: Mapping[StratumNames, StratumGroup],
    least: int,
) -> None:
    """Warn about strata that are left out or merged."""
    for line in release_lines(survey, numbers, releases, least):
        warnings.warn(str(line), IncrowdWarning, stacklevel=2)


def release_lines(
    survey: Survey,
    numbers: np.ndarray,
    releases: Mapping[StratumNames, StratumGroup],
    least: int,
) -> Iterator[Sentence]:
    """Yield a warning about the strata that are left out, and one about each merged release.
    least: how many people a release needs."""
    labels = strata(survey)
    people = np.bincount(numbers, minlength=len(labels))
    rest = [n for n, name in enumerate(labels) if people[n] and name in left_out(survey, releases)]
    if rest:
        yield sentence(
            "sampling.not-released",
            strata=[labels[n] for n in rest],
            people=int(people[rest].sum()),
            crowd=least,
        )
    for names in releases:
        if len(names) > 1:
            yield sentence("sampling.released-as-one", strata=label(names), crowd=least)


def warn_of_fewer_people(plan: Plan, people: int) -> None:
    """Warn if a guarantee counts on a crowd and fewer people took part, unless questions are
    open."""
    counts = plan.guarantee.crowd is not None
    if counts and people < plan.survey.crowd and not plan.survey.open:
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
