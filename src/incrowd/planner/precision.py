"""How precise a plan's tables will be, before anything is collected.

The answers to different questions are assumed to be independent. What one answer's share is, is
assumed twice: all answers equally common, and uneven as in most surveys of sensitive subjects.
Neither is the worse one for every table: sampling is largest for a share of one half, and the noise
of a joint table is largest in the cell of the most common answers. Where a survey states shares,
those are assumed. Proof: docs/mathematics.md#forecasts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from incrowd.accountant.channels.base import Channel
from incrowd.accountant.channels.bit_flip import is_flip
from incrowd.estimation.cells import answer_sums, planned_table
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.expectation import relative_noise, table_axes, text_scale, weight
from incrowd.planner.cell_search import precision_by_cells, too_large
from incrowd.planner.wanted import weighed
from incrowd.plans import JointReport, Message, Plan
from incrowd.survey import AnyQuestion, Survey, takes_words

RARE = 0.1  # uneven: people who say yes, and people who do not answer an optional question
MOST_CELLS = 1 << 18  # of which all are looked at

Part: TypeAlias = "tuple[float, JointReport | np.ndarray]"


def assumed_shares(question: AnyQuestion, even: bool) -> np.ndarray:
    """The assumed share of each answer: the stated ones; else all alike, or uneven.

    Uneven is one yes in ten, and of other questions each answer half as common as the one before.
    Even options of a `multi` question are half of what is allowed. A text question has one word
    here: one that hardly anybody has, or one that half of the people have.
    """
    if (stated := question.stated_shares) is not None:
        return np.array(stated)
    if question.hashed:
        return np.array([0.0 if even else 0.5])
    if even:
        options = len(question.answers)
        return np.full(options, question.answers_given / options)
    shares = np.array(question.uneven_shares)
    return np.append((1 - RARE) * shares, RARE) if question.optional else shares


class CellVariances(NamedTuple):
    """Of a table's cells, times the number of people, arrays of shape (cells,).

    share: the assumed one. noise: the variance by noise. noise_if_empty: the same if nobody is in
    the cell, and the shares of the single answers are still the assumed ones. can_be_empty: whether
    they can be.
    """

    share: np.ndarray
    noise: np.ndarray
    noise_if_empty: np.ndarray
    can_be_empty: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """The variance by noise and sampling."""
        return np.asarray(self.noise + self.share * (1 - self.share))


class TableVariances(NamedTuple):
    """Of one table under one assumption, times the number of people.

    largest: by noise and sampling, of the cell that has most. noise: by noise, of the cell that has
    most. noise_if_empty: by noise, of the cell that has most among those that may be empty. loss:
    the sum over all cells of the variance by noise and sampling, over that by sampling alone.
    """

    largest: float
    noise: float
    noise_if_empty: float
    loss: float


class Assumptions(NamedTuple):
    """A figure if all answers are equally common, and if they are uneven or as stated."""

    even: TableVariances
    uneven: TableVariances


def table_variances(survey: Survey, messages: Sequence[Message], ids: Sequence[str]) -> Assumptions:
    """Of a table that is combined from all messages that hold it, with the plan's weights."""
    parts = parts_of(survey, messages, ids)
    return Assumptions(*(_table_variances(survey, parts, ids, even) for even in (True, False)))


def _table_variances(
    survey: Survey, parts: Sequence[Part], ids: Sequence[str], even: bool
) -> TableVariances:
    cells = cell_variances(survey, parts, ids, even)
    empty = cells.can_be_empty if cells.can_be_empty.any() else np.full(len(cells.share), True)
    shares = [assumed_shares(survey.question(id), even) for id in ids]
    people = math.prod(float(each.sum()) for each in shares)
    sampling = people - math.prod(float(each @ each) for each in shares)
    noise = 0.0
    for part, message in parts:
        if isinstance(message, np.ndarray):
            noise += part * float(message.sum())
            continue
        channels = message.channels
        moments = [_moments(survey.question(id), channels[id]) for id in ids]
        seconds = (each.second(share).sum() for each, share in zip(moments, shares, strict=True))
        noise += part * (math.prod(map(float, seconds)) - people)
    return TableVariances(
        float(cells.total.max()),
        float(cells.noise.max()),
        float(cells.noise_if_empty[empty].max()),
        1 + noise / sampling if sampling > 0 else math.inf,
    )


def cell_variances(
    survey: Survey, parts: Sequence[Part], ids: Sequence[str], even: bool
) -> CellVariances:
    """Of each cell of a table. parts: of `parts_of`.

    Of a very large table, of those cells that differ from the most common one in one answer at
    most: among these is the one with the largest variance, if all is bit flips.
    """
    questions = [survey.question(id) for id in ids]
    shares = [assumed_shares(question, even) for question in questions]
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
        moments = [_moments(question, channels[question.id]) for question in questions]
        second, slope = np.ones_like(share), np.ones_like(share)
        for each, one, place in zip(moments, shares, places, strict=True):
            second *= each.second(one)[place]
            slope *= (each.given - each.other)[place]
        noise += part * (second - share)
        empty += part * (second - share * slope)
    least = np.sum(at, axis=0) - (len(at) - 1)  # Fréchet's bound
    return CellVariances(share, noise, empty, (least <= 0) if len(at) > 1 else share >= 0)


def _places(shares: Sequence[np.ndarray]) -> np.ndarray:
    """The cells that are looked at, shape (questions, cells): the place of each answer."""
    sizes = [len(each) for each in shares]
    if math.prod(sizes) <= MOST_CELLS:
        return np.indices(sizes).reshape(len(sizes), -1)
    common = np.array([int(np.argmax(each)) for each in shares])
    cells = np.repeat(common[:, None], sum(sizes), axis=1)
    axes = np.repeat(np.arange(len(sizes)), sizes)
    cells[axes, np.arange(sum(sizes))] = np.concatenate([np.arange(size) for size in sizes])
    return cells


def parts_of(survey: Survey, messages: Sequence[Message], ids: Sequence[str]) -> list[Part]:
    """The joint reports that hold a table, each with the factor of one report's variance; and for
    all messages of cells together, if one of these holds it, the variance by noise of each cell by
    least squares over them, times the people."""
    holding = [each for each in messages if not each.cells and each.holds(ids)]
    weights = [weight(survey, message, ids) for message in holding]
    copies = [message.independent_copies for message in holding]
    parts: list[JointReport | np.ndarray] = [*holding]
    if any(message.cells and message.holds(ids) for message in messages):
        cells = [message for message in messages if message.cells]
        table = planned_table(cells, tuple(ids))
        weights.append(1 / table.noise_variance)
        copies.append(1)
        parts.append(table.variances([answer_sums(survey.question(id)) for id in ids]))
    factors = (np.array(weights) / sum(weights)) ** 2 / copies
    return list(zip(factors.tolist(), parts, strict=True))


class _Moments(NamedTuple):
    """E[g^2] of the debiased report g of each answer, of people who gave it and of others."""

    given: np.ndarray
    other: np.ndarray

    def second(self, shares: np.ndarray) -> np.ndarray:
        """E[g^2] of each answer if people give it with these shares."""
        return np.asarray(shares * self.given + (1 - shares) * self.other)


@lru_cache(maxsize=4096)
def _moments(question: AnyQuestion, channel: Channel) -> _Moments:
    """g of an answer depends on whether it was given, and (k-ary: by symmetry) on nothing else."""
    if takes_words(question):
        assert is_flip(channel)
        noise = np.array([text_scale(question) / channel.excess])
        return _Moments(1 + noise, noise)
    bits = question.domain.bits
    records = np.arange(2.0)[:, None] if bits == 1 else np.eye(bits)
    reported = channel.reported(bits) @ np.hstack([np.ones((len(records), 1)), records]).T
    square = question_decoder(question, channel).square @ reported  # by answer, and answer given
    return _Moments(np.diag(square), np.roll(square, -1, axis=1).diagonal())


def expected_error(survey: Survey, messages: Sequence[Message]) -> float:
    """The standard error of the wanted tables, the largest or their mean, as the survey wishes.

    Of each table's largest cell, under the less favorable assumption.
    """
    tables = (table_variances(survey, messages, ids) for ids in weighed(survey))
    errors = [math.sqrt(max(each.largest for each in table) / survey.crowd) for table in tables]
    return max(errors) if survey.objective == "largest" else sum(errors) / len(errors)


def least_effective_sample(survey: Survey, messages: Sequence[Message]) -> float:
    """How many people asked without noise would tell as much as the crowd does, of the wanted table
    of which that is least: the crowd over the largest inflation (or over their mean, as the survey
    wishes), which is what the planner makes small. Of equally common answers."""
    return survey.crowd / (1 + guessed_excess(survey, messages))


def plan_error(made: Plan) -> float:
    """The standard error of a plan's wanted tables: the largest, or their mean."""
    return expected_error(made.survey, made.messages)


def guessed_excess(survey: Survey, messages: Sequence[Message]) -> float:
    """How much the inflation of the wanted tables is above 1, which the planner makes small: the
    largest, or the mean, as the survey wishes, of guessed cells.

    Joint reports are combined by inverse variance, messages of cells by least squares. Tables of
    too many cells count only if there are no others.
    """
    tables = weighed(survey)
    precision = precision_by_cells(survey, messages, tables)
    joint = [message for message in messages if not message.cells]
    for i, ids in enumerate(tables):
        for message in (each for each in joint if each.holds(ids)):
            v = 0.0 if message.noise is None else 1 / message.noise.excess
            noise = float(relative_noise(table_axes(survey, ids), v))
            precision[i] += message.independent_copies / noise
    small = np.array([not too_large(survey, ids) for ids in tables])
    excess = 1 / precision[small if small.any() else slice(None)]
    return float(excess.max() if survey.objective == "largest" else excess.mean())
