"""The large-N limit."""

import math

import pytest
from scipy.stats import norm

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import FREE_BIT, Contribution, Schema
from incrowd.accountant.search import gaussian_delta, gaussian_signal, log_signal
from tests.accountant.conftest import free


def test_gaussian_signal_is_the_inverse_of_its_delta():
    for epsilon, delta in ((1.0, 1e-6), (0.0, 0.01), (3.0, 1e-200), (0.01, 0.9), (50.0, 1e-9)):
        mu = gaussian_signal(epsilon, delta)
        assert gaussian_delta(epsilon, mu) == pytest.approx(delta, rel=1e-6)
    assert gaussian_delta(0.0, 0.3) == pytest.approx(2 * norm.cdf(0.15) - 1, rel=1e-12)


def test_signal_where_nobody_hides():
    assert log_signal(Contribution.of(free(1e-9, 64)), 100) > math.log(1e200)
    most = Contribution.of(Schema.uniform([FREE_BIT] * 64, BitFlip(1)))
    assert log_signal(most, 2) == pytest.approx((64 * math.log(2**32) - math.log(2)) / 2)
