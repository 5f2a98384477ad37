"""Plan (+ reports) -> does it hold? Proof: docs/mathematics.md#what-reports-can-be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incrowd.accountant.certificates import Certificate
from incrowd.estimation.estimate import Reports, count
from incrowd.estimation.results import Received
from incrowd.guarantees import counted_guarantee, keeps, recertify
from incrowd.plans import Guarantee, Plan
from incrowd.plans.strata import Names
from incrowd.reports.consistency import (
    Impossible,
    ImpossiblePeople,
    check_strata,
    impossible_people,
    impossible_rates,
)
from incrowd.reports.tally import MessageTally


@dataclass(frozen=True)
class Verification:
    """What was found. certificate: recomputed from the plan's noise, copies and crowd.

    plan_holds: whether it keeps what the plan promises. guarantee: what holds for the reports; of a
    plan alone its own. reports: accepted; rejected: those that no client can have sent. impossible:
    bits whose rate cannot come from the plan; both None if no reports were given. A bit is set with
    a probability between two bounds, whatever the answers are. impossible_people: numbers of people
    that cannot have sent so many reports, or so few; None likewise. missing: people whom the plan's
    crowd still lacks, of the smallest stratum where questions are open. seed: of reports that were
    made in a simulation, and protect nobody. people: in each release, where questions are open.
    contradicted: whether the shuffler signed two releases of one stratum.
    """

    certificate: Certificate
    plan_holds: bool
    guarantee: Guarantee
    reports: int | None = None
    rejected: int = 0
    impossible: tuple[Impossible, ...] | None = None
    impossible_people: tuple[ImpossiblePeople, ...] | None = None
    missing: int = 0
    seed: int | None = None
    people: Mapping[Names, int] | None = None
    contradicted: bool = False

    @property
    def promise_holds(self) -> bool:
        """Whether the plan's promise holds for these reports; of a plan alone, whether it does."""
        return self.plan_holds and not self.guarantee.reduced_by

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the plan, its promise to these people, or the reports."""
        wrong = self.impossible or self.impossible_people
        return self.promise_holds and not (
            wrong or self.rejected or self.missing or self.contradicted
        )


def verify(
    plan: Plan, reports: Reports | None = None, *, received: Sequence[Received] = ()
) -> Verification:
    """Recompute a plan's certificate; check that reports can come from it, and what holds for them.

    The reports' digest and length must be the plan's, and every bit's rate between its bounds
    within its sampling error; so must the number of reports of cells.
    received: what the receipts say of reports that came over a network. Raises
    ReportsError for another plan's reports, or strata that it does not have.
    """
    certificate, promise = recertify(plan), plan.guarantee
    holds = keeps(plan, certificate)
    if reports is None:
        return Verification(certificate, holds, promise)
    one_way = [(question.id,) for question in plan.survey.randomized]
    counted = count(plan, reports, tables=one_way)
    check_strata(plan, counted)
    found = _of_all(plan, counted.messages)
    crowds = counted.strata or {(): counted.messages}
    each = {names: _of_all(plan, crowd) for names, crowd in crowds.items()}
    people = {names: _people(plan, crowd) for names, crowd in each.items()}
    smallest = min([*people.values(), *(release.people for release in counted.releases)])
    return Verification(
        certificate,
        holds,
        counted_guarantee(plan, counted, smallest, received),
        reports=sum(f.accepted for f in found),
        rejected=sum(f.rejected for f in found),
        impossible=tuple(impossible_rates(plan, found)),
        impossible_people=tuple(
            wrong for crowd in each.values() for wrong in impossible_people(plan, crowd)
        ),
        missing=max(plan.survey.crowd - smallest, 0),
        seed=counted.seed,
        people=people if counted.strata else None,
        contradicted=any(each.contradicted for each in received),
    )


def _of_all(plan: Plan, messages: Mapping[int, MessageTally]) -> list[MessageTally]:
    """The counts of every message; nothing of one that did not come."""
    nothing = MessageTally(0, 0, 0, {})
    return [messages.get(number, nothing) for number in range(len(plan.messages))]


def _people(plan: Plan, found: Sequence[MessageTally]) -> int:
    return min(f.people(message) for f, message in zip(found, plan.messages, strict=True))
