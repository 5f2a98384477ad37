"""Ways to send a survey as cells, with joint reports of what cannot be crossed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from incrowd.accountant.analyses import plannable
from incrowd.estimation.tables import MOST_CELLS
from incrowd.planner.allocation import Allocation, Load, MessageAllocation
from incrowd.planner.cell_search import (
    WORK,
    Candidate,
    SearchTask,
    names,
    places,
    questions_crossable,
    variables,
)
from incrowd.planner.groups import (
    Grouping,
    QuestionSet,
    Search,
    SearchProgress,
    fixed_way,
    joint_ways,
)
from incrowd.planner.leak_shares import LeakLimits
from incrowd.planner.parity_search import candidates
from incrowd.planner.wanted import cells, models, parts
from incrowd.plans.grouping import default_groups, grouping, together
from incrowd.plans.slots import TAIL, slots_within
from incrowd.survey import Survey
from incrowd.survey.question import QuestionIds

QUICK = 2e4  # the work of a search whose errors are shown with two digits
QUICK_STEPS = 15  # of its bisections, to within about one percent of a price
ALIKE = 1.01  # leaks within this factor get the same noise


class _Beside(NamedTuple):
    """A message besides the crossed cells: a joint report, or the cells of one wide question.

    part: its share of the leak; None for an equal share.
    """

    ids: QuestionSet
    part: float | None = None
    cells: bool = False


@lru_cache(maxsize=8)
def cell_ways(survey: Survey, work: float = WORK) -> tuple[Grouping, ...]:
    """The messages of cells with nearly the smallest inflation and the fewest reports.

    Tables that cannot be cells (because of text, fixed randomizers, permanent responses, two
    multiple-choice questions, or too many cells of a regression) are sent in one joint report, or
    two if there are permanent responses. Each of these gets an equal share of the leak; with
    `explore`, the first one contains all questions and gets that share. Empty if no table can be
    cells, if the analysis does not rely on a shuffler, which cells require, if no messages meet the
    limits, or if almost nothing may leak. work: as in `SearchTask`.
    """
    by = plannable(survey.privacy.analysis)
    tables, larger, others = _wanted(survey)
    if not tables or not by.shuffled:
        return ()
    privacy, joint = survey.privacy, _beside(survey, others)
    signal = by.large_crowd_signal(privacy.epsilon, privacy.delta, survey.honest)
    if not signal:  # too small for a number: the accountant decides
        return ()
    problem = SearchTask(
        variables(survey),
        tuple(places(survey, ids) for ids in tables),
        _limits(survey, signal, len(joint)),
        survey.objective == "mean",
        work,
        tuple(places(survey, ids) for ids in larger),
    )
    return tuple(_way(survey, candidate, joint, signal) for candidate in candidates(problem))


class _Wanted(NamedTuple):
    """Tables for messages of cells whose errors are minimized; larger tables, each with an equal
    share of the leak; and tables that cannot be cells."""

    tables: list[QuestionIds]
    larger: list[QuestionIds]
    others: list[QuestionIds]


def _wanted(survey: Survey) -> _Wanted:
    """Sort the wanted tables. Parts replace the table of a model that is too large; if they are not
    enough for the model, the whole table is sent as well."""
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


def _beside(survey: Survey, tables: Iterable[QuestionIds]) -> list[_Beside]:
    """The messages in addition to the crossed cells, for these tables."""
    others = {id for ids in tables for id in ids}
    wide = [
        _Beside(frozenset({q.id}), cells=True)
        for q in survey.questions
        if q.id in others and q.wide
    ]
    others -= {id for message in wide for id in message.ids}
    permanent = frozenset(id for id in others if survey.question(id).memoized)
    first = _Beside(frozenset(others - permanent))
    if survey.explore is not None:
        first = _Beside(frozenset(together(survey)), survey.explore)
    return [message for message in (first, _Beside(permanent), *wide) if message.ids]


def _limits(survey: Survey, signal: float, joint: int) -> LeakLimits:
    """The limits for the cells of one row and round. joint: the number of other messages."""
    times = survey.rows_per_person * survey.rounds
    cap, most = survey.privacy.local_epsilon, survey.reports_per_person
    return LeakLimits(
        leak=signal / times,
        local_epsilon=math.inf if cap is None else cap / times,
        reports=math.inf if most is None else most - joint,
        slots=slots_within(survey) - joint,
        tail=TAIL / survey.crowd,
    )


def _way(survey: Survey, candidate: Candidate, joint: Sequence[_Beside], signal: float) -> Grouping:
    """The messages of cells and the other messages, and how they share the leak."""
    equal = 1 / (len(candidate.messages) + len(joint))
    parts = [equal if report.part is None else report.part for report in joint]
    scale = 1 - sum(parts)
    groups = [tuple(q.id for q in survey.questions if q.id in report.ids) for report in joint]
    shares = [
        MessageAllocation(1, _noise(survey, report, part * signal))
        for report, part in zip(joint, parts, strict=True)
    ]
    groups += [names(survey, message) for message in candidate.messages]
    shares += [MessageAllocation(1, 1 / (scale * leak)) for leak in few_noises(candidate.leaks)]
    cells = [report.cells for report in joint] + [True] * len(candidate.messages)
    excess = 0.0 if joint else candidate.excess
    parities = frozenset(len(joint) + i for i in range(candidate.parities))
    return Grouping(tuple(groups), tuple(cells), Allocation(tuple(shares), excess), parities)


def few_noises(leaks: Sequence[float]) -> list[float]:
    """Replace leaks within one percent of each other by their mean: every noise takes time to
    certify."""
    means: dict[float, float] = {}
    ordered = sorted(leaks)
    while ordered:
        alike = [leak for leak in ordered if leak <= ALIKE * ordered[0]]
        means |= dict.fromkeys(alike, math.fsum(alike) / len(alike))
        ordered = ordered[len(alike) :]
    return [means[leak] for leak in leaks]


def _noise(survey: Survey, message: _Beside, leak: float) -> float:
    """The v of a message with a given leak, times (phi^d - 1), where phi = 1 + 1 / v.

    If fixed randomizers of its questions leak more than that, their leak is added once more.
    """
    load: Load = Search.of(survey, 1).load(message.ids, (), (1,), message.cells)
    if not load.distance:
        return 1.0
    exponent = max(math.log1p(leak / load.times) - load.fixed, load.fixed) / load.distance
    return 1 / math.expm1(exponent)


def ways(
    survey: Survey, progress: SearchProgress | None = None, work: float = WORK
) -> list[Grouping]:
    """The groupings worth certifying for a survey: its messages if it fixes them, otherwise cells
    or joint reports.

    If only the guarantee limits what is sent, no joint report is as precise as the cells of its
    tables. Joint reports are tried as well if the reports of a person, their size, or the local
    epsilon are limited. work: as in `SearchTask`. Empty if nothing fits. Raises PrivacyError if the
    survey's analysis cannot be planned with.
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


def likely_ways(survey: Survey) -> list[Grouping]:
    """The groupings that `ways` would most likely choose from, in a fraction of its time.

    The search is shorter, and joint reports are only searched if cells do not fit: where both fit,
    cells are nearly always more precise. Raises PrivacyError as `ways` does.
    """
    plannable(survey.privacy.analysis)
    if grouping(survey) is not None or survey.tables == "any":
        return ways(survey)
    cells = list(cell_ways(survey, QUICK))
    if cells and survey.reports_per_person is None and _capped(survey):
        return [*cells, fixed_way(survey, default_groups(survey))]
    if cells or survey.reports_per_person is None:
        return cells or [fixed_way(survey, default_groups(survey))]
    return joint_ways(survey, survey.reports_per_person, None, QUICK_STEPS)


def sends_cells(survey: Survey) -> bool:
    """Whether the planner chooses the messages, and messages of cells are among them."""
    return grouping(survey) is None and survey.tables != "any" and bool(cell_ways(survey))


def _capped(survey: Survey) -> bool:
    limits = (survey.reports_per_person, survey.upload_bytes, survey.privacy.local_epsilon)
    return any(limit is not None for limit in limits)
