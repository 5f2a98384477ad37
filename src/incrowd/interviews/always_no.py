"""People who say "no" to every item, identified by several items that are asked together.

The answers of all others follow a log-linear model. Without its highest interaction, the pattern of
"no" throughout is more frequent than their answers can explain, by the share of people who protect
themselves (Böckenholt and van der Heijden 2007; Cruyff, van den Hout, van der Heijden, and
Böckenholt 2007).

Proof: docs/interviews-mathematics.md#people-who-do-not-follow-the-rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from incrowd.interviews.items import ItemMatrices

_LARGEST = 20.0  # of a coefficient: e^20 to 1 are the odds of answers that nobody gives


@dataclass(frozen=True, eq=False)
class AlwaysNo:
    """The probabilities of patterns of reports to some items, in common groups.

    matrices: of each item, in the same groups. order: of the largest interaction between the
    answers of people who do not always say no.

    Parameters are the share of people who always give the first report, and the coefficients of the
    log-linear model of all others.
    """

    matrices: tuple[ItemMatrices, ...]
    order: int

    @cached_property
    def patterns(self) -> np.ndarray:
        """Every combination of answers, shape (patterns, items), the last item fastest."""
        return np.array(list(product(*(range(each.answers) for each in self.matrices))))

    @cached_property
    def terms(self) -> np.ndarray:
        """The terms of the log-linear model, shape (patterns, terms).

        Each is the product of indicators of answers beside the first, of at most `order` items.
        """
        columns = [
            np.all([self.patterns[:, n] == a for n, a in zip(items, chosen, strict=True)], axis=0)
            for size in range(1, self.order + 1)
            for items in combinations(range(len(self.matrices)), size)
            for chosen in product(*(range(1, self.matrices[n].answers) for n in items))
        ]
        return np.array(columns, float).T

    @property
    def start(self) -> np.ndarray:
        """Parameters inside their range."""
        return np.concatenate([[0.2], np.linspace(-1.0, -0.4, self.terms.shape[1])])

    @property
    def lower(self) -> np.ndarray:
        """The lower bounds of the parameters."""
        return np.concatenate([[0.0], np.full(self.terms.shape[1], -_LARGEST)])

    @property
    def upper(self) -> np.ndarray:
        """The upper bounds of the parameters."""
        return np.concatenate([[1.0], np.full(self.terms.shape[1], _LARGEST)])

    def answers(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the shares of the patterns of answers of all others, shape (patterns,)."""
        logits = self.terms @ coefficients
        weights = np.exp(logits - logits.max())
        return np.asarray(weights / weights.sum())

    def law(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of patterns of reports in each group, and their derivatives."""
        share, answers = parameters[0], self.answers(parameters[1:])
        slopes = (self.terms - answers @ self.terms).T * answers
        reports = self._randomized(answers)
        always = np.zeros_like(reports)
        always[:, 0] = 1
        of_share, of_others = (always - reports)[None], (1 - share) * self._randomized(slopes)
        return (1 - share) * reports + share * always, np.concatenate([of_share, of_others])

    def shares(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of people who always say no, and that of "yes" to each item among all
        others, with their derivatives."""
        answers, yes = self.answers(parameters[1:]), self.patterns == 1
        slopes = np.zeros((1 + len(self.matrices), len(parameters)))
        slopes[0, 0] = 1
        slopes[1:, 1:] = yes.T @ ((self.terms - answers @ self.terms) * answers[:, None])
        return np.concatenate([parameters[:1], answers @ yes]), slopes

    def _randomized(self, answers: np.ndarray) -> np.ndarray:
        """Return the patterns of reports in each group, shape (..., groups, patterns).

        answers: patterns of answers, shape (..., patterns).
        """
        leading = answers.shape[:-1]
        groups = []
        for group in range(self.matrices[0].groups):
            array = answers.reshape(*leading, *(each.answers for each in self.matrices))
            for axis, each in enumerate(self.matrices, len(leading)):
                array = np.moveaxis(np.tensordot(each.base[group], array, (1, axis)), 0, axis)
            groups.append(array.reshape(*leading, -1))
        return np.stack(groups, axis=-2)


def largest_order(items: Sequence[object]) -> int:
    """Return the order of interactions that still determines everything: pairs, if possible."""
    return min(2, max(len(items) - 1, 1))
