"""The assumptions and the worst pair of a certificate, as codes and numbers.

The words for people are in `incrowd.presentation.sentences`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[int, Field(ge=0)]
UNUSED = Field(default=None, exclude_if=lambda value: value is None)  # left out of JSON

AssumptionCode = Literal[
    "whole-crowd",  # the shuffler unlinks, the whole crowd sends; nothing about its answers
    "every-crowd-tried",  # the same, and every collection of answers was tried
    "crowd-alike",  # the same, and everybody else holds the same record: no guarantee
    "nobody-trusted",  # nothing: it holds even for reports that carry names
]

WorstCode = Literal[
    "relation",  # x and x' differ from the record that the crowd holds, in so many places
    "apart",  # x and x' differ in so many bits, whatever the crowd holds
    "classes",  # any of so many classes of pairs: which one depends on epsilon
    "any-pair",  # any pair of records, in any crowd
    "any-crowd",  # of one bit: either answer, in any crowd
    "collection",  # x, x' and the records of all others, written out
    "no-crowd",  # the farthest pair; no crowd hides it
    "crowd-too-small",  # the crowd is too small to hide the report
    "beyond-local",  # none: all reports together leak less than epsilon without a crowd
]


class Held(BaseModel):
    """A record, as bits, and how many of the others hold it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    record: str = Field(pattern="^[01]+$")
    people: Number


class WorstPair(BaseModel):
    """One pair of records, x and x', and the crowd in which delta was bounded.

    code: see `WorstCode`; the other fields are there where the code needs them. by: the analysis
    that gave the bound, if an analysis chose among several. x, other, both: places in which x, x',
    and both, differ from the record of the crowd. place: what is counted. crowd: whether all others
    hold that record, or it is a class of each of them. bits, farthest: how far x and x' are apart,
    and whether no pair is farther. number: of classes. records: x and x', as bits. others: the
    records of the crowd.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: WorstCode
    by: str | None = UNUSED
    x: Number | None = UNUSED
    other: Number | None = UNUSED
    both: Number | None = UNUSED
    place: Literal["bit", "place"] | None = UNUSED
    crowd: Literal["alike", "each"] | None = UNUSED
    bits: Number | None = UNUSED
    farthest: bool | None = UNUSED
    number: Number | None = UNUSED
    records: tuple[str, str] | None = UNUSED
    others: tuple[Held, ...] | None = UNUSED

    def named(self, by: str) -> WorstPair:
        """The same, with the analysis that gave the bound."""
        return self.model_copy(update={"by": by})
