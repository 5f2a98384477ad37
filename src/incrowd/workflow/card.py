"""Plan -> guarantee card, certified now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path

from incrowd.accounting.certificates import Certificate
from incrowd.errors import PlanError, UsageError
from incrowd.plans import Plan
from incrowd.presentation.card import Card, Certified
from incrowd.presentation.card import card as plan_card
from incrowd.presentation.card_page import html, markdown
from incrowd.reports.files import replaced
from incrowd.workflow.verify import verify


def card(plan: Plan, name: str = "plan.json") -> Card:
    """The guarantee card of a plan, its certificate recomputed and dated today.

    name: of the plan's file, for the command on the card. Raises PlanError if the plan does not
    hold: there is no card of a promise that is not kept.
    """
    certificate = _certificate(plan)
    certified = Certified(
        date.today(), version("incrowd"), certificate.delta.upper, certificate.worst
    )
    return plan_card(plan, certified, name)


def _certificate(plan: Plan) -> Certificate:
    """What is on the card, computed anew: delta, and what remains without the shuffler."""
    found = verify(plan)
    if not found.plan_holds:
        allowed = "it does not keep its promise: its noise is too small; make a new plan"
        raise PlanError.of("plan", plan.digest, allowed)
    return found.certificate


def write_card(card: Card, path: str | Path) -> None:
    """Write a card as .html or .md.

    The file appears whole or not at all. Raises UsageError if the ending is another, or if the
    file cannot be written.
    """
    text = _WRITERS[check_card_ending(path)](card)
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_card_ending(path: str | Path) -> str:
    """The ending of the path, in lower case; to call before the work starts.

    Raises UsageError if no card is written with that ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise UsageError.of("path", str(path), f"should end in one of {', '.join(_WRITERS)}")
    return ending


_WRITERS: dict[str, Callable[[Card], str]] = {".html": html, ".md": markdown}
