"""Survey -> how precise its tables and regressions would be, without a certificate.

The messages and their noise are those of the large-crowd limit, from which the planner starts
(docs/mathematics.md#large-crowds). Their consequences are computed as for a plan, so that an
estimate and a certified forecast have the same form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from incrowd.errors import IncrowdError
from incrowd.estimation.precision import assumed_shares, cell_variances, parts_of
from incrowd.planner.forecast import TableForecast, forecast
from incrowd.planner.plan import limit_outline
from incrowd.planner.regression_forecast import expected_fit
from incrowd.plans import Outline
from incrowd.plans.sent import sent
from incrowd.plans.strata import strata
from incrowd.survey import AnyQuestion, Survey
from incrowd.survey.formulas import Formula, meant
from incrowd.survey.participation import ExpectedAnswers
from incrowd.survey.question import QuestionIds

MOST_LISTED = 36  # cells of a table, the most common ones


@dataclass(frozen=True)
class CellOutlook:
    """One cell of a table.

    answers: one of each question. share: the stated share, or that if answers are equally common.
    standard_error: from noise and sampling; sampling_error: from sampling alone. All are
    proportions.
    """

    answers: tuple[str, ...]
    share: float
    standard_error: float
    sampling_error: float


@dataclass(frozen=True)
class WithinOutlook:
    """The precision of the shares within an answer to one question of a table of two.

    question: whose answers divide the people. answer: the one with the least precise shares. share:
    the assumed share of people who give it. standard_error: of the least precise share among them.
    """

    question: str
    answer: str
    share: float
    standard_error: float


@dataclass(frozen=True)
class TableOutlook:
    """One wanted table: its forecast, and its most common cells in the order of the answers.

    overall_error: the standard error of its largest cell among all people; that of the forecast is
    for the smallest group, if people are divided into groups. within: of a table of two questions,
    for the answers to each of them.
    """

    forecast: TableForecast
    cells: tuple[CellOutlook, ...]
    overall_error: float
    within: tuple[WithinOutlook, ...] = ()

    @property
    def questions(self) -> QuestionIds:
        """The ids of its questions."""
        return self.forecast.questions


@dataclass(frozen=True)
class TermOutlook:
    """One coefficient of a regression.

    standard_error: from noise and sampling, in log odds or in units of the outcome.
    sampling_error: without the noise; None if it cannot be computed.
    """

    term: str
    standard_error: float
    sampling_error: float | None


@dataclass(frozen=True)
class RegressionOutlook:
    """One wanted regression, if no answer depends on any other.

    terms: without the intercept. refusal: the chance that the reports do not determine it; None if
    there are no terms, and then `reason` says why.
    """

    formula: Formula
    family: str
    terms: tuple[TermOutlook, ...]
    refusal: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Outlook:
    """The expected precision of an outline's wanted tables and regressions.

    people: how many answer; those of the smallest group, if open questions divide them. answers:
    how many are in which group. reports: the mean number of reports that a person sends.
    local_epsilon: of everything that one person sends, if no crowd hides it.
    """

    people: int
    tables: tuple[TableOutlook, ...]
    regressions: tuple[RegressionOutlook, ...]
    reports: float
    local_epsilon: float
    answers: ExpectedAnswers

    @property
    def margins(self) -> tuple[float, float]:
        """The largest standard error of the table of a single question: among all people, and in
        the smallest group; or within the answers to another question, if there are no groups."""
        single = [each for each in self.tables if len(each.questions) == 1] or [*self.tables]
        overall = max((each.overall_error for each in single), default=0.0)
        if self.answers.groups > 1:
            return overall, max((each.forecast.standard_error for each in single), default=0.0)
        within = (each.standard_error for table in self.tables for each in table.within)
        return overall, max(within, default=0.0)


def estimate(survey: Survey) -> Outlook:
    """Return the expected precision of a survey in the large-crowd limit, which is not certified.

    Raises PrivacyError if no messages meet the guarantee in that limit.
    """
    return outlook(limit_outline(survey), survey.expected_answers)


def outlook(outline: Outline, answers: ExpectedAnswers | None = None) -> Outlook:
    """Return the expected precision of a plan, or of messages that are not certified.

    answers: how many people will probably answer; by default exactly the survey's crowd, in each
    group if questions are open.
    """
    answers = answers or of_the_crowd(outline.survey)
    survey = outline.survey.model_copy(update={"crowd": answers.in_smallest})
    outline = Outline(survey=survey, messages=outline.messages)
    counted = {frozenset(ids) for ids in survey.counted}
    tables = (each for each in forecast(outline) if frozenset(each.questions) in counted)
    # The mean of groups with independent errors; exact unless services add noise to unequal groups.
    overall = math.sqrt(answers.in_smallest / answers.people)
    return Outlook(
        people=answers.in_smallest,
        tables=tuple(
            TableOutlook(
                each,
                tuple(_cells(outline, each)),
                overall * each.standard_error,
                tuple(_within(outline, each.questions)),
            )
            for each in tables
        ),
        regressions=tuple(_regression(outline, formula) for formula in survey.regressions),
        reports=sum(message.reports_each for message in outline.messages),
        local_epsilon=sent(survey, outline.messages, ()).local_epsilon,
        answers=answers,
    )


def of_the_crowd(survey: Survey) -> ExpectedAnswers:
    """Return the answers of exactly the crowd of a survey, in each group."""
    groups = len(strata(survey)) or 1
    return ExpectedAnswers(survey.crowd * groups, survey.crowd, groups, equal=groups > 1)


def _within(outline: Outline, ids: QuestionIds) -> Iterator[WithinOutlook]:
    """Yield for each question of a table of two how precise the shares within its answers are.

    The share r = c / A of a cell in its row has the variance of c - r A, over A^2. The noise of the
    cells is taken to be independent.
    """
    survey = outline.survey
    questions = [survey.question(id) for id in ids]
    if len(ids) != 2 or not all(each.exclusive and not each.hashed for each in questions):
        return
    shape = tuple(len(assumed_shares(survey, each, even=True)) for each in questions)
    variances = cell_variances(survey, parts_of(survey, outline.messages, ids), ids, even=True)
    if variances.share.size != math.prod(shape):
        return
    share, noise = variances.share.reshape(shape), variances.noise.reshape(shape)
    for axis, question in enumerate(questions):
        cells, noises = (share, noise) if axis == 0 else (share.T, noise.T)
        rows = cells.sum(axis=1, keepdims=True)
        if not (rows > 0).all():
            continue
        r = cells / rows
        others = noises.sum(axis=1, keepdims=True) - noises
        drawn = 0.0 if survey.census else r * (1 - r) * rows
        variance = ((1 - r) ** 2 * noises + r**2 * others + drawn) / rows**2 / survey.crowd
        errors = np.sqrt(np.max(variance, axis=1))
        place = int(np.argmax(errors))
        answer = _answers(survey, question)[place]
        yield WithinOutlook(question.id, answer, float(rows[place, 0]), float(errors[place]))


def _cells(outline: Outline, table: TableForecast) -> Iterator[CellOutlook]:
    survey, ids = outline.survey, table.questions
    answers = [_answers(survey, survey.question(id)) for id in ids]
    if math.prod(map(len, answers)) != table.cells:
        return
    parts = parts_of(survey, outline.messages, ids)
    variances = cell_variances(survey, parts, ids, even=True)
    if len(variances.share) != table.cells:  # of a very large table only some are computed
        return
    sampling = np.maximum(variances.share * (1 - variances.share), 0.0)
    if survey.census:
        sampling = np.zeros_like(sampling)
    listed = sorted(np.argsort(-variances.share, kind="stable")[:MOST_LISTED].tolist())
    names = list(product(*answers))
    for place in listed:
        yield CellOutlook(
            names[place],
            float(variances.share[place]),
            math.sqrt(float(variances.noise[place] + sampling[place]) / survey.crowd),
            math.sqrt(float(sampling[place]) / survey.crowd),
        )


def _answers(survey: Survey, question: AnyQuestion) -> tuple[str, ...]:
    """Return the answers to a question; of a text question, one word in place of all."""
    shares = assumed_shares(survey, question, even=True)
    return question.recorded if len(question.recorded) == len(shares) else ("",) * len(shares)


def _regression(outline: Outline, formula: Formula) -> RegressionOutlook:
    family = meant(formula, {each.id: each for each in outline.survey.questions}).family
    try:
        fit = expected_fit(outline, formula)
    except IncrowdError as error:
        return RegressionOutlook(formula, family, (), None, str(error))
    noise = _noise_errors(outline, formula)
    terms = tuple(
        TermOutlook(each.term, each.standard_error, _rest(each.standard_error, noise, place))
        for place, each in enumerate(fit.coefficients)
        if place
    )
    return RegressionOutlook(formula, family, terms, fit.refusal if terms else None, fit.reason)


def _noise_errors(outline: Outline, formula: Formula) -> tuple[float, ...]:
    """Return the standard errors from the noise alone; none if they cannot be computed."""
    try:
        fit = expected_fit(outline, formula, noise_only=True)
    except IncrowdError:
        return ()
    return tuple(each.standard_error for each in fit.coefficients)


def _rest(error: float, noise: tuple[float, ...], place: int) -> float | None:
    """Return the error that is left without the noise: variances of noise and sampling add up."""
    if place >= len(noise):
        return None
    return math.sqrt(max(error**2 - noise[place] ** 2, 0.0))
