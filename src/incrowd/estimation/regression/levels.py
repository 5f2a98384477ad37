"""The joint table of a model's levels, unbiased, with the covariance of all its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.estimation.cells import CellsReading, answer_sums, cells_joint, cells_levels
from incrowd.estimation.covariance import (
    JointEstimate,
    PairDecoder,
    combined_joint,
    estimate_joint,
    question_pair_decoder,
)
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.readings import Reading, Readings
from incrowd.estimation.regression.variables import Variable
from incrowd.estimation.weighting.margins import linear


def level_decoder(variable: Variable, channel: Channel) -> PairDecoder:
    """The pair decoder of the levels of a variable: linear in that of its question's answers."""
    found = question_pair_decoder(variable.question, channel, margin=True)
    matrix = scipy.sparse.csr_array(variable.matrix)
    mean = (matrix @ found.mean).tocsr()
    product = (scipy.sparse.kron(matrix, matrix, "csr") @ found.product).tocsr()
    both, unbounded = _diagonal(mean), np.zeros((len(variable.levels), 2))
    return PairDecoder(variable.levels, True, False, found.total, mean, product, both, unbounded)


def _diagonal(mean: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Each person is on one level: on both of two levels only if they are the same."""
    size = mean.shape[0]
    places = np.arange(size) * (size + 1)
    put = scipy.sparse.csr_array((np.ones(size), (places, np.arange(size))), shape=(size**2, size))
    return (put @ mean).tocsr()


def level_rows(variable: Variable, channel: Channel) -> np.ndarray:
    """Shape (levels, 1 + bits): from (1, the report's bits) to what a report says of each level."""
    mean = question_decoder(variable.question, channel).mean
    return np.asarray(variable.matrix @ np.vstack([mean, np.eye(1, mean.shape[1])]))


def level_table(
    variables: Sequence[Variable], found: Readings, noise_only: bool = False
) -> JointEstimate:
    """The shares of people in all combinations of levels, from every message that holds them.

    found: counts of pairs. Raises TableError if there are more than 2,000 combinations.
    """
    tables = [_table(variables, reading, noise_only) for reading in found]
    return combined_joint(tables, [reading.weight for reading in found], unbiased=True)


def _table(
    variables: Sequence[Variable], reading: Reading | CellsReading, noise_only: bool
) -> JointEstimate:
    if isinstance(reading, CellsReading):
        questions = [each.question for each in variables]
        if any(question.many for question in questions):
            return levels_of(cells_joint(questions, reading, noise_only, margin=True), variables)
        levels = [(each.name, each.levels, level_sums(each)) for each in variables]
        return cells_levels(questions, reading, noise_only, levels)
    channels, names = reading.message.channels, [each.name for each in variables]
    decoders = [level_decoder(each, channels[each.question.id]) for each in variables]
    counts, copies = reading.counts, reading.message.copies
    return estimate_joint(names, decoders, counts, copies, noise_only, unbiased=True)


def level_sums(variable: Variable) -> np.ndarray:
    """Shape (levels, answers of the cells): which answers are read as which level."""
    return np.asarray(variable.matrix @ answer_sums(variable.question, margin=True))


def levels_of(table: JointEstimate, variables: Sequence[Variable]) -> JointEstimate:
    """The shares of people in all combinations of levels, out of a table of whole questions.

    table: with margins; its last axes are the questions of the variables, and any before them stay
    as they are, without their margins.
    """
    apart = table.answers[: -len(variables)]
    kept = [np.eye(len(answers), 1 + len(answers)) for answers in apart]
    matrix = reduce(np.kron, [*kept, *(variable.matrix for variable in variables)])
    levels = (*apart, *(variable.levels for variable in variables))
    cells = (matrix @ table.estimate.ravel()).reshape([len(each) for each in levels])
    return replace(
        linear(table, cells, matrix),
        questions=(*table.questions[: len(apart)], *(variable.name for variable in variables)),
        answers=levels,
        exclusive=tuple(True for _ in levels),
        margins=tuple(False for _ in levels),
    )
