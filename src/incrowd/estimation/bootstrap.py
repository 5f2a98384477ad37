"""How large the bias of a post-processing is on the data at hand: a parametric bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from incrowd.errors import TableError
from incrowd.estimation.interactions import CombinedTable
from incrowd.kernels.axes import transform as along_axes


@dataclass(frozen=True)
class BootstrapBias:
    """The bias of a post-processing if its own result were the truth.

    bias: mean of the refitted shares less the shares they were drawn from. standard_error: of
    that mean, from simulating `draws` collections. spread: standard deviation of a refit.
    """

    bias: np.ndarray
    standard_error: np.ndarray
    spread: np.ndarray
    draws: int
    seed: int
    statement: str


def bootstrap_bias(
    fit: Callable[[np.ndarray], np.ndarray],
    shares: np.ndarray,
    channels: Sequence[np.ndarray],
    people: int,
    copies: int = 1,
    draws: int = 200,
    seed: int = 0,
    shown: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> BootstrapBias:
    """Draw collections from `shares`, fit each, compare with `shares`.

    fit: from a histogram of report patterns (int64, an axis for each question) to shares of the
    shape of `shares`. shares: the post-processed estimate, >= 0 with sum one. channels: for each
    question P(report pattern | answer), shape (patterns, answers). In each draw `people` people
    are sampled and each sends `copies` reports (Efron, Tibshirani 1993, chapter 10). shown: what
    is shown of shares, as with merged answers; of that the bias is told. Raises
    TableError if the shares are no distribution, or there are fewer than 2 draws.
    """
    if np.any(shares < 0) or not np.isclose(shares.sum(), 1, rtol=0, atol=1e-6):
        raise TableError.of("shares", shares.tolist(), "should be at least 0 and sum to 1")
    if draws < 2 or people < 1 or copies < 1:
        given = (draws, people, copies)
        raise TableError.of("draws, people, copies", given, "should be at least 2, 1 and 1")
    generator = np.random.default_rng(seed)
    truth = shares / shares.sum()
    refits = np.array(
        [shown(fit(_draw(generator, truth, channels, people, copies))) for _ in range(draws)]
    )
    return _bias(refits, shown(truth), draws, seed)


def bootstrap_bias_of_cells(
    fit: Callable[[np.ndarray], np.ndarray],
    shares: np.ndarray,
    table: CombinedTable,
    people: int,
    draws: int,
    seed: int = 0,
    shown: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> BootstrapBias:
    """`bootstrap_bias` of a table from cells, whose noise is known and nearly normal.

    fit: from unbiased shares. In each draw the effects of independent normal noise are scaled to
    those of the table and added to the shares of people drawn at random.
    """
    generator = np.random.default_rng(seed)
    truth = shares / shares.sum()

    def drawn() -> np.ndarray:
        counts = generator.multinomial(people, truth.ravel()).reshape(truth.shape)
        noise = table.by_effect(generator.standard_normal(truth.shape), np.sqrt)
        return np.asarray(counts / people + noise)

    refits = np.array([shown(fit(drawn())) for _ in range(draws)])
    return _bias(refits, shown(truth), draws, seed)


def _bias(refits: np.ndarray, truth: np.ndarray, draws: int, seed: int) -> BootstrapBias:
    spread = refits.std(axis=0, ddof=1)
    return BootstrapBias(
        bias=refits.mean(axis=0) - truth,
        standard_error=spread / np.sqrt(draws),
        spread=spread,
        draws=draws,
        seed=seed,
        statement=f"Bias if the fitted shares were true, from {draws} simulated collections.",
    )


def _draw(
    generator: np.random.Generator,
    truth: np.ndarray,
    channels: Sequence[np.ndarray],
    people: int,
    copies: int,
) -> np.ndarray:
    """The histogram of the reports of people drawn at random.

    With one copy the reports are independent draws; with more, those of a person share a cell.
    """
    if copies == 1:
        predicted = along_axes(channels, truth)
        drawn = generator.multinomial(people, predicted.ravel() / predicted.sum())
        return np.asarray(drawn.reshape(predicted.shape), np.int64)
    cells = generator.multinomial(people, truth.ravel()).reshape(truth.shape)
    counts = np.zeros([len(channel) for channel in channels], np.int64)
    for place in np.argwhere(cells):
        columns = (channel[:, i] for channel, i in zip(channels, place, strict=True))
        law = np.asarray(reduce(np.multiply.outer, columns))
        drawn = generator.multinomial(copies * cells[tuple(place)], law.ravel() / law.sum())
        counts += drawn.reshape(law.shape)
    return counts
