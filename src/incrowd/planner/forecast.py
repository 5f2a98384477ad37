"""Plan -> how sharp its tables will be, before anything is collected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from incrowd.errors import TableError, UsageError
from incrowd.estimation.amounts import Evidence, evidence, mean
from incrowd.estimation.precision import assumed_shares, table_variances
from incrowd.estimation.readings import Ids, check_tables, expected_readings
from incrowd.planner.wanted import weighed
from incrowd.plans import JointReport, Plan
from incrowd.survey import WithEdges, takes_numbers

# What randomizing costs, in people: the effective sample size.


def effective_sample(people: int, lost: float) -> float:
    """n' = N / L: so many people, asked without noise, tell as much; Vinterbo, proposition 3.1."""
    return people / lost


# How precise the mean of an amount will be, under assumed shares of its edges.


def expected(plan: Plan, question: WithEdges, even: bool) -> Evidence:
    """What the plan's crowd would say on average: the counts without chance. even: as
    `assumed_shares` has it."""
    crowd, bits = plan.survey.crowd, question.domain.bits
    record = np.append(1.0, assumed_shares(question, even)[-bits:])

    def counts(message: JointReport) -> np.ndarray:
        return np.asarray(
            crowd * message.copies * (message.channels[question.id].reported(bits) @ record)
        )

    shares = partial(assumed_shares, even=even)
    return evidence(plan, question, expected_readings(plan, (question.id,), crowd, counts, shares))


FAMILY_ERROR = 0.05


@dataclass(frozen=True)
class TableForecast:
    """What to expect of one table, under two assumptions; of one figure it is the less favorable.

    Assumed are the shares that the survey states. Answers to other questions are assumed to be
    equally common, and to be uneven: one yes in ten, and of other questions each answer half as
    common as the one before. Different questions are assumed to be independent.

    standard_error: of its largest cell, noise plus sampling, as a proportion; standard_error_even
    and standard_error_uneven under each assumption. noise_error: the largest of the noise alone.
    minimum_detectable_share: a share that is detected in half of all surveys or more, whichever
    answers it is of, with every cell of the table tested and 5% for any false alarm.
    effective_sample_size: how many people asked without noise would tell as much in squared error
    over all cells (Vinterbo, proposition 3.1), if all answers are equally common, so that tables
    and plans can be compared; effective_sample_size_uneven if they are uneven. inflation: people
    over the effective sample, what the planner makes small. mean_error: of an amount's mean, in its
    own unit; None of other tables.
    """

    questions: tuple[str, ...]
    cells: int
    standard_error: float
    standard_error_even: float
    standard_error_uneven: float
    noise_error: float
    minimum_detectable_share: float
    effective_sample_size: float
    effective_sample_size_uneven: float
    inflation: float
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
    survey, people = plan.survey, plan.survey.crowd
    cells = math.prod(len(assumed_shares(survey.question(id), even=True)) for id in ids)
    both = table_variances(survey, plan.messages, ids)
    even, uneven = (math.sqrt(each.largest / people) for each in both)
    empty = math.sqrt(max(each.noise_if_empty for each in both) / people)
    return TableForecast(
        questions=ids,
        cells=cells,
        standard_error=max(even, uneven),
        standard_error_even=even,
        standard_error_uneven=uneven,
        noise_error=math.sqrt(max(each.noise for each in both) / people),
        minimum_detectable_share=-NormalDist().inv_cdf(FAMILY_ERROR / cells) * empty,
        effective_sample_size=effective_sample(people, both.even.loss),
        effective_sample_size_uneven=effective_sample(people, both.uneven.loss),
        inflation=both.even.loss,
        mean_error=_mean_error(plan, ids),
    )


def _mean_error(plan: Plan, ids: Ids) -> float | None:
    question = plan.survey.question(ids[0])
    if len(ids) > 1 or not (question.rounded and takes_numbers(question)):
        return None
    return max(mean(expected(plan, question, even)).standard_error for even in (True, False))


def people_needed(plan: Plan, ids: Sequence[str], *, standard_error: float) -> int:
    """How many people the plan's noise needs for a standard error of a table's largest cell.

    Under the less favorable assumption of `TableForecast`. Of a table that names open questions, in
    each stratum. Raises TableError if it names no others, UsageError for an error that no number
    of people has.
    """
    if not 0 < standard_error < math.inf:
        raise UsageError.of("standard_error", standard_error, "should be above 0, as 0.01")
    closed = plan.survey.closed(check_tables(plan, [ids])[0])
    if not closed:
        raise TableError.of("table", ",".join(ids), "it is open, without noise; add a question")
    both = table_variances(plan.survey, plan.messages, closed)
    return math.ceil(max(each.largest for each in both) / standard_error**2)
