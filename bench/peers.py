"""Flips by other libraries, in their own environment: seconds for a report of 64 bits, as JSON.

Each is called in the quickest way that it offers. This file knows nothing of incrowd.

    python bench/peers.py
"""

import json
import math
import os
import statistics
import time
from importlib.metadata import version

BITS = 64
Q = 0.35
EPSILON = 2 * math.log((1 - Q) / Q)  # symmetric unary encoding: ln(p/q) in each of two bits
RUNS = 5


def opendp(reports=4_000):
    """All bits in one vector, which is quicker than a vector a report."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.bitvector_domain(max_weight=BITS * reports)
    flip = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=2 * Q)
    data = os.urandom(BITS * reports // 8)
    return lambda: flip(data), reports


def multi_freq_ldpy(reports=40_000):
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    return lambda: [UE_Client(5, BITS, EPSILON, False) for _ in range(reports)], reports


def pure_ldp(reports=10_000):
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    client = UEClient(EPSILON, BITS)
    return lambda: [client.privatise(5) for _ in range(reports)], reports


def seconds_each(work, reports):
    work()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times) / reports


PEERS = {"opendp": opendp, "multi-freq-ldpy": multi_freq_ldpy, "pure-ldp": pure_ldp}

if __name__ == "__main__":
    found = {f"{name} {version(name)}": seconds_each(*make()) for name, make in PEERS.items()}
    print(json.dumps(found))
