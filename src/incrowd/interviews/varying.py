"""Logistic regressions of a randomized item whose intercept varies between groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import translatable
from incrowd.errors import UsageError, quantity
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.estimation.regression.results import Coefficient, coefficient_text, coefficients
from incrowd.estimation.tables import FIGURES
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.covariates import OpenColumns, model_matrix
from incrowd.interviews.formula import INTERCEPT, parse_formula
from incrowd.interviews.hidden import HiddenAnswerModel
from incrowd.interviews.hidden_fit import fit_hidden_answers, undetermined
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.mean_shares import unknown_coefficients
from incrowd.interviews.outcome_models import (
    LOGISTIC_VARIANCE,
    check_groups,
    check_intercepts,
    group_numbers,
    without_gaps,
)
from incrowd.interviews.outcome_regression import GroupVariation, coefficient_table
from incrowd.interviews.promise import InterviewPromise
from incrowd.views import IntervalPlot, LabeledInterval, Sheet, Square, View


@dataclass(frozen=True, eq=False)
class VaryingRegression(views.Result):
    """A logistic regression of a randomized item with random intercepts.

    Attributes
    ----------
    formula : str
        The model.
    item, answer : str
        The id of the item, and the true answer whose log odds are explained.
    people, left_out : int
        The number of interviews that were used, and of those without a report or a predictor.
    coefficients : tuple of Coefficient
        For people of the same group, the intercept first.
    covariance : array, shape (coefficients, coefficients)
        Of the coefficients.
    unknown : tuple of Coefficient
        The probabilities of the design that were estimated along.
    variation : GroupVariation
        The random intercepts.
    log_likelihood : float
        Of the reports.
    guarantee : InterviewPromise or None
        What the device promises.
    """

    formula: str
    item: str
    answer: str
    people: int
    left_out: int
    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    unknown: tuple[Coefficient, ...]
    variation: GroupVariation
    log_likelihood: float
    guarantee: InterviewPromise | None = None

    def __repr__(self) -> str:
        people = quantity(self.people, "interviews")
        return f"VaryingRegression({self.formula}, by {self.variation.column}, {people})"

    @property
    def in_r(self) -> str:
        """Lines of R that use the coefficients and their covariance."""
        return """
            b <- setNames(incrowd$sheets$coefficients$estimate, incrowd$sheets$coefficients$term)
            V <- incrowd$matrices$covariance
            cbind(estimate = b[seq_len(nrow(V))], error = sqrt(diag(V)))
            """

    def facts(self) -> dict[str, Any]:
        """Return the coefficients and the random intercepts."""
        names = ("formula", "item", "answer", "people", "left_out", "coefficients", "covariance")
        more = ("unknown", "log_likelihood", "guarantee")
        facts = {name: getattr(self, name) for name in (*names, *more)}
        return facts | {"intercepts": self.variation}

    def long_table(self) -> Sheet:
        """Return a row for each coefficient, then for each unknown probability."""
        names = ("term", *FIGURES, "p_value")
        every = [*self.coefficients, *self.unknown]
        return Sheet.of_records(
            "coefficients", [{name: getattr(each, name) for name in names} for each in every]
        )

    def squares(self) -> Sequence[Square]:
        """Return the covariance of the coefficients."""
        terms = tuple(each.term for each in self.coefficients)
        return (Square("covariance", terms, self.covariance),)

    @property
    def title(self) -> str:
        """The title of the table."""
        names = {"outcome": self.item, "answer": self.answer, "people": self.people}
        return translatable("interview_models.logistic", **names)

    def view(self) -> View:
        """Return the coefficients with notes."""
        table = coefficient_table(self.title, self.coefficients, odds=True)
        return View(title=self.title, tables=(table,), notes=tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        yield self.variation.text
        yield translatable("interview_outcomes.within-groups", column=self.variation.column)
        yield translatable("interview_outcomes.errors-observed")
        for each in self.unknown:
            yield translatable(
                "interview_outcomes.unknown",
                name=each.term,
                estimate=coefficient_text(each.estimate),
                error=coefficient_text(each.standard_error),
            )
        yield translatable("interview_models.left-out", people=self.people, left_out=self.left_out)

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the coefficients, without the intercept."""
        lines = [
            LabeledInterval(each.term, each.estimate, each.low, each.high)
            for each in self.coefficients
            if each.term != INTERCEPT
        ]
        axis = translatable("interview_models.log-odds-axis")
        return (IntervalPlot(self.title, axis, [("", lines)]),) if lines else ()


def regress_with_intercepts(
    answers: InterviewAnswers,
    formula: str,
    intercepts: str,
    *,
    reference: Mapping[str, str] | None = None,
    weighted: bool = True,
) -> VaryingRegression:
    """Fit a logistic regression of a randomized question with random intercepts of groups.

    Parameters
    ----------
    answers : InterviewAnswers
        The interviews.
    formula : str
        The question, which has two answers, and its predictors, as for `regress`.
    intercepts : str
        The column of groups, such as villages or interviewers. The log odds of the true answer
        differ between groups by a normal intercept.
    reference : mapping of str to str, optional
        For columns of categories, the level that the others are compared with.
    weighted : bool
        Whether to respect the survey's column of weights, with which such a model is refused.

    Returns
    -------
    VaryingRegression
        Interviews without a report, a predictor, or a group are left out.

    Raises
    ------
    UsageError
        For formulas and columns that cannot be used, weights, and interviews that do not determine
        the coefficients.

    References
    ----------
    Pinheiro and Bates (1995). Proof: docs/interviews-mathematics.md#random-intercepts.

    Examples
    --------
    >>> import numpy as np, pyarrow, incrowd
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> rng, village = np.random.default_rng(1), np.arange(1500) % 50
    >>> share = rng.uniform(0.1, 0.7, 50)[village]
    >>> smokes, die = rng.random(1500) < share, rng.integers(1, 7, 1500)
    >>> reported = np.where(die == 6, True, np.where(die == 1, False, smokes))
    >>> table = {"smokes": np.where(reported, "yes", "no"), "village": village}
    >>> answers = incrowd.read_answers(survey, pyarrow.table(table))
    >>> model = incrowd.interviews.regress_with_intercepts(answers, "smokes ~ 1", "village")
    >>> model.variation.p_value < 0.01
    True
    """
    parsed, weight = parse_formula(formula), answers.survey.columns.weight
    item = answers.item(parsed.outcome)
    names = answers.survey.item(parsed.outcome).design.answers
    if len(names) != 2:
        raise UsageError.of("formula", "interview_outcomes.two-answers", value=parsed.outcome)
    if weighted and weight is not None:
        raise UsageError.of(
            "intercepts", "interview_outcomes.intercepts-weights", value=intercepts, name=weight
        )
    check_intercepts(answers, intercepts)
    groups = group_numbers(answers, intercepts)
    columns: OpenColumns = {name: answers.column(name) for name in answers.names}
    keep = (item.reported != MISSING) & (groups >= 0)
    matrix = model_matrix(parsed, columns, keep, reference=reference)
    used = matrix.used
    reports = ReportedItem(item.reported[used], item.group[used], item.matrices)
    numbers = without_gaps(groups, used)
    if numbers.max() == 0:
        raise UsageError.of("intercepts", "interview_outcomes.few-groups", value=intercepts)
    fit = fit_hidden_answers(HiddenAnswerModel(reports, matrix.values), groups=numbers)
    check_groups(fit, intercepts)
    size = len(matrix.names)
    if not fit.determined or fit.intercepts is None:
        labels = (*matrix.names, *(f"logit {name}" for name in item.matrices.names))
        terms = [labels[place] for place in undetermined(fit)]
        raise UsageError.of(
            "formula", "interview_outcomes.not-determined", value=str(parsed), terms=terms
        )
    covariance = fit.covariance[:size, :size]
    return VaryingRegression(
        guarantee=answers.guarantee,
        formula=str(parsed),
        item=parsed.outcome,
        answer=names[1],
        people=int(used.sum()),
        left_out=int((~used).sum()),
        coefficients=coefficients(list(matrix.names), fit.parameters[:size], covariance),
        covariance=covariance,
        unknown=unknown_coefficients(
            item.matrices.names, fit.unknown, fit.unknown_errors, HALF_WIDTH
        ),
        variation=GroupVariation.of(intercepts, fit.intercepts, LOGISTIC_VARIANCE),
        log_likelihood=fit.log_likelihood,
    )
