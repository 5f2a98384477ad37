"""The papers beside the truth as one HTML page that needs nothing else; and a page a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from incrowd.presentation.style import style_sheet
from reproduction.figure import Figure
from reproduction.row import Row

Drawn = tuple[Figure, str]  # with its inline SVG

_RULES = """
.rows{overflow-x:auto}.rows table{table-layout:fixed;min-width:760px}
.rows td,.rows th{text-align:left;white-space:normal;overflow-wrap:anywhere;padding:6px 14px 6px 0}
.rows col.place{width:15%}.rows col.printed{width:23%}.rows col.formula{width:16%}
.rows col.true{width:26%}.rows col.verdict{width:20%}
.agrees{color:var(--muted)}.misprint{color:var(--accent)}.wrong{color:var(--warn);font-weight:550}
figure{margin:28px 0}figcaption{max-width:46em}figure h3{margin:0 0 4px}
"""
_COLUMNS = ("place", "printed", "formula", "true", "verdict")
_READ = (
    "Every printed value and statement of five papers beside what its own formula gives and what "
    "is true: computed exactly, or numerically to the digits shown, or simulated where it says so."
)


def papers_page(rows: Sequence[Row], drawn: Sequence[Drawn]) -> str:
    """A self-contained page: for each paper its rows and its figures, with their inline SVG."""
    parts = [_count(rows)]
    for paper, lines in groupby(rows, key=lambda row: row.paper):
        pictures = "".join(_figure(*pair) for pair in drawn if pair[0].paper == paper)
        parts.append(f"<section>\n<h2>{escape(paper)}</h2>\n{_table(lines)}{pictures}</section>\n")
    return _page("The papers, recomputed", "".join(parts))


def figure_page(figure: Figure, picture: str) -> str:
    """A self-contained page of one figure."""
    caption = f'<p class="words">{escape(figure.caption)}</p>\n'
    body = f'<p class="quiet">{escape(figure.paper)}</p>\n<div class="chart">{picture}</div>\n'
    return _page(figure.title, body + caption)


def _page(title: str, body: str) -> str:
    name = escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="generator" content="incrowd">'
        f"\n<title>{name}</title>\n<style>{style_sheet()}{_RULES}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{name}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def _count(rows: Sequence[Row]) -> str:
    counted = Counter(row.kind for row in rows)
    numbers = f"{len(rows)} rows: {counted['agrees']} agree, {counted['misprint']} are misprints, "
    return (
        f'<p class="words">{escape(_READ)}</p>\n'
        f'<p class="quiet">{numbers}{counted["wrong"]} are wrong.</p>\n'
    )


def _table(rows: Iterator[Row]) -> str:
    widths = "".join(f'<col class="{name}">' for name in _COLUMNS)
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    return (
        f'<div class="rows"><table><colgroup>{widths}</colgroup><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{''.join(map(_row, rows))}</tbody></table></div>\n"
    )


def _row(row: Row) -> str:
    cells = (row.printed, row.formula_text, row.true)
    middle = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    verdict = f'<td class="{row.kind}">{escape(row.verdict)}</td>'
    return f'<tr><th scope="row">{escape(row.place)}</th>{middle}{verdict}</tr>\n'


def _figure(figure: Figure, picture: str) -> str:
    return (
        f'<figure id="{figure.stem}"><h3>{escape(figure.title)}</h3>\n'
        f'<div class="chart">{picture}</div>\n'
        f'<figcaption class="quiet">{escape(figure.caption)}</figcaption></figure>\n'
    )
