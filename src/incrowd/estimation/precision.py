"""The precision of tables before anything is collected, by the decoders that estimate them.

The variance of a table is that of its estimates, (E[g^2] - pi) / m, g the debiased report. Where
the answers are known, as in a simulation, it is computed from them. Otherwise the answers to
different questions are assumed to be independent, so that E[g^2] is a product over questions. What
one answer's share is, is assumed twice: all answers equally common, and uneven as in most surveys
of sensitive subjects. Neither is the worse one for every table: sampling is largest for a share of
one half, and the noise of a joint table is largest in the cell of the most common answers. Where a
survey states shares, those are assumed. Proof: docs/mathematics.md#forecasts.

By what messages are weighted, and what the planner makes small, is the noise of one guessed cell:
all answers are equally common (of a `multi` question, half of what is allowed is given).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np

from incrowd.accountant.channels.base import Channel
from incrowd.accountant.channels.bit_flip import is_flip
from incrowd.estimation.cells import answer_sums, planned_noise, planned_table, planned_weight
from incrowd.estimation.decoders import question_decoder
from incrowd.kernels.axes import transform as along_axes
from incrowd.plans import JointReport, Message, Plan, fixed_channel
from incrowd.survey import NOT_ASKED, AnyQuestion, Survey, Text, takes_words
from incrowd.survey.asking import asked_share
from incrowd.survey.crossings import cell_answers

RARE = 0.1  # uneven: people who say yes, and people who do not answer an optional question
MOST_CELLS = 1 << 18  # of which all are looked at

TablePart: TypeAlias = "tuple[float, JointReport | np.ndarray]"
RARE_WORD = 0.05  # the share of a word


def mean_squares(question: AnyQuestion, channel: Channel, given: np.ndarray) -> np.ndarray:
    """Return E[g^2] of each answer of a report. given: E[(1, the record's bits)], or columns of
    them."""
    return np.asarray(
        question_decoder(question, channel).square
        @ (channel.reported(question.domain.bits) @ given)
    )


# --- one guessed cell ------------------------------------------------------------------------


@dataclass(frozen=True)
class CellAxis:
    """One question of a table, at the largest expected cell.

    share: the guess. cells: how many answers. second: E[g^2] where the channel is fixed; None for
    a bit flip that is still to be chosen: share + scale v, v = p q / (p - q)^2 = 1 / (phi - 1).
    """

    share: float
    cells: int
    second: float | None = None
    scale: float = 1.0

    def at(self, v: np.ndarray | float) -> np.ndarray | float:
        """Return E[g^2] with the noise v."""
        return self.share + self.scale * v if self.second is None else self.second


def axis(question: AnyQuestion, channel: Channel | None = None) -> CellAxis:
    """Return what to expect of a question; of a text question, of a word that hardly anybody has.

    channel: a randomizer of the question's own; None for a bit flip.
    """
    if takes_words(question):
        scale = text_scale(question)
        fixed = scale / channel.excess if channel and is_flip(channel) else None
        return CellAxis(0.0, 1, fixed, scale)
    question = question.with_merged(())
    cells = len(question.answers)
    share = question.answers_given / cells
    if channel is None:
        return CellAxis(share, cells)
    guess = np.full(cells, share)
    record = np.append(1.0, guess[-question.domain.bits :])  # a plain yes/no has one bit for both
    second = mean_squares(question, channel, record)
    place = int(np.argmax(second - guess))
    return CellAxis(share, cells, float(second[place]))


def text_scale(question: Text) -> float:
    """Return the variance by noise of a word's share, times the number of people, for v = 1."""
    unlike = (1 - 1 / question.block) ** 2  # another word sets the bit with chance 1 / block
    return 1 / (question.hashes * unlike)


def noise_variance(axes: Sequence[CellAxis], v: np.ndarray | float) -> np.ndarray | float:
    """Return variance by the noise of the largest cell, times the number of reports."""
    return math.prod(a.at(v) for a in axes) - math.prod(a.share for a in axes)


def relative_noise(axes: Sequence[CellAxis], v: np.ndarray | float) -> np.ndarray | float:
    """Return how much the inflation of one report's table is above 1: the noise variance of its
    largest expected cell over that by sampling. Of words: by sampling of one that is rare."""
    share = math.prod(a.share for a in axes) or RARE_WORD
    return noise_variance(axes, v) / (share * (1 - share))


def table_axes(survey: Survey, ids: Iterable[str]) -> list[CellAxis]:
    """Return the axes of a table, with their expected shares."""
    return [axis(question, fixed_channel(question)) for question in map(survey.question, ids)]


def cells_axis(survey: Survey, sent: Sequence[AnyQuestion], ids: Iterable[str]) -> CellAxis:
    """Return what to expect of a table that is read from the cells of some questions, as one axis.

    A cell of the table is a sum of cells, each of which has the noise v, whatever was answered.
    """
    wanted = set(ids)
    axes = table_axes(survey, [question.id for question in sent if question.id in wanted])
    summed = math.prod(
        len(cell_answers(question)) for question in sent if question.id not in wanted
    )
    share, cells = math.prod(a.share for a in axes), math.prod(a.cells for a in axes)
    return CellAxis(share, cells, scale=float(summed))


def weight(survey: Survey, message: Message, ids: Iterable[str]) -> float:
    """Return the inverse noise variance of a table's largest expected cell, of one person's
    reports."""
    v = message.noise_variance(survey.crowd)
    axes = table_axes(survey, ids)
    if message.cells:
        wanted = set(ids)
        asked = [q for q in message.questions if q.id in wanted or not message.parities]
        axes = [cells_axis(survey, asked, wanted)]
    return message.independent_copies / float(noise_variance(axes, v))


# --- assumed shares --------------------------------------------------------------------------


def assumed_shares(survey: Survey, question: AnyQuestion, even: bool) -> np.ndarray:
    """Return the assumed share of each answer among all people.

    Whom a question is asked follows from the assumed shares of the answers that decide this.
    """
    shares = shares_of_asked(question, even)
    if question.asked_if is None:
        return shares
    asked = asked_share(question, survey.questions, partial(shares_of_asked, even=even))
    return asked * shares if question.hashed else np.append(asked * shares, 1 - asked)


def shares_of_asked(question: AnyQuestion, even: bool) -> np.ndarray:
    """Return the assumed share of each answer but "not asked" among those who are asked: the stated
    ones; otherwise all alike, or uneven.

    Uneven is one yes in ten, and of other questions each answer half as common as the previous one.
    Even options of a `multi` question are half of what is allowed. A text question has one word
    here: one that hardly anybody has, or one that half of the people have.
    """
    if (stated := question.stated_shares) is not None:
        return np.array(stated[:-1] if question.asked_if else stated)
    if question.hashed:
        return np.array([0.0 if even else 0.5])
    if even:
        options = len(question.answers) - (NOT_ASKED in question.answers)
        return np.full(options, question.answers_given / options)
    shares = np.array(question.uneven_shares)
    return np.append((1 - RARE) * shares, RARE) if question.optional else shares


class CellVariances(NamedTuple):
    """The variances of a table's cells, times the number of people, arrays of shape (cells,).

    share: the assumed one. noise: the variance by noise. noise_if_empty: the same if nobody is in
    the cell, and the shares of the single answers are still the assumed ones. can_be_empty: whether
    they can be.
    """

    share: np.ndarray
    noise: np.ndarray
    noise_if_empty: np.ndarray
    can_be_empty: np.ndarray

    @property
    def noise_slope(self) -> np.ndarray:
        """The growth of the noise with the share of people in the cell, where it is linear."""
        grown, share = self.noise - self.noise_if_empty, self.share
        return np.asarray(np.divide(grown, share, out=np.zeros_like(share), where=share > 0))

    @property
    def total(self) -> np.ndarray:
        """The variance by noise and sampling."""
        return np.asarray(self.noise + self.share * (1 - self.share))


class TableVariances(NamedTuple):
    """The variances of one table under one assumption, times the number of people.

    largest: by noise and sampling (in a census by noise), of the cell that has most. noise: by
    noise, of the cell that has most. noise_if_empty: by noise, of the cell that has most among
    those that may be empty. noise_slope: how fast it grows with the share of people in such a cell,
    at most; 0 for bit flips. loss: the sum over all cells of the variance by noise and sampling,
    over that by sampling alone.
    """

    largest: float
    noise: float
    noise_if_empty: float
    noise_slope: float
    loss: float


class Assumptions(NamedTuple):
    """A figure if all answers are equally common, and if they are uneven or as stated."""

    even: TableVariances
    uneven: TableVariances


def table_variances(survey: Survey, messages: Sequence[Message], ids: Sequence[str]) -> Assumptions:
    """Return the variances of a table that is combined from all messages that hold it, with the
    plan's weights."""
    parts = parts_of(survey, messages, ids)
    return Assumptions(*(_table_variances(survey, parts, ids, even) for even in (True, False)))


def _table_variances(
    survey: Survey, parts: Sequence[TablePart], ids: Sequence[str], even: bool
) -> TableVariances:
    cells = cell_variances(survey, parts, ids, even)
    empty = cells.can_be_empty if cells.can_be_empty.any() else np.full(len(cells.share), True)
    shares = [assumed_shares(survey, survey.question(id), even) for id in ids]
    people = math.prod(float(each.sum()) for each in shares)
    sampling = people - math.prod(float(each @ each) for each in shares)
    noise = 0.0
    for part, message in parts:
        if isinstance(message, np.ndarray):
            noise += part * float(message.sum())
            continue
        channels = message.channels
        squares = [_squares(survey.question(id), channels[id]) for id in ids]
        seconds = (each.second(share).sum() for each, share in zip(squares, shares, strict=True))
        noise += part * (math.prod(map(float, seconds)) - people)
    return TableVariances(
        float((cells.noise if survey.census else cells.total).max()),
        float(cells.noise.max()),
        float(cells.noise_if_empty[empty].max()),
        float(cells.noise_slope[empty].max()),
        1 + noise / sampling if sampling > 0 else math.inf,
    )


def cell_variances(
    survey: Survey, parts: Sequence[TablePart], ids: Sequence[str], even: bool
) -> CellVariances:
    """Return the variances of each cell of a table. parts: of `parts_of`.

    Of a very large table, of those cells that differ from the most common one in one answer at
    most: among these is the one with the largest variance, if all is bit flips.
    """
    questions = [survey.question(id) for id in ids]
    shares = [assumed_shares(survey, question, even) for question in questions]
    places = _places(shares)
    at = [share[place] for share, place in zip(shares, places, strict=True)]
    share = np.prod(at, axis=0)
    noise, empty = np.zeros_like(share), np.zeros_like(share)
    for part, message in parts:
        if isinstance(message, np.ndarray):
            cells = part * message[tuple(places)]
            noise, empty = noise + cells, empty + cells
            continue
        channels = message.channels
        squares = [_squares(question, channels[question.id]) for question in questions]
        second, slope = np.ones_like(share), np.ones_like(share)
        for each, one, place in zip(squares, shares, places, strict=True):
            second *= each.second(one)[place]
            slope *= (each.given - each.other)[place]
        noise += part * (second - share)
        empty += part * (second - share * slope)
    least = np.sum(at, axis=0) - (len(at) - 1)  # Fréchet's bound
    return CellVariances(share, noise, empty, (least <= 0) if len(at) > 1 else share >= 0)


def _places(shares: Sequence[np.ndarray]) -> np.ndarray:
    """Return the cells that are looked at, shape (questions, cells): the place of each answer."""
    sizes = [len(each) for each in shares]
    if math.prod(sizes) <= MOST_CELLS:
        return np.indices(sizes).reshape(len(sizes), -1)
    common = np.array([int(np.argmax(each)) for each in shares])
    cells = np.repeat(common[:, None], sum(sizes), axis=1)
    axes = np.repeat(np.arange(len(sizes)), sizes)
    cells[axes, np.arange(sum(sizes))] = np.concatenate([np.arange(size) for size in sizes])
    return cells


def parts_of(survey: Survey, messages: Sequence[Message], ids: Sequence[str]) -> list[TablePart]:
    """Return the joint reports that hold a table, each with the factor of one report's variance;
    and for all messages of cells together, if one of these holds it, the variance by noise of each
    cell by least squares over them, times the people."""
    holding = [each for each in messages if not each.cells and each.holds(ids)]
    weights = [weight(survey, message, ids) for message in holding]
    copies = [message.independent_copies for message in holding]
    parts: list[JointReport | np.ndarray] = [*holding]
    if any(message.cells and message.holds(ids) for message in messages):
        cells = [message for message in messages if message.cells]
        table = planned_table(cells, tuple(ids), survey.crowd)
        weights.append(1 / (table.noise_variance * survey.crowd))
        copies.append(1)
        sums = [answer_sums(survey.question(id)) for id in ids]
        parts.append(survey.crowd * table.variances(sums))
    factors = (np.array(weights) / sum(weights)) ** 2 / copies
    return list(zip(factors.tolist(), parts, strict=True))


class _Squares(NamedTuple):
    """E[g^2] of the debiased report g of each answer, of people who gave it and of others."""

    given: np.ndarray
    other: np.ndarray

    def second(self, shares: np.ndarray) -> np.ndarray:
        """Return E[g^2] of each answer if people give it with these shares."""
        return np.asarray(shares * self.given + (1 - shares) * self.other)


@lru_cache(maxsize=4096)
def _squares(question: AnyQuestion, channel: Channel) -> _Squares:
    """Return g of an answer depends on whether it was given, and (k-ary: by symmetry) on nothing
    else."""
    if takes_words(question):
        assert is_flip(channel)
        noise = np.array([text_scale(question) / channel.excess])
        return _Squares(1 + noise, noise)
    bits = question.domain.bits
    records = np.arange(2.0)[:, None] if bits == 1 else np.eye(bits)
    given = np.hstack([np.ones((len(records), 1)), records]).T
    square = mean_squares(question, channel, given)  # by answer, and answer given
    return _Squares(np.diag(square), np.roll(square, -1, axis=1).diagonal())


# --- known answers ---------------------------------------------------------------------------


def theoretical_error(
    plan: Plan,
    messages: Sequence[tuple[Message, float]],
    ids: tuple[str, ...],
    shares: np.ndarray,
    cells: np.ndarray,
    noise_only: bool,
    people: int,
    releases: int = 1,
) -> np.ndarray:
    """Return the standard error that every cell of a table should have: Vinterbo, section 3.2.

    messages: those that hold the table, with their weights. shares: the true joint shares of set
    bits; cells: the true table. noise_only: leave out the sampling of `people`. releases: in
    how many releases they are: services add noise to the counts of each. A table that
    several messages hold is combined as its estimate is.
    """
    questions = [plan.survey.question(id) for id in ids]
    by_weight = [
        (weight, (_second_moment(message, questions, shares) - cells) / message.independent_copies)
        for message, weight in messages
        if not message.cells
    ]
    if len(by_weight) < len(messages):
        cross = [message for message in plan.messages if message.cells]
        weight = planned_weight(cross, ids, plan.survey.crowd)
        by_weight.append((weight, planned_noise(cross, questions, people, releases)))
    total = sum(weight for weight, _ in by_weight)
    noise = np.sum([(weight / total) ** 2 * each / people for weight, each in by_weight], axis=0)
    if noise_only:
        return np.asarray(np.sqrt(noise))
    return np.asarray(np.sqrt(noise + cells * (1 - cells) / people))


def _second_moment(
    message: JointReport, questions: Sequence[AnyQuestion], shares: np.ndarray
) -> np.ndarray:
    """Return E[g^2] of every cell, g the debiased report of one message."""
    pairs = [(question, message.channels[question.id]) for question in questions]
    noisy = along_axes([c.reported(q.domain.bits) for q, c in pairs], shares)
    return along_axes([question_decoder(*pair).square for pair in pairs], noisy)
