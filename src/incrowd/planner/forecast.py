"""Plan -> how precise its tables will be, before anything is collected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np

from incrowd.errors import TableError, UsageError
from incrowd.estimation.amounts import AmountEvidence, evidence, mean
from incrowd.estimation.intervals import POWER, detectable_size
from incrowd.estimation.precision import (
    CellVariances,
    TableVariances,
    assumed_shares,
    cell_variances,
    parts_of,
    table_variances,
)
from incrowd.estimation.readings import check_tables, expected_readings
from incrowd.planner.wanted import wanted_tables
from incrowd.plans import JointReport, Outline
from incrowd.survey import Survey, WithEdges, takes_numbers
from incrowd.survey.question import QuestionIds


def expected(plan: Outline, question: WithEdges, even: bool) -> AmountEvidence:
    """Return the expected evidence about an amount from a plan's crowd. even: as in
    `assumed_shares`."""
    crowd, bits = plan.survey.crowd, question.domain.bits
    record = np.append(1.0, assumed_shares(plan.survey, question, even)[-bits:])

    def counts(message: JointReport) -> np.ndarray:
        return np.asarray(
            crowd * message.copies * (message.channels[question.id].reported(bits) @ record)
        )

    shares = partial(assumed_shares, plan.survey, even=even)
    return evidence(plan, question, expected_readings(plan, (question.id,), crowd, counts, shares))


FAMILY_ERROR = 0.05


@dataclass(frozen=True)
class AskedForecast:
    """The expected precision of the answers of those who are asked a question.

    share: the expected share of people who are asked; standard_error: of the least precise answer
    among them, from noise and sampling. Both of the less favorable assumption.
    """

    share: float
    standard_error: float


@dataclass(frozen=True)
class TableForecast:
    """The expected precision of one table under two assumptions about the shares of answers.

    Shares that the survey states are used in both. Otherwise answers are assumed to be equally
    common, or uneven: one yes in ten, and for other questions each answer half as common as the
    previous one. Different questions are assumed to be independent. A single figure is that of the
    less favorable assumption.

    Attributes
    ----------
    questions : tuple of str
        The ids of the table's questions.
    cells : int
        The number of cells.
    standard_error : float
        Of the largest cell, from noise and sampling, as a proportion.
    standard_error_even, standard_error_uneven : float
        The same under each assumption.
    noise_error : float
        The largest standard error from the noise alone.
    minimum_detectable_share : float
        A share that is detected with the power, no matter which answers it belongs to, if every
        cell of the table is tested with a 5% chance of any false alarm.
    power : float
        The probability with which it is detected.
    effective_sample_size : float
        The number of people who, surveyed without noise, would give the same squared error over all
        cells if all answers are equally common, so that tables and plans can be compared.
    effective_sample_size_uneven : float
        The same if answers are uneven.
    inflation : float
        People over effective sample size, which the planner minimizes.
    mean_error : float or None
        The standard error of an amount's mean, in the unit of the amount.
    asked : AskedForecast or None
        Of a question that not everybody is asked: the precision among those who are.

    References
    ----------
    Vinterbo (2018), proposition 3.1, for effective sample size and inflation.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> table = incrowd.forecast(plan)[0]
    >>> table.noise_error < table.standard_error_uneven < table.standard_error_even
    True
    """

    questions: tuple[str, ...]
    cells: int
    standard_error: float
    standard_error_even: float
    standard_error_uneven: float
    noise_error: float
    minimum_detectable_share: float
    power: float
    effective_sample_size: float
    effective_sample_size_uneven: float
    inflation: float
    mean_error: float | None = None
    asked: AskedForecast | None = None


def forecast(plan: Outline, *, power: float = POWER) -> tuple[TableForecast, ...]:
    """Forecast the precision of a plan's tables for exactly its crowd, colluding people included.

    Parameters
    ----------
    plan : Plan
        A table that several of its messages contain is combined from all of them.
    power : float
        The probability with which a share that is called detectable is detected.

    Returns
    -------
    tuple of TableForecast
        The requested tables, then those from which the wanted regressions are fitted. If questions
        are open, the crowd is that of the smallest stratum, and a table with an open question is
        forecast within each stratum.

    Raises
    ------
    UsageError
        If the argument is not a plan, or the power is not between 0 and 1.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> first = incrowd.forecast(plan)[0]
    >>> first.questions, round(first.standard_error, 3)
    (('physical_limitation',), 0.004)
    """
    return tuple(_forecast(plan, ids, power) for ids in wanted_tables(plan.survey))


def _forecast(plan: Outline, ids: QuestionIds, power: float) -> TableForecast:
    survey, people = plan.survey, plan.survey.crowd
    cells = math.prod(len(assumed_shares(survey, survey.question(id), even=True)) for id in ids)
    both = table_variances(survey, plan.messages, ids)
    even, uneven = (math.sqrt(each.largest / people) for each in both)
    return TableForecast(
        questions=ids,
        cells=cells,
        standard_error=max(even, uneven),
        standard_error_even=even,
        standard_error_uneven=uneven,
        noise_error=math.sqrt(max(each.noise for each in both) / people),
        minimum_detectable_share=max(_detectable(survey, each, cells, power) for each in both),
        power=power,
        effective_sample_size=people / both.even.loss,
        effective_sample_size_uneven=people / both.uneven.loss,
        inflation=both.even.loss,
        mean_error=_mean_error(plan, ids),
        asked=_asked(plan, ids),
    )


def _detectable(survey: Survey, table: TableVariances, cells: int, power: float) -> float:
    """Return the smallest share s of a cell that is detected with a power.

    It is detected if its estimate is above a limit. So s is the limit, and a multiple of the
    estimate's standard error, which grows with s. Proof: docs/mathematics.md#forecasts.
    """
    limit = -NormalDist().inv_cdf(FAMILY_ERROR / cells)
    empty = math.sqrt(table.noise_if_empty / survey.crowd)
    more = (detectable_size(power, limit) - limit) / math.sqrt(survey.crowd)
    drawn = 0 if survey.census else 1
    square = 1 + drawn * more**2
    half = limit * empty + more**2 * (table.noise_slope + drawn) / 2
    rest = (limit * empty) ** 2 - more**2 * table.noise_if_empty
    root = math.sqrt(max(half**2 - square * rest, 0.0))
    return max((half + math.copysign(root, more)) / square, 0.0)


def _asked(plan: Outline, ids: QuestionIds) -> AskedForecast | None:
    """Return the expected precision among those who are asked a question.

    The share r = a / A of those who are asked has the variance of a - r A, over A^2. The noise of
    a and of those who are not asked, 1 - A, is taken to be independent, as in a joint report; where
    cells are projected to the known number of people, it is a little less.
    """
    survey, question = plan.survey, plan.survey.question(ids[0])
    if len(ids) > 1 or question.asked_if is None or question.hashed or question.wide:
        return None
    parts = parts_of(survey, plan.messages, ids)
    return max(
        (_among_asked(survey, cell_variances(survey, parts, ids, even)) for even in (True, False)),
        key=lambda each: each.standard_error,
    )


def _among_asked(survey: Survey, cells: CellVariances) -> AskedForecast:
    asked = 1 - float(cells.share[-1])
    if asked <= 0:
        return AskedForecast(0.0, math.inf)
    shares = cells.share[:-1] / asked
    drawn = 0.0 if survey.census else asked * shares * (1 - shares)
    variance = cells.noise[:-1] + shares**2 * cells.noise[-1] + drawn
    return AskedForecast(asked, math.sqrt(float(np.max(variance)) / survey.crowd) / asked)


def _mean_error(plan: Outline, ids: QuestionIds) -> float | None:
    question = plan.survey.question(ids[0])
    if len(ids) > 1 or not (question.rounded and takes_numbers(question)):
        return None
    return max(mean(expected(plan, question, even)).standard_error for even in (True, False))


def people_needed(plan: Outline, ids: Sequence[str], *, standard_error: float) -> int:
    """Return the number of people that a standard error of a table needs, with the plan's noise.

    Parameters
    ----------
    plan : Plan
        Its messages and noise are kept.
    ids : sequence of str
        The ids of the table's questions.
    standard_error : float
        Of the table's largest cell, a proportion, under the less favorable assumption of
        `TableForecast`.

    Returns
    -------
    int
        The number of people; for a table with open questions, the number in each stratum.

    Raises
    ------
    TableError
        If all questions of the table are open.
    UsageError
        If the standard error is not above 0.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> people = incrowd.people_needed(plan, ["physical_limitation"], standard_error=0.01)
    >>> 2500 < people < 2600  # without noise: 0.25 / 0.01^2 = 2500
    True
    """
    if not 0 < standard_error < math.inf:
        raise UsageError.of("standard_error", "planner.no-standard-error", value=standard_error)
    closed = plan.survey.closed(check_tables(plan, [ids])[0])
    if not closed:
        raise TableError.of("table", "planner.open-table", value=",".join(ids))
    both = table_variances(plan.survey, plan.messages, closed)
    if not plan.by_services:
        return math.ceil(max(each.largest for each in both) / standard_error**2)
    added = max(each.noise for each in both) * plan.survey.crowd  # in people, whatever their number
    drawn = max(each.largest - each.noise for each in both)
    root = math.sqrt(drawn**2 + 4 * added * standard_error**2)
    return math.ceil((drawn + root) / (2 * standard_error**2))
