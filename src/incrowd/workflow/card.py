"""Plan -> guarantee card, certified now."""

from __future__ import annotations

from datetime import date
from importlib.metadata import version

from incrowd.errors import PlanError
from incrowd.plans import Guarantee, Plan
from incrowd.presentation.card import Card, Certified
from incrowd.presentation.card import card as plan_card
from incrowd.workflow.verify import verify


def card(plan: Plan, name: str = "plan.json", promise: Guarantee | None = None) -> Card:
    """The guarantee card of a plan, its certificate recomputed and dated today.

    name: of the plan's file, for the command on the card. promise: what holds for a collection by
    the plan, as `guarantee_of` has it, if that is known. Raises PlanError if the plan does not
    hold: there is no card of a promise that is not kept.
    """
    found = verify(plan)
    if not found.plan_holds:
        allowed = "it does not keep its promise: its noise is too small; make a new plan"
        raise PlanError.of("plan", plan.digest, allowed)
    figures = found.certificate.delta.upper, found.certificate.worst
    certified = Certified(date.today(), version("incrowd"), *figures)
    return plan_card(plan, certified, name, promise)
