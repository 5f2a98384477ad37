"""The task of a search for messages: a survey's questions as variables, its tables, and limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from incrowd.accountant.analyses import plannable
from incrowd.accountant.channels.bit_flip import is_flip
from incrowd.estimation.precision import axis
from incrowd.estimation.tables import MOST_CELLS
from incrowd.planner.allocation import FULL, Effort, PlanLimits
from incrowd.planner.covers import without_contained
from incrowd.planner.effects import Effects, excess_alone
from incrowd.planner.loads import (
    LARGE,
    Load,
    SearchVariable,
    VariableSet,
    cells_load,
    crossable,
    size,
)
from incrowd.planner.wanted import cells, models, parts, wanted_tables
from incrowd.plans import fixed_channel
from incrowd.plans.grouping import grouping
from incrowd.plans.message import crowd_channel
from incrowd.plans.slots import TAIL, slots_within
from incrowd.survey import AnyQuestion, Group, Survey
from incrowd.survey.crossings import cell_answers, crossing_problem
from incrowd.survey.question import QuestionIds

MessageKind = Literal["joint", "cells", "parities"]
MessageGroups = tuple[
    tuple[tuple[int, ...], MessageKind, int], ...
]  # places in order, kind, copies


class Beside(NamedTuple):
    """A message beside those that are searched for. part: the part of the leak; None for an equal
    one."""

    ids: VariableSet
    kind: MessageKind = "joint"
    part: float | None = None


class MessageFacts(NamedTuple):
    """The variables of a message of cells as far as costs depend on them."""

    load: Load
    excess_alone: float
    size: int
    crossable: bool


@dataclass(frozen=True)
class SearchTask:
    """Wanted tables, as sets of places of variables, and the limits for all messages.

    tables: those that can be cells, each of them `crossable`. mean: whether to minimize the mean of
    the tables' inflations rather than the largest. larger: tables that are sent like those with
    more than 1,000 cells, however many they have. beside: messages in addition to those of cells.

    people: the planned crowd. wanted: the tables whose errors are minimized in the end. held: what
    joint reports have to hold, which for weights and regressions is more. given: the messages, if
    the survey fixes them.
    """

    variables: tuple[SearchVariable, ...]
    tables: tuple[VariableSet, ...]
    limits: PlanLimits
    mean: bool = False
    effort: Effort = FULL
    larger: tuple[VariableSet, ...] = ()
    people: int = 1
    beside: tuple[Beside, ...] = ()
    wanted: tuple[VariableSet, ...] = ()
    held: tuple[VariableSet, ...] = ()
    given: MessageGroups | None = None

    def among(self, ids: VariableSet) -> list[SearchVariable]:
        """Return the variables at these places."""
        return [self.variables[i] for i in sorted(ids)]

    def names(self, ids: VariableSet) -> QuestionIds:
        """Return the ids of the questions at these places, in the order of the survey."""
        return tuple(variable.id for variable in self.among(ids))

    def places(self, ids: Iterable[str]) -> VariableSet:
        """Return the places of some questions."""
        wanted = set(ids)
        return frozenset(i for i, variable in enumerate(self.variables) if variable.id in wanted)

    @cached_property
    def _facts(self) -> dict[VariableSet, MessageFacts]:
        return {}

    def facts(self, ids: VariableSet) -> MessageFacts:
        """Return the load and the size of a message of these variables, computed once."""
        if ids not in self._facts:
            among = self.among(ids)
            self._facts[ids] = MessageFacts(
                cells_load(among), excess_alone(among), size(among), crossable(among)
            )
        return self._facts[ids]

    def is_large(self, ids: VariableSet) -> bool:
        """Return whether a message has so many cells that it would take nearly all of the leak."""
        return self.facts(ids).size > LARGE

    @cached_property
    def small(self) -> tuple[VariableSet, ...]:
        """The tables whose inflation is minimized, without those contained in another one."""
        return without_contained([t for t in self.tables if not self.is_large(t)])

    @cached_property
    def large(self) -> tuple[VariableSet, ...]:
        """The other tables, each of which gets an equal share of the leak."""
        large = without_contained([*filter(self.is_large, self.tables), *self.larger])
        return tuple(t for t in large if not any(t <= small for small in self.small))

    @property
    def default(self) -> MessageGroups:
        """A plan with as few joint reports as possible, with one copy each, and the cells of wide
        variables."""
        return self.separate(filter(None, self.joint_groups))

    def separate(self, messages: Iterable[VariableSet]) -> MessageGroups:
        """Return joint reports of some variables, but cells of those that have to be."""
        wide = frozenset(i for i, v in enumerate(self.variables) if v.wide)
        return tuple(
            (tuple(sorted(ids)), "cells" if ids & wide else "joint", 1) for ids in messages
        )

    @property
    def wide_reports(self) -> float:
        """The number of reports that a message of a wide variable may send: an equal share of what
        the other messages leave at least."""
        joint, memoized, *wide = self.joint_groups
        return (self.limits.reports - bool(joint) - bool(memoized)) / max(len(wide), 1)

    @property
    def joint_groups(self) -> tuple[VariableSet, ...]:
        """The questions that may share a joint report, and those with memoized responses, of which
        one or the other may be empty; then each one that has to be cells."""
        narrow = [i for i, v in enumerate(self.variables) if not v.wide]
        memoized = frozenset(i for i in narrow if self.variables[i].memoized)
        wide = (frozenset({i}) for i, v in enumerate(self.variables) if v.wide)
        return frozenset(narrow) - memoized, memoized, *wide

    @cached_property
    def effects(self) -> Effects:
        """The terms of the small tables."""
        return Effects.of(self.variables, self.small)


class LimitMessage(NamedTuple):
    """A message with the noise of the large-N limit, before it is certified.

    order: the places of its questions. distance: the number of bits with the planner's noise in
    which two of its reports can differ: 1 for cells, each of which is a collection of one bit. v:
    p q / (p - q)^2 of that noise.
    """

    order: tuple[int, ...]
    kind: MessageKind
    copies: int
    distance: int
    v: float


class PlanCandidate(NamedTuple):
    """The messages that a person sends, and by how much the inflation of the tables exceeds 1 in
    the large-N limit: infinite if the limit permits none."""

    messages: tuple[LimitMessage, ...]
    excess: float


# A survey as a task.


@lru_cache(maxsize=8)
def task_of(survey: Survey, effort: Effort = FULL) -> SearchTask:
    """Return the task of finding messages for a survey.

    Tables that cannot be cells (because of text, fixed randomizers, permanent responses, two
    multiple-choice questions, or too many cells of a regression) are sent beside cells in one joint
    report, or two if there are permanent responses. Each of these gets an equal share of the leak;
    with `explore`, the first one contains all questions and gets that share. No table can be cells
    if the analysis does not rely on a shuffler, which cells require, or if almost nothing may leak.
    Raises PrivacyError if the survey's analysis cannot be planned with.
    """
    privacy, by = survey.privacy, plannable(survey.privacy.analysis)
    signal = by.large_crowd_signal(privacy.epsilon, privacy.delta, survey.honest)
    limits = PlanLimits(
        leak=signal,
        local_epsilon=math.inf if privacy.local_epsilon is None else privacy.local_epsilon,
        reports=math.inf if survey.reports_per_person is None else survey.reports_per_person,
        slots=slots_within(survey),
        tail=TAIL / survey.crowd,
    )
    variables = tuple(_variable(survey, question) for question in survey.randomized)
    mean = survey.objective == "mean"
    task = SearchTask(variables, (), limits, mean, effort, people=survey.crowd)
    wanted = tuple(map(task.places, wanted_tables(survey)))
    held = tuple(dict.fromkeys([*wanted, *map(task.places, survey.held)]))
    fixed = grouping(survey)
    given = None if fixed is None else tuple(_given(survey, group) for group in fixed)
    task = replace(task, wanted=wanted, held=held, given=given)
    if fixed is not None or survey.tables == "any" or not (by.shuffled and signal):
        return task
    tables, larger, others = (tuple(map(task.places, ids)) for ids in _sorted_tables(survey))
    beside = _beside(task, others, survey.explore)
    return replace(task, tables=tables, larger=larger, beside=beside)


def _sorted_tables(
    survey: Survey,
) -> tuple[list[QuestionIds], list[QuestionIds], list[QuestionIds]]:
    """Return tables for messages of cells whose errors are minimized; larger tables, each with an
    equal share of the leak; and tables that cannot be cells.

    Parts replace the table of a model that is too large; if they are not enough for the model, the
    whole table is sent as well.
    """
    tables: dict[QuestionIds, None] = {}
    larger, others = list[QuestionIds](), list[QuestionIds]()
    for ids in map(survey.crossed, survey.counted):
        if _crossable(survey, ids):
            tables[ids] = None
        else:
            others.append(ids)
    for ids, model in zip(survey.regressed, models(survey), strict=True):
        whole, pieces = survey.crossed(ids), parts(survey, model)
        if not _crossable(survey, whole):
            others.append(whole)
        elif pieces and model.fits_pairs:
            tables |= dict.fromkeys(pieces)
        elif cells(survey, whole) > MOST_CELLS:
            others.append(whole)
        elif pieces:
            tables |= dict.fromkeys(map(survey.crossed, pieces))
            larger.append(whole)
        else:
            tables[whole] = None
    return list(tables), larger, others


def _crossable(survey: Survey, ids: Sequence[str]) -> bool:
    """Return whether the planner may send some questions as cells.

    Text, fixed randomizers and permanent responses cannot be crossed, nor can two questions that
    allow several answers each.
    """
    questions = [survey.question(id) for id in ids]
    return not crossing_problem(questions) and not any(q.memoized for q in questions)


def _beside(
    task: SearchTask, tables: Iterable[VariableSet], explore: float | None
) -> tuple[Beside, ...]:
    """Return the messages in addition to the crossed cells, for these tables. explore: as in a
    survey."""
    others = frozenset().union(*tables)
    joint, memoized, *wide = task.joint_groups
    first = Beside(others & joint) if explore is None else Beside(joint, part=explore)
    alone = (Beside(ids, "cells") for ids in wide if ids <= others)
    messages = (first, Beside(others & memoized), *alone)
    return tuple(message for message in messages if message.ids)


def _given(survey: Survey, group: Group) -> tuple[tuple[int, ...], MessageKind, int]:
    place = {question.id: i for i, question in enumerate(survey.randomized)}
    kind: MessageKind = "parities" if group.parities else "cells" if group.cells else "joint"
    return tuple(place[id] for id in group.questions), kind, group.copies


def _variable(survey: Survey, question: AnyQuestion) -> SearchVariable:
    answers = () if question.one_way_only else cell_answers(question)
    fixed = fixed_channel(question)
    return SearchVariable(
        answers=max(len(answers), 1),
        most=question.domain.most if question.many else None,
        times=survey.rows_per_person * (1 if question.memoized else survey.rounds),
        axis=axis(question, fixed),
        distance=question.distance if question.randomizer is None else 0,
        fixed=_log_phi(question),
        memoized=question.memoized,
        wide=question.wide,
        id=question.id,
    )


def _log_phi(question: AnyQuestion) -> float:
    """Return d ln phi of a question's fixed randomizer; if it is not a bit flip, its epsilon."""
    channel = crowd_channel(question)
    if channel is None:
        return 0.0
    log_phi = math.log1p(channel.excess) if is_flip(channel) else channel.epsilon
    return question.distance * log_phi
