"""Plan -> how sharp its tables will be, before anything is collected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtri

from incrowd.errors import TableError, UsageError
from incrowd.estimation.amounts import mean
from incrowd.estimation.efficiency import effective_sample, greenwood_mean
from incrowd.planner.amounts import expected
from incrowd.planner.expectation import (
    expected_noise,
    expected_variance,
    sampling_variance,
    table_axes,
)
from incrowd.planner.sources import Ids, check_tables
from incrowd.planner.wanted import weighed
from incrowd.plans import Plan
from incrowd.survey import Amount, Multi, Text

FAMILY_ERROR = 0.05


@dataclass(frozen=True)
class TableForecast:
    """What to expect of one table when all its answers are equally common.

    standard_error: of its largest cell, noise plus sampling, as a proportion. noise_error: of the
    noise alone. minimum_detectable_share: the smallest share that is detected in half of
    all surveys, with every cell of the table tested and 5% for any false alarm.
    effective_sample_size: how many people asked without noise would tell as much in squared
    error (Vinterbo, section 4.1: the loss at s = 2 / (cells + 1), its mean over uniformly random
    tables). mean_error: of an amount's mean, in its own unit, if all edges are equally common; None
    of other tables.
    """

    questions: tuple[str, ...]
    cells: int
    standard_error: float
    noise_error: float
    minimum_detectable_share: float
    effective_sample_size: float
    mean_error: float | None = None


def forecast(plan: Plan) -> tuple[TableForecast, ...]:
    """The wanted tables of a plan for exactly its crowd, colluding people included.

    After them come the tables that the wanted regressions are read from.
    A table that several messages hold is combined from all of them. Where questions are open the
    crowd is that of the smallest stratum, and tables are of its people: of those that name an open
    question the rest, which is read in each stratum.
    """
    return tuple(_forecast(plan, ids) for ids in weighed(plan.survey))


def _forecast(plan: Plan, ids: Ids) -> TableForecast:
    people, cells = plan.survey.crowd, math.prod(a.cells for a in table_axes(plan.survey, ids))
    noise = expected_noise(plan.survey, plan.messages, ids)  # of one person
    noise_error = math.sqrt(noise / people)
    return TableForecast(
        questions=ids,
        cells=cells,
        standard_error=math.sqrt(expected_variance(plan.survey, plan.messages, ids) / people),
        noise_error=noise_error,
        minimum_detectable_share=float(ndtri(1 - FAMILY_ERROR / cells)) * noise_error,
        effective_sample_size=effective_sample(people, _loss(plan, ids, cells, noise)),
        mean_error=_mean_error(plan, ids),
    )


def _mean_error(plan: Plan, ids: Ids) -> float | None:
    question = plan.survey.question(ids[0])
    if len(ids) > 1 or not isinstance(question, Amount):
        return None
    return mean(expected(plan, question)).standard_error


def _loss(plan: Plan, ids: Sequence[str], cells: int, noise: float) -> float:
    """People with noise for one person asked without it, in squared error over all cells.

    1 + cells x noise / (1 - s), s the sum of squared shares; of overlapping answers, and of words
    that hardly anybody has, of one cell alone.
    """
    questions = [plan.survey.question(id) for id in ids]
    if any(isinstance(question, Multi | Text) for question in questions):
        open_variance = sampling_variance(table_axes(plan.survey, ids))
        return 1 + noise / open_variance if open_variance > 0 else math.inf
    return 1 + cells * noise / (1 - greenwood_mean(cells))


def people_needed(plan: Plan, ids: Sequence[str], *, standard_error: float) -> int:
    """How many people the plan's noise needs for a standard error of a table's largest cell.

    Of a table that names open questions, in each stratum. Raises TableError if it names no others,
    UsageError for an error that no number of people has.
    """
    if not 0 < standard_error < math.inf:
        raise UsageError.of("standard_error", standard_error, "should be above 0, as 0.01")
    closed = plan.survey.closed(check_tables(plan, [ids])[0])
    if not closed:
        raise TableError.of("table", ",".join(ids), "it is open, without noise; add a question")
    variance = expected_variance(plan.survey, plan.messages, closed)
    return math.ceil(variance / standard_error**2)
