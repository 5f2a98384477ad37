"""Ledger + Plan + reports -> Ledger: what the same people were asked, and how many of them came."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.errors import MISSING, InWords, ReportsError, UsageError
from incrowd.guarantees import check_left
from incrowd.plans import Plan
from incrowd.plans.claims import Claims
from incrowd.plans.ledger import Ledger
from incrowd.plans.plan import Collected
from incrowd.reports.locking import rewrite

if TYPE_CHECKING:
    from incrowd.estimation.estimate import Reports
    from incrowd.estimation.results import Received
    from incrowd.reports.tally import Tally


def new_ledger(path: str | Path) -> Ledger:
    """Write an empty ledger. Raises UsageError if the file exists."""

    def empty(real: Path) -> str:
        if real.exists():
            raise UsageError.of(
                "ledger", str(path), "it exists already; use it, or name a new file"
            )
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
    """Note in a ledger file that a plan was carried out, how, and how many people came.

    reports: all that arrived, or their tally: the crowd is that of the accepted reports, and never
    more than planned. as_planned: take the planned crowd at its word instead. local_only: one party
    saw the reports with their senders, or mixed and opened them; later plans then charge them as if
    they carried names. received: what the receipts say, if the reports came over a network: the
    same, noise that was drawn again, and that nobody signed who came. Two who write at once wait
    for each other. Raises UsageError without either, ReportsError for reports of another plan, of
    too few messages, of two bundles, of a simulation or that are noted already, PlanError if the
    ledger does not take the plan, or if its rounds have left nothing of the promise.
    """
    from incrowd.reports.consistency import people_of

    if (reports is None) != as_planned:
        if reports is not None:
            allowed = "the reports tell who came; leave out as_planned=True"
            raise UsageError.of("as_planned", True, allowed)
        allowed = (
            "name the reports that arrived, or their tally: a smaller crowd than planned leaks "
            "more, and later plans have to know; or, if as many came as planned, as_planned=True"
        )
        raise UsageError.of("reports", MISSING, allowed)
    counted = None if reports is None else _came(plan, reports)
    people = None if counted is None else people_of(plan, counted)
    names = set() if counted is None else counted.collections
    collected = _collected(plan, counted, local_only, received)
    noted = Ledger()

    def with_plan(real: Path) -> str:
        nonlocal noted
        earlier_ledger = Ledger.load(real)
        check_left(earlier_ledger, plan)
        noted = earlier_ledger.with_plan(plan, people, names, collected)
        return noted.dumps()

    rewrite(path, with_plan)
    return noted


def _collected(
    plan: Plan, counted: Tally | None, local_only: bool, received: Sequence[Received]
) -> Collected:
    """How some reports came together. Raises ReportsError if they are those of two rounds."""
    states: Sequence[Claims | Received] = received  # the reports state the same of themselves
    if counted and counted.releases:
        states = [release.claims for release in counted.releases]
    bundles = sorted({each.bundle for each in received or states})
    if len(bundles) > 1 or len({each.bundle for each in states}) > 1:
        allowed = "each bundle is a separate round; note the reports of one after the other"
        raise ReportsError.of("reports", InWords(f"of the bundles {', '.join(bundles)}"), allowed)
    messages = enumerate(plan.messages) if counted else ()
    came = [(counted.messages[number], message) for number, message in messages if counted]
    return Collected(
        people=tuple(each.people(message) for each, message in came),
        reports=tuple(each.accepted for each, _ in came),
        local_only=local_only or any(each.local_only for each in states),
        bundle=bundles[0] if bundles else None,
        tail=max((each.tail for each in states), default=0.0),
    )


def _came(plan: Plan, reports: Reports | Tally) -> Tally:
    from incrowd.estimation.estimate import count  # slow to load, and a plan reads no reports
    from incrowd.reports.tally import Tally

    counted = reports if isinstance(reports, Tally) else count(plan, reports, tables=[])
    if counted.seed is not None:
        simulated = InWords(f"made in a simulation with seed {counted.seed}")
        raise ReportsError.of("reports", simulated, "name reports of real people")
    return counted
