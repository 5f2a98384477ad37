"""The covariance of all cells of a table: of the noise alone, or of noise plus sampling.

A report contributes a product g of debiased values to every cell, and the estimate is the mean of
g. Its covariance needs the mean of g g', again a product over questions, and each factor is a
linear function of (1, bits, pairs of bits) of one question. So one sparse matrix for each
question acts along its axis of the counts of `incrowd.reports.moments`. This estimate of the
covariance has no bias, but like that of a share it can be negative in some direction; there it is
taken to be zero, and in no cell less than the noise is at least. So no variance here is below that
of `incrowd.estimation.tables`.
Proof: docs/mathematics.md#estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.errors import InWords, TableError
from incrowd.estimation.decoders import Matrix, decoder, least_noise, merging, squares_given
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY, sampling_variance
from incrowd.survey import AnyQuestion

MOST_CELLS = 2000  # a covariance of 2000 x 2000 doubles is 32 MB
MOST_COUNTS = 1 << 24  # 128 MiB
ROUNDOFF = 1e-12  # of the largest variance


@dataclass(frozen=True)
class PairDecoder:
    """How one question of a table, and its pairs of answers, are read out of the reports.

    Sparse matrices; their columns are the entries of the question's axis of the counts. total:
    one row, the constant 1. mean: a row for each answer, an unbiased estimate g of "this person
    gave this answer". product: a row for each pair of answers (the second runs faster), g g'.
    both: the same rows, an unbiased estimate of "this person gave both". exclusive: each person
    gives exactly one of the answers. margin: after the answers comes the entry "any answer".
    given: a row for each answer, as `incrowd.estimation.decoders.Decoder` has it.
    """

    answers: tuple[str, ...]
    exclusive: bool
    margin: bool
    total: scipy.sparse.csr_array
    mean: scipy.sparse.csr_array
    product: scipy.sparse.csr_array
    both: scipy.sparse.csr_array
    given: np.ndarray


@dataclass(frozen=True)
class JointEstimate:
    """The estimated cells of a table with the covariance of all of them.

    estimate: proportions of the people, one axis for each question; an axis with a margin has
    one more entry, the last, for "any answer". covariance: shape (cells, cells), cells in C order
    of `estimate`, of the noise alone or of noise plus sampling, as `errors` says;
    noise_covariance: always of the noise alone. people: whose answers these are. person, report:
    the share of each cell that one person is, and one report. exclusive, margins: for each axis,
    see PairDecoder. constant_noise: as `incrowd.estimation.tables.TableEstimate` has it. overlaps:
    whether it is known how many people gave two answers to a question at once; where it is not, the
    covariance of two such answers takes them to be independent, and only variances are estimated.
    """

    questions: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    exclusive: tuple[bool, ...]
    margins: tuple[bool, ...]
    estimate: np.ndarray
    covariance: np.ndarray
    noise_covariance: np.ndarray
    people: float
    person: np.ndarray
    report: np.ndarray
    errors: str
    constant_noise: bool = False
    overlaps: bool = True

    @property
    def step(self) -> np.ndarray:
        """The share of each cell by which it differs from the next possible one: that of one
        person, or of one report where the people are fixed."""
        return self.report if self.errors == NOISE_ONLY else self.person

    @property
    def both(self) -> np.ndarray:
        """The estimated shares of people who are in both of two cells; of noise and sampling."""
        cells = self.estimate.ravel()
        sampling = self.covariance - self.noise_covariance
        return np.asarray(sampling * self.people + np.outer(cells, cells))

    def noise_alone(self) -> JointEstimate:
        """The same with the errors of the noise alone."""
        return replace(self, covariance=self.noise_covariance, errors=NOISE_ONLY)

    @property
    def standard_error(self) -> np.ndarray:
        """Square roots of the variances, in the shape of the table."""
        variances = np.maximum(np.diagonal(self.covariance), 0)
        return np.asarray(np.sqrt(variances).reshape(self.estimate.shape))


def pair_decoder(question: AnyQuestion, inverse: np.ndarray, margin: bool = False) -> PairDecoder:
    """The pair decoder of a question whose bits went through a channel with that 2 x 2 inverse.

    It acts on the counts of `incrowd.reports.moments.pair_moments`. margin: add "any answer", which
    is read without noise; sums of the noisy cells of a choice are not.
    """
    single = decoder(question, inverse)
    bits = question.domain.bits
    rows = np.vstack([single.mean, np.eye(1, 1 + bits)]) if margin else single.mean
    means, fold = scipy.sparse.csr_array(rows), _fold(bits)
    product = scipy.sparse.kron(means, means, "csr") @ fold
    mean = means @ fold[: means.shape[1]]  # the first rows of fold are 1 x (1, bits)
    total = scipy.sparse.csr_array(np.eye(1, fold.shape[1]))
    exclusive = question.exclusive
    both = _both(mean, product, exclusive, margin)
    given = _with_margin(single.given, margin)
    return PairDecoder(single.answers, exclusive, margin, total, mean, product, both, given)


def question_pair_decoder(
    question: AnyQuestion, channel: Channel, margin: bool = False
) -> PairDecoder:
    """The pair decoder of a question whose bits, or (k-ary) whose answers, went through a channel.

    It acts on the counts of `incrowd.reports.moments.pair_moments`.
    """
    if not channel.of_answers:
        return pair_decoder(question, channel.inverse, margin)
    merge = merging(question)
    given = squares_given(channel.inverse, merge)
    found = histogram_decoder(question.answers, merge @ channel.inverse, given, margin)
    bits = question.domain.bits
    singles = scipy.sparse.eye_array(bits, 1 + bits + bits * (bits - 1) // 2, k=1, format="csr")
    return replace(
        found,
        total=found.total @ singles,
        mean=found.mean @ singles,
        product=found.product @ singles,
        both=found.both @ singles,
    )


def histogram_decoder(
    answers: Sequence[str], inverse: np.ndarray, given: np.ndarray, margin: bool = False
) -> PairDecoder:
    """The pair decoder of a question of exclusive answers, for counts of its report cells.

    inverse: shape (answers, report cells), a left inverse of the channel matrix P(report cell |
    answer); for k-ary response its inverse. given: as `incrowd.estimation.decoders.Decoder` has
    it. The axis of the counts is the histogram of reports.
    """
    ones = np.ones((1, inverse.shape[1]))
    mean = np.vstack([inverse, ones]) if margin else np.asarray(inverse)
    product = scipy.sparse.csr_array((mean[:, None] * mean[None]).reshape(-1, mean.shape[1]))
    means, total = scipy.sparse.csr_array(mean), scipy.sparse.csr_array(ones)
    both = _both(means, product, True, margin)
    said = _with_margin(given, margin)
    return PairDecoder(tuple(answers), True, margin, total, means, product, both, said)


def _with_margin(given: np.ndarray, margin: bool) -> np.ndarray:
    """`Decoder.given` with that of "any answer", which is read as 1 of everybody."""
    return np.vstack([given, np.ones((int(margin), 2))])


def estimate_joint(
    questions: Sequence[str],
    decoders: Sequence[PairDecoder],
    counts: np.ndarray,
    copies: int = 1,
    noise_only: bool = False,
    unbiased: bool = False,
) -> JointEstimate:
    """Estimate a table without bias, with the covariance of all its cells.

    counts: the tensor on whose axes the decoders act, of m = k N reports; copies: k. With S the
    mean of g g' over reports and B the estimated shares of people in both of two cells (for cells
    that exclude each other diag(pi)), the noise has covariance (S - B) / (k N), and sampling of N
    people adds (B - pi pi^T) / N, after Vinterbo, section 3.2; for yes/no questions S
    is C^-1 diag(y / m) C^-T. unbiased: leave that as it is, also where it is negative in some
    direction, for figures that sum over all cells, as a regression's do. Raises TableError above
    2,000 cells.
    """
    check_cells(math.prod(d.mean.shape[0] for d in decoders))
    reports = float(by_axis([d.total for d in decoders], counts).item())
    shares = counts / reports
    estimate = by_axis([d.mean for d in decoders], shares)
    second = _square(by_axis([d.product for d in decoders], shares), estimate.shape)
    both = _square(by_axis([d.both for d in decoders], shares), estimate.shape)
    least = least_noise([d.given for d in decoders]).ravel()
    noise = covariance = (second - both) / reports
    if not noise_only:
        covariance = noise + (both - np.outer(estimate, estimate)) * (copies / reports)
    if not unbiased:
        variances = np.maximum(np.diagonal(noise), least / reports)
        noise = at_least(noise, variances)
        if not noise_only:
            variances = variances + sampling_variance(estimate.ravel(), reports / copies)
        covariance = at_least(covariance, variances)
    return JointEstimate(
        questions=tuple(questions),
        answers=tuple(d.answers for d in decoders),
        exclusive=tuple(d.exclusive for d in decoders),
        margins=tuple(d.margin for d in decoders),
        estimate=estimate,
        covariance=covariance,
        noise_covariance=noise,
        people=reports / copies,
        person=np.full(estimate.shape, copies / reports),
        report=np.full(estimate.shape, 1 / reports),
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
    )


def check_cells(cells: int) -> None:
    """Raises TableError for more cells than a covariance of all of them is made for."""
    if cells > MOST_CELLS:
        allowed = f"a covariance of all cells is made for {MOST_CELLS:,} at most; drop a question"
        raise TableError.of("table", InWords(f"{cells:,} cells"), allowed)


def combined_joint(
    tables: Sequence[JointEstimate], weights: Sequence[float], unbiased: bool = False
) -> JointEstimate:
    """One table from independent reports of the same people: the weighted mean.

    weights: positive, independent of the reports. The noise of different messages is independent,
    so that its covariances add up with squared weights; the sampling is the same in all of them.
    unbiased: as `estimate_joint` has it.
    """
    if len(tables) == 1:
        return tables[0]
    share = np.array(weights) / np.sum(weights)
    pairs = list(zip(share, tables, strict=True))
    estimate = np.asarray(sum(w * table.estimate for w, table in pairs))
    noise = np.asarray(sum(w**2 * table.noise_covariance for w, table in pairs))
    people = min(table.people for table in tables)
    sampling = sum(w * (table.covariance - table.noise_covariance) for w, table in pairs)
    covariance = np.asarray(noise + sampling)
    if not unbiased:
        variances = np.diagonal(noise)
        if tables[0].errors != NOISE_ONLY:
            variances = variances + sampling_variance(estimate.ravel(), people)
        covariance = at_least(covariance, variances)
    return replace(
        tables[0],
        estimate=estimate,
        covariance=covariance,
        noise_covariance=noise,
        people=people,
        person=np.full(estimate.shape, 1 / people),
        report=np.max([w * table.report for w, table in pairs], axis=0),
        constant_noise=False,
        overlaps=all(table.overlaps for table in tables),
    )


def at_least(covariance: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """The nearest matrix that is negative in no direction, with no variance below those given."""
    if not _nowhere_negative(covariance):
        values, vectors = np.linalg.eigh(covariance)
        covariance = np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
    return covariance + np.diag(np.maximum(variances - np.diagonal(covariance), 0.0))


def _nowhere_negative(covariance: np.ndarray) -> bool:
    """Whether no direction is negative, up to roundoff: a factor takes a tenth of the time of all
    eigenvalues."""
    allowance = ROUNDOFF * float(np.abs(np.diagonal(covariance)).max(initial=0.0))
    try:
        np.linalg.cholesky(covariance + allowance * np.eye(len(covariance)))
    except np.linalg.LinAlgError:
        return False
    return True


def _fold(bits: int) -> scipy.sparse.csr_array:
    """Products of two of (1, bits), ((1 + bits)^2 rows), as entries of the pair moments.

    A bit times itself is itself, and the order does not matter.
    """
    place = np.zeros((1 + bits, 1 + bits), np.int64)
    first, second = np.triu_indices(bits, 1)
    place[0] = place[:, 0] = np.arange(1 + bits)
    place[np.arange(1 + bits), np.arange(1 + bits)] = np.arange(1 + bits)
    place[first + 1, second + 1] = place[second + 1, first + 1] = 1 + bits + np.arange(len(first))
    rows, shape = np.arange(place.size), (place.size, 1 + bits + len(first))
    return scipy.sparse.csr_array((np.ones(place.size), (rows, place.ravel())), shape=shape)


def _both(
    mean: scipy.sparse.csr_array, product: scipy.sparse.csr_array, exclusive: bool, margin: bool
) -> scipy.sparse.csr_array:
    """Unbiased for the product of two indicators of answers of one person.

    An answer with itself, or with "any answer", which stands last, is the answer. Two answers of
    which a person gives one are never both given. Else different bits carry them, whose noise is
    independent, so that the product of g's is unbiased.
    """
    size = mean.shape[0]
    first, second = np.divmod(np.arange(size**2), size)
    single = (first == second) | (margin & (np.maximum(first, second) == size - 1))
    alone = scipy.sparse.diags_array(single * 1.0) @ mean[np.minimum(first, second)]
    if exclusive:
        return alone.tocsr()
    return (alone + scipy.sparse.diags_array(~single * 1.0) @ product).tocsr()


def by_axis(matrices: Sequence[Matrix], tensor: np.ndarray) -> np.ndarray:
    """A matrix along each axis; an axis goes in first and comes out last: all come round."""
    for matrix in matrices:
        applied = matrix @ tensor.reshape(len(tensor), -1)
        tensor = applied.T.reshape(*tensor.shape[1:], -1)
    return tensor


def _square(pairs: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Axes of pairs of answers of each question as one axis of cells by another."""
    split = pairs.reshape([size for size in shape for _ in range(2)])
    order = [*range(0, split.ndim, 2), *range(1, split.ndim, 2)]
    return split.transpose(order).reshape(math.prod(shape), -1)
