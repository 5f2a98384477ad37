"""Estimates as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby
from typing import Any

from incrowd.catalog.sentences import (
    ENGLISH,
    NumberText,
    in_words,
    sentence,
    translatable,
    translated,
)
from incrowd.estimation import receipts
from incrowd.estimation.amounts import HEADINGS as AMOUNT_HEADINGS
from incrowd.estimation.cell_errors import NOISE_AND_SAMPLING
from incrowd.estimation.displayed import Cell, Shown, quality
from incrowd.estimation.results import FACT_PEOPLE, Estimates, StratumEstimates
from incrowd.estimation.words import WordEstimates
from incrowd.number_text import digits, percent
from incrowd.presentation import guarantee_text
from incrowd.presentation.charts import MOST_CELLS, NARROW, WIDE, chart_svg, group_heading
from incrowd.presentation.findings import (
    finding,
    joined_title,
    limits,
    method_rows,
    method_sentences,
    people_lines,
)
from incrowd.presentation.pictures import Picture
from incrowd.presentation.receipts import invented_warning

# In cells: they keep the page below 2 MB, and drawing below a minute.
_MOST_CHARTED = 800
_MOST_LISTED = 2500
_FIGURES = (
    translatable("estimation.column-estimate"),
    translatable("estimation.column-std-error"),
    translatable("presentation.low-column"),
    translatable("presentation.high-column"),
)
_TRUTH = translatable("presentation.truth-column")


def parts(estimates: Estimates, language: str = ENGLISH) -> dict[str, Any]:
    """Return the parts of a page of estimates, with charts as <svg> elements.

    The numbers of each stratum are folded. The page is smaller than 2 MB unless labels are longer
    than sentences: if there are many or large tables, the last ones are not drawn or not even
    listed, and the page says so.
    """
    plan, survey = estimates.plan, estimates.plan.survey
    items = list(estimates.displayed(plan))
    before = accumulate(map(_weight, items), initial=0)
    tables = [
        _table(item, used, language)
        | _amounts(item, estimates)
        | {"finding": finding(item, survey).text}
        for item, used in zip(items, before, strict=False)
    ]
    return dict(
        title=survey.name,
        simulated=invented_warning(estimates),
        estimates=estimates,
        guarantee_text=guarantee_text,
        receipts=receipts,
        about=[  # the guide explains who counts as a person
            fact
            for fact in estimates.about(translatable("estimation.at-the-end"))
            if fact.name != FACT_PEOPLE
        ],
        people=list(people_lines(estimates)),
        limits=list(limits(estimates)),
        method=list(method_sentences(estimates)),
        method_figures=list(method_rows(estimates)),
        of_strata=list(_of_strata(estimates, _MOST_LISTED - sum(map(_weight, items)))),
        has_truth=any(item.has_truth for item in items),
        figures=_FIGURES,
        percent=_percent,
        tables=tables,
        pictures=[
            Picture(str(translated(each["title"], language)), *each["charts"])
            for each in tables
            if each["charts"]
        ],
        amount_headings=AMOUNT_HEADINGS,
        words=[_words(survey.text_of(id), words) for id, words in estimates.words.items()],
        level=estimates.tables[0].error.level if estimates.tables else 0.95,
        at_once=any(item.together for item in items),
        singly=not all(item.together for item in items) or bool(estimates.words),
        errors=list(dict.fromkeys(item.table.error.includes for item in items if not item.certain)),
        noise_and_sampling=NOISE_AND_SAMPLING,
        several_answers=not all(question.exclusive for question in survey.questions),
    )


def _of_strata(estimates: Estimates, left: int) -> Iterator[dict[str, Any]]:
    """Yield the numbers of each stratum; none once the page is full."""
    for stratum in estimates.strata:
        items = list(stratum.displayed(estimates.plan))
        left -= sum(map(_weight, items))
        tables = [_table(item, _MOST_CHARTED, ENGLISH) | _amounts(item, stratum) for item in items]
        yield {"of": stratum, "tables": tables if left >= 0 else []}


def _weight(item: Shown) -> int:
    """Return the size of a table on the page, in cells; small multiples have axes and headings."""
    return len(item.cells) + 2 * (len(item.cells) // len(item.table.answers[-1])) + 2


def _table(item: Shown, used: int, language: str) -> dict[str, Any]:
    """Return one table. used: the size of the tables before it. language: of its charts."""
    drawn = 0 < len(item.cells) <= MOST_CELLS and used + _weight(item) <= _MOST_CHARTED
    listed = item.cells[: max(_MOST_LISTED - used, 0)]
    title = joined_title(item)
    label = in_words(sentence("presentation.chart-of", title=title), language)
    return {
        "of": item.table,
        "title": title,
        "ids": item.ids,
        "names": item.names,
        "intervals": item.intervals,
        "note": item.note,
        "quality": quality(item.table),
        "cells": len(item.cells),
        "listed": len(listed),
        "charts": [chart_svg(item, size, label, language) for size in (WIDE, NARROW) if drawn],
        "certain": item.certain,
        "figures": (
            *(_FIGURES[:1] if item.certain else _FIGURES),
            *([_TRUTH] if item.has_truth else []),
        ),
        "places": digits(item.cells),
        "groups": list(_groups(item, listed)),
    }


def _amounts(item: Shown, estimates: Estimates | StratumEstimates) -> dict[str, Any]:
    """Return mean, total and quantiles if a table is of numbers, with a note."""
    figures = estimates.amounts_of(item)
    if figures is None:
        return {"amounts": ()}
    return {
        "amounts": list(figures.lines),
        "amount_note": figures.note(item.table.provenance.weighted_to),
    }


def _groups(item: Shown, listed: Iterable[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Group the cells by their answers to all questions but the last."""
    for group, cells in groupby(listed, lambda cell: cell.answer[:-1]):
        yield group_heading(item.table.questions, group), list(cells)


def _words(question: str, words: WordEstimates) -> dict[str, Any]:
    """Return the words that are present, the most frequent first."""
    rows = words.present_rows[:_MOST_LISTED]
    return {
        "question": question,
        "of": words,
        "note": words.present_note,
        "lines": rows,
    }


def _percent(proportion: float, places: int) -> NumberText:
    return NumberText(percent(proportion, places).replace("-", "−"))
