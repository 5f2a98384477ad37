"""People who say "no" to every item, identified by several items that are asked together.

The answers of all others follow a log-linear model. Without its highest interaction, the pattern of
"no" throughout is more frequent than their answers can explain, by the share of people who protect
themselves (Böckenholt and van der Heijden 2007; Cruyff, van den Hout, van der Heijden, and
Böckenholt 2007).
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from incrowd.interviews.items import ItemMatrices
from incrowd.interviews.report_fit import ReportLaw


def patterns(answers: list[int]) -> np.ndarray:
    """Return every combination of answers, shape (patterns, items), the last item fastest."""
    return np.array(list(product(*map(range, answers))))


def terms(answers: list[int], order: int) -> np.ndarray:
    """Return the terms of a log-linear model, shape (patterns, terms).

    Each is the product of indicators of answers beside the first, of at most `order` items.
    """
    cells = patterns(answers)
    columns = [
        np.all([cells[:, item] == answer for item, answer in zip(items, chosen, strict=True)], 0)
        for size in range(1, order + 1)
        for items in combinations(range(len(answers)), size)
        for chosen in product(*(range(1, answers[item]) for item in items))
    ]
    return np.array(columns, float).T


def patterns_law(matrices: list[ItemMatrices], order: int) -> ReportLaw:
    """Return the law of the patterns of reports, of items with the same groups.

    Its parameters are the share of people who always give the first report, and the coefficients of
    the log-linear model of all others.
    """
    columns = terms([each.answers for each in matrices], order)

    def randomized(values: np.ndarray) -> np.ndarray:
        """Return, for each group, the shares of reports for shares of answers (..., patterns)."""
        leading = values.shape[:-1]
        groups = []
        for group in range(matrices[0].groups):
            array = values.reshape(*leading, *(each.answers for each in matrices))
            for axis, each in enumerate(matrices, len(leading)):
                array = np.moveaxis(np.tensordot(each.base[group], array, (1, axis)), 0, axis)
            groups.append(array.reshape(*leading, -1))
        return np.stack(groups, axis=-2)

    def law(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share = parameters[0]
        answers = answers_of(columns, parameters[1:])
        slopes = (columns - answers @ columns).T * answers
        reports = randomized(answers)
        always = np.zeros_like(reports)
        always[:, 0] = 1
        probabilities = (1 - share) * reports + share * always
        return probabilities, np.concatenate(
            [(always - reports)[None], (1 - share) * randomized(slopes)]
        )

    return law


def answers_of(columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return the shares of the patterns of answers, shape (patterns,)."""
    logits = columns @ coefficients
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())
