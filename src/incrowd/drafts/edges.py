"""Edges of bins: round numbers near the fifths of the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FIFTHS = (0.2, 0.4, 0.6, 0.8)


def edges(numbers: np.ndarray, counts: np.ndarray) -> list[float | int]:
    """Left edges of about five bins with as many people, rounded; the least below all numbers.

    Rounded, so that they tell little of anybody; the last bin is open, so that nobody's largest
    number stands in the survey. The unit of rounding follows the middle of the data: a few huge
    numbers do not change it.
    """
    order = np.argsort(numbers)
    values, counts = numbers[order], counts[order]
    fifths = _quantiles(values, counts, FIFTHS)
    others = values != values[np.argmax(counts)]
    if not (spread := fifths[-1] - fifths[0]):  # most are alike: the others say what is large
        rest = _quantiles(values[others], counts[others], FIFTHS)
        spread = rest[-1] - rest[0] or values[-1] - values[0]
    unit = _unit(float(spread), bool(np.all(values == np.round(values))))
    first = 0.0 if values[0] >= 0 else np.floor(values[0] / unit) * unit
    rising = sorted({first, *(edge for edge in np.round(fifths / unit) * unit if edge >= first)})
    if len(rising) < 2:
        (middle,) = _quantiles(values[others], counts[others], (0.5,))
        rising.append(max(first + unit, np.round(middle / unit) * unit))
    return [_plain(edge) for edge in rising]


def _quantiles(values: np.ndarray, counts: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """The least of the sorted values that at least such shares of the people do not exceed."""
    cumulative = np.cumsum(counts) / counts.sum()
    return values[np.searchsorted(cumulative, shares)]


def _unit(spread: float, whole: bool) -> float:
    unit = 10.0 ** (np.floor(np.log10(spread)) - 1)
    return float(max(unit, 1.0) if whole else unit)


def _plain(edge: float) -> float | int:
    rounded = float(f"{edge:.15g}")
    return int(rounded) if rounded.is_integer() else rounded


def even(low: float, high: float) -> list[float | int]:
    """Edges of four bins between two bounds."""
    unit = _unit(high - low, float(low).is_integer() and float(high).is_integer())
    inner: Sequence[float] = [low + (high - low) * share for share in (0.25, 0.5, 0.75)]
    return [_plain(edge) for edge in sorted({low, *(np.round(e / unit) * unit for e in inner)})]
