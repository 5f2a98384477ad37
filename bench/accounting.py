"""How long the accountant takes, beside what it is compared with."""

import math

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

from bench.measure import row
from incrowd.accounting.calibration import smallest_noise
from incrowd.accounting.candidates import outlier_candidates
from incrowd.accounting.certificates import certify
from incrowd.accounting.schema import FREE_BIT, Schema
from incrowd.accounting.worst import worst_delta
from incrowd.channels.bit_flip import BitFlip

FORTY = [FREE_BIT] * 40


def free(q, bits):
    return Schema.uniform([FREE_BIT] * bits, BitFlip.at_least(q))


DRAWS = 100_000


def simulated(draws=DRAWS, crowd=10**5, bits=8, q=0.2359):
    """The same delta, 1e-6, by plain Monte Carlo of the blanket."""
    generator, p, gamma = np.random.default_rng(0), 1 - q, (2 * q) ** bits
    i = np.arange(bits + 1)
    ways = np.array([math.comb(bits, k) for k in i]) / 2**bits
    values = (p**i * q ** (bits - i) - math.e * q**i * p ** (bits - i)) / q**bits
    counts = generator.multinomial(generator.binomial(crowd, gamma, draws), ways)
    return np.maximum(counts @ values, 0).mean() / crowd


def composed_by_pld(copies=100):
    one = pld.from_randomized_response(0.8, 2, value_discretization_interval=1e-4)
    total = one
    for _ in range(copies - 1):
        total = total.compose(one)
    return total.get_delta_for_epsilon(1.0)


def rows():
    """(what, seconds, beside, seconds) of every measurement."""
    report = free(0.3805, 40)
    yield row("blanket delta, N = 1e8, L = 40", lambda: certify("blanket", report, 10**8, 1.0))
    yield row("outlier delta, N = 1e7, L = 40", lambda: _outlier(10**7), runs=3)
    yield row(
        "blanket delta of 1e-6, N = 1e5, L = 8",
        lambda: certify("blanket", free(0.2359, 8), 10**5, 1.0),
        f"Monte Carlo, {DRAWS:,} draws, of which a few count",
        simulated,
    )
    yield row(
        "calibration, N = 1e8, L = 40",
        lambda: smallest_noise("blanket", FORTY, 10**8, 1.0, 1e-8),
        runs=3,
    )
    yield row(
        "calibration, N = 1e8, L = 40, 100 copies",
        lambda: smallest_noise("blanket", FORTY, 10**8, 1.0, 1e-8, 100),
        runs=1,
    )
    yield row(
        "100-fold local composition",
        lambda: certify("local", free(0.4, 1), 2, 1.0, 100),
        "dp-accounting, composed in a loop",
        composed_by_pld,
        runs=1,
    )
    for exponent in (4, 6, 8):
        crowd = 10**exponent
        channel = smallest_noise("blanket", FORTY, crowd, 1.0, 1e-8)
        schema = Schema.uniform(FORTY, channel)
        yield row(
            f"blanket delta, N = 1e{exponent}, L = 40, calibrated noise",
            lambda s=schema, n=crowd: certify("blanket", s, n, 1.0),
        )


def _outlier(crowd):
    return worst_delta(outlier_candidates(free(0.3432, 40)), crowd, 2.0)
