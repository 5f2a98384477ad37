"""Reports + Plan -> estimates: every figure comes this way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Unpack

from incrowd.catalog.sentences import Keyword
from incrowd.encoding.bloom import candidate_places, normalize
from incrowd.errors import ReportsError, TableError, UsageError
from incrowd.estimation.amounts import Amounts, amounts, evidence, evidence_of
from incrowd.estimation.asked import of_those_asked
from incrowd.estimation.options import ReportOptions, WeightedOptions, without_sampling
from incrowd.estimation.readings import (
    ReportPlaces,
    check_tables,
    places_of,
    readings,
    sharpest,
    table,
)
from incrowd.estimation.results import Arrived, Estimates, NotMade, StratumEstimates
from incrowd.estimation.simultaneous import (
    SimultaneousIntervals,
    check_method,
    simultaneous_intervals,
)
from incrowd.estimation.tables import MOST_CELLS, TableEstimate
from incrowd.estimation.weighting.known_margins import GivenMargins, known_margins
from incrowd.estimation.weighting.weighting import (
    Derived,
    TableChange,
    counted_for,
    derived,
    derived_strata,
    weighted_options,
    weighted_words,
    what_can_be_made,
    wide_alone,
)
from incrowd.estimation.words import WordEstimates, estimate_words
from incrowd.guarantees.certified import analysis_of
from incrowd.guarantees.collected import counted_guarantee
from incrowd.kernels.threads import in_order
from incrowd.methods import THIS_MACHINE, SimultaneousMethod
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import counts_on_crowd, with_merged
from incrowd.reports.collection import Collection
from incrowd.reports.consistency import nothing_of, people_of, smallest
from incrowd.reports.tally import COUNTS, Tally, TallyKind, with_tables
from incrowd.reports.tally import count as tallied
from incrowd.survey import NOT_ASKED, UNANSWERED, Survey, WithEdges, takes_numbers, takes_words
from incrowd.survey.question import QuestionIds

Reports = Collection | Iterable[Collection]


def count(
    plan: Plan,
    reports: Reports,
    *,
    tables: Sequence[Sequence[str]] | None = None,
    kind: TallyKind = "singles",
) -> Tally:
    """Count reports for tables; tallies of different reports can be added and estimated later.

    Parameters
    ----------
    plan : Plan
        The plan that the reports were made with.
    reports : Collection or iterable of Collection
        Some or all reports.
    tables : sequence of sequences of str, optional
        Lists of question ids; by default the one-way tables and those that the survey requests.
    kind : {"singles", "pairs", "patterns"}
        "pairs" also counts what covariances need, "patterns" what maximum likelihood needs.

    Returns
    -------
    Tally
        The counts.

    Raises
    ------
    ReportsError
        If the reports belong to another plan.
    TableError
        For a table that cannot be estimated.
    PlanFileError
        If the plan's analysis does not support its guarantee.
    UsageError
        For an unknown kind.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> tallies = [incrowd.count(plan, [each]) for each in reports]
    >>> incrowd.estimate(plan, sum(tallies[1:], tallies[0])).people
    20190
    """
    analysis_of(plan)
    if kind not in COUNTS:
        raise UsageError.of("kind", "shared.use-one-of", value=kind, choices=[*COUNTS])
    parts = [reports] if isinstance(reports, Collection) else reports
    return tallied(plan, parts, _counted_for(plan, tables), kind, in_order)


def count_on_spark(
    plan: Plan,
    paths: Iterable[str | Path],
    *,
    tables: Sequence[Sequence[str]] | None = None,
    kind: TallyKind = "singles",
    master: str = THIS_MACHINE,
) -> Tally:
    """Count files of reports on Spark, as `count` does locally; every machine needs the files.

    master: the address of a cluster; by default all cores of this machine. Raises UsageError if
    the extra `spark` or Java is missing; otherwise as `count`.
    """
    analysis_of(plan)
    wanted = _counted_for(plan, tables)
    from incrowd.reports.spark import count_files, started  # an extra

    with started(master) as session:
        return count_files(plan, session, paths, wanted, kind)


def _counted_for(plan: Plan, tables: Sequence[Sequence[str]] | None) -> tuple[QuestionIds, ...]:
    """Return the tables to count: the randomized questions of each table, in every stratum."""
    closed = map(plan.survey.closed, check_tables(plan, tables))
    return tuple(dict.fromkeys(ids for ids in closed if ids))


def to_count(
    plan: Plan,
    tables: Sequence[Sequence[str]] | None,
    margins: GivenMargins | None = None,
    of_those_who_answered: bool = False,
) -> Sequence[Sequence[str]] | None:
    """Return the tables to count: those requested, and those that weights or restrictions need."""
    change = _change(plan, margins, of_those_who_answered)
    return tables if change is None else _changeable(plan, check_tables(plan, tables), change)[1]


def _change(plan: Plan, margins: GivenMargins | None, answered: bool) -> TableChange | None:
    """Return how the tables are changed; None if they are not."""
    if margins is None and not answered:
        return None
    weighted_to = () if margins is None else known_margins(plan.survey, margins)
    return TableChange(weighted_to, UNANSWERED if answered else ())


def _changeable(
    plan: Plan, wanted: Sequence[QuestionIds], change: TableChange | None
) -> tuple[tuple[QuestionIds, ...], tuple[QuestionIds, ...], tuple[NotMade, ...]]:
    """Return the tables that can be changed, the tables to count for them, and the remaining
    tables.

    Without a change, all tables are of the first kind. Raises TableError if none is.
    """
    if change is None:
        return tuple(wanted), tuple(wanted), ()
    together, not_made = what_can_be_made(wanted, lambda ids: counted_for(plan, ids, change))
    _check_made(together, not_made)
    counted = dict.fromkeys(ids for ids in (*together, *together.values()) if ids)
    return tuple(together), tuple(counted), not_made


def _check_made(results: object, not_made: Sequence[NotMade]) -> None:
    """Raise TableError, with each reason once, if none of the requested tables exists."""
    if not_made and not results:
        problems = {str(each.problem): each.problem for each in not_made}
        raise TableError(*problems.values())


def estimate(
    plan: Plan,
    reports: Reports | Tally,
    *,
    tables: Sequence[Sequence[str]] | None = None,
    of_those_who_answered: bool = False,
    candidates: Mapping[str, Sequence[str]] | None = None,
    simultaneous: SimultaneousMethod | None = None,
    covariance: bool = False,
    **options: Unpack[WeightedOptions],
) -> Estimates:
    """Estimate tables from reports, or from their tally, without bias and with standard errors.

    Parameters
    ----------
    plan : Plan
        The plan that the reports were made with.
    reports : Collection, Tally, or iterable of Collection
        All reports, or their tally.
    tables : sequence of sequences of str, optional
        Lists of question ids; by default the one-way tables and those that the survey requests (for
        a tally: all that it counts).
    of_those_who_answered : bool
        Whether to leave out "no answer", so that shares refer to those who answered all questions
        of a table.
    candidates : mapping of str to sequence of str, optional
        The words to look for, for each text question.
    simultaneous : {"max-t", "bonferroni"}, optional
        The method of intervals that cover all cells of a table together.
    covariance : bool
        Whether to estimate the covariance of all cells. It is None for wide questions, and for
        overlapping options that come from cells.

    Returns
    -------
    Estimates
        If questions are open, the tables describe all people of the released strata, the guarantee
        is that of the smallest stratum, and `strata` has the tables of each. `not_made` lists
        tables that cannot be weighted or restricted.

    Raises
    ------
    ReportsError
        For reports of another plan, and for too few reports.
    TableError
        For tables that cannot be estimated.
    UsageError
        For impossible margins, merges, and methods.

    References
    ----------
    Vinterbo (2018), section 3. Covariances: docs/mathematics.md#estimates.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> table = incrowd.estimate(plan, reports)["physical_limitation"]
    >>> table.answers[0]
    ('no', 'yes')
    >>> table.estimate.round(2)
    array([0.88, 0.12])
    """
    plan = with_merged(plan, options.get("merge"))
    noise_only, received = without_sampling(plan, options), options.get("received", ())
    check_method(simultaneous)
    _check_candidates(plan, candidates := candidates or {})
    change = _change(plan, options.get("margins"), of_those_who_answered)
    if isinstance(reports, Tally) and tables is None and change is None:
        tables = _held(plan, reports)
    wanted, counting, not_made = _changeable(plan, check_tables(plan, tables), change)
    paired = bool(covariance or simultaneous or change)
    paired = paired or any(not plan.by_cells_alone(ids) for ids in _partly_asked(plan, wanted))
    if isinstance(reports, Tally):
        reports = _with_tables(plan, reports, _counted_for(plan, counting), paired)
    else:
        kind: TallyKind = "pairs" if paired else "singles"
        reports = count(plan, reports, tables=counting, kind=kind)
    arrived, guarantee = check_arrived(plan, reports, options)
    places = places_of(plan, reports.releases)
    change = change and change._replace(noise_only=noise_only, places=places)
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


def _held(plan: Plan, counted: Tally) -> tuple[QuestionIds, ...]:
    """Return the tables that a tally holds: first those the survey requests, then the others."""
    survey = plan.survey
    wanted = [ids for ids in survey.wanted if survey.closed(ids) in ((), *counted.tables)]
    return tuple(dict.fromkeys((*wanted, *counted.tables))) if survey.open else counted.tables


def _check_candidates(plan: Plan, candidates: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError for candidates of a question that is not a text question."""
    texts = plan.survey.texts
    for id in candidates:
        if id not in texts:
            if not texts:
                raise UsageError.of("candidates", "estimation.no-text-questions", value=id)
            raise UsageError.of(
                "candidates", "estimation.not-a-text-question", value=id, questions=[*texts]
            )


def _with_tables(plan: Plan, counted: Tally, wanted: Sequence[QuestionIds], paired: bool) -> Tally:
    """Return a tally with the tables that can be derived from those that it counts. paired: whether
    covariances are needed. Raises TableError if the tally lacks a table or its pairs."""
    counted = with_tables(plan, counted, wanted)
    if paired and not all(map(plan.by_cells_alone, wanted)) and counted.kind != "pairs":
        raise TableError.of("tally", "estimation.tally-without-pairs", value=counted.kind)
    for ids in wanted:
        if ids not in counted.tables:
            raise TableError.of(
                "table",
                "estimation.not-counted",
                value=",".join(ids),
                tables="; ".join(map(",".join, counted.tables)),
            )
    return counted


# --- the figures of some people --------------------------------------------------------------


class TableOptions(NamedTuple):
    """The options of an estimate. places: as for `incrowd.estimation.readings.table`. candidates:
    words, by text question. change: how all tables are changed, with the same noise_only and
    places."""

    noise_only: bool
    places: ReportPlaces
    candidates: Mapping[str, Sequence[str]]
    simultaneous: SimultaneousMethod | None
    covariance: bool
    change: TableChange | None


class EstimateFigures(NamedTuple):
    """The figures of some people, under the names of `Estimates`."""

    tables: tuple[TableEstimate, ...]
    asked: dict[str, TableEstimate]
    words: dict[str, WordEstimates]
    amounts: dict[str, Amounts]
    simultaneous: tuple[SimultaneousIntervals | None, ...]
    not_made: tuple[NotMade, ...]


class _Item(NamedTuple):
    """A table and its amounts. joint: the same table with its covariance, if that was requested;
    as a covariance may have to be raised, the cells by themselves keep the errors of `table`."""

    table: TableEstimate
    joint: TableEstimate | None = None
    amounts: Amounts | None = None


def figures(
    plan: Plan, counted: Tally, wanted: Sequence[QuestionIds], options: TableOptions
) -> EstimateFigures:
    """Return the figures of all people of a tally. Tables that cannot be changed are listed with
    the reason; without a change, an impossible table raises TableError."""
    tables = [ids for ids in wanted if ids[0] not in plan.survey.texts]
    texts = [ids for ids in wanted if options.candidates.get(ids[0])]
    asked, none_asked = _asked(plan, counted, wanted, options)
    if options.change is None:
        items = {ids: _item(plan, counted, options, ids) for ids in tables}
        words = {ids: _words(plan, counted, options, ids) for ids in texts}
        return _figures(plan, items, words, options, none_asked)._replace(asked=asked)
    items, no_items = what_can_be_made(tables, partial(_item, plan, counted, options))
    words, no_words = what_can_be_made(texts, partial(_words, plan, counted, options))
    not_made = (*no_items, *no_words, *none_asked)
    return _figures(plan, items, words, options, not_made)._replace(asked=asked)


def _partly_asked(plan: Plan, wanted: Sequence[QuestionIds]) -> list[QuestionIds]:
    """Return the tables of one question that not everybody is asked."""
    survey = plan.survey
    return [
        ids
        for ids in wanted
        if NOT_ASKED in survey.question(ids[0]).answers
        and not (len(ids) > 1 or survey.question(ids[0]).hashed or wide_alone(survey, ids))
    ]


def _asked(
    plan: Plan, counted: Tally, wanted: Sequence[QuestionIds], options: TableOptions
) -> tuple[dict[str, TableEstimate], tuple[NotMade, ...]]:
    """Return the tables of those who were asked, by question, and those that cannot be made. None
    if all tables are of those who answered."""
    change = options.change or TableChange((), (), options.noise_only, options.places)
    if change.left_out:
        return {}, ()
    possible, not_made = what_can_be_made(
        _partly_asked(plan, wanted), lambda ids: of_those_asked(plan, counted, ids[0], change)
    )
    tables = {}
    for ids, each in possible.items():
        error = each.error
        if not options.covariance:
            error = replace(error, covariance=None, noise_covariance=None)
        provenance = replace(each.provenance, rounded=plan.survey.rounded(ids))
        tables[ids[0]] = replace(each, error=error, provenance=provenance)
    return tables, not_made


def _strata(
    plan: Plan, counted: Tally, wanted: Sequence[QuestionIds], options: TableOptions
) -> Iterator[StratumEstimates]:
    """Yield the tables of the randomized questions, for each release.

    If answers to randomized questions have weights, people of one release have different ones, and
    its tables are weighted as well; otherwise all of them have the same weight.
    """
    if not counted.strata:
        return
    closed = tuple(dict.fromkeys(filter(None, map(plan.survey.closed, wanted))))
    if (change := options.change) is None or not change.closed(plan.survey):
        alone = change._replace(margins=()) if change and change.left_out else None
        for names, crowd in counted.strata.items():
            part = counted.only([names])
            stratum = figures(plan, part, closed, options._replace(change=alone))
            yield StratumEstimates(names, smallest(plan, crowd), **stratum._asdict())
        return
    weighted, not_made = what_can_be_made(
        closed, lambda ids: list(derived_strata(plan, counted, ids, change))
    )
    for place, (names, crowd) in enumerate(counted.strata.items()):
        parts = {ids: each[place] for ids, each in weighted.items()}
        items = {ids: _weighted_item(plan, ids, p, p.table.people) for ids, p in parts.items()}
        stratum = _figures(plan, items, {}, options, not_made)
        yield StratumEstimates(names, smallest(plan, crowd), **stratum._asdict())


def _figures(
    plan: Plan,
    items: Mapping[QuestionIds, _Item],
    words: Mapping[QuestionIds, WordEstimates],
    options: TableOptions,
    not_made: tuple[NotMade, ...],
) -> EstimateFigures:
    tables: list[TableEstimate] = []
    intervals: list[SimultaneousIntervals | None] = []
    for ids, item in items.items():
        # If it is not known how answers overlap, neither is the covariance of the cells.
        joint = item.joint.error if options.covariance and item.joint else None
        joint = joint if joint and joint.overlaps else None
        error = replace(
            item.table.error,
            covariance=joint.covariance if joint else None,
            noise_covariance=joint.noise_covariance if joint else None,
        )
        provenance = replace(item.table.provenance, rounded=plan.survey.rounded(ids))
        tables.append(replace(item.table, error=error, provenance=provenance))
        if method := options.simultaneous:
            at_once = simultaneous_intervals(item.joint, method=method) if item.joint else None
            intervals.append(at_once)
    return EstimateFigures(
        tables=tuple(tables),
        asked={},
        words={id: each for (id,), each in words.items()},
        amounts={ids[0]: item.amounts for ids, item in items.items() if item.amounts},
        simultaneous=tuple(intervals),
        not_made=not_made,
    )


def _item(plan: Plan, counted: Tally, options: TableOptions, ids: QuestionIds) -> _Item:
    """Return a table and its amounts, changed if that was requested."""
    change, question = options.change, _number(plan.survey, ids)
    wide = wide_alone(plan.survey, ids)
    if change and change.margins and wide:
        return _Item(weighted_options(plan, counted, ids, change))
    if change and not wide:
        changed = derived(plan, counted, ids, change)
        if change.margins:
            people = change.population(changed.table.people)
            return _weighted_item(plan, ids, changed, people)
        item = _Item(changed.table, changed.table)  # amounts are of those who answered anyway
    else:
        of = partial(table, plan, counted, ids, options.noise_only, options.places)
        closed = plan.survey.closed(ids)
        cells = math.prod(len(plan.survey.question(id).answers) for id in ids)
        many = plan.by_cells_alone(closed) and cells > MOST_CELLS
        paired = (options.covariance or options.simultaneous) and not many
        item = _Item(of(), of(covariance=True) if paired else None)
    if question is None:
        return item
    shares = evidence(plan, question, readings(plan, counted, ids), options.places)
    return item._replace(amounts=amounts(shares))


def _weighted_item(plan: Plan, ids: QuestionIds, derived: Derived, people: float) -> _Item:
    """Return a weighted table and its amounts. people: those of a total."""
    question = _number(plan.survey, ids)
    if question is None:
        return _Item(derived.table, derived.table)
    shares = evidence_of(question, derived.weighted, derived.swing, people)
    return _Item(derived.table, derived.table, amounts(shares))


def _number(survey: Survey, ids: QuestionIds) -> WithEdges | None:
    """Return the question of a table of one question of numbers, if its bins are not merged."""
    question = survey.question(ids[0])
    if len(ids) > 1 or question.merged:
        return None
    return question if takes_numbers(question) else None


def _words(plan: Plan, counted: Tally, options: TableOptions, ids: QuestionIds) -> WordEstimates:
    """Return the share of each candidate among the answers to a text question."""
    (id,) = ids
    question = plan.survey.question(id)
    assert takes_words(question)
    names = [normalize(word) for word in options.candidates[id]]
    places = candidate_places(names, question.cohorts, id, question.hashes, question.block)
    if options.change is not None and options.change.margins:
        return weighted_words(plan, counted, id, names, places, options.change.margins)
    reading = sharpest(plan, counted, ids)
    inverse = reading.message.channels[id].inverse
    return estimate_words(names, places, reading.counts, inverse, reading.message.copies)


# --- the crowd, and the guarantee -------------------------------------------------------------


def check_arrived(
    plan: Plan, counted: Tally, options: ReportOptions
) -> tuple[tuple[Arrived, ...], Guarantee]:
    """Return the reports of each message, and the guarantee that holds for them.

    Raises ReportsError if a message is missing, or if a release has too few people for a guarantee
    that counts on a crowd: each release was mixed separately.
    """
    people = people_of(plan, counted)
    arrived = []
    for number, message in enumerate(plan.messages):
        counts = counted.messages[number]
        if not counts.accepted:
            raise nothing_of(number)
        sent = (0, 0) if message.by_services else (counts.accepted, counts.rejected)
        arrived.append(Arrived(*sent, counts.people(message), counts.draws))
    crowded = counts_on_crowd(plan.messages)
    if crowded and people < plan.survey.crowd and not options.get("accept_smaller_crowd"):
        raise ReportsError.of(
            "reports",
            "estimation.small-crowd",
            people=people,
            planned=plan.survey.crowd,
            option=Keyword("accept_smaller_crowd", True),
        )
    return tuple(arrived), counted_guarantee(plan, counted, people, options.get("received", ()))
