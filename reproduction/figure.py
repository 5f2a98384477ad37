"""Figures as data: curves over two axes. They are drawn elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Axis:
    """What is measured, with its unit; a logarithmic scale or not; the range drawn.

    labels: names of the places 0, 1, 2, ... in the place of numbers.
    """

    title: str
    low: float
    high: float
    log: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """Points (x, y), joined or not; arrays of one length."""

    name: str
    x: np.ndarray
    y: np.ndarray
    joined: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, or of a claim of one, recomputed.

    stem: the name of its file. paper: whose rows it belongs to. caption: what is to be seen.
    """

    stem: str
    paper: str
    title: str
    caption: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
