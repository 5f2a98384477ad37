"""What goes to the terminal: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status
from rich.text import Text

from incrowd.characters import visible
from incrowd.cli.failing import line
from incrowd.cli.naming import naming

if TYPE_CHECKING:
    from incrowd.reports.collection import Collection

out = Console()
err = Console(stderr=True)


def print_json(data: Any) -> None:
    """One JSON document on standard output."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(f"{visible(text)}\n")


def printed_as_json(json: bool, facts: dict[str, Any], seed: int | None) -> bool:
    """Whether the facts were printed as JSON; else, of a simulation, the warning above the result.

    Every result that comes from reports goes through here, so that all of them say so.
    """
    from incrowd.presentation.simulated import marked, simulation_warning  # slow to load

    if json:
        print_json(marked(facts, seed))
    elif seed is not None:
        out.print(Text(simulation_warning(seed), style="bold yellow"))
    return json


def say(text: str) -> None:
    """A line about what is being done, on standard error."""
    print_line(line("note", text))


def print_line(text: str) -> None:
    """A line on standard error as it is."""
    err.print(text, markup=False, highlight=False, soft_wrap=True)


def working(text: str) -> Status:
    """A sign of life on standard error for work of unknown length; a context manager."""
    return err.status(text)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error; yields the function that advances it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = not err.is_terminal  # elsewhere a bar would leave empty lines
    with Progress(
        *columns, TimeRemainingColumn(), console=err, transient=True, disable=hidden
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)


@contextmanager
def counting(path: Path) -> Iterator[Iterator[Collection]]:
    """The parts of reports, with a progress bar over their number; errors in them name the file."""
    from incrowd.reports.collection import row_groups  # slow to load, and no service reads reports
    from incrowd.reports.folder import report_files, stream_reports

    with (
        naming(path),
        progress("counting reports", sum(map(row_groups, report_files(path)))) as advance,
    ):
        yield _advancing(stream_reports(path), advance)


def all_parts(paths: Sequence[Path]) -> list[Collection]:
    """The parts of all reports together, counted one file or folder after the other."""
    collections: list[Collection] = []
    for path in paths:
        with counting(path) as parts:
            collections += parts
    return collections


def _advancing(parts: Iterator[Collection], advance: Callable[[int], None]) -> Iterator[Collection]:
    for part in parts:
        yield part
        advance(1)
