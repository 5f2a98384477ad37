"""The steps of R's package rr 1.4.2 (rrreg.predictor), written from its description and source.

rr does not maximize a likelihood. Its steps estimate the probability that each report is a true
answer, and fit both models to the reports with these weights; what people with forced answers say
about the outcome is left out. It shrinks coefficients by Cauchy priors (package arm), stops when no
coefficient moves by more than 1e-4, and takes errors from the second derivatives of the whole
likelihood with priors at that point.
"""

import numpy as np
from scipy.special import expit

STOPS = 1e-4


def prior_scales(columns):
    """The scales of arm's priors: 2.5 over the range of two values, or over twice the deviation."""
    scales = []
    for column in columns.T:
        values = len(np.unique(column))
        of = np.ptp(column) if values == 2 else 2 * column.std(ddof=1) if values > 2 else 1.0
        scales.append(2.5 / of)
    return np.array(scales)


def shrunk(columns, y, weights, shrink):
    """Logistic regression by arm's bayesglm: scale mixtures of normal priors, by its own steps."""
    scales = prior_scales(columns)
    spread, chance, before = scales, (y + 0.5) / 2, np.inf  # where R's binomial models begin
    height = np.log(chance / (1 - chance))
    while True:
        steep = chance * (1 - chance)
        left = columns.T @ (columns * (weights * steep)[:, None])
        left += shrink * np.diag(spread**-2.0)
        right = columns.T @ (weights * (steep * height + y - chance))
        beta = np.linalg.solve(left, right)
        spread = np.sqrt((beta**2 + np.diag(np.linalg.inv(left)) + scales**2) / 2)
        height = columns @ beta
        chance = expit(height)
        deviance = -2 * weights @ np.log(np.where(y == 1, chance, 1 - chance))
        if abs(deviance - before) < 1e-8 * (0.1 + abs(deviance)):
            return beta
        before = deviance


def parts_of(gamma, beta, x, y):
    """P(yes | x), and the probability of the outcome if the answer is yes, or no."""
    sign = 2 * y - 1
    return expit(x @ gamma), expit(sign * (x @ beta[:-1] + beta[-1])), expit(sign * (x @ beta[:-1]))


def truth_chances(gamma, beta, x, reports, y, forced_yes, forced_no):
    """The weights: the probabilities that reports are true answers."""
    yes, if_yes, if_no = parts_of(gamma, beta, x, y)
    told = (1 - forced_yes - forced_no) * np.where(reports == 1, yes * if_yes, (1 - yes) * if_no)
    forced = np.where(reports == 1, forced_yes, forced_no)
    return told / (told + forced * (yes * if_yes + (1 - yes) * if_no))


def of_rr(x, reports, y, *, yes=1 / 6, no=1 / 6, shrink=True, start=1.0, stops=STOPS):
    """The coefficients of the item and of the outcome by rr's steps, in its units, and these."""
    units = np.append(1, x[:, 1:].std(axis=0, ddof=1))
    scaled = x / units
    with_report = np.column_stack([scaled, reports])
    gamma, beta = np.full(x.shape[1], start), np.full(x.shape[1] + 1, start)
    while True:
        true = truth_chances(gamma, beta, scaled, reports, y, yes, no)
        new_gamma = shrunk(scaled, reports, true, shrink)
        new_beta = shrunk(with_report, y, true, shrink)
        moved = max(abs(new_gamma - gamma).max(), abs(new_beta - beta).max())
        gamma, beta = new_gamma, new_beta
        if moved < stops:
            return gamma, beta, units


def errors_of_rr(gamma, beta, units, x, reports, y, *, yes=1 / 6, no=1 / 6):
    """Errors from the likelihood with Cauchy priors of scale 2.5, by second differences."""
    scaled = x / units
    chances = np.array([[1 - yes, no], [yes, 1 - no]])[reports]

    def value(point):
        split = x.shape[1]
        holds, if_yes, if_no = parts_of(point[:split], point[split:], scaled, y)
        likelihood = (1 - holds) * if_no * chances[:, 0] + holds * if_yes * chances[:, 1]
        return np.log(likelihood).sum() - np.log1p((point / 2.5) ** 2).sum()

    point, h = np.append(gamma, beta), 1e-3 * np.eye(len(gamma) + len(beta))
    bends = [
        [
            value(point + a + b)
            - value(point + a - b)
            - value(point - a + b)
            + value(point - a - b)
            for b in h
        ]
        for a in h
    ]
    errors = np.sqrt(np.diag(np.linalg.inv(-np.array(bends) / 4e-6)))
    return errors / np.concatenate([units, units, [1.0]])
