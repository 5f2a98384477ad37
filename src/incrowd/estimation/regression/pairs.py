"""Linear models from pairs of questions alone, so that many questions can stand in one.

Least squares needs E[x x'] and E[x y]: shares of pairs of levels, each of which a report tells
without bias by a product of two debiased values. So a report has an unbiased score s of its own,
and the variance of s is that of noise and sampling together. Where a person sends k reports the
sampling has to be known by itself: what is needed is E[t t'], t the score of the person, a sum of
products over up to four questions. Each is debiased question by question, and the sum over all
questions closes: no table of four questions is made. Proof: docs/regression.md#from-pairs-alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from incrowd.estimation.regression.evidence import Evidence
from incrowd.estimation.regression.model import Levels, Model, Term
from incrowd.estimation.regression.products import Columns

Rows = Callable[[], Iterator[np.ndarray]]
Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class MessageRows:
    """The reports of one message.

    rows: gives arrays of shape (reports, levels), what each report says of the levels of the
    outcome and of the predictors with noise, one variable after the other; every time from the
    beginning. copies: reports of one person; independent: how many of them have noise of their own.
    weight: positive, independent of the reports.
    """

    rows: Rows
    copies: int
    independent: int
    weight: float


class Moments(NamedTuple):
    """Means over the reports of a message, without bias: of u u', and of u y."""

    people: float
    square: np.ndarray
    with_outcome: np.ndarray


@dataclass(frozen=True)
class Pairs(Evidence):
    """A stratum whose reports are read in pairs of questions.

    u: 1, then for each predictor with noise whether a person is on each of its levels. sizes: how
    many levels the outcome has, and each of those predictors. scores: of the outcome. lift: shape
    (coefficients, columns of u), x = lift u; the answers in clear are numbers in it. sampled:
    whether the people are a sample.
    """

    sent: Sequence[MessageRows]
    sizes: tuple[int, ...]
    scores: np.ndarray
    lift: np.ndarray
    sampled: bool = True

    @cached_property
    def people(self) -> float:  # type: ignore[override]
        """Of the message that has the fewest."""
        return min(found.people for found in self._moments)

    def score(self, beta: np.ndarray) -> np.ndarray:
        """E[x y] - E[x x'] beta."""
        with_outcome = self._weighted([found.with_outcome for found in self._moments])
        return np.asarray(self.lift @ with_outcome - self.information(beta) @ beta)

    def information(self, beta: np.ndarray) -> np.ndarray:
        """E[x x']."""
        square = self._weighted([found.square for found in self._moments])
        return np.asarray(self.lift @ square @ self.lift.T)

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """(V - B) / (k N) of each message by its squared weight, (B - t t') / N if people are a
        sample.

        V: the mean of s s' over its reports; B: what estimates E[t t']; t: its mean score.
        """
        found = np.zeros((len(beta), len(beta)))
        slopes = self.lift.T @ beta
        for w, sent, moments in zip(self._shares, self.sent, self._moments, strict=True):
            v, b = self._score_squares(sent, slopes)
            mean = moments.with_outcome - moments.square @ slopes
            each = w**2 * (v - b) / sent.independent
            if self.sampled:
                each = each + w * (b - np.outer(mean, mean))
            found += self.lift @ each @ self.lift.T / moments.people
        return found

    def information_variances(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """At most: of the k reports of a person no more than the sampling is counted in full.

        The variance of (v'x)^2 over people is at most its mean times its largest value.
        """
        weights = along @ self.lift
        total = np.zeros(len(weights))
        for w, sent, found in zip(self._shares, self.sent, self._moments, strict=True):
            value, square = self._forms(sent, weights)
            each = (square - value**2) / found.people
            people = np.maximum(value, 0) * self._columns.most(weights) / found.people
            total += w**2 * np.minimum(each, each / sent.independent + people)
        return total

    @cached_property
    def _shares(self) -> np.ndarray:
        """How much each message weighs."""
        weights = np.array([sent.weight for sent in self.sent])
        return np.asarray(weights / weights.sum())

    def _weighted(self, found: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(sum(w * each for w, each in zip(self._shares, found, strict=True)))

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.sizes[1:])

    @cached_property
    def _moments(self) -> list[Moments]:
        return [self._moments_of(sent) for sent in self.sent]

    def _moments_of(self, sent: MessageRows) -> Moments:
        def sums(u: np.ndarray, outcome: np.ndarray) -> Arrays:
            return np.array(len(u)), self._columns.pairs(u), u.T @ (outcome @ self.scores)

        reports, square, with_outcome = self._summed(sent, sums)
        return Moments(float(reports) / sent.copies, square / reports, with_outcome / reports)

    def _score_squares(self, sent: MessageRows, beta: np.ndarray) -> Arrays:
        """The means of s s' over reports, and of t t' over people."""

        def sums(u: np.ndarray, outcome: np.ndarray) -> Arrays:
            found = self._columns.score_squares(u, outcome, self.scores, beta)
            return np.array(len(u)), *found

        reports, per_report, per_person = self._summed(sent, sums)
        return per_report / reports, per_person / reports

    def _forms(self, sent: MessageRows, weights: np.ndarray) -> Arrays:
        """The means over reports of (w'u)^2, and of its square, for each w."""

        def sums(u: np.ndarray, outcome: np.ndarray) -> Arrays:
            form = self._columns.forms(u, weights)
            return np.array(len(u)), form.sum(axis=0), (form**2).sum(axis=0)

        reports, value, square = self._summed(sent, sums)
        return value / reports, square / reports

    def _summed(self, sent: MessageRows, of: Callable[[np.ndarray, np.ndarray], Arrays]) -> Arrays:
        """Sums over all reports; of: gives them of some, from u and the levels of the outcome."""
        totals: Arrays = ()
        levels = self.sizes[0]
        for rows in sent.rows():
            u = np.hstack([np.ones((len(rows), 1)), rows[:, levels:]])
            found = of(u, rows[:, :levels])
            pairs = zip(totals, found, strict=True)
            totals = tuple(total + each for total, each in pairs) if totals else found
        return totals


def pairs_of_stratum(
    model: Model, stratum: Levels, sent: Sequence[MessageRows], sampled: bool
) -> Pairs:
    """What the reports of a stratum say, read in pairs.

    model: linear, without people who are left out, with interactions of a question with noise and
    questions in clear at most.
    """
    sizes = tuple(len(each.levels) for each in model.randomized)
    return Pairs(sent, sizes, np.array(model.scores), lift_of(model, stratum), sampled)


def lift_of(model: Model, stratum: Levels) -> np.ndarray:
    """Shape (coefficients, columns of u): x = lift u for the people of a stratum."""
    return np.array([_lifted(model, term, stratum) for term in model.terms])


def _lifted(model: Model, term: Term, stratum: Levels) -> np.ndarray:
    """The row of the lift of a term: its values on the levels of its question with noise, times
    those of the stratum's answers in clear."""
    factor, noisy = 1.0, {}
    for variable, level in term.levels:
        values, id = variable.values(level), variable.question.id
        if id in model.open:
            factor *= float(values[variable.levels.index(variable.level_of(stratum[id]))])
        else:
            noisy[variable.name] = values
    others = model.randomized[1:]
    rows = [noisy.get(each.name, np.zeros(len(each.levels))) for each in others]
    return factor * np.concatenate([[float(not noisy)], *rows])
