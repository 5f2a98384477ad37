"""Matrices of models on open columns: numbers, categories, powers, interactions.

A category has one indicator for each of its levels, except the reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from incrowd.catalog.sentences import likely, sentence
from incrowd.errors import Problem, UsageError
from incrowd.interviews.columns import Factor, OpenColumn
from incrowd.interviews.formula import INTERCEPT, Expression, ParsedFormula, term_text

OpenColumns = Mapping[str, OpenColumn]
"""Open columns by their names."""

IS_LEVEL = "="  # between a column and its level in the name of a coefficient
DEPENDENT = 1e-9  # the part of a column that others do not explain, if they explain it all


@dataclass(frozen=True, eq=False)
class ModelMatrix:
    """The predictors of a model, with what is needed to compute them for other rows.

    values: shape (rows used, coefficients), the intercept first. names: of the coefficients. terms:
    the terms of the formula, the intercept first. term: for each coefficient, the position of its
    term. used: shape (all rows,), whether a row has all columns of the model.
    """

    formula: ParsedFormula
    values: np.ndarray
    names: tuple[str, ...]
    terms: tuple[str, ...]
    term: np.ndarray
    used: np.ndarray
    reading: Reading

    def at(self, columns: OpenColumns) -> np.ndarray:
        """Return the predictors for other rows, with the same levels, references, and centers.

        A row in which a column is missing is nan. OpenColumns must have the same kinds as before.
        """
        parts = [self.reading.matrix(columns, term) for term in ((), *self.formula.terms)]
        rows = max(len(part) for part in parts)
        return np.hstack([np.broadcast_to(part, (rows, part.shape[1])) for part in parts])


@dataclass(frozen=True)
class Reading:
    """What the values of some columns depend on: levels, references, and centers.

    levels: of each categorical expression, the reference first. centers: the value that `center`
    subtracts, by the expression in it.
    """

    levels: Mapping[Expression, tuple[str, ...]]
    centers: Mapping[Expression, float] = field(default_factory=dict)

    def matrix(self, columns: OpenColumns, term: Sequence[Expression]) -> np.ndarray:
        """Return the columns of a term, shape (rows, coefficients of the term)."""
        product = np.ones((1, 1))
        for part in term:
            block = self._block(columns, part)
            product = (product[:, :, None] * block[:, None, :]).reshape(len(block), -1)
        return product

    def coefficient_names(self, term: Sequence[Expression]) -> tuple[str, ...]:
        """Return the names of the coefficients of a term."""
        names: list[str] = [""]
        for part in term:
            text = term_text((part,))
            new = (
                [f"{text}{IS_LEVEL}{level}" for level in self.levels[part][1:]]
                if (part in self.levels)
                else [text]
            )
            names = [f"{before}:{each}" if before else each for before in names for each in new]
        return tuple(names) if term else (INTERCEPT,)

    def _block(self, columns: OpenColumns, part: Expression) -> np.ndarray:
        if part in self.levels:
            levels, codes = categories(columns, part)
            positions = {level: place for place, level in enumerate(self.levels[part])}
            place = np.array([positions.get(level, -1) for level in levels] + [-1], int)[codes]
            block = np.asarray(np.equal.outer(place, np.arange(1, len(positions))), float)
            block[place < 0] = np.nan
            return block
        return self.numbers(columns, part)[:, None]

    def numbers(self, columns: OpenColumns, expression: Expression) -> np.ndarray:
        """Return the values of a calculation."""
        if expression.operator == "column":
            numbers = columns[expression.text]
            assert not isinstance(numbers, Factor)
            return np.asarray(numbers, float)
        if expression.operator == "constant":
            return np.array(float(expression.text))
        values = [self.numbers(columns, each) for each in expression.operands]
        if expression.operator == "center":
            return np.asarray(values[0] - self.centers[expression.operands[0]])
        with np.errstate(all="ignore"):
            return np.asarray(_CALCULATIONS[expression.operator](*values), float)


_CALCULATIONS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
    "log": np.log,
    "sqrt": np.sqrt,
}


def is_categorical(columns: OpenColumns, part: Expression) -> bool:
    """Return whether an expression is a column of categories, or `factor` of a column."""
    if part.operator == "factor":
        return True
    return part.operator == "column" and isinstance(columns[part.text], Factor)


def categories(columns: OpenColumns, part: Expression) -> Factor:
    """Return the levels of an expression, and the positions of the values; -1 where missing."""
    name = part.columns[0]
    column = columns[name]
    if isinstance(column, Factor):
        return column
    values = np.asarray(column, float)
    distinct = np.unique(values[~np.isnan(values)])
    codes = np.where(np.isnan(values), -1, np.searchsorted(distinct, values))
    return Factor(tuple(f"{value:.15g}" for value in distinct), codes)


def complete_rows(columns: OpenColumns, names: Iterable[str], rows: int) -> np.ndarray:
    """Return whether each row has all of some columns, shape (rows,)."""
    whole = np.ones(rows, bool)
    for name in names:
        column = columns[name]
        whole &= column.codes >= 0 if isinstance(column, Factor) else ~np.isnan(column)
    return whole


def model_matrix(
    formula: ParsedFormula,
    columns: OpenColumns,
    keep: np.ndarray,
    *,
    reference: Mapping[str, str] | None = None,
) -> ModelMatrix:
    """Return the predictors of a formula.

    keep: shape (rows,), the rows that may be used, such as those with an answer. reference: for
    columns of categories, the level that the others are compared with; by default the first that
    occurs. Rows with a missing column are left out.

    Raises UsageError for unknown columns, calculations that are not possible, references that do
    not exist, too few rows, and predictors that are combinations of others.
    """
    _raise(_column_problems(formula, columns))
    _raise(_reference_problems(formula, columns, reference or {}))
    used = keep & complete_rows(columns, formula.columns, len(keep))
    chosen = {name: rows_of(columns[name], used) for name in formula.columns}
    if not used.any():
        raise UsageError.of("formula", "interview_models.no-rows", value=formula.text)
    reading = _reading(formula, chosen, reference or {})
    _raise(_value_problems(formula, reading, chosen, used))
    blocks = [np.ones((int(used.sum()), 1))]
    blocks += [reading.matrix(chosen, term) for term in formula.terms]
    matrix = ModelMatrix(
        formula,
        np.hstack(blocks),
        tuple(name for term in ((), *formula.terms) for name in reading.coefficient_names(term)),
        tuple(map(term_text, ((), *formula.terms))),
        np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks]),
        used,
        reading,
    )
    _raise(_dependence_problems(matrix))
    return matrix


def _raise(problems: Iterable[Problem]) -> None:
    if problems := tuple(problems):
        raise UsageError(*problems)


def rows_of(column: OpenColumn, used: np.ndarray) -> OpenColumn:
    """Return some rows of a column."""
    return column._replace(codes=column.codes[used]) if isinstance(column, Factor) else column[used]


def _reading(formula: ParsedFormula, columns: OpenColumns, reference: Mapping[str, str]) -> Reading:
    """Return the levels that occur, and the means that are subtracted, inner ones first."""
    levels: dict[Expression, tuple[str, ...]] = {}
    reading = Reading(levels, centers := {})
    for part in (part for term in formula.terms for part in term):
        if is_categorical(columns, part):
            names, codes = categories(columns, part)
            occurring = [name for code, name in enumerate(names) if (codes == code).any()]
            first = reference.get(part.columns[0], occurring[0])
            levels[part] = (first, *(name for name in occurring if name != first))
        for center in _centers(part):
            centers[center] = float(reading.numbers(columns, center).mean())
    return reading


def _centers(expression: Expression) -> Iterator[Expression]:
    """Yield the expressions whose mean is subtracted, inner ones first."""
    for each in expression.operands:
        yield from _centers(each)
    if expression.operator == "center":
        yield expression.operands[0]


# Mistakes in formulas.


def _column_problems(formula: ParsedFormula, columns: OpenColumns) -> Iterator[Problem]:
    unknown = [name for name in formula.columns if name not in columns]
    for name in unknown:
        hint, names = likely(name, columns), [*columns]
        yield Problem(
            "formula", "interview_models.unknown-column", value=name, hint=hint, columns=names
        )
    if unknown:
        return
    for part in dict.fromkeys(part for term in formula.terms for part in term):
        yield from _category_problems(part, columns)
    alone = {part for term in formula.terms if len(term) == 1 for part in term}
    for term in formula.terms:
        for part in term:
            if part not in alone:
                yield Problem(
                    "formula",
                    "interview_models.only-in-interaction",
                    value=term_text(term),
                    part=term_text((part,)),
                    product="*".join(term_text((each,)) for each in term),
                )


def _category_problems(part: Expression, columns: OpenColumns) -> Iterator[Problem]:
    """Yield calculations with categories; `factor` takes a column."""
    if is_categorical(columns, part) and part.operands in ((), *_one_column(part)):
        return
    text = term_text((part,))
    if "factor" in _operators(part):
        yield Problem("formula", "interview_models.factor-of-calculation", value=text)
    for name in part.columns:
        if isinstance(columns[name], Factor):
            yield Problem(
                "formula", "interview_models.calculation-of-categories", value=text, column=name
            )


def _one_column(part: Expression) -> Iterator[tuple[Expression, ...]]:
    if part.operands and part.operands[0].operator == "column":
        yield part.operands


def _operators(expression: Expression) -> Iterator[str]:
    yield expression.operator
    for each in expression.operands:
        yield from _operators(each)


def _reference_problems(
    formula: ParsedFormula, columns: OpenColumns, reference: Mapping[str, str]
) -> Iterator[Problem]:
    parts = {part.columns[0]: part for term in formula.terms for part in term}
    categorical = {name: part for name, part in parts.items() if is_categorical(columns, part)}
    for name, level in reference.items():
        given = f"{name}={level}"
        if name not in categorical:
            some = [*categorical] or sentence("shared.none")
            yield Problem(
                "reference", "interview_models.reference-of-another", value=given, columns=some
            )
            continue
        levels, _ = categories(columns, categorical[name])
        if level not in levels:
            yield Problem(
                "reference",
                "interview_models.unknown-reference",
                value=given,
                hint=likely(level, levels),
                levels=[*levels],
            )


def _value_problems(
    formula: ParsedFormula, reading: Reading, columns: OpenColumns, used: np.ndarray
) -> Iterator[Problem]:
    """Yield calculations without a finite value, and columns in which all rows are the same."""
    rows = np.flatnonzero(used)
    for part in dict.fromkeys(part for term in formula.terms for part in term):
        text = term_text((part,))
        if part in reading.levels:
            if len(reading.levels[part]) < 2:
                level = reading.levels[part][0]
                yield Problem("formula", "interview_models.constant", value=text, same=level)
            continue
        values = np.broadcast_to(reading.numbers(columns, part), len(rows))
        if len(impossible := np.flatnonzero(~np.isfinite(values))):
            name = part.columns[0]
            yield Problem(
                "formula",
                "interview_models.no-value",
                value=text,
                column=name,
                number=float(np.asarray(columns[name])[impossible[0]]),
                interview=int(rows[impossible[0]]) + 1,
                interviews=len(impossible),
            )
        elif np.ptp(values) == 0:
            yield Problem("formula", "interview_models.constant", value=text, same=f"{values[0]:g}")


def _dependence_problems(matrix: ModelMatrix) -> Iterator[Problem]:
    """Yield the predictors that are combinations of those before them."""
    scaled = matrix.values / np.linalg.norm(matrix.values, axis=0).clip(1e-300)
    if len(scaled) >= scaled.shape[1] and _smallest(scaled) > DEPENDENT:
        return
    independent: list[int] = []
    for column in range(scaled.shape[1]):
        before = scaled[:, independent]
        weights, *_ = np.linalg.lstsq(before, scaled[:, column], rcond=None)
        if np.linalg.norm(scaled[:, column] - before @ weights) > DEPENDENT:
            independent.append(column)
            continue
        others = [matrix.names[independent[i]] for i in np.flatnonzero(abs(weights) > 1e-6)]
        name = matrix.names[column]
        yield Problem("formula", "interview_models.dependent", value=name, others=others)


def _smallest(scaled: np.ndarray) -> float:
    """Return the smallest part of a column that the columns before it do not explain."""
    triangle = scipy.linalg.qr(scaled, mode="r", check_finite=False)[0]
    return float(abs(np.diag(triangle)).min())
