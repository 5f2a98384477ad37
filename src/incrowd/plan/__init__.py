"""Plans: everything a client must do and an analyst may conclude."""

from incrowd.plan.devices import QuestionChannel, device
from incrowd.plan.plans import Asked, Guarantee, Message, Plan

__all__ = ["Asked", "Guarantee", "Message", "Plan", "QuestionChannel", "device"]
