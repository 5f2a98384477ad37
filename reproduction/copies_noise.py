"""The figure of Sufficient DP, section 6.1: noise against k for L = 40, N = 1e7, lambda = e^2.

The printed rule beside that of the right moments, and how often the ratio exceeds lambda with
the printed noise.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp_copies as paper
from reproduction.merged import Merged, simulate
from reproduction.ratio_law import exceeding

LIMIT, N, L = math.e**2, 10**7, 40
DRAWS = {4: 20_000, 10: 6_000, 20: 2_000, 50: 400, 100: 150, 200: 60}  # two seconds each
SEED = 2016


class Chance(NamedTuple):
    """A probability with 95% limits, which equal the value if it was computed."""

    value: float
    low: float
    high: float
    how: str


@cache
def printed_noise(k: int) -> BitFlip:
    """Return the noise by (6.3) as printed."""
    return paper.noise_6_3(LIMIT, N, L, k)


@cache
def corrected_noise(k: int) -> BitFlip:
    """Return the noise by (6.3) with the right mean and variance; time grows with k^3."""
    return paper.noise_corrected(LIMIT, N, L, k)


@cache
def exceeding_with_printed_noise(k: int) -> Chance:
    """Return P[R(S^k) > e^2] at the printed noise: for k = 1 numerical,
    for k in DRAWS simulated."""
    if k == 1:
        chance = exceeding(printed_noise(1), N, L, LIMIT)
        return Chance(chance, chance, chance, "on a lattice")
    result = simulate(Merged(printed_noise(k), N, L, k), math.log(LIMIT), DRAWS[k], SEED)
    limits = f"95%: {result.eta_low:.3g} to {result.eta_high:.3g}"
    how = f"{result.draws:,} simulated collections, {limits}"
    return Chance(result.eta, result.eta_low, result.eta_high, how)
