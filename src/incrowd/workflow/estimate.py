"""Reports + Plan -> estimates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from incrowd.encoding.bloom import candidate_places, normalize
from incrowd.errors import IncrowdError, InWords, ReportsError, TableError, UsageError
from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.readings import Ids, Reading, joint, table_of
from incrowd.estimation.results import Arrived, Estimates
from incrowd.estimation.simultaneous import Method, SimultaneousIntervals, simultaneous_intervals
from incrowd.estimation.word_shares import WordEstimates, estimate_words
from incrowd.kernels.compilation import load_compiler
from incrowd.kernels.threads import in_order
from incrowd.planner.planner import guarantee_for
from incrowd.planner.sources import check_tables, sources
from incrowd.plans import Guarantee, Plan
from incrowd.reports.collection import Collection
from incrowd.survey import Text
from incrowd.tally.consistency import check_people, check_possible
from incrowd.tally.tally import Kind, Tally
from incrowd.tally.tally import count as tallied

Reports = Collection | Iterable[Collection]
FEW_PARTS = 6  # which numpy counts in about the time that loading numba takes


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
    ReportsError if the reports are of another plan, TableError for a table that cannot be made.
    """
    parts = [reports] if isinstance(reports, Collection) else reports
    return tallied(plan, _many(parts), check_tables(plan, tables), kind, in_order)


def _many(parts: Iterable[Collection]) -> Iterator[Collection]:
    """The same parts; when there are many, machine code is loaded, which counts much faster."""
    for number, part in enumerate(parts):
        if number == FEW_PARTS:
            load_compiler()
        yield part


def estimate(
    plan: Plan,
    reports: Reports | Tally,
    *,
    tables: Sequence[Sequence[str]] | None = None,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
    candidates: Mapping[str, Sequence[str]] | None = None,
    simultaneous: Method | None = None,
    covariance: bool = False,
) -> Estimates:
    """Estimate tables from reports, or from their tally, unbiased, with standard errors.

    tables: lists of question ids; by default the one-way tables and those the survey wants (of a
    tally: all it counts). noise_only: errors of the noise alone, the people being fixed; else
    noise plus sampling. candidates: for each text question the words to look for; without them it
    is left out. simultaneous: intervals for all cells of a table at once. covariance: of all
    cells. (Of unlinked bits there are neither.) Raises ReportsError if the reports
    are of another plan or fewer than the plan's crowd (unless accepted: then the guarantee is
    recomputed), TableError for a table that cannot be made.
    """
    _check_candidates(plan, candidates or {})
    joined = covariance or simultaneous is not None
    if not isinstance(reports, Tally):
        reports = count(plan, reports, tables=tables, kind="pairs" if joined else "singles")
        tables = None
    wanted = reports.tables if tables is None else check_tables(plan, tables)
    _check_counted(reports, wanted, joined)
    arrived, guarantee = check_arrived(plan, reports, accept_smaller_crowd)
    text = {q.id for q in plan.survey.questions if isinstance(q, Text)}
    shown = [ids for ids in wanted if ids[0] not in text]
    words = {ids[0]: (candidates or {}).get(ids[0]) for ids in wanted if ids[0] in text}
    found = {ids: readings(plan, reports, ids) for ids in shown}
    joints = tuple(
        None
        if plan.survey.question(ids[0]).travels_apart
        else joint(plan, found[ids], ids, noise_only)
        for ids in (shown if joined else ())
    )
    return Estimates(
        plan=plan,
        arrived=arrived,
        guarantee=guarantee,
        tables=tuple(table_of(plan, found[ids], ids, noise_only) for ids in shown),
        words={id: _words(plan, reports, id, w) for id, w in words.items() if w},
        simultaneous=tuple(_intervals(table, simultaneous) for table in joints if simultaneous),
        covariances=joints if covariance else (),
        seed=reports.seed,
        persons=reports.persons,
    )


def _intervals(table: JointEstimate | None, method: Method) -> SimultaneousIntervals | None:
    return None if table is None else simultaneous_intervals(table, method=method)


def _check_candidates(plan: Plan, candidates: Mapping[str, Sequence[str]]) -> None:
    """Raises UsageError for words of what is no text question."""
    text = [q.id for q in plan.survey.questions if isinstance(q, Text)]
    for id in candidates:
        if id not in text:
            known = ", ".join(text) or "none in this survey"
            raise UsageError.of("candidates", id, f"is no text question; text questions: {known}")


def _check_counted(counted: Tally, wanted: Sequence[Ids], joined: bool) -> None:
    """Raises TableError if a tally does not hold what is asked of it."""
    for ids in wanted:
        if ids not in counted.tables:
            known = "; ".join(map(",".join, counted.tables))
            raise TableError.of("table", ",".join(ids), f"was not counted; counted are {known}")
    if joined and counted.kind != "pairs":
        allowed = "counts single bits; errors of cells together need pairs: name the reports"
        raise TableError.of("tally", counted.kind, allowed)


def check_arrived(
    plan: Plan, counted: Tally, accept_smaller_crowd: bool = False
) -> tuple[tuple[Arrived, ...], Guarantee]:
    """What came of each message, and the guarantee for the people who did.

    Raises ReportsError if a message is missing, or too few people came.
    """
    people = people_of(plan, counted)
    for number in range(len(plan.messages)):
        if not counted.messages[number].accepted:
            raise _nothing_of(number)
    arrived = tuple(
        Arrived(counts.accepted, counts.rejected, counts.people(message))
        for counts, message in (
            (counted.messages[number], message) for number, message in enumerate(plan.messages)
        )
    )
    if people < plan.survey.crowd and not accept_smaller_crowd:
        raise ReportsError.of("reports", InWords(f"a crowd of {people:,}"), _too_few(plan))
    return arrived, guarantee_for(plan, people)


def people_of(plan: Plan, counted: Tally) -> int:
    """Who took part: the smallest number of any message (rows, if one person has several).

    counted: all reports of every message. Raises ReportsError if a message is missing, or for
    figures that are not possible together.
    """
    check_possible(plan, counted)
    for number in range(len(plan.messages)):
        if number not in counted.messages:
            raise _nothing_of(number)
    check_people(plan, counted)
    return min(counted.messages[n].people(message) for n, message in enumerate(plan.messages))


def _nothing_of(number: int) -> IncrowdError:
    what = "there is nothing to count on; name the reports of every message"
    return ReportsError.of(f"message {number + 1}", InWords("no reports"), what)


def _too_few(plan: Plan) -> str:
    return (
        f"the plan's guarantee counts on {plan.survey.crowd:,} people; collect more reports, or "
        "use accept_smaller_crowd=True to recompute a weaker guarantee"
    )


def readings(plan: Plan, counted: Tally, ids: Ids) -> tuple[Reading, ...]:
    """The counts of a table in every message that holds it."""
    return tuple(
        Reading(source.message, source.weight, counted.messages[source.number].tables[ids])
        for source in sources(plan, ids)
    )


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
