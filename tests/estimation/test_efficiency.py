"""The effective sample size against exact enumeration of small samples."""

import itertools
import math

import numpy as np
import pytest

from incrowd.accountant.channels.warner import Warner


def squared_error(matrix, shares, reports):
    """E ||estimate - pi||^2 by enumerating every ordered sample of reports."""
    law, inverse, total = matrix @ shares, np.linalg.inv(matrix), 0.0
    for sample in itertools.product(range(len(shares)), repeat=reports):
        counts = np.bincount(sample, minlength=len(shares))
        error = inverse @ counts / reports - shares
        total += math.prod(law[list(sample)]) * (error @ error)
    return total


def test_the_effective_sample_has_the_same_error_without_noise():
    """Vinterbo, proposition 3.1, for m = 1, 2, 4: E error = (1 - s) / n' with n' people asked."""
    channel, shares = Warner.from_probability(0.9), np.array([0.3, 0.7])
    lost = squared_error(channel.matrix, shares, 1) / squared_error(np.eye(2), shares, 1)
    for reports in (1, 2, 4):
        noisy = squared_error(channel.matrix, shares, reports)
        rest = 1 - float(shares @ shares)
        assert rest / (reports / lost) == pytest.approx(noisy, rel=1e-9)
        assert rest / (reports / (lost * 1.01)) != pytest.approx(noisy, rel=1e-3)
