"""Sufficient Differential Privacy, section 3.3: the table and the density plots."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy.stats import norm

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp as paper
from reproduction.ratio_law import exceeding
from reproduction.row import AGREES, Row, by, wrong
from reproduction.rows.sufficient_dp import row

L, E2 = 5, math.e**2
TABLE = (  # lambda, its name, N, q and tail mass as printed
    (2.0, "2", 1000, 0.2446, 0.006),
    (2.0, "2", 3000, 0.2109, 0.0048),
    (2.0, "2", 5000, 0.1778, 0.0045),
    (E2, "e^2", 1000, 0.1692, 0.0037),
    (E2, "e^2", 3000, 0.1424, 0.0062),
    (E2, "e^2", 5000, 0.1310, 0.0074),
)
HOW = "(3.12), of exact moments; the formula is (3.13), which the text says it uses"


def rows() -> Iterator[Row]:
    """Yield which rule was used, each line of the table, then each curve of the two plots."""
    limit, name, N, q, _ = TABLE[1]
    yield row(
        "3.2, below (3.12)",
        f"(3.13) is used instead, so q = {q} for lambda = {name}, N = {N}",
        paper.noise_3_13(limit, N, L).q,
        by(paper.noise_3_12(limit, N, L).q, "(3.12), which gives the printed digits"),
        wrong("the table was computed with (3.12)"),
    )
    for line in TABLE:
        yield from _line(*line)
    yield from _plots()


def _line(limit: float, name: str, N: int, q: float, tail: float) -> Iterator[Row]:
    place = f"3.3, table, lambda = {name}, N = {N}"
    flip, formula = paper.noise_3_12(limit, N, L), paper.noise_3_13(limit, N, L).q
    close = abs(q - flip.q) < 1e-4
    verdict = AGREES if close else wrong(f"should read {flip.q:.4f}")
    yield row(place, f"q = {q:.4f}", formula, by(flip.q, HOW), verdict)
    right = BitFlip.at_least(q if close else flip.q)
    beyond = exceeding(right, N, L, limit)
    true = by(beyond, f"P[R > lambda] on a lattice, at q = {right.q:.4f}")
    verdict = AGREES if abs(beyond - tail) < 1e-4 else wrong(f"too low: {beyond:.4f}")
    yield row(place, f"p(R(S) >= lambda) = {tail}", "none: simulated", true, verdict)


def _plots() -> Iterator[Row]:
    for limit, name, N, *_ in TABLE:
        flip = paper.noise_3_12(limit, N, L)
        plot, shape = ("first", "not exactly") if limit == 2 else ("second", "no longer")
        points = (0.75, 1.0, 1.5) if limit == 2 else (1.0, 2.0, 5.0)
        bell = [_normal_beyond(flip, N, point) for point in points]
        exact = [exceeding(flip, N, L, point) for point in points]
        where = ", ".join(f"{point:g}" for point in points)
        yield row(
            f"3.3, {plot} plot, lambda = {name}, N = {N}",
            f"density of R(S), {shape} bell-shaped",
            f"{_numbers(bell)} beyond {where} for a bell of its moments",
            f"{_numbers(exact)} (P[R > {where}] on a lattice, q = {flip.q:.4f})",
            AGREES,
        )


def _normal_beyond(flip: BitFlip, N: int, point: float) -> float:
    """Return P[> point] of the normal law with the moments of R(S)."""
    moments = paper.moments_of_ratio(flip, N, L)
    return float(norm.sf(point, moments.mean, math.sqrt(moments.variance)))


def _numbers(values: list[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)
