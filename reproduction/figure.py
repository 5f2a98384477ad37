"""Figures as data: curves over two axes, which `drawing` draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Axis:
    """An axis: its title with the unit, its range, and whether the scale is logarithmic.

    labels: names of the places 0, 1, 2, ... instead of numbers.
    """

    title: str
    low: float
    high: float
    log: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """Points (x, y), arrays of equal length. joined: whether they are connected by lines."""

    name: str
    x: np.ndarray
    y: np.ndarray
    joined: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, or of a claim in it, recomputed.

    stem: the name of its file. paper: the paper whose rows it belongs to. caption: what it shows.
    """

    stem: str
    paper: str
    title: str
    caption: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
