"""Reports + Plan -> estimates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from incrowd.accounting.redraws import redrawn
from incrowd.encoding.bloom import candidate_places, normalize
from incrowd.errors import InWords, ReportsError, TableError, UsageError
from incrowd.estimation.amounts import Amounts, amounts, evidence
from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.readings import Ids
from incrowd.estimation.results import Arrived, Estimates, Received, StratumEstimates
from incrowd.estimation.simultaneous import Method, SimultaneousIntervals, simultaneous_intervals
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.word_shares import WordEstimates, estimate_words
from incrowd.kernels.threads import in_order
from incrowd.planner.margins import Given, known_margins
from incrowd.planner.open_tables import joint_table, table
from incrowd.planner.planner import analysis_of, guarantee_for, local_guarantee
from incrowd.planner.sources import check_tables, readings
from incrowd.planner.weighting import Asked as Change
from incrowd.planner.weighting import counted_for, derived
from incrowd.plans import Guarantee, Plan
from incrowd.reports.collection import Collection
from incrowd.survey import Amount, Number, Text
from incrowd.tally.consistency import nothing_of, people_of, smallest
from incrowd.tally.spark import THIS_MACHINE, count_files, started
from incrowd.tally.tally import Kind, Tally
from incrowd.tally.tally import count as tallied

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
    return _to_count(plan, tables, _change(plan, margins, of_those_who_answered))


def _to_count(
    plan: Plan, tables: Sequence[Sequence[str]] | None, change: Change | None
) -> Sequence[Sequence[str]] | None:
    if change is None:
        return tables
    wanted = check_tables(plan, tables)
    together = [counted_for(plan, ids, change) for ids in wanted]
    return tuple(dict.fromkeys(ids for ids in (*wanted, *together) if ids))


def _change(plan: Plan, margins: Given | None, answered: bool) -> Change | None:
    """What is made of the tables; None if they stay as they are."""
    if margins is None and not answered:
        return None
    return Change(() if margins is None else known_margins(plan.survey, margins), answered)


def estimate(
    plan: Plan,
    reports: Reports | Tally,
    *,
    tables: Sequence[Sequence[str]] | None = None,
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

    tables: lists of question ids; by default the one-way tables and those the survey wants (of a
    tally: all it counts). margins: what is known of all people, for each question (or several, as
    "faculty | sex") the share or number of people of each answer: tables are weighted to them.
    of_those_who_answered: "no answer" is left out, shares are of those who answered all questions
    of a table. noise_only: errors of the noise alone, the people being fixed; else noise plus
    sampling. candidates: for each text question the words to look for; without them it is left out.
    simultaneous: intervals for all cells of a table at once. covariance: of all cells. (Of unlinked
    bits there are neither.) received: what the receipts say, if the reports came over a network:
    the guarantee then allows for reports that were drawn again, is the local one if one party mixed
    and opened or permanent responses are repeated, and a malicious sender fills all places. Where
    questions are open the tables are of all people of the released strata, the guarantee is that of
    the smallest, and `strata` has the tables of each. Raises ReportsError if the reports are of
    another plan or fewer than the plan's crowd (unless accepted: then the guarantee is recomputed),
    TableError for a table that cannot be made, UsageError for margins that are none.
    """
    _check_candidates(plan, candidates := candidates or {})
    change = _change(plan, margins, of_those_who_answered)
    reports, wanted = _to_read(plan, reports, tables, change, bool(covariance or simultaneous))
    arrived, guarantee = check_arrived(plan, reports, accept_smaller_crowd)
    places = max((each.places for each in received), default=0)
    asked = _Asked(noise_only, places, candidates, simultaneous, covariance, change)
    figures = _figures(plan, reports, wanted, asked)
    return Estimates(
        plan=plan,
        arrived=arrived,
        guarantee=_as_received(plan, guarantee, received),
        **figures._asdict(),
        seed=reports.seed,
        persons=reports.persons,
        received=tuple(received),
        strata=tuple(_strata(plan, reports, wanted, asked)),
    )


def _to_read(
    plan: Plan,
    reports: Reports | Tally,
    tables: Sequence[Sequence[str]] | None,
    change: Change | None,
    joined: bool,
) -> tuple[Tally, tuple[Ids, ...]]:
    """The counts, and the tables that are read from them. Raises TableError as `estimate`."""
    joined = joined or change is not None
    if isinstance(reports, Tally):
        held = tables is None and change is None
        wanted = _held(plan, reports) if held else check_tables(plan, tables)
        counted = _counted_for(plan, _to_count(plan, wanted, change))
        _check_counted(plan, reports, counted, joined)
        return reports, wanted
    wanted, counting = check_tables(plan, tables), _to_count(plan, tables, change)
    kind: Kind = "pairs" if joined else "singles"
    return count(plan, reports, tables=counting, kind=kind), wanted


def _held(plan: Plan, counted: Tally) -> tuple[Ids, ...]:
    """The tables that a tally holds: the wanted ones, then what else it counts."""
    survey = plan.survey
    wanted = [ids for ids in survey.wanted if survey.closed(ids) in ((), *counted.tables)]
    return tuple(dict.fromkeys((*wanted, *counted.tables))) if survey.open else counted.tables


class _Asked(NamedTuple):
    """What `estimate` was asked for."""

    noise_only: bool
    places: int
    candidates: Mapping[str, Sequence[str]]
    simultaneous: Method | None
    covariance: bool
    change: Change | None


class _Figures(NamedTuple):
    """The figures of some people, under the names of `Estimates`."""

    tables: tuple[TableEstimate, ...]
    words: dict[str, WordEstimates]
    amounts: dict[str, Amounts]
    simultaneous: tuple[SimultaneousIntervals | None, ...]
    covariances: tuple[JointEstimate | None, ...]


def _figures(plan: Plan, counted: Tally, wanted: Sequence[Ids], asked: _Asked) -> _Figures:
    if asked.change is not None:
        return _derived(plan, counted, wanted, asked, asked.change)
    shown = [ids for ids in wanted if ids[0] not in plan.survey.texts]
    named = {ids[0]: asked.candidates.get(ids[0]) for ids in wanted}
    joints: tuple[JointEstimate | None, ...] = ()
    if asked.covariance or asked.simultaneous:
        joints = tuple(_joint(plan, counted, ids, asked.noise_only) for ids in shown)
    return _Figures(
        tables=tuple(table(plan, counted, ids, asked.noise_only, asked.places) for ids in shown),
        words={id: _words(plan, counted, id, words) for id, words in named.items() if words},
        amounts={ids[0]: _amounts(plan, counted, ids) for ids in shown if _numbers(plan, ids)},
        simultaneous=tuple(_intervals(each, asked.simultaneous) for each in joints)
        if asked.simultaneous
        else (),
        covariances=joints if asked.covariance else (),
    )


def _derived(
    plan: Plan, counted: Tally, wanted: Sequence[Ids], asked: _Asked, change: Change
) -> _Figures:
    """The same, weighted or of those who answered."""
    made = [derived(plan, counted, ids, change, asked.noise_only, asked.places) for ids in wanted]
    joints = [joint for _, joint in made]
    return _Figures(
        tables=tuple(table for table, _ in made),
        words={},
        amounts={},
        simultaneous=tuple(_intervals(each, asked.simultaneous) for each in joints)
        if asked.simultaneous
        else (),
        covariances=tuple(joints) if asked.covariance else (),
    )


def _strata(
    plan: Plan, counted: Tally, wanted: Sequence[Ids], asked: _Asked
) -> Iterator[StratumEstimates]:
    """The tables of every release by itself, of what is randomized.

    None beside tables of all together that are weighted or of those who answered: these would be
    of other people.
    """
    closed = tuple(dict.fromkeys(filter(None, map(plan.survey.closed, wanted))))
    if asked.change is not None:
        asked, closed = asked._replace(change=None), ()
    for names, crowd in counted.strata.items():
        figures = _figures(plan, counted.only([names]), closed, asked)
        yield StratumEstimates(names, smallest(plan, crowd), **figures._asdict())


def _numbers(plan: Plan, ids: Ids) -> bool:
    """Whether a table is of one question of numbers."""
    return len(ids) == 1 and isinstance(plan.survey.question(ids[0]), Number | Amount)


def _amounts(plan: Plan, counted: Tally, ids: Ids) -> Amounts:
    question = plan.survey.question(ids[0])
    assert isinstance(question, Number | Amount)
    return amounts(evidence(question, readings(plan, counted, ids)))


def _joint(plan: Plan, counted: Tally, ids: Ids, noise_only: bool) -> JointEstimate | None:
    """The cells of a table together; none where set bits travel unlinked."""
    if plan.survey.question(ids[0]).unlinked:
        return None
    return joint_table(plan, counted, ids, noise_only)


def _as_received(plan: Plan, guarantee: Guarantee, received: Sequence[Received]) -> Guarantee:
    """What is promised after a release: people may have drawn again whose reports did not fit, and
    where one party mixed and opened, or permanent responses came a second time, nothing but the
    local guarantee is left."""
    crowd = guarantee.crowd
    if any(each.alone for each in received):
        guarantee, crowd = local_guarantee(plan, crowd), 1
    tail = max((each.tail for each in received), default=0.0)
    given, local = (guarantee.epsilon, guarantee.delta), (guarantee.local_epsilon, 0.0)
    rounds = plan.survey.rounds  # of all of which the tail is the same
    epsilon, delta = redrawn(*given, tail=tail, crowd=crowd * rounds)
    alone = redrawn(*local, tail=tail, crowd=rounds).epsilon
    return guarantee.model_copy(update={"epsilon": epsilon, "delta": delta, "local_epsilon": alone})


def _intervals(table: JointEstimate | None, method: Method) -> SimultaneousIntervals | None:
    return None if table is None else simultaneous_intervals(table, method=method)


def _check_candidates(plan: Plan, candidates: Mapping[str, Sequence[str]]) -> None:
    """Raises UsageError for words of what is no text question."""
    texts = plan.survey.texts
    for id in candidates:
        if id not in texts:
            known = ", ".join(texts) or "none"
            allowed = f"should be a text question; they are {known}"
            raise UsageError.of("candidates", id, allowed)


def _check_counted(plan: Plan, counted: Tally, wanted: Sequence[Ids], joined: bool) -> None:
    """Raises TableError if a tally does not hold what is asked of it."""
    if joined and counted.kind != "pairs":
        allowed = "it counts single bits; for errors of cells together, name the reports"
        raise TableError.of("tally", counted.kind, allowed)
    for ids in wanted:
        if ids not in counted.tables:
            known = "; ".join(map(",".join, counted.tables))
            allowed = f"it was not counted; use {known}, or count again"
            raise TableError.of("table", ",".join(ids), allowed)


def check_arrived(
    plan: Plan, counted: Tally, accept_smaller_crowd: bool = False
) -> tuple[tuple[Arrived, ...], Guarantee]:
    """What came of each message, and the guarantee for the people who did.

    Raises ReportsError if a message is missing, or too few people came.
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
    return tuple(arrived), guarantee_for(plan, people)


def _words(plan: Plan, counted: Tally, id: str, candidates: Sequence[str]) -> WordEstimates:
    """The share of each candidate among the answers to a text question.

    Of several messages that hold the question the sharpest is read.
    """
    question = plan.survey.question(id)
    assert isinstance(question, Text)
    found = max(readings(plan, counted, (id,)), key=lambda reading: reading.weight)
    names = [normalize(word) for word in candidates]
    places = candidate_places(names, question.cohorts, id, question.hashes, question.block)
    inverse = found.message.channels[id].inverse
    return estimate_words(names, places, found.counts, inverse, found.message.copies)
