"""Estimates as people look at them: tables with their cells, words, strata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from incrowd.accountant.channels.base import rounded_up
from incrowd.estimation.weighting.margins import listed as with_and
from incrowd.estimation.weighting.margins import weights_words
from incrowd.presentation.plan_text import message_texts
from incrowd.presentation.receipts import UPLOADS, receipt_sentences, without_receipt
from incrowd.presentation.sentences import persons_sentence
from incrowd.survey import Survey

if TYPE_CHECKING:
    from incrowd.estimation.results import Estimates, StratumEstimates
    from incrowd.estimation.simultaneous import SimultaneousIntervals
    from incrowd.estimation.tables import TableEstimate
    from incrowd.estimation.words import WordEstimates

MOST_NAMES = 8  # of strata, in a line
MOST_LISTED = 100  # cells of a table, beyond which those are listed that rise above the noise
ALLOWED = "; their intervals are wider, to allow for the choice"


def chosen_level(level: float, chosen: int, of: int) -> float:
    """The level of each interval of figures that were chosen out of so many.

    Of many answers those are listed that rise above the noise. They are listed for being large,
    so that their 95% intervals would miss far more often than one in twenty. With R of K listed
    each has the level 1 - 5% R / K: then of the intervals that are listed one in twenty misses on
    average at most (the false coverage rate, Benjamini and Yekutieli 2005). If all are listed,
    nothing changes.
    """
    return 1 - (1 - level) * max(chosen, 1) / of


class Cell(NamedTuple):
    """One cell of a table: the answers, one of each question, and proportions of the people.

    above_noise: only of a table with very many cells, whether nobody having given this answer can
    be refused, all answers together wrong with 5%.
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
        """Whether the raw estimate is negative: noise took it below what is possible."""
        return self.estimate < 0


class Word(NamedTuple):
    """One candidate: proportions of the people, and whether it is present."""

    word: str
    estimate: float
    standard_error: float
    low: float
    high: float
    share: float
    present: bool


class Shown(NamedTuple):
    """A table and its cells, the last question's answers changing fastest.

    note: what is left out, of questions with so many answers that only those are shown which rise
    above the noise, the largest first. ids: of the questions where the table has them, and their
    answers, as people read them. together: how intervals were made that hold for all cells at
    once; "" if each is for its own cell.
    """

    table: TableEstimate
    cells: tuple[Cell, ...]
    note: str = ""
    ids: tuple[str, ...] = ()
    together: str = ""

    @property
    def certain(self) -> bool:
        """Whether no figure has an error, so that there is none to show."""
        return not self.table.standard_error.any()

    @property
    def intervals(self) -> str:
        """What the intervals are: "95% interval", "95% interval, all cells at once (max-t)"."""
        at_once = f", all cells at once ({self.together})" if self.together else ""
        return f"{self.table.level:.0%} interval{at_once}"

    @property
    def names(self) -> tuple[str, ...]:
        """The short names of the questions: their ids."""
        return self.ids or self.table.questions

    @property
    def has_truth(self) -> bool:
        """Whether the true shares are known as well."""
        return bool(self.cells) and self.cells[0].truth is not None


CLEAR = "counted in clear, without noise"


def changes(of: TableEstimate | WordEstimates) -> dict[str, str]:
    """To which margins figures are weighted, and of whom they are if not of all people, for files:
    a name and words each."""
    weighted = {"weighted_to": with_and(of.weighted_to)} if of.weighted_to else {}
    return weighted | ({"shares_of": of.whose} if of.answered else {})


def quality(table: TableEstimate) -> str:
    """How precise a table is, and how far one person can falsify it."""
    points = rounded_up(100 * table.influence, 2, whole=True)
    weighted = weights_words(table.weighted_to, table.error_ratio)
    weights = f"{weighted}; " if weighted else ""
    if not table.standard_error.any():
        return weights.removesuffix("; ") or CLEAR
    precise = f"as precise as {table.effective_sample_size:,.0f} people asked without privacy"
    return (
        f"{weights}{precise if table.noise_error.any() else CLEAR}; "
        f"one person's false reports can shift a figure by at most {points} percentage points"
    )


def shown(estimates: Estimates) -> Iterator[Shown]:
    """Every table with the cells that people look at, in the order of the estimates."""
    return _looked_at(estimates.plan.survey, complete(estimates), estimates.simultaneous)


def shown_of(estimates: Estimates, stratum: StratumEstimates) -> Iterator[Shown]:
    """The same of a stratum."""
    found = of_stratum(estimates, stratum)
    return _looked_at(estimates.plan.survey, found, stratum.simultaneous)


def _looked_at(
    survey: Survey, items: Iterable[Shown], together: Sequence[SimultaneousIntervals | None]
) -> Iterator[Shown]:
    for item, intervals in zip(items, together or repeat(None), strict=False):
        visible = _visible(item) if item.cells[0].above_noise is not None else item
        at_once = visible if intervals is None else _at_once(visible, intervals)
        yield as_read(at_once, survey)


def _at_once(item: Shown, intervals: SimultaneousIntervals) -> Shown:
    """With the intervals that hold for all cells together, where they were asked for."""
    ends = zip(item.cells, intervals.low.flat, intervals.high.flat, strict=True)
    cells = tuple(cell._replace(low=float(low), high=float(high)) for cell, low, high in ends)
    return item._replace(cells=cells, together=intervals.method)


def as_read(item: Shown, survey: Survey) -> Shown:
    """With the survey's words in the place of ids and answers."""
    ids = item.table.questions

    def said(answers: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(survey.label_of, ids, answers))

    table = replace(
        item.table,
        questions=tuple(map(survey.text_of, ids)),
        answers=tuple(
            said_each(survey, *pair) for pair in zip(ids, item.table.answers, strict=True)
        ),
    )
    cells = tuple(cell._replace(answer=said(cell.answer)) for cell in item.cells)
    return item._replace(table=table, cells=cells, ids=() if table.questions == ids else ids)


def titled(questions: Sequence[str], ids: Sequence[str]) -> str:
    """Wordings, and behind them the ids that commands take, unless they are the same."""
    read, named = " × ".join(questions), " × ".join(ids)
    return read if read == named else f"{read} ({named})"


def said_each(survey: Survey, id: str, answers: Sequence[str]) -> tuple[str, ...]:
    """Answers to a question as people read them."""
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
        f"{len(visible):,} of {len(item.cells):,} answers rise above the noise (5% for any false "
        f"one among all of them){ALLOWED if visible else ''}; the rest is in .csv, .json and "
        ".parquet"
    )
    return Shown(item.table, tuple(visible), note)


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
    """What is to be known of estimates before their tables. doubt: whether it is a warning."""

    name: str
    lines: tuple[str, ...]
    doubt: bool = False


def about(estimates: Estimates, where: str) -> Iterator[Fact]:
    """Who took part, what came, with which noise, and what is not there.

    where: what has the tables of each stratum.
    """
    survey, smallest = estimates.plan.survey, " in the smallest stratum" * bool(estimates.strata)
    yield Fact("Crowd", (f"{estimates.crowd:,} people{smallest}; {survey.crowd:,} planned",))
    if strata := tuple(_strata_words(estimates, where)):
        yield Fact("Strata", strata)
    rejected = f"; {estimates.rejected:,} rejected" if estimates.rejected else ""
    yield Fact("Reports", (f"{estimates.reports:,}{rejected}",))
    yield Fact("Noise", tuple(message_texts(estimates.plan)))
    for received in estimates.received:
        yield Fact("Receipt", tuple(receipt_sentences(received)))
    if missing := tuple(without_receipt(estimates.releases, estimates.received)):
        yield Fact("Receipt", missing, doubt=True)
    if estimates.not_made:
        yield Fact("Left out", tuple(each.sentence for each in estimates.not_made))
    persons = persons_sentence(estimates.persons, survey.rows_per_person)
    yield Fact("People", (UPLOADS if estimates.releases else persons,))


def _strata_words(estimates: Estimates, where: str) -> Iterator[str]:
    """Which strata were released with how many people, and which not; nothing without strata.

    where: what has the tables of each.
    """
    if not estimates.strata:
        return
    for stratum in estimates.strata:
        together = " together" if len(stratum.names) > 1 else ""
        yield f"{listed(stratum.names)}: {stratum.people:,} people{together}"
    if estimates.left_out:
        yield f"not among these reports, with too few people or none: {listed(estimates.left_out)}"
    each = f"; each by itself: {where}" if estimates.strata[0].tables else ""
    yield f"the tables are of all people of the released strata together{each}"


def listed(names: Sequence[str]) -> str:
    """Names of strata; of many the first."""
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, … ({len(names):,} in all)"


def _is_long(estimates: Estimates, table: TableEstimate) -> bool:
    """Whether a table comes from cells and has so many that most of them show noise alone."""
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
    """How many words are present, and how sure that is."""
    weights = f"; {weights_words(words.weighted_to, None)}" if words.weighted_to else ""
    return (
        f"{number:,} of {len(words.candidates):,} words are present "
        f"({words.family_error:.0%} for any false one){ALLOWED if number else ''}{weights}"
    )


def present_rows(words: WordEstimates) -> list[Word]:
    """The words that are present, the largest estimate first, as people look at them."""
    level = chosen_level(words.level, int(words.present.sum()), len(words.candidates))
    return [row for row in word_rows(replace(words, level=level)) if row.present]


def word_rows(words: WordEstimates) -> list[Word]:
    """The candidates, the largest estimate first."""
    columns = (words.estimate, words.standard_error, words.low, words.high, words.share)
    values = zip(*(column.tolist() for column in (*columns, words.present)), strict=True)
    rows = [Word(word, *row) for word, row in zip(words.candidates, values, strict=True)]
    return sorted(rows, key=lambda row: -row.estimate)
