"""Reports + Plan -> estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from incrowd.errors import InWords, ReportsError, TableError, UsageError
from incrowd.estimation.figures import Asked, Figures, figures, strata_figures
from incrowd.estimation.readings import Ids, check_tables
from incrowd.estimation.results import Arrived, Estimates, NotMade, Received
from incrowd.estimation.simultaneous import Method
from incrowd.estimation.weighting.known_margins import Given, known_margins
from incrowd.estimation.weighting.weighting import Change, counted_for, what_can_be_made
from incrowd.guarantees import analysis_of, counted_guarantee
from incrowd.kernels.threads import in_order
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import with_merged
from incrowd.reports.collection import Collection
from incrowd.reports.consistency import nothing_of, people_of
from incrowd.reports.spark import THIS_MACHINE, count_files, started
from incrowd.reports.tally import Kind, Tally, with_tables
from incrowd.reports.tally import count as tallied
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
    return _to_count(plan, tables, _change(plan, margins, of_those_who_answered))


def _to_count(
    plan: Plan, tables: Sequence[Sequence[str]] | None, change: Change | None
) -> Sequence[Sequence[str]] | None:
    if change is None:
        return tables
    together, not_made = _changeable(plan, check_tables(plan, tables), change)
    _check_made(together, not_made)
    return tuple(dict.fromkeys(ids for ids in (*together, *together.values()) if ids))


def _changeable(
    plan: Plan, wanted: Sequence[Ids], change: Change | None
) -> tuple[dict[Ids, Ids], tuple[NotMade, ...]]:
    """The tables that can be weighted, or be of those who answered, each with what is counted for
    it; and the others. All, if nothing is to be changed."""
    if change is None:
        return {ids: ids for ids in wanted}, ()
    return what_can_be_made(wanted, lambda ids: counted_for(plan, ids, change))


def _check_made(made: object, not_made: Sequence[NotMade]) -> None:
    """Raises TableError, each reason once, if none of some tables could be made."""
    if not_made and not made:
        problems = {str(each.problem): each.problem for each in not_made}
        raise TableError(*problems.values())


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
    reports, wanted = _to_read(plan, reports, tables, change, bool(covariance or simultaneous))
    arrived, guarantee = check_arrived(plan, reports, accept_smaller_crowd, received)
    places = max((release.claims.places for release in reports.releases), default=0)
    asked = Asked(noise_only, places, candidates, simultaneous, covariance, change)
    possible, found = _made(plan, reports, wanted, asked)
    return Estimates(
        plan=plan,
        arrived=arrived,
        guarantee=guarantee,
        **found._asdict(),
        seed=reports.seed,
        persons=reports.persons,
        releases=reports.releases,
        received=tuple(received),
        strata=tuple(strata_figures(plan, reports, possible, asked)),
    )


def _made(
    plan: Plan, counted: Tally, wanted: Sequence[Ids], asked: Asked
) -> tuple[tuple[Ids, ...], Figures]:
    """The tables that can be weighted as is asked, and the figures of everybody; what could not be
    made is listed there. Raises TableError if nothing could."""
    together, not_made = _changeable(plan, wanted, asked.change)
    found = figures(plan, counted, tuple(together), asked)
    found = found._replace(not_made=(*not_made, *found.not_made))
    _check_made(found.tables or found.words, found.not_made)
    return tuple(together), found


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
        found = with_tables(plan, reports, counted)
        _check_counted(plan, found, counted, joined)
        return found, wanted
    wanted, counting = check_tables(plan, tables), _to_count(plan, tables, change)
    kind: Kind = "pairs" if joined else "singles"
    return count(plan, reports, tables=counting, kind=kind), wanted


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


def _check_counted(plan: Plan, counted: Tally, wanted: Sequence[Ids], joined: bool) -> None:
    """Raises TableError if a tally does not hold what is asked of it."""
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
