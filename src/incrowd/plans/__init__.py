"""Plans: everything a client must do and an analyst may conclude."""

from incrowd.plans.message import CellsMessage, JointReport, Message, fixed_channel
from incrowd.plans.plan import EarlierPlan, Guarantee, Outline, Plan

__all__ = [
    "CellsMessage",
    "EarlierPlan",
    "Guarantee",
    "JointReport",
    "Message",
    "Outline",
    "Plan",
    "fixed_channel",
]
