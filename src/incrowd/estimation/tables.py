"""Unbiased tables with standard errors and intervals. Nothing is clipped or projected here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.special import ndtri

from incrowd.estimation.decoders import Decoder

LEVEL = 0.95
NOISE_AND_SAMPLING = "noise and sampling"
NOISE_ONLY = "noise alone"


@dataclass(frozen=True)
class TableEstimate:
    """The estimated joint distribution of some questions, one axis for each.

    estimate, standard_error, low, high: proportions of the people, arrays of the shape of the
    table. `errors` says whether the people count as a sample or as fixed.
    """

    questions: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    estimate: np.ndarray
    standard_error: np.ndarray
    errors: str
    level: float = LEVEL

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the intervals; not cut at zero."""
        return np.asarray(self.estimate - self._half_width)

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals; not cut at one."""
        return np.asarray(self.estimate + self._half_width)

    @property
    def _half_width(self) -> np.ndarray:
        return float(ndtri((1 + self.level) / 2)) * self.standard_error


def estimate_table(
    questions: Sequence[str],
    decoders: Sequence[Decoder],
    moments: np.ndarray,
    copies: int = 1,
    noise_only: bool = False,
) -> TableEstimate:
    """Estimate a table from the joint counts of set bits.

    moments: the count tensor of `incrowd.tally.moments`; its first entry is the number of
    reports m = k N. The estimate is C^-1 y / m, axis by axis (Vinterbo, section 3.2). The
    standard errors are those of noise plus sampling of N people, or of the noise alone.
    """
    reports = int(moments.flat[0])
    shares = moments / reports
    estimate = along_axes([d.mean for d in decoders], shares)
    second = along_axes([d.square for d in decoders], shares)
    variance = (second - estimate) / reports
    if not noise_only:
        variance = variance + estimate * (1 - estimate) * copies / reports
    return TableEstimate(
        tuple(questions),
        tuple(d.answers for d in decoders),
        estimate,
        np.sqrt(np.maximum(variance, 0)),
        NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
    )


def along_axes(matrices: Sequence[np.ndarray], tensor: np.ndarray) -> np.ndarray:
    """Apply one small matrix along each axis: a Kronecker product that is never built."""
    return reduce(_along, enumerate(matrices), tensor)


def _along(tensor: np.ndarray, axis_and_matrix: tuple[int, np.ndarray]) -> np.ndarray:
    axis, matrix = axis_and_matrix
    return np.moveaxis(np.tensordot(matrix, tensor, (1, axis)), 0, axis)
