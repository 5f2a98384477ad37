"""The assumptions and the worst pair of a certificate, as codes and numbers.

`incrowd.presentation.sentences` has the corresponding sentences.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

CodeNumber = Annotated[int, Field(ge=0)]
UNUSED = Field(default=None, exclude_if=lambda value: value is None)  # left out of JSON

AssumptionCode = Literal[
    "whole-crowd",  # the shuffler unlinks reports, the whole crowd sends; their answers are free
    "every-crowd-tried",  # as above, and every collection of answers was tried
    "crowd-alike",  # as above, but everybody else holds the same record: not a guarantee
    "nobody-trusted",  # no assumption: it holds even for reports that carry names
]

NOT_PROVED = frozenset({"outlier"})  # the analyses whose result is not a guarantee

WorstCode = Literal[
    "relation",  # in how many places x and x' differ from the record that the crowd holds
    "apart",  # in how many bits x and x' differ, for any crowd
    "classes",  # one of several classes of pairs, depending on epsilon
    "any-pair",  # any pair of records, in any crowd
    "any-crowd",  # for one bit: either answer, in any crowd
    "collection",  # x, x', and the records of all others, written out
    "no-crowd",  # the farthest pair, without a crowd that hides it
    "crowd-too-small",  # the crowd is too small to hide the report
    "beyond-local",  # no pair: without a crowd, all reports together leak less than epsilon
]


class Held(BaseModel):
    """A record, as bits, and how many of the others hold it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    record: str = Field(pattern="^[01]+$")
    people: CodeNumber


class WorstPair(BaseModel):
    """One pair of records, x and x', and the crowd in which delta was bounded.

    code: see `WorstCode`; the other fields are set if the code needs them. by: the analysis that
    gave the bound, if an analysis chose among several. x, other, both: the number of places in
    which x, x', and both differ from the record of the crowd. place: what is counted. crowd:
    whether all others hold that same record ("alike"), or each of them holds one that is related
    to x and x' like this ("each"). bits, farthest: the distance of x and x', and whether it is the
    largest. number: the number of classes. records: x and x', as bits. others: the records of the
    crowd.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: WorstCode
    by: str | None = UNUSED
    x: CodeNumber | None = UNUSED
    other: CodeNumber | None = UNUSED
    both: CodeNumber | None = UNUSED
    place: Literal["bit", "place"] | None = UNUSED
    crowd: Literal["alike", "each"] | None = UNUSED
    bits: CodeNumber | None = UNUSED
    farthest: bool | None = UNUSED
    number: CodeNumber | None = UNUSED
    records: tuple[str, str] | None = UNUSED
    others: tuple[Held, ...] | None = UNUSED

    def named(self, by: str) -> WorstPair:
        """Return a copy that names the analysis that gave the bound."""
        return self.model_copy(update={"by": by})
