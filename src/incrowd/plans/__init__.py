"""Plans: everything a client must do and an analyst may conclude."""

from incrowd.plans.fixed_channels import QuestionChannel, device
from incrowd.plans.plan import Asked, Guarantee, Message, Plan

__all__ = ["Asked", "Guarantee", "Message", "Plan", "QuestionChannel", "device"]
