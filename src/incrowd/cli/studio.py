"""The command that opens the studio: `studio`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.options import make_folder


def studio(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of the surveys; created if missing.")
    ] = Path("surveys"),
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port on this machine; 0 takes any free one. By default, each folder has its own.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the address in a browser.")] = True,
) -> None:
    """Design a survey, run it, and read its results in a browser.

    This is the studio. Its first page lists the surveys of the folder, how far each is, and what to
    do next. In an empty folder, begin with an example: it opens with one click.

    The first line is the address, with a token that works once. Its port stays the same for a
    folder, unless another program has taken it; then the second line says so. Only this machine can
    reach it. When an address was used, another one is printed. The studio reads and writes the
    files of the other commands. Ctrl-C ends it.

    \b
    Examples:
      incrowd studio surveys
      incrowd studio surveys --no-browser --port 8080
    """
    from incrowd.studio.serving import run

    make_folder(folder)
    run(folder, port=port, browser=browser, print_line=typer.echo)
