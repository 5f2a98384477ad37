"""The joint table of a model's levels, unbiased, with the covariance of all its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.estimation.cells import CellsReading, FalseReports, answer_sums, cells_levels
from incrowd.estimation.decoders import Decoder, question_decoder
from incrowd.estimation.readings import MessageReading, Readings
from incrowd.estimation.regression.variables import ModelVariable
from incrowd.estimation.tables import TableEstimate, combined, estimate_table


@dataclass(frozen=True, kw_only=True)
class LevelDecoder(Decoder):
    """The decoder of the levels of a variable: linear in that of its question's answers.

    question: with its margin. matrix: as `ModelVariable.matrix`.
    """

    question: Decoder
    matrix: scipy.sparse.csr_array

    @cached_property
    def single(self) -> scipy.sparse.csr_array:
        """A row for each level."""
        return (self.matrix @ self.question.single).tocsr()

    @cached_property
    def product(self) -> scipy.sparse.csr_array:
        """A row for each pair of levels."""
        pairs = scipy.sparse.kron(self.matrix, self.matrix, "csr")
        return (pairs @ self.question.product).tocsr()


def level_decoder(variable: ModelVariable, channel: Channel) -> LevelDecoder:
    """Return the decoder of the levels of a variable.

    Each person is on one level, and merged answers exclude each other: the mean of g^2 is that of
    the sum of their squares, plus the terms with "any answer".
    """
    question = question_decoder(variable.question, channel, margin=True)
    answers, any_answer = variable.matrix[:, :-1], variable.matrix[:, -1:]
    square = answers**2 @ question.square[:-1] + any_answer**2 * question.square[-1:]
    return LevelDecoder(
        answers=variable.levels,
        mean=variable.matrix @ question.mean,
        square=square + 2 * any_answer * (answers @ question.mean[:-1]),
        given=np.zeros((len(variable.levels), 2)),
        question=question,
        matrix=scipy.sparse.csr_array(variable.matrix),
    )


def level_rows(variable: ModelVariable, channel: Channel) -> np.ndarray:
    """Return shape (levels, 1 + bits): from (1, the report's bits) to the debiased levels."""
    mean = question_decoder(variable.question, channel).mean
    return np.asarray(variable.matrix @ np.vstack([mean, np.eye(1, mean.shape[1])]))


_NOBODY = FalseReports(lambda _: 0, shared=True)  # levels state no influence


def level_table(
    variables: Sequence[ModelVariable], readings: Readings, noise_only: bool = False
) -> TableEstimate:
    """Return the shares of people in all combinations of levels, from every message that holds
    them.

    readings: counts of pairs. Raises TableError if there are more than 2,000 combinations.
    """
    questions, names = [each.question for each in variables], [each.name for each in variables]

    def of(reading: MessageReading | CellsReading) -> TableEstimate:
        if isinstance(reading, CellsReading):
            if any(question.many for question in questions):
                whole = reading.table(questions, noise_only, _NOBODY, covariance=True, margin=True)
                return levels_of(whole, variables)
            levels = [(each.name, each.levels, level_sums(each)) for each in variables]
            return cells_levels(questions, reading, noise_only, levels)
        channels, copies = reading.message.channels, reading.message.copies
        decoders = [level_decoder(each, channels[each.question.id]) for each in variables]
        return estimate_table(
            names, decoders, reading.counts, copies, noise_only, covariance=True, unbiased=True
        )

    weights = [each.weight for each in readings]
    return combined(list(map(of, readings)), weights, unbiased=True)


def level_sums(variable: ModelVariable) -> np.ndarray:
    """Return shape (levels, answers of the cells): which answers belong to which level."""
    return np.asarray(variable.matrix @ answer_sums(variable.question, margin=True))


def levels_of(table: TableEstimate, variables: Sequence[ModelVariable]) -> TableEstimate:
    """Return the shares of people in all combinations of levels, from a table of whole questions.

    table: with margins; its last axes are the questions of the variables. Axes before them lose
    only their margins.
    """
    others = table.answers[: -len(variables)]
    inner = [np.eye(len(answers), 1 + len(answers)) for answers in others]
    matrix = reduce(np.kron, [*inner, *(variable.matrix for variable in variables)])
    levels = (*others, *(variable.levels for variable in variables))
    cells = (matrix @ table.estimate.ravel()).reshape([len(each) for each in levels])
    return table.linear(
        cells,
        matrix,
        questions=(*table.questions[: len(others)], *(variable.name for variable in variables)),
        answers=levels,
        exclusive=tuple(True for _ in levels),
        margins=tuple(False for _ in levels),
    )
