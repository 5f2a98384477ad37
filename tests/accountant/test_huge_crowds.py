"""One bit in crowds up to 10^15 with any noise: in little memory, and still a bound.

The oracles know nothing of the package: the binomial laws of a few crowds, or the normal law that
they have in the limit.
"""

import json
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, norm

from tests.conftest import slowly

WHOLE = 2**32
CROWDS = [10**9, 10**11, 10**13, 10**15]
NUMERATORS = [1, 2, 2**10, 2**20, WHOLE // 4, WHOLE // 2 - 2**20, WHOLE // 2 - 1]
QUICK, ALL = (CROWDS[::3], [*NUMERATORS[:3], NUMERATORS[-1]]), (CROWDS, NUMERATORS)
SHARES = [1e-6, 0.01, 0.3, 0.9, 0.99, 0.999]  # of the local epsilon
MOST_MEMORY = 1 << 30  # of the address space beyond what imports take
SCRIPT = """
import json, resource, sys
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit_flip import BitFlip
most = 1024 * int(open("/proc/self/statm").read().split()[0]) * 4 + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for numerator, crowd, epsilon in json.load(sys.stdin):
    delta = certify("exact", BitFlip(numerator), crowd, epsilon).delta
    print(json.dumps([delta.lower, delta.upper]))
"""
WIDE = 30_000  # a variance from which the normal law is close


def cases(crowds, numerators):
    """(numerator, crowd, epsilon): around the spread of the loss, and up to the local epsilon."""
    for numerator in numerators:
        q = numerator / WHOLE
        for crowd in crowds:
            local, spread = np.log1p((1 - 2 * q) / q), (1 - 2 * q) / np.sqrt(crowd * q * (1 - q))
            for epsilon in {0.0, spread, 3 * spread, *(share * local for share in SHARES)}:
                if epsilon < local:
                    yield numerator, crowd, epsilon


@pytest.fixture(scope="module", params=[QUICK, *slowly((ALL,))])
def certified(request):
    """The bounds of delta for each case, computed in a process whose memory is limited."""
    asked = list(cases(*request.param))
    command = [sys.executable, "-c", SCRIPT, str(MOST_MEMORY)]
    run = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(zip(asked, map(json.loads, run.stdout.splitlines()), strict=True))


def law(people, chance):
    """The first count of Bin(people, chance) that matters, and the chances from there on."""
    mean, deviation = people * chance, np.sqrt(people * chance * (1 - chance))
    first, last = int(mean - 40 * deviation - 200), int(mean + 40 * deviation + 200)
    counts = np.arange(max(0, first), min(people, last) + 1)
    return counts[0], binom.pmf(counts, people, chance)


@cache
def reports(q, crowd, same):
    """The chances of each sum of all reports if she holds 1, and if she holds 0.

    `same` of the others hold 1, and are subtracted. Only sums for which no cut tail matters.
    """
    (low, more), (high, fewer) = law(crowd - 1 - same, q), law(same, q)
    others = np.convolve(more, fewer[::-1])  # sums of products: every digit is right
    before, at = others[:-1], others[1:]
    sums = np.arange(len(at)) + 1 + low - (high + len(fewer) - 1)
    mean, deviation = (crowd - 1 - 2 * same) * q, np.sqrt(crowd * q)
    inside = np.abs(sums - mean) <= 30 * deviation + 100
    return ((1 - q) * before + q * at)[inside], (q * before + (1 - q) * at)[inside]


def attained(q, crowd, epsilon, same):
    """delta of 1 against 0 if `same` of the others hold 1; some sums are left out, so no more."""
    ones, zeros = reports(q, crowd, same)
    return float(np.maximum(ones - np.exp(epsilon) * zeros, 0.0).sum())


@pytest.mark.slow
def test_the_bounds_hold_and_are_close(certified):
    for bounds in certified.values():
        lower, upper = bounds
        assert 0 <= lower <= upper <= 1
        assert upper <= max(lower * 1.01, 1e-290)


@pytest.mark.slow
def test_no_crowd_of_a_few_has_more(certified):
    """Everybody else holds 0, or 1, or half of them each: exact from the binomial laws."""
    compared = 0
    for (numerator, crowd, epsilon), (_, upper) in certified.items():
        q = numerator / WHOLE
        if crowd * q < WIDE:
            for same in (0, crowd // 2, crowd - 1):
                delta = attained(q, crowd, epsilon, same)
                assert delta <= upper * (1 + 1e-9), (numerator, crowd, epsilon, same)
                compared += delta > 1e-280
    assert compared > 30


def test_the_normal_law_has_nearly_as_much(certified):
    compared = 0
    for (numerator, crowd, epsilon), (lower, upper) in certified.items():
        q = numerator / WHOLE
        spread = (1 - 2 * q) / np.sqrt(crowd * q * (1 - q))
        if crowd * q >= WIDE and 0 < epsilon <= 3.1 * spread and spread > 1e-6:
            ends = -epsilon / spread + np.array([0.5, -0.5]) * spread
            delta = norm.cdf(ends[0]) - np.exp(epsilon) * norm.cdf(ends[1])
            assert lower <= delta * 1.05
            assert upper >= delta / 1.05
            compared += 1
    assert compared > 7
