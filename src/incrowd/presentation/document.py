"""A document as data: its parts in order, which are drawn for Word (`word.py`) and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Paper = Literal["A4", "letter"]
Tone = Literal["plain", "main", "quiet", "warning"]


@dataclass(frozen=True)
class Heading:
    """A heading. level: 1 for a chapter, 2 for a part of it, and so on."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Paragraph:
    """A paragraph. main: its most important sentence; quiet: a remark; warning: see it first."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Bullets:
    """Short texts below each other, each with a mark before it."""

    texts: Sequence[str]


@dataclass(frozen=True)
class PlacedPicture:
    """A picture. png: its bytes. alternative: what it shows, for people who do not see it.

    width: in centimeters; a picture wider than the page is as wide as the page.
    """

    png: bytes
    alternative: str
    width: float


@dataclass(frozen=True)
class PageBreak:
    """What follows begins on a new page."""


@dataclass(frozen=True)
class Grid:
    """A table. The headings are repeated on each page; without headings it has none, and no lines.

    rows: texts, or parts of the document. widths: of the columns, relative to each other; none for
    equal ones. figures: whether all columns but the first are numbers, which end at the right.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[GridCell]]
    widths: Sequence[float] = ()
    figures: bool = False


DocumentPart = Heading | Paragraph | Bullets | PlacedPicture | PageBreak | Grid
GridCell = str | Sequence[DocumentPart]


@dataclass(frozen=True)
class PrintedDocument:
    """A document to print. language: of its texts, such as "de"."""

    title: str
    parts: Sequence[DocumentPart]
    language: str = "en"
    paper: Paper = "A4"
