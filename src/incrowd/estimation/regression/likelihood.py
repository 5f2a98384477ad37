"""Maximum likelihood for a logistic model with a small table and one report per person.

The likelihood of the histogram of reports is maximized over the coefficients and over the shares of
people in the cells of the noisy predictors, which are nuisance parameters. The estimating equations
use only unbiased shares; the likelihood uses all information in the reports and is asymptotically
efficient. The estimates are consistent, not unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.catalog.sentences import Keyword, translatable
from incrowd.errors import TableError
from incrowd.estimation.decoders import channel_matrix
from incrowd.estimation.regression.fitting import no_fit
from incrowd.estimation.regression.model import Design, Levels, Model, design
from incrowd.estimation.regression.results import ModelFit, coefficients
from incrowd.estimation.regression.solving import LARGEST
from incrowd.estimation.regression.variables import ModelVariable

MOST_ENTRIES = 1 << 22  # of the chances of all report patterns in all cells
CLOSE = 1e-8  # of the gradient of the mean log-likelihood


def pattern_channel(variable: ModelVariable, channel: Channel) -> np.ndarray:
    """Return P(report pattern | level) of a whole question, shape (2^bits, levels)."""
    question = variable.question
    if not channel.of_answers:
        return channel_matrix(question, channel.matrix)
    bits = question.domain.bits
    matrix = np.zeros((1 << bits, bits))
    matrix[1 << np.arange(bits)[::-1]] = channel.matrix
    return matrix


@dataclass(frozen=True)
class StratumCounts:
    """One stratum: the shares of reports with each pattern, their number, and the design.

    law: P(pattern | cell), shape (patterns, cells).
    """

    shares: np.ndarray
    law: np.ndarray
    design: Design
    reports: float

    @property
    def groups(self) -> int:
        """The cells of the predictors; the outcome has two levels and comes first."""
        return int(self.law.shape[1] // 2)

    def gradients(self, beta: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return P of each pattern, and its gradient in the coefficients and in `free`, the
        logarithms of the shares of the predictors' cells up to a constant."""
        x, y, people = self.design.x, self.design.y, scipy.special.softmax(free)
        height = beta @ x
        cells = np.tile(people, 2) * scipy.special.expit((2 * y - 1) * height)
        by_beta = self.law @ (cells * x * (y - scipy.special.expit(height))).T
        chance = self.law @ cells
        by_group = (self.law * cells).reshape(len(self.law), 2, -1).sum(axis=1)
        return chance, np.hstack([by_beta, by_group - np.outer(chance, people)])


def strata_of(
    model: Model, histograms: Sequence[tuple[Levels, np.ndarray]], channels: dict[str, Channel]
) -> list[StratumCounts]:
    """Return strata of histograms of reports. Raises TableError if there are too many patterns."""
    laws = [pattern_channel(each, channels[each.question.id]) for each in model.randomized]
    entries = np.prod([float(law.size) for law in laws])
    if entries > MOST_ENTRIES:
        raise TableError.of(
            "likelihood",
            "estimation.too-many-probabilities",
            number=entries,
            most=MOST_ENTRIES,
            option=Keyword("method", "table"),
        )
    law = reduce(np.kron, laws)
    return [
        StratumCounts(
            counts.ravel() / counts.sum(), law, design(model, levels), float(counts.sum())
        )
        for levels, counts in histograms
    ]


def fit_likelihood(model: Model, strata: Sequence[StratumCounts], start: np.ndarray) -> ModelFit:
    """Return the coefficients under which the histograms are likeliest, with errors from the
    information.

    start: initial coefficients.
    """
    terms = len(start)
    people = sum(each.reports for each in strata)
    sizes = [each.groups for each in strata]
    ends = np.cumsum([terms, *sizes])

    def parts(point: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        frees = np.split(point, ends[:-1])[1:]
        return [
            each.gradients(point[:terms], free) for each, free in zip(strata, frees, strict=True)
        ]

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = 0.0, np.zeros(len(point))
        for each, end, (chance, by) in zip(strata, ends[1:], parts(point), strict=True):
            seen, weight = each.shares > 0, each.reports / people
            value -= weight * float(each.shares[seen] @ np.log(chance[seen]))
            gradient = -weight * (each.shares[seen] / chance[seen]) @ by[seen]
            slope[:terms] += gradient[:terms]
            slope[end - each.groups : end] += gradient[terms:]
        return value, slope

    begin = np.concatenate([start, np.zeros(sum(sizes))])
    solved = scipy.optimize.minimize(loss, begin, jac=True, method="BFGS", options={"gtol": CLOSE})
    beta = solved.x[:terms]
    if np.abs(beta).max() > LARGEST or np.abs(solved.jac).max() > 1e3 * CLOSE:
        return no_fit(translatable("estimation.diverging", outcome=model.explained))
    information = np.zeros((len(begin), len(begin)))
    for each, end, (chance, by) in zip(strata, ends[1:], parts(solved.x), strict=True):
        places = np.r_[:terms, end - each.groups : end]
        possible = chance > 0
        square = (by[possible].T / chance[possible]) @ by[possible]
        information[np.ix_(places, places)] += each.reports * square
    covariance = np.linalg.pinv(information, hermitian=True)[:terms, :terms]
    return ModelFit(coefficients([term.name for term in model.terms], beta, covariance), covariance)
