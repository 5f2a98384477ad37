"""A guarantee card as one HTML page that needs nothing else, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from incrowd.presentation.card import Card, Grid, Section
from incrowd.presentation.style import style_sheet

_RULES = """
main{max-width:900px;padding:40px 32px}section{padding:22px 0}h2{margin:0 0 6px}
.promise{margin:20px 0 0}.promise .warn{color:var(--warn);font-weight:550}
.unproved{border-color:var(--warn)}.promise.unproved strong{color:var(--warn)}
td,th{text-align:left;white-space:normal;overflow-wrap:anywhere;padding:5px 18px 5px 0}
td{min-width:5em}th[scope=row]{min-width:9em}table.lines th{width:12em;color:var(--muted)}
pre{margin:0;padding:12px 16px;background:var(--soft);border-radius:6px;white-space:pre-wrap;
overflow-wrap:anywhere;font:13px/1.6 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media (max-width:1000px){.numbers{max-width:none}}
@media screen and (max-width:620px){main{padding:28px 18px}table.lines th{width:7em}}
@page{margin:14mm}
@media print{body{font-size:9.5pt;line-height:1.4}main{padding:0}h1{font-size:18pt}
h2{font-size:12pt}section{padding:8pt 0}.promise .claim{font-size:12pt}
td,th{padding:2.5pt 12pt 2.5pt 0}p{margin-bottom:5pt}.quiet{font-size:8.5pt}
.numbers{max-width:none}pre{break-inside:avoid;font-size:8.5pt}}
"""


def html(card: Card) -> str:
    """A self-contained page: no network, no script, no other file. Prints on a page or two."""
    name = escape(card.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="generator" content="incrowd">'
        f"\n<title>{name}</title>\n<style>{style_sheet()}{_RULES}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{name}</h1>\n<p class="quiet">{escape(card.kind)}</p>\n{_promise(card)}'
        f"{''.join(map(_section, card.sections))}</main>\n</body>\n</html>\n"
    )


def _promise(card: Card) -> str:
    kind = "promise" if card.proved else "promise unproved"
    return (
        f'<div class="{kind}"><strong>{escape(card.heading)}</strong>\n'
        f'<p class="claim">{escape(card.claim)}</p>\n'
        f"{_paragraphs(card.symbols, 'quiet')}{_paragraphs(_warned(card), 'warn')}</div>\n"
    )


def _warned(card: Card) -> Iterator[str]:
    return (f"Warning: {text}." for text in card.warnings)


def _paragraphs(texts: Iterable[str], kind: str) -> str:
    return "".join(f'<p class="{kind}">{escape(text)}</p>\n' for text in texts)


def _section(section: Section) -> str:
    grid = _table(section.grid) if section.grid else ""
    code = f"<pre>{escape(chr(10).join(section.code))}</pre>\n" if section.code else ""
    paragraphs = _paragraphs(section.paragraphs, "words")
    return f"<section>\n<h2>{escape(section.title)}</h2>\n{paragraphs}{grid}{code}</section>\n"


def _table(grid: Grid) -> str:
    kind = "" if grid.head else ' class="lines"'
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in grid.head)
    head = f"<thead><tr>{cells}</tr></thead>\n" if grid.head else ""
    rows = "".join(map(_row, grid.rows))
    return f'<div class="numbers"><table{kind}>{head}<tbody>\n{rows}</tbody></table></div>\n'


def _row(row: tuple[str, ...]) -> str:
    cells = "".join(f"<td>{escape(text)}</td>" for text in row[1:])
    first = escape(row[0]).replace("_", "_<wbr>")  # a line may break after each underscore
    return f'<tr><th scope="row">{first}</th>{cells}</tr>\n'


def markdown(card: Card) -> str:
    """The card as Markdown with tables (GitHub's); text that looks like Markdown stays text."""
    lines = [f"# {_plain(card.title)}", _plain(card.kind), f"## {_plain(card.heading)}"]
    lines += map(_plain, (card.claim, *card.symbols, *_warned(card)))
    for section in card.sections:
        lines += [f"## {_plain(section.title)}", *map(_plain, section.paragraphs)]
        if section.grid:
            lines.append("\n".join(_markdown_table(section.grid)))
        if section.code:
            lines.append("\n".join(f"    {_one_line(line)}" for line in section.code))
    return "\n\n".join(lines) + "\n"


def _markdown_table(grid: Grid) -> Iterator[str]:
    width = len(grid.rows[0])
    yield _markdown_row(grid.head or ("",) * width)
    yield f"|{' --- |' * width}"
    yield from map(_markdown_row, grid.rows)


def _markdown_row(row: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_plain, row))} |"


# An underscore within a word marks nothing up, and names are full of them.
_MARKS = re.compile(r"[\\`*\[\]<>&#|~$]|(?<![^\W_])_|_(?![^\W_])")


def _plain(text: str) -> str:
    """Text with a backslash before everything that Markdown would read as markup."""
    return _MARKS.sub(r"\\\g<0>", _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
