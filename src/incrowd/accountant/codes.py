"""The assumptions and the worst pair of a certificate, as codes and numbers.

`incrowd.presentation.guarantee_text` has the corresponding sentences.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal

from incrowd.errors import Unfit

AnalysisName = Literal["shuffle", "seat", "blanket", "outlier", "local", "exact"]

AssumptionCode = Literal[
    "whole-crowd",  # the shuffler unlinks reports, the whole crowd sends; their answers are free
    "every-crowd-tried",  # as above, and every collection of answers was tried
    "crowd-alike",  # as above, but everybody else holds the same record: not a guarantee
    "services-apart",  # the services add their noise, and do not work together; no crowd is needed
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
    "shifted-cells",  # any change of answers, which shifts the counts of so many cells by one
    "beyond-local",  # no pair: without a crowd, all reports together leak less than epsilon
]


NO_OTHER_KEYS: Any = {"extra": "forbid"}  # where files that contain these are read


@dataclass(frozen=True, kw_only=True)
class Held:
    """A record, as bits, and how many of the others hold it."""

    __pydantic_config__: ClassVar[Any] = NO_OTHER_KEYS

    record: str
    people: int

    def __post_init__(self) -> None:
        if not self.record or set(self.record) - set("01"):
            raise Unfit("accountant.no-bits")
        if self.people < 0:
            raise Unfit("accountant.negative")


@dataclass(frozen=True, kw_only=True)
class WorstPair:
    """One pair of records, x and x', and the crowd in which delta was bounded.

    code: see `WorstCode`; the other fields are set if the code needs them. by: the analysis that
    gave the bound, if an analysis chose among several. x, other, both: the number of places in
    which x, x', and both differ from the record of the crowd. place: what is counted. crowd:
    whether all others hold that same record ("alike"), or each of them holds one that is related
    to x and x' like this ("each"). bits, farthest: the distance of x and x', and whether it is the
    largest. number: the number of classes, or of
    cells. records: x and x', as bits. others: the records of the
    crowd.
    """

    __pydantic_config__: ClassVar[Any] = NO_OTHER_KEYS

    code: WorstCode
    by: str | None = None
    x: int | None = None
    other: int | None = None
    both: int | None = None
    place: Literal["bit", "place"] | None = None
    crowd: Literal["alike", "each"] | None = None
    bits: int | None = None
    farthest: bool | None = None
    number: int | None = None
    records: tuple[str, str] | None = None
    others: tuple[Held, ...] | None = None

    def __post_init__(self) -> None:
        numbers = (self.x, self.other, self.both, self.bits, self.number)
        if any(each is not None and each < 0 for each in numbers):
            raise Unfit("accountant.negative")

    def __repr__(self) -> str:
        return f"WorstPair({', '.join(f'{name}={value!r}' for name, value in self._set())})"

    def named(self, by: str) -> WorstPair:
        """Return a copy that names the analysis that gave the bound."""
        return replace(self, by=by)

    def data(self) -> dict[str, Any]:
        """Return the fields that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def _set(self) -> list[tuple[str, Any]]:
        named = [(each.name, getattr(self, each.name)) for each in fields(self)]
        return [(name, value) for name, value in named if value is not None]
