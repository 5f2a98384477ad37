"""Correlations as text for people, and as data for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from incrowd.errors import quantity
from incrowd.estimation.correlate import Correlation, Correlations
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import finite
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.view import Numbers, View

if TYPE_CHECKING:
    import pyarrow as pa

HEADINGS = ("questions", "correlation", "error", "95% interval")


def view(correlations: Correlations) -> View:
    """The view of all pairs, with a note if they do not form a correlation matrix."""
    questions = quantity(len(correlations.questions), "questions")
    title = f"correlations of {questions}, {quantity(correlations.people, 'people')}"
    lines = tuple(map(_row, correlations.pairs))
    return View(
        title=title,
        facts=_facts(correlations),
        seed=correlations.seed,
        promise=guarantee_sentence(correlations.guarantee),
        tables=(Numbers(title, HEADINGS, lines),),
        notes=tuple(correlation_notes(correlations)),
    )


def _row(pair: Correlation) -> tuple[str, str, str, str]:
    names = " × ".join(pair.questions)
    if pair.reason:
        return names, "-", "-", pair.reason
    between = f"{pair.low:.3f} to {pair.high:.3f}"
    return names, f"{pair.estimate:.3f}", f"{pair.standard_error:.3f}", between


def correlation_notes(correlations: Correlations) -> Iterator[str]:
    """The notes below the table."""
    yield f"standard errors: {correlations.errors}"
    if correlations.answered:
        yield "each correlation describes the people who answered both questions"
    if correlations.rounded:
        yield (
            f"amounts were rounded at random to edges ({', '.join(correlations.rounded)}): their "
            "correlations are those of the rounded amounts, closer to 0 than those of the amounts"
        )
    least = correlations.smallest_eigenvalue
    if math.isnan(least):
        yield "some correlations are missing, so they do not form a matrix"
    elif least <= 0:
        yield (
            f"the matrix of these correlations is not positive definite (smallest eigenvalue "
            f"{least:.3g}): the errors of single correlations allow this; methods that need a "
            "valid correlation matrix, such as factor analysis, need the nearest valid one, or "
            "more reports"
        )


def _facts(correlations: Correlations) -> dict[str, Any]:
    """The correlations as JSON-ready data; missing values are null."""
    least = correlations.smallest_eigenvalue
    return {
        "questions": list(correlations.questions),
        "people": correlations.people,
        "answered": correlations.answered,
        "rounded": list(correlations.rounded),
        "correlations": finite(correlations.matrix.tolist()),
        "standard_errors": finite(correlations.standard_errors.tolist()),
        "pairs": [finite(asdict(pair)) for pair in correlations.pairs],
        "smallest_eigenvalue": finite(least),
        "positive_definite": None if math.isnan(least) else least > 0,
        "errors": correlations.errors,
        "guarantee": guarantee_facts(correlations.guarantee),
    }


def correlation_table(correlations: Correlations) -> pa.Table:
    """An Arrow table with a row for each pair."""
    lines = [
        {"first": pair["questions"][0], "second": pair["questions"][1]}
        | {name: value for name, value in pair.items() if name != "questions"}
        for pair in map(asdict, correlations.pairs)
    ]
    import pyarrow  # slow to load

    from incrowd.presentation.receipts import marked_table

    return marked_table(pyarrow.Table.from_pylist(lines), correlations.seed)
