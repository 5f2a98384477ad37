"""Reports + Plan -> estimates: the one way to all figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from incrowd.encoding.bloom import candidate_places, normalize
from incrowd.errors import InWords, ReportsError, TableError, UsageError
from incrowd.estimation.amounts import Amounts, amounts, evidence, evidence_of
from incrowd.estimation.readings import Ids, check_tables, readings, sharpest, table
from incrowd.estimation.results import Arrived, Estimates, NotMade, Received, StratumEstimates
from incrowd.estimation.simultaneous import Method, SimultaneousIntervals, simultaneous_intervals
from incrowd.estimation.tables import MOST_CELLS, TableEstimate
from incrowd.estimation.weighting.known_margins import Given, known_margins
from incrowd.estimation.weighting.weighting import (
    Change,
    Derived,
    counted_for,
    derived,
    derived_strata,
    weighted_options,
    weighted_words,
    what_can_be_made,
    wide_alone,
)
from incrowd.estimation.words import WordEstimates, estimate_words
from incrowd.guarantees import analysis_of, counted_guarantee
from incrowd.kernels.threads import in_order
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import with_merged
from incrowd.reports.collection import Collection
from incrowd.reports.consistency import nothing_of, people_of, smallest
from incrowd.reports.spark import THIS_MACHINE, count_files, started
from incrowd.reports.tally import Kind, Tally, with_tables
from incrowd.reports.tally import count as tallied
from incrowd.survey import Survey, WithEdges, takes_numbers, takes_words
from incrowd.survey.merging import Merge

Reports = Collection | Iterable[Collection]


def count(
    plan: Plan,
    reports: Reports,
    *,
    tables: Sequence[Sequence[str]] | None = None,
    kind: Kind = "singles",
) -> Tally:
    """Count reports for tables; tallies of different reports can be added and estimated later.

    tables: lists of question ids; by default the one-way tables and those the survey wants. kind:
    "pairs" counts what covariances need, "patterns" what maximum likelihood needs. Raises
    ReportsError if the reports are of another plan, TableError for a table that cannot be made,
    PlanFileError if the plan's analysis does not promise what the plan does.
    """
    analysis_of(plan)
    parts = [reports] if isinstance(reports, Collection) else reports
    return tallied(plan, parts, _counted_for(plan, tables), kind, in_order)


def count_on_spark(
    plan: Plan,
    paths: Iterable[str | Path],
    *,
    tables: Sequence[Sequence[str]] | None = None,
    kind: Kind = "singles",
    master: str = THIS_MACHINE,
) -> Tally:
    """Count files of reports on Spark, as `count` does here; every machine has to find the files.

    master: the address of a cluster; by default all cores of this machine. Raises UsageError if
    the extra `spark` or Java is missing, else what `count` raises.
    """
    analysis_of(plan)
    wanted = _counted_for(plan, tables)
    with started(master) as session:
        return count_files(plan, session, paths, wanted, kind)


def _counted_for(plan: Plan, tables: Sequence[Sequence[str]] | None) -> tuple[Ids, ...]:
    """What is counted for some tables: their randomized questions, in every stratum."""
    closed = map(plan.survey.closed, check_tables(plan, tables))
    return tuple(dict.fromkeys(ids for ids in closed if ids))


def to_count(
    plan: Plan,
    tables: Sequence[Sequence[str]] | None,
    margins: Given | None = None,
    of_those_who_answered: bool = False,
) -> Sequence[Sequence[str]] | None:
    """What is counted for tables: themselves, and what weights, and who answered, are read from."""
    change = _change(plan, margins, of_those_who_answered)
    return tables if change is None else _changeable(plan, check_tables(plan, tables), change)[1]


def _change(plan: Plan, margins: Given | None, answered: bool) -> Change | None:
    """What is made of the tables; None if they stay as they are."""
    if margins is None and not answered:
        return None
    return Change(() if margins is None else known_margins(plan.survey, margins), answered)


def _changeable(
    plan: Plan, wanted: Sequence[Ids], change: Change | None
) -> tuple[tuple[Ids, ...], tuple[Ids, ...], tuple[NotMade, ...]]:
    """The tables that can be weighted, or be of those who answered; what is counted for them; and
    the other tables. All, if nothing is to be changed. Raises TableError if there are none."""
    if change is None:
        return tuple(wanted), tuple(wanted), ()
    together, not_made = what_can_be_made(wanted, lambda ids: counted_for(plan, ids, change))
    _check_made(together, not_made)
    counted = dict.fromkeys(ids for ids in (*together, *together.values()) if ids)
    return tuple(together), tuple(counted), not_made


def _check_made(made: object, not_made: Sequence[NotMade]) -> None:
    """Raises TableError, each reason once, if none of some tables could be made."""
    if not_made and not made:
        problems = {str(each.problem): each.problem for each in not_made}
        raise TableError(*problems.values())


def estimate(
    plan: Plan,
    reports: Reports | Tally,
    *,
    tables: Sequence[Sequence[str]] | None = None,
    merge: Merge | None = None,
    margins: Given | None = None,
    of_those_who_answered: bool = False,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
    candidates: Mapping[str, Sequence[str]] | None = None,
    simultaneous: Method | None = None,
    covariance: bool = False,
    received: Sequence[Received] = (),
) -> Estimates:
    """Estimate tables from reports, or from their tally, unbiased, with standard errors.

    tables: lists of ids; by default the one-way tables and those the survey wants (of a tally: all
    it counts). merge: for each question groups of answers to read as one. margins: what is known of
    all people, for each question (or several, as "faculty | sex") the share or number of people of
    each answer: all figures are weighted to them. of_those_who_answered: "no answer" is left out,
    shares are of those who answered all questions of a table. noise_only: errors of the noise
    alone, the people being fixed; else noise plus sampling. candidates: words to look for, for each
    text question. simultaneous: intervals for all cells of a table at once. covariance: of all
    cells (None of wide questions, and of overlapping options that come from cells). received: what
    the receipts say of reports that came over a network, on which the guarantee and the reach of a
    malicious sender depend. Where questions are open the tables are of all people of the released
    strata, the guarantee is that of the smallest, and `strata` has the tables of each. `not_made`:
    what cannot be weighted, or be of those who answered. Raises ReportsError for reports of another
    plan, or too few, TableError and UsageError for tables, margins and merges that cannot be.
    """
    plan = with_merged(plan, merge)
    _check_candidates(plan, candidates := candidates or {})
    change = _change(plan, margins, of_those_who_answered)
    if isinstance(reports, Tally) and tables is None and change is None:
        tables = _held(plan, reports)
    wanted, counting, not_made = _changeable(plan, check_tables(plan, tables), change)
    joined = bool(covariance or simultaneous or change)
    if isinstance(reports, Tally):
        reports = _with_tables(plan, reports, _counted_for(plan, counting), joined)
    else:
        kind: Kind = "pairs" if joined else "singles"
        reports = count(plan, reports, tables=counting, kind=kind)
    arrived, guarantee = check_arrived(plan, reports, accept_smaller_crowd, received)
    places = max((release.claims.places for release in reports.releases), default=0)
    asked = TableOptions(noise_only, places, candidates, simultaneous, covariance, change)
    everybody = figures(plan, reports, wanted, asked)
    everybody = everybody._replace(not_made=(*not_made, *everybody.not_made))
    _check_made(everybody.tables or everybody.words, everybody.not_made)
    return Estimates(
        plan=plan,
        arrived=arrived,
        guarantee=guarantee,
        **everybody._asdict(),
        seed=reports.seed,
        persons=reports.persons,
        releases=reports.releases,
        received=tuple(received),
        strata=tuple(_strata(plan, reports, wanted, asked)),
    )


def _held(plan: Plan, counted: Tally) -> tuple[Ids, ...]:
    """The tables that a tally holds: the wanted ones, then what else it counts."""
    survey = plan.survey
    wanted = [ids for ids in survey.wanted if survey.closed(ids) in ((), *counted.tables)]
    return tuple(dict.fromkeys((*wanted, *counted.tables))) if survey.open else counted.tables


def _check_candidates(plan: Plan, candidates: Mapping[str, Sequence[str]]) -> None:
    """Raises UsageError for words of what is no text question."""
    texts = plan.survey.texts
    for id in candidates:
        if id not in texts:
            known = ", ".join(texts) or "none"
            allowed = f"should be a text question; they are {known}"
            raise UsageError.of("candidates", id, allowed)


def _with_tables(plan: Plan, counted: Tally, wanted: Sequence[Ids], joined: bool) -> Tally:
    """A tally with the tables that follow from those that it counts. Raises TableError if it does
    not hold what is asked of it."""
    counted = with_tables(plan, counted, wanted)
    paired = joined and not all(map(plan.by_cells_alone, wanted))
    if paired and counted.kind != "pairs":
        allowed = (
            "it counts single bits; for weights, and errors of cells together, count the reports "
            "with `incrowd tally --pairs`, or name them"
        )
        raise TableError.of("tally", counted.kind, allowed)
    for ids in wanted:
        if ids not in counted.tables:
            known, name = "; ".join(map(",".join, counted.tables)), ",".join(ids)
            allowed = (
                f"it was not counted; use {known}, or count it: `incrowd tally --table {name}`"
            )
            raise TableError.of("table", name, allowed)
    return counted


# --- the figures of some people --------------------------------------------------------------


class TableOptions(NamedTuple):
    """What was asked for. places: as `incrowd.estimation.readings.table_of` has them. candidates:
    words by text question. change: what is made of all tables, if anything."""

    noise_only: bool
    places: int
    candidates: Mapping[str, Sequence[str]]
    simultaneous: Method | None
    covariance: bool
    change: Change | None


class Figures(NamedTuple):
    """The figures of some people, under the names of `Estimates`."""

    tables: tuple[TableEstimate, ...]
    words: dict[str, WordEstimates]
    amounts: dict[str, Amounts]
    simultaneous: tuple[SimultaneousIntervals | None, ...]
    not_made: tuple[NotMade, ...]


class _Item(NamedTuple):
    """A table with what belongs to it. joint: the same with its covariance, where that was asked
    for: a covariance can have to be raised, and its cells by themselves keep their errors."""

    table: TableEstimate
    joint: TableEstimate | None = None
    amounts: Amounts | None = None

    def shown(self, asked: TableOptions) -> TableEstimate:
        """The table with its covariance, if that was asked for, and it is known how answers
        overlap."""
        if self.joint is None or not asked.covariance or not self.joint.overlaps:
            return replace(self.table, covariance=None, noise_covariance=None)
        covariance, noise = self.joint.covariance, self.joint.noise_covariance
        return replace(self.table, covariance=covariance, noise_covariance=noise)

    def at_once(self, asked: TableOptions) -> SimultaneousIntervals | None:
        """The intervals of all cells at once."""
        if self.joint is None or asked.simultaneous is None:
            return None
        return simultaneous_intervals(self.joint, method=asked.simultaneous)


def figures(plan: Plan, counted: Tally, wanted: Sequence[Ids], asked: TableOptions) -> Figures:
    """Of all people of a tally. Tables that a change cannot be made of are listed with the reason;
    where nothing is to be changed such a table raises TableError."""
    tables = [ids for ids in wanted if ids[0] not in plan.survey.texts]
    texts = [ids for ids in wanted if asked.candidates.get(ids[0])]
    if asked.change is None:
        items = {ids: _item(plan, counted, asked, ids) for ids in tables}
        lists = {ids: _words(plan, counted, asked, ids) for ids in texts}
        return _figures(items, lists, asked, ())
    items, no_items = what_can_be_made(tables, partial(_item, plan, counted, asked))
    lists, no_lists = what_can_be_made(texts, partial(_words, plan, counted, asked))
    return _figures(items, lists, asked, (*no_items, *no_lists))


def _strata(
    plan: Plan, counted: Tally, wanted: Sequence[Ids], asked: TableOptions
) -> Iterator[StratumEstimates]:
    """The tables of every release by itself, of what is randomized.

    Where weights are for answers to randomized questions, people of one release have several, and
    its tables are weighted as well; else all of them have the same.
    """
    if not counted.strata:
        return
    closed = tuple(dict.fromkeys(filter(None, map(plan.survey.closed, wanted))))
    if (change := asked.change) is None or not change.closed(plan.survey):
        alone = Change((), answered=True) if change and change.answered else None
        for names, crowd in counted.strata.items():
            found = figures(plan, counted.only([names]), closed, asked._replace(change=alone))
            yield StratumEstimates(names, smallest(plan, crowd), **found._asdict())
        return

    def each(ids: Ids) -> list[Derived]:
        return list(derived_strata(plan, counted, ids, change, asked.noise_only, asked.places))

    weighted, not_made = what_can_be_made(closed, each)
    for place, (names, crowd) in enumerate(counted.strata.items()):
        items = {ids: _weighted_item(plan, ids, each[place]) for ids, each in weighted.items()}
        found = _figures(items, {}, asked, not_made)
        yield StratumEstimates(names, smallest(plan, crowd), **found._asdict())


def _figures(
    items: Mapping[Ids, _Item],
    words: Mapping[Ids, WordEstimates],
    asked: TableOptions,
    not_made: tuple[NotMade, ...],
) -> Figures:
    return Figures(
        tables=tuple(item.shown(asked) for item in items.values()),
        words={id: each for (id,), each in words.items()},
        amounts={ids[0]: item.amounts for ids, item in items.items() if item.amounts},
        simultaneous=tuple(item.at_once(asked) for item in items.values())
        if asked.simultaneous
        else (),
        not_made=not_made,
    )


def _item(plan: Plan, counted: Tally, asked: TableOptions, ids: Ids) -> _Item:
    """A table with what belongs to it, weighted or of those who answered if that is asked."""
    change, question = asked.change, _number(plan.survey, ids)
    wide = wide_alone(plan.survey, ids)
    if change and change.margins and wide:
        margins = change.margins
        return _Item(weighted_options(plan, counted, ids, margins, asked.noise_only, asked.places))
    if change and not wide:
        made = derived(plan, counted, ids, change, asked.noise_only, asked.places)
        if change.margins:
            return _weighted_item(plan, ids, made)
        item = _Item(made.table, made.table)  # amounts are of those who answered anyway
    else:
        of = partial(table, plan, counted, ids, asked.noise_only, asked.places)
        closed = plan.survey.closed(ids)
        cells = math.prod(len(plan.survey.question(id).answers) for id in ids)
        many = plan.by_cells_alone(closed) and cells > MOST_CELLS
        together = (asked.covariance or asked.simultaneous) and not many
        item = _Item(of(), of(covariance=True) if together else None)
    if question is None:
        return item
    found = evidence(plan, question, readings(plan, counted, ids), asked.places)
    return item._replace(amounts=amounts(found))


def _weighted_item(plan: Plan, ids: Ids, made: Derived) -> _Item:
    question = _number(plan.survey, ids)
    spread = amounts(evidence_of(question, made.weighted, made.swing)) if question else None
    return _Item(made.table, made.table, spread)


def _number(survey: Survey, ids: Ids) -> WithEdges | None:
    """The question of a table of one question of numbers, if its bins are as they were asked."""
    question = survey.question(ids[0])
    if len(ids) > 1 or question.merged:
        return None
    return question if takes_numbers(question) else None


def _words(plan: Plan, counted: Tally, asked: TableOptions, ids: Ids) -> WordEstimates:
    """The share of each candidate among the answers to a text question."""
    (id,) = ids
    question = plan.survey.question(id)
    assert takes_words(question)
    names = [normalize(word) for word in asked.candidates[id]]
    places = candidate_places(names, question.cohorts, id, question.hashes, question.block)
    if asked.change is not None and asked.change.margins:
        return weighted_words(plan, counted, id, names, places, asked.change.margins)
    found = sharpest(plan, counted, ids)
    inverse = found.message.channels[id].inverse
    return estimate_words(names, places, found.counts, inverse, found.message.copies)


# --- who came, and what holds -----------------------------------------------------------------


def check_arrived(
    plan: Plan,
    counted: Tally,
    accept_smaller_crowd: bool = False,
    received: Iterable[Received] = (),
) -> tuple[tuple[Arrived, ...], Guarantee]:
    """What came of each message, and the guarantee that holds for these reports.

    received: what the receipts say. Raises ReportsError if a message is missing, or too few people
    came to some release: each was mixed by itself.
    """
    people = people_of(plan, counted)
    arrived = []
    for number, message in enumerate(plan.messages):
        counts = counted.messages[number]
        if not counts.accepted:
            raise nothing_of(number)
        arrived.append(Arrived(counts.accepted, counts.rejected, counts.people(message)))
    if people < plan.survey.crowd and not accept_smaller_crowd:
        allowed = (
            f"the plan's guarantee counts on {plan.survey.crowd:,} people; collect more reports, "
            "or use accept_smaller_crowd=True to recompute a weaker guarantee"
        )
        raise ReportsError.of("reports", InWords(f"a crowd of {people:,}"), allowed)
    return tuple(arrived), counted_guarantee(plan, counted, people, received)
