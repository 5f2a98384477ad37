"""Edges of bins: round numbers near the fifths of the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FIFTHS = (0.2, 0.4, 0.6, 0.8)


def edges(numbers: np.ndarray, counts: np.ndarray) -> list[float | int]:
    """Left edges of about five bins with as many people, rounded; the least below all numbers.

    Rounded, so that they tell little of anybody; the last bin is open, so that nobody's largest
    number stands in the survey.
    """
    order = np.argsort(numbers)
    values, cumulative = numbers[order], np.cumsum(counts[order]) / counts.sum()
    inner = [values[np.searchsorted(cumulative, share)] for share in (0.05, *FIFTHS, 0.95)]
    whole = bool(np.all(values == np.round(values)))
    unit = _unit(float(inner[-1] - inner[0]) or float(values[-1] - values[0]), whole)
    first = 0.0 if values[0] >= 0 else np.floor(values[0] / unit) * unit
    found = {first, *(np.round(value / unit) * unit for value in inner[1:-1])}
    rising = sorted(edge for edge in found if edge >= first)
    if len(rising) < 2:
        rising.append(first + max(unit, np.ceil((values[-1] - first) / 2 / unit) * unit))
    return [_plain(edge) for edge in rising]


def _unit(spread: float, whole: bool) -> float:
    unit = 10.0 ** (np.floor(np.log10(spread)) - 1)
    return float(max(unit, 1.0) if whole else unit)


def _plain(edge: float) -> float | int:
    rounded = float(f"{edge:.6g}")
    return int(rounded) if rounded.is_integer() else rounded


def even(low: float, high: float) -> list[float | int]:
    """Edges of four bins between two bounds."""
    unit = _unit(high - low, float(low).is_integer() and float(high).is_integer())
    inner: Sequence[float] = [low + (high - low) * share for share in (0.25, 0.5, 0.75)]
    return [_plain(edge) for edge in sorted({low, *(np.round(e / unit) * unit for e in inner)})]
