"""What one person sends: reports, what travels in each, and how many there are of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from incrowd.accounting.parts import AnyChannel, Part, check_part
from incrowd.errors import PrivacyError
from incrowd.survey import Domain

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

    reports: each goes to a collection, and so has a crowd, of its own. Reports of one person that
    share a collection tell no more, since mixing only hides (docs/mathematics.md#composition).
    linked: reports that count as if they carried the person's name: no crowd hides them. redraws:
    the sum of -ln(1 - t) over rounds in which noise was drawn again with a chance of at most t for
    each person (docs/mathematics.md#composition).
    """

    reports: Counts
    linked: Counts = ()
    redraws: float = 0.0

    @classmethod
    def of(cls, schema: Schema, copies: int = 1, *, linked: bool = False) -> Sent:
        """So many reports of one schema. Raises PrivacyError unless there is at least one."""
        if copies < 1:
            raise PrivacyError.of("copies", copies, "should be at least 1")
        found = ((schema, copies),)
        return cls((), found) if linked else cls(found)

    def also(self, other: Sent) -> Sent:
        """Both; reports of equal schemas are counted together."""
        return Sent(
            _together(self.reports, other.reports),
            _together(self.linked, other.linked),
            self.redraws + other.redraws,
        )

    @property
    def every(self) -> Counts:
        """The reports that a crowd hides, and those that none does."""
        return self.reports + self.linked

    @property
    def single(self) -> Schema | None:
        """The schema, if there is one report only, and a crowd hides it."""
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
    """What one person sends, where it depends on which of her answers change what they show in.

    Her change shows in no more than one of these; a promise has to hold for all. Two can be equal,
    as for equal noise: the same places are for the same changes whatever the noise
    (docs/mathematics.md#parities).
    """

    each: tuple[Sent, ...]

    def also(self, other: AnySent) -> Alternatives:
        """Both; which of her answers change here says nothing of which change there."""
        pairs = product(self.each, alternatives(other))
        return Alternatives(tuple(one.also(two) for one, two in pairs))

    @property
    def local_epsilon(self) -> float:
        """The local guarantee of everything: the largest of any."""
        return max(sent.local_epsilon for sent in self.each)


AnySent = Sent | Alternatives


def alternatives(sent: AnySent | Schema) -> tuple[Sent, ...]:
    """What a person may send, one for each way in which her answers can change."""
    return sent.each if isinstance(sent, Alternatives) else (as_sent(sent),)


def as_sent(sent: Sent | Schema) -> Sent:
    """A schema by itself stands for one report."""
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
