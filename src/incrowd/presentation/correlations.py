"""Correlations for people, and for machines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from incrowd.estimation.correlations import Correlation, Correlations
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import finite
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.view import Numbers, View

if TYPE_CHECKING:
    import pyarrow as pa

HEADINGS = ("questions", "correlation", "error", "95% interval")


def view(found: Correlations) -> View:
    """All pairs, and whether they form a correlation matrix."""
    title = f"correlations of {len(found.questions)} questions, {found.people:,} people"
    lines = tuple(map(_row, found.pairs))
    return View(
        title=title,
        facts=_facts(found),
        seed=found.seed,
        promise=guarantee_sentence(found.guarantee),
        tables=(Numbers(title, HEADINGS, lines),),
        notes=tuple(_notes(found)),
    )


def _row(pair: Correlation) -> tuple[str, str, str, str]:
    names = " × ".join(pair.questions)
    if pair.reason:
        return names, "-", "-", pair.reason
    between = f"{pair.low:.3f} to {pair.high:.3f}"
    return names, f"{pair.estimate:.3f}", f"{pair.standard_error:.3f}", between


def _notes(found: Correlations) -> Iterator[str]:
    """What has to be said below."""
    yield f"standard errors: {found.errors}"
    least = found.smallest_eigenvalue
    if math.isnan(least):
        yield "some correlations are missing, so that they form no matrix"
    elif least <= 0:
        yield (
            f"the matrix of these correlations is not positive definite (smallest eigenvalue "
            f"{least:.3g}): errors of single correlations allow that, and what needs a matrix of "
            "possible correlations, such as factor analysis, needs the nearest one or more reports"
        )


def _facts(found: Correlations) -> dict[str, Any]:
    """JSON-ready; null for what is missing."""
    least = found.smallest_eigenvalue
    return {
        "questions": list(found.questions),
        "people": found.people,
        "correlations": finite(found.matrix.tolist()),
        "standard_errors": finite(found.standard_errors.tolist()),
        "pairs": [finite(asdict(pair)) for pair in found.pairs],
        "smallest_eigenvalue": finite(least),
        "positive_definite": None if math.isnan(least) else least > 0,
        "errors": found.errors,
        "guarantee": guarantee_facts(found.guarantee),
    }


def correlation_table(found: Correlations) -> pa.Table:
    """A row for each pair."""
    each = [asdict(pair) for pair in found.pairs]
    lines = [
        {"first": pair["questions"][0], "second": pair["questions"][1]}
        | {name: value for name, value in pair.items() if name != "questions"}
        for pair in each
    ]
    import pyarrow  # slow to load

    from incrowd.presentation.receipts import marked_table

    return marked_table(pyarrow.Table.from_pylist(lines), found.seed)
