"""What one person sends: reports, what travels in each, and how many there are of each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from incrowd.accountant.channels.answers import takes_answers
from incrowd.accountant.channels.base import ROUNDING, Channel
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip, is_flip
from incrowd.errors import InWords, PrivacyError

# The records that a question allows.


class Domain(NamedTuple):
    """The records one question allows: the sets of `fewest` to `most` of `bits` options.

    One yes/no question is (1, 0, 1), a choice of c options (c, 1, 1), at most m of c (c, 0, m).
    """

    bits: int
    fewest: int
    most: int

    @property
    def distance(self) -> int:
        """The largest Hamming distance between two allowed records."""
        sizes = min(max(self.bits, 2 * self.fewest), 2 * self.most)
        return min(sizes, 2 * self.bits - sizes)


# One question in a report: the records it allows and the channel of its bits, or of its option.


AnyChannel = Channel


class Part(NamedTuple):
    """One question in a report. Different questions may have different channels.

    channel: of each bit of the domain; or of whole answers, then the report is an option itself and
    the domain a choice of as many options.
    """

    domain: Domain
    channel: AnyChannel

    @property
    def local_epsilon(self) -> float:
        """The largest log-likelihood ratio of two allowed records, rounded up."""
        return _largest_sum(self.domain, *self.channel.losses) * (1 + ROUNDING)

    @property
    def log_phi(self) -> float:
        """ln max E[P(s|x) / P(s|x')], s a report of x: distance times ln phi for a bit flip.

        Sufficient DP (3.14), for any channel: one more than the chi-square divergence.
        """
        return _largest_sum(self.domain, *self.channel.log_phis)


def check_part(part: Part) -> None:
    """Raises PrivacyError for a channel that does not fit the domain, or reveals an answer."""
    domain, channel = part
    if takes_answers(channel):
        if domain != (channel.options, 1, 1):
            allowed = (
                f"it is for a choice of {channel.options} options; use it only for such a question"
            )
            raise PrivacyError.of("channel", InWords(channel), allowed)
    elif channel.numerators.shape != (2, 2):
        allowed = "no analysis supports it; use a channel of one bit, or of answers, such as k-ary"
        raise PrivacyError.of("channel", InWords(channel), allowed)
    if channel.epsilon == math.inf:
        allowed = "some report would reveal an answer; add noise"
        raise PrivacyError.of("channel", InWords(channel), allowed)


def flip_of(part: Part, analysis: str) -> BitFlip:
    """The bit flip of a part. Raises PrivacyError for any other channel."""
    if not is_flip(part.channel):
        allowed = f"it is for bit flips, not for {part.channel}; use shuffle or local"
        raise PrivacyError.of("analysis", analysis, allowed)
    return part.channel


def as_flip(channel: AnyChannel) -> BitFlip | None:
    """Return the bit flip that reveals exactly as much as a symmetric one-bit channel, if any.

    Below p = 1/2 it is that of the reversed reports: use it for privacy, not for estimates.
    """
    if is_flip(channel):
        return channel
    if takes_answers(channel) or channel.numerators.shape != (2, 2):
        return None
    (same, reversed_), (other, also_same) = channel.numerators
    numerator, rest = divmod(min(same, other) * DENOMINATOR, channel.denominator)
    if (same, other) != (also_same, reversed_) or rest or not 0 < numerator < DENOMINATOR // 2:
        return None
    return BitFlip(int(numerator))


def widened(part: Part) -> Part:
    """The same with every record allowed, if more than half of the options may be chosen.

    More allowed records only make the common part of all reports smaller: an upper bound, and a
    close one, since then any two records that differ everywhere are allowed or nearly so.
    """
    (bits, fewest, most), channel = part
    if fewest or 2 * most <= bits:
        return part
    return Part(Domain(bits, 0, bits), channel)


def at_most_flip(part: Part) -> Part:
    """A bit flip in the place of a channel that is not symmetric.

    Each bit is post-processing of the bit flip with its local epsilon (Kairouz, Oh, Viswanath
    2015, theorem 3.1), which thus tells at least as much. Raises PrivacyError if that has no noise.
    """
    if part.channel.of_answers or part.channel.alike:
        return part
    nearest = BitFlip.from_logit(-max(part.channel.losses)).numerator
    return Part(part.domain, BitFlip(max(nearest - 2, 0)))


@lru_cache(maxsize=1024)
def farthest(domain: Domain) -> tuple[tuple[int, int], ...]:
    """The largest pairs (|x minus x'|, |x' minus x|) of two allowed records."""
    _, _, most = domain
    pairs: list[tuple[int, int]] = []
    for u in range(most, -1, -1):
        v = max((v for v in range(most + 1) if _allowed(domain, u, v)), default=-1)
        if v > (pairs[-1][1] if pairs else -1):
            pairs.append((u, v))
    return tuple(pairs)


def _allowed(domain: Domain, u: int, v: int) -> bool:
    """Whether two records can differ like that, having in common what they must."""
    common = max(0, domain.fewest - min(u, v))
    return max(u, v) + common <= domain.most and u + v + common <= domain.bits


def _largest_sum(domain: Domain, first: float, second: float) -> float:
    """The largest u first + v second."""
    if first == second:
        return domain.distance * first
    return max(u * first + v * second for u, v in farthest(domain))


def bit_log_ratios(channel: AnyChannel) -> tuple[float, float]:
    """ln P(s|1) / P(s|0) of the reports s = 0 and s = 1 of a bit, with a relative error of 2^-51.

    From the exact difference of the probabilities, so that noise next to 1/2 costs no digits.
    """
    (zero_if_zero, zero_if_one), (one_if_zero, one_if_one) = channel.numerators
    return log_ratio(zero_if_one, zero_if_zero), log_ratio(one_if_one, one_if_zero)


def log_ratio(one: int, other: int) -> float:
    """ln(one / other) of two positive integers."""
    if one < other:
        return -log_ratio(other, one)
    return math.log1p((one - other) / other)


MOST_FREE_BITS = 64
FREE_BIT = Domain(1, 0, 1)

__all__ = ["FREE_BIT", "MOST_FREE_BITS", "Part", "Schema", "Sent", "check_crowd", "check_epsilon"]


class Schema(NamedTuple):
    """The parts of a report, equal ones counted together; their order does not matter."""

    parts: tuple[tuple[Part, int], ...]

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Schema:
        """Group equal parts.

        Raises PrivacyError for no question, more than 64 yes/no questions, or a channel that does
        not fit its domain.
        """
        counted = Counter(parts)
        bits = sum(count for part, count in counted.items() if part.domain == FREE_BIT)
        if not counted or bits > MOST_FREE_BITS:
            allowed = f"use 1 to {MOST_FREE_BITS} free bits, or other questions, in a report"
            raise PrivacyError.of("bits", bits, allowed)
        for part in counted:
            check_part(part)
        return cls(tuple(sorted(counted.items(), key=repr)))

    @classmethod
    def uniform(cls, domains: Iterable[Domain], channel: AnyChannel) -> Schema:
        """All questions with the same channel."""
        return cls.of(Part(domain, channel) for domain in domains)

    @property
    def local_epsilon(self) -> float:
        """The local guarantee of one report: the sum of its parts'."""
        return sum(count * part.local_epsilon for part, count in self.parts)


Counts = tuple[tuple[Schema, int], ...]  # how many independent reports of each schema


@dataclass(frozen=True)
class Sent:
    """Everything one person sends: schemas, and how many independent reports of each.

    reports: each goes to a separate collection, with a separate crowd. Reports of one person that
    share a collection reveal no more, since mixing only hides (docs/mathematics.md#composition).
    linked: reports that count as if they carried the person's name: no crowd hides them. redraws:
    the sum of -ln(1 - t) over rounds in which noise was drawn again with a probability of at most t
    per person (docs/mathematics.md#composition).
    """

    reports: Counts
    linked: Counts = ()
    redraws: float = 0.0

    @classmethod
    def of(cls, schema: Schema, copies: int = 1, *, linked: bool = False) -> Sent:
        """Return `copies` reports of one schema. Raises PrivacyError unless there is at least
        one."""
        if copies < 1:
            raise PrivacyError.of("copies", copies, "should be at least 1")
        reports = ((schema, copies),)
        return cls((), reports) if linked else cls(reports)

    def also(self, other: Sent) -> Sent:
        """Return both together; reports of equal schemas are counted together."""
        return Sent(
            _together(self.reports, other.reports),
            _together(self.linked, other.linked),
            self.redraws + other.redraws,
        )

    @property
    def every(self) -> Counts:
        """All reports, hidden by a crowd or not."""
        return self.reports + self.linked

    @property
    def single(self) -> Schema | None:
        """The schema, if there is only one report and a crowd hides it; else None."""
        return self.reports[0][0] if self.reports and self.copies == 1 else None

    @property
    def copies(self) -> int:
        """The number of reports."""
        return sum(copies for _, copies in self.every)

    @property
    def parts(self) -> tuple[tuple[Part, int], ...]:
        """All parts of all reports, as if they were one."""
        counted: Counter[Part] = Counter()
        for schema, copies in self.every:
            for part, count in schema.parts:
                counted[part] += count * copies
        return tuple(counted.items())

    @property
    def local_epsilon(self) -> float:
        """The local guarantee of everything: the sum of the reports', and of her own redraws."""
        return self.redraws + sum(copies * schema.local_epsilon for schema, copies in self.every)


def _together(one: Counts, other: Counts) -> Counts:
    counted: Counter[Schema] = Counter()
    for schema, copies in one + other:
        counted[schema] += copies
    return tuple(sorted(counted.items(), key=repr))


@dataclass(frozen=True)
class Alternatives:
    """What one person sends, if the affected reports depend on which of her answers change.

    A change affects at most the reports of one alternative; a guarantee has to hold for all. Two
    can be equal, for instance with equal noise: the order of the alternatives does not depend on
    the noise (docs/mathematics.md#parities).
    """

    each: tuple[Sent, ...]

    def also(self, other: AnySent) -> Alternatives:
        """Return both together; the answers that change in one do not determine those in the
        other."""
        pairs = product(self.each, alternatives(other))
        return Alternatives(tuple(one.also(two) for one, two in pairs))

    @property
    def local_epsilon(self) -> float:
        """The local guarantee of everything: the largest of any."""
        return max(sent.local_epsilon for sent in self.each)


AnySent = Sent | Alternatives
Sendable = Sent | Schema | Channel  # a schema, or a channel, stands for one report


def alternatives(sent: Alternatives | Sendable) -> tuple[Sent, ...]:
    """What a person may send, one for each way in which her answers can change."""
    return sent.each if isinstance(sent, Alternatives) else (as_sent(sent),)


def as_sent(sent: Sendable) -> Sent:
    """A schema by itself stands for one report; a channel by itself for one of one question, with
    one bit, or with as many options as the channel has."""
    if isinstance(sent, Channel):
        domain = Domain(sent.options, 1, 1) if takes_answers(sent) else FREE_BIT
        sent = Schema.of([Part(domain, sent)])
    return sent if isinstance(sent, Sent) else Sent.of(sent)


def check_crowd(crowd: int) -> None:
    """Raises PrivacyError for a crowd of fewer than two."""
    if crowd < 2:
        raise PrivacyError.of("crowd", crowd, "should be at least 2 honest people")


def check_epsilon(epsilon: float) -> None:
    """Raises PrivacyError unless epsilon is a number of at least 0."""
    if not 0 <= epsilon < 700:
        raise PrivacyError.of("epsilon", epsilon, "should lie between 0 and 700")


def check_promise(crowd: int, epsilon: float, delta: float) -> None:
    """Raises PrivacyError for a crowd, an epsilon or a delta (or eta) out of range."""
    check_crowd(crowd)
    check_epsilon(epsilon)
    if not 0 < delta < 1:
        raise PrivacyError.of("delta", delta, "should lie strictly between 0 and 1")
