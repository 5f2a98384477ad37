"""Plan -> guarantee card, certified now."""

from __future__ import annotations

from datetime import date
from importlib.metadata import version

from incrowd.errors import PlanError
from incrowd.planner.sent import sent_by
from incrowd.plans import Plan
from incrowd.presentation.card import Card, Certified
from incrowd.presentation.card import card as plan_card
from incrowd.workflow.verify import verify


def card(plan: Plan, name: str = "plan.json") -> Card:
    """The guarantee card of a plan, its certificate recomputed and dated today.

    name: of the plan's file, for the command on the card. Raises PlanError if the plan does not
    hold: there is no card of a promise that is not kept.
    """
    found, promised = verify(plan), plan.guarantee.local_epsilon
    if not found.plan_holds:
        raise PlanError.of("plan", plan.digest, "does not hold: its noise is below its promise")
    if promised < (local := sent_by(plan).local_epsilon) * (1 - 1e-9):
        allowed = f"is not what remains without the shuffler: that is {local:.6g}"
        raise PlanError.of("plan.guarantee.local_epsilon", promised, allowed)
    figures = found.certificate.delta.upper, found.certificate.worst
    return plan_card(plan, Certified(date.today(), version("incrowd"), *figures), name)
