"""Plan -> guarantee card, certified now."""

from __future__ import annotations

from datetime import date
from importlib.metadata import version

from incrowd.errors import PlanError
from incrowd.plans import Plan
from incrowd.presentation.card import Card, Certified
from incrowd.presentation.card import card as plan_card
from incrowd.workflow.verify import verify


def card(plan: Plan, name: str = "plan.json") -> Card:
    """The guarantee card of a plan, its certificate recomputed and dated today.

    name: of the plan's file, for the command on the card. Raises PlanError if the plan does not
    hold: there is no card of a promise that is not kept.
    """
    found = verify(plan)
    if not found.plan_holds:
        allowed = "it does not keep its promise: its noise is too small; make a new plan"
        raise PlanError.of("plan", plan.digest, allowed)
    figures = found.certificate.delta.upper, found.certificate.worst
    return plan_card(plan, Certified(date.today(), version("incrowd"), *figures), name)
