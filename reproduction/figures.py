"""The figures of Sufficient DP, and the counterexamples to its conjecture, as curves."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp as paper
from reproduction.copies_noise import (
    DRAWS,
    corrected_noise,
    exceeding_with_printed_noise,
    printed_noise,
)
from reproduction.figure import Axis, Curve, Figure
from reproduction.january_2016 import deviation_of_estimate
from reproduction.maximality import Mixed, one_bit_crowd, two_bits
from reproduction.ratio_law import density, ratio_law
from reproduction.vinterbo_2018_figures import figures as vinterbo_figures

PAPER = "Sufficient DP (undated)"
PRINTED_COPIES = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100, 140, 200)
CORRECTED_COPIES = (1, 2, 3, 4, 5, 7, 10, 14, 20)  # time grows with k^3


def figures(progress: Callable[[str], None] | None = None) -> tuple[Figure, ...]:
    """Compute all figures, in the order of the papers; a few seconds.

    progress: called with the name of each one before it is computed.
    """
    all_figures: list[Figure] = []
    for name, make in (
        ("density plots", _densities),
        ("noise against deviation", _deviation),
        ("noise against copies", _copies),
        ("mixed crowds", _mixed),
        ("Vinterbo's figures", vinterbo_figures),
    ):
        if progress:
            progress(name)
        all_figures.extend(make())
    return tuple(all_figures)


def _densities() -> list[Figure]:
    tight = _density("ratio_density_2", "2", 2.0, Axis("privacy ratio R(S)", 0.3, 2.7))
    loose = _density("ratio_density_e2", "e²", math.e**2, Axis("privacy ratio R(S)", 0, 12))
    return [tight, loose]


def _density(stem: str, name: str, limit: float, x: Axis) -> Figure:
    """Return the exact law of R(S) at the noise of (3.12).

    Averaged over the contribution of one report with four bits set, so only the humps remain.
    """
    at = np.linspace(x.low, x.high, 601)
    curves = []
    for N in (1000, 3000, 5000):
        flip = paper.noise_3_12(limit, N, 5)
        law = ratio_law(flip, N, 5, largest=40, step=1 / (16 * N))
        four_bits = (flip.p / flip.q) ** 3 / N
        curves.append(Curve(f"N = {N}, q = {flip.q:.4f}", at, density(law, at, four_bits)))
    top = max(float(curve.y.max()) for curve in curves)
    return Figure(
        stem,
        PAPER,
        f"Law of the privacy ratio, λ = {name}",
        f"Section 3.3: L = 5, the noise at which mean plus three deviations of R(S) are {name}. "
        "The exact law. Each further hump is one more report with all five bits set.",
        x,
        Axis("density", 0, 1.05 * top),
        tuple(curves),
    )


def _deviation() -> list[Figure]:
    noises = np.linspace(0.01, 0.49, 241)
    named = {
        "sufficient DP: L = 5 and L = 40": [
            paper.noise_3_12(2, 5000, 5),
            paper.noise_3_12(math.e**2, 10**7, 40),
        ],
        "local DP: L = 5 and L = 40": [paper.local_noise(2, 5), paper.local_noise(math.e**2, 40)],
    }
    curve = Curve(
        "√(qp) / (p − q)", noises, np.array([_spread(BitFlip.at_least(q)) for q in noises])
    )
    examples = [
        Curve(name, np.array([f.q for f in flips]), np.array(list(map(_spread, flips))), False)
        for name, flips in named.items()
    ]
    return [
        Figure(
            "noise_against_deviation",
            PAPER,
            "What noise does to an estimated count",
            "Section 4: deviation of an estimated count in units of √N people, with its two "
            "examples (L = 5, N = 5000, λ = 2; L = 40, N = 10,000,000, λ = e²).",
            Axis("noise q", 0, 0.5),
            Axis("deviation / √N", 0.1, 30, log=True),
            (curve, *examples),
        )
    ]


def _spread(flip: BitFlip) -> float:
    return deviation_of_estimate(flip, 1)


def _copies() -> list[Figure]:
    setting = "L = 40, N = 10,000,000, λ = e²"
    printed = _noise_curve("rule (6.3) as printed", printed_noise, PRINTED_COPIES)
    right = _noise_curve("the same with the correct moments", corrected_noise, CORRECTED_COPIES)
    copies = [1, *DRAWS]
    chances = [exceeding_with_printed_noise(k).value for k in copies]
    k = Axis("reports from each person, k", 0.9, 220, log=True)
    return [
        Figure(
            "noise_against_copies",
            PAPER,
            "Noise that k reports each need",
            f"Section 6.1: {setting}. Printed, the noise falls with k; with the exact mean and "
            "variance of R it must rise (drawn up to k = 20).",
            k,
            Axis("noise q", 0.32, 0.37),
            (printed, right),
        ),
        Figure(
            "ratio_against_copies",
            PAPER,
            "How often the ratio exceeds its limit",
            f"Section 6.1: {setting}, noise by (6.3) as printed. Simulated, but for k = 1.",
            k,
            Axis("P[R > e²]", 1e-3, 1, log=True),
            (Curve("noise by (6.3) as printed", np.array(copies), np.array(chances)),),
        ),
    ]


def _noise_curve(name: str, noise: Callable[[int], BitFlip], copies: tuple[int, ...]) -> Curve:
    return Curve(name, np.array(copies), np.array([noise(k).q for k in copies]))


def _mixed() -> list[Figure]:
    return [
        _composition("mixed_crowds_two_bits", two_bits(), "e^ε = 7.389"),
        _composition("mixed_crowds_one_bit", one_bit_crowd(), "ε = 0.036"),
    ]


def _composition(stem: str, mixed: Mixed, epsilon: str) -> Figure:
    ones = np.arange(mixed.N)
    record = "1" * mixed.L
    ends = np.array([0, mixed.N - 1])
    return Figure(
        stem,
        PAPER,
        f"Homogeneous crowds are not the worst: {mixed.L} bit{'s' * (mixed.L > 1)}",
        f"Section 1.2, claim 1: N = {mixed.N}, q = {mixed.channel.q:.4f}, {epsilon}. Exact delta "
        f"of the pair of opposite records, the larger of both orders: {mixed.homogeneous:.4f} for "
        f"the conjectured worst, {mixed.worst:.4f} for the worst mixture.",
        Axis(f"others who hold {record}, of {mixed.N - 1}", -0.2, mixed.N - 0.8),
        Axis("delta", 0, 1.1 * mixed.worst),
        (
            Curve("every composition of the others", ones, mixed.delta),
            Curve("conjectured worst", ends, np.full(2, mixed.homogeneous)),
        ),
    )
