"""Plans: everything a client must do and an analyst may conclude."""

from incrowd.plans.fixed_channels import fixed_channel
from incrowd.plans.message import JointReport, Message, UnlinkedBits
from incrowd.plans.plan import Asked, Guarantee, Plan

__all__ = [
    "Asked",
    "Guarantee",
    "JointReport",
    "Message",
    "Plan",
    "UnlinkedBits",
    "fixed_channel",
]
