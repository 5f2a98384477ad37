"""What an analyst may publish: tables, the crowd, and the guarantee that holds for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from incrowd import views
from incrowd.errors import Problem, TableError, quantity
from incrowd.estimation.amounts import Amounts
from incrowd.estimation.simultaneous import SimultaneousIntervals
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.words import WordEstimates
from incrowd.plans import Guarantee, Plan
from incrowd.plans.claims import ClaimedRelease
from incrowd.plans.strata import label, left_out


@dataclass(frozen=True)
class Arrived:
    """The reports of one message: accepted ones, rejected ones (which no client can have sent), and
    people."""

    accepted: int
    rejected: int
    people: int


@dataclass(frozen=True)
class Received:
    """The receipt of a release. It is shown to readers; the guarantee follows from what the
    collections themselves state, and from `contradicted`.

    release: SHA-256 of the signed header. bundle: short form of its digest. strata: of the release.
    people, reports: as signed by the shuffler, or by the first and the second mixer; reports are
    sealed, and include dummies. issued, used: number of invitations, and of those that were used;
    None without invitations, or before the inviter stated them. tokens: the reports with a valid
    token of each message, as signed by the second mixer; empty if some message had too few, so that
    the stratum has no reports; None with one shuffler. rejected: sealed reports by kind.
    opened_people: the largest number of people from whom the reports can come. crowded: messages
    with more reports than people times places: number, reports, and that product. places: sealed
    reports of one person. tail: upper bound on the probability that a person's reports did not fit
    and were drawn again. colluding: the stated number of people who may collude. local_only:
    whether one party both mixed and opened the reports. contradicted: whether the shuffler also
    signed another release of the same stratum. mixers, thinned: as in
    `incrowd.plans.claims.Claims`.
    """

    release: str
    bundle: str
    strata: tuple[str, ...]
    people: int
    issued: int | None
    reports: int
    rejected: Mapping[str, int]
    opened_people: int
    crowded: tuple[tuple[int, int, int], ...]
    places: int
    tail: float
    colluding: int
    local_only: bool
    contradicted: bool = False
    mixers: Literal[1, 2] = 1
    thinned: bool = False
    used: int | None = None
    tokens: tuple[int, ...] | None = None


@dataclass(frozen=True)
class NotMade:
    """A requested table that cannot be weighted or restricted to those who answered, and why."""

    questions: tuple[str, ...]
    problem: Problem

    @property
    def reason(self) -> str:
        """The reason, and what would work."""
        problem = self.problem
        if problem.field == "table" and problem.value in (
            ",".join(self.questions),
            self.questions[0],
        ):
            return problem.allowed
        return f"{problem.shown}; {problem.allowed}"

    @property
    def sentence(self) -> str:
        """The table and the reason."""
        return f"{', '.join(self.questions)}: {self.reason}"


@dataclass(frozen=True)
class StratumEstimates:
    """The estimates of one released stratum, or of several that were released as one.

    names: of the strata. people: their number. The other fields are as in `Estimates`, for these
    people only.
    """

    names: tuple[str, ...]
    people: int
    tables: tuple[TableEstimate, ...]
    words: Mapping[str, WordEstimates] = field(default_factory=dict)
    amounts: Mapping[str, Amounts] = field(default_factory=dict)
    simultaneous: tuple[SimultaneousIntervals | None, ...] = ()
    not_made: tuple[NotMade, ...] = ()

    @property
    def name(self) -> str:
        """The names, joined."""
        return label(self.names)


@dataclass(frozen=True)
class Estimates(views.Notebook, views.Tabular):
    """Estimated tables of one plan.

    arrived: the reports of each message. guarantee: recomputed for the smallest number of people of
    any message. words: of text questions, by id. amounts: of questions of numbers, by id: means,
    totals, quantiles. simultaneous: intervals for each table, if requested (None for wide
    questions). seed: None for real reports, otherwise the seed of the simulation. persons: what
    counts as one person, "rows" or "ids". truth: only if the answers are known as well (in a
    demonstration): the true shares, one array for each table. releases: of the reports, if they
    came over a network. received: the available receipts of these releases. strata: if questions
    are open, the estimates of each release; all other fields are of all releases together.
    not_made: tables that could not be estimated, with the reasons.
    """

    plan: Plan
    arrived: tuple[Arrived, ...]
    guarantee: Guarantee
    tables: tuple[TableEstimate, ...]
    words: Mapping[str, WordEstimates] = field(default_factory=dict)
    amounts: Mapping[str, Amounts] = field(default_factory=dict)
    simultaneous: tuple[SimultaneousIntervals | None, ...] = ()
    seed: int | None = None
    persons: str = "rows"
    truth: tuple[np.ndarray, ...] | None = None
    releases: frozenset[ClaimedRelease] = frozenset()
    received: tuple[Received, ...] = ()
    strata: tuple[StratumEstimates, ...] = ()
    not_made: tuple[NotMade, ...] = ()

    def __repr__(self) -> str:
        tables = quantity(len(self.tables), "tables")
        lists = quantity(len(self.words), "lists")
        name = self.plan.survey.name
        reports = f"{quantity(self.reports, 'reports')}{views.simulated(self.seed)}"
        return f"Estimates({name!r}, {tables}, {lists} of words, crowd={self.crowd:,}, {reports})"

    def table(self, *questions: str) -> TableEstimate:
        """The table of some questions, in the order in which they were estimated.

        Raises TableError, which lists the existing tables, if there is none of these questions.
        """
        tables = {frozenset(table.questions): table for table in self.tables}
        if table := tables.get(frozenset(questions)):
            return table
        if len(questions) == 1 and questions[0] in self.words:
            allowed = f"it is a question for words; use words[{questions[0]!r}]"
            raise TableError.of("table", questions[0], allowed)
        names = ", ".join(" × ".join(table.questions) for table in self.tables)
        allowed = f"the tables are {names or 'none'}; name one, or ask for others in tables"
        raise TableError.of("table", questions, allowed)

    def __getitem__(self, questions: str | tuple[str, ...]) -> TableEstimate:
        """`estimates["smokes"]` or `estimates["smokes", "stress"]`: see `table`."""
        return self.table(*([questions] if isinstance(questions, str) else questions))

    def __iter__(self) -> Iterator[TableEstimate]:
        """The tables."""
        return iter(self.tables)

    @property
    def reports(self) -> int:
        """Accepted reports of all messages."""
        return sum(message.accepted for message in self.arrived)

    @property
    def rejected(self) -> int:
        """Reports that no client of the plan can have sent."""
        return sum(message.rejected for message in self.arrived)

    @property
    def crowd(self) -> int:
        """The number of people of the message with the fewest, including those who may collude.

        If questions are open, of the smallest stratum.
        """
        return min([self.people, *(stratum.people for stratum in self.strata)])

    @property
    def people(self) -> int:
        """The number of all people, of the message with the fewest."""
        return min(message.people for message in self.arrived)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The strata that were not released because they have too few people or none."""
        return left_out(self.plan.survey, (stratum.names for stratum in self.strata))
