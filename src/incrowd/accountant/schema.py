"""The reports of one person: how many there are, and the questions in each of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeVar

from incrowd.accountant.additive import AdditiveNoise
from incrowd.accountant.channels.answers import takes_answers
from incrowd.accountant.channels.base import ROUNDING, Channel, rounded_up
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip, is_flip
from incrowd.arguments import checked_class, presentable, works
from incrowd.errors import ArgumentError, PrivacyError, quantity


@checked_class
class Domain(NamedTuple):
    """The records that one question allows: the sets of `fewest` to `most` of `bits` options.

    Attributes
    ----------
    bits : int
        The number of options.
    fewest, most : int
        How many options a record contains. A yes/no question is (1, 0, 1), a choice of c options
        (c, 1, 1), and at most m of c options (c, 0, m).

    Raises
    ------
    PrivacyError
        Unless 0 <= fewest <= most <= bits and bits >= 1.

    Examples
    --------
    >>> from incrowd import accountant
    >>> accountant.Domain(5, 1, 1).distance  # between two choices
    2
    """

    bits: int
    fewest: int
    most: int

    def __post_init__(self) -> None:
        """Raise PrivacyError unless 0 <= fewest <= most <= bits, and there is a bit."""
        if not 0 <= self.fewest <= self.most <= self.bits or self.bits < 1:
            raise PrivacyError.of("domain", "accountant.no-domain", value=tuple(self))

    @property
    def distance(self) -> int:
        """The largest Hamming distance between two allowed records."""
        sizes = min(max(self.bits, 2 * self.fewest), 2 * self.most)
        return min(sizes, 2 * self.bits - sizes)


@checked_class
class Part(NamedTuple):
    """One question in a report, with its channel.

    Attributes
    ----------
    domain : Domain
        The records that the question allows.
    channel : Channel
        Applied to each bit of the domain, or to the whole answer. In the second case the report is
        itself an option, and the domain is a choice among as many options.

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(1.0)
    >>> part = accountant.Part(accountant.Domain(5, 1, 1), flip)
    >>> round(part.local_epsilon, 4)  # two of the five bits change
    2.0
    """

    domain: Domain
    channel: Channel

    @property
    def local_epsilon(self) -> float:
        """The largest log-likelihood ratio of two allowed records, rounded up."""
        return _largest_sum(self.domain, *self.channel.losses) * (1 + ROUNDING)

    @property
    def log_phi(self) -> float:
        """ln max E[P(s|x) / P(s|x')], where s is a report of x: 1 plus the chi-square divergence.

        For a bit flip it is the distance times ln phi: Sufficient DP, equation (3.14).
        """
        return _largest_sum(self.domain, *self.channel.log_phis)


def check_part(part: Part) -> None:
    """Raise PrivacyError if the channel does not fit the domain or reveals an answer."""
    domain, channel = part
    if takes_answers(channel):
        if domain != (channel.options, 1, 1):
            raise PrivacyError.of(
                "channel",
                "accountant.channel-of-choice",
                channel=channel.description,
                options=channel.options,
            )
    elif channel.numerators.shape != (2, 2):
        name = channel.description
        raise PrivacyError.of("channel", "accountant.unsupported-channel", channel=name)
    if channel.epsilon == math.inf:
        name = channel.description
        raise PrivacyError.of("channel", "accountant.revealing-channel", channel=name)


def flip_of(part: Part, analysis: str) -> BitFlip:
    """Return the bit flip of a part, or raise PrivacyError if its channel is not a bit flip."""
    if not is_flip(part.channel):
        name = part.channel.description
        raise PrivacyError.of("analysis", "accountant.for-bit-flips", value=analysis, channel=name)
    return part.channel


def as_flip(channel: Channel) -> BitFlip | None:
    """Return the bit flip that reveals exactly as much as a symmetric one-bit channel, or None.

    For p < 1/2 it describes the reversed reports: use it for privacy, not for estimates.
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
    """Return the part with every record allowed, if more than half of the options may be chosen.

    More allowed records can only shrink the common part of all reports, so this gives an upper
    bound. It is close, since two records that differ everywhere were allowed before, or nearly so.
    """
    (bits, fewest, most), channel = part
    if fewest or 2 * most <= bits:
        return part
    return Part(Domain(bits, 0, bits), channel)


def at_most_flip(part: Part) -> Part:
    """Return the part with a bit flip in place of a channel that is not symmetric.

    Each bit is a post-processing of the bit flip with the same local epsilon (Kairouz, Oh,
    Viswanath 2015, theorem 3.1), which therefore reveals at least as much. Raises PrivacyError if
    that bit flip would have no noise.
    """
    if part.channel.of_answers or part.channel.alike:
        return part
    nearest = BitFlip.from_logit(-max(part.channel.losses)).numerator
    return Part(part.domain, BitFlip(max(nearest - 2, 0)))


@lru_cache(maxsize=1024)
def farthest(domain: Domain) -> tuple[tuple[int, int], ...]:
    """Return the largest pairs (|x minus x'|, |x' minus x|) of two allowed records."""
    _, _, most = domain
    pairs: list[tuple[int, int]] = []
    for u in range(most, -1, -1):
        v = max((v for v in range(most + 1) if _allowed(domain, u, v)), default=-1)
        if v > (pairs[-1][1] if pairs else -1):
            pairs.append((u, v))
    return tuple(pairs)


def _allowed(domain: Domain, u: int, v: int) -> bool:
    """Return whether two allowed records x and x' can have |x minus x'| = u and |x'
    minus x| = v."""
    common = max(0, domain.fewest - min(u, v))
    return max(u, v) + common <= domain.most and u + v + common <= domain.bits


def _largest_sum(domain: Domain, first: float, second: float) -> float:
    """Return the largest u first + v second over the pairs (u, v) of `farthest`."""
    if first == second:
        return domain.distance * first
    return max(u * first + v * second for u, v in farthest(domain))


def bit_log_ratios(channel: Channel) -> tuple[float, float]:
    """Return ln P(s|1) / P(s|0) of the reports s = 0 and s = 1 of a bit, with a relative error of
    2^-51.

    Computed from the exact difference of the probabilities, so that noise near 1/2 costs no digits.
    """
    (zero_if_zero, zero_if_one), (one_if_zero, one_if_one) = channel.numerators
    return log_ratio(zero_if_one, zero_if_zero), log_ratio(one_if_one, one_if_zero)


def log_ratio(one: int, other: int) -> float:
    """Return ln(one / other) of two positive integers."""
    if one < other:
        return -log_ratio(other, one)
    return math.log1p((one - other) / other)


MOST_FREE_BITS = 64
MOST_PEOPLE = 10**15  # the tests go up to it
FREE_BIT = Domain(1, 0, 1)

__all__ = [
    "FREE_BIT",
    "MOST_FREE_BITS",
    "Contribution",
    "Part",
    "Schema",
    "check_crowd",
    "check_epsilon",
]


@checked_class
class Schema(NamedTuple):
    """The parts of one report. Equal parts are counted together; their order does not matter.

    Attributes
    ----------
    parts : tuple of (Part, int)
        Each part and how often it occurs. Use `Schema.of` to create it from a list of parts.

    Raises
    ------
    PrivacyError
        If there is no part, there are more than 64 yes/no questions, or a channel does not fit
        its domain.

    Examples
    --------
    >>> from incrowd.accountant import BitFlip, Domain, KAry, Part, Schema
    >>> yes_no = Part(Domain(1, 0, 1), BitFlip.from_epsilon(1.0))
    >>> choice = Part(Domain(5, 1, 1), KAry.from_epsilon(2.0, 5))
    >>> round(Schema.of([yes_no, yes_no, choice]).local_epsilon, 4)  # 1 + 1 + 2
    4.0
    """

    parts: tuple[tuple[Part, int], ...]

    def __post_init__(self) -> None:
        """Raise PrivacyError unless there are parts, and all channels fit."""
        bits = sum(count for part, count in self.parts if part.domain == FREE_BIT)
        if not self.parts or bits > MOST_FREE_BITS:
            raise PrivacyError.of(
                "bits", "accountant.number-of-free-bits", value=bits, most=MOST_FREE_BITS
            )
        for part, _ in self.parts:
            check_part(part)
            if part.channel.alone and sum(count for _, count in self.parts) > 1:
                name = part.channel.description
                raise PrivacyError.of("parts", "accountant.alone-in-a-report", channel=name)

    def __repr__(self) -> str:
        names = shortened(", ".join(f"{count} x {part.channel}" for part, count in self.parts))
        return f"Schema({names}; local epsilon {rounded_up(self.local_epsilon)})"

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Schema:
        """Return a report of these parts, in any order.

        Parameters
        ----------
        parts : iterable of Part
            Equal parts may occur several times.

        Raises
        ------
        PrivacyError
            If there is no part, there are more than 64 yes/no questions, a channel does not fit
            its domain, or a hidden sample is not the only part.
        """
        parts = list(parts)
        for part in parts:
            if not isinstance(part, Part):
                raise ArgumentError.of(
                    "parts", "shared.no-argument", value=presentable(part), wanted=works("Part")
                )
        counted = Counter(parts)
        return cls(tuple(sorted(counted.items(), key=_spelled_out)))

    @classmethod
    def uniform(cls, domains: Iterable[Domain], channel: Channel) -> Schema:
        """Return a report in which all questions have the same channel.

        Parameters
        ----------
        domains : iterable of Domain
            One for each question.
        channel : Channel
            The channel of every question.
        """
        return cls.of(Part(domain, channel) for domain in domains)

    @property
    def local_epsilon(self) -> float:
        """The local epsilon of one report: the sum over its parts."""
        return sum(count * part.local_epsilon for part, count in self.parts)


DomainCounts = tuple[tuple[Domain, int], ...]  # equal questions are counted
SchemaCounts = tuple[tuple[Schema, int], ...]  # how many independent reports of each schema
ShiftCounts = tuple[tuple[AdditiveNoise, int], ...]  # how many cells with each noise shift by one
K = TypeVar("K", Schema, AdditiveNoise)


@checked_class
@dataclass(frozen=True, repr=False)
class Contribution:
    """Everything that one person sends: schemas, and how many independent reports of each.

    Also, how many counts shift by one if that person's answers change, with the noise of each.

    Parameters
    ----------
    reports : tuple of (Schema, int)
        Each report goes to a separate collection, with a separate crowd. Reports of one person that
        share a collection reveal no more, since mixing only hides.
    linked : tuple of (Schema, int)
        Reports that are treated as if they carried the person's name, so that no crowd hides them.
    redraws : float
        The sum of -ln(1 - t) over the rounds in which noise was drawn again with a probability of
        at most t per person.
    shifts : tuple of (AdditiveNoise, int)
        By how many cells one person's change shifts counts with that noise, in total. The noise is
        what hides them from whoever is meant: that of one service, or the sum of both.

    Raises
    ------
    PrivacyError
        Unless `redraws` is finite and at least 0.

    Notes
    -----
    Proof: docs/mathematics.md#composition.

    Examples
    --------
    >>> from incrowd.accountant import BitFlip, Contribution, Domain, Schema
    >>> schema = Schema.uniform([Domain(1, 0, 1)], BitFlip.from_epsilon(1.0))
    >>> three = Contribution.of(schema, copies=3)
    >>> three.copies
    3
    >>> round(three.also(Contribution.of(schema)).local_epsilon, 4)  # four reports
    4.0
    """

    reports: SchemaCounts
    linked: SchemaCounts = ()
    redraws: float = 0.0
    shifts: ShiftCounts = ()

    def __post_init__(self) -> None:
        """Raise PrivacyError unless redraws is a finite number of at least 0."""
        if not 0 <= self.redraws < math.inf:
            raise PrivacyError.of("redraws", "accountant.finite-from-0", value=self.redraws)

    def __repr__(self) -> str:
        named = sum(copies for _, copies in self.linked)
        numbers = (
            (self.copies - named, "reports in a crowd"),
            (named, "reports with a name"),
            (self.shifted, "shifted counts"),
        )
        sent = ", ".join(quantity(number, what) for number, what in numbers if number) or "nothing"
        return f"Contribution({sent}; local epsilon {rounded_up(self.local_epsilon)})"

    @classmethod
    def of(cls, schema: Schema, copies: int = 1, *, linked: bool = False) -> Contribution:
        """Return independent reports of one schema.

        Parameters
        ----------
        schema : Schema
            The parts of each report.
        copies : int
            The number of reports.
        linked : bool
            Whether the reports are treated as if they carried the person's name.

        Raises
        ------
        PrivacyError
            If copies < 1.
        """
        if copies < 1:
            raise PrivacyError.of("copies", "accountant.at-least-one", value=copies)
        reports = ((schema, copies),)
        return cls((), reports) if linked else cls(reports)

    def also(self, other: Contribution) -> Contribution:
        """Return the reports and shifts of both; equal ones are counted together."""
        return Contribution(
            _together(self.reports, other.reports),
            _together(self.linked, other.linked),
            self.redraws + other.redraws,
            _together(self.shifts, other.shifts),
        )

    @property
    def every(self) -> SchemaCounts:
        """All reports, whether or not a crowd hides them."""
        return self.reports + self.linked

    @property
    def single(self) -> Schema | None:
        """The schema if there is only one report, and a crowd hides it, otherwise None."""
        alone = self.reports and self.copies == 1 and not self.shifts
        return self.reports[0][0] if alone else None

    @property
    def needs_crowd(self) -> bool:
        """Whether anything counts on a crowd."""
        return bool(self.reports) or self.redraws > 0

    @property
    def shifted(self) -> int:
        """The number of cells whose counts shift."""
        return sum(cells for _, cells in self.shifts)

    @property
    def copies(self) -> int:
        """The number of reports."""
        return sum(copies for _, copies in self.every)

    @property
    def parts(self) -> tuple[tuple[Part, int], ...]:
        """All parts of all reports, counted as if they were one report."""
        counted: Counter[Part] = Counter()
        for schema, copies in self.every:
            for part, count in schema.parts:
                counted[part] += count * copies
        return tuple(counted.items())

    @property
    def local_epsilon(self) -> float:
        """The local epsilon of everything together: the sum over the reports, plus redraws.

        It is infinite if counts shift: whoever knows all of their noise knows the counts.
        """
        if self.shifts:
            return math.inf
        return self.redraws + sum(copies * schema.local_epsilon for schema, copies in self.every)


def _together(
    one: tuple[tuple[K, int], ...], other: tuple[tuple[K, int], ...]
) -> tuple[tuple[K, int], ...]:
    counted: Counter[K] = Counter()
    for each, number in one + other:
        counted[each] += number
    return tuple(sorted(counted.items(), key=_spelled_out))


def _spelled_out(value: object) -> str:
    """Return everything that a value consists of, as text to sort by; `repr` leaves much out."""
    if is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in fields(value)]
    elif isinstance(value, tuple):
        names = list(getattr(value, "_fields", ()))
        if not names:
            return f"({', '.join(map(_spelled_out, value))})"
    else:
        return repr(value)
    parts = (f"{name}={_spelled_out(getattr(value, name))}" for name in names)
    return f"{type(value).__name__}({', '.join(parts)})"


WIDEST = 60  # characters of the channels in the text of a schema


def shortened(text: str) -> str:
    """Return a text that is short enough for `repr`."""
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 4]} ..."


@checked_class
@dataclass(frozen=True, repr=False)
class Alternatives:
    """Everything that one person sends, if the affected reports depend on which answers change.

    A change affects at most the reports of one alternative; a guarantee has to hold for all of
    them.

    Parameters
    ----------
    each : tuple of Contribution
        The alternatives. Two may be equal, for instance if their noise is equal: their order does
        not depend on the noise.

    Raises
    ------
    PrivacyError
        If there is none.

    Notes
    -----
    Proof: docs/mathematics.md#parities.

    Examples
    --------
    >>> from incrowd.accountant import Alternatives, BitFlip, Contribution, Domain, Schema
    >>> schema = Schema.uniform([Domain(1, 0, 1)], BitFlip.from_epsilon(1.0))
    >>> one, three = Contribution.of(schema), Contribution.of(schema, copies=3)
    >>> round(Alternatives((one, three)).local_epsilon, 4)  # the larger one
    3.0
    """

    each: tuple[Contribution, ...]

    def __post_init__(self) -> None:
        """Raise PrivacyError if there is no alternative."""
        if not self.each:
            raise PrivacyError.of("each", "accountant.no-alternatives")

    def __repr__(self) -> str:
        number = quantity(len(self.each), "contributions")
        return f"Alternatives({number}; local epsilon {rounded_up(self.local_epsilon)})"

    def also(self, other: AnyContribution) -> Alternatives:
        """Return both together, for changes of answers that are independent of each other."""
        pairs = product(self.each, alternatives(other))
        return Alternatives(tuple(one.also(two) for one, two in pairs))

    @property
    def local_epsilon(self) -> float:
        """The local epsilon of everything together: the largest over the alternatives."""
        return max(sent.local_epsilon for sent in self.each)


AnyContribution = Contribution | Alternatives
Sendable = Contribution | Schema | Channel  # a schema, or a channel, stands for one report


def alternatives(sent: Alternatives | Sendable) -> tuple[Contribution, ...]:
    """Return the alternatives, one for each way in which the answers can change; often only one."""
    return sent.each if isinstance(sent, Alternatives) else (as_contribution(sent),)


def as_contribution(sent: Sendable) -> Contribution:
    """Return a schema as one report, and a channel as one report of one question.

    That question is one bit, or a choice among as many options as the channel has.
    """
    if not isinstance(sent, Channel | Schema | Contribution):
        raise ArgumentError.of(
            "sent", "shared.no-argument", value=presentable(sent), wanted=works("Contribution")
        )
    if isinstance(sent, Channel):
        domain = Domain(sent.options, 1, 1) if takes_answers(sent) else FREE_BIT
        sent = Schema.of([Part(domain, sent)])
    return sent if isinstance(sent, Contribution) else Contribution.of(sent)


def check_crowd(crowd: int) -> None:
    """Raise PrivacyError if the crowd is below 2, or larger than double precision can count."""
    if crowd < 2:
        raise PrivacyError.of("crowd", "accountant.small-crowd", value=crowd)
    if crowd > MOST_PEOPLE:
        raise PrivacyError.of("crowd", "accountant.large-crowd", value=crowd, most=MOST_PEOPLE)


def check_epsilon(epsilon: float) -> None:
    """Raise PrivacyError unless 0 <= epsilon < 700.

    Larger values exceed double precision in a crowd; without a crowd, any epsilon can be certified.
    """
    if not 0 <= epsilon < 700:
        raise PrivacyError.of("epsilon", "accountant.from-0-to-700", value=epsilon)


def check_promise(crowd: int, epsilon: float, delta: float) -> None:
    """Raise PrivacyError if the crowd, epsilon, or delta (or eta) is out of range."""
    check_crowd(crowd)
    check_epsilon(epsilon)
    if not 0 < delta < 1:
        raise PrivacyError.of("delta", "shared.between-0-and-1", value=delta)
