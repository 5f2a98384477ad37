"""Enumeration, the truth of small cases."""

import itertools
import math

import numpy as np
import pytest

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import enumerated
from reproduction.february_2016 import law


@pytest.mark.parametrize("q", [0.05, 0.3])
def test_outcomes_have_the_laws_of_bits(q):
    flip = BitFlip.at_least(q)
    records = [(1, 0), (1, 1), (0, 0)]
    found = list(enumerated.outcomes(flip, records))
    assert len(found) == 4**3
    assert math.fsum(mass for mass, _ in found) == pytest.approx(1, rel=1e-12)
    expected = np.kron(flip.matrix, flip.matrix)
    for report, record in itertools.product(range(4), repeat=2):
        bits = [(value >> 1, value & 1) for value in (report, record)]
        assert enumerated.chance(flip, *bits) == pytest.approx(expected[report, record])
    shown = enumerated.mean(flip, records, lambda s: sum(map(sum, s)))
    assert shown == pytest.approx(3 * flip.p + 3 * flip.q)
    spread = enumerated.variance(flip, records, lambda s: sum(map(sum, s)))
    assert spread == pytest.approx(6 * flip.p * flip.q)


def test_laws_of_counts_and_collections():
    flip = BitFlip.at_least(0.2)
    counted = enumerated.count_law(flip, enumerated.outlier(4, 1, 2))
    assert counted == pytest.approx(law(flip, 8, 2))
    assert counted != pytest.approx(law(flip, 8, 1))
    assert enumerated.outlier(3, 2, 2) == [(1, 1)] * 2 + [(0, 0)] * 4
    assert enumerated.homogeneous(2, 3) == [(0, 0, 0)] * 2
