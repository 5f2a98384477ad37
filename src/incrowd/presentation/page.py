"""Estimates as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import accumulate, groupby

from incrowd.estimation.results import Estimates
from incrowd.estimation.word_shares import WordEstimates
from incrowd.presentation.charts import MOST_CELLS, NARROW, WIDE, chart_svg, group_heading
from incrowd.presentation.data import ALLOWED, Cell, Shown, Word, present_rows, shown
from incrowd.presentation.guarantees import (
    guarantee_heading,
    guarantee_sentence,
    guarantee_symbols,
    warnings,
)
from incrowd.presentation.guide import guide
from incrowd.presentation.messages import message_texts
from incrowd.presentation.number_text import digits, percent, short_percent
from incrowd.presentation.simulated import simulation_warning
from incrowd.presentation.style import style_sheet

# In units of one cell's share of the page: they keep it under 2 MB, and drawing under a minute.
_MOST_CHARTED = 800
_MOST_LISTED = 2500


def page(estimates: Estimates) -> str:
    """A self-contained HTML page: the guarantee, every table as a chart and as numbers, a guide.

    Under 2 MB, unless names are longer than sentences: of many or large tables, those that come
    too late are not drawn, later not listed, and the page says so.
    """
    name = escape(estimates.plan.survey.name)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="generator" content="incrowd">'
        f"\n<title>{name}</title>\n<style>{style_sheet()}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{name}</h1>\n{''.join(_body(estimates))}</main>\n</body>\n</html>\n"
    )


def _body(estimates: Estimates) -> Iterator[str]:
    items = list(shown(estimates))
    if estimates.seed is not None:
        yield f'<p class="banner" role="note">{escape(simulation_warning(estimates.seed))}</p>\n'
    yield _promise(estimates)
    yield _facts(estimates)
    yield _key(any(item.has_truth for item in items))
    before = accumulate(map(_weight, items), initial=0)
    for item, used in zip(items, before, strict=False):
        yield _section(item, used)
    for id, words in estimates.words.items():
        yield _words(id, words)
    yield guide(estimates)


def _weight(item: Shown) -> int:
    """What a table takes of the page; each small multiple comes with axes and a heading."""
    return len(item.cells) + 2 * (len(item.cells) // len(item.table.answers[-1])) + 2


def _promise(estimates: Estimates) -> str:
    guarantee = estimates.guarantee
    return (
        f'<div class="promise words"><strong>{escape(guarantee_heading(guarantee))}</strong>\n'
        f'<p class="claim">{escape(guarantee_sentence(guarantee))}</p>\n'
        f'<p class="quiet">{escape(guarantee_symbols(guarantee))}</p>'
        f"{''.join(f'<p>{escape(text)}</p>' for text in warnings(guarantee))}</div>\n"
    )


def _facts(estimates: Estimates) -> str:
    colluding = estimates.plan.survey.colluding
    facts = {
        "Crowd": f"{estimates.crowd:,} people",
        "May collude with the analyst": f"{colluding:,} of them",
        "Reports accepted": f"{estimates.reports:,}",
        "Reports rejected": f"{estimates.rejected:,}",
    }
    short = "".join(f"<div><dt>{name}</dt><dd>{fact}</dd></div>" for name, fact in facts.items())
    noise = "".join(f"<dd>{escape(text)}</dd>" for text in message_texts(estimates.plan))
    short += f'<div class="all"><dt>Noise</dt>{noise}</div>'
    digest = f"<dt>Plan, SHA-256</dt><dd><code>{estimates.plan.digest}</code></dd>"
    return f'<dl>{short}<div class="all">{digest}</div></dl>\n'


def _key(has_truth: bool) -> str:
    dot = '<path d="M1 7H31" stroke-width="2"/><circle cx="16" cy="7" r="4" fill="currentColor"/>'
    diamond = '<path d="M7 1L13 7L7 13L1 7Z" fill="none" stroke-width="1.4"/>'
    truth = f"<span>{_sign(diamond, 14, 'ink')}true share, known here</span>" if has_truth else ""
    interval = f"<span>{_sign(dot, 32, 'accent')}estimate and interval</span>"
    return f'<p class="key">{interval}{truth}</p>\n'


def _sign(shapes: str, width: int, color: str) -> str:
    return (
        f'<svg width="{width}" height="14" aria-hidden="true" stroke="currentColor" '
        f'style="color:var(--{color})">{shapes}</svg>'
    )


def _section(item: Shown, used: int) -> str:
    """One table; `used` is what the tables before it have taken of the page."""
    drawn = 0 < len(item.cells) <= MOST_CELLS and used + _weight(item) <= _MOST_CHARTED
    listed = item.cells[: max(_MOST_LISTED - used, 0)]
    chart = _chart(item) if drawn else ""
    return (
        f"<section>\n<h2>{' × '.join(map(_breakable, item.table.questions))}</h2>\n"
        f'<p class="quiet">{_caption(item)}{_cuts(item, drawn, len(listed))}</p>\n'
        f'<div class="pair{"" if drawn else " alone"}">{chart}{_numbers(item, listed)}</div>\n'
        "</section>\n"
    )


def _words(id: str, words: WordEstimates) -> str:
    """The words that are present, the most frequent first."""
    found = present_rows(words)[:_MOST_LISTED]
    rows = "\n".join(map(_word, found))
    names = ("estimate", "std. error", "low", "high")
    figures = "".join(f'<th scope="col" class="figure">{name}</th>' for name in names)
    return (
        f"<section>\n<h2>{_breakable(id)}</h2>\n"
        f'<p class="quiet">Percent of people; {words.level:.0%} intervals for '
        f"{escape(words.errors)}. {len(found):,} of {len(words.candidates):,} words are present "
        f"({words.family_error:.0%} for any false one){ALLOWED if found else ''}; all other words: "
        f"{_percent(words.others, 2)} ± {_percent(words.others_error, 2)}.</p>\n"
        f'<div class="pair alone"><div class="numbers"><table><thead><tr><th scope="col">word</th>'
        f"{figures}</tr></thead>\n<tbody>{rows}</tbody></table></div></div>\n</section>\n"
    )


def _word(row: Word) -> str:
    values = (row.standard_error, row.low, row.high)
    others = "".join(f"<td>{_percent(value, 2)}</td>" for value in values)
    main = f'<td class="main">{_percent(row.estimate, 2)}</td>'
    return f'<tr><th scope="row">{escape(row.word)}</th>{main}{others}</tr>'


def _caption(item: Shown) -> str:
    note = f" {escape(item.note)}." if item.note else ""
    return (
        f"Percent of people; {item.table.level:.0%} intervals for {escape(item.table.errors)}. "
        f"As good as {item.table.as_good_as:,.0f} people asked openly; a malicious sender can move "
        f"a figure by {short_percent(item.table.influence)} at most.{note}"
    )


def _cuts(item: Shown, drawn: bool, listed: int) -> str:
    missing = "" if drawn or not item.cells else " Not drawn: too many cells for one page."
    if listed < len(item.cells):
        missing += f" {listed:,} of {len(item.cells):,} cells are listed; write .csv for all."
    return missing


def _chart(item: Shown) -> str:
    label = f"Estimates with intervals: {' × '.join(item.table.questions)}. The table has them all."
    wide, narrow = chart_svg(item, WIDE, label), chart_svg(item, NARROW, label)
    return (
        f'<div class="chart"><div class="wide">{wide}</div>'
        f'<div class="narrow">{narrow}</div></div>\n'
    )


def _numbers(item: Shown, listed: tuple[Cell, ...]) -> str:
    if not listed:
        return ""
    names = ["estimate", "std. error", "low", "high", *(["truth"] if item.has_truth else [])]
    figures = "".join(f'<th scope="col" class="figure">{name}</th>' for name in names)
    several = len(item.table.questions) > 1
    head = _breakable(item.table.questions[-1]) if several else "answer"
    groups = groupby(listed, lambda cell: cell.answer[:-1])
    bodies = (_group(item, group, cells) for group, cells in groups)
    return (
        f'<div class="numbers"><table><thead><tr><th scope="col">{head}</th>{figures}</tr></thead>'
        f"\n{''.join(bodies)}</table></div>"
    )


def _group(item: Shown, group: tuple[str, ...], cells: Iterable[Cell]) -> str:
    """The lines that share the answers to all questions but the last, under those answers."""
    places = digits(item.cells)
    rows = "\n".join(_row(cell, places) for cell in cells)
    heading = _breakable(group_heading(item.table.questions, group))
    span = 5 + item.has_truth
    above = f'<tr><th scope="rowgroup" colspan="{span}">{heading}</th></tr>\n' if group else ""
    return f"<tbody>{above}{rows}</tbody>\n"


def _row(cell: Cell, places: int) -> str:
    mark = '<span class="mark">below 0</span>' if cell.below_zero else ""
    values = (cell.standard_error, cell.low, cell.high, cell.truth)
    others = "".join(f"<td>{_percent(v, places)}</td>" for v in values if v is not None)
    main = f'<td class="main">{_percent(cell.estimate, places)}</td>'
    return f'<tr><th scope="row">{escape(cell.answer[-1])}{mark}</th>{main}{others}</tr>'


def _breakable(name: str) -> str:
    """A line may break after each underscore."""
    return escape(name).replace("_", "_<wbr>")


def _percent(proportion: float, places: int) -> str:
    return percent(proportion, places).replace("-", "−")
