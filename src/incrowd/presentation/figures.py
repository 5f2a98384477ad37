"""Results as exact figures, for spreadsheets and for R: sheets, matrices, and the guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from incrowd.errors import quantity
from incrowd.presentation import crosstabs, sentences
from incrowd.presentation.amounts import named_figures
from incrowd.presentation.comparisons import comparison_notes, independence_words, people_of, whose
from incrowd.presentation.correlations import correlation_notes
from incrowd.presentation.data import JOINT
from incrowd.presentation.receipts import simulation_warning
from incrowd.presentation.regressions import notes as regression_notes
from incrowd.presentation.regressions import title as regression_title
from incrowd.presentation.shown import about, complete, quality, titled, word_rows

if TYPE_CHECKING:
    from incrowd.estimation.amounts import Amounts
    from incrowd.estimation.compare import TwoWay
    from incrowd.estimation.compare_shares import ShareDifference
    from incrowd.estimation.correlate import Correlations
    from incrowd.estimation.crosstab import Crosstab
    from incrowd.estimation.postprocess import Postprocessed
    from incrowd.estimation.ratios import Comparison
    from incrowd.estimation.regression.results import Regression
    from incrowd.estimation.results import Estimates
    from incrowd.estimation.tables import TableEstimate
    from incrowd.plans import Guarantee
    from incrowd.survey import Survey

Value = str | float | int | bool | None
ENDS = ("low", "high")
FIGURES = ("estimate", "standard_error", *ENDS)


class Sheet(NamedTuple):
    """A table of figures: proportions, not percentages, and not rounded.

    name: unique in a result. rows: of the length of the headings; None for a missing figure.
    """

    name: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


class Square(NamedTuple):
    """A symmetric matrix, such as a covariance. values: shape (labels, labels)."""

    name: str
    labels: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Figures:
    """A result as sheets.

    kind: of the result, by which a script explains its use. promise: the guarantee with its
    assumptions and warnings. notes: what the figures mean.
    """

    kind: str
    title: str
    promise: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    squares: tuple[Square, ...] = ()
    notes: tuple[str, ...] = ()


def promise_lines(guarantee: Guarantee, seed: int | None) -> tuple[str, ...]:
    """The guarantee and what it assumes, in sentences; first a warning if the reports are
    simulated."""
    return (
        *([] if seed is None else [simulation_warning(seed)]),
        f"{sentences.guarantee_heading(guarantee)}: {sentences.guarantee_sentence(guarantee)}",
        sentences.guarantee_symbols(guarantee),
        *(f"Warning: {text}." for text in sentences.warnings(guarantee)),
    )


def of_estimates(estimates: Estimates) -> Figures:
    """A sheet for each table, with a column for each question; words, means and totals, strata.

    The covariance of a table is added if it was computed.
    """
    survey, sheets, squares = estimates.plan.survey, [], []
    texts = [
        f"{fact.name}: {line}"
        for fact in about(estimates, "in the sheets named after them")
        for line in fact.lines
    ]
    for item in complete(estimates):
        table, name = item.table, " x ".join(item.table.questions)
        sheets.append(_table_sheet(name, table, [cell.truth for cell in item.cells]))
        texts.append(f"{name}: {_wording(survey, table)}; {quality(table)}")
        if table.covariance is not None:
            labels = tuple(map(_joined, product(*table.answers)))
            squares.append(Square(f"cov {name}", labels, table.covariance))
    for id, words in estimates.words.items():
        rows = tuple((row.word, *_ends(row), row.present) for row in word_rows(words))
        sheets.append(Sheet(f"words {id}", ("word", *FIGURES, "present"), rows))
    if estimates.amounts:
        sheets.append(_amounts_sheet(estimates))
    for stratum in estimates.strata:
        sheets += [
            _table_sheet(f"{stratum.name}: {' x '.join(table.questions)}", table)
            for table in stratum.tables
        ]
    return Figures(
        kind="estimates",
        title=survey.name,
        promise=promise_lines(estimates.guarantee, estimates.seed),
        sheets=tuple(sheets),
        squares=tuple(squares),
        notes=("Shares are proportions, neither truncated nor projected; 95% intervals.", *texts),
    )


def _wording(survey: Survey, table: TableEstimate) -> str:
    ids = table.questions
    asked = titled([survey.text_of(id) for id in ids], ids)
    errors = table.errors if table.standard_error.any() else "none"
    return f"{asked}; shares of {table.whose}{table.rounding}; errors: {errors}"


def _table_sheet(name: str, table: TableEstimate, truths: Sequence[float | None] = ()) -> Sheet:
    """A row for each cell: an answer to each question, and its figures; the truth if known."""
    columns: list[Sequence[Any]] = [*zip(*product(*table.answers), strict=True)]
    columns += [np.ravel(getattr(table, figure)).tolist() for figure in FIGURES]
    true = any(truth is not None for truth in truths)
    columns += [truths] if true else []
    headings = (*table.questions, *FIGURES, *(["truth"] if true else []))
    return Sheet(name, headings, tuple(map(_finite, zip(*columns, strict=True))))


def _amounts_sheet(estimates: Estimates) -> Sheet:
    """The mean, the total and the quantiles of questions of numbers."""
    rows = [
        (id, figure, *_finite(numbers))
        for id, amounts in estimates.amounts.items()
        for figure, *numbers in _amount_rows(amounts)
    ]
    return Sheet("numbers", ("question", "figure", *FIGURES), tuple(rows))


def _amount_rows(amounts: Amounts) -> Iterator[tuple[str, *tuple[float | None, ...]]]:
    for name, figure in named_figures(amounts):
        yield name, *_ends(figure)
    for each in amounts.quantiles:
        yield f"quantile {each.share:g}, at least", each.least, None, each.low, None
        yield f"quantile {each.share:g}, at most", each.most, None, None, each.high


def of_regression(model: Regression) -> Figures:
    """The coefficients, for a logistic model with odds ratios, and their covariance."""
    ratios = ("odds_ratio", "odds_low", "odds_high")
    odds = [tuple(vars(each).values()) for each in model.odds_ratios]
    rows = [(each.term, *_ends(each)) for each in model.coefficients]
    if odds:
        rows = [(*row, *_finite(more)) for row, more in zip(rows, odds, strict=True)]
    terms = tuple(each.term for each in model.coefficients)
    sheet = Sheet("coefficients", ("term", *FIGURES, *(ratios if odds else ())), tuple(rows))
    return Figures(
        kind="regression",
        title=regression_title(model),
        promise=promise_lines(model.guarantee, model.seed),
        sheets=(sheet,) if model.estimable else (),
        squares=(Square("covariance", terms, model.covariance),) if model.estimable else (),
        notes=tuple(regression_notes(model)),
    )


def of_comparison(two_way: TwoWay) -> Figures:
    """Every figure of a comparison, and the test of independence."""
    test = two_way.independence
    headings = ("statistic", "degrees_of_freedom", "p_value")
    tested = _finite(getattr(test, heading) for heading in headings)
    return Figures(
        kind="comparison",
        title=" by ".join(reversed(two_way.questions)),
        promise=promise_lines(two_way.guarantee, two_way.seed),
        sheets=(_compared(two_way.kinds()), Sheet("independence", headings, (tested,))),
        notes=(
            *two_way.wording,
            *people_of(two_way),
            independence_words(test),
            *comparison_notes(two_way),
        ),
    )


def of_difference(difference: ShareDifference) -> Figures:
    """The difference of two shares."""
    return Figures(
        kind="comparison",
        title=difference.figure.name,
        promise=promise_lines(difference.guarantee, difference.seed),
        sheets=(_compared([("difference", difference.figure)]),),
        notes=(*whose(difference), *filter(None, [difference.figure.reason])),
    )


def _compared(figures: Iterable[tuple[str, Comparison]]) -> Sheet:
    rows = [
        (kind, each.name, *_ends(each), each.scale, each.unbounded, each.reason)
        for kind, each in figures
    ]
    headings = ("kind", "name", *FIGURES, "scale", "unbounded", "reason")
    return Sheet("figures", headings, tuple(rows))


def of_crosstab(crosstab: Crosstab) -> Figures:
    """A row for each cell: counts, shares of the people, of the row and of the column."""
    rows = map(_finite, crosstabs.cells(crosstab))
    return Figures(
        kind="crosstab",
        title=" x ".join(crosstab.questions),
        promise=promise_lines(crosstab.guarantee, crosstab.seed),
        sheets=(Sheet("crosstab", (*crosstab.questions, *crosstabs.HEADINGS), tuple(rows)),),
        notes=(*crosstab.wording, *crosstabs.people_of(crosstab), *crosstabs.notes(crosstab)),
    )


def of_correlations(correlations: Correlations) -> Figures:
    """The correlation of each pair, and the matrices of correlations and standard errors."""
    names = correlations.questions
    rows = [(*pair.questions, *_ends(pair), pair.reason) for pair in correlations.pairs]
    return Figures(
        kind="correlations",
        title=f"correlations, {quantity(correlations.people, 'people')}",
        promise=promise_lines(correlations.guarantee, correlations.seed),
        sheets=(Sheet("pairs", ("first", "second", *FIGURES, "reason"), tuple(rows)),),
        squares=(
            Square("correlations", names, correlations.matrix),
            Square("standard_errors", names, correlations.standard_errors),
        ),
        notes=tuple(correlation_notes(correlations)),
    )


def of_postprocessed(tables: Sequence[Postprocessed], survey: Survey) -> Figures:
    """A sheet for each table: the biased shares beside the unbiased ones."""
    return Figures(
        kind="postprocessed",
        title=f"{survey.name}: {tables[0].method}",
        promise=promise_lines(tables[0].guarantee, tables[0].seed),
        sheets=tuple(map(_postprocessed_sheet, tables)),
        notes=(tables[0].statement, *(each.warning for each in tables if each.warning)),
    )


def _postprocessed_sheet(item: Postprocessed) -> Sheet:
    columns: list[Sequence[Any]] = [*zip(*product(*item.answers), strict=True)]
    columns += [item.estimate.ravel().tolist(), item.raw.ravel().tolist()]
    headings = (*item.questions, "post_processed", "unbiased")
    if item.bias:
        columns += [item.bias.bias.ravel().tolist(), item.bias.standard_error.ravel().tolist()]
        headings += ("bias", "bias_error")
    rows = tuple(map(_finite, zip(*columns, strict=True)))
    return Sheet(" x ".join(item.questions), headings, rows)


def _ends(figure: Any) -> tuple[Any, ...]:
    """The estimate, its standard error and interval; None where there is none."""
    return _finite(getattr(figure, name) for name in FIGURES)


def _finite(values: Iterable[Any]) -> tuple[Any, ...]:
    """Values with None for nan; an infinite end stays infinite."""
    return tuple(None if isinstance(each, float) and math.isnan(each) else each for each in values)


def _joined(answer: Sequence[str]) -> str:
    return JOINT.join(answer)
