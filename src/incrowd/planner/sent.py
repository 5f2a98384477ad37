"""Everything one person sends by some messages, as the accountant counts it.

Proof: docs/mathematics.md#unlinked-bits, docs/mathematics.md#memoised-rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from incrowd.accounting.schema import FREE_BIT, Part, Schema, Sent
from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.rappor import Rappor
from incrowd.plans import Message, Plan, QuestionChannel, device
from incrowd.survey import AnyQuestion, Survey


def sent_by(plan: Plan) -> Sent:
    """All that a person sends by a plan, and sent when asked before."""
    before = (sent(asked.survey, asked.messages) for asked in plan.earlier)
    return reduce(Sent.also, before, sent(plan.survey, plan.messages))


def sent(survey: Survey, messages: Sequence[Message]) -> Sent:
    """All that a person sends by some messages, for as many rows as may be one person's."""
    reports = [_reports(survey, message) for message in messages]
    return reduce(Sent.also, reports * survey.rows_per_person)


def _reports(survey: Survey, message: Message) -> Sent:
    """The reports of one message.

    Set bits that travel apart are independent one-bit collections, and two answers differ in
    `distance` of them. Memoised responses are the same in all copies and rounds, so that their
    permanent bits once tell at least as much.
    """
    questions = [survey.question(id) for id in message.questions]
    noise = message.channel
    if message.apart:
        assert noise is not None
        return Sent.of(Schema.of([Part(FREE_BIT, noise)]), questions[0].distance * message.copies)
    schema = Schema.of(_parts(questions, noise))
    return Sent.of(schema, 1 if all(q.memoised for q in questions) else message.copies)


def _parts(questions: Iterable[AnyQuestion], noise: BitFlip | None) -> list[Part]:
    return [
        Part(domain, crowd_channel(question, noise))
        for question in questions
        for domain in question.domains
    ]


def crowd_channel(question: AnyQuestion, noise: BitFlip | None) -> QuestionChannel:
    """The noise that a crowd may count on: of memoised responses the permanent stage alone."""
    channel = device(question) or noise
    assert channel is not None
    randomizer = question.randomizer
    if randomizer and randomizer.memoised and isinstance(channel, Rappor):
        return channel.crowd_noise
    return channel
