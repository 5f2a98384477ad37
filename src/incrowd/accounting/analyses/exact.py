"""The analysis `exact`: every collection is tried; for one bit, or few bits and few people."""

from __future__ import annotations

from incrowd.accounting import enumeration, one_bit
from incrowd.accounting.analyses.base import Analysis, Found
from incrowd.accounting.enumeration import Case
from incrowd.accounting.parts import flip_of
from incrowd.accounting.schema import FREE_BIT, Sent
from incrowd.channels.base import ROUNDING
from incrowd.channels.bit_flip import BitFlip
from incrowd.errors import PrivacyError
from incrowd.numerics.positive_part import Bounds
from incrowd.numerics.precision import ENUMERATED
from incrowd.survey import Domain

NAME = "exact"
MOST_BITS = 5
NEAR = 1e-6  # share of the local epsilon
MOST_PEOPLE = 1_000_000  # half a minute


class Exact(Analysis):
    """Exact delta and eta over all collections."""

    name = NAME
    assumption = (
        "The shuffler removes every link between a report and its sender, and at least the named "
        "number of honest people take part, each sending as the plan says. Every collection of "
        "their answers was tried."
    )
    scalable = False

    def certificate(self, sent: Sent, crowd: int, epsilon: float) -> Found:
        """delta at epsilon, from `figures`."""
        return self.figures(sent, crowd, epsilon)[0]

    def eta(self, sent: Sent, crowd: int, epsilon: float) -> float:
        """P[privacy ratio > e^epsilon], from `figures`."""
        return self.figures(sent, crowd, epsilon)[1]

    def figures(self, sent: Sent, crowd: int, epsilon: float) -> tuple[Found, float]:
        """The largest delta and eta over all collections, and the collection of that delta.

        Raises PrivacyError for several reports, several kinds of questions, a channel that is no
        bit flip, or too many collections.
        """
        domain, channel = _single(sent)
        if crowd > MOST_PEOPLE:
            allowed = f"should be at most {MOST_PEOPLE:,}, or use the analysis blanket"
            raise PrivacyError.of("crowd", crowd, allowed)
        if domain == FREE_BIT:
            found = one_bit.one_bit(channel, crowd, epsilon)
            largest, eta = found.worst_delta, found.worst_eta.value
            largest = _doubted(largest, channel, crowd, epsilon)
        else:
            largest, eta_case = enumeration.enumerate_all(domain, channel, crowd, epsilon)
            eta = eta_case.value
        exact, slack = largest.value, ENUMERATED
        lower = max(exact * (1 - 2 * slack) - 2 * largest.doubt, 0.0)
        bounds = Bounds(lower, max(exact * (1 - slack) - largest.doubt, lower), exact)
        return Found(bounds, _words(largest, domain.bits)), eta


def _doubted(case: Case, channel: BitFlip, crowd: int, epsilon: float) -> Case:
    """With what the last digits of epsilon do to it, next to the local epsilon."""
    if channel.epsilon - epsilon > NEAR * channel.epsilon:
        return case
    beyond = epsilon + 2 * ROUNDING * channel.epsilon
    ones = dict(case.others).get(1, 0)
    value, _ = one_bit.one_bit_at(channel, crowd, beyond, ones)
    return case._replace(doubt=case.value - value)


def _words(case: enumeration.Case, bits: int) -> str:
    others = ", ".join(f"{n:,} x {record:0{bits}b}" for record, n in sorted(case.others) if n)
    x, other = (f"{record:0{bits}b}" for record in case.pair)
    return f"x = {x}, x' = {other}, the others hold {others or 'nothing'}"


def _single(sent: Sent) -> tuple[Domain, BitFlip]:
    """The one question (or the free bits) of a report that can be enumerated."""
    schema = sent.single
    if schema is None or len(schema.parts) > 1:
        what = "several reports" if schema is None else "questions of several kinds"
        raise PrivacyError.of("analysis", NAME, f"it cannot do {what}; use the analysis blanket")
    (part, count), *_ = schema.parts
    if count > 1 and part.domain != FREE_BIT:
        raise PrivacyError.of(
            "analysis", NAME, "it does one question (or bits); use the analysis blanket"
        )
    domain = Domain(count, 0, count) if count > 1 else part.domain
    if domain.bits > MOST_BITS:
        allowed = f"it does at most {MOST_BITS} bits, not {domain.bits}; use blanket"
        raise PrivacyError.of("analysis", NAME, allowed)
    return domain, flip_of(part, NAME)


EXACT = Exact()
