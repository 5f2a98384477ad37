"""Certificates, calibrations and plans by the least of all bounds, beside the blanket's."""

import incrowd
from bench.accounting import TWELVE, same_noise
from bench.measure import row
from incrowd.accountant import seat
from incrowd.accountant.schema import FREE_BIT, Schema

EPSILON, DELTA = 1.0, 1e-6
CERTIFICATES = {  # domains, crowd, epsilon, delta; what a certificate may take, in seconds
    "8 bits, N = 1e5": ([FREE_BIT] * 8, 10**5, 1.0, 1e-6, 0.1),
    "40 bits, N = 1e7": ([FREE_BIT] * 40, 10**7, 2.0, 1e-8, 5.0),
    "1 bit, N = 1e9": ([FREE_BIT], 10**9, 1.0, 1e-8, 0.1),
    "12 questions, N = 50,000": (TWELVE, 50_000, 1.0, 1e-6, None),
}


def fresh(work):
    """The same work, with nothing remembered."""

    def done():
        seat.bound.cache_clear()
        seat.seats.cache_clear()
        return work()

    return done


def certificate(analysis, domains, flip, crowd, epsilon):
    schema = Schema.uniform(domains, flip)
    return fresh(lambda: incrowd.certify(analysis, schema, crowd, epsilon))


def calibration(analysis, domains, *promise):
    return fresh(lambda: incrowd.smallest_noise(analysis, same_noise(domains), *promise))


def planned(analysis, **more):
    """A plan of twelve questions for 50,000 people."""
    sizes = {1: "yesno", 5: "choice", 8: "multi", 10: "choice"}
    questions = [
        {"id": f"q{number}", "type": sizes[domain.bits]}
        | ({"options": [f"o{i}" for i in range(domain.bits)]} if domain.bits > 1 else {})
        | ({"at_most": domain.most} if sizes[domain.bits] == "multi" else {})
        for number, domain in enumerate(TWELVE)
    ]
    privacy = {"epsilon": EPSILON, "delta": DELTA, "analysis": analysis}
    raw = {"name": "twelve", "crowd": 50_000, "privacy": privacy, "question": questions}
    survey = incrowd.Survey.of(raw | more)
    return fresh(lambda: incrowd.plan(survey))


def rows():
    """Every measurement; the peer is the same by the blanket."""
    for what, (domains, *promise, most) in CERTIFICATES.items():
        crowd, epsilon, _ = promise
        flip = incrowd.smallest_noise("shuffle", same_noise(domains), *promise)
        works = [certificate(by, domains, flip, crowd, epsilon) for by in ("shuffle", "blanket")]
        bar = f"at most {most:g} s" if most else ""
        yield row(f"certificate, {what}", works[0], "blanket", works[1], runs=3, bar=bar)
        works = [calibration(by, domains, *promise) for by in ("shuffle", "blanket")]
        bar = f"at most {10 * most:g} s" if most else ""
        yield row(f"calibration, {what}", works[0], "blanket", works[1], runs=1, bar=bar)
    for what, more, most in (
        ("in one message", {}, 5),
        ("under a budget of 20 reports", {"reports_per_person": 20}, 40),
    ):
        works = [planned(by, **more) for by in ("shuffle", "blanket")]
        bar = f"at most {most} s"
        yield row(f"plan of 12 questions {what}", works[0], "blanket", works[1], runs=1, bar=bar)
