"""One self-contained HTML page that compares the papers with correct values; a page per figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup

from incrowd.presentation.shell import rendered
from reproduction.figure import Figure
from reproduction.row import Row

Drawn = tuple[Figure, Markup]  # with its inline SVG


def papers_page(rows: Sequence[Row], drawn: Sequence[Drawn]) -> str:
    """Return a self-contained page: for each paper its rows and its figures,
    with their inline SVG."""
    papers = [
        (paper, list(lines), [pair for pair in drawn if pair[0].paper == paper])
        for paper, lines in groupby(rows, key=lambda row: row.paper)
    ]
    counted = Counter(row.kind for row in rows)
    count = f"{len(rows)} rows: {counted['agrees']} agree, {counted['misprint']} are misprints, "
    count += f"{counted['wrong']} are wrong."
    title = "The papers, recomputed"
    return rendered("papers.html", "reproduction", title=title, count=count, papers=papers)


def figure_page(figure: Figure, picture: Markup) -> str:
    """Return a self-contained page of one figure."""
    return rendered(
        "figure.html", "reproduction", title=figure.title, figure=figure, picture=picture
    )
