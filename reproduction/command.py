"""The command: every printed value and figure of the five papers, recomputed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from incrowd.cli.console import out, print_json, say, working
from incrowd.cli.options import AsJson, make_folder
from reproduction.row import Row

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

STYLES = {"agrees": "green", "misprint": "yellow", "wrong": "red"}
WIDTHS = {"place": 3, "printed": 5, "formula": 3, "true": 5, "verdict": 4}  # relative widths


@app.command()
def papers(
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for papers.html and the figures."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Recompute all values and figures of the five papers. It takes a minute or two.

    \b
    Example:
      python -m reproduction -o papers
    """
    if output:
        make_folder(output)
    from reproduction.recomputed import rows  # slow to import, as is drawing below

    with working("recomputing the papers") as status:

        def progress(section: str) -> None:
            status.update(f"recomputing: {section}")

        all_rows = rows(progress)
        if output:
            from reproduction.drawing import write_papers

            written = write_papers(output, all_rows, progress)
            say(f"wrote {len(written)} files; begin with {output / 'papers.html'}")
    if json:
        print_json({"rows": [dataclasses.asdict(row) for row in all_rows]})
    else:
        _show(all_rows)


def _show(all_rows: tuple[Row, ...]) -> None:
    """Print a table for each paper, and then the number of rows with each verdict."""
    for paper, lines in groupby(all_rows, key=lambda row: row.paper):
        out.print(_table(paper, lines))
    counted = Counter(row.kind for row in all_rows)
    say(f"{len(all_rows)} rows: {', '.join(f'{counted[kind]} {kind}' for kind in STYLES)}")


def _table(paper: str, lines: Iterable[Row]) -> Table:
    table = Table(
        title=Text(paper, style="bold"), title_justify="left", expand=True, show_lines=True
    )
    for name, width in WIDTHS.items():
        table.add_column(name, ratio=width, overflow="fold")
    for row in lines:
        cells = (row.place, row.printed, row.formula_text, row.true)
        verdict = Text(row.verdict, style=STYLES[row.kind])
        table.add_row(*map(Text, cells), verdict)  # as text: brackets are not markup
    return table
