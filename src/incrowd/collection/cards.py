"""The guarantee card of a plan, or of a collection by its bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.catalog.sentences import ENGLISH
from incrowd.collection.claims import bundle_guarantee, claims_of, sealed_by
from incrowd.collection.page.files import is_bundle
from incrowd.collection.protocol.bundle import Bundle
from incrowd.interviews.survey import InterviewSurvey
from incrowd.plans import Guarantee, Plan
from incrowd.presentation.card import Card, certified_card
from incrowd.presentation.interview_card import interview_card

if TYPE_CHECKING:
    from incrowd.accountant.proved import Enclosure


SURVEY_ENDING = ".toml"  # of a survey of interviews, whose promise rests on no plan


def promise_of(path: Path) -> tuple[Plan, Guarantee, float]:
    """Return the plan in the file of a plan or of a bundle, what it guarantees, and the tail.

    The tail is an upper bound of the probability that one person's reports do not fit into an
    upload; 0 for a plan.
    """
    if not is_bundle(path):
        plan = Plan.load(path)
        return plan, plan.guarantee, 0.0
    bundle = Bundle.parse(path.read_bytes())
    return bundle.plan, bundle_guarantee(bundle), claims_of(bundle).tail


def card_of(path: Path, proof: Enclosure | None = None, language: str = ENGLISH) -> Card:
    """Return the card for the file of a plan, a bundle, or a survey of interviews, computed today.

    For a bundle, it states the guarantee of its collection, which is weaker if one party both mixes
    and opens the reports. language: that of the card. proof: an enclosure of that guarantee's
    delta, if it was computed. Raises PlanError if the guarantee does not hold.
    """
    if path.suffix.lower() == SURVEY_ENDING:
        return interview_card(InterviewSurvey.load(path), path.name, language)
    if not is_bundle(path):
        return certified_card(Plan.load(path), path.name, proof=proof, language=language)
    bundle = Bundle.parse(path.read_bytes())
    return certified_card(
        bundle.plan,
        promise=bundle_guarantee(bundle),
        sealed=sealed_by(bundle),
        proof=proof,
        language=language,
    )
