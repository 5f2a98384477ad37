"""The commands of a collector: `collector init`, `collector run` and `collector check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import mixing
from incrowd.cli.console import print_json, say
from incrowd.cli.later import CommandGroup
from incrowd.cli.options import AsJson, make_folder

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Create the collector's key; receive and open releases.

    \b
    Example:
      incrowd collector init collector
      incrowd collector run collector --bundle bundle.json""",
)

CollectorFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of the collector's files, for one bundle.")
]


@app.command()
def init(
    folder: CollectorFolder,
    key_id: Annotated[int, typer.Option(min=0, max=255, help="Number of the key.")] = 1,
    post_quantum: Annotated[
        bool, typer.Option("--post-quantum", help="Seal with X-Wing (ML-KEM-768 and X25519).")
    ] = False,
    json: AsJson = False,
) -> None:
    """Create the collector's key. Give the public half to whoever makes the bundle: the shuffler,
    or the inviter of two mixers.

    The private half stays in FOLDER/private.key until everything is opened. Use a key for one
    bundle only. With --post-quantum, recorded traffic stays sealed even if quantum computers break
    X25519; each sealed report is 1,088 bytes longer.

    \b
    Example:
      incrowd collector init collector
    """
    from incrowd.collection.collector.places import CollectorPlaces, new_key
    from incrowd.collection.protocol.sealed import X25519, X_WING
    from incrowd.files import PRIVATE_FOLDER

    make_folder(folder, "folder", PRIVATE_FOLDER)
    places = CollectorPlaces(folder)
    configuration = new_key(places, key_id, X_WING if post_quantum else X25519).encoded.hex()
    if json:
        print_json({"key_configuration": configuration, "file": str(places.public)})
    else:
        say(f"wrote {places.public}: give it to whoever makes the bundle")
        say(f"wrote {places.private}: secret; no backup should hold it")


@app.command()
def run(
    folder: CollectorFolder,
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", help="The bundle; needed the first time only."),
    ] = None,
) -> None:
    """Receive releases, and with two mixers the inviter's statement; open them until stopped.

    Set host, port and the number of processes in FOLDER/collector.toml, or in environment
    variables such as INCROWD_COLLECTOR_PORT. A token there turns the dashboard on.

    \b
    Example:
      incrowd collector run collector --bundle bundle.json
    """
    from incrowd.collection.settings import CollectorSettings

    mixing.run(CollectorSettings, folder, bundle)


@app.command()
def check(folder: CollectorFolder, json: AsJson = False) -> None:
    """Check permissions, swap, clock and disk, and what has been opened or left over.

    Exit code 1 if a check fails.

    \b
    Example:
      incrowd collector check collector
    """
    from incrowd.collection.settings import CollectorSettings

    mixing.check(CollectorSettings, folder, json)
