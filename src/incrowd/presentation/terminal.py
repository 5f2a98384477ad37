"""Results for people at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from incrowd.estimation.amounts import HEADINGS
from incrowd.estimation.displayed import Cell, Shown, quality, titled
from incrowd.estimation.results import (
    FACT_CROWD,
    FACT_NOISE,
    Estimates,
    Fact,
)
from incrowd.estimation.words import WordEstimates, WordRow
from incrowd.number_text import digits, percent
from incrowd.presentation import guarantee_text
from incrowd.presentation.guarantee_text import AnyGuarantee
from incrowd.presentation.receipts import invented_warning
from incrowd.presentation.terminal_tables import LIGHT, numbers_table, table
from incrowd.views import Result, View

BELOW_ZERO = "below 0"
_MEASURING_WIDTH = 10_000
_UNBROKEN = 12
MOST_LINES = 200
FILES = "-o PAGE.html, .csv or .json"  # where the tables of each stratum are


class Printed(NamedTuple):
    """Something to print. note: whether on standard error, beside the figures."""

    text: RenderableType
    note: bool = False


def printed(result: Result, *, verbose: bool = True) -> Iterator[Printed]:
    """Yield a result as a terminal shows it.

    verbose: whether to explain everything; otherwise the figures come first, and the guarantee and
    what it assumes take one line.
    """
    if result.layout in TERMINALS:
        yield Printed(TERMINALS[result.layout](result, verbose=verbose))
        return
    if warning := invented_warning(result):
        yield Printed(Text(warning, style="bold yellow"))
    yield from of_view(result.view(), result.guarantee, verbose=verbose)


def of_view(
    view: View, guarantee: AnyGuarantee | None = None, *, verbose: bool = True
) -> Iterator[Printed]:
    """Yield the parts of a view; notes are on standard error. verbose: as for `printed`."""
    yield from map(Printed, map(Text, view.above if verbose else view.warnings))
    if guarantee:
        yield Printed(_promise(guarantee, verbose), note=True)
    yield from map(Printed, map(Text, view.lines))
    for numbers in view.tables:
        yield Printed(numbers_table(numbers))
        yield from (Printed(text, note=True) for text in numbers.notes)
    below = () if verbose else view.legend
    yield from (Printed(text, note=True) for text in (*below, *view.notes))


def _promise(guarantee: AnyGuarantee, verbose: bool) -> str:
    """Return a guarantee with what it assumes: in plain words, or in one line."""
    if verbose:
        return str(guarantee_text.whole_sentence(guarantee))
    return str(guarantee_text.guarantee_line(guarantee))


def terminal(estimates: Estimates, *, verbose: bool = True) -> Group:
    """Return everything a person needs to read the estimates: a header, then one table for each
    table.

    A two-way table is a grid if it fits the width of the console, otherwise a list. verbose: as for
    `printed`.
    """
    displayed = estimates.displayed(estimates.plan)
    tables = [part for item in displayed for part in _parts(item, estimates, verbose)]
    text_of = estimates.plan.survey.text_of
    lists = [_words(titled([text_of(id)], [id]), words) for id, words in estimates.words.items()]
    padded = [Padding(table, (1, 0, 0, 0)) for table in (*tables, *lists)]
    if verbose:
        return Group(*_header(estimates), *padded)
    return Group(*_short_header(estimates), *padded, *_footer(estimates))


TERMINALS: Mapping[str, Callable[..., RenderableType]] = {"estimates": terminal}


def _parts(item: Shown, estimates: Estimates, verbose: bool) -> Iterator[RenderableType]:
    """Yield a table; for a question with numbers, also its mean, total and quantiles."""
    yield _fitting(item, verbose)
    if figures := estimates.amounts_of(item):
        name = titled(item.table.questions, item.names)
        note = figures.note(item.table.provenance.weighted_to)
        spread = _table(f"{name}: in numbers", note, *HEADINGS)
        for row in figures.lines:
            spread.add_row(*map(Text, row))
        yield spread


def _header(estimates: Estimates) -> Iterator[RenderableType]:
    guarantee = estimates.guarantee
    yield Text(estimates.plan.survey.name, style="bold")
    if warning := invented_warning(estimates):
        yield Text(warning, style="bold yellow")
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    sentence = Text(guarantee_text.guarantee_sentence(guarantee))
    facts.add_row(str(guarantee_text.guarantee_heading(guarantee)), sentence)
    facts.add_row("", Text(str(guarantee_text.guarantee_symbols(guarantee)), style="dim"))
    doubts = Fact("Warning", tuple(map(str, guarantee_text.warnings(guarantee))), doubt=True)
    for fact in (doubts, *estimates.about(FILES)):
        for number, text in enumerate(fact.lines):
            style = "yellow" if fact.doubt else ""
            facts.add_row("" if number else fact.name, Text(text, style=style))
    yield facts


def _short_header(estimates: Estimates) -> Iterator[RenderableType]:
    """Yield the title, the guarantee in one line, and every warning."""
    facts = [*estimates.about(FILES)]
    people = next(text for fact in facts if fact.name == FACT_CROWD for text in fact.lines)
    yield Text(f"{estimates.plan.survey.name}: {people}", style="bold")
    if warning := invented_warning(estimates):
        yield Text(warning, style="bold yellow")
    yield Text(_promise(estimates.guarantee, verbose=False))
    for text in guarantee_text.warnings(estimates.guarantee):
        yield Text(f"Warning: {text}", style="yellow")
    for fact in facts:
        if fact.doubt:
            yield Text(f"{fact.name}: {' '.join(fact.lines)}", style="yellow")


def _footer(estimates: Estimates) -> Iterator[RenderableType]:
    """Yield what is left out, what receipts say, and whom the guarantee takes for one person."""
    yield Text("")
    for fact in estimates.about(FILES):
        if not (fact.doubt or fact.short or fact.name == FACT_NOISE):
            yield Text(f"{fact.name}: {' '.join(fact.lines)}", style="dim")


def _fitting(item: Shown, verbose: bool) -> RenderableType:
    if len(item.table.questions) != 2:
        return _list(item, verbose)
    return _GridOrList(_grid(item, verbose), _list(item, verbose))


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
    """Return the words that are present, the most frequent first."""
    rows = words.present_rows
    others = f"{percent(words.others, 2)}, std. error {percent(words.others_error, 2)}"
    caption = f"% of people; {words.present_note}; other words: {others}"
    shown = _table(title, caption, "word", "estimate", "std. error", "95% interval")
    for row in rows:
        shown.add_row(Text(row.word), *_figures(row, 2))
    return shown


def _list(item: Shown, verbose: bool = True) -> Table:
    """Return one line for each cell."""
    of, several = item.table, len(item.table.questions) > 1
    errors = "" if item.certain else f"; errors: {of.error.includes}"
    shown = _table(
        item.title,
        f"% of {of.provenance.whose}{of.provenance.rounding}{errors}{_note(item, verbose)}",
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


def _note(item: Shown, verbose: bool) -> str:
    """Return the precision, the influence of one sender, and what is left out."""
    note = f"; {item.note}" if item.note else ""
    if len(item.cells) > MOST_LINES:
        note += f"; {MOST_LINES} of {len(item.cells):,} cells are shown, use -o for all"
    return f"; {quality(item.table, shift=verbose)}{note}"


def _grid(item: Shown, verbose: bool) -> Table:
    """Return rows by columns: estimate ± half of the interval."""
    shown = _table(item.title, _grid_caption(item, verbose))
    rows, columns = item.table.answers
    shown.add_column(Text(item.names[0]), no_wrap=True)
    for name in columns:
        shown.add_column(Text(name), justify="right", no_wrap=True)
    places = digits(item.cells)
    for start, name in enumerate(rows):
        line = item.cells[start * len(columns) : (start + 1) * len(columns)]
        shown.add_row(Text(name), *(_plus_minus(cell, places) for cell in line))
    return shown


def _grid_caption(item: Shown, verbose: bool) -> str:
    truth = " (truth)" if item.has_truth else ""
    mark = f"; * {BELOW_ZERO}" if any(cell.below_zero for cell in item.cells) else ""
    whose = f"% of {item.table.provenance.whose}{item.table.provenance.rounding}"
    interval = f"estimate ± half of the {item.intervals}{truth}{mark}"
    return f"{whose}; {interval}; errors: {item.table.error.includes}{_note(item, verbose)}"


def _plus_minus(cell: Cell, places: int) -> Text:
    half = percent((cell.high - cell.low) / 2, places)
    truth = "" if cell.truth is None else f" ({percent(cell.truth, places)})"
    mark = "*" if cell.below_zero else " "
    text = f"{percent(cell.estimate, places)} ± {half}{truth}{mark}"
    return Text(text, style="yellow" if cell.below_zero else "")
