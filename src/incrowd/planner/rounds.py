"""Ledger + Plan + reports -> Ledger: record a round, and how many people took part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.catalog.sentences import Keyword
from incrowd.errors import ReportsError, UsageError
from incrowd.guarantees.collected import exposed_by
from incrowd.guarantees.rounds import check_left
from incrowd.plans import Plan
from incrowd.plans.claims import Claims
from incrowd.plans.ledger import Ledger
from incrowd.plans.plan import Collected
from incrowd.reports.locking import rewrite

if TYPE_CHECKING:
    from incrowd.estimation.estimate import Reports
    from incrowd.estimation.receipts import Received
    from incrowd.reports.tally import Tally

AS_PLANNED = Keyword("as_planned", True)


def new_ledger(path: str | Path) -> Ledger:
    """Write an empty ledger.

    Parameters
    ----------
    path : str or Path
        The new file.

    Returns
    -------
    Ledger
        The empty ledger.

    Raises
    ------
    UsageError
        If the file exists, or cannot be written.

    Examples
    --------
    >>> import incrowd
    >>> incrowd.new_ledger("ledger.json").asked
    ()
    """

    def empty(real: Path) -> str:
        if real.exists():
            raise UsageError.of("ledger", "planner.existing-ledger", value=str(path))
        return Ledger().dumps()

    rewrite(path, empty)
    return Ledger()


def note(
    path: str | Path,
    plan: Plan,
    reports: Reports | Tally | None = None,
    *,
    as_planned: bool = False,
    local_only: bool = False,
    received: Sequence[Received] = (),
) -> Ledger:
    """Record in a ledger file that a plan was carried out, how, and how many people took part.

    Simultaneous writers wait for each other.

    Parameters
    ----------
    path : str or Path
        The file of the ledger.
    plan : Plan
        The plan that was carried out.
    reports : Collection, Tally, or iterable of Collection, optional
        All reports that arrived, or their tally. The crowd is that of the accepted reports, and at
        most the planned one.
    as_planned : bool
        Whether to record the planned crowd instead of reports.
    local_only : bool
        Whether one party saw the reports with their senders, or both mixed and opened them. Later
        plans then charge the reports as if they carried names.
    received : sequence of Received
        The receipts, if the reports came over a network. They state the same, any noise that was
        drawn again, and whether a mixer contradicted itself; its reports are then also charged as
        if they carried names.

    Returns
    -------
    Ledger
        The ledger as it was written.

    Raises
    ------
    UsageError
        Unless either `reports` or `as_planned` is given.
    ReportsError
        For reports of another plan, of too few messages, of two bundles, of a simulation, or that
        are already recorded.
    PlanError
        If the plan does not fit the ledger, or its rounds have used up the guarantee.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> ledger = incrowd.new_ledger("ledger.json")
    >>> ledger = incrowd.note("ledger.json", plan, as_planned=True)
    >>> [each.survey.name for each in ledger.asked]
    ['Health insurance survey']
    """
    from incrowd.reports.consistency import people_of

    if (reports is None) != as_planned:
        if reports is not None:
            raise UsageError.of(
                "as_planned", "planner.reports-and-planned", value=True, option=AS_PLANNED
            )
        raise UsageError.of("reports", "planner.no-reports", option=AS_PLANNED)
    counted = None if reports is None else _tally(plan, reports)
    people = None if counted is None else people_of(plan, counted)
    names = set() if counted is None else counted.collections
    collected = _collected(plan, counted, local_only, received)
    ledger = Ledger()

    def with_plan(real: Path) -> str:
        nonlocal ledger
        earlier_ledger = Ledger.load(real)
        check_left(earlier_ledger, plan)
        ledger = earlier_ledger.with_plan(plan, people, names, collected)
        return ledger.dumps()

    rewrite(path, with_plan)
    return ledger


def _collected(
    plan: Plan, counted: Tally | None, local_only: bool, received: Sequence[Received]
) -> Collected:
    """Return how some reports were collected. Raises ReportsError if they belong to two rounds."""
    states: Sequence[Claims | Received] = received  # reports contain the same claims
    if counted and counted.releases:
        states = [release.claims for release in counted.releases]
    bundles = sorted({each.bundle for each in received or states})
    if len(bundles) > 1 or len({each.bundle for each in states}) > 1:
        raise ReportsError.of("reports", "planner.several-bundles", bundles=bundles)
    contradicted = any(each.contradicted for each in received)
    messages = enumerate(plan.messages) if counted else ()
    parts = [(counted.messages[number], message) for number, message in messages if counted]
    return Collected(
        people=tuple(each.people(message) for each, message in parts),
        reports=tuple(each.accepted for each, _ in parts),
        local_only=local_only or bool(exposed_by(states, contradicted)),
        bundle=bundles[0] if bundles else None,
        tail=max((each.tail for each in states), default=0.0),
    )


def _tally(plan: Plan, reports: Reports | Tally) -> Tally:
    from incrowd.estimation.estimate import count  # slow to load, and not needed to plan
    from incrowd.reports.tally import Tally

    counted = reports if isinstance(reports, Tally) else count(plan, reports, tables=[])
    if counted.seed is not None:
        raise ReportsError.of("reports", "planner.simulated-reports", seed=counted.seed)
    return counted
