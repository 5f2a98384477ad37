"""Tables from all messages of cells of a plan together, by generalized least squares.

Proof: docs/mathematics.md#tables-of-cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from incrowd.estimation.cell_errors import CellErrors, at_least
from incrowd.estimation.decoders import DecoderMatrix, by_axis, dense, merging
from incrowd.estimation.interactions import CellSource, CombinedTable, combined, single_bit
from incrowd.estimation.intervals import sampling_variance
from incrowd.estimation.small_counts import PublishedCounts
from incrowd.estimation.tables import Provenance, TableEstimate, check_cells
from incrowd.plans import CellsMessage, Message
from incrowd.plans.message import SERVICES
from incrowd.survey import UNANSWERED, AnyQuestion
from incrowd.survey.crossings import Block, cell_answers
from incrowd.survey.question import QuestionIds


class CellCounts(NamedTuple):
    """The counts of one message of cells: the number of people, and the reports of each cell.

    draws: if services add noise, how many times it was added to each cell.
    """

    message: CellsMessage
    people: int
    reports: np.ndarray
    draws: int = SERVICES

    @property
    def noise_variance(self) -> float:
        """The variance of a cell by noise, as a share of the people."""
        planned = self.message.noise_variance(self.people) / self.people
        return planned * self.draws / SERVICES if self.message.by_services else planned

    @property
    def shares(self) -> np.ndarray:
        """The unbiased shares of the people who are in each cell."""
        return np.asarray(self._debiased(self.reports / self.people))

    @property
    def report(self) -> float:
        """How far one report moves the share of its cell."""
        return float(self._debiased(1 / self.people) - self._debiased(0.0))

    def _debiased(self, rate: Any) -> Any:
        if self.message.by_services:
            return rate
        low, high = self.message.flips.inverse[1]
        return low + (high - low) * rate

    def of_noise(self, generator: np.random.Generator) -> np.ndarray:
        """Return noise alone, drawn for the reports of each cell: by the law of what services add;
        that of many flips is nearly normal."""
        law, size = self.message.added, self.message.record_bits
        if law is not None:
            drawn = generator.choice(len(law.chances), (self.draws, size), p=law.chances)
            return np.asarray((drawn - law.reach).sum(axis=0))
        flips = self.message.flips
        return math.sqrt(self.people * flips.q * flips.p) * generator.standard_normal(size)

    def published(
        self, block: Block, questions: Sequence[AnyQuestion], margin: bool
    ) -> PublishedCounts | None:
        """Return the published counts of a table of some questions of a block; None if they are not
        sums of these. Noise that was added twice to a cell counts as that of two cells."""
        law = self.message.added
        if law is None:
            return None
        sums, single = [dense(answer_sums(each, margin)) for each in questions], block.shape == (1,)
        plain = all(np.array_equal(each, np.eye(2)) for each in sums)
        if (single and not plain) or any(((each != 0) & (each != 1)).any() for each in sums):
            return None
        counts = np.rint(self.reports[block.cells]).astype(np.int64)
        cells = reduce(np.multiply.outer, [each.sum(axis=1).astype(np.int64) for each in sums])
        if single:
            table = np.array([self.people - counts[0], counts[0]])
        else:
            ids = [question.id for question in questions]
            rest = tuple(n for n, id in enumerate(block.questions) if id not in ids)
            left = [id for id in block.questions if id in ids]
            table = counts.reshape(block.shape).sum(axis=rest)
            cells *= counts.size // table.size
            table = by_axis(sums, table.transpose([left.index(id) for id in ids]))
        adds_up = block.exclusive and not single
        missing = self.people - int(counts.sum()) if adds_up else 0
        return PublishedCounts(
            noise=law,
            people=self.people,
            counts=np.rint(table).astype(np.int64),
            cells=cells * self.draws,
            of=np.full_like(cells, adds_up * block.size * self.draws),
            missing=np.full_like(cells, missing),
        )

    def telling(self, ids: QuestionIds) -> list[Block]:
        """Return the blocks of cells that are informative about a table: a single bit if the table
        has all of its questions, other cells if it has any."""
        wanted = set(ids)

        def informative(block: Block) -> bool:
            shared = len(wanted.intersection(block.questions))
            return shared == len(block.questions) if block.shape == (1,) else shared > 0 or not ids

        return [block for block in self.message.crossing.blocks if informative(block)]

    def sources(self, ids: QuestionIds) -> Iterator[CellSource]:
        """Yield the tables that this message estimates by itself, before sums are known, if they
        are informative about the table of some questions."""
        shares, variance = self.shares, self.noise_variance
        errors = variance, 1 / (variance * self.people), self.report
        several = {question.id for question in self.message.questions if question.many}
        for block in self.telling(ids):
            cells, questions = shares[block.cells], block.questions
            if block.shape == (1,):
                yield single_bit(questions, float(cells[0]), *errors)
            else:
                exclusive = tuple(id not in several for id in questions)
                yield CellSource(questions, exclusive, cells.reshape(block.shape), *errors)


class FalseReports(NamedTuple):
    """The reports that one malicious sender can send.

    of: how many reports of a message at most. shared: whether all messages share these places, so
    that a report of one leaves no room for one of another.
    """

    of: Callable[[Message], int]
    shared: bool


class CellsReading(NamedTuple):
    """The counts of all messages of cells, at least one of which holds a table.

    weight: the inverse of the planned noise variance of a cell of the table, for one person.
    """

    parts: tuple[CellCounts, ...]
    weight: float

    @property
    def people(self) -> int:
        """The number of people of the message that has the fewest."""
        return min(part.people for part in self.parts)

    def combined(self, ids: QuestionIds) -> CombinedTable:
        """Return a table by generalized least squares, with the answers that the cells have."""
        return combined([source for part in self.parts for source in part.sources(ids)], ids)

    def noise(self, ids: QuestionIds, generator: np.random.Generator) -> np.ndarray:
        """Return the noise of all cells of a table, drawn at random."""
        noisy = [
            part._replace(reports=part.reports + part.of_noise(generator)) for part in self.parts
        ]
        other = self._replace(parts=tuple(noisy)).combined(ids)
        return np.asarray(other.shares - self.combined(ids).shares)

    def published(self, questions: Sequence[AnyQuestion], margin: bool) -> PublishedCounts | None:
        """Return the published counts of a table, if it is read from the cells of one message, all
        of whose people arrived; None if other messages make it more precise."""
        ids = tuple(question.id for question in questions)
        several = margin and any(question.many for question in questions)
        if several or not any(part.message.by_services for part in self.parts):
            return None
        sources = [(part, block) for part in self.parts for block in part.telling(ids)]
        weights = [weights for weights, _ in self.combined(ids).weights]
        used = [each for each, parts in zip(sources, weights, strict=True) if parts.any()]
        if len(used) > 1 or not set(ids) <= set(used[0][1].questions) or self.lost():
            return None
        return used[0][0].published(used[0][1], questions, margin)

    def largest_shift(self, table: CombinedTable, false_reports: FalseReports) -> float:
        """Return how far one sender can move a cell of a table: with all reports in the message in
        which they have most effect if all messages share their places, otherwise with those of
        every message. If services add the noise, she has reports of her own for each block of
        cells."""
        telling = [part.message for part in self.parts for _ in part.telling(table.questions)]
        pairs = list(zip(telling, table.shifts, strict=True))
        shifts = []
        for message in (part.message for part in self.parts):
            each = [shift for of, shift in pairs if of is message]
            if each:
                most = sum(each) if message.by_services else max(each)
                shifts.append(most * false_reports.of(message))
        return max(shifts) if false_reports.shared else sum(shifts)

    def lost(self) -> float:
        """Return the error variance, as a part of pi (1 - pi), from estimating the share of all
        people by that of those whose reports arrived, if some messages lost reports."""
        most = max(part.people for part in self.parts)
        return (most - self.people) / (most * self.people)

    def table(
        self,
        questions: Sequence[AnyQuestion],
        noise_only: bool,
        false_reports: FalseReports,
        *,
        covariance: bool = False,
        margin: bool = False,
    ) -> TableEstimate:
        """Return a table of some questions.

        false_reports: what one malicious sender can send. covariance: include that
        of all cells; margin: then also include "any answer" as the last entry of each axis. Raises
        TableError for a covariance of more than 2,000 cells.
        """
        several = any(question.many for question in questions)
        ids, names = tuple(q.id for q in questions), tuple(q.answers for q in questions)
        combined, sums = self.combined(ids), [answer_sums(question) for question in questions]
        merged = math.prod(float(each.sum(axis=1).max()) for each in sums)
        table = _table(self, combined, sums, names, noise_only)
        table = replace(
            table,
            error=replace(table.error, p_values=_p_values(self, ids, sums), overlaps=not several),
            provenance=Provenance(
                self.people, merged * self.largest_shift(combined, false_reports)
            ),
            exclusive=tuple(question.exclusive for question in questions),
        )
        if not covariance:
            return table.with_errors(published=self.published(questions, margin=False))
        if several and not margin:  # how answers overlap is guessed from "any answer"
            arguments = questions, noise_only, false_reports
            cells = self.table(*arguments, covariance=True, margin=True).without_margins()
            error = replace(
                table.error,
                published=self.published(questions, margin=False),
                covariance=cells.error.covariance,
                noise_covariance=cells.error.noise_covariance,
            )
            return replace(table, error=error)
        shape = tuple(len(answers) + margin for answers in names)
        check_cells(math.prod(shape))
        estimate, noise = _with_noise(questions, self, shape, margin)
        drawn = _in_both(questions, estimate, margin) - np.outer(estimate, estimate)
        table = replace(table, estimate=estimate, margins=tuple(margin for _ in questions))
        table = _with_covariance(table, self, noise, drawn)
        return table.with_errors(published=self.published(questions, margin))


def expected_cells(
    message: CellsMessage, people: int, shares_of: Callable[[AnyQuestion], ArrayLike]
) -> CellCounts:
    """Return the average counts of a message, if the answers to different questions are
    independent. shares_of: the share of each answer to a question."""
    shares = {}
    for question in message.questions:
        of = np.asarray(shares_of(question))
        nothing = len(cell_answers(question)) > len(of)  # a cell for choosing no option
        shares[question.id] = np.append(of, 1 - of.sum()) if nothing else of
    given = [_given(block, shares) for block in message.crossing.blocks]
    q, p = (0.0, 1.0) if message.by_services else message.flips.matrix[1]
    return CellCounts(message, people, people * (q + (p - q) * np.concatenate(given)))


def _given(block: Block, shares: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the shares of people who are in the cells of a block."""
    if block.shape == (1,):
        even = math.prod(1 - 2 * float(shares[id][1]) for id in block.questions)
        return np.array([(1 - even) / 2])
    return np.asarray(reduce(np.multiply.outer, [shares[id] for id in block.questions]).ravel())


def planned_weight(messages: Sequence[CellsMessage], ids: QuestionIds, people: int) -> float:
    """Return the inverse noise variance of a cell of a table of so many people by generalized least
    squares, divided by people, with the noise of the plan."""
    return 1 / (people * planned_table(messages, ids, people).noise_variance)


def planned_noise(
    messages: Sequence[CellsMessage],
    questions: Sequence[AnyQuestion],
    people: int,
    releases: int = 1,
) -> np.ndarray:
    """Return the noise variance of each cell of a table of so many people, times people, with the
    noise of the plan. releases: in how many releases the people are."""
    ids = tuple(question.id for question in questions)
    table = planned_table(messages, ids, people, releases)
    return people * table.variances([answer_sums(question) for question in questions])


def planned_table(
    messages: Sequence[CellsMessage], ids: QuestionIds, people: int, releases: int = 1
) -> CombinedTable:
    """Return a table of so many people with the noise of the plan; no answers are used. releases:
    as in `planned_noise`."""
    nobody = [
        CellCounts(message, people, np.zeros(message.record_bits), SERVICES * releases)
        for message in messages
        if not ids or not set(ids).isdisjoint(message.ids)
    ]
    return CellsReading(tuple(nobody), 1.0).combined(ids)


def answer_sums(question: AnyQuestion, margin: bool = False) -> DecoderMatrix:
    """Return shape (answers, answers of the cells): which answers of the cells make up which
    answer.

    margin: the last row has all of them, "any answer"; it is zero if a person can give several.
    """
    rows, size = merging(question), len(cell_answers(question))
    everybody = np.full((int(margin), size), not question.many, np.float64)
    if isinstance(rows, np.ndarray):
        return np.vstack([np.pad(rows, [(0, 0), (0, size - rows.shape[1])]), everybody])
    rows = scipy.sparse.csr_array(rows, shape=(rows.shape[0], size))
    return scipy.sparse.vstack([rows, everybody], format="csr") if margin else rows


def cells_levels(
    questions: Sequence[AnyQuestion],
    reading: CellsReading,
    noise_only: bool,
    levels: Sequence[tuple[str, tuple[str, ...], DecoderMatrix]],
) -> TableEstimate:
    """Return a table of levels of some questions with exclusive answers, with the covariance of all
    cells.

    levels: for each question a name, the levels, exactly one per person, and the matrix that adds
    up answers of the cells to levels. Raises TableError for more than 2,000 cells.
    """
    names, answers, sums = zip(*levels, strict=True)
    check_cells(math.prod(matrix.shape[0] for matrix in sums))
    combined = reading.combined(tuple(question.id for question in questions))
    table = _table(reading, combined, sums, answers, noise_only)
    drawn = np.diag(table.estimate.ravel()) - np.outer(table.estimate, table.estimate)
    table = _with_covariance(table, reading, combined.covariance(sums), drawn)
    return replace(table, questions=names, exclusive=tuple(True for _ in levels))


def _table(
    reading: CellsReading,
    combined: CombinedTable,
    sums: Sequence[DecoderMatrix],
    answers: tuple[tuple[str, ...], ...],
    noise_only: bool,
) -> TableEstimate:
    """Return sums of the cells of a table."""
    estimate = by_axis(sums, combined.shares)
    lost = sampling_variance(estimate, 1) * reading.lost()
    error = CellErrors.of_noise(
        np.sqrt(combined.variances(sums) + lost),
        estimate,
        reading.people,
        noise_only=noise_only,
        report=max(combined.shifts),
        constant=True,
    )
    return TableEstimate(
        combined.questions,
        answers,
        estimate,
        error,
        Provenance(reading.people),
        margins=tuple(False for _ in answers),
    )


def _with_covariance(
    table: TableEstimate, reading: CellsReading, noise: np.ndarray, drawn: np.ndarray
) -> TableEstimate:
    """Return the table with the covariances of its cells.

    noise: the covariance by noise. drawn: that over people, of being in each cell.
    """
    if lost := reading.lost():
        noise = at_least(noise + lost * drawn, np.diagonal(noise))
    parts, ids = reading.parts, table.questions
    report = max(source.report for part in parts for source in part.sources(ids))
    table = table.with_errors(p_values=None, report=report)
    return table.with_covariance(noise, drawn / table.people, np.diagonal(noise))


def _p_values(
    reading: CellsReading, ids: QuestionIds, sums: Sequence[DecoderMatrix]
) -> np.ndarray | None:
    """Return the p-values of "nobody gave these answers", if a message has cells for exactly this
    table: their reports are then binomial. None for other tables."""
    for part in reading.parts:
        for block in part.message.crossing.blocks:
            if set(block.questions) == set(ids) and block.shape != (1,):
                order = [block.questions.index(id) for id in ids]
                reports = part.reports[block.cells].reshape(block.shape).transpose(order)
                cells = reduce(np.multiply.outer, [each.sum(axis=1) for each in sums])
                return _above_noise(part, by_axis(sums, reports), cells.astype(np.int64))
    return None


def _above_noise(part: CellCounts, reports: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return the probability that noise alone gives at least so many reports of so many cells."""
    law = part.message.added
    if law is None:
        q = part.message.flips.q
        return np.asarray(scipy.special.bdtrc(reports - 1, cells * part.people, q))
    whole, none = np.rint(reports).astype(np.int64), np.zeros_like(cells)
    counts = PublishedCounts(law, part.people, whole, cells * part.draws, none, none)
    return counts.p_values()


def _with_noise(
    questions: Sequence[AnyQuestion], reading: CellsReading, shape: tuple[int, ...], margin: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of a table with its margins, if wanted, and the covariance of their noise.

    "Any answer" to a question that allows several answers is the table without the question.
    """
    estimate, places = np.zeros(shape), np.arange(math.prod(shape)).reshape(shape)
    noise = np.zeros((estimate.size, estimate.size))
    several = [question for question in questions if margin and question.many]
    for dropped in (several[:size] for size in range(1 + len(several))):
        others = [question for question in questions if question not in dropped]
        where = tuple(-1 if question in dropped else slice(None) for question in questions)
        table = reading.combined(tuple(question.id for question in others))
        sums = [answer_sums(question, margin) for question in others]
        at = places[where].ravel()
        estimate.flat[at] += by_axis(sums, table.shares).ravel()
        noise[np.ix_(at, at)] += table.covariance(sums)
    return estimate, noise


def _in_both(questions: Sequence[AnyQuestion], estimate: np.ndarray, margin: bool) -> np.ndarray:
    """Return the share of people who are in both of two cells, a row and a column for each cell.

    Nobody gives two exclusive answers; a person who gives an answer also gives "any answer". Two
    answers that a person can give together are assumed to be independent among those who answered
    and give the other answers, within the bounds that their shares set.
    """
    adds_up = [margin and question.exclusive for question in questions]
    inner = estimate[tuple(slice(-1 if each else None) for each in adds_up)]
    both = _in_both_cells(
        inner,
        [margin and not each for each in adds_up],
        [question.many for question in questions],
        [[question.answers.index(each) for each in _states(question)] for question in questions],
    )
    sums = [
        np.vstack([np.eye(size), np.ones((int(each), size))])
        for each, size in zip(adds_up, inner.shape, strict=True)
    ]
    whole = reduce(np.kron, sums)
    return np.asarray(whole @ both @ whole.T)


def _states(question: AnyQuestion) -> list[str]:
    """Return what nobody gives together with another answer: "no answer" and "not asked"."""
    return [answer for answer in question.answers if answer in UNANSWERED]


def _in_both_cells(
    shares: np.ndarray,
    margins: Sequence[bool],
    several: Sequence[bool],
    states: Sequence[Sequence[int]],
) -> np.ndarray:
    """Return `_in_both` of a table with "any answer" as the last entry of some axes.

    several: for each axis, whether a person can give several answers. states: the places of those
    that nobody gives together with another one.
    """
    padded = shares  # and then, on each axis, nobody, and those who answered
    for axis, (size, margin, alone) in enumerate(zip(shares.shape, margins, states, strict=True)):
        everybody = np.take(padded, [size - 1], axis)
        silent = np.take(padded, alone, axis).sum(axis, keepdims=True)
        answered = everybody - silent if margin else 0 * everybody
        padded = np.concatenate([padded, 0 * everybody, answered], axis)
    first, second, whole, overlap = [], [], [], np.zeros((1,) * 2 * shares.ndim, bool)
    axes = zip(shares.shape, margins, several, states, strict=True)
    for axis, (size, margin, each, alone) in enumerate(axes):
        shape = [1] * (2 * shares.ndim)
        shape[axis] = shape[shares.ndim + axis] = size
        a, b = np.indices((size, size))
        last = size - 1 if margin else size
        both = np.where((a == b) | (b == last), a, np.where(a == last, b, size))
        free = (a != b) & (np.maximum(a, b) < last) & each
        free &= ~(np.isin(a, alone) | np.isin(b, alone))
        first.append(np.where(free, a, both).reshape(shape))
        second.append(np.where(free, b, both).reshape(shape))
        whole.append(np.where(free, size + 1, both).reshape(shape))
        overlap = overlap | free.reshape(shape)
    both = padded[tuple(first)]
    if overlap.any():
        guess = _overlap(both, padded[tuple(second)], padded[tuple(whole)])
        both = np.where(overlap, guess, both)
    return np.asarray(both.reshape(shares.size, shares.size))


def _overlap(first: np.ndarray, second: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the share of people who are in both of two parts of a whole, if these are independent;
    within Fréchet's bounds."""
    guess = np.divide(first * second, whole, out=np.zeros_like(first), where=whole > 0)
    most = np.maximum(np.minimum(first, second), 0.0)
    least = np.minimum(np.maximum(first + second - whole, 0.0), most)
    return np.asarray(np.clip(guess, least, most))
