"""Tallies: what estimates need to know of reports, small and mergeable."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import Literal

import numpy as np

from incrowd import views
from incrowd.errors import ReportsError
from incrowd.kernels.compilation import load_compiler
from incrowd.kernels.counts import count_bits
from incrowd.plans import Message, Plan
from incrowd.plans.claims import Release, together
from incrowd.plans.strata import Names
from incrowd.reports.acceptance import accepted, check_origin, places
from incrowd.reports.collection import Collection
from incrowd.reports.moments import extract, histogram, moments, pair_moments

Ids = tuple[str, ...]
Kind = Literal["singles", "pairs", "patterns"]
FEW_PARTS = 6  # which numpy counts in about the time that loading numba takes
COUNTS = {"singles": moments, "pairs": pair_moments, "patterns": histogram}


@dataclass(frozen=True)
class MessageTally:
    """The counts of one message.

    accepted, rejected: reports that a client of the plan can have sent, and those that none can.
    declared: people who took part, as the collections say; 0 if they need not, and do not.
    tables: joint counts by the questions' ids, as in `incrowd.reports.moments`; of a text question
    the counts in each cohort. Of cells one table, under the ids of all their questions: how many
    people took part, then the reports of each cell.
    """

    accepted: int
    rejected: int
    declared: int
    tables: Mapping[Ids, np.ndarray]

    def __add__(self, other: MessageTally) -> MessageTally:
        """Both together."""
        return MessageTally(
            accepted=self.accepted + other.accepted,
            rejected=self.rejected + other.rejected,
            declared=self.declared + other.declared,
            tables={ids: counts + other.tables[ids] for ids, counts in self.tables.items()},
        )

    def people(self, message: Message) -> int:
        """Who took part, as `incrowd.plans.Message.people` has it."""
        return message.people(self.accepted, self.declared)


@dataclass(frozen=True)
class Tally:
    """Counts of some reports of one plan; tallies of different reports add up, in any order.

    tables, kind: what was counted: "singles" (joint counts of set bits, for tables), "pairs" (of
    pairs of bits as well, for covariances) or "patterns" (whole histograms). messages: counts by
    the number of the message. parts: the parts of collections that were counted, so that none is
    counted twice. seed, persons: as of the reports; "rows" if of any. strata: where questions are
    open, the counts of each release by the names of its strata; `messages` are of all together.
    releases: those of which reports were counted, if they came over a network.
    """

    plan: str
    tables: tuple[Ids, ...]
    kind: Kind = "singles"
    messages: Mapping[int, MessageTally] = field(default_factory=dict)
    parts: frozenset[str] = frozenset()
    seed: int | None = None
    persons: str = "ids"
    strata: Mapping[Names, Mapping[int, MessageTally]] = field(default_factory=dict)
    releases: frozenset[Release] = frozenset()

    def __repr__(self) -> str:
        accepted = sum(counts.accepted for counts in self.messages.values())
        counted = f"{len(self.tables)} tables of {self.kind}, {accepted:,} reports"
        return f"Tally(plan={self.plan[:12]}…, {counted}{views.simulated(self.seed)})"

    def __add__(self, other: Tally) -> Tally:
        """Both together.

        Raises ReportsError if they do not belong together, share a part, or hold two releases of
        one stratum.
        """
        if (self.plan, self.tables, self.kind) != (other.plan, other.tables, other.kind):
            raise ReportsError.of(
                "tally",
                other.plan,
                "it counts other tables, or another plan; add tallies of the same",
            )
        if twice := self.parts & other.parts:
            raise ReportsError.of("reports", min(twice), "they come twice; count each part once")
        releases = together(self.releases, other.releases)
        messages = _both(self.messages, other.messages)
        strata = dict(self.strata)
        for names, found in other.strata.items():
            strata[names] = _both(strata[names], found) if names in strata else found
        seed = self.seed if self.seed is not None else other.seed
        parts = self.parts | other.parts
        persons = "rows" if "rows" in (self.persons, other.persons) else "ids"
        return Tally(
            self.plan, self.tables, self.kind, messages, parts, seed, persons, strata, releases
        )

    @property
    def crowds(self) -> tuple[Mapping[int, MessageTally], ...]:
        """The counts of each crowd: of every release where questions are open, else of all."""
        return tuple(self.strata.values()) or (self.messages,)

    def only(self, releases: Iterable[Names]) -> Tally:
        """The counts of some releases, together."""
        kept = {names: self.strata[names] for names in releases}
        return replace(self, messages=reduce(_both, kept.values(), {}), strata=kept)

    @property
    def collections(self) -> frozenset[str]:
        """The names of the collections of which parts were counted."""
        return frozenset(part.rpartition(":")[0] for part in self.parts)

    @property
    def without_tables(self) -> Tally:
        """How many reports there are of each message, and nothing of what they say."""
        strata = {names: _bare(found) for names, found in self.strata.items()}
        bare = _bare(self.messages)
        return replace(self, tables=(), kind="singles", messages=bare, strata=strata)


def _both(
    some: Mapping[int, MessageTally], others: Mapping[int, MessageTally]
) -> dict[int, MessageTally]:
    """The counts of both, message by message."""
    found = dict(some)
    for number, counts in others.items():
        found[number] = found[number] + counts if number in found else counts
    return found


def _bare(messages: Mapping[int, MessageTally]) -> dict[int, MessageTally]:
    return {number: replace(counts, tables={}) for number, counts in messages.items()}


Mapper = Callable[[Callable[[Collection], "Tally"], Iterable[Collection]], Iterable["Tally"]]


def count(
    plan: Plan,
    reports: Iterable[Collection],
    tables: Iterable[Ids],
    kind: Kind = "singles",
    each: Mapper = map,
) -> Tally:
    """Count reports part by part; each table in every message that holds all its questions.

    each: counts the parts as `map` does, perhaps side by side. Raises ReportsError if reports are
    of another plan or a part comes twice.
    """
    nothing = Tally(plan.digest, tuple(tables), kind)
    return sum(each(lambda part: count_part(plan, part, nothing), _many(reports)), nothing)


def _many(parts: Iterable[Collection]) -> Iterator[Collection]:
    """The same parts; when there are many, machine code is loaded, which counts much faster."""
    for number, part in enumerate(parts):
        if number == FEW_PARTS:
            load_compiler()
        yield part


def count_part(plan: Plan, part: Collection, wanted: Tally) -> Tally:
    """Count one part of a collection for the tables of a tally.

    Raises ReportsError if it is of another plan.
    """
    message = check_origin(plan, part)
    packed = accepted(message, part.packed)
    declared = part.people or 0
    counts = MessageTally(
        accepted=len(packed),
        rejected=len(part) - len(packed),
        declared=declared,
        tables=dict(_tables(plan, message, packed, declared, wanted)),
    )
    return replace(
        wanted,
        messages={part.message: counts},
        strata={part.strata: {part.message: counts}} if part.strata else {},
        parts=frozenset({f"{part.id}:{part.part}"}),
        seed=part.seed,
        persons=part.persons,
        releases=frozenset({part.release} if part.release else ()),
    )


def _tables(
    plan: Plan, message: Message, packed: np.ndarray, declared: int, wanted: Tally
) -> Iterator[tuple[Ids, np.ndarray]]:
    """The counts of every wanted table that the message holds; of cells, those of all cells."""
    if message.cells:
        cells = np.bincount(places(packed), minlength=message.record_bits)
        if wanted.tables:
            yield message.ids, np.append(declared, cells)
        return
    layout = message.layout
    held = filter(message.holds, wanted.tables)
    totals = count_bits(packed, 8 * packed.shape[1])
    for ids in held:
        question = plan.survey.question(ids[0])
        if question.hashed:
            yield ids, cohort_counts(packed, layout[ids[0]], question.cohort_bits)
        elif len(ids) == 1 and wanted.kind == "singles":
            yield ids, np.append(len(packed), totals[layout[ids[0]]])
        else:
            yield ids, COUNTS[wanted.kind](packed, [layout[id] for id in ids])


def cohort_counts(packed: np.ndarray, bits: slice, cohort_bits: int) -> np.ndarray:
    """The reports of every cohort, and how many of them set each bit of the filter.

    bits: of the question; the cohort's come first, the lowest digit before the others. Returns
    int64, shape (cohorts, 1 + filter bits).
    """
    first = bits.start + cohort_bits
    cohort = extract(packed, np.arange(bits.start, first)) @ (1 << np.arange(cohort_bits))
    order = np.argsort(cohort, kind="stable")
    ends = np.searchsorted(cohort[order], np.arange((1 << cohort_bits) + 1))
    columns = np.arange(first, bits.stop)
    shown = [
        extract(packed[order[start:end]], columns).sum(axis=0, dtype=np.int64)
        for start, end in pairwise(ends)
    ]
    return np.column_stack([np.diff(ends), np.array(shown)])


# Tables that a tally holds without counting them: some questions of another table, in any order.
#
# The entry 0 of a question's axis counts all reports, whatever they say to it.


def with_tables(plan: Plan, counted: Tally, wanted: Iterable[Ids]) -> Tally:
    """The tally, with those wanted tables as well that follow from what it counts.

    A table has to be told by the same messages as the one that it is a part of.
    """
    found = {ids: whole for ids in wanted if (whole := _holding(plan, counted, ids))}
    if not found:
        return counted
    joint = {number for number, message in enumerate(plan.messages) if not message.cells}
    return replace(
        counted,
        tables=(*counted.tables, *found),
        messages=_each(counted.messages, found, joint),
        strata={names: _each(crowd, found, joint) for names, crowd in counted.strata.items()},
    )


def _holding(plan: Plan, counted: Tally, ids: Ids) -> Ids | None:
    """A counted table that has all these questions and no fewer messages; None if there is no need
    for one, or none."""
    if ids in counted.tables:
        return None
    if counted.tables and plan.by_cells_alone(ids):  # all cells are counted
        return counted.tables[0]
    if counted.kind == "patterns":
        return None
    places = _messages(plan, ids)
    for whole in counted.tables:
        if set(ids) <= set(whole) and _messages(plan, whole) == places:
            return whole
    return None


def _messages(plan: Plan, ids: Ids) -> list[int]:
    return [number for number, message in enumerate(plan.messages) if message.holds(ids)]


def _each(
    messages: Mapping[int, MessageTally], found: Mapping[Ids, Ids], joint: Container[int]
) -> dict[int, MessageTally]:
    """joint: the messages of joint reports; the others count cells, in any case all of them."""
    return {
        number: _completed(counts, found) if number in joint else counts
        for number, counts in messages.items()
    }


def _completed(counts: MessageTally, found: Mapping[Ids, Ids]) -> MessageTally:
    made = dict(counts.tables)
    for ids, whole in found.items():
        if whole not in counts.tables or not set(ids) <= set(whole):
            continue
        kept = counts.tables[whole][tuple(slice(None) if id in ids else 0 for id in whole)]
        order = [id for id in whole if id in ids]
        made[ids] = kept.transpose([order.index(id) for id in ids])
    return replace(counts, tables=made)
