"""The counts to expect before anything is collected.

Questions are guessed to have nothing to do with each other, so that the joint counts are a product
of those of each question; its answers are guessed to be alike, unless their shares are stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from incrowd.accountant.channels.base import Channel
from incrowd.plans import Message
from incrowd.survey import AnyQuestion

Shares = Mapping[str, Sequence[float]]


def expected_counts(
    message: Message, questions: Sequence[AnyQuestion], people: int, shares: Shares
) -> np.ndarray:
    """The counts of pairs that a message will give, as `incrowd.reports.moments.pair_moments`.

    shares: of the answers to some of the questions, by id.
    """
    axes = [
        expected_axis(each, message.channels[each.id], shares.get(each.id)) for each in questions
    ]
    return np.asarray(people * message.copies * reduce(np.multiply.outer, axes))


def guessed_shares(shares: Shares, question: AnyQuestion) -> Sequence[float]:
    """The stated shares of a question's answers. Else all are alike, and of a `multi` question half
    of what is allowed is given, each option by itself."""
    if (stated := shares.get(question.id)) is not None:
        return stated
    answers = len(question.recorded)
    return [question.answers_given / answers] * answers


def expected_axis(
    question: AnyQuestion, channel: Channel, shares: Sequence[float] | None = None
) -> np.ndarray:
    """E[(1, the report's bits, pairs of them)] of one question.

    shares: of the answers, else as `guessed_shares`.
    """
    bits = question.domain.bits
    if not question.exclusive:
        given = {} if shares is None else {question.id: shares}
        records, shares = np.array(guessed_shares(given, question))[None], None
    else:
        records = np.arange(2)[:, None] if bits == 1 else np.eye(bits)
    said = np.hstack([np.ones((len(records), 1)), records]) @ channel.reported(bits).T
    first, second = np.triu_indices(bits, 1)
    pairs = said[:, 1 + first] * said[:, 1 + second] * (not channel.of_answers)
    return np.average(np.hstack([said, pairs]), axis=0, weights=shares)
