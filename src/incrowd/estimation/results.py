"""The results that an analyst may publish: tables, the crowd, and its guarantee."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, sentence, text_list, translatable
from incrowd.errors import Problem, TableError, quantity
from incrowd.estimation.amounts import Amounts
from incrowd.estimation.displayed import (
    JOINT,
    MOST_LISTED,
    Shown,
    as_read,
    at_once,
    changes,
    quality,
    titled,
    visible,
    weight_column,
    with_cells,
)
from incrowd.estimation.receipts import (
    UPLOADS,
    Received,
    persons_sentence,
    receipt_sentences,
    unaccounted,
    without_receipt,
)
from incrowd.estimation.simultaneous import SimultaneousIntervals
from incrowd.estimation.tables import EVERYONE, FIGURES, TableEstimate
from incrowd.estimation.words import WordEstimates
from incrowd.plans import Guarantee, Plan
from incrowd.plans.claims import ClaimedRelease
from incrowd.plans.message import message_facts
from incrowd.plans.plan import in_other_words
from incrowd.plans.strata import label, left_out
from incrowd.survey import NOT_ASKED, Survey
from incrowd.views import Sheet, Square, Value, View, of_the_only

if TYPE_CHECKING:
    import pyarrow as pa

EVERYBODY = "all"  # the name of all strata together
MOST_NAMES = 8  # strata named in one line
NO_TABLE = "estimation.no-table"
FACT_CROWD = translatable("estimation.fact-crowd")
FACT_REPORTS = translatable("estimation.fact-reports")
FACT_NOISE = translatable("estimation.fact-noise")
FACT_RECEIPT = translatable("estimation.fact-receipt")
FACT_PEOPLE = translatable("estimation.fact-people")


class Fact(NamedTuple):
    """A fact about estimates to show above their tables. doubt: whether it is a warning."""

    name: str
    lines: tuple[str, ...]
    doubt: bool = False

    @property
    def short(self) -> bool:
        """Whether it is a number, which fits beside another."""
        return self.name in (FACT_CROWD, FACT_REPORTS)


@dataclass(frozen=True)
class Arrived:
    """The reports of one message: accepted ones, rejected ones (which no client can have sent), and
    people.

    draws: of published counts, how many times noise was added to each. Nobody knows how many
    reports were counted, so that `accepted` and `rejected` are 0.
    """

    accepted: int
    rejected: int
    people: int
    draws: int = 0

    @property
    def facts(self) -> dict[str, int]:
        """The same as JSON-ready data."""
        if self.draws:
            return {"people": self.people, "noise_added": self.draws}
        return {"reports": self.accepted, "rejected": self.rejected, "people": self.people}


@dataclass(frozen=True)
class NotMade:
    """A requested table that cannot be weighted or restricted to those who answered, and why."""

    questions: tuple[str, ...]
    problem: Problem

    @property
    def reason(self) -> str:
        """The reason, and what would work; the table is not named again."""
        why = self.problem.arguments["why"] if self.problem.code == NO_TABLE else None
        return str(why or self.problem.message)

    @property
    def sentence(self) -> str:
        """The table and the reason."""
        why = self.problem.arguments["why"] if self.problem.code == NO_TABLE else None
        reason = why or self.problem.message
        return translatable("estimation.missing", questions=[*self.questions], reason=reason)


class _SomePeople:
    """The figures of some people, and their forms."""

    tables: tuple[TableEstimate, ...]
    asked: Mapping[str, TableEstimate]
    words: Mapping[str, WordEstimates]
    amounts: Mapping[str, Amounts]
    simultaneous: tuple[SimultaneousIntervals | None, ...]
    not_made: tuple[NotMade, ...]
    truth: tuple[np.ndarray, ...] | None = None

    def amounts_of(self, item: Shown) -> Amounts | None:
        """Return the figures that belong to a table, if it is of one question with numbers. They
        are of those who answered, and belong to the first table of the question."""
        again = item.table.provenance.of_asked
        return self.amounts.get(item.names[0]) if len(item.names) == 1 and not again else None

    def complete(self, plan: Plan) -> Iterator[Shown]:
        """Yield every table with all its cells."""
        yield from (item for item, _ in self._items(plan))

    def _items(self, plan: Plan) -> Iterator[tuple[Shown, SimultaneousIntervals | None]]:
        """Yield every table with all its cells, and its simultaneous intervals if it has any. After
        a question that not everybody was asked, the table of those who were follows."""
        randomized = {question.id for question in plan.survey.randomized}
        truths = self.truth or (None,) * len(self.tables)
        together = self.simultaneous or (None,) * len(self.tables)
        for table, truth, intervals in zip(self.tables, truths, together, strict=True):
            alone = plan.by_cells_alone(randomized & {*table.questions})
            # Of so many cells, most show only noise.
            long = alone and table.estimate.size > MOST_LISTED
            yield with_cells(table, truth, long=long), intervals
            if asked := self.asked_of(table.questions):
                yield with_cells(asked, _among_asked(table, truth), long=False), None

    def asked_of(self, ids: Sequence[str]) -> TableEstimate | None:
        """Return the table of those who were asked, if not everybody was asked a question."""
        return self.asked.get(ids[0]) if len(ids) == 1 else None

    def displayed(self, plan: Plan) -> Iterator[Shown]:
        """Yield every table with the cells to display, in the wording of the survey."""
        for item, intervals in self._items(plan):
            chosen = visible(item) if item.cells[0].above_noise is not None else item
            shown = chosen if intervals is None else at_once(chosen, intervals)
            yield as_read(shown, plan.survey)

    def table_facts(self, plan: Plan) -> dict[str, Any]:
        """Return tables and words as JSON-ready data, and the tables that could not be made."""
        missing = [{"questions": each.questions, "reason": each.reason} for each in self.not_made]
        return {
            "tables": [self._facts_of(plan.survey, *each) for each in self._items(plan)],
            "words": [_word_facts(id, words) for id, words in self.words.items()],
            **({"not_made": missing} if missing else {}),
        }

    def _facts_of(
        self, survey: Survey, item: Shown, intervals: SimultaneousIntervals | None
    ) -> dict[str, Any]:
        table, read = item.table, as_read(item, survey).table
        facts: dict[str, Any] = {
            "questions": table.questions,
            "errors": table.error.includes,
            "level": table.error.level,
            "people": int(table.people),
            "as_good_as": table.effective_sample_size,
            "influence_of_a_malicious_sender": table.provenance.influence,
            "cells": [cell.facts for cell in item.cells],
            **changes(table.provenance),
        }
        if table.provenance.error_ratio is not None:
            facts["error_ratio"] = table.provenance.error_ratio
        if read.questions != table.questions:
            facts["text"] = read.questions
        if read.answers != table.answers:
            facts["labels"] = read.answers
        if figures := self.amounts_of(item):
            facts |= {name: each for name, each in asdict(figures).items() if each is not None}
        if intervals is not None:
            facts["simultaneous"] = {
                "method": intervals.method,
                "multiplier": intervals.multiplier,
                "low": intervals.low.ravel(),
                "high": intervals.high.ravel(),
            }
        if table.error.covariance is not None:
            facts["covariance"] = table.error.covariance
        return facts

    def records(self, plan: Plan) -> Iterator[dict[str, Any]]:
        """Yield a record for each cell of each table, and for each word."""
        everybody = {"shares_of": EVERYONE} if self.asked else {}  # all records have the same keys
        for item in self.complete(plan):
            questions = JOINT.join(item.table.questions)
            more = everybody | changes(item.table.provenance)
            for cell in item.cells:
                truth = {} if cell.truth is None else {"truth": cell.truth}
                yield _record(questions, JOINT.join(cell.answer), cell) | truth | more
        for id, words in self.words.items():
            yield from (
                _record(id, row.word, row) | everybody | weight_column(words.weighted_to)
                for row in words.rows
            )


def _among_asked(table: TableEstimate, truth: np.ndarray | None) -> np.ndarray | None:
    """Return the true shares of the answers of those who were asked. table: of all people."""
    if truth is None:
        return None
    last = table.answers[0].index(NOT_ASKED)
    return np.asarray(truth[:last] / (1 - truth[last])) if truth[last] < 1 else None


def _record(questions: str, answer: str, figures: Any) -> dict[str, Any]:
    numbers = {name: getattr(figures, name) for name in FIGURES}
    below = {"below_zero": figures.estimate < 0}
    return {"questions": questions, "answer": answer} | numbers | below


def _word_facts(id: str, words: WordEstimates) -> dict[str, Any]:
    names = ("family_error", "others", "others_error", "errors", "share_statement")
    facts = {name: getattr(words, name) for name in names}
    rows = [row._asdict() for row in words.rows]
    return {"question": id} | facts | {"words": rows} | weight_column(words.weighted_to)


@dataclass(frozen=True)
class StratumEstimates(_SomePeople):
    """The estimates of one released stratum, or of several that were released as one.

    names: the names of the strata. people: their number. The other fields are as in `Estimates`,
    for these people only.
    """

    names: tuple[str, ...]
    people: int
    tables: tuple[TableEstimate, ...]
    asked: Mapping[str, TableEstimate] = field(default_factory=dict)
    words: Mapping[str, WordEstimates] = field(default_factory=dict)
    amounts: Mapping[str, Amounts] = field(default_factory=dict)
    simultaneous: tuple[SimultaneousIntervals | None, ...] = ()
    not_made: tuple[NotMade, ...] = ()

    @property
    def name(self) -> str:
        """The names, joined."""
        return label(self.names)


@dataclass(frozen=True)
class Estimates(_SomePeople, views.Result):
    """The estimated tables of one plan.

    It iterates over its rows as dictionaries, and `estimates["smokes"]` is the table of a question.

    Attributes
    ----------
    plan : Plan
        The plan of the reports, with merged answers.
    arrived : tuple of Arrived
        The reports of each message.
    guarantee : Guarantee
        Recomputed for the smallest number of people of any message.
    tables : tuple of TableEstimate
        The tables.
    asked : mapping of str to TableEstimate
        For each question that not everybody was asked, by its id, the table of those who were.
    words : mapping of str to WordEstimates
        Of text questions, by id.
    amounts : mapping of str to Amounts
        Means, totals, and quantiles of questions of numbers, by id.
    simultaneous : tuple of SimultaneousIntervals or None
        The intervals for each table, if requested; None for wide questions.
    seed : int or None
        Of a simulation; None for real reports.
    persons : {"rows", "ids"}
        What counts as one person.
    truth : tuple of arrays or None
        The true shares of each table, only if the answers are known as well (in a demonstration).
    releases : frozenset of ClaimedRelease
        Of the reports, if they came over a network.
    received : tuple of Received
        The available receipts of these releases.
    strata : tuple of StratumEstimates
        If questions are open, the estimates of each release; all other fields are those of all
        releases together.
    not_made : tuple of NotMade
        Tables that could not be estimated, with the reasons.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> estimates = incrowd.estimate(plan, reports)
    >>> estimates.people, len(estimates.tables)
    (20190, 6)
    >>> estimates.table("physical_limitation", "self_rated_health").estimate.shape
    (2, 4)
    """

    plan: Plan
    arrived: tuple[Arrived, ...]
    guarantee: Guarantee
    tables: tuple[TableEstimate, ...]
    asked: Mapping[str, TableEstimate] = field(default_factory=dict)
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

    layout: ClassVar[str] = "estimates"

    def __repr__(self) -> str:
        tables = quantity(len(self.tables), "tables")
        lists = quantity(len(self.words), "lists")
        name = self.plan.survey.name
        came = "published counts" if self.reports is None else quantity(self.reports, "reports")
        reports = f"{came}{views.simulated(self.seed)}"
        return f"Estimates({name!r}, {tables}, {lists} of words, crowd={self.crowd:,}, {reports})"

    def table(self, *questions: str) -> TableEstimate:
        """Return the table of some questions, in the order in which they were estimated.

        Raises
        ------
        TableError
            If there is no such table; it lists the existing ones.
        """
        tables = {frozenset(table.questions): table for table in self.tables}
        if table := tables.get(frozenset(questions)):
            return table
        if len(questions) == 1 and questions[0] in self.words:
            raise TableError.of("table", "estimation.words-not-table", value=questions[0])
        names = [" × ".join(table.questions) for table in self.tables]
        raise TableError.of(
            "table",
            "estimation.not-estimated",
            value=questions,
            tables=names or sentence("shared.none"),
        )

    def __getitem__(self, questions: str | tuple[str, ...]) -> TableEstimate:
        """Return the table of a question, or of several: see `table`."""
        return self.table(*([questions] if isinstance(questions, str) else questions))

    def __iter__(self) -> Iterator[TableEstimate]:
        """Return the tables."""
        return iter(self.tables)

    @property
    def reports(self) -> int | None:
        """Accepted reports of all messages; None if there are published counts only."""
        counted = [message.accepted for message in self.arrived if not message.draws]
        return sum(counted) if counted else None

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

    def facts(self) -> dict[str, Any]:
        """Return the estimates as JSON-ready data.

        estimate, standard_error, low, high and truth are raw proportions of the people: neither
        clipped nor projected. noise is the flip probability of a bit. If there is one message,
        noise and copies are repeated outside of `messages`. truth is present only if it is
        available.
        """
        messages = [
            message_facts(message) | came.facts
            for message, came in zip(self.plan.messages, self.arrived, strict=True)
        ]
        facts = {
            "reports": self.reports,
            "rejected": self.rejected,
            "crowd": self.crowd,
            "persons": self.persons,
            "plan": self.plan.digest,
            **of_the_only(messages, "noise", "copies"),
            "messages": messages,
            "guarantee": self.guarantee,
            **self.table_facts(self.plan),
        }
        if self.strata:
            facts["people"] = self.people
            facts["strata"] = [
                {"strata": each.names, "people": each.people} | each.table_facts(self.plan)
                for each in self.strata
            ]
            facts["not_released"] = self.left_out
        if self.releases:
            releases = sorted(self.releases, key=lambda each: each.id)
            facts["releases"] = [each.model_dump(mode="json") for each in releases]
        if self.received:
            facts["receipts"] = [each.facts for each in self.received]
        return facts

    def long_table(self) -> Sheet:
        """Return a row for each cell of each table.

        Columns: questions and answer (the ids and the answers, joined by " | "), estimate,
        standard_error, low, high (proportions of the people), below_zero, truth if available,
        weighted_to and shares_of (those who answered) if requested, and simulation, a warning, if
        the reports are simulated. With open questions the first column is stratum: "all" for all
        released strata together, then each stratum, with proportions of its people.
        """
        rows = list(self.records(self.plan))
        if self.strata:
            rows = [{"stratum": EVERYBODY} | row for row in rows]
        for each in self.strata:
            rows += [{"stratum": each.name} | row for row in each.records(self.plan)]
        return Sheet.of_records("estimates", rows)

    def to_arrow(self) -> pa.Table:
        """Return the long table.

        Everything else (crowd, guarantee, seed, plan) is JSON in the schema's metadata under
        "incrowd". Parquet keeps it; CSV cannot.
        """
        about = views.presented("incrowd.presentation.data:json_ready", self)
        more = {name: about[name] for name in about if name not in ("tables", "words", "strata")}
        return super().to_arrow().replace_schema_metadata({"incrowd": json.dumps(more)})

    def sheets(self) -> Sequence[Sheet]:
        """Return a sheet for each table, with a column for each question; words, means and totals,
        strata."""
        sheets = [_table_sheet(item) for item in self.complete(self.plan)]
        for id, words in self.words.items():
            rows = [tuple(getattr(row, name) for name in WORD_HEADINGS) for row in words.rows]
            sheets.append(Sheet(f"words {id}", WORD_HEADINGS, tuple(rows), FIGURES))
        if self.amounts:
            figures = [(id, *row) for id, each in self.amounts.items() for row in each.rows]
            sheets.append(Sheet("numbers", ("question", "figure", *FIGURES), tuple(figures)))
        for stratum in self.strata:
            for table in (*stratum.tables, *stratum.asked.values()):
                sheet = table.long_table()
                sheets.append(
                    sheet._replace(
                        name=translatable("estimation.labeled", name=stratum.name, text=sheet.name)
                    )
                )
        return sheets

    def sheets_as_read(self) -> Sequence[Sheet]:
        """Return the same sheets in the order of `displayed`, in the wording of the survey."""
        survey, sheets = self.plan.survey, list(self.sheets())
        for place, item in enumerate(self.complete(self.plan)):
            read = _table_sheet(as_read(item, survey))
            sheets[place] = read._replace(name=sheets[place].name)
        return sheets

    def squares(self) -> Sequence[Square]:
        """Return the covariance of each table, if it was computed."""
        return [
            Square(
                f"cov {' x '.join(table.questions)}",
                tuple(map(JOINT.join, product(*table.answers))),
                table.error.covariance,
            )
            for table in self.tables
            if table.error.covariance is not None
        ]

    @property
    def in_r(self) -> str:
        """Lines of R that use the tables, and the covariances if they were computed."""
        return IN_R if self.squares() else IN_R_ALONE

    def view(self) -> View:
        """Return what the figures mean: the people, the reports, the noise, and each table. The
        tables themselves have a layout of their own."""
        facts: list[str] = [
            translatable("estimation.labeled", name=fact.name, text=line)
            for fact in self.about(translatable("estimation.in-sheets"))
            for line in fact.lines
        ]
        for table in self.tables:
            ids = table.questions
            asked = titled([self.plan.survey.text_of(id) for id in ids], ids)
            none = translatable("shared.none")
            errors = table.error.includes if table.standard_error.any() else none
            whose = translatable(
                "estimation.shares-of",
                whose=table.provenance.whose,
                rounding=table.provenance.rounding,
                errors=errors,
            )
            about = text_list((asked, whose, quality(table)))
            facts.append(translatable("estimation.labeled", name=" x ".join(ids), text=about))
        shares = translatable("estimation.shares-are-proportions")
        return View(self.plan.survey.name, notes=(shares, *facts))

    def about(self, where: str) -> Iterator[Fact]:
        """Yield the people, the reports, the noise, the receipts, and the tables left out.

        where: where to find the tables of each stratum.
        """
        survey = self.plan.survey
        smallest = "estimation.crowd-of-smallest" if self.strata else "estimation.crowd-of"
        crowd = translatable(smallest, people=self.crowd, planned=survey.crowd)
        yield Fact(FACT_CROWD, (crowd,))
        if strata := tuple(self._strata_lines(where)):
            yield Fact(translatable("estimation.fact-strata"), strata)
        if self.reports is not None:
            counted: str = NumberText(f"{self.reports:,}")
            if self.rejected:
                rejected = translatable("estimation.rejected", reports=self.rejected)
                counted = text_list((counted, rejected))
            yield Fact(FACT_REPORTS, (counted,))
        yield Fact(FACT_NOISE, tuple(self._noise_lines()))
        for received in self.received:
            yield Fact(FACT_RECEIPT, tuple(receipt_sentences(received)))
        if hints := tuple(unaccounted(self.received)):
            yield Fact(FACT_RECEIPT, hints, doubt=True)
        if missing := tuple(without_receipt(self.releases, self.received)):
            yield Fact(FACT_RECEIPT, missing, doubt=True)
        if self.not_made:
            left_out = tuple(each.sentence for each in self.not_made)
            yield Fact(translatable("estimation.fact-left-out"), left_out)
        persons = persons_sentence(self.persons, survey.rows_per_person)
        yield Fact(FACT_PEOPLE, (UPLOADS if self.releases else persons,))

    def _noise_lines(self) -> Iterator[str]:
        """Yield a line on the noise of each message."""
        curated = "curator" in self.guarantee.mixed_by
        times = ("estimation.curator-added-once", "estimation.curator-added-twice")
        for message, text in zip(self.plan.messages, self.plan.message_texts, strict=True):
            if message.added is None or not curated:
                yield text
                continue
            yield translatable(
                times[self.plan.own_draws - 1],
                questions=[*message.ids],
                deviation=message.added.deviation,
            )

    def _strata_lines(self, where: str) -> Iterator[str]:
        """Yield the released strata with their people, and those left out; none without strata."""
        if not self.strata:
            return
        for stratum in self.strata:
            several = len(stratum.names) > 1
            code = "estimation.people-together" if several else "estimation.people-of-stratum"
            yield translatable(code, names=first_names(stratum.names), people=stratum.people)
        if self.left_out:
            yield translatable("estimation.strata-not-in", names=first_names(self.left_out))
        singly = translatable("estimation.each-stratum-where", where=where)
        together = translatable("estimation.all-strata-together")
        yield text_list((together, singly) if self.strata[0].tables else (together,))

    def worded(self, survey: Survey) -> Self:
        """Return the same estimates with the wording of a survey."""
        return replace(self, plan=in_other_words(self.plan, survey))


WORD_HEADINGS = ("word", *FIGURES, "present")
_TABLE_IN_R = """
    t <- incrowd$sheets[[1]]                  # answers, estimate, standard_error, low, high
    xtabs(estimate ~ ., t[setdiff(names(t), c("standard_error", "low", "high"))])
    """
IN_R_ALONE = f"{_TABLE_IN_R}For covariances, write this file with: incrowd estimate -o FILE.R"
IN_R = f"""{_TABLE_IN_R}# The difference of the first two cells, with its standard error:
    w <- c(1, -1, rep(0, nrow(t) - 2))
    V <- incrowd$matrices[[1]]                # the covariance, cells in the order of the rows
    c(difference = sum(w * t$estimate), error = sqrt(drop(t(w) %*% V %*% w)))
    # Together with other surveys, with the package metafor:
    # metafor::rma.mv(yi = c(t$estimate, others), V = metafor::bldiag(V, V_of_others))
    """


def _table_sheet(item: Shown) -> Sheet:
    """Return a row for each cell: an answer to each question, and its figures;
    the truth if known."""
    sheet = item.table.long_table()
    if not item.has_truth:
        return sheet
    rows: list[tuple[Value, ...]] = [
        (*row, cell.truth) for row, cell in zip(sheet.rows, item.cells, strict=True)
    ]
    shares = (*sheet.shares, "truth")
    return Sheet(sheet.name, (*sheet.headings, "truth"), tuple(rows), shares)


def first_names(names: Sequence[str]) -> str:
    """Return names of strata; if there are many, the first ones."""
    shown = ", ".join(names[:MOST_NAMES])
    if len(names) <= MOST_NAMES:
        return shown
    return translatable("estimation.names-in-all", names=shown, number=len(names))
