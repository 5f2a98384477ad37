"""Intervals of figures that are shown because they came out large.

Of many answers those are listed that rise above the noise. They are listed for being large, so
that their 95% intervals would miss far more often than one in twenty. With R of K listed each has
the level 1 - 5% R / K: then of the intervals that are listed one in twenty misses on average at
most (the false coverage rate, Benjamini and Yekutieli 2005). If all are listed, nothing changes.
"""

from __future__ import annotations


def chosen_level(level: float, chosen: int, of: int) -> float:
    """The level of each interval of figures that were chosen out of so many."""
    return 1 - (1 - level) * max(chosen, 1) / of
