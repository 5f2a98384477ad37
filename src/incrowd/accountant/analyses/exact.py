"""The analysis `exact`: the worst collection of all; for one bit, or few bits and few people."""

from __future__ import annotations

from typing import Final

from incrowd.accountant import enumeration, one_bit
from incrowd.accountant.analyses.base import AnalysisResult
from incrowd.accountant.analyses.composing import Composing
from incrowd.accountant.channels.base import ROUNDING
from incrowd.accountant.channels.bit import Bit, as_bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import Held, WorstPair
from incrowd.accountant.enumeration import Case
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.numerics.precision import ENUMERATED
from incrowd.accountant.one_bit import WORST_TOLERANCE, typical_spread, worst_crowd
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Schema, as_flip, flip_of
from incrowd.errors import PrivacyError

NAME: Final = "exact"
MOST_BITS = 5
NEAR = 1e-6  # as a share of the local epsilon
FEW_PEOPLE = 1000  # in up to so many, the very worst collection of one bit is quick to find
MOST_PEOPLE = 1_000_000  # half a minute; only for eta, for which this is the only exact method


class Exact(Composing):
    """Exact delta and eta over all collections.

    For one bit in a crowd of more than 1,000, delta is certified within 1e-4, by sub-crowds.
    """

    name = NAME
    assumption = "every-crowd-tried"
    scalable = False

    def one(self, schema: Schema, crowd: int, epsilon: float) -> AnalysisResult:
        """Return the largest delta over all collections, and the collection that attains it.

        Raises PrivacyError if there are several kinds of questions, a channel of several bits is
        not a bit flip, or there are too many collections.
        """
        channel = one_bit_channel(schema)
        if channel is None:
            return _every_collection(schema, crowd, epsilon)[0]
        tolerance = 0.0 if crowd <= FEW_PEOPLE else WORST_TOLERANCE
        largest = worst_crowd(channel, crowd, epsilon, tolerance)
        held = ((0, crowd - 1 - largest.ones), (1, largest.ones))
        worst = _worst_pair((largest.x, 1 - largest.x), held, 1)
        return AnalysisResult(DeltaBounds(largest.lower, largest.lower, largest.upper), (worst,))

    def bit(self, schema: Schema) -> Bit:
        """Return the channel of the bit. Raises PrivacyError unless the report is one bit."""
        channel = one_bit_channel(schema)
        if channel is None:
            raise PrivacyError.of("analysis", "accountant.composes-bits", value=NAME)
        return channel

    def spread(self, schema: Schema, crowd: int) -> float:
        """Return the approximate standard deviation of one report's loss."""
        return typical_spread(self.bit(schema), crowd)

    def eta(self, sent: Contribution, crowd: int, epsilon: float) -> float:
        """Return P[privacy ratio > e^epsilon], from `figures`."""
        return self.figures(sent, crowd, epsilon)[1]

    def figures(
        self, sent: Contribution, crowd: int, epsilon: float
    ) -> tuple[AnalysisResult, float]:
        """Return the largest delta and eta over all collections.

        For several reports, or one bit in a crowd of more than a million, eta is only a bound.
        Raises PrivacyError as `one` does.
        """
        if sent.single is None or _too_many(one_bit_channel(sent.single), crowd):
            return self.certificate(sent, crowd, epsilon), self.eta_bound(sent, crowd, epsilon)
        return _every_collection(sent.single, crowd, epsilon)


def one_bit_channel(schema: Schema) -> Bit | None:
    """Return the channel of a report of one free bit;
    None for other reports or other denominators."""
    (part, count), *others = schema.parts
    if others or count > 1 or part.domain != FREE_BIT:
        return None
    flip = as_flip(part.channel)
    return Bit.from_flip(flip) if flip else as_bit(part.channel)


def _too_many(channel: Bit | None, crowd: int) -> bool:
    """Return whether one bit has too many collections, or is not symmetric,
    so that eta is a bound."""
    return channel is not None and (crowd > MOST_PEOPLE or not channel.symmetric)


def _every_collection(schema: Schema, crowd: int, epsilon: float) -> tuple[AnalysisResult, float]:
    domain, channel = _single(schema)
    if domain == FREE_BIT:
        cases = one_bit.one_bit(channel, crowd, epsilon)
        largest, eta = cases.worst_delta, cases.worst_eta.value
        largest = _doubted(largest, channel, crowd, epsilon)
    else:
        largest, eta_case = enumeration.enumerate_all(domain, channel, crowd, epsilon)
        eta = eta_case.value
    exact, slack = largest.value, ENUMERATED
    lower = max(exact * (1 - 2 * slack) - 2 * largest.doubt, 0.0)
    bounds = DeltaBounds(lower, max(exact * (1 - slack) - largest.doubt, lower), exact)
    worst = _worst_pair(largest.pair, largest.others, domain.bits)
    return AnalysisResult(bounds, (worst,)), eta


def _doubted(case: Case, channel: BitFlip, crowd: int, epsilon: float) -> Case:
    """Add the doubt that comes from the last digits of epsilon, close to the local epsilon."""
    if channel.epsilon - epsilon > NEAR * channel.epsilon:
        return case
    beyond = epsilon + 2 * ROUNDING * channel.epsilon
    ones = dict(case.others).get(1, 0)
    value, _ = one_bit.one_bit_at(channel, crowd, beyond, ones)
    return case._replace(doubt=case.value - value)


def _worst_pair(pair: enumeration.RecordPair, held: enumeration.Others, bits: int) -> WorstPair:
    x, other = (f"{record:0{bits}b}" for record in pair)
    others = (Held(record=f"{record:0{bits}b}", people=n) for record, n in sorted(held) if n)
    return WorstPair(code="collection", records=(x, other), others=tuple(others))


def _single(schema: Schema) -> tuple[Domain, BitFlip]:
    """Return the one question (or the free bits) of a report that can be enumerated."""
    if len(schema.parts) > 1:
        raise PrivacyError.of("analysis", "accountant.one-kind-of-question", value=NAME)
    (part, count), *_ = schema.parts
    if count > 1 and part.domain != FREE_BIT:
        raise PrivacyError.of("analysis", "accountant.one-question", value=NAME)
    domain = Domain(count, 0, count) if count > 1 else part.domain
    if domain.bits > MOST_BITS:
        raise PrivacyError.of(
            "analysis", "accountant.too-many-bits", value=NAME, most=MOST_BITS, bits=domain.bits
        )
    return domain, as_flip(part.channel) or flip_of(part, NAME)


EXACT = Exact()
