"""What an analyst may publish: tables, the crowd that arrived, the guarantee that holds for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from incrowd import views
from incrowd.errors import Problem, TableError
from incrowd.estimation.amounts import Amounts
from incrowd.estimation.simultaneous import SimultaneousIntervals
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.words import WordEstimates
from incrowd.plans import Guarantee, Plan
from incrowd.plans.claims import Release
from incrowd.plans.strata import label, left_out


@dataclass(frozen=True)
class Arrived:
    """The reports of one message: accepted, rejected (no client can have sent them), people."""

    accepted: int
    rejected: int
    people: int


@dataclass(frozen=True)
class Received:
    """What the receipt of a release says of its reports. It is for pages: what is promised follows
    from what the collections themselves state, and from `contradicted`.

    release: SHA-256 of the signed header. bundle: short form of its digest. strata: whose reports.
    people, reports: as the shuffler signed; reports are sealed ones, dummies included. issued:
    invitations sent out; None without any. rejected: sealed reports by kind. opened_people: how
    many the reports can be of at most. crowded: messages of which there are more reports than
    people times places: number, reports, and that product. places: sealed reports of one person.
    tail: at most the chance that hers did not fit and were drawn again. colluding: people who may,
    as was stated. local_only: whether one party mixed and opened. contradicted: whether the
    shuffler signed another release of the same stratum as well.
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


@dataclass(frozen=True)
class NotMade:
    """A table that was asked for, and cannot be weighted or be of those who answered; and why."""

    questions: tuple[str, ...]
    problem: Problem

    @property
    def reason(self) -> str:
        """Why not, and what would work."""
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
    """What one released stratum says, or several that were released as one.

    names: of the strata. people: in it. The rest as in `Estimates`, of these people alone.
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
        """All names in one."""
        return label(self.names)


@dataclass(frozen=True)
class Estimates(views.Notebook, views.Tabular):
    """Estimated tables of one plan.

    arrived: what came of each message. guarantee: recomputed for the smallest number of people of
    any message. words: of text questions, by id. amounts: of questions of numbers, by id: means,
    totals, quantiles. simultaneous: one for each table, where they were asked for (None of wide
    questions).
    seed: None for real reports, else the seed of the simulation.
    persons: what was taken as one person, "rows" or "ids". truth: only where the answers are
    known as well (a demonstration): the true shares, one array for each table. releases: those
    that the reports came in, if they came over a network. received: what their receipts say, as far
    as they are there. strata: where questions are open, what each release says; all else is of all
    releases together.
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
    releases: frozenset[Release] = frozenset()
    received: tuple[Received, ...] = ()
    strata: tuple[StratumEstimates, ...] = ()
    not_made: tuple[NotMade, ...] = ()

    def __repr__(self) -> str:
        tables = f"{len(self.tables)} tables, {len(self.words)} lists of words"
        name = self.plan.survey.name
        came = f"crowd={self.crowd:,}, {self.reports:,} reports{views.simulated(self.seed)}"
        return f"Estimates({name!r}, {tables}, {came})"

    def table(self, *questions: str) -> TableEstimate:
        """The table of some questions, in the order in which they were estimated.

        Raises TableError, which names the tables that there are, if these questions have none.
        """
        found = {frozenset(table.questions): table for table in self.tables}
        if table := found.get(frozenset(questions)):
            return table
        if len(questions) == 1 and questions[0] in self.words:
            allowed = f"it is a question for words; use words[{questions[0]!r}]"
            raise TableError.of("table", questions[0], allowed)
        there = ", ".join(" × ".join(table.questions) for table in self.tables)
        allowed = f"the tables are {there or 'none'}; name one, or ask for others in tables"
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
        """The people of the message that has the fewest, those who may collude included.

        Where questions are open, of the smallest stratum.
        """
        return min([self.people, *(stratum.people for stratum in self.strata)])

    @property
    def people(self) -> int:
        """All people, of the message that has the fewest."""
        return min(message.people for message in self.arrived)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The strata that were not released, since too few people or nobody is in them."""
        return left_out(self.plan.survey, (stratum.names for stratum in self.strata))
