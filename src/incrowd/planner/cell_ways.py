"""Ways to send a survey by cells, beside joint reports of what cannot be crossed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from incrowd.accountant.analyses import plannable
from incrowd.estimation.tables import MOST_CELLS
from incrowd.planner.allocation import Allocation, Load, Share
from incrowd.planner.cell_search import (
    WORK,
    Candidate,
    SearchTask,
    names,
    places,
    questions_crossable,
    variables,
)
from incrowd.planner.groups import Grouping, Progress, Search, fixed_way, joint_ways
from incrowd.planner.leak_shares import Limits
from incrowd.planner.parity_search import candidates
from incrowd.planner.wanted import cells, models, parts
from incrowd.plans.grouping import default_groups, grouping, together
from incrowd.plans.slots import TAIL, slots_within
from incrowd.survey import Survey

Ids = frozenset[str]
Names = tuple[str, ...]
ALIKE = 1.01


class _Beside(NamedTuple):
    """A message beside the cells of the search: a joint report, or the cells of a question that is
    too wide for one. part: of all that may leak; None for an equal part."""

    ids: Ids
    part: float | None = None
    cells: bool = False


@lru_cache(maxsize=8)
def cell_ways(survey: Survey, work: float = WORK) -> tuple[Grouping, ...]:
    """The messages of cells with the smallest inflation, the cheapest of those close to it.

    Tables that cannot be cells (text, randomizers of the questions' own, permanent responses, two
    questions of several answers each; of a regression, too many cells) are held by one joint
    report, or two with permanent responses. Each of these gets an equal share of what may leak;
    with `explore` the first holds all questions and gets that share. None if no table can be cells,
    if the analysis trusts no shuffler, whom alone cells need, if the survey allows no messages, or
    if next to nothing may leak. work: as in `SearchTask`.
    """
    by = plannable(survey.privacy.analysis)
    tables, larger, others = _wanted(survey)
    if not tables or not by.shuffled:
        return ()
    privacy, joint = survey.privacy, _beside(survey, others)
    signal = by.large_crowd_signal(privacy.epsilon, privacy.delta, survey.honest)
    if not signal:  # too little for the limit to be a number: the accountant has the word
        return ()
    problem = SearchTask(
        variables(survey),
        tuple(places(survey, ids) for ids in tables),
        _limits(survey, signal, len(joint)),
        survey.objective == "mean",
        work,
        tuple(places(survey, ids) for ids in larger),
    )
    return tuple(_way(survey, found, joint, signal) for found in candidates(problem))


class _Wanted(NamedTuple):
    """Tables for messages of cells, with errors as small as can be; larger ones, for which an equal
    share of the leak is enough; and what cells cannot tell."""

    tables: list[Names]
    larger: list[Names]
    others: list[Names]


def _wanted(survey: Survey) -> _Wanted:
    """What is to be sent. The parts of a model with too large a table are wanted in its place; if
    they are not enough, it is sent beside them."""
    tables, larger, others = _Wanted([], [], [])
    for ids in dict.fromkeys(map(survey.crossed, survey.counted)):
        (tables if questions_crossable(survey, ids) else others).append(ids)
    for ids, model in zip(survey.regressed, models(survey), strict=True):
        whole, pieces = survey.crossed(ids), parts(survey, model)
        if not questions_crossable(survey, whole):
            others.append(whole)
        elif pieces and model.fits_pairs:
            tables.extend(pieces)
        elif cells(survey, whole) > MOST_CELLS:
            others.append(whole)
        elif pieces:
            tables.extend(map(survey.crossed, pieces))
            larger.append(whole)
        else:
            tables.append(whole)
    return _Wanted(list(dict.fromkeys(tables)), larger, others)


def _beside(survey: Survey, tables: Iterable[Names]) -> list[_Beside]:
    """What is sent beside the cells, for these tables."""
    others = {id for ids in tables for id in ids}
    asked = [question for question in survey.questions if question.id in others]
    wide = [_Beside(frozenset({q.id}), cells=True) for q in asked if q.wide]
    others -= {id for message in wide for id in message.ids}
    kept = frozenset(id for id in others if survey.question(id).memoized)
    first = _Beside(frozenset(others - kept))
    if survey.explore is not None:
        first = _Beside(frozenset(together(survey)), survey.explore)
    return [message for message in (first, _Beside(kept), *wide) if message.ids]


def _limits(survey: Survey, signal: float, joint: int) -> Limits:
    """What the cells of one row and round may use. joint: the number of joint reports beside."""
    times = survey.rows_per_person * survey.rounds
    cap, most = survey.privacy.local_epsilon, survey.reports_per_person
    return Limits(
        leak=signal / times,
        local_epsilon=math.inf if cap is None else cap / times,
        reports=math.inf if most is None else most - joint,
        slots=slots_within(survey) - joint,
        tail=TAIL / survey.crowd,
    )


def _way(survey: Survey, found: Candidate, joint: Sequence[_Beside], signal: float) -> Grouping:
    """Messages of cells and joint reports, and how they share what may leak."""
    equal = 1 / (len(found.messages) + len(joint))
    parts = [equal if report.part is None else report.part for report in joint]
    scale = 1 - sum(parts)
    groups = [tuple(q.id for q in survey.questions if q.id in report.ids) for report in joint]
    shares = [
        Share(1, _noise(survey, report, part * signal))
        for report, part in zip(joint, parts, strict=True)
    ]
    groups += [names(survey, message) for message in found.messages]
    shares += [Share(1, 1 / (scale * leak)) for leak in few_noises(found.leaks)]
    cells = [report.cells for report in joint] + [True] * len(found.messages)
    excess = 0.0 if joint else found.excess
    parities = frozenset(len(joint) + i for i in range(found.parities))
    return Grouping(tuple(groups), tuple(cells), Allocation(tuple(shares), excess), parities)


def few_noises(leaks: Sequence[float]) -> list[float]:
    """Leaks within one percent of each other become their mean: each noise costs a certificate."""
    means: dict[float, float] = {}
    ordered = sorted(leaks)
    while ordered:
        alike = [leak for leak in ordered if leak <= ALIKE * ordered[0]]
        means |= dict.fromkeys(alike, math.fsum(alike) / len(alike))
        ordered = ordered[len(alike) :]
    return [means[leak] for leak in leaks]


def _noise(survey: Survey, message: _Beside, leak: float) -> float:
    """v of a message that leaks so much: times (phi^d - 1), with phi = 1 + 1 / v.

    If its questions' own randomizers leak more than that, as much again is added.
    """
    load: Load = Search.of(survey, 1).load(message.ids, (), (1,), message.cells)
    if not load.distance:
        return 1.0
    exponent = max(math.log1p(leak / load.times) - load.fixed, load.fixed) / load.distance
    return 1 / math.expm1(exponent)


# The messages that are worth certifying for a survey.


def ways(survey: Survey, progress: Progress | None = None, work: float = WORK) -> list[Grouping]:
    """The survey's own messages, or those worth a try: cells, or joint reports.

    Where the promise alone limits what is sent, no joint report is as precise as the cells of its
    tables. Joint reports are tried as well where the reports of a person, their size or the
    local epsilon are limited. work: as in `SearchTask`. None if none fits. Raises PrivacyError if
    no plan can rest on the survey's analysis.
    """
    plannable(survey.privacy.analysis)
    fixed = grouping(survey)
    if fixed is not None:
        return [fixed_way(survey, fixed)]
    cells = [] if survey.tables == "any" else list(cell_ways(survey, work))
    if cells and not _capped(survey):
        return cells
    if survey.reports_per_person is None:
        return [*cells, fixed_way(survey, default_groups(survey))]
    return [*cells, *joint_ways(survey, survey.reports_per_person, progress)]


def sends_cells(survey: Survey) -> bool:
    """Whether the planner chooses messages, of cells among others."""
    return grouping(survey) is None and survey.tables != "any" and bool(cell_ways(survey))


def _capped(survey: Survey) -> bool:
    limits = (survey.reports_per_person, survey.upload_bytes, survey.privacy.local_epsilon)
    return any(limit is not None for limit in limits)
