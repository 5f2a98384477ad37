"""Linear models from pairs of questions alone, so that a model can have many questions.

Least squares needs E[x x'] and E[x y]: shares of pairs of levels. A report estimates each without
bias by a product of two debiased values. So each report has an unbiased score s, and the variance
of s is that of noise and sampling together. If a person sends k reports, the sampling has to be
known separately. That takes E[t t'], t the score of the person: a sum of products over up to four
questions. Each product is debiased question by question, and the sum over all questions has a
closed form, so no table of four questions is built. Proof: docs/regression.md#from-pairs-alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from incrowd.estimation.regression.evidence import StratumEvidence
from incrowd.estimation.regression.model import Levels, Model, ModelTerm

RowBlocks = Callable[[], Iterator[np.ndarray]]
Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Columns:
    """Products of debiased values of several questions, without bias.

    The columns of u are 1, then `sizes` levels of each variable; a row is a report. A report gives
    an unbiased value g for each level. The noise of different variables is independent, so products
    of their values are unbiased as well. A person is on one level of a variable, so the product of
    a level with itself is the level, and the product of two levels is zero.
    Proof: docs/regression.md#from-pairs-alone.
    """

    sizes: tuple[int, ...]

    @cached_property
    def variable(self) -> np.ndarray:
        """The variable of each column; 0 for the constant, a variable with one level."""
        return np.repeat(np.arange(1 + len(self.sizes)), [1, *self.sizes])

    @cached_property
    def first(self) -> np.ndarray:
        """The first column of each variable."""
        return np.flatnonzero(np.diff(self.variable, prepend=-1))

    def by_variable(self, columns: np.ndarray) -> np.ndarray:
        """Return sums over the levels of each variable."""
        return np.asarray(np.add.reduceat(columns, self.first, axis=-1))

    def square(self, alone: np.ndarray, products: np.ndarray) -> np.ndarray:
        """Return products of all columns; within a variable, the single levels on the diagonal."""
        same = self.variable[:, None] == self.variable
        return np.where(same, np.diag(alone), products)

    def pairs(self, u: np.ndarray) -> np.ndarray:
        """Return the sum over reports of u u'."""
        return self.square(u.sum(axis=0), u.T @ u)

    def forms(self, u: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return (w'u)^2 of each report, for each row w of the weights."""
        form = (u @ weights.T) ** 2 + u @ (weights**2).T
        for start, end in zip(self.first, [*self.first[1:], u.shape[1]], strict=True):
            form -= (u[:, start:end] @ weights[:, start:end].T) ** 2
        return np.asarray(form)

    def most(self, weights: np.ndarray) -> np.ndarray:
        """Return an upper bound on (w'u)^2 of a person: for each variable the level with most
        weight."""
        largest = np.maximum.reduceat(np.abs(weights), self.first, axis=1)
        return np.asarray(largest.sum(axis=1) ** 2)

    def score_squares(
        self, u: np.ndarray, outcome: np.ndarray, scores: np.ndarray, beta: np.ndarray
    ) -> Sequence[np.ndarray]:
        """Return the sums over reports of s s', s = u (y - u' beta), and of what estimates E[t t'],
        t the score of the person.

        The residual r is a sum over variables of h, a value for each level. In the score of a
        level, its variable has that level for certain: r becomes r + d, d = h(level) - h. The
        square of a sum of debiased values omits their variances: v = h^2 - (h)^2 of each variable.
        """
        h, squares = self.by_variable(u * -beta), self.by_variable(u * -beta * -beta)
        y = outcome @ scores
        residual = (y + h.sum(axis=1))[:, None]
        v = squares - h**2
        rest = (outcome @ scores**2 - y**2 + v.sum(axis=1))[:, None]
        d, v = -beta - h[:, self.variable], v[:, self.variable]
        s, shift = u * (residual + d), u * d
        single = u * ((residual + d) ** 2 + rest - v)
        crossed = (u * (2 * residual * d + d**2 - v)).T @ u
        both = (u * (residual**2 + rest)).T @ u + crossed + crossed.T + 2 * shift.T @ shift
        return s.T @ s, self.square(single.sum(axis=0), both)


@dataclass(frozen=True)
class MessageRows:
    """The reports of one message.

    rows: yields arrays of shape (reports, levels), the debiased levels of the outcome and of the
    noisy predictors, one variable after the other; each call starts from the beginning. copies:
    reports of one person; independent: how many of them have independent noise. weight: positive,
    independent of the reports.
    """

    rows: RowBlocks
    copies: int
    independent: int
    weight: float


class Moments(NamedTuple):
    """Unbiased means of u u' and of u y over the reports of a message."""

    people: float
    square: np.ndarray
    with_outcome: np.ndarray


@dataclass(frozen=True)
class Pairs(StratumEvidence):
    """A stratum, from pairs of questions.

    u: 1, then for each noisy predictor whether a person is on each of its levels. sizes: the number
    of levels of the outcome and of each of those predictors. scores: the scores of the outcome.
    lift: shape (coefficients, columns of u), x = lift u; it contains the answers to open questions.
    sampled: whether the people are a sample.
    """

    messages: Sequence[MessageRows]
    sizes: tuple[int, ...]
    scores: np.ndarray
    lift: np.ndarray
    sampled: bool = True

    @cached_property
    def people(self) -> float:  # type: ignore[override]
        """The number of people of the message that has the fewest."""
        return min(moments.people for moments in self._moments)

    def score(self, beta: np.ndarray) -> np.ndarray:
        """Return E[x y] - E[x x'] beta."""
        with_outcome = self._weighted([moments.with_outcome for moments in self._moments])
        return np.asarray(self.lift @ with_outcome - self.information(beta) @ beta)

    def information(self, beta: np.ndarray) -> np.ndarray:
        """Return E[x x']."""
        square = self._weighted([moments.square for moments in self._moments])
        return np.asarray(self.lift @ square @ self.lift.T)

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Return the sum over messages of (V - B) / (k N), times the squared weight, plus (B - t
        t') / N times the weight if the people are a sample.

        V: the mean of s s' over the reports; B: the estimate of E[t t']; t: the mean score.
        """
        total = np.zeros((len(beta), len(beta)))
        slopes = self.lift.T @ beta
        for w, message, moments in zip(self._shares, self.messages, self._moments, strict=True):
            v, b = self._score_squares(message, slopes)
            mean = moments.with_outcome - moments.square @ slopes
            each = w**2 * (v - b) / message.independent
            if self.sampled:
                each = each + w * (b - np.outer(mean, mean))
            total += self.lift @ each @ self.lift.T / moments.people
        return total

    def information_variances(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return upper bounds: the covariance of a person's k reports is at most that of the
        sampling.

        The variance of (v'x)^2 over people is at most its mean times its largest value.
        """
        weights = along @ self.lift
        total = np.zeros(len(weights))
        for w, message, moments in zip(self._shares, self.messages, self._moments, strict=True):
            value, square = self._forms(message, weights)
            each = (square - value**2) / moments.people
            people = np.maximum(value, 0) * self._columns.most(weights) / moments.people
            total += w**2 * np.minimum(each, each / message.independent + people)
        return total

    @cached_property
    def _shares(self) -> np.ndarray:
        """The relative weight of each message."""
        weights = np.array([message.weight for message in self.messages])
        return np.asarray(weights / weights.sum())

    def _weighted(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(sum(w * part for w, part in zip(self._shares, parts, strict=True)))

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.sizes[1:])

    @cached_property
    def _moments(self) -> list[Moments]:
        def sums(u: np.ndarray, outcome: np.ndarray) -> Arrays:
            return np.array(len(u)), self._columns.pairs(u), u.T @ (outcome @ self.scores)

        moments = []
        for message in self.messages:
            reports, square, with_outcome = self._summed(message, sums)
            people = float(reports) / message.copies
            moments.append(Moments(people, square / reports, with_outcome / reports))
        return moments

    def _score_squares(self, message: MessageRows, beta: np.ndarray) -> Arrays:
        """Return the means of s s' over reports, and of t t' over people."""

        def sums(u: np.ndarray, outcome: np.ndarray) -> Arrays:
            return np.array(len(u)), *self._columns.score_squares(u, outcome, self.scores, beta)

        reports, per_report, per_person = self._summed(message, sums)
        return per_report / reports, per_person / reports

    def _forms(self, message: MessageRows, weights: np.ndarray) -> Arrays:
        """Return the means over reports of (w'u)^2, and of its square, for each w."""

        def sums(u: np.ndarray, outcome: np.ndarray) -> Arrays:
            form = self._columns.forms(u, weights)
            return np.array(len(u)), form.sum(axis=0), (form**2).sum(axis=0)

        reports, value, square = self._summed(message, sums)
        return value / reports, square / reports

    def _summed(
        self, message: MessageRows, of: Callable[[np.ndarray, np.ndarray], Arrays]
    ) -> Arrays:
        """Return sums over all reports; of: computes them for a chunk, from u and the outcome's
        levels."""
        totals: Arrays = ()
        levels = self.sizes[0]
        for rows in message.rows():
            u = np.hstack([np.ones((len(rows), 1)), rows[:, levels:]])
            sums = of(u, rows[:, :levels])
            pairs = zip(totals, sums, strict=True)
            totals = tuple(total + each for total, each in pairs) if totals else sums
        return totals


def pairs_of_stratum(
    model: Model, stratum: Levels, messages: Sequence[MessageRows], sampled: bool
) -> Pairs:
    """Return a stratum of a model, from pairs of questions.

    model: linear, with nobody left out, and with interactions of at most one noisy question.
    """
    sizes = tuple(len(each.levels) for each in model.randomized)
    return Pairs(messages, sizes, np.array(model.scores), lift_of(model, stratum), sampled)


def lift_of(model: Model, stratum: Levels) -> np.ndarray:
    """Return shape (coefficients, columns of u): x = lift u for the people of a stratum."""
    return np.array([_lifted(model, term, stratum) for term in model.terms])


def _lifted(model: Model, term: ModelTerm, stratum: Levels) -> np.ndarray:
    """Return the row of a term: its values on the levels of its noisy question, times its values at
    the stratum's answers to open questions."""
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
