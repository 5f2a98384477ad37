"""Cells: the combinations of answers to one or more questions, and a person's record of them.

A person's record has a bit for each cell. It is one-hot if every question has exactly one answer.
If a `multi` question is crossed with others, there is a cell for each option together with each
combination of the other answers, and a cell "any" for each such combination: otherwise, people who
chose nothing would be in no cell. One question with two answers needs only a single bit, since the
number of people is known, and a `multi` question alone needs no cell "any".
Parities are the record for all pairs of questions with two answers each: a bit for each pair, set
if the answers differ. Proof: docs/mathematics.md#cells, docs/mathematics.md#parities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.survey.question import AnyQuestion

NONE_CHOSEN = "none chosen"  # of a `multi` question of which one option at most can be chosen
MOST_CELLS = 1 << 32


class Block(NamedTuple):
    """Cells that form a table: consecutive numbers, the answers to the last question fastest.

    questions: the ids, one for each axis. shape: the number of answers on each axis; (1,) is the
    single bit of questions with two answers each, set for those who give the second answer to an
    odd number of them: to the only question, or to one of two. exclusive: whether every person is
    in exactly one cell (of the single bit: in it, or not). several: the axis of the question that
    allows several answers, if there is one.
    """

    questions: tuple[str, ...]
    first: int
    shape: tuple[int, ...]
    exclusive: bool
    several: int | None = None

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @property
    def cells(self) -> slice:
        """The numbers of the cells."""
        return slice(self.first, self.first + self.size)

    @property
    def lanes(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of cells of which a person is in one at most: all, or those of an option."""
        numbers = np.arange(self.first, self.first + self.size).reshape(self.shape)
        if self.several is None:
            return (tuple(numbers.ravel().tolist()),)
        options = np.moveaxis(numbers, self.several, 0)
        return tuple(tuple(cells.ravel().tolist()) for cells in options)


class Crossing(NamedTuple):
    """The cells of some questions.

    fewest, most: how many of its bits one person's record sets. distance: in how many bits two
    records differ at most, however many cells there are.
    """

    blocks: tuple[Block, ...]
    fewest: int
    most: int
    distance: int

    @property
    def cells(self) -> int:
        """The number of bits of a record."""
        return sum(block.size for block in self.blocks)

    @property
    def lanes(self) -> tuple[tuple[int, ...], ...]:
        """All cells, by lanes: a person sends one report or one dummy for each lane."""
        return tuple(lane for block in self.blocks for lane in block.lanes)


def cell_answers(question: AnyQuestion) -> tuple[str, ...]:
    """Return the answers to a question along its axis of cells, in the order of their numbers."""
    if not (question.exclusive or question.many):
        return (*question.recorded, NONE_CHOSEN)
    return question.recorded


@lru_cache(maxsize=4096)
def crossing(questions: tuple[AnyQuestion, ...]) -> Crossing:
    """Return the cells of some questions.

    None may be a text question, and at most one may allow several answers at once.
    """
    ids = tuple(question.id for question in questions)
    shape = tuple(len(cell_answers(question)) for question in questions)
    several = [place for place, question in enumerate(questions) if question.many]
    if not several:
        single = shape == (2,)
        block = Block(ids, 0, (1,) if single else shape, True)
        return Crossing((block,), int(not single), 1, 1 if single else 2)
    [place] = several
    options = Block(ids, 0, shape, False, place)
    domain = questions[place].domain
    if len(questions) == 1:
        return Crossing((options,), domain.fewest, domain.most, domain.distance)
    others = ids[:place] + ids[place + 1 :], shape[:place] + shape[place + 1 :]
    anybody = Block(others[0], options.size, others[1], True)
    return Crossing((options, anybody), 1, domain.most + 1, 2 * domain.most + 2)


@lru_cache(maxsize=256)
def parities_record(questions: tuple[AnyQuestion, ...]) -> Crossing:
    """Return a bit for each pair of questions with two answers each, set if the two answers differ.

    Pairs are in the order of `itertools.combinations`. A person who gives the second answer to k
    of K questions sets k (K - k) bits; records that differ in D answers differ in D (K - D) bits.
    """
    pairs = combinations([question.id for question in questions], 2)
    blocks = tuple(Block(pair, number, (1,), True) for number, pair in enumerate(pairs))
    most = len(questions) ** 2 // 4
    return Crossing(blocks, 0, most, most)


def crossing_problem(questions: Sequence[AnyQuestion]) -> Sentence | None:
    """Return why these questions cannot be sent as cells; None if they can."""
    for question in questions:
        if question.not_crossed:
            return sentence("survey.not-crossed", id=question.id, kind=question.not_crossed)
        if question.randomizer is not None:
            return sentence("survey.own-randomizer", id=question.id)
        if question.open:
            return sentence("survey.open-in-cells", id=question.id)
    several = [question.id for question in questions if question.many]
    if len(several) > 1:
        return sentence("survey.two-with-several", one=several[0], other=several[1])
    if len({question.memoized for question in questions}) > 1:
        return sentence("survey.partly-memoized")
    if (cells := math.prod(len(cell_answers(question)) for question in questions)) > MOST_CELLS:
        return sentence("survey.too-many-cells", cells=cells, most=MOST_CELLS)
    return None


def parities_problem(questions: Sequence[AnyQuestion]) -> Sentence | None:
    """Return why these questions cannot be sent as parities; None if they can."""
    if len(questions) < 2:
        return sentence("survey.no-pairs")
    for question in questions:
        if question.not_crossed or question.many or len(cell_answers(question)) != 2:
            return sentence("survey.not-two-answers", id=question.id)
    neighbors = pairwise(questions)
    return next(filter(None, map(crossing_problem, neighbors)), None)
