"""A guarantee card as one HTML page that needs nothing else, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from incrowd.presentation.card import Card, Grid
from incrowd.presentation.shell import rendered
from incrowd.reports.files import checked_ending, write_text


def html(card: Card) -> str:
    """A self-contained page: no network, no script, no other file. Prints on a page or two."""
    return rendered("card.html", title=card.title, card=card, warned=list(_warned(card)))


def _warned(card: Card) -> Iterator[str]:
    return (f"Warning: {text}." for text in card.warnings)


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


WRITERS: dict[str, Callable[[Card], str]] = {".html": html, ".md": markdown}


def write_card(card: Card, path: str | Path) -> None:
    """Write a card as .html or .md.

    The file appears whole or not at all. Raises UsageError if the ending is another, or if the
    file cannot be written.
    """
    write_text(path, WRITERS[checked_ending(path, WRITERS)](card))
