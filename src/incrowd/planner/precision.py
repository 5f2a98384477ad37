"""The objective that the planner minimizes, and how precise a plan's wanted tables are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from incrowd.estimation.precision import relative_noise, table_variances
from incrowd.planner.search import inflations
from incrowd.planner.task import SearchTask, task_of
from incrowd.planner.wanted import wanted_tables
from incrowd.plans import Message, Plan
from incrowd.survey import Survey


def guessed_excess(survey: Survey, messages: Sequence[Message]) -> float:
    """Return the objective of the planner: by how much the inflation of the wanted tables exceeds
    1.

    The largest over all tables or their mean, depending on the survey's objective, if all answers
    are equally common. Joint reports are combined by inverse variance, messages of cells by least
    squares. Tables with too many cells count only if there are no others.
    """
    return excess_of(task_of(survey), messages)


def excess_of(task: SearchTask, messages: Sequence[Message]) -> float:
    """Return the objective of the planner, as `guessed_excess`, for a survey as a task."""
    precision = np.zeros(len(task.wanted))
    cells = sorted((message for message in messages if message.cells), key=lambda m: not m.parities)
    groups = [(task.names(ids), i) for i, ids in enumerate(task.wanted)]
    held = [i for ids, i in groups if any(message.holds(ids) for message in cells)]
    if held:
        leaks = [1 / message.noise_variance(task.people) for message in cells]
        tables = replace(task, tables=tuple(task.wanted[i] for i in held))
        sent, parities = [task.places(m.ids) for m in cells], sum(m.parities for m in cells)
        precision[held] = 1 / (np.array(inflations(tables, sent, leaks, parities)) - 1)
    joint = [message for message in messages if not message.cells]
    for ids, i in groups:
        for message in (each for each in joint if each.holds(ids)):
            v = message.noise_variance(task.people)
            noise = relative_noise([v.axis for v in task.among(task.wanted[i])], v)
            precision[i] += message.independent_copies / float(noise)
    small = np.array([not task.is_large(ids) for ids in task.wanted])
    excess = 1 / precision[small if small.any() else slice(None)]
    return float(excess.mean() if task.mean else excess.max())


def expected_error(survey: Survey, messages: Sequence[Message]) -> float:
    """Return the standard error of the wanted tables: their largest or mean, as the objective says.

    That of a table is the standard error of its largest cell, under the less favorable assumption.
    """
    tables = (table_variances(survey, messages, ids) for ids in wanted_tables(survey))
    errors = [math.sqrt(max(each.largest for each in table) / survey.crowd) for table in tables]
    return max(errors) if survey.objective == "largest" else sum(errors) / len(errors)


def least_effective_sample(survey: Survey, messages: Sequence[Message]) -> float:
    """Return the smallest effective sample size of the wanted tables, if all answers are equally
    common.

    It is the crowd divided by the largest inflation, or by the mean inflation, depending on the
    survey's objective: the number of people who, surveyed without noise, would give the same error.
    """
    return survey.crowd / (1 + guessed_excess(survey, messages))


def plan_error(plan: Plan) -> float:
    """Return the standard error of a plan's wanted tables, as `expected_error`."""
    return expected_error(plan.survey, plan.messages)
