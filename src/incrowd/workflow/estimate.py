"""Reports + Plan -> estimates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from incrowd.errors import IncrowdError, InWords, ReportsError, TableError, UsageError
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.results import Arrived, Estimates
from incrowd.estimation.simultaneous import Method, simultaneous_intervals
from incrowd.estimation.tables import TableEstimate, combined, estimate_options, estimate_table
from incrowd.kernels.compilation import load_compiler
from incrowd.planner.planner import guarantee_for
from incrowd.plans import Guarantee, Plan, UnlinkedBits
from incrowd.reports.collection import Collection
from incrowd.survey import Text
from incrowd.tally.consistency import check_people, check_possible
from incrowd.tally.tally import Kind, Tally
from incrowd.tally.tally import count as tallied
from incrowd.workflow.joint import joint, travels_jointly
from incrowd.workflow.sources import Ids, Source, check_tables, sources
from incrowd.workflow.threads import in_order
from incrowd.workflow.word_lists import estimate_words

Reports = Collection | Iterable[Collection]
FEW_PARTS = 6  # which numpy counts in about the time that loading numba takes


def count(
    plan: Plan,
    reports: Reports,
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
        reports = count(plan, reports, tables, "pairs" if joined else "singles")
        tables = None
    wanted = reports.tables if tables is None else check_tables(plan, tables)
    _check_counted(reports, wanted, joined)
    arrived, guarantee = check_arrived(plan, reports, accept_smaller_crowd)
    text = {q.id for q in plan.survey.questions if isinstance(q, Text)}
    shown = [ids for ids in wanted if ids[0] not in text]
    words = {ids[0]: (candidates or {}).get(ids[0]) for ids in wanted if ids[0] in text}
    joints = tuple(
        joint(plan, reports, ids, noise_only) if travels_jointly(plan, ids) else None
        for ids in (shown if joined else ())
    )
    return Estimates(
        plan=plan,
        arrived=arrived,
        guarantee=guarantee,
        tables=tuple(table_of(plan, reports, ids, noise_only) for ids in shown),
        words={id: estimate_words(plan, reports, id, w) for id, w in words.items() if w},
        simultaneous=tuple(
            None if table is None else simultaneous_intervals(table, method=simultaneous)
            for table in joints
            if simultaneous
        ),
        covariances=joints if covariance else (),
        seed=reports.seed,
        persons=reports.persons,
    )


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


def table_of(plan: Plan, counted: Tally, ids: Ids, noise_only: bool = False) -> TableEstimate:
    """One table, combined from all messages that hold it."""
    found = sources(plan, ids)
    tables = [_table(plan, counted, source, ids, noise_only) for source in found]
    return combined(tables, [source.weight for source in found])


def _table(plan: Plan, counted: Tally, source: Source, ids: Ids, noise_only: bool) -> TableEstimate:
    questions = [plan.survey.question(id) for id in ids]
    counts, message = counted.messages[source.number].tables[ids], source.message
    if isinstance(message, UnlinkedBits):
        inverse = message.noise.inverse
        answers = questions[0].answers
        return estimate_options(ids[0], answers, counts, inverse, message.copies, noise_only)
    singles = counts[tuple(slice(1 + question.domain.bits) for question in questions)]
    channels = message.channels
    decoders = [question_decoder(q, channels[q.id]) for q in questions]
    return estimate_table(ids, decoders, singles, message.copies, noise_only)
