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
from incrowd.report.data import Cell, Shown, shown
from incrowd.report.numbers import digits, percent
from incrowd.report.words import (
    ROWS,
    guarantee_heading,
    guarantee_sentence,
    guarantee_symbols,
    simulation_warning,
)

BELOW_ZERO = "below 0"
_MEASURING_WIDTH = 10_000
_UNBROKEN = 12


def terminal(estimates: Estimates) -> Group:
    """Everything a person needs to read the estimates: a header, then one table for each table.

    A two-way table is a grid if it fits the width of the console, else a list.
    """
    tables = [Padding(_fitting(item), (1, 0, 0, 0)) for item in shown(estimates)]
    return Group(*_header(estimates), *tables)


def _header(estimates: Estimates) -> Iterator[RenderableType]:
    guarantee, message = estimates.guarantee, estimates.plan.messages[0]
    yield Text(estimates.plan.survey.name, style="bold")
    if estimates.seed is not None:
        yield Text(simulation_warning(estimates.seed), style="bold yellow")
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    facts.add_row(guarantee_heading(guarantee), Text(guarantee_sentence(guarantee)))
    facts.add_row("", Text(guarantee_symbols(guarantee), style="dim"))
    facts.add_row("Crowd", f"{estimates.crowd:,} people")
    facts.add_row("Reports", f"{estimates.reports:,}, {message.copies:,} from each person")
    facts.add_row("Noise", f"each bit was flipped with probability {message.channel.q:.4f}")
    facts.add_row("Rows", ROWS)
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


def _empty(item: Shown, caption: str) -> Table:
    return Table(
        title=Text(" × ".join(item.table.questions), style="bold"),
        title_justify="left",
        caption=Text(caption, style="dim"),
        caption_justify="left",
        box=None,
        header_style="dim",
        padding=(0, 2, 0, 0),
    )


def _list(item: Shown) -> Table:
    """One line for each cell."""
    table = _empty(item, f"% of people; errors: {item.table.errors}")
    several = len(item.table.questions) > 1
    for question, answers in zip(item.table.questions, item.table.answers, strict=True):
        width = min(max(map(cell_len, answers)), _UNBROKEN)
        table.add_column(Text(question if several else "answer"), overflow="fold", min_width=width)
    for name in _figures(item):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("")
    places = digits(item.cells)
    for cell in item.cells:
        mark = Text(BELOW_ZERO if cell.below_zero else "", style="yellow")
        table.add_row(*map(Text, cell.answer), *_line(cell, places), mark)
    return table


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
    return f"% of people; {interval}; errors: {item.table.errors}"


def _plus_minus(cell: Cell, places: int) -> Text:
    half = percent((cell.high - cell.low) / 2, places)
    truth = "" if cell.truth is None else f" ({percent(cell.truth, places)})"
    mark = "*" if cell.below_zero else " "
    text = f"{percent(cell.estimate, places)} ± {half}{truth}{mark}"
    return Text(text, style="yellow" if cell.below_zero else "")
