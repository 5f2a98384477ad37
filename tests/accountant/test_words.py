"""Words in Bloom filters by cohort leak at most what a choice among places leaks."""

import itertools
from collections import Counter

import numpy as np
import pytest

from incrowd.accountant.blanket_ratios import ratios
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import Domain
from incrowd.accountant.worst import delta


def report_law(word, flip):
    """P((c, s)|word) of a word that sets bit word[c] of two bits in cohort c, as a vector."""
    matrix = flip.matrix
    cells = [
        matrix[s, int(place == 0)] * matrix[t, int(place == 1)]
        for place in word
        for s in (0, 1)
        for t in (0, 1)
    ]
    return np.array(cells) / len(word)


def multiset_law(laws):
    """The law of the unordered reports of people with those laws."""
    found = Counter()
    for reports in itertools.product(range(len(laws[0])), repeat=len(laws)):
        chance = np.prod([law[r] for law, r in zip(laws, reports, strict=True)])
        found[tuple(sorted(reports))] += chance
    return found


def hockey_stick(first, second, epsilon):
    return sum(max(0.0, first[r] - np.exp(epsilon) * second[r]) for r in first)


@pytest.mark.parametrize("crowd", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_no_words_leak_more_than_the_blanket_of_the_choices(crowd):
    """Two cohorts, one block of two bits: all crowds and pairs of the four kinds of words."""
    flip, epsilon = BitFlip.at_least(0.2), 0.4
    bound = delta(ratios(Domain(2, 1, 1), flip, (1, 1, 0)), crowd, epsilon).upper
    kinds = [report_law(word, flip) for word in itertools.product((0, 1), repeat=2)]
    worst = 0.0
    for others in itertools.combinations_with_replacement(kinds, crowd - 1):
        laws = [multiset_law([kind, *others]) for kind in kinds]
        worst = max(worst, *(hockey_stick(a, b, epsilon) for a in laws for b in laws))
    assert 0.1 * bound < worst <= bound * (1 + 1e-12)
    unhidden = delta(ratios(Domain(2, 1, 1), flip, (1, 1, 0)), 40, epsilon).upper
    assert worst > unhidden  # a crowd larger than it is would not be covered
