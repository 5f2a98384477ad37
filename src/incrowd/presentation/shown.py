"""Estimates prepared for display: tables with their cells, words, strata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from incrowd.accountant.channels.base import rounded_up
from incrowd.errors import quantity
from incrowd.estimation.weighting.margins import weights_words
from incrowd.presentation.plan_text import message_texts
from incrowd.presentation.receipts import (
    UPLOADS,
    receipt_sentences,
    unaccounted,
    without_receipt,
)
from incrowd.presentation.sentences import persons_sentence
from incrowd.survey import Survey
from incrowd.views import with_and

if TYPE_CHECKING:
    from incrowd.estimation.results import Estimates, StratumEstimates
    from incrowd.estimation.simultaneous import SimultaneousIntervals
    from incrowd.estimation.tables import TableEstimate
    from incrowd.estimation.words import WordEstimates

MOST_NAMES = 8  # strata named in one line
MOST_LISTED = 100  # cells above which a table lists only those that rise above the noise
ALLOWED = "; their intervals are wider, to account for the selection"


def chosen_level(level: float, chosen: int, of: int) -> float:
    """The confidence level of each interval when only some of the figures are listed.

    Of many answers, only those that rise above the noise are listed. They are selected for being
    large, so their 95% intervals would miss far more often than one in twenty. With R of K listed,
    each gets the level 1 - 5% R / K: then at most one in twenty of the listed intervals misses, on
    average (the false coverage rate, Benjamini and Yekutieli 2005). If all are listed, the level
    stays the same.
    """
    return 1 - (1 - level) * max(chosen, 1) / of


class Cell(NamedTuple):
    """One cell of a table: one answer to each question, and proportions of the people.

    above_noise: for tables with very many cells, whether the hypothesis that nobody gave this
    answer is rejected, with a 5% chance of any false rejection in the table; else None.
    """

    answer: tuple[str, ...]
    estimate: float
    standard_error: float
    low: float
    high: float
    above_noise: bool | None = None
    truth: float | None = None

    @property
    def below_zero(self) -> bool:
        """Whether noise made the raw estimate negative."""
        return self.estimate < 0


class WordRow(NamedTuple):
    """One candidate word: proportions of the people, and whether it is present."""

    word: str
    estimate: float
    standard_error: float
    low: float
    high: float
    share: float
    present: bool


class Shown(NamedTuple):
    """A table and its cells; the last question's answers change fastest.

    note: what is left out, for questions with so many answers that only those that rise above the
    noise are shown, the largest first. ids: the question ids, where the table has wordings in
    their place. together: the method of intervals that hold for all cells at once; "" if each
    interval is for its own cell.
    """

    table: TableEstimate
    cells: tuple[Cell, ...]
    note: str = ""
    ids: tuple[str, ...] = ()
    together: str = ""

    @property
    def certain(self) -> bool:
        """Whether all figures are exact, so that there are no errors to show."""
        return not self.table.standard_error.any()

    @property
    def intervals(self) -> str:
        """Name the intervals: "95% interval", "95% interval, all cells at once (max-t)"."""
        at_once = f", all cells at once ({self.together})" if self.together else ""
        return f"{self.table.level:.0%} interval{at_once}"

    @property
    def names(self) -> tuple[str, ...]:
        """The short names of the questions: their ids."""
        return self.ids or self.table.questions

    @property
    def has_truth(self) -> bool:
        """Whether the true shares are available too."""
        return bool(self.cells) and self.cells[0].truth is not None


CLEAR = "counted in the clear, without noise"


def changes(estimate: TableEstimate | WordEstimates) -> dict[str, str]:
    """The columns `weighted_to` and `shares_of` of files, where figures are weighted, are shares of
    those who answered, or are shares of rounded amounts."""
    weighted = {"weighted_to": with_and(estimate.weighted_to)} if estimate.weighted_to else {}
    changed = estimate.answered or estimate.rounding
    return weighted | ({"shares_of": estimate.whose + estimate.rounding} if changed else {})


def quality(table: TableEstimate) -> str:
    """State how precise a table is, and how far one person's false reports can shift it."""
    points = rounded_up(100 * table.influence, 2, whole=True)
    weighted = weights_words(table.weighted_to, table.error_ratio)
    weights = f"{weighted}; " if weighted else ""
    if not table.standard_error.any():
        return weights.removesuffix("; ") or CLEAR
    precise = f"as precise as asking {table.effective_sample_size:,.0f} people without privacy"
    return (
        f"{weights}{precise if table.noise_error.any() else CLEAR}; "
        f"one person's false reports can shift a figure by at most {points} percentage points"
    )


def shown(estimates: Estimates) -> Iterator[Shown]:
    """Every table with the cells to display, in the order of the estimates."""
    return _displayed(estimates.plan.survey, complete(estimates), estimates.simultaneous)


def shown_of(estimates: Estimates, stratum: StratumEstimates) -> Iterator[Shown]:
    """Every table of a stratum with the cells to display."""
    tables = of_stratum(estimates, stratum)
    return _displayed(estimates.plan.survey, tables, stratum.simultaneous)


def _displayed(
    survey: Survey, items: Iterable[Shown], together: Sequence[SimultaneousIntervals | None]
) -> Iterator[Shown]:
    for item, intervals in zip(items, together or repeat(None), strict=False):
        visible = _visible(item) if item.cells[0].above_noise is not None else item
        at_once = visible if intervals is None else _at_once(visible, intervals)
        yield as_read(at_once, survey)


def _at_once(item: Shown, intervals: SimultaneousIntervals) -> Shown:
    """Replace the intervals by simultaneous ones."""
    ends = zip(item.cells, intervals.low.flat, intervals.high.flat, strict=True)
    cells = tuple(cell._replace(low=float(low), high=float(high)) for cell, low, high in ends)
    return item._replace(cells=cells, together=intervals.method)


def as_read(item: Shown, survey: Survey) -> Shown:
    """Replace the ids of questions and answers by the survey's wording."""
    ids = item.table.questions
    table = replace(
        item.table,
        questions=tuple(map(survey.text_of, ids)),
        answers=tuple(
            answer_labels(survey, *pair) for pair in zip(ids, item.table.answers, strict=True)
        ),
    )
    cells = tuple(
        cell._replace(answer=tuple(map(survey.label_of, ids, cell.answer))) for cell in item.cells
    )
    return item._replace(table=table, cells=cells, ids=() if table.questions == ids else ids)


def titled(questions: Sequence[str], ids: Sequence[str]) -> str:
    """The wordings, followed by the ids in parentheses unless they are the same."""
    text, names = " × ".join(questions), " × ".join(ids)
    return text if text == names else f"{text} ({names})"


def answer_labels(survey: Survey, id: str, answers: Sequence[str]) -> tuple[str, ...]:
    """The labels of answers to a question."""
    return tuple(survey.label_of(id, answer) for answer in answers)


def _visible(item: Shown) -> Shown:
    """The answers that rise above the noise, the largest first."""
    chosen = sum(bool(cell.above_noise) for cell in item.cells)
    level = chosen_level(item.table.level, chosen, len(item.cells))
    wide = replace(item.table, level=level)
    ends = zip(item.cells, wide.low.ravel().tolist(), wide.high.ravel().tolist(), strict=True)
    above = (cell._replace(low=low, high=high) for cell, low, high in ends if cell.above_noise)
    visible = sorted(above, key=lambda cell: -cell.estimate)
    note = (
        f"{len(visible):,} of {len(item.cells):,} answers rise above the noise (5% chance of any "
        f"false one among them){ALLOWED if visible else ''}; .csv, .json and .parquet files have "
        "the rest"
    )
    return Shown(item.table, tuple(visible), note)


def alone(table: TableEstimate) -> Shown:
    """A table with all its cells, without the survey that it belongs to."""
    return Shown(table, _cells(table, None, False))


def complete(estimates: Estimates) -> Iterator[Shown]:
    """Every table with all its cells."""
    truths = estimates.truth or (None,) * len(estimates.tables)
    for table, truth in zip(estimates.tables, truths, strict=True):
        yield Shown(table, _cells(table, truth, _is_long(estimates, table)))


def of_stratum(estimates: Estimates, stratum: StratumEstimates) -> Iterator[Shown]:
    """Every table of a stratum with all its cells."""
    for table in stratum.tables:
        yield Shown(table, _cells(table, None, _is_long(estimates, table)))


class Fact(NamedTuple):
    """A fact about estimates to show above their tables. doubt: whether it is a warning."""

    name: str
    lines: tuple[str, ...]
    doubt: bool = False


def about(estimates: Estimates, where: str) -> Iterator[Fact]:
    """The people, the reports, the noise, the receipts, and the tables left out.

    where: where to find the tables of each stratum.
    """
    survey, smallest = estimates.plan.survey, " in the smallest stratum" * bool(estimates.strata)
    people = f"{quantity(estimates.crowd, 'people')}{smallest}"
    yield Fact("Crowd", (f"{people}; {survey.crowd:,} planned",))
    if strata := tuple(_strata_words(estimates, where)):
        yield Fact("Strata", strata)
    rejected = f"; {estimates.rejected:,} rejected" if estimates.rejected else ""
    yield Fact("Reports", (f"{estimates.reports:,}{rejected}",))
    yield Fact("Noise", tuple(message_texts(estimates.plan)))
    for received in estimates.received:
        yield Fact("Receipt", tuple(receipt_sentences(received)))
    if hints := tuple(unaccounted(estimates.received)):
        yield Fact("Receipt", hints, doubt=True)
    if missing := tuple(without_receipt(estimates.releases, estimates.received)):
        yield Fact("Receipt", missing, doubt=True)
    if estimates.not_made:
        yield Fact("Left out", tuple(each.sentence for each in estimates.not_made))
    persons = persons_sentence(estimates.persons, survey.rows_per_person)
    yield Fact("People", (UPLOADS if estimates.releases else persons,))


def _strata_words(estimates: Estimates, where: str) -> Iterator[str]:
    """Lines about the released strata with their people, and those left out; none without strata.

    where: where to find the tables of each stratum.
    """
    if not estimates.strata:
        return
    for stratum in estimates.strata:
        together = " together" if len(stratum.names) > 1 else ""
        yield f"{listed(stratum.names)}: {quantity(stratum.people, 'people')}{together}"
    if estimates.left_out:
        yield f"not in these reports, with too few people or none: {listed(estimates.left_out)}"
    each = f"; for each stratum separately: {where}" if estimates.strata[0].tables else ""
    yield f"the tables cover the people of all released strata together{each}"


def listed(names: Sequence[str]) -> str:
    """Names of strata; if there are many, the first ones."""
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, … ({len(names):,} in all)"


def _is_long(estimates: Estimates, table: TableEstimate) -> bool:
    """Whether a table comes from cells and has so many that most show only noise."""
    ids = {question.id for question in estimates.plan.survey.randomized} & {*table.questions}
    return estimates.plan.by_cells_alone(ids) and table.estimate.size > MOST_LISTED


def _cells(table: TableEstimate, truth: np.ndarray | None, long: bool) -> tuple[Cell, ...]:
    unknown = np.full(table.estimate.shape, None)
    marks = table.above_noise() if long else unknown
    true = unknown if truth is None else truth
    columns = [table.estimate, table.standard_error, table.low, table.high, marks, true]
    values = zip(*(np.ravel(column).tolist() for column in columns), strict=True)
    return tuple(Cell(a, *v) for a, v in zip(product(*table.answers), values, strict=True))


def present_note(words: WordEstimates, number: int) -> str:
    """State how many words are present, with the chance of a false one."""
    weights = f"; {weights_words(words.weighted_to, None)}" if words.weighted_to else ""
    return (
        f"{number:,} of {len(words.candidates):,} words are present "
        f"({words.family_error:.0%} chance of any false one){ALLOWED if number else ''}{weights}"
    )


def present_rows(words: WordEstimates) -> list[WordRow]:
    """The words that are present, the largest estimate first, with intervals for display."""
    level = chosen_level(words.level, int(words.present.sum()), len(words.candidates))
    return [row for row in word_rows(replace(words, level=level)) if row.present]


def word_rows(words: WordEstimates) -> list[WordRow]:
    """All candidate words, the largest estimate first."""
    columns = (words.estimate, words.standard_error, words.low, words.high, words.share)
    values = zip(*(column.tolist() for column in (*columns, words.present)), strict=True)
    rows = [WordRow(word, *row) for word, row in zip(words.candidates, values, strict=True)]
    return sorted(rows, key=lambda row: -row.estimate)
