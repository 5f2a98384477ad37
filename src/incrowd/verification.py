"""Verify a plan, alone or with its reports. Proof: docs/mathematics.md#what-reports-can-be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incrowd.accountant.analyses import analysis
from incrowd.accountant.certificates import Certificate
from incrowd.errors import PlanError
from incrowd.estimation.estimate import Reports, count
from incrowd.estimation.receipts import Received
from incrowd.guarantees.certified import analysis_of, keeps, recertify
from incrowd.guarantees.collected import counted_guarantee
from incrowd.plans import Guarantee, Plan
from incrowd.plans.sent import sent_by
from incrowd.plans.strata import StratumNames
from incrowd.reports.consistency import (
    Impossible,
    ImpossiblePeople,
    PublishedSum,
    check_strata,
    impossible_people,
    impossible_rates,
    published_sums,
)
from incrowd.reports.tally import MessageTally

if TYPE_CHECKING:
    from incrowd.accountant.proved import Enclosure


@dataclass(frozen=True)
class Verification:
    """The result of `verify`.

    Attributes
    ----------
    certificate : Certificate
        Recomputed from the plan's noise, copies, and crowd.
    plan_holds : bool
        Whether the certificate supports what the plan promises.
    guarantee : Guarantee
        What holds for the reports; without reports, the guarantee of the plan.
    reports : int or None
        How many were accepted; None if none were given, or only published counts.
    rejected : int
        How many no client can have sent.
    impossible : tuple of Impossible or None
        Bits whose rate cannot come from the plan: whatever the answers are, a bit is set with a
        probability between two bounds.
    impossible_people : tuple of ImpossiblePeople or None
        Numbers of people that cannot have sent so many, or so few, reports.
    sums : tuple of PublishedSum
        What published counts add up to, of which every person is in exactly one.
    missing : int
        How many people the plan's crowd still lacks, in the smallest stratum if questions are open;
        if services add all noise, how many a release lacks.
    absent : tuple of int
        The messages, counted from 1, of which no reports were given.
    seed : int or None
        Of a simulation, whose reports protect no one.
    people : mapping or None
        The number in each release, if questions are open.
    contradicted : bool
        Whether the shuffler signed two releases of one stratum.
    tail : float
        An upper bound of the probability that one person's reports did not fit into the slots of an
        upload and were drawn again.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> found = incrowd.verify(plan, reports)
    >>> found.plan_holds, found.rejected, found.impossible
    (True, 0, ())
    >>> found.holds  # a simulation protects no one
    False
    """

    certificate: Certificate
    plan_holds: bool
    guarantee: Guarantee
    reports: int | None = None
    rejected: int = 0
    impossible: tuple[Impossible, ...] | None = None
    impossible_people: tuple[ImpossiblePeople, ...] | None = None
    sums: tuple[PublishedSum, ...] = ()
    missing: int = 0
    absent: tuple[int, ...] = ()
    seed: int | None = None
    people: Mapping[StratumNames, int] | None = None
    contradicted: bool = False
    tail: float = 0.0

    @property
    def promise_holds(self) -> bool:
        """Whether the plan's promise holds, for these reports if there are any."""
        return self.plan_holds and not self.guarantee.reduced_by

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the plan, its promise to these people, or the reports."""
        wrong = self.impossible or self.impossible_people
        unlike = any(not each.possible for each in self.sums)
        return self.promise_holds and not (
            wrong or unlike or self.rejected or self.missing or self.contradicted
        )


def verify(
    plan: Plan, reports: Reports | None = None, *, received: Sequence[Received] = ()
) -> Verification:
    """Recompute a plan's certificate, and check reports against the plan.

    Parameters
    ----------
    plan : Plan
        The plan.
    reports : Collection or iterable of Collection, optional
        They must have the plan's digest and length. The rate of every bit, the number of reports of
        cells, and the sums of published counts must be within their bounds up to sampling error.
    received : sequence of Received
        The receipts of reports that came over a network.

    Returns
    -------
    Verification
        What holds, and what does not.

    Raises
    ------
    ReportsError
        For reports of another plan, or of strata that the plan does not have.

    Notes
    -----
    Proof of the bounds: docs/mathematics.md#what-reports-can-be.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> incrowd.verify(plan).holds
    True
    """
    certificate, promise = recertify(plan), plan.guarantee
    holds = keeps(plan, certificate)
    if reports is None:
        return Verification(certificate, holds, promise)
    one_way = [(question.id,) for question in plan.survey.randomized]
    counted = count(plan, reports, tables=one_way)
    check_strata(plan, counted)
    tallies = _of_all(plan, counted.messages)
    crowds = counted.strata or {(): counted.messages}
    each = {names: _of_all(plan, crowd) for names, crowd in crowds.items()}
    people = {names: _people(plan, crowd) for names, crowd in each.items()}
    smallest = min([*people.values(), *(release.people for release in counted.releases)])
    return Verification(
        certificate,
        holds,
        counted_guarantee(plan, counted, smallest, received),
        reports=_accepted(plan, tallies),
        rejected=sum(f.rejected for f in tallies),
        impossible=tuple(impossible_rates(plan, tallies)),
        impossible_people=tuple(
            wrong for crowd in each.values() for wrong in impossible_people(plan, crowd)
        ),
        sums=tuple(
            total for names, crowd in each.items() for total in published_sums(plan, crowd, names)
        ),
        missing=max(plan.least - smallest, 0),
        absent=tuple(
            number + 1
            for number in range(len(plan.messages))
            if any(number not in crowd for crowd in crowds.values())
        ),
        seed=counted.seed,
        people=people if counted.strata else None,
        contradicted=any(each.contradicted for each in received),
        tail=max((release.claims.tail for release in counted.releases), default=0.0),
    )


def prove(
    plan: Plan,
    guarantee: Guarantee | None = None,
    *,
    tail: float = 0.0,
    seconds: float = 60.0,
    progress: Callable[[str], None] = lambda _: None,
) -> Enclosure:
    """Enclose the delta of a guarantee in interval arithmetic, independently of the accountant.

    guarantee: what holds for a collection, from `guarantee_of`; by default, what the plan promises.
    The enclosure is for its epsilon and crowd, and is refined until it is at most its delta, or
    until refining does not help. tail: an upper bound of the probability that one person's reports
    did not fit into an upload and were drawn again. progress: called with what is computed. Needs
    the extra `proved`. Raises ProofError for what the program does not cover, or if it takes longer
    than `seconds`, and PlanFileError if the analysis is not known.
    """
    from incrowd.accountant.proved import described
    from incrowd.accountant.proved import prove as enclosed

    analysis_of(plan)
    holds = guarantee or plan.guarantee
    shuffled = analysis(holds.analysis).shuffled
    redraws = -math.log1p(-tail) * plan.survey.rounds
    ways = [
        replace(way, redraws=way.redraws + redraws)
        for way in described(sent_by(plan), named=not shuffled)
    ]
    people = holds.crowd if shuffled and holds.crowd is not None else 1
    epsilon, delta = repr(holds.epsilon), repr(holds.delta)
    return enclosed(ways, people, epsilon, delta, seconds=seconds, progress=progress)


def check_certificate(plan: Plan, name: str) -> None:
    """Raise PlanError if the noise of a plan does not give the guarantee that it states.

    The digest does not show that: anybody can compute one. name: the name of the plan's file.
    """
    if not verify(plan).plan_holds:
        raise PlanError.of("plan", "shared.too-little-noise", value=name)


def _of_all(plan: Plan, messages: Mapping[int, MessageTally]) -> list[MessageTally]:
    """Return the counts of every message; zero counts for messages without reports."""
    nothing = MessageTally(0, 0, 0, {})
    return [messages.get(number, nothing) for number in range(len(plan.messages))]


def _accepted(plan: Plan, tallies: Sequence[MessageTally]) -> int | None:
    """Return the number of accepted reports; of published counts nobody knows it."""
    pairs = zip(plan.messages, tallies, strict=True)
    accepted = [counts.accepted for message, counts in pairs if not message.by_services]
    return sum(accepted) if accepted else None


def _people(plan: Plan, tallies: Sequence[MessageTally]) -> int:
    return min(f.people(message) for f, message in zip(tallies, plan.messages, strict=True))
