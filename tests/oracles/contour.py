"""delta and eta of two records by a contour integral, for crowds too large to be counted out.

With M the moment generating function of G,

    E max(0, G_1 + ... + G_N) = 1 / (2 pi) * integral of M(theta + i t)^N / (theta + i t)^2 dt

for every theta > 0, and P[G_0 + ... + G_(N-1) > 0] likewise with one power of w. No lattice, no
split, no window of sums. theta is the saddle point, where the integrand is nearly a bell curve.
The step is a small part of its width and of the distance to the pole at zero; the reach is
doubled until the integral agrees with itself.
"""

import math

import numpy as np
from scipy.optimize import minimize_scalar

FIRST_POINTS, MOST_POINTS = 1 << 10, 1 << 20
STEPS = 8  # in the width of the bell curve, and on the way to the pole
AGREED = 1e-6


def log_moment(values, masses, w):
    """ln E exp(w G); what is missing to one lies at zero."""
    w = np.atleast_1d(w)
    return np.log1p(np.expm1(np.multiply.outer(w, values)) @ masses)


def positive_mean(values, masses, count):
    """E max(0, G_1 + ... + G_count)."""
    return settled(values, masses, count, 2, lambda w: np.zeros_like(w))


def positive_chance(values, masses, own, count):
    """P[G_0 + ... + G_count > 0], G_0 of the law `own` and the rest of `masses`."""
    return settled(values, masses, count, 1, lambda w: log_moment(values, own, w))


def settled(values, masses, count, power, log_first):
    """The integral of M_0 M^count / w^power along the line through the saddle point."""

    def logarithm(w):
        return count * log_moment(values, masses, w) + log_first(w) - power * np.log(w)

    def height(log_theta):
        return float(logarithm(np.array([math.exp(log_theta) + 0j]))[0].real)

    top = math.log(600 / values.max())
    log_theta = minimize_scalar(height, bounds=(top - 40, top), method="bounded").x
    theta, h = math.exp(log_theta), 1e-3
    bend = (height(log_theta + h) + height(log_theta - h) - 2 * height(log_theta)) / h**2
    step = theta / STEPS / max(1.0, math.sqrt(bend))
    points, before = FIRST_POINTS, math.inf
    while points <= MOST_POINTS:
        found = integral(logarithm, theta, step, points, len(values))
        if abs(found - before) <= AGREED * found:
            return found
        before, points = found, 2 * points
    raise ArithmeticError(f"the integral has not settled: {before}, {found}")


def integral(logarithm, theta, step, points, terms):
    """The trapezoidal sum over so many points above theta, and as many below."""
    total = 0.0
    for part in np.array_split(np.arange(points), max(1, points * terms >> 20)):
        heights = np.exp(logarithm(theta + 1j * step * part)).real
        total += heights.sum() - (heights[0] / 2 if part[0] == 0 else 0.0)
    return total * step / math.pi


def divergence(x, other, cover, crowd, epsilon):
    """delta(epsilon) of two records from the chances of each report, in a crowd's cover.

    cover: the chance of each report from everybody else (its sum is one), or the mass that is
    below every record's (the blanket).
    """
    values, place = np.unique((x - math.exp(epsilon) * other) / cover, return_inverse=True)
    return positive_mean(values, np.bincount(place, cover), crowd) / crowd


def exceedance(x, other, cover, crowd, epsilon):
    """eta(epsilon) of two records in a crowd whose others all send by the law `cover`."""
    values, place = np.unique((x - math.exp(epsilon) * other) / cover, return_inverse=True)
    masses, own = (np.bincount(place, law) for law in (cover, x))
    return positive_chance(values, masses, own, crowd - 1)
