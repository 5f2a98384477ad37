"""Tables and words prepared for display: their cells, the wording of the survey, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from incrowd.accountant.channels.base import rounded_up
from incrowd.catalog.sentences import NumberText, text_list, translatable
from incrowd.estimation.intervals import chosen_level
from incrowd.estimation.simultaneous import SimultaneousIntervals
from incrowd.estimation.tables import Provenance, TableEstimate
from incrowd.estimation.weighting.margins import weights_words
from incrowd.survey import Survey
from incrowd.views import with_and

JOINT = " | "  # between questions, and between answers
MOST_LISTED = 100  # cells above which a table lists only those that rise above the noise


class Cell(NamedTuple):
    """One cell of a table: one answer to each question, and proportions of the people.

    above_noise: for tables with very many cells, whether the hypothesis that nobody gave this
    answer is rejected, with a 5% chance of any false rejection in the table; otherwise None.
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

    @property
    def facts(self) -> dict[str, Any]:
        """The figures that are known."""
        return {name: value for name, value in self._asdict().items() if value is not None}


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
        level = self.table.error.level
        if not self.together:
            return translatable("estimation.interval", level=level)
        return translatable("estimation.interval-at-once", level=level, method=self.together)

    @property
    def names(self) -> tuple[str, ...]:
        """The short names of the questions: their ids."""
        return self.ids or self.table.questions

    @property
    def title(self) -> str:
        """The wordings and the ids of the questions; before them, who was asked if these are
        fewer."""
        title = titled(self.table.questions, self.names)
        among = self.table.provenance.among
        return translatable("estimation.one-another", first=among, second=title) if among else title

    @property
    def has_truth(self) -> bool:
        """Whether the true shares are available too."""
        return bool(self.cells) and self.cells[0].truth is not None


CLEAR = translatable("estimation.in-the-clear")


def weight_column(margins: Sequence[str]) -> dict[str, str]:
    """Return the column `weighted_to` of files, where figures are weighted."""
    return {"weighted_to": with_and(margins)} if margins else {}


def changes(provenance: Provenance) -> dict[str, str]:
    """Return the columns `weighted_to` and `shares_of` of files, where figures are weighted, are
    shares of those who answered, or are shares of rounded amounts."""
    whose, rounding = provenance.whose, provenance.rounding
    changed = provenance.left_out or rounding
    shares = {"shares_of": whose + rounding} if changed else {}
    return weight_column(provenance.weighted_to) | shares


def quality(table: TableEstimate, *, shift: bool = True) -> str:
    """State how precise a table is, and how far one person's false reports can shift it.

    shift: whether to state the latter.
    """
    points = rounded_up(100 * table.provenance.influence, 2, whole=True)
    weighted = weights_words(table.provenance.weighted_to, table.provenance.error_ratio)
    if not table.standard_error.any():
        return weighted or CLEAR
    size = table.effective_sample_size
    precise = translatable("estimation.as-precise-as", people=size)
    false = translatable("estimation.false-reports", points=NumberText(points)) if shift else ""
    parts = (weighted, precise if table.error.noise.any() else CLEAR, false)
    return text_list(filter(None, parts))


def at_once(item: Shown, intervals: SimultaneousIntervals) -> Shown:
    """Replace the intervals with simultaneous ones."""
    ends = zip(item.cells, intervals.low.flat, intervals.high.flat, strict=True)
    cells = tuple(cell._replace(low=float(low), high=float(high)) for cell, low, high in ends)
    return item._replace(cells=cells, together=intervals.method)


def as_read(item: Shown, survey: Survey) -> Shown:
    """Replace the ids of questions and answers with the survey's wording."""
    ids = item.table.questions
    table = replace(
        item.table,
        questions=tuple(map(survey.text_of, ids)),
        answers=tuple(
            answer_labels(survey, *pair) for pair in zip(ids, item.table.answers, strict=True)
        ),
    )
    cells = tuple(
        cell._replace(
            answer=tuple(survey.label_of(*pair) for pair in zip(ids, cell.answer, strict=True))
        )
        for cell in item.cells
    )
    return item._replace(table=table, cells=cells, ids=() if table.questions == ids else ids)


def titled(questions: Sequence[str], ids: Sequence[str]) -> str:
    """Return the wordings, followed by the ids in parentheses unless they are the same."""
    text, names = " × ".join(questions), " × ".join(ids)
    return text if text == names else f"{text} ({names})"


def answer_labels(survey: Survey, id: str, answers: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of answers to a question."""
    return tuple(survey.label_of(id, answer) for answer in answers)


def visible(item: Shown) -> Shown:
    """Return the answers that rise above the noise, the largest first."""
    chosen = sum(bool(cell.above_noise) for cell in item.cells)
    level = chosen_level(item.table.error.level, chosen, len(item.cells))
    wide = item.table.with_errors(level=level)
    ends = zip(item.cells, wide.low.ravel().tolist(), wide.high.ravel().tolist(), strict=True)
    above = (cell._replace(low=low, high=high) for cell, low, high in ends if cell.above_noise)
    visible = sorted(above, key=lambda cell: -cell.estimate)
    rise = translatable("estimation.rise", some=len(visible), all=len(item.cells))
    wider = translatable("estimation.selected") if visible else ""
    note = text_list(filter(None, (rise, wider, translatable("estimation.rest-in-files"))))
    return Shown(item.table, tuple(visible), note)


def with_cells(table: TableEstimate, truth: np.ndarray | None = None, long: bool = False) -> Shown:
    """Return a table with all its cells. long: whether most of them show only noise."""
    unknown = np.full(table.estimate.shape, None)
    marks = table.above_noise() if long else unknown
    true = unknown if truth is None else truth
    columns = [table.estimate, table.standard_error, table.low, table.high, marks, true]
    values = zip(*(np.ravel(column).tolist() for column in columns), strict=True)
    pairs = zip(product(*table.answers), values, strict=True)
    return Shown(table, tuple(Cell(answer, *figures) for answer, figures in pairs))
