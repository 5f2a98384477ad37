"""What travels in one report: the questions' allowed records and the noise on their bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from incrowd.channels.bit_flip import BitFlip
from incrowd.errors import PrivacyError
from incrowd.survey import Domain

MOST_FREE_BITS = 64
FREE_BIT = Domain(1, 0, 1)


class Part(NamedTuple):
    """One question in a report. Different questions may have different noise."""

    domain: Domain
    channel: BitFlip


class Schema(NamedTuple):
    """The parts of a report, equal ones counted together; their order does not matter."""

    parts: tuple[tuple[Part, int], ...]

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Schema:
        """Group equal parts. Raises PrivacyError for more than 64 yes/no questions."""
        counted = Counter(parts)
        bits = sum(count for part, count in counted.items() if part.domain == FREE_BIT)
        if bits > MOST_FREE_BITS:
            raise PrivacyError.of("bits", bits, f"use at most {MOST_FREE_BITS} free bits a report")
        return cls(tuple(sorted(counted.items())))

    @classmethod
    def uniform(cls, domains: Iterable[Domain], channel: BitFlip) -> Schema:
        """All questions with the same noise."""
        return cls.of(Part(domain, channel) for domain in domains)

    def times(self, copies: int) -> Schema:
        """Everything in so many copies of the report, as one report of independent parts."""
        return Schema(tuple((part, count * copies) for part, count in self.parts))

    @property
    def local_epsilon(self) -> float:
        """The local guarantee of one report: sum of distance times ln(p/q)."""
        return sum(
            count * part.domain.distance * part.channel.epsilon for part, count in self.parts
        )


def check_crowd(crowd: int) -> None:
    """Raises PrivacyError for a crowd of fewer than two."""
    if crowd < 2:
        raise PrivacyError.of("crowd", crowd, "should be at least 2 honest people")


def check_epsilon(epsilon: float) -> None:
    """Raises PrivacyError unless epsilon is a number of at least 0."""
    if not 0 <= epsilon < 700:
        raise PrivacyError.of("epsilon", epsilon, "should lie between 0 and 700")
