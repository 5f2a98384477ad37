"""Measure everything, print it, and write docs/benchmarks.md. Nothing here fails a build.

    python -m bench [section ...]

With sections only those are measured, and nothing is written.
"""

import sys
import time

from rich.console import Console
from rich.progress import Progress

from bench import (
    accounting,
    cells,
    collecting,
    estimation,
    growth,
    kernels,
    mixers,
    nearly_exact,
    on_spark,
    others,
    page,
    start,
    studio,
    tokens,
    whole,
)

SECTIONS = {
    "start": ("The start of a command", start.rows),
    "whole": ("Complete workflows", whole.rows),
    "kernels": ("Inner loops compared with numpy", kernels.rows),
    "others": ("Flips compared with other libraries", others.rows),
    "accounting": ("The accountant", accounting.rows),
    "nearly-exact": ("The least of all bounds", nearly_exact.rows),
    "estimation": ("Estimates", estimation.rows),
    "cells": ("Cells", cells.rows),
    "growth": ("How it grows", growth.rows),
    "collecting": ("Collecting", collecting.rows),
    "tokens": ("Tokens", tokens.rows),
    "mixers": ("Two mixers", mixers.rows),
    "studio": ("The studio", studio.rows),
    "spark": ("Spark", on_spark.rows),
}


def measured(names, console):
    """Title, rows, and seconds of each section, with progress."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("measuring", total=len(names))
        for name in names:
            title, rows = SECTIONS[name]
            start, found = time.monotonic(), []
            for row in rows():
                found.append(row)
                progress.update(task, description=f"{title}: {row.what}")
            progress.advance(task)
            yield title, found, time.monotonic() - start


def main(names):
    console = Console(width=140)
    if unknown := set(names) - set(SECTIONS):
        raise SystemExit(f"unknown: {', '.join(unknown)}; sections are {', '.join(SECTIONS)}")
    found, spent = [], 0.0
    for title, rows, seconds in measured(names or list(SECTIONS), console):
        console.print(page.table(title, rows))
        console.print(f"{seconds:,.0f} s")
        found.append((title, rows))
        spent += seconds
    if not names:
        page.write(found, spent)
        console.print(f"wrote {page.PATH}")


main(sys.argv[1:])
