"""Regressions of a randomized item on open columns, from a formula."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
import scipy

from incrowd.catalog.sentences import translatable
from incrowd.errors import UsageError
from incrowd.estimation.regression.results import Coefficient, coefficients
from incrowd.interviews.answer_models import CumulativeLogit, MultinomialLogit
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.covariates import ModelMatrix, OpenColumns, model_matrix, rows_of
from incrowd.interviews.formula import ParsedFormula, parse_formula, term_text
from incrowd.interviews.honesty_models import lies as modeled_lies
from incrowd.interviews.influence import freedom_of_errors, half_width, two_sided
from incrowd.interviews.item_regression import (
    OF_MODEL,
    YES,
    AverageEffect,
    IntervalKind,
    ItemModel,
    ItemRegression,
    PredictedShare,
    TermTest,
)
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.logistic import (
    ItemRows,
    LogitErrors,
    LogitFit,
    fit_logit,
    fit_restricted,
    profile_end,
)
from incrowd.interviews.mean_shares import (
    average_effects,
    each_share,
    mean_shares,
    unknown_coefficients,
)
from incrowd.interviews.rule_breakers import with_lies
from incrowd.interviews.selection import answer_labels

ERROR_KINDS: tuple[LogitErrors, ...] = ("observed", "expected", "scores", "robust", "cluster")
INTERVAL_KINDS: tuple[IntervalKind, ...] = ("wald", "profile")


def regress(
    answers: InterviewAnswers,
    formula: str,
    *,
    errors: str | None = None,
    ordinal: bool = False,
    reference: Mapping[str, str] | None = None,
    at: Sequence[Mapping[str, str | float]] = (),
    intervals: str = "wald",
    weighted: bool = True,
    lies: bool = False,
) -> ItemRegression:
    """Fit a regression of the true answers to a randomized question on open columns.

    Parameters
    ----------
    answers : InterviewAnswers
        What `read_answers` returned.
    formula : str
        The question and its predictors, such as "armed ~ age + age^2 + female". A term is a column,
        a power or a quotient such as age^2, age/10 and (age/10)^2, log(income), sqrt(income),
        center(age) for the distance from the mean, factor(code) for numbers that are names, or
        another calculation in I(...), such as I(age - 40). age:female is an interaction, and
        age*female is age + female + age:female. Names with spaces are written in backticks.
    errors : {"observed", "expected", "scores", "robust", "cluster"}, optional
        What standard errors come from: the observed or expected information or the squares of the
        scores, which hold if the model is right; or the sandwich, which holds if it is only an
        approximation, of interviews or of clusters. By default "cluster" if the survey names a
        column of clusters, "robust" with weights, and otherwise "observed".
    ordinal : bool
        Whether the answers are ordered, for proportional odds. Otherwise the log odds of each
        answer against the first are modeled.
    reference : mapping of str to str, optional
        For columns of names, the one that the others are compared with; by default the first.
    at : sequence of mapping of str to str or float
        Where to predict the mean probabilities as well: values of some columns, such as
        {"female": 1, "age": "mean"}. All other columns keep their values.
    intervals : {"wald", "profile"}
        Of the coefficients. Profile intervals are slower, and hold better near 0 and 1.
    weighted : bool
        Whether interviews count by the survey's column of weights.
    lies : bool
        Whether people who should say "yes" may not do so: the stochastic lie detector, which
        estimates how many of them follow the rules. It needs two groups with different devices, and
        allows for a third group that is asked directly.

    Returns
    -------
    ItemRegression
        Interviews without a report or without a column of the formula are left out.

    Raises
    ------
    UsageError
        For a formula that cannot be read or estimated, and options that do not go together.

    References
    ----------
    Blair, Imai, and Zhou (2015); Heck and Moshagen (2018); Moshagen, Musch, and Erdfelder (2012).

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> columns = {"smokes": [0, 1, 0, 1, 1, 1] * 40, "age": [20, 30, 40, 50, 60, 70] * 40}
    >>> answers = incrowd.read_answers(survey, pyarrow.table(columns))
    >>> model = incrowd.interviews.regress(answers, "smokes ~ age/10", at=[{"age": 25}])
    >>> [each.term for each in model.coefficients]
    ['(intercept)', 'age/10']
    >>> model.effects[0].low > 0
    True
    """
    parsed = parse_formula(formula)
    if parsed.outcome in answers.columns:
        raise UsageError.of(
            "formula",
            "interview_models.open-outcome",
            value=parsed.outcome,
            questions=[*answers.reports],
        )
    item = answers.item(parsed.outcome)
    for name in parsed.columns:
        if name in answers.reports:
            raise UsageError.of("formula", "interview_models.randomized-predictor", value=name)
    model = regress_item(
        parsed.outcome,
        answer_labels(answers, parsed.outcome),
        _with_lies(parsed.outcome, item) if lies else item,
        answers.columns,
        parsed,
        weights=answers.weights if weighted else None,
        clusters=answers.clusters,
        errors=None if errors is None else _word("errors", errors, ERROR_KINDS),
        ordinal=ordinal,
        reference=reference,
        at=at,
        intervals=_word("intervals", intervals, INTERVAL_KINDS),
    )
    return replace(model, guarantee=answers.guarantee)


def _with_lies(id: str, item: ReportedItem) -> ReportedItem:
    """Return an item whose carriers may lie. Raises UsageError if this cannot be estimated."""
    matrices = item.matrices
    if matrices.reports != 2 or matrices.answers != 2:
        raise UsageError.of("lies", "interview_models.lies-of-two", value=id)
    if not modeled_lies(item).identified:
        raise UsageError.of("lies", "interview_models.lies-of-groups", value=id)
    return replace(item, matrices=with_lies(matrices))


def regress_item(
    outcome: str,
    answers: tuple[str, ...],
    item: ReportedItem,
    columns: OpenColumns,
    formula: ParsedFormula,
    *,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    errors: LogitErrors | None = None,
    ordinal: bool = False,
    reference: Mapping[str, str] | None = None,
    at: Sequence[Mapping[str, object]] = (),
    intervals: IntervalKind = "wald",
) -> ItemRegression:
    """Fit the regression of an item on columns, with the options of `regress`.

    outcome: the id of the item. answers: its true answers. weights, clusters: shape (all
    interviews,), or None.
    """
    errors = _errors(errors, weights, clusters, intervals)
    if ordinal and len(answers) == 2:
        raise UsageError.of("ordinal", "interview_models.ordinal-of-two", value=outcome)
    matrix = model_matrix(formula, columns, item.reported != MISSING, reference=reference)
    model = (CumulativeLogit if ordinal else MultinomialLogit)(len(answers))
    rows = _rows(item, matrix, weights, clusters if errors == "cluster" else None)
    fit = fit_logit(model, rows)
    if fit.diverging:
        terms = [matrix.terms[term] for term in dict.fromkeys(matrix.term[[*fit.diverging]])]
        raise UsageError.of(
            "formula", "interview_models.diverging", value=str(matrix.formula), terms=terms
        )
    if errors == "cluster" and not fit.clusters_vary:
        count = len(np.unique(np.asarray(rows.clusters)))
        raise UsageError.of("errors", "interview_models.few-clusters", value=errors, clusters=count)
    used = {name: rows_of(columns[name], matrix.used) for name in matrix.formula.columns}
    kind: ItemModel = "ordinal" if ordinal else "logistic" if len(answers) == 2 else "multinomial"
    fitted = _FittedItem(answers, kind, fit, matrix, used, errors)
    profiled = intervals == "profile"
    return ItemRegression(
        formula=str(matrix.formula),
        outcome=outcome,
        answers=answers,
        model=kind,
        people=len(matrix.values),
        left_out=int((~matrix.used).sum()),
        coefficients=tuple(fitted.profiled()) if profiled else fitted.coefficients(),
        covariance=fitted.covariance,
        unknowns=fitted.unknowns(),
        tests=tuple(fitted.tests()),
        shares=tuple(fitted.shares(at)),
        effects=tuple(fitted.effects()),
        fitted=each_share(fit, fitted.covariance),
        interviews=np.flatnonzero(matrix.used) + 1,
        errors=errors,
        interval_method=intervals,
        log_likelihood=fit.log_likelihood,
        null_log_likelihood=fitted.without(fitted.slopes).log_likelihood,
        clusters=fitted.clusters,
        weighted=weights is not None,
        references=tuple(
            f"{term_text((part,))}={levels[0]}" for part, levels in matrix.reading.levels.items()
        ),
    )


ChosenWord = TypeVar("ChosenWord", bound=str)


def _word(field: str, value: str, choices: tuple[ChosenWord, ...]) -> ChosenWord:
    """Return one of some words. Raises UsageError for another one."""
    for choice in choices:
        if value == choice:
            return choice
    raise UsageError.of(field, "shared.use-one-of", value=value, choices=choices)


def _errors(
    errors: LogitErrors | None,
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
    intervals: IntervalKind,
) -> LogitErrors:
    """Return what errors come from. Raises UsageError for what does not hold."""
    default: LogitErrors = "robust" if weights is not None else "observed"
    errors = errors or ("cluster" if clusters is not None else default)
    if errors == "cluster" and clusters is None:
        raise UsageError.of("errors", "interview_models.no-clusters", value=errors)
    if errors in OF_MODEL and weights is not None:
        raise UsageError.of("errors", "interview_models.errors-of-weights", value=errors)
    if intervals == "profile" and errors not in OF_MODEL:
        raise UsageError.of(
            "intervals", "interview_models.profile-of-robust", value=intervals, errors=errors
        )
    return errors


def _rows(
    item: ReportedItem,
    matrix: ModelMatrix,
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
) -> ItemRows:
    """Return the interviews that are used."""
    used = matrix.used
    if weights is not None:
        weights = weights[used] / weights[used].mean()
    return ItemRows(
        matrix.values,
        item.reported[used],
        item.group[used],
        item.matrices,
        weights,
        None if clusters is None else clusters[used],
    )


@dataclass(frozen=True, eq=False)
class _FittedItem:
    """A fitted model, with what its figures are computed from.

    columns: of the interviews that are used.
    """

    answers: tuple[str, ...]
    kind: ItemModel
    fit: LogitFit
    matrix: ModelMatrix
    columns: OpenColumns
    errors: LogitErrors

    @cached_property
    def every(self) -> np.ndarray:
        """The covariance of all parameters."""
        return self.fit.covariance(self.errors)

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return self.fit.likelihood.coefficients

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of the coefficients."""
        return np.asarray(self.every[: self.size, : self.size])

    @property
    def terms(self) -> np.ndarray:
        """For each coefficient, the position of its term; 0 for intercepts and thresholds."""
        columns = self.fit.likelihood.model.columns(self.matrix.values.shape[1])
        return np.asarray(self.matrix.term[columns])

    @property
    def slopes(self) -> np.ndarray:
        """Whether each coefficient belongs to a term."""
        return self.terms > 0

    @property
    def clusters(self) -> int:
        """The number of clusters; 0 if errors are not clustered."""
        clusters = self.fit.likelihood.rows.clusters
        return 0 if clusters is None else len(np.unique(clusters))

    @property
    def _counted(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The interviews that are used, which are all here, and their clusters."""
        rows = self.fit.likelihood.rows
        return np.ones(len(rows.values), bool), rows.clusters

    @property
    def reach(self) -> float:
        """The half-width of an interval, in standard errors."""
        return half_width(*self._counted)

    def names(self) -> Iterator[str]:
        """Yield the names of the coefficients."""
        if self.kind == "ordinal":
            yield from (f"{low} | {high}" for low, high in pairwise(self.answers))
            yield from self.matrix.names[1:]
        elif self.kind == "multinomial":
            yield from (f"{answer}: {n}" for answer in self.answers[1:] for n in self.matrix.names)
        else:
            yield from self.matrix.names

    def coefficients(self) -> tuple[Coefficient, ...]:
        """Return the coefficients, with normal intervals, or those of t with clusters."""
        freedom = freedom_of_errors(*self._counted)
        return coefficients([*self.names()], self.fit.coefficients, self.covariance, freedom)

    def profiled(self) -> Iterator[Coefficient]:
        """Yield the coefficients, with intervals and p-values of the likelihood ratio."""
        for place, each in enumerate(self.coefficients()):
            held = np.arange(len(self.fit.parameters)) == place
            low, high = (
                profile_end(self.fit, held, side * each.standard_error) for side in (-1, 1)
            )
            p_value = float(scipy.special.chdtrc(1, self._loss(held)))
            yield replace(each, low=low, high=high, p_value=p_value)

    def without(self, coefficients: np.ndarray) -> LogitFit:
        """Return the model in which some coefficients are zero. coefficients: which of them."""
        held = np.zeros(len(self.fit.parameters), bool)
        held[: self.size] = coefficients
        return fit_restricted(self.fit, held, 0.0)

    def _loss(self, held: np.ndarray) -> float:
        """Return twice the loss of log-likelihood if some parameters are zero."""
        restricted = fit_restricted(self.fit, held, 0.0)
        return max(2 * (self.fit.log_likelihood - restricted.log_likelihood), 0.0)

    def tests(self) -> Iterator[TermTest]:
        """Yield the test of each term, and of all terms if there are several."""
        for number, term in enumerate(self.matrix.terms[1:], start=1):
            yield self._test(term, self.terms == number)
        if len(self.matrix.terms) > 2:
            yield self._test(translatable("interview_models.all-terms"), self.slopes)

    def _test(self, term: str, chosen: np.ndarray) -> TermTest:
        degrees = int(chosen.sum())
        if self.errors in OF_MODEL:
            held = np.concatenate([chosen, np.zeros(len(self.fit.parameters) - self.size, bool)])
            loss = self._loss(held)
            return TermTest(term, loss, degrees, None, float(scipy.special.chdtrc(degrees, loss)))
        values, square = self.fit.coefficients[chosen], self.covariance[np.ix_(chosen, chosen)]
        wald = float(values @ np.linalg.pinv(square, hermitian=True) @ values)
        if not self.clusters:
            return TermTest(term, wald, degrees, None, float(scipy.special.chdtrc(degrees, wald)))
        rest = self.clusters - degrees
        if rest < 1:
            return TermTest(term, math.nan, degrees, rest, None)
        ratio = wald * rest / ((self.clusters - 1) * degrees)
        p_value = float(scipy.special.fdtrc(degrees, rest, ratio))
        return TermTest(term, ratio, degrees, rest, p_value)

    def unknowns(self) -> tuple[Coefficient, ...]:
        """Return the unknown probabilities."""
        names, shares = self.fit.likelihood.rows.matrices.names, self.fit.unknowns
        errors = shares * (1 - shares) * np.sqrt(np.diag(self.every))[self.size :]
        return unknown_coefficients(names, shares, errors, self.reach)

    @property
    def _shown(self) -> Sequence[int]:
        """The answers whose probabilities are shown: of "yes" and "no", only the former."""
        return (YES,) if self.kind == "logistic" else range(len(self.answers))

    def shares(self, at: Sequence[Mapping[str, object]]) -> Iterator[PredictedShare]:
        """Yield the mean probabilities, as observed and with columns at other values."""
        for values in ({}, *at):
            where = ", ".join(f"{name}={value}" for name, value in values.items())
            mean = mean_shares(self.fit, self.covariance, self.matrix, self.columns, values)
            columns = (mean.values, mean.errors, *mean.interval(self.reach))
            for answer in self._shown:
                figures = (float(each[answer]) for each in columns)
                yield PredictedShare(where, self.answers[answer], *figures)

    def effects(self) -> Iterator[AverageEffect]:
        """Yield the average effects of the columns on the probabilities."""
        for each in average_effects(self.fit, self.covariance, self.matrix, self.columns):
            change = " → ".join(each.levels)
            for answer in self._shown:
                value, error = float(each.values[answer]), float(each.errors[answer])
                ends = value - self.reach * error, value + self.reach * error
                yield AverageEffect(
                    each.column,
                    change,
                    self.answers[answer],
                    value,
                    error,
                    *ends,
                    two_sided(value / max(error, 1e-300), *self._counted),
                )
