"""What the noise will do to a table, before anything is collected.

The guess is that all answers are equally common (of a `multi` question, that half of what is
allowed is given) and that questions have nothing to do with each other. Then the noise of a cell,
E[g^2] - E[g] for the debiased report g, is a product over questions less another product.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.channels.base import Channel
from incrowd.channels.bit_flip import BitFlip
from incrowd.estimation.decoders import question_decoder
from incrowd.planner.wanted import weighed
from incrowd.plans import Message, Plan, fixed_channel
from incrowd.survey import AnyQuestion, Multi, Survey, Text


@dataclass(frozen=True)
class Axis:
    """One question of a table, of its largest expected cell.

    share: the guess. cells: how many answers. second: E[g^2] where the channel is fixed; None for
    a bit flip that is still to be chosen: share + scale v, v = p q / (p - q)^2 = 1 / (phi - 1).
    """

    share: float
    cells: int
    second: float | None = None
    scale: float = 1.0

    def at(self, v: np.ndarray | float) -> np.ndarray | float:
        """E[g^2] with the noise v."""
        return self.share + self.scale * v if self.second is None else self.second


def axis(question: AnyQuestion, channel: Channel | None = None) -> Axis:
    """What to expect of a question; of a text question, of a word that hardly anybody has.

    channel: a randomizer of the question's own; None for a bit flip.
    """
    if isinstance(question, Text):
        unlike = (1 - 1 / question.block) ** 2  # another word sets the bit with chance 1 / block
        scale = 1 / (question.hashes * unlike)
        fixed = scale / channel.excess if isinstance(channel, BitFlip) else None
        return Axis(0.0, 1, fixed, scale)
    cells = len(question.answers)
    share = question.at_most / (2 * cells) if isinstance(question, Multi) else 1 / cells
    if channel is None:
        return Axis(share, cells)
    guess = np.full(cells, share)
    record = np.append(1.0, guess[-question.domain.bits :])  # a plain yes/no has one bit for both
    second = question_decoder(question, channel).square @ (
        channel.reported(question.domain.bits) @ record
    )
    place = int(np.argmax(second - guess))
    return Axis(share, cells, float(second[place]))


def noise_variance(axes: Sequence[Axis], v: np.ndarray | float) -> np.ndarray | float:
    """Variance by the noise of the largest cell, times the number of reports."""
    return math.prod(a.at(v) for a in axes) - math.prod(a.share for a in axes)


def sampling_variance(axes: Sequence[Axis]) -> float:
    """Variance by sampling of the largest cell, times the number of people."""
    share = math.prod(a.share for a in axes)
    return share * (1 - share)


def table_axes(survey: Survey, ids: Iterable[str]) -> list[Axis]:
    """What to expect of a table's questions."""
    return [axis(question, fixed_channel(question)) for question in map(survey.question, ids)]


def weight(survey: Survey, message: Message, ids: Iterable[str]) -> float:
    """The inverse noise variance of a table's largest expected cell, of one person's reports."""
    v = 0.0 if message.noise is None else 1 / message.noise.excess
    return message.independent_copies / float(noise_variance(table_axes(survey, ids), v))


def expected_noise(survey: Survey, messages: Sequence[Message], ids: Sequence[str]) -> float:
    """The noise variance of a table's largest expected cell, times the number of people.

    A table that several messages hold is combined from them by inverse variance.
    """
    return 1 / sum(weight(survey, message, ids) for message in messages if message.holds(ids))


def expected_variance(survey: Survey, messages: Sequence[Message], ids: Sequence[str]) -> float:
    """Its variance by noise and sampling together, times the number of people."""
    return expected_noise(survey, messages, ids) + sampling_variance(table_axes(survey, ids))


def expected_error(survey: Survey, messages: Sequence[Message]) -> float:
    """The standard error of the wanted tables, the largest or their mean, as the survey wishes."""
    variances = [expected_variance(survey, messages, ids) for ids in weighed(survey)]
    errors = [math.sqrt(variance / survey.crowd) for variance in variances]
    return max(errors) if survey.objective == "largest" else sum(errors) / len(errors)


def plan_error(made: Plan) -> float:
    """The standard error of a plan's wanted tables: the largest, or their mean."""
    return expected_error(made.survey, made.messages)
