"""Tallies: the counts that estimates need, small and mergeable."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import Literal

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import FileDigest
from incrowd.errors import ReportsError, quantity
from incrowd.kernels.compilation import load_compiler
from incrowd.kernels.counts import count_bits
from incrowd.plans import Message, Plan
from incrowd.plans.claims import ClaimedRelease, together
from incrowd.plans.message import COUNT_BITS
from incrowd.plans.strata import StratumNames
from incrowd.reports.acceptance import accepted, check_origin
from incrowd.reports.collection import Collection
from incrowd.reports.moments import extract, histogram, moments, pair_moments
from incrowd.survey.question import QuestionIds

TallyKind = Literal["singles", "pairs", "patterns"]
FEW_PARTS = 6  # numpy counts these in about the time that loading numba takes
COUNTS = {"singles": moments, "pairs": pair_moments, "patterns": histogram}


@dataclass(frozen=True)
class MessageTally:
    """The counts of one message.

    accepted, rejected: the number of reports that a client of the plan can have sent, and of
    others. declared: people who took part, as the collections declare; 0 if they do not. tables:
    joint counts by the questions' ids, as in `incrowd.reports.moments`; for a text question the
    counts in each cohort. For cells one table, under the ids of all their questions: how many
    people took part, then the reports of each cell. draws: if services add noise to the counts of
    cells, how many times it was added to each; `accepted` is then the number of people, since
    nobody may know how many reports there were.
    """

    accepted: int
    rejected: int
    declared: int
    tables: Mapping[QuestionIds, np.ndarray]
    draws: int = 0

    def __add__(self, other: MessageTally) -> MessageTally:
        """Return the sum."""
        return MessageTally(
            accepted=self.accepted + other.accepted,
            rejected=self.rejected + other.rejected,
            declared=self.declared + other.declared,
            tables={ids: counts + other.tables[ids] for ids, counts in self.tables.items()},
            draws=self.draws + other.draws,
        )

    def people(self, message: Message) -> int:
        """Return how many people took part, see `incrowd.plans.Message.people`."""
        return message.people(self.accepted, self.declared)


@dataclass(frozen=True)
class Tally:
    """Counts of some reports of one plan. Tallies of different reports add up, in any order.

    Attributes
    ----------
    plan : str
        The digest of the plan.
    tables : tuple of tuples of str
        The question ids of each table that was counted.
    kind : {"singles", "pairs", "patterns"}
        Joint counts of set bits, for tables; also those of pairs of bits, for covariances; or whole
        histograms.
    messages : mapping of int to MessageTally
        The counts by the number of the message.
    parts : frozenset of str
        The parts of collections that were counted, so that none is counted twice.
    seed : int or None
        Of a simulation; None for real reports.
    persons : {"rows", "ids"}
        What counts as one person; "rows" if any reports have it.
    strata : mapping
        If questions are open, the counts of each release by the names of its strata; `messages` has
        the totals.
    releases : frozenset of ClaimedRelease
        Those whose reports were counted, if they came over a network.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> first, *others = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> tally = incrowd.count(plan, first) + incrowd.count(plan, others)
    >>> sorted(tally.messages)
    [0, 1, 2, 3]
    """

    plan: str
    tables: tuple[QuestionIds, ...]
    kind: TallyKind = "singles"
    messages: Mapping[int, MessageTally] = field(default_factory=dict)
    parts: frozenset[str] = frozenset()
    seed: int | None = None
    persons: str = "ids"
    strata: Mapping[StratumNames, Mapping[int, MessageTally]] = field(default_factory=dict)
    releases: frozenset[ClaimedRelease] = frozenset()

    def __repr__(self) -> str:
        each = self.messages.values()
        accepted = [counts.accepted for counts in each if not counts.draws]
        reports = quantity(sum(accepted), "reports") if accepted or not each else "published counts"
        counted = f"{quantity(len(self.tables), 'tables')} of {self.kind}, {reports}"
        return f"Tally(plan={self.plan[:12]}…, {counted}{views.simulated(self.seed)})"

    def __add__(self, other: Tally) -> Tally:
        """Add the counts of other reports.

        Raises
        ------
        ReportsError
            If the tallies do not belong together, share a part, or contain two releases of one
            stratum.
        """
        if (self.plan, self.tables, self.kind) != (other.plan, other.tables, other.kind):
            raise ReportsError.of("tally", "reports.other-tally", value=FileDigest(other.plan))
        if twice := self.parts & other.parts:
            raise ReportsError.of("reports", "reports.twice", value=FileDigest(min(twice)))
        releases = together(self.releases, other.releases)
        messages = _both(self.messages, other.messages)
        strata = dict(self.strata)
        for names, crowd in other.strata.items():
            strata[names] = _both(strata[names], crowd) if names in strata else crowd
        seed = self.seed if self.seed is not None else other.seed
        parts = self.parts | other.parts
        persons = "rows" if "rows" in (self.persons, other.persons) else "ids"
        return Tally(
            self.plan, self.tables, self.kind, messages, parts, seed, persons, strata, releases
        )

    @property
    def crowds(self) -> tuple[Mapping[int, MessageTally], ...]:
        """The counts of each crowd: of every release if questions are open, otherwise of all
        reports."""
        return tuple(self.strata.values()) or (self.messages,)

    def only(self, releases: Iterable[StratumNames]) -> Tally:
        """Return the tally of some releases.

        Parameters
        ----------
        releases : iterable of tuples of str
            The names of the strata of each release.
        """
        strata = {names: self.strata[names] for names in releases}
        return replace(self, messages=reduce(_both, strata.values(), {}), strata=strata)

    @property
    def collections(self) -> frozenset[str]:
        """The names of the counted collections."""
        return frozenset(part.rpartition(":")[0] for part in self.parts)

    @property
    def without_tables(self) -> Tally:
        """The number of reports of each message, without the tables."""
        strata = {names: _bare(crowd) for names, crowd in self.strata.items()}
        bare = _bare(self.messages)
        return replace(self, tables=(), kind="singles", messages=bare, strata=strata)


def _both(
    some: Mapping[int, MessageTally], others: Mapping[int, MessageTally]
) -> dict[int, MessageTally]:
    """Return the sum of both, message by message."""
    both = dict(some)
    for number, counts in others.items():
        both[number] = both[number] + counts if number in both else counts
    return both


def _bare(messages: Mapping[int, MessageTally]) -> dict[int, MessageTally]:
    return {number: replace(counts, tables={}) for number, counts in messages.items()}


Mapper = Callable[[Callable[[Collection], "Tally"], Iterable[Collection]], Iterable["Tally"]]


def count(
    plan: Plan,
    reports: Iterable[Collection],
    tables: Iterable[QuestionIds],
    kind: TallyKind = "singles",
    each: Mapper = map,
) -> Tally:
    """Count reports part by part; each table in every message that contains all its questions.

    each: applies a function to the parts as `map` does, possibly in parallel. Raises ReportsError
    if reports belong to another plan or a part occurs twice.
    """
    nothing = Tally(plan.digest, tuple(tables), kind)
    return sum(each(lambda part: count_part(plan, part, nothing), _many(reports)), nothing)


def _many(parts: Iterable[Collection]) -> Iterator[Collection]:
    """Yield the same parts; if there are many, load machine code, which counts much faster."""
    for number, part in enumerate(parts):
        if number == FEW_PARTS:
            load_compiler()
        yield part


def count_part(plan: Plan, part: Collection, wanted: Tally) -> Tally:
    """Count one part of a collection for the tables of a tally.

    Raises ReportsError if it belongs to another plan.
    """
    message = check_origin(plan, wanted.plan, part)
    declared, rejected = part.people or 0, 0
    if message.by_services:
        number, cells = declared, published(part, message.record_bits)
        tables = {message.ids: np.append(declared, cells)} if wanted.tables else {}
    elif message.cells:
        cells = cell_counts(part.packed, message.record_bits)
        number = int(cells.sum())
        tables = {message.ids: np.append(declared, cells)} if wanted.tables else {}
        rejected = len(part) - number
    else:
        packed = accepted(message, part.packed)
        number, rejected = len(packed), len(part) - len(packed)
        tables = dict(_tables(plan, message, packed, wanted))
    counts = MessageTally(number, rejected, declared, tables, part.draws)
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
    plan: Plan, message: Message, packed: np.ndarray, wanted: Tally
) -> Iterator[tuple[QuestionIds, np.ndarray]]:
    """Yield the counts of every wanted table that the message contains."""
    layout = message.layout
    held = filter(message.group.holds, wanted.tables)
    totals = count_bits(packed, 8 * packed.shape[1])
    for ids in held:
        question = plan.survey.question(ids[0])
        if question.hashed:
            yield ids, cohort_counts(packed, layout[ids[0]], question.cohort_bits)
        elif len(ids) == 1 and wanted.kind == "singles":
            yield ids, np.append(len(packed), totals[layout[ids[0]]])
        else:
            yield ids, COUNTS[wanted.kind](packed, [layout[id] for id in ids])


def cell_counts(packed: np.ndarray, cells: int) -> np.ndarray:
    """Count the reports of each cell: int64, shape (cells,).

    packed: the number of a cell in each report, the lowest byte first. Reports of a number that no
    cell has are not counted.
    """
    width = packed.shape[1]
    size = 1 << (width - 1).bit_length()  # bytes of the smallest type of numbers that holds them
    if width < size:
        packed = np.pad(packed, ((0, 0), (0, size - width)))
    numbers = np.ascontiguousarray(packed).reshape(-1).view(f"<u{size}")
    if size > 2:
        numbers = np.minimum(numbers, cells).astype(np.int64)
    return np.bincount(numbers, minlength=cells)[:cells]


def as_counts(counts: np.ndarray) -> np.ndarray:
    """Return published counts as the rows of a collection: uint8, shape (cells, 8)."""
    return np.ascontiguousarray(counts, "<i8").view(np.uint8).reshape(-1, COUNT_BITS // 8)


def of_rows(packed: np.ndarray) -> np.ndarray:
    """Return the counts that `as_counts` wrote: int64, shape (cells,)."""
    return np.ascontiguousarray(packed).view("<i8").reshape(-1).astype(np.int64)


def published(part: Collection, cells: int) -> np.ndarray:
    """Return the published counts of the cells in a collection: int64, shape (cells,).

    Raises ReportsError if it does not have one count for each cell, and all of them.
    """
    if part.packed.shape != (cells, COUNT_BITS // 8) or part.draws < 1 or part.part:
        raise ReportsError.of("reports", "reports.no-counts", value=part.id, cells=cells)
    return of_rows(part.packed)


def cohort_counts(packed: np.ndarray, bits: slice, cohort_bits: int) -> np.ndarray:
    """Count the reports of every cohort, and how many of them set each bit of the filter.

    bits: the bits of the question; the cohort's bits come first, the lowest digit before the
    others. Returns int64, shape (cohorts, 1 + filter bits).
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


# Tables that follow from counted ones: some questions of a counted table, in any order.
#
# Entry 0 of a question's axis counts all reports, whatever their answers to it.


def with_tables(plan: Plan, counted: Tally, wanted: Iterable[QuestionIds]) -> Tally:
    """Return the tally with the wanted tables added that follow from what it counts.

    The same messages have to contain a table and the counted table that it is a part of.
    """
    parents = {ids: whole for ids in wanted if (whole := _holding(plan, counted, ids))}
    if not parents:
        return counted
    joint = {number for number, message in enumerate(plan.messages) if not message.cells}
    return replace(
        counted,
        tables=(*counted.tables, *parents),
        messages=_each(counted.messages, parents, joint),
        strata={names: _each(crowd, parents, joint) for names, crowd in counted.strata.items()},
    )


def _holding(plan: Plan, counted: Tally, ids: QuestionIds) -> QuestionIds | None:
    """Return a counted table with all these questions, in the same messages; None if the table
    itself is counted or there is no such table."""
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


def _messages(plan: Plan, ids: QuestionIds) -> list[int]:
    return [number for number, message in enumerate(plan.messages) if message.holds(ids)]


def _each(
    messages: Mapping[int, MessageTally],
    parents: Mapping[QuestionIds, QuestionIds],
    joint: Container[int],
) -> dict[int, MessageTally]:
    """Add tables to the counts of messages. joint: the messages of joint reports; others count all
    cells."""
    return {
        number: _completed(counts, parents) if number in joint else counts
        for number, counts in messages.items()
    }


def _completed(counts: MessageTally, parents: Mapping[QuestionIds, QuestionIds]) -> MessageTally:
    tables = dict(counts.tables)
    for ids, whole in parents.items():
        if whole not in counts.tables or not set(ids) <= set(whole):
            continue
        part = counts.tables[whole][tuple(slice(None) if id in ids else 0 for id in whole)]
        order = [id for id in whole if id in ids]
        tables[ids] = part.transpose([order.index(id) for id in ids])
    return replace(counts, tables=tables)
