"""Figures 1 and 2 of Vinterbo 2018, as curves."""

from __future__ import annotations

import math

import numpy as np

from reproduction import vinterbo_2018 as paper
from reproduction import vinterbo_2018_losses as losses
from reproduction.figure import Axis, Curve, Figure

PAPER = "Vinterbo 2018"
SEED, DATASETS = 2018, 100
ASKED = (0.0001, 0.5, 0.9999)  # p of figure 1 (c)
CHOSEN = (0.25, 0.5, 0.75)  # for figure 1 (b), which does not name its three p


def figures() -> list[Figure]:
    """Return 1 (a), 1 (b), 1 (c), 2 (a) and 2 (b)."""
    return [_figure_1a(), _figure_1b(), _figure_1c(), _figure_2a(), _figure_2b()]


def _beside(places: np.ndarray, draws: int, offset: float) -> np.ndarray:
    """Return where to draw so many points at each place, a little apart:
    shape (draws * places,)."""
    spread = 0.16 * (np.arange(draws) / max(draws - 1, 1) - 0.5)
    return np.asarray((spread[:, None] + places + offset).ravel())


def _figure_1a() -> Figure:
    lost = 9.75
    named = (("not randomized, 1000", 0.0), ("1000 reports", 1.0), ("9750 reports", lost))
    curves = [
        Curve(
            name,
            _beside(np.arange(4), DATASETS, 0.25 * (place - 1)),
            paper.estimates(multiple, DATASETS, SEED).ravel(),
            joined=False,
        )
        for place, (name, multiple) in enumerate(named)
    ]
    return Figure(
        "vinterbo_1a",
        PAPER,
        "Estimates of 100 datasets",
        "Figure 1 (a): π = (.05, .15, .3, .5), p = .5. With 9.75 times as many reports the "
        "estimates spread a little less than without randomization; 9.27 times would be enough.",
        Axis("cell", -0.5, 3.5, labels=("00", "01", "10", "11")),
        Axis("estimated share", -0.15, 0.75),
        tuple(curves),
    )


def _figure_1b() -> Figure:
    bits = np.arange(1, 13)
    return Figure(
        "vinterbo_1b",
        PAPER,
        "Loss against the number of bits",
        "Figure 1 (b): natural logarithm of L with π^Tπ at its mean, 2/(2^n + 1). The paper does "
        "not name its three p; these are chosen here.",
        Axis("bits n", 0.8, 12.2),
        Axis("log L", 0, 30),
        tuple(
            Curve(f"p = {p}", bits, np.array([_log_loss(p, n) for n in bits.tolist()]))
            for p in CHOSEN
        ),
    )


def _log_loss(p: float, n: int) -> float:
    c = losses.noise_factor(paper.simmons_keeps(p), n)
    return math.log(losses.approximate_loss(c, 2**n))


def _figure_1c() -> Figure:
    bits = np.arange(2, 13)
    curves = [
        Curve(
            f"p = {p}",
            _beside(bits, DATASETS, 0.25 * (place - 1)),
            np.stack(
                [paper.loss_quotients(p, n, DATASETS, SEED) for n in bits.tolist()], axis=1
            ).ravel(),
            joined=False,
        )
        for place, p in enumerate(ASKED)
    ]
    return Figure(
        "vinterbo_1c",
        PAPER,
        "Loss over its approximation",
        "Figure 1 (c): f_L(π^Tπ) / f_L(2/(2^n + 1)) for 100 uniformly random π for each n.",
        Axis("bits n", 1.5, 12.5),
        Axis("L / approximate L", 0.6, 2.2),
        tuple(curves),
    )


def _figure_2a() -> Figure:
    asked = np.linspace(0.001, 0.799, 400)  # not .5, where Warner's device tells nothing
    quotients = [paper.simmons_factor(p, 1) / paper.warner_factor(p, 1) for p in asked]
    return Figure(
        "vinterbo_2a",
        PAPER,
        "Simmons against Warner at the same p",
        "Figure 2 (a): c_M / c_W for n = 1; below 1 for p < 2/3, 0 at p = 1/2.",
        Axis("p", 0, 0.8),
        Axis("c_M / c_W", 0, 6),
        (Curve("c_M / c_W", asked, np.array(quotients)), _level(0.0, 0.8)),
    )


def _level(low: float, high: float) -> Curve:
    return Curve("equal", np.array([low, high]), np.ones(2))


def _figure_2b() -> Figure:
    levels = np.linspace(0.2, 2, 181)
    factors = [losses.noise_factor_at(alpha, 1, 1) for alpha in levels]
    return Figure(
        "vinterbo_2b",
        PAPER,
        "Simmons and Warner at the same privacy",
        "Figure 2 (b): c_M(α) = c_W(α) for n = 1.",
        Axis("privacy level α", 0.2, 2),
        Axis("c", 0, 55),
        (Curve("c_M = c_W", levels, np.array(factors)),),
    )
