"""Estimates as plain data: JSON for programs, one long table for spreadsheets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.channels.base import Channel
from incrowd.channels.rappor import Rappor
from incrowd.estimation.derived import DerivedTable
from incrowd.estimation.results import Estimates, StratumEstimates
from incrowd.estimation.simultaneous import SimultaneousIntervals
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.word_shares import WordEstimates
from incrowd.plans import Guarantee, Message
from incrowd.presentation.amounts import amount_facts, amounts_of
from incrowd.presentation.guarantees import guarantee_sentence
from incrowd.presentation.number_text import short_percent
from incrowd.presentation.receipts import receipt_facts
from incrowd.presentation.simulated import marked, marked_table
from incrowd.survey import Randomizer, Survey

JOINT = " | "
EVERYBODY = "all"  # strata together
MOST_NAMES = 8  # of strata, in a line
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

    above_noise: only where set bits travel unlinked, whether nobody having given this answer can
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


def quality(table: TableEstimate) -> str:
    """How precise a table is, and how far one person can falsify it."""
    points = short_percent(table.influence).removesuffix("%")
    weights = f"{table.weights_words}; " if table.weights_words else ""
    if not table.standard_error.any():
        return weights.removesuffix("; ") or "known exactly"
    return (
        f"{weights}as precise as {table.effective_sample_size:,.0f} people asked without privacy; "
        f"one person's false reports can shift a figure by at most {points} percentage points"
    )


def shown(estimates: Estimates) -> Iterator[Shown]:
    """Every table with the cells that people look at, in the order of the estimates."""
    together = estimates.simultaneous or (None,) * len(estimates.tables)
    for item, intervals in zip(complete(estimates), together, strict=True):
        visible = _visible(item) if item.cells[0].above_noise is not None else item
        at_once = visible if intervals is None else _at_once(visible, intervals)
        yield _as_read(at_once, estimates.plan.survey)


def _at_once(item: Shown, intervals: SimultaneousIntervals) -> Shown:
    """With the intervals that hold for all cells together, where they were asked for."""
    ends = zip(item.cells, intervals.low.flat, intervals.high.flat, strict=True)
    cells = tuple(cell._replace(low=float(low), high=float(high)) for cell, low, high in ends)
    return item._replace(cells=cells, together=intervals.method)


def _as_read(item: Shown, survey: Survey) -> Shown:
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
        yield Shown(table, _cells(table, truth, _is_unlinked(estimates, table)))


def _is_unlinked(estimates: Estimates, table: TableEstimate) -> bool:
    """Whether a table is of a question whose set bits travel unlinked."""
    asked = estimates.plan.survey.questions
    return any(question.unlinked for question in asked if (question.id,) == table.questions)


def of_stratum(estimates: Estimates, stratum: StratumEstimates) -> Iterator[Shown]:
    """Every table of a stratum with all its cells."""
    for table in stratum.tables:
        yield Shown(table, _cells(table, None, _is_unlinked(estimates, table)))


def strata_words(estimates: Estimates) -> Iterator[str]:
    """Which strata were released with how many people, and which not; nothing without strata."""
    if not estimates.strata:
        return
    for stratum in estimates.strata:
        together = " together" if len(stratum.names) > 1 else ""
        yield f"{listed(stratum.names)}: {stratum.people:,} people{together}"
    if estimates.left_out:
        yield f"not among these reports, with too few people or none: {listed(estimates.left_out)}"
    each = "; .json and .csv have each" if estimates.strata[0].tables else ""
    yield f"the tables are of all people of the released strata together{each}"


def listed(names: Sequence[str]) -> str:
    """Names of strata; of many the first."""
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, … ({len(names):,} in all)"


def _cells(table: TableEstimate, truth: np.ndarray | None, unlinked: bool) -> tuple[Cell, ...]:
    unknown = np.full(table.estimate.shape, None)
    marks = table.above_noise() if unlinked else unknown
    true = unknown if truth is None else truth
    columns = [table.estimate, table.standard_error, table.low, table.high, marks, true]
    values = zip(*(np.ravel(column).tolist() for column in columns), strict=True)
    return tuple(Cell(a, *v) for a, v in zip(product(*table.answers), values, strict=True))


def as_json(estimates: Estimates) -> dict[str, Any]:
    """The estimates as JSON-ready data.

    estimate, standard_error, low, high and truth are proportions of the people, raw: neither
    clipped nor projected. noise is the flip probability of a bit; it and copies are given once
    more outside of `messages` if there is one message. truth is there only if known.
    """
    messages = [
        message_facts(message)
        | {"reports": came.accepted, "rejected": came.rejected, "people": came.people}
        for message, came in zip(estimates.plan.messages, estimates.arrived, strict=True)
    ]
    facts = {
        "reports": estimates.reports,
        "rejected": estimates.rejected,
        "crowd": estimates.crowd,
        "persons": estimates.persons,
        "plan": estimates.plan.digest,
        **of_the_only(messages, "noise", "copies"),
        "messages": messages,
        "guarantee": guarantee_facts(estimates.guarantee),
        "tables": [
            _table_json(estimates, estimates.plan.survey, number, item)
            for number, item in enumerate(complete(estimates))
        ],
        "words": [_words_json(id, words) for id, words in estimates.words.items()],
    }
    if estimates.strata:
        facts["people"] = estimates.people
        facts["strata"] = [_stratum_json(estimates, stratum) for stratum in estimates.strata]
        facts["not_released"] = list(estimates.left_out)
    if estimates.received:
        facts["receipts"] = list(map(receipt_facts, estimates.received))
    return marked(facts, estimates.seed)


def of_the_only(messages: Sequence[Mapping[str, Any]], *names: str) -> dict[str, Any]:
    """Facts of the only message, which stand outside of `messages` as well; none of several."""
    return {name: messages[0][name] for name in names} if len(messages) == 1 else {}


def guarantee_facts(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee as JSON-ready data, with its sentence."""
    return guarantee.model_dump(mode="json") | {"sentence": guarantee_sentence(guarantee)}


def message_facts(message: Message) -> dict[str, Any]:
    """What travels in a message, as JSON-ready data."""
    noise, channels = message.noise, message.channels
    return {
        "questions": list(message.ids),
        "bits": message.bits,
        "noise": None if noise is None else noise.q,
        "noise_numerator": message.noise_numerator,
        "copies": message.copies,
        "apart": message.unlinked,
        "randomizers": {
            question.id: _device_facts(question.randomizer, channels[question.id])
            for question in message.questions
            if question.randomizer
        },
    }


def _device_facts(randomizer: Randomizer, channel: Channel) -> dict[str, Any]:
    """A device with the local epsilon of one report, and of all rounds if responses are permanent.

    Of one bit; of a k-ary response of the answer.
    """
    facts = randomizer.model_dump(exclude_none=True) | {"epsilon_of_one_report": channel.epsilon}
    if isinstance(channel, Rappor):
        facts["epsilon_of_all_reports"] = channel.permanent_epsilon
    return facts


def _stratum_json(estimates: Estimates, stratum: StratumEstimates) -> dict[str, Any]:
    """A stratum, or several that were released as one; shares are of its own people."""
    survey, tables = estimates.plan.survey, enumerate(of_stratum(estimates, stratum))
    return {
        "strata": list(stratum.names),
        "people": stratum.people,
        "tables": [_table_json(stratum, survey, n, item) for n, item in tables],
        "words": [_words_json(id, words) for id, words in stratum.words.items()],
    }


def _table_json(
    estimates: Estimates | StratumEstimates, survey: Survey, number: int, item: Shown
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "questions": list(item.table.questions),
        "errors": item.table.errors,
        "level": item.table.level,
        "people": item.table.people,
        "as_good_as": item.table.effective_sample_size,
        "influence_of_a_malicious_sender": item.table.influence,
        "cells": [_cell_json(cell) for cell in item.cells],
        **item.table.changes,
    }
    if isinstance(item.table, DerivedTable):
        found["error_ratio"] = item.table.error_ratio
    read = _as_read(item, survey).table
    if read.questions != item.table.questions:
        found["text"] = list(read.questions)
    if read.answers != item.table.answers:
        found["labels"] = list(map(list, read.answers))
    found |= amount_facts(amounts_of(item.table.questions, estimates.amounts))
    intervals = estimates.simultaneous[number] if estimates.simultaneous else None
    if intervals is not None:
        found["simultaneous"] = {
            "method": intervals.method,
            "multiplier": intervals.multiplier,
            "low": intervals.low.ravel().tolist(),
            "high": intervals.high.ravel().tolist(),
        }
    joint = estimates.covariances[number] if estimates.covariances else None
    if joint is not None:
        found["covariance"] = joint.covariance.tolist()
    return found


def _words_json(id: str, words: WordEstimates) -> dict[str, Any]:
    return {
        "question": id,
        "family_error": words.family_error,
        "others": words.others,
        "others_error": words.others_error,
        "errors": words.errors,
        "share_statement": words.share_statement,
        "words": [found._asdict() for found in word_rows(words)],
    }


def present_note(words: WordEstimates, listed: int) -> str:
    """How many words are present, and how sure that is."""
    return (
        f"{listed:,} of {len(words.candidates):,} words are present "
        f"({words.family_error:.0%} for any false one){ALLOWED if listed else ''}"
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


def _cell_json(cell: Cell) -> dict[str, Any]:
    values = {**cell._asdict(), "answer": list(cell.answer)}
    return {name: value for name, value in values.items() if value is not None}


def as_table(estimates: Estimates) -> pa.Table:
    """The estimates as one long Arrow table, a row for each cell of each table.

    Columns: table and answer (the questions' ids and the answers, joined by " | "), estimate,
    standard_error, low, high (proportions of the people), below_zero, truth if it is known, and
    weighted_to and shares_of (those who answered) if that was asked for, and simulation, a warning,
    if it is one. Where questions are open the first column is stratum: "all"
    of all released ones together, then each, with proportions of its own people.
    What is not in the columns (crowd, guarantee, seed, plan) is JSON in the schema's metadata
    under "incrowd"; Parquet keeps it, CSV cannot.
    """
    rows = list(_rows(complete(estimates), estimates.words))
    if estimates.strata:
        rows = [{"stratum": EVERYBODY} | row for row in rows]
    for stratum in estimates.strata:
        own = _rows(of_stratum(estimates, stratum), stratum.words)
        rows += [{"stratum": stratum.name} | row for row in own]
    columns = {name: [row.get(name) for row in rows] for name in rows[0]} if rows else {}
    about = {
        name: value
        for name, value in as_json(estimates).items()
        if name not in ("tables", "words", "strata")
    }
    made = marked_table(pa.table(columns), estimates.seed)
    return made.replace_schema_metadata({"incrowd": json.dumps(about)})


def _rows(items: Iterable[Shown], words: Mapping[str, WordEstimates]) -> Iterator[dict[str, Any]]:
    for item in items:
        for cell in item.cells:
            row = _row(JOINT.join(item.table.questions), JOINT.join(cell.answer), cell)
            yield row | ({} if cell.truth is None else {"truth": cell.truth}) | item.table.changes
    for id, found in words.items():
        yield from (_row(id, row.word, row) for row in word_rows(found))


def _row(table: str, answer: str, found: Cell | Word) -> dict[str, Any]:
    figures = {name: getattr(found, name) for name in ("estimate", "standard_error", "low", "high")}
    return {"table": table, "answer": answer} | figures | {"below_zero": found.estimate < 0}
