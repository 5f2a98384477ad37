"""Vinterbo 2018, section 5: points of figures 1 and 2."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from incrowd.accountant.channels.warner import Warner
from reproduction import vinterbo_2018 as paper
from reproduction import vinterbo_2018_losses as losses
from reproduction.row import AGREES, Row, by, wrong
from reproduction.rows.vinterbo_2018 import row

SEED = 2018
ASKED = (0.0001, 0.5, 0.9999)  # p of figure 1 (c)


def rows() -> Iterator[Row]:
    """Yield a few points of each curve."""
    yield from _figure_1a()
    yield from _figure_1b()
    yield from _figure_1c()
    yield from _figure_2()


def _figure_1a() -> Iterator[Row]:
    pi = paper.FIGURE_SHARES
    s, c = float(pi @ pi), paper.factor(0.75, 2)
    yield row(
        "figure 1 (a)",
        "L = 9.75",
        losses.approximate_loss(c, 4),
        by((c - s) / (1 - s), "L with the pi of the figure, s = .365; c from the matrices"),
        wrong("uses s = 2/(2^n + 1), the mean over random pi"),
    )
    m = paper.FIGURE_REPORTS
    target = (1 - s) / m
    for name, reports in (("1000", m), ("L 1000", 9750)):
        exact = (c - s) / reports
        estimates = paper.estimates(reports / m, 2000, SEED)
        spread = float(((estimates - pi) ** 2).sum(axis=1).mean())
        yield row(
            "figure 1 (a)",
            f"spread of pi_hat({name}) against that of pi_hat*(1000)",
            exact / target,
            by(spread / target, "quotient of mean squared errors, 2000 simulated datasets"),
            AGREES,
        )


def _figure_1b() -> Iterator[Row]:
    for n, p in product((1, 2, 6, 12), (0.5,)):
        c = paper.simmons_factor(p, n)
        exact = (paper.factor(paper.simmons_keeps(p), 1) ** n - 2 / (2**n + 1)) / (
            1 - 2 / (2**n + 1)
        )
        yield row(
            f"figure 1 (b), n = {n}, p = {p}",
            "log L, with s = 2/(2^n + 1)",
            math.log(losses.approximate_loss(c, 2**n)),
            by(math.log(exact), "from the matrix of one bit"),
            AGREES,
        )


def _figure_1c() -> Iterator[Row]:
    for p, n in product(ASKED, (2, 12)):
        quotients = paper.loss_quotients(p, n, 100, SEED)
        c = losses.noise_factor(paper.simmons_keeps(p), n)
        sd = math.sqrt(losses.greenwood_variance(2**n))
        slope = (c - 1) / (1 - losses.greenwood_mean(2**n)) ** 2
        expected = slope * sd / losses.approximate_loss(c, 2**n)
        yield row(
            f"figure 1 (c), n = {n}, p = {p}",
            "L over its approximation, 100 random pi: close to 1",
            f"1 -+ {expected:.2g}, from Var(pi^T pi) to first order",
            f"{quotients.mean():.4f} -+ {quotients.std():.2g} (100 random pi)",
            AGREES,
        )


def _figure_2() -> Iterator[Row]:
    for p in (0.2, 0.4, 0.6, 0.75):
        simmons, warner = paper.simmons_keeps(p), Warner.from_probability(p).a
        yield row(
            f"figure 2 (a), p = {p}",
            "c_M / c_W, n = 1",
            paper.simmons_factor(p, 1) / paper.warner_factor(p, 1),
            by(paper.factor(simmons, 1) / paper.factor(warner, 1), "from the matrices"),
            AGREES,
        )
    for alpha in (0.2, 1.0, 2.0):
        yield row(
            f"figure 2 (b), alpha = {alpha}",
            "c_M(alpha) = c_W(alpha), n = 1",
            losses.noise_factor_at(alpha, 1, 1),
            by(paper.factor(Warner.from_epsilon(alpha).a, 1), "from Warner's matrix"),
            AGREES,
        )
