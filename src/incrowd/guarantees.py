"""Plan + how its reports were collected -> the guarantee that holds, which every output states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from incrowd.accountant.analyses import analysis
from incrowd.accountant.certificates import redrawn
from incrowd.planner.plan import guarantee_for, local_guarantee
from incrowd.plans import Guarantee, Plan
from incrowd.plans.claims import Claims
from incrowd.plans.ledger import repeats
from incrowd.plans.plan import Reduction


def guarantee_of(
    plan: Plan,
    people: int | None = None,
    claims: Iterable[Claims] = (),
    *,
    repeated: bool = False,
    contradicted: bool = False,
    seed: int | None = None,
) -> Guarantee:
    """What a plan guarantees once it is known how its reports were collected, or will be.

    people: who took part, of the smallest crowd; None before anybody did. claims: what the bundles
    state by which the reports were collected; none if they came over no network. repeated: whether
    a device knows that it gave these permanent responses before. contradicted: whether the shuffler
    signed two releases of one stratum. seed: of reports that were made in a simulation: they
    protect nobody, and what is returned is what other reports would have.

    The result is the plan's own guarantee, or has the reasons in `reduced_by`. Noise that is drawn
    again where reports do not fit into the places of an upload (docs/protocol.md, "Slots") costs at
    most 1e-9; it is counted in and is no reason. Raises PlanFileError as `analysis_of` does.
    """
    claims = frozenset(claims)
    found, reasons = plan.guarantee, tuple[Reduction, ...]()
    if analysis(found.analysis).shuffled:
        crowd = found.crowd if people is None else min(plan.survey.hidden(people), found.crowd)
        if reasons := tuple(_only_local(plan, claims, repeated, contradicted)):
            found = local_guarantee(plan, crowd)
        elif people is not None and crowd < found.crowd:
            found, reasons = guarantee_for(plan, people), ("fewer-people",)
        if found.epsilon <= plan.guarantee.epsilon:  # the devices' own noise is enough
            reasons = ()
    if seed is not None:
        reasons = (*reasons, "simulation")
    tail, rounds = max((each.tail for each in claims), default=0.0), plan.survey.rounds
    hidden = found.crowd if analysis(found.analysis).shuffled else 1
    drawn = redrawn(found.epsilon, found.delta, tail=tail, crowd=hidden * rounds)
    alone = redrawn(found.local_epsilon, 0.0, tail=tail, crowd=rounds)
    changes = {**drawn._asdict(), "local_epsilon": alone.epsilon, "reduced_by": reasons}
    return found.model_copy(update=changes)


def _only_local(
    plan: Plan, claims: frozenset[Claims], repeated: bool, contradicted: bool
) -> Iterator[Reduction]:
    """Why nothing beyond the local guarantee is left, whatever the crowd is."""
    if any(each.local_only for each in claims):
        yield "one-party"
    # Nobody signs that the same people were invited, so that who took part in which rounds can be
    # matched with responses that stay the same. Releases of several bundles are several rounds.
    several = len({each.bundle for each in claims}) > 1
    if repeated or (claims and (repeats(plan) or (several and plan.memoised))):
        yield "permanent-responses"
    if contradicted:
        yield "contradicted"
