"""The guarantee of a collection: what holds for the people whose reports it contains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from incrowd.accountant.analyses import analysis
from incrowd.accountant.certificates import redrawn
from incrowd.guarantees.certified import guarantee_for, local_guarantee
from incrowd.plans import Guarantee, Plan
from incrowd.plans.claims import ClaimedRelease, Claims
from incrowd.plans.ledger import (
    repeats,
    shows_responses,
)
from incrowd.plans.plan import (
    Mixing,
    Reduction,
    counts_on_crowd,
)


def guarantee_of(
    plan: Plan,
    people: int | None = None,
    claims: Iterable[Claims] = (),
    *,
    repeated: bool = False,
    contradicted: bool = False,
    seed: int | None = None,
) -> Guarantee:
    """Return what a plan guarantees, given how its reports were collected, or will be.

    people: the participants of the smallest crowd; None before anyone took part. claims: those of
    the bundles by which the reports were collected; empty if they did not come over a network.
    repeated: whether a device knows that it gave these permanent responses before. contradicted:
    whether the shuffler signed two releases of one stratum. seed: the seed of simulated reports,
    which protect nobody; the result is what real reports would have.

    The result is the plan's own guarantee, or states the reasons in `reduced_by`; `mixed_by` says
    who could cheat. Drawing noise
    again for reports that do not fit into the slots of an upload (docs/protocol.md, "Slots") costs
    at most 1e-9 in epsilon and e^epsilon times as much in delta, which is included and is not a
    reason. Raises PlanFileError as `analysis_of` does.
    """
    claims, reasons = frozenset(claims), tuple[Reduction, ...]()
    promise = guarantee = plan.guarantee
    if analysis(promise.analysis).shuffled:
        crowd = promise.crowd
        if people is not None and crowd is not None and counts_on_crowd(plan.messages):
            crowd = min(plan.survey.hidden(people), crowd)
        again = repeated or (people is not None and shows_responses(plan, people))
        if reasons := tuple(_only_local(plan, claims, again, contradicted)):
            guarantee = local_guarantee(plan, crowd)
        elif people is not None and crowd != promise.crowd:
            guarantee, reasons = guarantee_for(plan, people), ("fewer-people",)
        if not _weaker(guarantee, promise):  # the devices' own noise is enough
            reasons = ()
    curated = plan.by_services and people is not None and not claims
    if curated:
        guarantee = guarantee.model_copy(update={"service_epsilon": math.inf})
    if seed is not None:
        reasons = (*reasons, "simulation")
    changes: dict[str, Any] = {"reduced_by": reasons}
    if tail := max((each.tail for each in claims), default=0.0):
        changes |= _redrawn(guarantee, tail, plan.survey.rounds)
    kinds: set[Mixing] = {"curator"} if curated else {_mixing(plan, each) for each in claims}
    return guarantee.model_copy(update={**changes, "mixed_by": tuple(sorted(kinds))})


def of_invented_people(guarantee: Guarantee) -> Guarantee:
    """Return the guarantee of a collection whose people were invented for a rehearsal."""
    reasons = (*guarantee.reduced_by, "rehearsal")
    return guarantee.model_copy(update={"reduced_by": reasons})


def _weaker(guarantee: Guarantee, promise: Guarantee) -> bool:
    """Return whether somebody may learn more than promised."""
    service, promised = guarantee.service_epsilon or 0.0, promise.service_epsilon or 0.0
    return guarantee.epsilon > promise.epsilon or service > promised


def _redrawn(guarantee: Guarantee, tail: float, rounds: int) -> dict[str, float]:
    """Return the fields of a guarantee that grow if noise is drawn again."""
    named = not analysis(guarantee.analysis).shuffled
    hidden = (1 if named else guarantee.crowd or 1) * rounds
    drawn = redrawn(guarantee.epsilon, guarantee.delta, tail=tail, crowd=hidden, named=named)
    alone = redrawn(guarantee.local_epsilon, 0.0, tail=tail, crowd=rounds, named=True)
    return {**drawn._asdict(), "local_epsilon": alone.epsilon}


def _mixing(plan: Plan, claims: Claims) -> Mixing:
    if claims.mixers == 1:
        return "services" if plan.by_services else "shuffler"
    cells = any(message.cells for message in plan.messages)
    return "two-mixers-of-cells" if cells else "two-mixers"


class CountedReports(Protocol):
    """Counted reports: a tally."""

    @property
    def releases(self) -> frozenset[ClaimedRelease]:
        """The releases that they came in, if they came over a network."""

    @property
    def seed(self) -> int | None:
        """The seed of a simulation, or None."""


class ReleaseReceipt(Protocol):
    """The receipt of a release."""

    @property
    def contradicted(self) -> bool:
        """Whether the shuffler signed another release of the same stratum as well."""

    @property
    def rehearsed(self) -> bool:
        """Whether the people were invented for a rehearsal."""


def counted_guarantee(
    plan: Plan, counted: CountedReports, people: int, received: Iterable[ReleaseReceipt] = ()
) -> Guarantee:
    """Return what holds for counted reports. people: the people of the smallest release of any
    message. received: the receipts of the releases."""
    claims = {release.claims for release in counted.releases}
    contradicted = any(each.contradicted for each in received)
    rehearsed = any(each.rehearsed for each in received)
    guarantee = guarantee_of(plan, people, claims, contradicted=contradicted, seed=counted.seed)
    return of_invented_people(guarantee) if rehearsed else guarantee


def _only_local(
    plan: Plan, claims: frozenset[Claims], repeated: bool, contradicted: bool
) -> Iterator[Reduction]:
    """Yield why only the local guarantee is left, whatever the crowd is."""
    yield from exposed_by(claims, contradicted)
    # No signature says that the same people were invited, so participation in rounds could be
    # matched with responses that stay the same. Releases of several bundles are several rounds.
    several = len({each.bundle for each in claims}) > 1
    if repeated or (claims and (repeats(plan) or (several and plan.memoized))):
        yield "permanent-responses"


class Mixed(Protocol):
    """The statements of claims and receipts about who mixed the reports; see `Claims`."""

    @property
    def local_only(self) -> bool:
        """Whether one party mixes and collects."""

    @property
    def thinned(self) -> bool:
        """Whether the collector's organization could pass on single reports of cells."""


def exposed_by(stated: Iterable[Mixed], contradicted: bool) -> tuple[Reduction, ...]:
    """Return why mixing does not protect reports, so that they count as if they carried names.

    A ledger charges them so, and for a collection only the local guarantee is left. contradicted:
    whether a mixer signed two different statements.
    """
    stated = tuple(stated)
    reasons: dict[Reduction, bool] = {
        "one-party": any(each.local_only for each in stated),
        "thinned-cells": any(each.thinned for each in stated),
        "contradicted": contradicted,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)
