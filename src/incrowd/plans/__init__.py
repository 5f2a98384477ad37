"""Plans: everything a client must do and an analyst may conclude."""

from incrowd.plans.message import Cells, JointReport, Message, fixed_channel
from incrowd.plans.plan import Asked, Guarantee, Plan

__all__ = [
    "Asked",
    "Cells",
    "Guarantee",
    "JointReport",
    "Message",
    "Plan",
    "fixed_channel",
]
