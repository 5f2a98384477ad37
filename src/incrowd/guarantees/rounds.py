"""The part of a guarantee that the rounds of a ledger have spent, and the rounds that are left."""

from __future__ import annotations

from functools import partial

from incrowd.accountant.analyses import analysis
from incrowd.accountant.certificates import smallest_epsilon
from incrowd.accountant.codes import AnalysisName
from incrowd.accountant.schema import AnyContribution
from incrowd.catalog.sentences import FileDigest
from incrowd.errors import PlanError, PrivacyError
from incrowd.guarantees.assumed import earlier_assumptions
from incrowd.guarantees.certified import certified
from incrowd.plans import EarlierPlan, Plan
from incrowd.plans.ledger import (
    WITH_LEDGER,
    Ledger,
    Spent,
    repeated,
    rounds_before,
)
from incrowd.plans.plan import (
    Assumption,
    relied_crowd,
    service_epsilon,
)
from incrowd.plans.sent import CountsView, sent, sent_before


def spent(ledger: Ledger, digest: str | None = None) -> Spent | None:
    """Return what a ledger has spent of the guarantee of its last plan, or of the plan with a
    digest.

    None if the plan is not in the ledger. A plan of one round has no round left.
    """
    rounds = [asked for asked in ledger.asked if digest in (None, asked.digest)]
    if not rounds:
        return None
    last = rounds[-1]
    privacy, done = last.survey.privacy, ledger.rounds_of(last.digest)
    crowd = relied_crowd(last.survey, last.messages, ledger.asked)
    seen = sent_before(ledger.asked, "readers")
    epsilon = _epsilon(privacy.analysis, seen, crowd, privacy.delta)
    left, carried_out = _left(ledger, last, crowd), rounds_before(ledger.asked)
    assumed = (
        Assumption(code=analysis(privacy.analysis).assumption),
        *earlier_assumptions(carried_out, repeated(carried_out)),
    )
    figures = epsilon, privacy.epsilon, privacy.delta
    return Spent(last.survey.name, done, last.survey.rounds, left, *figures, assumed)


def check_left(ledger: Ledger, plan: Plan) -> None:
    """Raise PlanError if the people of a ledger cannot be asked another round of a plan."""
    ledger.check_next(plan)
    rounds = spent(ledger, plan.digest)
    if rounds and not rounds.left:
        raise PlanError.of(
            "plan",
            "guarantees.no-round-left",
            value=FileDigest(plan.digest),
            done=rounds.done,
            rounds=rounds.rounds,
            option=WITH_LEDGER,
        )


def _epsilon(
    by: AnalysisName, everything: AnyContribution, crowd: int | None, delta: float
) -> float:
    """Return the smallest epsilon at that delta; the local one if no crowd hides a person."""
    local = everything.local_epsilon
    if not analysis(by).shuffled or _alone(crowd):
        return local
    try:
        return min(smallest_epsilon(by, everything, crowd, delta), local)
    except PrivacyError:  # no epsilon reaches that delta
        return local


def _alone(crowd: int | None) -> bool:
    """Return whether a crowd should hide people, and nobody is left to do so."""
    return crowd is not None and crowd < 2


def _left(ledger: Ledger, last: EarlierPlan, crowd: int | None) -> int:
    """Return how many more rounds the guarantee covers, with as many people as in the smallest
    round.

    All that were planned, unless one of its rounds was not as planned: fewer or other people took
    part, mixing did not protect the reports, or noise was drawn again.
    """
    privacy, to_come = last.survey.privacy, last.survey.rounds - ledger.rounds_of(last.digest)
    others = [asked for asked in ledger.asked if asked.digest != last.digest]
    service = service_epsilon(last.survey, last.messages)

    def after(more: int, view: CountsView = "service") -> AnyContribution:
        return sent_before([*ledger.asked, *[last] * more], view)

    def is_kept(more: int) -> bool:
        seen = partial(after, more)
        certificate = certified(privacy.analysis, seen, crowd, privacy.epsilon, service)
        return certificate.delta.upper <= privacy.delta

    as_promised = after(to_come) == sent(last.survey, last.messages, others)
    planned = relied_crowd(last.survey, last.messages, others)
    if as_promised and (crowd is None or planned is None or crowd >= planned):
        return to_come
    if (analysis(privacy.analysis).shuffled and _alone(crowd)) or not is_kept(0):
        return 0
    low, high = 0, to_come + 1  # low is kept, high is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low
