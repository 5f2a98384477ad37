"""What the tests of the audit share: the rows, and small collections in exact fractions."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import binom, norm

from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from reproduction import recomputed
from reproduction.figure import Axis, Curve, Figure
from reproduction.row import AGREES

E2 = math.e**2
FLIPS = [BitFlip.at_least(q) for q in (0.02, 0.17, 0.3, 0.45)]
RARE = 1e-6
SIGMAS = norm.isf(RARE / 2)  # 4.9
SKETCH = Figure(
    "sketch",
    "Vinterbo 2018",
    "A <sketch>",
    "What is to be seen.",
    Axis("x", 1, 3),
    Axis("y", 0.1, 10, log=True),
    (
        Curve("one", np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])),
        Curve("dots", np.array([1.0, 2.0]), np.array([0.5, 5.0]), joined=False),
    ),
)
SLOW = ("Sufficient DP, table and densities", "Sufficient DP, copies")


@pytest.fixture(scope="session")
def rows():
    """Every row but those of the two slow sections, which have tests of their own."""
    return [row for name, section in recomputed.SECTIONS if name not in SLOW for row in section()]


def find(rows, paper_name, place, printed=""):
    found = [
        row
        for row in rows
        if paper_name in row.paper and row.place == place and row.printed.startswith(printed)
    ]
    assert len(found) == 1, (paper_name, place, printed, len(found))
    return found[0]


def true_number(row):
    """The number that `true` begins with."""
    return float(row.true.split()[0])


PRINTED = re.compile(r"[=<] ?(\d+(?:\.\d+)?)$")  # a value at the end of what is printed


def as_printed(row):
    """The value printed and one unit of its last digit."""
    digits = PRINTED.search(row.printed)[1]
    return float(digits), 10.0 ** -len(digits.partition(".")[2])


def follows(row):
    """Whether the verdict is what the numbers say: right within a unit of the last digit."""
    value, unit = as_printed(row)
    return (row.verdict == AGREES) == (abs(value - true_number(row)) <= unit)


def exact_flip(channel):
    """p and q as fractions."""
    q = Fraction(channel.numerator, DENOMINATOR)
    return 1 - q, q


def bit_law(channel, L, record):
    """P(l bits set) in a report from zeros (record 0) or ones (record 1), as fractions."""
    p, q = exact_flip(channel)
    if record:
        p, q = q, p
    return [math.comb(L, bits) * q**bits * p ** (L - bits) for bits in range(L + 1)]


def weights(channel, L):
    """The likelihood ratio of ones to zeros for l bits set, as fractions."""
    p, q = exact_flip(channel)
    return [(p / q) ** (2 * bits - L) for bits in range(L + 1)]


def subset_mean_weight(drawn, k):
    """The mean weight of all subsets of k of the drawn weights: the ratio, by brute force."""
    subsets = list(itertools.combinations(drawn, k))
    return sum(math.prod(subset) for subset in subsets) / Fraction(len(subsets))


def ratios(channel, N, L, k, outlier=True):
    """Every outcome of kN reports, numbered by their bits set: (probability, R) as fractions."""
    laws = [bit_law(channel, L, 1)] * (k if outlier else 0)
    laws += [bit_law(channel, L, 0)] * (k * N - len(laws))
    weight = weights(channel, L)
    for bits in itertools.product(range(L + 1), repeat=k * N):
        chance = math.prod(law[b] for law, b in zip(laws, bits, strict=True))
        yield chance, subset_mean_weight([weight[b] for b in bits], k)


def laws_on_a_grid(q, N, L, step=1 / 16):
    """R, and its laws with and without the outlier, by Fourier transform on a fine grid.

    Each weight is split between two grid points so that its mean is kept. That adds at most
    N step^2 / 4 to the variance of X = N R. The circle holds 12 reports with all bits set beside
    the rest; more have probability below 1e-15 for five bits.
    """
    bits = np.arange(L + 1)
    weight = ((1 - q) / q) ** (2.0 * bits - L)
    size = next_fast_len(math.ceil((12 * weight[-1] + 4 * N) / step), real=True)
    place = weight / step
    low = np.floor(place).astype(int)

    def transform(law):
        mass = np.bincount(low, law * (low + 1 - place), size)
        return rfft(mass + np.bincount(low + 1, law * (place - low), size))

    zero, one = (transform(binom.pmf(bits, L, chance)) for chance in (q, 1 - q))
    found = (irfft(spectrum, size) for spectrum in (zero ** (N - 1) * one, zero**N))
    return np.arange(size) * step / N, *found


def exact_moments(outcomes):
    outcomes = list(outcomes)
    mean = sum(chance * value for chance, value in outcomes)
    return float(mean), float(sum(chance * value**2 for chance, value in outcomes) - mean**2)
