"""How long the accountant takes, beside what it is compared with."""

import itertools
import math

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

from bench.measure import row
from incrowd.accountant.certificates import (
    certify,
    privacy_curve,
    smallest_epsilon,
    smallest_noise,
)
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.exchange import to_dp_accounting
from incrowd.accountant.pairs import outlier_candidates
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema
from incrowd.accountant.worst import worst_delta

FORTY = [FREE_BIT] * 40
TWELVE = [FREE_BIT] * 6 + [Domain(5, 1, 1)] * 3 + [Domain(8, 0, 3)] * 2 + [Domain(10, 1, 1)]


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


def same_noise(domains, copies=1):
    """All questions in one report, with one noise."""
    return lambda flip: Contribution.of(Schema.uniform(domains, flip), copies)


def one_by_one(reference):
    """Each of the twelve questions in a message with a noise of its own."""
    sent = None
    for number, domain in enumerate(TWELVE):
        more = int(reference.numerator * (0.5 + 0.04 * number))
        channel = BitFlip(min(max(more, 1), DENOMINATOR // 2 - 1))
        report = Contribution.of(Schema.uniform([domain], channel))
        sent = report if sent is None else sent.also(report)
    return sent


def calibrations():
    """(what, analysis, family, crowd, epsilon, delta) of some searches for the smallest noise."""
    yield "N = 1e8, L = 40", "blanket", same_noise(FORTY), 10**8, 1.0, 1e-8
    yield "N = 1e8, L = 40, 100 copies", "blanket", same_noise(FORTY, 100), 10**8, 1.0, 1e-8
    yield "N = 1e5, 12 questions together", "blanket", same_noise(TWELVE), 10**5, 1.0, 1e-6
    yield "N = 1e5, 12 messages, 12 noises", "blanket", one_by_one, 10**5, 1.0, 1e-6
    yield "N = 1e5, a choice of 1000", "blanket", same_noise([Domain(1000, 1, 1)]), 10**5, 1.0, 1e-6
    yield "N = 1e6, set bits alone", "blanket", same_noise([FREE_BIT], 2), 10**6, 1.0, 1e-6
    yield "N = 1e7, L = 40, outlier", "outlier", same_noise(FORTY), 10**7, 2.0, 1e-8


def five_answers(local, rounds):
    """One of five answers, in each of several rounds."""
    part = Part(Domain(5, 1, 1), KAry.from_epsilon(local, 5))
    return Contribution.of(Schema.of([part]), rounds)


def rounds_of_five_answers():
    """The composition alone, the epsilon, and the noise of many rounds, by the analysis shuffle.

    Each run has a different crowd, so that nothing is remembered.
    """
    more = itertools.count()
    for rounds, local, crowd, bar in (
        (100, 0.5, 10**5, "at most 1 s"),
        (100, 4.0, 10**6, "at most 1 s"),
        (10**6, 1.0, 10**6, "at most 5 s"),
    ):
        one = privacy_curve("shuffle", five_answers(local, 1), crowd)
        theirs, sent = to_dp_accounting(one), five_answers(local, rounds)
        what = f"{rounds:,} rounds, five answers, N = {crowd:,}"
        yield row(
            f"composition of {what}, local epsilon {local:g}",
            lambda one=one, n=rounds: (one**n).epsilon(1e-6),
            "dp-accounting, from the same curve of one round",
            lambda one=theirs, n=rounds: one.self_compose(n).get_epsilon_for_delta(1e-6),
        )
        yield row(
            f"epsilon of {what}, local epsilon {local:g}",
            lambda sent=sent, n=crowd: smallest_epsilon("shuffle", sent, n + next(more), 1e-6),
            bar=bar,
        )
        yield row(
            f"noise of {what}, epsilon 2",
            lambda n=crowd, r=rounds: smallest_noise(
                "shuffle", lambda f: five_answers(-f.logit, r), n + next(more), 2.0, 1e-6
            ),
            bar=bar,
        )


def rows():
    """Every measurement."""
    report = free(0.3805, 40)
    yield row("blanket delta, N = 1e8, L = 40", lambda: certify("blanket", report, 10**8, 1.0))
    yield row("outlier delta, N = 1e7, L = 40", lambda: _outlier(10**7), runs=3)
    yield row(
        "blanket delta of 1e-6, N = 1e5, L = 8",
        lambda: certify("blanket", free(0.2359, 8), 10**5, 1.0),
        f"Monte Carlo, {DRAWS:,} draws, of which a few count",
        simulated,
    )
    for what, *wanted in calibrations():
        yield row(f"calibration, {what}", lambda wanted=wanted: smallest_noise(*wanted), runs=1)
    yield row(
        "100-fold local composition",
        lambda: certify("local", Contribution.of(free(0.4, 1), 100), 2, 1.0),
        "dp-accounting, composed in a loop",
        composed_by_pld,
        runs=1,
    )
    yield from rounds_of_five_answers()
    for exponent in (4, 6, 8):
        crowd = 10**exponent
        schema = Schema.uniform(
            FORTY, smallest_noise("blanket", same_noise(FORTY), crowd, 1.0, 1e-8)
        )
        yield row(
            f"blanket delta, N = 1e{exponent}, L = 40, calibrated noise",
            lambda s=schema, n=crowd: certify("blanket", s, n, 1.0),
        )


def _outlier(crowd):
    return worst_delta(outlier_candidates(free(0.3432, 40)), crowd, 2.0)
