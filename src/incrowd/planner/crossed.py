"""The questions of a survey as the search for messages of cells sees them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from incrowd.planner.cell_search import LARGE, SearchTask, inflations
from incrowd.planner.effects import Ids, Variable, size
from incrowd.planner.leak_shares import Limits
from incrowd.plans import Message
from incrowd.survey import AnyQuestion, Survey
from incrowd.survey.crossings import cell_answers, crossing_problem

Names = tuple[str, ...]


def crossable(survey: Survey, ids: Sequence[str]) -> bool:
    """Whether the planner may send some questions as cells.

    Not what has a randomizer of its own, text, or permanent responses, nor two questions that allow
    several answers each.
    """
    questions = [survey.question(id) for id in ids]
    return not crossing_problem(questions) and not any(q.memoised for q in questions)


def too_large(survey: Survey, ids: Sequence[str]) -> bool:
    """Whether a table has so many cells that its precision would be at the cost of all others."""
    return size([_variable(survey.question(id)) for id in ids]) > LARGE


def variables(survey: Survey) -> tuple[Variable, ...]:
    """All randomized questions, in their order."""
    return tuple(map(_variable, survey.randomized))


def places(survey: Survey, ids: Iterable[str]) -> Ids:
    """The places of some questions among the randomized ones."""
    wanted = set(ids)
    return frozenset(i for i, q in enumerate(survey.randomized) if q.id in wanted)


def names(survey: Survey, places: Ids) -> Names:
    """The ids of the questions at some places, in the order of the survey."""
    return tuple(q.id for i, q in enumerate(survey.randomized) if i in places)


def precision_by_cells(
    survey: Survey, messages: Sequence[Message], tables: Sequence[Names]
) -> np.ndarray:
    """1 over how much each table's inflation is above 1, by least squares over all messages of
    cells; 0 for a table that none of them holds: shape (tables,)."""
    sent = sorted((message for message in messages if message.cells), key=lambda m: not m.parities)
    held = [i for i, ids in enumerate(tables) if any(message.holds(ids) for message in sent)]
    asked = tuple(places(survey, tables[i]) for i in held)
    problem = SearchTask(variables(survey), asked, Limits(1.0))
    leaks = [message.noise.excess for message in sent if message.noise]
    precision = np.zeros(len(tables))
    if held:
        parities = sum(message.parities for message in sent)
        by_cells = inflations(problem, [places(survey, m.ids) for m in sent], leaks, parities)
        precision[held] = 1 / (np.array(by_cells) - 1)
    return precision


def _variable(question: AnyQuestion) -> Variable:
    answers = () if question.one_way_only else cell_answers(question)
    most = question.domain.most if question.many else None
    return Variable(max(len(answers), 1), most)
