"""One pair of records (and a crowd) that may be the worst."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from incrowd.accounting.ratios import Ratios, product
from incrowd.errors import PrivacyError

MOST_CANDIDATES = 20_000


@dataclass(frozen=True, eq=False)
class Candidate:
    """One pair (and crowd): words for people, and the ratios of each kind of question."""

    words: str
    factors: tuple[tuple[Ratios, int], ...]

    @cached_property
    def ratios(self) -> Ratios:
        """The ratios of the whole report, worked out when they are asked for."""
        return product(self.factors)

    @property
    def swapped(self) -> Candidate:
        """The same pair in the other order."""
        return Candidate(self.words, tuple((r.swapped, count) for r, count in self.factors))


def check_number(count: int) -> None:
    """Raises PrivacyError for more candidates than can be tried."""
    if count > MOST_CANDIDATES:
        allowed = (
            f"use fewer kinds of questions in one report (at most {MOST_CANDIDATES} relations)"
        )
        raise PrivacyError.of("questions", f"{count:,} relations of records", allowed)
