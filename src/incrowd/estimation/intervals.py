"""Intervals around estimates, cell by cell."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class Intervals(ABC):
    """The ends of intervals that reach as far on both sides of an estimate."""

    estimate: np.ndarray

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the intervals; not cut at zero."""
        return np.asarray(self.estimate - self._half_width)

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals; not cut at one."""
        return np.asarray(self.estimate + self._half_width)

    @property
    @abstractmethod
    def _half_width(self) -> np.ndarray:
        """How far the intervals reach."""
