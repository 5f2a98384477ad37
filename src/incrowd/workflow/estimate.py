"""Reports + Plan -> estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from incrowd.encoding.answers import check_columns
from incrowd.encoding.records import encode
from incrowd.errors import ReportsError, TableError
from incrowd.estimation.decoders import Decoder, decoder
from incrowd.estimation.results import Estimates
from incrowd.estimation.tables import TableEstimate, along_axes, estimate_table
from incrowd.plan import Guarantee, Message, Plan
from incrowd.planning.planner import guarantee_for
from incrowd.reports.collection import Collection
from incrowd.tally.moments import moments

TableNames = Sequence[str]


def estimate(
    plan: Plan,
    reports: Collection,
    tables: Sequence[TableNames] | None = None,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
) -> Estimates:
    """Estimate tables from a collection, unbiased, with standard errors.

    tables: lists of question ids; by default the one-way tables and those the survey wants.
    noise_only: errors of the noise alone, the people being fixed; else noise plus sampling.
    Raises ReportsError if the reports are of another plan or fewer than the plan's crowd (unless
    accepted: then the guarantee is recomputed), TableError for a table that cannot be made.
    """
    wanted = check_tables(plan, tables)
    guarantee = check_reports(plan, reports, accept_smaller_crowd)
    message = plan.messages[reports.message]
    return Estimates(
        plan=plan,
        reports=len(reports),
        crowd=len(reports) // message.copies,
        guarantee=guarantee,
        tables=tuple(_table(plan, message, reports.packed, ids, noise_only) for ids in wanted),
        seed=reports.seed,
    )


def truth(
    plan: Plan, answers: pa.Table, tables: Sequence[TableNames] | None = None
) -> tuple[np.ndarray, ...]:
    """The shares in the answers themselves, one array for each table. For comparison only."""
    answers = check_columns(answers, plan.survey)
    questions = [plan.survey.question(id) for id in plan.messages[0].questions]
    return true_tables(plan, encode(questions, answers), check_tables(plan, tables))


def true_tables(
    plan: Plan, records: np.ndarray, tables: Sequence[TableNames]
) -> tuple[np.ndarray, ...]:
    """The shares in the records themselves (packed, not randomised), one array for each table."""
    message = plan.messages[0]
    return tuple(
        along_axes(
            [d.mean for d in _decoders(plan, ids, np.eye(2))],
            moments(records, _axes(plan, message, ids)) / len(records),
        )
        for ids in tables
    )


def check_tables(plan: Plan, tables: Sequence[TableNames] | None) -> tuple[tuple[str, ...], ...]:
    """The wanted tables. Raises TableError if one names no question or names one twice."""
    if tables is None:
        return plan.survey.wanted
    known = [question.id for question in plan.survey.questions]
    for ids in tables:
        for id in ids:
            if id not in known:
                raise TableError.of("table", id, f"names no question; use {', '.join(known)}")
        if len(set(ids)) < len(ids) or not ids:
            raise TableError.of("table", ",".join(ids), "should name some questions, each once")
    return tuple(map(tuple, tables))


def check_reports(plan: Plan, reports: Collection, accept_smaller_crowd: bool) -> Guarantee:
    """The guarantee for the crowd that arrived. Raises ReportsError if they may not be used."""
    check_origin(plan, reports)
    people = len(reports) // plan.messages[reports.message].copies
    if people < plan.survey.crowd and not accept_smaller_crowd:
        raise ReportsError.of("reports", f"a crowd of {people:,}", _too_few(plan))
    return guarantee_for(plan, people)


def check_origin(plan: Plan, reports: Collection) -> None:
    """Raises ReportsError unless the reports name this plan and have its length."""
    if reports.plan != plan.digest:
        made = "were made by another plan; use the plan whose digest this is"
        raise ReportsError.of("reports", reports.plan, made)
    if not 0 <= reports.message < len(plan.messages):
        raise ReportsError.of("reports", f"message {reports.message}", "is none of the plan's")
    bits = plan.bits(plan.messages[reports.message])
    if reports.bits != bits or reports.packed.shape[1] != -(-bits // 8):
        raise ReportsError.of("reports", f"{reports.bits} bits", f"need {bits} bits")
    if len(reports) == 0:
        raise ReportsError.of("reports", 0, "reports; there is nothing to estimate from")
    _check_padding(reports)


def _check_padding(reports: Collection) -> None:
    """Raises ReportsError if a bit beyond the plan's is set: no client sends that."""
    spare = reports.bits % 8
    if spare and (reports.packed[:, -1] >> spare).any():
        raise ReportsError.of("reports", "a padding bit that is set", "no plan's client sends that")


def _too_few(plan: Plan) -> str:
    return (
        f"the plan's guarantee counts on {plan.survey.crowd:,} people; collect more reports, or "
        "use --accept-smaller-crowd (accept_smaller_crowd=True) to recompute a weaker guarantee"
    )


def _table(
    plan: Plan, message: Message, packed: np.ndarray, ids: TableNames, noise_only: bool
) -> TableEstimate:
    counts = moments(packed, _axes(plan, message, ids))
    decoders = _decoders(plan, ids, message.channel.inverse)
    return estimate_table(ids, decoders, counts, message.copies, noise_only)


def _axes(plan: Plan, message: Message, ids: TableNames) -> list[slice]:
    layout = plan.layout(message)
    return [layout[id] for id in ids]


def _decoders(plan: Plan, ids: TableNames, inverse: np.ndarray) -> list[Decoder]:
    return [decoder(plan.survey.question(id), inverse) for id in ids]
