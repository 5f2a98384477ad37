"""What the planner makes small, and by what messages are weighted: the noise of a guessed cell.

The guess is that all answers are equally common (of a `multi` question, that half of what is
allowed is given) and that questions have nothing to do with each other. Then the noise of a cell,
E[g^2] - E[g] for the debiased report g, is a product over questions less another product. How
precise tables will be is another matter: `incrowd.planner.precision`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.accountant.channels.base import Channel
from incrowd.accountant.channels.bit_flip import is_flip
from incrowd.estimation.decoders import question_decoder
from incrowd.plans import Message, fixed_channel
from incrowd.survey import AnyQuestion, Survey, Text, takes_words
from incrowd.survey.crossings import cell_answers

RARE = 0.05  # the share of a word


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
    if takes_words(question):
        scale = text_scale(question)
        fixed = scale / channel.excess if channel and is_flip(channel) else None
        return Axis(0.0, 1, fixed, scale)
    question = question.with_merged(())
    cells = len(question.answers)
    share = question.answers_given / cells
    if channel is None:
        return Axis(share, cells)
    guess = np.full(cells, share)
    record = np.append(1.0, guess[-question.domain.bits :])  # a plain yes/no has one bit for both
    second = question_decoder(question, channel).square @ (
        channel.reported(question.domain.bits) @ record
    )
    place = int(np.argmax(second - guess))
    return Axis(share, cells, float(second[place]))


def text_scale(question: Text) -> float:
    """The variance by noise of a word's share, times the number of people, for v = 1."""
    unlike = (1 - 1 / question.block) ** 2  # another word sets the bit with chance 1 / block
    return 1 / (question.hashes * unlike)


def noise_variance(axes: Sequence[Axis], v: np.ndarray | float) -> np.ndarray | float:
    """Variance by the noise of the largest cell, times the number of reports."""
    return math.prod(a.at(v) for a in axes) - math.prod(a.share for a in axes)


def relative_noise(axes: Sequence[Axis], v: np.ndarray | float) -> np.ndarray | float:
    """How much the inflation of one report's table is above 1: the noise variance of its largest
    expected cell over that by sampling. Of words: by sampling of one that is rare."""
    share = math.prod(a.share for a in axes) or RARE
    return noise_variance(axes, v) / (share * (1 - share))


def table_axes(survey: Survey, ids: Iterable[str]) -> list[Axis]:
    """What to expect of a table's questions."""
    return [axis(question, fixed_channel(question)) for question in map(survey.question, ids)]


def cells_axis(survey: Survey, sent: Sequence[AnyQuestion], ids: Iterable[str]) -> Axis:
    """What to expect of a table that is read from the cells of some questions, as one axis.

    A cell of the table is a sum of cells, each of which has the noise v, whatever was answered.
    """
    wanted = set(ids)
    axes = table_axes(survey, [question.id for question in sent if question.id in wanted])
    summed = math.prod(
        len(cell_answers(question)) for question in sent if question.id not in wanted
    )
    share, cells = math.prod(a.share for a in axes), math.prod(a.cells for a in axes)
    return Axis(share, cells, scale=float(summed))


def weight(survey: Survey, message: Message, ids: Iterable[str]) -> float:
    """The inverse noise variance of a table's largest expected cell, of one person's reports."""
    v = 0.0 if message.noise is None else 1 / message.noise.excess
    axes = table_axes(survey, ids)
    if message.cells:
        wanted = set(ids)
        asked = [q for q in message.questions if q.id in wanted or not message.parities]
        axes = [cells_axis(survey, asked, wanted)]
    return message.independent_copies / float(noise_variance(axes, v))
