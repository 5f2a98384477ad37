"""What travels together and with how much noise, in words."""

from __future__ import annotations

from incrowd.plans import Message, Plan
from incrowd.presentation.number_text import noise


def message_texts(plan: Plan) -> tuple[str, ...]:
    """A line for each message; of a single one without its questions."""
    if len(plan.messages) == 1:
        return (message_text(plan.messages[0]),)
    return tuple(f"{', '.join(message.ids)}: {message_text(message)}" for message in plan.messages)


def message_text(message: Message) -> str:
    """The noise and the copies of one message."""
    times = "" if message.copies == 1 else f", {message.copies:,} reports from each person"
    if message.unlinked:
        return (
            f"{noise(message.noise.q, 3)} on each bit; each set bit is a report of its own{times}"
        )
    fixed = [
        f"{question.id} by {question.randomizer.kind}"
        for question in message.questions
        if question.randomizer
    ]
    if message.noise is None:
        return f"{', '.join(fixed)}{times}"
    others = f", but {', '.join(fixed)}" if fixed else ""
    return f"each bit was flipped with probability {noise(message.noise.q)}{others}{times}"
