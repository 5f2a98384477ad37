"""Shares of candidate words in Bloom filters by cohort, and which of the words are present.

The debiased share of set bits t[c, j, i] (cohort c, block j of b bits, bit i) has the mean sum of
share_w X_w[c, j, i] over all words w, where X_w are the bits that w sets. A word that is not a
candidate sets one bit in each block and cohort, each with the same probability over the random
choice of the hash functions, so that

    t - 1/b = sum over candidates w of share_w (X_w - 1/b) + collisions + noise,

a linear regression (RAPPOR: Erlingsson, Pihur and Korolova 2014, section 4, without the lasso).
Its errors have three parts: the channel's noise, which is known; collisions with the other words,
which have the same variance in all cells over the hash functions, estimated by the variance of the
residuals beyond the noise; and the sampling of people, s (1 - s) / N. Later rounds with the same
hash functions have the same collisions.

Whether a word is present is not decided by its standard error. One unknown word of many people
collides with a candidate in a few cells, and their number is too skewed for a normal tail. But a
candidate that nobody has is a random placement: its bits are uniform in each block and independent
of all the data. So the law of its score, the sum over its bits of what the other candidates leave
unexplained, is known given the data, whatever the unknown words are; its tail is the p-value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import scipy

from incrowd import views
from incrowd.catalog.sentences import text_list, translatable
from incrowd.errors import TableError
from incrowd.estimation.intervals import LEVEL, Ends, Intervals, chosen_level
from incrowd.estimation.tables import FIGURES
from incrowd.estimation.weighting.margins import weights_words
from incrowd.views import Sheet

# The law of a sum of one value from each block, with uniformly drawn bits: words at random.
#
# Saddlepoint approximation, never above Chernoff's bound. See `incrowd.estimation.words`.


LEAST = 1e-3  # standard deviations; nearer to zero the saddlepoint formula is 0 / 0
MOST_TILT = 20.0  # per standard deviation; further out the p-value is far below any in use
STEPS = 8
TINY = 1e-300


def tail_of_placements(values: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return P[the sum of one value from each block, each of its bits drawn alike, is >= total].

    values: shape (words, blocks, bits), of mean zero in each block. totals: shape (words,), above
    zero. The saddlepoint approximation (Barndorff-Nielsen 1990), but never above Chernoff's bound.
    The bound alone where there is no saddlepoint: it is right for the largest possible sum.
    Sums on a lattice, as when one unknown word of half the people outweighs all noise, get about
    the middle of their steps: right on average, for a single limit up to 1.8 times too small with
    4 to 16 blocks, 1.3 times with 64.
    """
    spread = np.sqrt((values**2).mean(axis=2).sum(axis=1))
    values, totals = values / spread[:, None, None], np.maximum(totals / spread, LEAST)
    tilt = _tilt(values, totals)
    logarithm, slope, curvature = _cumulants(values, tilt)
    exponent = np.maximum(tilt * totals - logarithm, LEAST**2 / 4)
    root, width = np.sqrt(2 * exponent), tilt * np.sqrt(curvature)
    bound, close = np.exp(-exponent), scipy.special.ndtr(-root - np.log(width / root) / root)
    reached = np.abs(slope - totals) < LEAST
    return np.asarray(np.where(reached, np.minimum(close, bound), bound))


def _tilt(values: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return where the slope of the cumulant function is the total, up to MOST_TILT.

    Newton's steps for the logarithm of the slope, which bends little, within a bracket.
    """
    low, high = np.zeros(len(totals)), np.full(len(totals), MOST_TILT)
    tilt = np.minimum(totals, MOST_TILT / 2)
    for _ in range(STEPS):
        _, slope, curvature = _cumulants(values, tilt)
        low, high = np.where(slope < totals, (tilt, high), (low, tilt))
        step = tilt + np.log(totals / slope) * slope / curvature
        tilt = np.where((low < step) & (step < high), step, (low + high) / 2)
    return np.asarray(tilt)


def _cumulants(values: np.ndarray, tilt: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cumulant function of the sum and two derivatives at the tilt,
    shape (words,) each."""
    top = values.max(axis=2, keepdims=True)
    weight = np.exp(tilt[:, None, None] * (values - top))  # from the top: no overflow
    total = weight.sum(axis=2)
    first = np.einsum("kij,kij->ki", weight, values) / total
    second = np.einsum("kij,kij,kij->ki", weight, values, values) / total
    logarithm = tilt * top.sum(axis=(1, 2)) + np.log(total / values.shape[2]).sum(axis=1)
    curvature = np.maximum((second - first**2).sum(axis=1), TINY)
    return logarithm, first.sum(axis=1), curvature


FAMILY_ERROR = 0.05
CHUNK_NUMBERS = 1 << 21
DEPENDENT = 1e-10  # relative; an eigenvalue below it is roundoff


class WordRow(NamedTuple):
    """One candidate word: proportions of the people, and whether it is present."""

    word: str
    estimate: float
    standard_error: float
    low: float
    high: float
    share: float
    present: bool


@dataclass(frozen=True)
class WordEstimates(Intervals, views.Notebook, views.Tabular):
    """The estimated shares of candidate words among the people; arrays of shape (candidates,).

    Attributes
    ----------
    candidates : tuple of str
        The words that were looked for.
    estimate, standard_error : array
        Unbiased shares, with the error of noise, collisions, and sampling.
    share : array
        Nonnegative least squares: biased, as `share_statement` says.
    p_value : array
        Of "nobody has this word", one-sided; 1 if the estimate is not above zero.
    present : array of bool
        Whether that is rejected by Holm's rule, under which any absent word is called present with
        probability at most `family_error`.
    others, others_error : float
        The share of people whose word is not a candidate, and its error.
    degrees_of_freedom : int
        The equations minus the candidates, for Student's factor of the intervals.
    errors : str
        What the errors include.
    share_statement : str
        What is biased about `share`.
    family_error : float
        The probability of any false word.
    level : float
        Of the intervals.
    weighted_to : tuple of str
        The names of the margins to which the shares are weighted.

    Examples
    --------
    >>> import incrowd
    >>> import pyarrow as pa
    >>> survey = incrowd.Survey.of({
    ...     "name": "Pages",
    ...     "crowd": 3000,
    ...     "privacy": {"epsilon": 2.0, "delta": 1e-6},
    ...     "question": [{"id": "page", "type": "text", "block": 16, "cohorts": 16}],
    ... })
    >>> plan = incrowd.plan(survey)
    >>> answers = pa.table({"page": ["apple", "pear", "apple"] * 1000})
    >>> reports = incrowd.randomize(plan, answers, simulation_seed=1)
    >>> words = {"page": ["apple", "pear", "plum"]}
    >>> incrowd.estimate(plan, reports, candidates=words).words["page"].present.tolist()
    [True, True, False]
    """

    candidates: tuple[str, ...]
    estimate: np.ndarray
    standard_error: np.ndarray
    share: np.ndarray
    p_value: np.ndarray
    present: np.ndarray
    others: float
    others_error: float
    degrees_of_freedom: int
    errors: str = translatable("estimation.noise-collisions-sampling")
    share_statement: str = translatable("estimation.words-biased")
    family_error: float = FAMILY_ERROR
    level: float = LEVEL
    weighted_to: tuple[str, ...] = ()
    layout: ClassVar[str] = "words"

    def __repr__(self) -> str:
        present = f"{int(self.present.sum()):,} present"
        return f"WordEstimates({len(self.candidates):,} candidates, {present})"

    @property
    def _ends(self) -> Ends:
        multiplier = float(scipy.special.stdtrit(self.degrees_of_freedom, (1 + self.level) / 2))
        half = multiplier * self.standard_error
        return np.asarray(self.estimate - half), np.asarray(self.estimate + half)

    @property
    def rows(self) -> list[WordRow]:
        """All candidate words, the largest estimate first."""
        columns = (self.estimate, self.standard_error, self.low, self.high, self.share)
        values = zip(*(column.tolist() for column in (*columns, self.present)), strict=True)
        rows = [WordRow(word, *row) for word, row in zip(self.candidates, values, strict=True)]
        return sorted(rows, key=lambda row: -row.estimate)

    @property
    def present_rows(self) -> list[WordRow]:
        """The words that are present, the largest estimate first, with intervals for display."""
        level = chosen_level(self.level, int(self.present.sum()), len(self.candidates))
        return [row for row in replace(self, level=level).rows if row.present]

    @property
    def present_note(self) -> str:
        """The number of words that are present, with the chance of a false one."""
        number = int(self.present.sum())
        present = translatable(
            "estimation.present", some=number, all=len(self.candidates), error=self.family_error
        )
        wider = translatable("estimation.selected") if number else ""
        return text_list(filter(None, (present, wider, weights_words(self.weighted_to, None))))

    def long_table(self) -> Sheet:
        """Return a row for each candidate: the fields of `WordRow`."""
        return Sheet("words", WordRow._fields, tuple(self.rows), (*FIGURES, "share"))


def estimate_words(
    candidates: Sequence[str],
    places: np.ndarray,
    counts: np.ndarray,
    inverse: np.ndarray,
    copies: int = 1,
) -> WordEstimates:
    """Estimate how many people have each candidate word, and which of the words are present.

    candidates: normalized words, chosen without looking at these reports. places: the bit that
    each sets in each block, shape (candidates, cohorts, hashes). counts: int64, shape (cohorts,
    1 + hashes x b): the reports of each cohort, then how many of them show each bit set. inverse:
    of the 2 x 2 channel of a bit. copies: reports of one person, each with its own cohort.
    The errors are those of noise, collisions and the sampling of people. Raises TableError if
    there are no candidates, if one occurs twice, or if they cannot be distinguished.
    """
    exact = np.zeros((1, 1))
    return estimate_weighted_words(
        candidates, places, [WeightedCounts(1.0, counts)], exact, inverse, copies
    )


class WeightedCounts(NamedTuple):
    """Some of the people. weight: the share of all people that they stand for; counts: as
    `estimate_words` has them."""

    weight: float
    counts: np.ndarray


def estimate_weighted_words(
    candidates: Sequence[str],
    places: np.ndarray,
    parts: Sequence[WeightedCounts],
    drift: np.ndarray,
    inverse: np.ndarray,
    copies: int = 1,
) -> WordEstimates:
    """Return `estimate_words` of the weighted mean of several parts of the people.

    drift: the covariance of the weights, zero where they are known. The mean is taken of the cells,
    not of estimates: words that are not candidates collide alike in all parts, and the residuals of
    the mean say what that does to it.
    """
    for part in parts:
        _check_shapes(candidates, places, part.counts)
    seen = np.all([part.counts[:, 0] > 0 for part in parts], axis=0)
    places = places[:, seen]
    parts = [part._replace(counts=part.counts[seen]) for part in parts]
    _check_room(candidates, places, parts[0].counts)
    fit = _regress(parts, places, inverse)
    errors, p_values = _errors_and_p_values(fit)
    people = np.array([part.counts[:, 0].sum() / copies for part in parts])
    weights = np.array([part.weight for part in parts])
    others = 1 - float(fit.estimate.sum())
    return WordEstimates(
        candidates=tuple(candidates),
        estimate=fit.estimate,
        standard_error=np.hypot(errors, _sampling_error(fit.each, weights, people, drift)),
        share=fit.share,
        p_value=p_values,
        present=_holm(p_values),
        others=others,
        others_error=float(
            np.hypot(
                _error_of_sum(fit), _sampling_error(1 - fit.each.sum(1), weights, people, drift)
            )
        ),
        degrees_of_freedom=fit.degrees_of_freedom,
    )


class _Fit(NamedTuple):
    """Weighted least squares of cells, one row for each block of a cohort, a column for each bit.

    noise: the channel's variance of a debiased share. weight: the reports of the cohort, relative
    to the mean of all; shape (blocks, 1). design: the cells that each candidate sets, sparse.
    inverse: that of the normal equations. excess: the variance of the residuals beyond the noise,
    for a cell of weight one. each: the each of every part by itself; their mean is the estimate.
    """

    noise: np.ndarray
    weight: np.ndarray
    design: scipy.sparse.csr_array
    inverse: np.ndarray
    estimate: np.ndarray
    each: np.ndarray
    share: np.ndarray
    residual: np.ndarray
    excess: float
    degrees_of_freedom: int


def _regress(parts: Sequence[WeightedCounts], places: np.ndarray, inverse: np.ndarray) -> _Fit:
    """Return regress the shares on the candidates.

    X_w - 1/b is X_w minus its mean in each block, as the shares are: that is the
    background.

    Nonnegative least squares works on Cholesky's factor F: F F^T estimate = score.
    """
    shares, noise, weight = _cells(parts, inverse, places.shape[2])
    share = np.tensordot([part.weight for part in parts], shares, 1)
    blocks, bits = share.shape
    design = _design(places.reshape(len(places), blocks), bits)
    weighted = design @ scipy.sparse.diags_array(np.repeat(weight, bits))
    normal = (weighted @ design.T).toarray() - weight.sum() / bits
    score = weighted @ share.ravel()
    factor, inverted = _factor(normal), np.linalg.inv(normal)
    estimate = inverted @ score
    residual = share - _centered((design.T @ estimate).reshape(blocks, bits))
    freedom = blocks * (bits - 1) - len(places)
    surplus = float((weight * residual**2).sum() / freedom - (weight * noise).mean())
    return _Fit(
        noise=noise,
        weight=weight,
        design=design,
        inverse=inverted,
        estimate=estimate,
        each=np.array([inverted @ (weighted @ part.ravel()) for part in shares]),
        share=scipy.optimize.nnls(factor.T, np.linalg.solve(factor, score))[0],
        residual=residual,
        excess=max(surplus, 0.0),
        degrees_of_freedom=freedom,
    )


def _cells(
    parts: Sequence[WeightedCounts], inverse: np.ndarray, hashes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return debiased shares minus each block's mean for each part, the variance of the noise of
    the weighted mean of all parts, and the weights of blocks.

    The value of a report bit s is inverse[1, s]; its mean square minus its mean is the noise. A
    block weighs as the reports that would tell as much without weights.
    """
    shares, noise, inverted = [], np.zeros(()), np.zeros(())
    for part in parts:
        reports = part.counts[:, :1]
        rate, blocks = part.counts[:, 1:] / reports, len(reports) * hashes
        value, square = (g[0] + (g[1] - g[0]) * rate for g in (inverse[1], inverse[1] ** 2))
        shares.append(_centered(value.reshape(blocks, -1)))
        noise = noise + part.weight**2 * ((square - value) / reports).reshape(blocks, -1)
        inverted = inverted + part.weight**2 / reports
    weight = 1 / inverted
    return np.array(shares), noise, np.repeat(weight / weight.mean(), hashes, axis=0)


def _centered(cells: np.ndarray) -> np.ndarray:
    return np.asarray(cells - cells.mean(axis=-1, keepdims=True))


def _design(places: np.ndarray, bits: int) -> scipy.sparse.csr_array:
    """Return a one at each cell that a word sets: shape (words, blocks x bits)."""
    words, blocks = places.shape
    cells = places + bits * np.arange(blocks)
    starts = np.arange(words + 1) * blocks
    return scipy.sparse.csr_array(
        (np.ones(cells.size), cells.ravel(), starts), (words, blocks * bits)
    )


def _factor(normal: np.ndarray) -> np.ndarray:
    """Return Cholesky's factor. Raises TableError if some words are mixtures of others in every
    cell."""
    spectrum = np.linalg.eigvalsh(normal)
    if spectrum[0] <= spectrum[-1] * DEPENDENT:
        raise TableError.of("candidates", "estimation.dependent-words", value=len(normal))
    return np.asarray(np.linalg.cholesky(normal))


def _errors_and_p_values(fit: _Fit) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each candidate, the error of noise and collisions, and the p-value."""
    size = max(1, CHUNK_NUMBERS // fit.residual.size)
    chunks = [slice(i, i + size) for i in range(0, len(fit.estimate), size)]
    errors, p_values = zip(*(_judge(fit, chunk) for chunk in chunks), strict=True)
    return np.concatenate(errors), np.concatenate(p_values)


def _judge(fit: _Fit, words: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return what the fit without a word leaves: the residual and what the word alone explains.

    The latter is its score, estimate / inverse_ww, times its influence; the sum of all that over
    the word's bits is the score again.
    """
    diagonal = np.diagonal(fit.inverse)[words]
    influence = _influence(fit, fit.inverse[words])
    score = fit.estimate[words] / diagonal
    p_values, up = np.ones(len(score)), score > 0
    left = fit.weight * fit.residual + score[up, None, None] * influence[up]
    p_values[up] = tail_of_placements(left, score[up])
    return _error(fit, influence, diagonal), p_values


def _influence(fit: _Fit, rows: np.ndarray) -> np.ndarray:
    """Return how an estimate moves with each value: shape (rows, blocks, bits); rows of the
    inverse."""
    slopes = (fit.design.T @ rows.T).T.reshape(len(rows), *fit.residual.shape)
    return np.asarray(fit.weight * _centered(slopes))


def _error(fit: _Fit, influence: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the standard error of noise and collisions. squares:
    the sum of influence^2 / weight."""
    noise = np.einsum("kij,kij,ij->k", influence, influence, fit.noise)
    return np.asarray(np.sqrt(noise + fit.excess * squares))


def _error_of_sum(fit: _Fit) -> float:
    """Return the same for the sum of all estimates."""
    rows = fit.inverse.sum(axis=0, keepdims=True)
    return float(_error(fit, _influence(fit, rows), rows.sum(axis=1))[0])


def _sampling_error(
    each: np.ndarray, weights: np.ndarray, people: np.ndarray, drift: np.ndarray
) -> np.ndarray:
    """Return the sampling error of the weighted mean of the shares of all parts of the people, the
    first axis."""
    within = np.tensordot(weights**2 / people, np.maximum(each * (1 - each), 0), 1)
    between = np.einsum("s...,st,t...->...", each, drift, each)
    return np.asarray(np.sqrt(within + np.maximum(between, 0)))


def _holm(p_values: np.ndarray) -> np.ndarray:
    """Return Holm's step-down rule: the k-th smallest of K is compared with FAMILY_ERROR / (K - k +
    1)."""
    order = np.argsort(p_values)
    limits = FAMILY_ERROR / np.arange(len(p_values), 0, -1)
    rejected = np.empty(len(p_values), bool)
    rejected[order] = np.logical_and.accumulate(p_values[order] <= limits)
    return rejected


def _check_shapes(candidates: Sequence[str], places: np.ndarray, counts: np.ndarray) -> None:
    if not candidates:
        raise TableError.of("candidates", "estimation.no-words")
    for word, times in Counter(candidates).items():
        if times > 1:
            raise TableError.of("candidate", "estimation.word-twice", value=word, times=times)
    words, cohorts, hashes = places.shape
    if words != len(candidates) or len(counts) != cohorts or (counts.shape[1] - 1) % hashes:
        raise TableError.of(
            "counts", "estimation.counts-shape", shape=counts.shape, cohorts=cohorts
        )
    if not counts[:, 0].any():
        raise TableError.of("reports", "estimation.no-reports")


def _check_room(candidates: Sequence[str], places: np.ndarray, counts: np.ndarray) -> None:
    """Raise TableError if the cohorts that sent reports cannot tell the candidates apart."""
    words, cohorts, hashes = places.shape
    room = cohorts * (counts.shape[1] - 1 - hashes) - 1
    if words > room:
        raise TableError.of("candidates", "estimation.too-many-words", value=words, most=room)
    first: dict[bytes, str] = {}
    for word, bits in zip(candidates, places, strict=True):
        other = first.setdefault(bits.tobytes(), word)
        if other != word:
            raise TableError.of("candidate", "estimation.same-bits", value=word, other=other)
