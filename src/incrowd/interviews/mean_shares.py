"""Predicted probabilities of true answers and average effects, with errors by the delta method.

The interviews are taken as fixed: the errors are those of the coefficients. Proof:
docs/interviews-mathematics.md#regression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.catalog.sentences import likely, sentence
from incrowd.errors import Problem, UsageError
from incrowd.estimation.regression.results import Coefficient
from incrowd.interviews.columns import Factor, OpenColumn
from incrowd.interviews.covariates import ModelMatrix, OpenColumns
from incrowd.interviews.formula import Expression, term_text
from incrowd.interviews.influence import log_odds_interval
from incrowd.interviews.logistic import LogitFit

MEAN = "mean"
SMALL = 1e-4  # of a standard deviation: the step of a derivative


class MeanShares(NamedTuple):
    """Mean probabilities of the answers, with errors. values, errors: shape (answers,)."""

    values: np.ndarray
    errors: np.ndarray

    def interval(self, reach: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of intervals that are symmetric on the scale of log odds.

        reach: half of their width, in standard errors.
        """
        return log_odds_interval(self.values, self.errors, reach)


class AnswerChange(NamedTuple):
    """An average effect on the probabilities of the answers. values, errors: shape (answers,).

    column: what changes. levels: for a category or an indicator, from and to what; empty for the
    derivative by a number.
    """

    column: str
    levels: tuple[str, ...]
    values: np.ndarray
    errors: np.ndarray


def unknown_coefficients(
    names: Sequence[str], shares: np.ndarray, errors: np.ndarray, half: float
) -> tuple[Coefficient, ...]:
    """Return the unknown probabilities of a design, with intervals that are symmetric for their log
    odds. errors: of the probabilities. half: half of an interval, in standard errors."""
    columns = np.column_stack((shares, errors, *log_odds_interval(shares, errors, half)))
    return tuple(Coefficient(name, *row) for name, row in zip(names, columns.tolist(), strict=True))


class _Slopes(NamedTuple):
    """Mean probabilities, shape (answers,), and their gradients, (answers, coefficients)."""

    values: np.ndarray
    gradients: np.ndarray

    def minus(self, other: _Slopes, step: float = 1.0) -> _Slopes:
        return _Slopes(
            (self.values - other.values) / step, (self.gradients - other.gradients) / step
        )

    def errors(self, covariance: np.ndarray) -> np.ndarray:
        variances = np.einsum("ap,pq,aq->a", self.gradients, covariance, self.gradients)
        return np.asarray(np.sqrt(np.maximum(variances, 0)))


def _mean(fit: LogitFit, values: np.ndarray) -> _Slopes:
    """Return the mean probabilities of the answers for rows of a model matrix."""
    likelihood = fit.likelihood
    weight = likelihood.rows.weight / likelihood.rows.weight.sum()
    every = np.broadcast_to(values, (len(weight), values.shape[1]))  # one row for all, perhaps
    loadings = likelihood.model.loadings(every)
    shares = likelihood.model.shares(loadings @ fit.coefficients)
    gradients = np.einsum("n,nal,nlp->ap", weight, shares.slopes, loadings)
    return _Slopes(weight @ shares.shares, gradients)


def each_share(fit: LogitFit, covariance: np.ndarray) -> MeanShares:
    """Return the probabilities of each interview, shape (n, answers), with errors."""
    likelihood = fit.likelihood
    loadings = likelihood.model.loadings(likelihood.rows.values)
    shares = likelihood.model.shares(loadings @ fit.coefficients)
    slopes = np.einsum("nal,nlp->nap", shares.slopes, loadings)
    variances = np.einsum("nap,pq,naq->na", slopes, covariance, slopes)
    return MeanShares(shares.shares, np.sqrt(np.maximum(variances, 0)))


def mean_shares(
    fit: LogitFit,
    covariance: np.ndarray,
    matrix: ModelMatrix,
    columns: OpenColumns,
    at: Mapping[str, object],
) -> MeanShares:
    """Return the mean probabilities if some columns had other values in all interviews.

    covariance: of the coefficients. columns: of the interviews that are used. at: a number, a
    category, or "mean", by column.

    Raises UsageError for columns that are not in the model, and values that are not possible.
    """
    if problems := tuple(_value_problems(matrix, columns, at)):
        raise UsageError(*problems)
    set_columns = {name: _set(matrix, columns, name, value) for name, value in at.items()}
    slopes = _mean(fit, matrix.at({**columns, **set_columns}))
    return MeanShares(slopes.values, slopes.errors(covariance))


def average_effects(
    fit: LogitFit, covariance: np.ndarray, matrix: ModelMatrix, columns: OpenColumns
) -> Iterator[AnswerChange]:
    """Yield the average effect of each column on the probabilities of the answers.

    Of a column with two numbers, and of categories, it is the difference of the mean probabilities;
    of other numbers, the mean derivative through all terms with the column.
    """
    for name in matrix.formula.columns:
        for levels, change in _changes(fit, matrix, columns, name):
            if np.isfinite(change.values).all():
                yield AnswerChange(name, levels, change.values, change.errors(covariance))


def _changes(
    fit: LogitFit, matrix: ModelMatrix, columns: OpenColumns, name: str
) -> Iterator[tuple[tuple[str, ...], _Slopes]]:
    """Yield the levels that are compared, and the change of the mean probabilities."""

    def mean(column: OpenColumn) -> _Slopes:
        return _mean(fit, matrix.at({**columns, name: column}))

    values = columns[name]
    levels = _levels(matrix, name)
    if levels or isinstance(values, Factor):
        first = mean(_constant(values, levels[0]))
        for level in levels[1:]:
            yield (levels[0], level), mean(_constant(values, level)).minus(first)
    elif len(ends := np.unique(values)) == 2:
        low, high = (mean(np.full(len(values), end)) for end in ends)
        yield tuple(f"{end:.15g}" for end in ends), high.minus(low)
    else:
        step = SMALL * float(np.std(values))
        yield (), mean(values + step).minus(mean(values - step), 2 * step)


def _categorical(matrix: ModelMatrix, name: str) -> Expression | None:
    """Return the expression with the categories of a column, if the model has one."""
    return next((part for part in matrix.reading.levels if part.columns == (name,)), None)


def _levels(matrix: ModelMatrix, name: str) -> tuple[str, ...]:
    part = _categorical(matrix, name)
    return () if part is None else matrix.reading.levels[part]


def _constant(values: OpenColumn, level: str) -> OpenColumn:
    """Return a column with one category in all rows."""
    if isinstance(values, Factor):
        return Factor((level,), np.zeros(len(values.codes), int))
    return np.full(len(values), float(level))


def _set(matrix: ModelMatrix, columns: OpenColumns, name: str, value: object) -> OpenColumn:
    """Return a column with one value in all rows."""
    values = columns[name]
    if _levels(matrix, name):
        return _constant(values, str(value))
    assert not isinstance(values, Factor)
    number = float(np.mean(values)) if value == MEAN else float(str(value))
    return np.full(len(values), number)


def _value_problems(
    matrix: ModelMatrix, columns: OpenColumns, at: Mapping[str, object]
) -> Iterator[Problem]:
    names = matrix.formula.columns
    for name, value in at.items():
        given = f"{name}={value}"
        if name not in names:
            hint, some = likely(name, names), [*names] or sentence("shared.none")
            yield Problem(
                "at", "interview_models.not-in-model", value=given, hint=hint, columns=some
            )
        elif levels := _levels(matrix, name):
            if str(value) not in levels:
                hint = likely(str(value), levels)
                yield Problem(
                    "at",
                    "interview_models.unknown-category",
                    value=given,
                    hint=hint,
                    levels=[*levels],
                )
        elif value != MEAN and not _is_number(value):
            yield Problem("at", "interview_models.no-number", value=given)
        elif not _computable(matrix, columns, name, value):
            terms = [term_text(term) for term in matrix.formula.terms if name in _names(term)]
            yield Problem("at", "interview_models.no-value-there", value=given, terms=terms)


def _computable(matrix: ModelMatrix, columns: OpenColumns, name: str, value: object) -> bool:
    """Return whether all terms have a value if a column has this one."""
    changed = {**columns, name: _set(matrix, columns, name, value)}
    return bool(np.isfinite(matrix.at(changed)).all())


def _names(term: tuple[Expression, ...]) -> set[str]:
    return {name for part in term for name in part.columns}


def _is_number(value: object) -> bool:
    try:
        return bool(np.isfinite(float(str(value))))
    except ValueError:
        return False
