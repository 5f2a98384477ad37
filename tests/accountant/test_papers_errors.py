"""The papers' errors, which the accountant does not repeat."""

import math
from itertools import product

import numpy as np
import pytest

from incrowd.accountant import outlier_ratios
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.pairs import outlier_candidates, papers_pair
from incrowd.accountant.schema import FREE_BIT
from incrowd.accountant.worst import delta, worst_delta
from tests.accountant.conftest import choice, free, schema
from tests.oracles import expected


def test_error_1_one_direction_is_not_enough():
    report = free(0.15, 2)
    presence = delta(papers_pair(report, presence=True), 200, 1.0).upper
    absence = delta(papers_pair(report, presence=False), 200, 1.0).lower
    assert presence < 2.5e-6 and absence > 2.4e-3


@pytest.mark.slow
def test_error_3_exclusive_bits_are_not_two_free_bits():
    """A crowd on a third option is worse than the papers' own pair in both directions."""
    q, crowd, epsilon, third, presence, absence = expected.THIRD_OPTION
    report = schema(q, choice(3))
    worst = worst_delta(outlier_candidates(report), crowd, epsilon)
    assert worst.delta.estimate == pytest.approx(third, rel=1e-4)
    for there, wanted in ((True, presence), (False, absence)):
        found = delta(papers_pair(report, presence=there), crowd, epsilon)
        assert found.estimate == pytest.approx(wanted, rel=1e-3)


@pytest.mark.slow
def test_error_3_by_simulation():
    """1e6 draws of the reports of the third-option crowd; 5 standard errors."""
    channel, crowd, lam = BitFlip.at_least(0.1), 1000, math.exp(0.8)
    reports = np.array(list(product([0, 1], repeat=3)))

    def sent(record):
        flips = (reports != np.array(record)).sum(axis=1)
        return channel.q**flips * channel.p ** (3 - flips)

    g = (sent([1, 0, 0]) - lam * sent([0, 1, 0])) / sent([0, 0, 1])
    drawn = np.random.default_rng(1).multinomial(crowd, sent([0, 0, 1]), size=1_000_000)
    values = np.maximum(drawn @ g, 0) / crowd
    error = values.std() / 1000
    found = delta(outlier_ratios.ratios(channel, (1, 1, 1)), crowd, 0.8).estimate
    assert abs(values.mean() - found) < 5 * error
    assert (
        abs(values.mean() - delta(outlier_ratios.ratios(channel, (0, 2, 0)), crowd, 0.8).estimate)
        > 5 * error
    )


def test_error_7_mixed_question_types():
    """Three yes/no questions and one of three options: the opposite pair gives 4.8e-5 (with a
    third-option crowd), the pair that agrees on the yes/no bits 2.5e-3."""
    report = schema(0.15, FREE_BIT, FREE_BIT, FREE_BIT, choice(3))
    channel = BitFlip.at_least(0.15)
    opposite = delta(outlier_ratios.ratios(channel, (4, 1, 1)), 20_000, 1.0).estimate
    assert opposite == pytest.approx(4.8e-5, abs=5e-7)
    worst = worst_delta(outlier_candidates(report), 20_000, 1.0)
    assert worst.delta.estimate == pytest.approx(2.5e-3, abs=5e-5)
