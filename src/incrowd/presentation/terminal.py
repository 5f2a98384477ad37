"""Estimates for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from incrowd.estimation.results import Estimates
from incrowd.estimation.words import WordEstimates
from incrowd.presentation import sentences
from incrowd.presentation.amounts import HEADINGS, amount_rows, amounts_of, note
from incrowd.presentation.number_text import digits, percent
from incrowd.presentation.receipts import (
    simulation_warning,
)
from incrowd.presentation.shown import (
    Cell,
    Fact,
    Shown,
    WordRow,
    about,
    changes,
    present_note,
    present_rows,
    quality,
    shown,
    titled,
)
from incrowd.presentation.terminal_tables import LIGHT, table

BELOW_ZERO = "below 0"
_MEASURING_WIDTH = 10_000
_UNBROKEN = 12
MOST_LINES = 200


def terminal(estimates: Estimates) -> Group:
    """Everything a person needs to read the estimates: a header, then one table for each table.

    A two-way table is a grid if it fits the width of the console, else a list.
    """
    tables = [part for item in shown(estimates) for part in _parts(item, estimates)]
    text_of = estimates.plan.survey.text_of
    lists = [_words(titled([text_of(id)], [id]), words) for id, words in estimates.words.items()]
    padded = [Padding(table, (1, 0, 0, 0)) for table in (*tables, *lists)]
    return Group(*_header(estimates), *padded)


def _parts(item: Shown, estimates: Estimates) -> Iterator[RenderableType]:
    """A table; for a question with numbers, also its mean, total and quantiles."""
    yield _fitting(item)
    if figures := amounts_of(item.names, estimates.amounts):
        name = titled(item.table.questions, item.names)
        spread = _table(f"{name}: in numbers", note(figures, changes(item.table)), *HEADINGS)
        for row in amount_rows(figures):
            spread.add_row(*map(Text, row))
        yield spread


def _header(estimates: Estimates) -> Iterator[RenderableType]:
    guarantee = estimates.guarantee
    yield Text(estimates.plan.survey.name, style="bold")
    if estimates.seed is not None:
        yield Text(simulation_warning(estimates.seed), style="bold yellow")
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    sentence = Text(sentences.guarantee_sentence(guarantee))
    facts.add_row(sentences.guarantee_heading(guarantee), sentence)
    facts.add_row("", Text(sentences.guarantee_symbols(guarantee), style="dim"))
    doubts = Fact("Warning", tuple(sentences.warnings(guarantee)), doubt=True)
    for fact in (doubts, *about(estimates, "-o PAGE.html, .csv or .json")):
        for number, text in enumerate(fact.lines):
            style = "yellow" if fact.doubt else ""
            facts.add_row("" if number else fact.name, Text(text, style=style))
    yield facts


def _fitting(item: Shown) -> RenderableType:
    return _GridOrList(_grid(item), _list(item)) if len(item.table.questions) == 2 else _list(item)


@dataclass(frozen=True)
class _GridOrList:
    grid: Table
    list: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(max_width=_MEASURING_WIDTH)
        fits = Measurement.get(console, wide, self.grid).maximum <= options.max_width
        yield self.grid if fits else self.list


def _table(title: str, caption: str, *names: str) -> Table:
    return table(
        Text(title, style="bold"),
        *names,
        title_justify="left",
        caption=Text(caption, style="dim"),
        caption_justify="left",
        padding=(0, 2, 0, 0),
        **LIGHT,
    )


def _words(title: str, words: WordEstimates) -> Table:
    """The words that are present, the most frequent first."""
    rows = present_rows(words)
    others = f"{percent(words.others, 2)}, std. error {percent(words.others_error, 2)}"
    caption = f"% of people; {present_note(words, len(rows))}; other words: {others}"
    shown = _table(title, caption, "word", "estimate", "std. error", "95% interval")
    for row in rows:
        shown.add_row(Text(row.word), *_figures(row, 2))
    return shown


def _list(item: Shown) -> Table:
    """One line for each cell."""
    of, several = item.table, len(item.table.questions) > 1
    errors = "" if item.certain else f"; errors: {of.errors}"
    shown = _table(
        titled(of.questions, item.names), f"% of {of.whose}{of.rounding}{errors}{_note(item)}"
    )
    for question, answers in zip(item.names, of.answers, strict=True):
        width = min(max(map(cell_len, answers)), _UNBROKEN)
        shown.add_column(Text(question if several else "answer"), overflow="fold", min_width=width)
    truth = ["truth"] if item.has_truth else []
    errors_shown = [] if item.certain else ["std. error", item.intervals]
    for name in ("estimate", *errors_shown, *truth):
        shown.add_column(name, justify="right", overflow="fold")
    shown.add_column("")
    places = digits(item.cells)
    for cell in item.cells[:MOST_LINES]:
        true = [] if cell.truth is None else [percent(cell.truth, places)]
        mark = Text(BELOW_ZERO if cell.below_zero else "", style="yellow")
        figures = list(_figures(cell, places))[: 1 + len(errors_shown)]
        shown.add_row(*map(Text, cell.answer), *figures, *true, mark)
    return shown


def _figures(row: Cell | WordRow, places: int) -> Iterator[str]:
    yield percent(row.estimate, places)
    yield percent(row.standard_error, places)
    yield f"{percent(row.low, places)} to {percent(row.high, places)}"


def _note(item: Shown) -> str:
    """The precision, the influence of one sender, and what is left out."""
    note = f"; {item.note}" if item.note else ""
    if len(item.cells) > MOST_LINES:
        note += f"; {MOST_LINES} of {len(item.cells):,} cells are shown, use -o for all"
    return f"; {quality(item.table)}{note}"


def _grid(item: Shown) -> Table:
    """Rows by columns: estimate ± half of the interval."""
    shown = _table(titled(item.table.questions, item.names), _grid_caption(item))
    rows, columns = item.table.answers
    shown.add_column(Text(item.names[0]), no_wrap=True)
    for name in columns:
        shown.add_column(Text(name), justify="right", no_wrap=True)
    places = digits(item.cells)
    for start, name in enumerate(rows):
        line = item.cells[start * len(columns) : (start + 1) * len(columns)]
        shown.add_row(Text(name), *(_plus_minus(cell, places) for cell in line))
    return shown


def _grid_caption(item: Shown) -> str:
    truth = " (truth)" if item.has_truth else ""
    mark = f"; * {BELOW_ZERO}" if any(cell.below_zero for cell in item.cells) else ""
    whose = f"% of {item.table.whose}{item.table.rounding}"
    interval = f"estimate ± half of the {item.intervals}{truth}{mark}"
    return f"{whose}; {interval}; errors: {item.table.errors}{_note(item)}"


def _plus_minus(cell: Cell, places: int) -> Text:
    half = percent((cell.high - cell.low) / 2, places)
    truth = "" if cell.truth is None else f" ({percent(cell.truth, places)})"
    mark = "*" if cell.below_zero else " "
    text = f"{percent(cell.estimate, places)} ± {half}{truth}{mark}"
    return Text(text, style="yellow" if cell.below_zero else "")
