"""The measurements as a table and as a page of the manual."""

import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

from rich.table import Table

PATH = Path("docs") / "benchmarks.md"
HEAD = ("what", "time", "compared with", "its time", "ratio", "target")
INTRODUCTION = """# Benchmarks

Written by `make bench` on {day}, in {minutes:.0f} minutes. {machine};
Python {python}, numpy {numpy}, pyarrow {pyarrow}. A missed target does not fail a build. Times
differ between machines, so compare the ratios: both sides were measured in the same run, in turns,
and the medians are shown.

The ratio is the other's time divided by the time of incrowd; above 1, incrowd is faster.
"""
NO_BREAK = "\u00a0"
NONE = "Not measured: this needs what was not installed here.\n"


def table(title, rows):
    """For the terminal."""
    shown = Table(*HEAD, title=title)
    for row in rows:
        shown.add_row(*cells(row))
    return shown


def write(sections, seconds):
    """The page of the manual. seconds: how long all measurements took."""
    text = INTRODUCTION.format(
        day=date.today().isoformat(),
        minutes=seconds / 60,
        machine=machine(),
        python=platform.python_version(),
        numpy=version("numpy"),
        pyarrow=version("pyarrow"),
    )
    for title, rows in sections:
        text += f"\n## {title}\n\n{as_markdown(rows) if rows else NONE}"
    PATH.write_text(text)


def as_markdown(rows):
    wanted = any(row.bar for row in rows)
    head = HEAD if wanted else HEAD[:-1]
    lines = [head, ["---", "--:", "---", "--:", "--:", "---"][: len(head)]]
    lines += [cells(row)[: len(head)] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(row):
    peer = duration(row.peer) if row.peer else ""
    ratio = f"{row.peer / row.seconds:,.3g}" if row.peer else ""
    return [row.what, duration(row.seconds), row.beside, peer, ratio, row.bar]


def duration(seconds):
    """Three digits, in a unit that suits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:,.3g}{NO_BREAK}{unit}"
    return f"{seconds / 1e-9:,.3g}{NO_BREAK}ns"


def machine():
    return f"{processor()}, {os.cpu_count()} cores"


def processor():
    """The name of the processor, where the system tells."""
    info = Path("/proc/cpuinfo")
    names = info.read_text().splitlines() if info.exists() else []
    found = [line.split(":", 1)[1].strip() for line in names if line.startswith("model name")]
    return found[0] if found else platform.machine()
