"""Columns of a sampling design: weights, strata, and clusters."""

from __future__ import annotations

from collections.abc import Mapping

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.drafts.column_names import DESIGN, WEIGHTS, WEIGHTS_OR_BODIES, named, tokens
from incrowd.drafts.missing import number

WEIGHTED = sentence("drafts.weights")
MOST_WHOLE = 10  # different whole numbers; fewer may be answers
MEAN = (0.5, 2.0)  # of weights that sum to about the number of rows


def design_of(name: str, counts: Mapping[str, int]) -> Sentence | None:
    """Return why a column is part of the sampling design; None if it seems to be a question.

    counts: the rows with each value.
    """
    words = tokens(name)
    if named(words, *DESIGN) and len(counts) > 1:
        return sentence("drafts.sampling-design")
    numbers = {value: number(value) for value in counts}
    amounts = [(n, counts[value]) for value, n in numbers.items() if n is not None]
    if len(amounts) < len(numbers) or any(n < 0 for n, _ in amounts):
        return None
    mean = sum(n * rows for n, rows in amounts) / sum(rows for _, rows in amounts)
    fractions = any(n != int(n) for n, _ in amounts)
    about_one = MEAN[0] <= mean <= MEAN[1]
    varied = len(amounts) > MOST_WHOLE  # whole weights expand a sample to a population
    if (named(words, *WEIGHTS) and (fractions or varied)) or (
        named(words, *WEIGHTS_OR_BODIES) and fractions and about_one
    ):
        return WEIGHTED
    return None
