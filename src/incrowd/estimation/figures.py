"""All figures of some people: tables, amounts, words, errors of cells together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from incrowd.encoding.bloom import candidate_places, normalize
from incrowd.estimation.amounts import Amounts, amounts, evidence, evidence_of
from incrowd.estimation.readings import Ids, readings, sharpest, table
from incrowd.estimation.results import NotMade, StratumEstimates
from incrowd.estimation.simultaneous import Method, SimultaneousIntervals, simultaneous_intervals
from incrowd.estimation.tables import MOST_CELLS, TableEstimate
from incrowd.estimation.weighting.weighting import (
    Change,
    Derived,
    derived,
    derived_strata,
    weighted_options,
    weighted_words,
    what_can_be_made,
    wide_alone,
)
from incrowd.estimation.words import WordEstimates, estimate_words
from incrowd.plans import Plan
from incrowd.reports.consistency import smallest
from incrowd.reports.tally import Tally
from incrowd.survey import Survey, WithEdges, takes_numbers, takes_words


class Asked(NamedTuple):
    """What was asked for. places: as `incrowd.estimation.readings.table_of` has them. candidates:
    words by text question. change: what is made of all tables, if anything."""

    noise_only: bool
    places: int
    candidates: Mapping[str, Sequence[str]]
    simultaneous: Method | None
    covariance: bool
    change: Change | None


class Figures(NamedTuple):
    """The figures of some people, under the names of `Estimates`."""

    tables: tuple[TableEstimate, ...]
    words: dict[str, WordEstimates]
    amounts: dict[str, Amounts]
    simultaneous: tuple[SimultaneousIntervals | None, ...]
    not_made: tuple[NotMade, ...]


class _Item(NamedTuple):
    """A table with what belongs to it. joint: the same with its covariance, where that was asked
    for: a covariance can have to be raised, and its cells by themselves keep their errors."""

    table: TableEstimate
    joint: TableEstimate | None
    amounts: Amounts | None

    def shown(self, asked: Asked) -> TableEstimate:
        """The table with its covariance, if that was asked for, and it is known how answers
        overlap."""
        if self.joint is None or not asked.covariance or not self.joint.overlaps:
            return replace(self.table, covariance=None, noise_covariance=None)
        covariance, noise = self.joint.covariance, self.joint.noise_covariance
        return replace(self.table, covariance=covariance, noise_covariance=noise)


def figures(plan: Plan, counted: Tally, wanted: Sequence[Ids], asked: Asked) -> Figures:
    """Of all people of a tally. Tables that a change cannot be made of are listed with the reason;
    where nothing is to be changed such a table raises TableError."""
    shown = [ids for ids in wanted if ids[0] not in plan.survey.texts]
    words = {ids[0]: asked.candidates.get(ids[0]) for ids in wanted}
    if asked.change is None:
        items = {ids: _plain(plan, counted, ids, asked) for ids in shown}
        lists = {id: _words(plan, counted, id, each, asked) for id, each in words.items() if each}
        return _figures(items, lists, asked, ())
    items, no_items = what_can_be_made(shown, lambda ids: _changed(plan, counted, ids, asked))
    weighted, no_words = what_can_be_made(
        [(id,) for id, each in words.items() if each],
        lambda ids: _words(plan, counted, ids[0], words[ids[0]] or (), asked),
    )
    lists = {ids[0]: each for ids, each in weighted.items()}
    return _figures(items, lists, asked, (*no_items, *no_words))


def strata_figures(
    plan: Plan, counted: Tally, wanted: Sequence[Ids], asked: Asked
) -> Iterator[StratumEstimates]:
    """The tables of every release by itself, of what is randomized.

    Where weights are for answers to randomized questions, people of one release have several, and
    its tables are weighted as well; else all of them have the same.
    """
    if not counted.strata:
        return
    closed = tuple(dict.fromkeys(filter(None, map(plan.survey.closed, wanted))))
    if asked.change is not None and asked.change.closed(plan.survey):
        yield from _weighted_strata(plan, counted, closed, asked, asked.change)
        return
    if asked.change is not None:
        own = asked.change._replace(margins=())
        asked = asked._replace(change=own if own.answered else None)
    for names, crowd in counted.strata.items():
        found = figures(plan, counted.only([names]), closed, asked)
        yield StratumEstimates(names, smallest(plan, crowd), **found._asdict())


def _weighted_strata(
    plan: Plan, counted: Tally, closed: Sequence[Ids], asked: Asked, change: Change
) -> Iterator[StratumEstimates]:
    def each(ids: Ids) -> list[Derived]:
        return list(derived_strata(plan, counted, ids, change, asked.noise_only, asked.places))

    made, not_made = what_can_be_made(closed, each)
    for place, (names, crowd) in enumerate(counted.strata.items()):
        items = {ids: _item(plan, ids, tables[place]) for ids, tables in made.items()}
        found = _figures(items, {}, asked, not_made)
        yield StratumEstimates(names, smallest(plan, crowd), **found._asdict())


def _figures(
    items: Mapping[Ids, _Item],
    words: dict[str, WordEstimates],
    asked: Asked,
    not_made: tuple[NotMade, ...],
) -> Figures:
    return Figures(
        tables=tuple(item.shown(asked) for item in items.values()),
        words=words,
        amounts={ids[0]: item.amounts for ids, item in items.items() if item.amounts},
        simultaneous=tuple(
            None
            if item.joint is None
            else simultaneous_intervals(item.joint, method=asked.simultaneous)
            for item in items.values()
        )
        if asked.simultaneous
        else (),
        not_made=not_made,
    )


def _plain(plan: Plan, counted: Tally, ids: Ids, asked: Asked) -> _Item:
    """A table as it was counted."""
    of = partial(table, plan, counted, ids, asked.noise_only, asked.places)
    together = (asked.covariance or asked.simultaneous) and not _many_cells(plan, ids)
    joint = of(covariance=True) if together else None
    return _Item(of(), joint, _amounts(plan, counted, ids, asked.places))


def _many_cells(plan: Plan, ids: Ids) -> bool:
    """Whether a table comes from cells, and has too many for a covariance of all of them."""
    closed = plan.survey.closed(ids)
    sizes = (len(plan.survey.question(id).answers) for id in ids)
    return plan.by_cells_alone(closed) and math.prod(sizes) > MOST_CELLS


def _changed(plan: Plan, counted: Tally, ids: Ids, asked: Asked) -> _Item:
    """The same, weighted or of those who answered."""
    assert asked.change is not None
    if wide_alone(plan.survey, ids):
        if not (known := asked.change.margins):  # everybody answers
            return _plain(plan, counted, ids, asked)
        made = weighted_options(plan, counted, ids, known, asked.noise_only, asked.places)
        return _Item(made, None, None)
    found = derived(plan, counted, ids, asked.change, asked.noise_only, asked.places)
    if not asked.change.margins:  # amounts are of those who answered anyway
        return _Item(found.table, found.table, _amounts(plan, counted, ids, asked.places))
    return _item(plan, ids, found)


def _amounts(plan: Plan, counted: Tally, ids: Ids, places: int) -> Amounts | None:
    """Of a table of one question of numbers."""
    if (question := _number(plan.survey, ids)) is None:
        return None
    return amounts(evidence(plan, question, readings(plan, counted, ids), places))


def _item(plan: Plan, ids: Ids, found: Derived) -> _Item:
    question = _number(plan.survey, ids)
    spread = amounts(evidence_of(question, found.weighted, found.swing)) if question else None
    return _Item(found.table, found.table, spread)


def _number(survey: Survey, ids: Ids) -> WithEdges | None:
    """The question of a table of one question of numbers, if its bins are as they were asked."""
    question = survey.question(ids[0])
    if len(ids) > 1 or question.merged:
        return None
    return question if takes_numbers(question) else None


def _words(
    plan: Plan, counted: Tally, id: str, candidates: Sequence[str], asked: Asked
) -> WordEstimates:
    """The share of each candidate among the answers to a text question."""
    question = plan.survey.question(id)
    assert takes_words(question)
    names = [normalize(word) for word in candidates]
    places = candidate_places(names, question.cohorts, id, question.hashes, question.block)
    if asked.change is not None and asked.change.margins:
        return weighted_words(plan, counted, id, names, places, asked.change.margins)
    found = sharpest(plan, counted, (id,))
    inverse = found.message.channels[id].inverse
    return estimate_words(names, places, found.counts, inverse, found.message.copies)
