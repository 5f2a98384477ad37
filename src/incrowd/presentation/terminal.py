"""Estimates for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from incrowd.estimation.results import Estimates
from incrowd.estimation.word_shares import WordEstimates
from incrowd.presentation.data import Cell, Shown, present_note, present_rows, shown
from incrowd.presentation.guarantees import (
    guarantee_heading,
    guarantee_sentence,
    guarantee_symbols,
    persons_sentence,
    warnings,
)
from incrowd.presentation.messages import message_texts
from incrowd.presentation.number_text import digits, percent, short_percent
from incrowd.presentation.simulated import simulation_warning

BELOW_ZERO = "below 0"
_MEASURING_WIDTH = 10_000
_UNBROKEN = 12
MOST_LINES = 200


def terminal(estimates: Estimates) -> Group:
    """Everything a person needs to read the estimates: a header, then one table for each table.

    A two-way table is a grid if it fits the width of the console, else a list.
    """
    tables = [_fitting(item) for item in shown(estimates)]
    lists = [_words(id, words) for id, words in estimates.words.items()]
    padded = [Padding(table, (1, 0, 0, 0)) for table in (*tables, *lists)]
    return Group(*_header(estimates), *padded)


def _header(estimates: Estimates) -> Iterator[RenderableType]:
    guarantee = estimates.guarantee
    yield Text(estimates.plan.survey.name, style="bold")
    if estimates.seed is not None:
        yield Text(simulation_warning(estimates.seed), style="bold yellow")
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    facts.add_row(guarantee_heading(guarantee), Text(guarantee_sentence(guarantee)))
    facts.add_row("", Text(guarantee_symbols(guarantee), style="dim"))
    facts.add_row("Crowd", f"{estimates.crowd:,} people")
    rejected = f"; {estimates.rejected:,} rejected" if estimates.rejected else ""
    facts.add_row("Reports", f"{estimates.reports:,}{rejected}")
    for text in message_texts(estimates.plan):
        facts.add_row("Noise", text)
    for text in warnings(guarantee):
        facts.add_row("Warning", Text(text, style="yellow"))
    survey = estimates.plan.survey
    facts.add_row("People", persons_sentence(estimates.persons, survey.rows_per_person))
    yield facts


def _fitting(item: Shown) -> RenderableType:
    return _GridOrList(_grid(item), _list(item)) if len(item.table.questions) == 2 else _list(item)


def _words(id: str, words: WordEstimates) -> Table:
    """The words that are present, the most frequent first."""
    found = present_rows(words)
    others = f"{percent(words.others, 2)} ± {percent(words.others_error, 2)}"
    caption = f"% of people; {present_note(words, len(found))}; other words: {others}"
    table = _blank(id, caption)
    table.add_column("word", overflow="fold")
    for name in ("estimate", "std. error", "95% interval"):
        table.add_column(name, justify="right")
    for row in found:
        interval = f"{percent(row.low, 2)} to {percent(row.high, 2)}"
        figures = (percent(row.estimate, 2), percent(row.standard_error, 2), interval)
        table.add_row(Text(row.word), *figures)
    return table


@dataclass(frozen=True)
class _GridOrList:
    grid: Table
    list: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(max_width=_MEASURING_WIDTH)
        fits = Measurement.get(console, wide, self.grid).maximum <= options.max_width
        yield self.grid if fits else self.list


def _empty(item: Shown, caption: str) -> Table:
    return _blank(" × ".join(item.table.questions), caption)


def _blank(title: str, caption: str) -> Table:
    return Table(
        title=Text(title, style="bold"),
        title_justify="left",
        caption=Text(caption, style="dim"),
        caption_justify="left",
        box=None,
        header_style="dim",
        padding=(0, 2, 0, 0),
    )


def _list(item: Shown) -> Table:
    """One line for each cell."""
    table = _empty(item, f"% of people; errors: {item.table.errors}{_note(item)}")
    several = len(item.table.questions) > 1
    for question, answers in zip(item.table.questions, item.table.answers, strict=True):
        width = min(max(map(cell_len, answers)), _UNBROKEN)
        table.add_column(Text(question if several else "answer"), overflow="fold", min_width=width)
    for name in _figures(item):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("")
    places = digits(item.cells)
    for cell in item.cells[:MOST_LINES]:
        mark = Text(BELOW_ZERO if cell.below_zero else "", style="yellow")
        table.add_row(*map(Text, cell.answer), *_line(cell, places), mark)
    return table


def _note(item: Shown) -> str:
    """How many people asked openly would tell as much; what is left out."""
    note = f"; {item.note}" if item.note else ""
    if len(item.cells) > MOST_LINES:
        note += f"; {MOST_LINES} of {len(item.cells):,} cells are shown, use -o for all"
    moved = f"a malicious sender moves a figure by {short_percent(item.table.influence)} at most"
    return f"; as good as {item.table.as_good_as:,.0f} people asked openly; {moved}{note}"


def _figures(item: Shown) -> Sequence[str]:
    truth = ("truth",) if item.has_truth else ()
    return ("estimate", "std. error", f"{item.table.level:.0%} interval", *truth)


def _line(cell: Cell, places: int) -> Iterator[str]:
    yield percent(cell.estimate, places)
    yield percent(cell.standard_error, places)
    yield f"{percent(cell.low, places)} to {percent(cell.high, places)}"
    if cell.truth is not None:
        yield percent(cell.truth, places)


def _grid(item: Shown) -> Table:
    """Rows by columns: estimate ± half of the interval."""
    table = _empty(item, _grid_caption(item))
    rows, columns = item.table.answers
    table.add_column(Text(item.table.questions[0]), no_wrap=True)
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    places = digits(item.cells)
    for start, name in enumerate(rows):
        line = item.cells[start * len(columns) : (start + 1) * len(columns)]
        table.add_row(Text(name), *(_plus_minus(cell, places) for cell in line))
    return table


def _grid_caption(item: Shown) -> str:
    truth = " (truth)" if item.has_truth else ""
    mark = f"; * {BELOW_ZERO}" if any(cell.below_zero for cell in item.cells) else ""
    interval = f"estimate ± half of the {item.table.level:.0%} interval{truth}{mark}"
    return f"% of people; {interval}; errors: {item.table.errors}{_note(item)}"


def _plus_minus(cell: Cell, places: int) -> Text:
    half = percent((cell.high - cell.low) / 2, places)
    truth = "" if cell.truth is None else f" ({percent(cell.truth, places)})"
    mark = "*" if cell.below_zero else " "
    text = f"{percent(cell.estimate, places)} ± {half}{truth}{mark}"
    return Text(text, style="yellow" if cell.below_zero else "")
