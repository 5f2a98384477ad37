"""The commands of a collector: `collector init` and `collector run`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.later import needing_collect
from incrowd.cli.options import AsJson, make_folder
from incrowd.collection.clock import system
from incrowd.collection.collector.config import load_settings
from incrowd.collection.collector.keeper import is_complete, keep_bundle
from incrowd.collection.collector.keys import load_private, new_key
from incrowd.collection.collector.places import Places

app = typer.Typer(
    no_args_is_help=True,
    help="""Make a collector's key; take and open releases.

    \b
    Example:
      incrowd collector init collector
      incrowd collector run collector --bundle bundle.json""",
)

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The collector's files, of one bundle.")
]


@app.command()
def init(
    folder: Folder,
    key_id: Annotated[int, typer.Option(min=0, max=255, help="Number of the key.")] = 1,
    json: AsJson = False,
) -> None:
    """Make the collector's key. The public half goes to whoever makes the bundle.

    The private half stays in FOLDER, in private.key, until everything is opened. It is for one
    bundle.

    \b
    Example:
      incrowd collector init collector
    """
    make_folder(folder)
    places = Places(folder)
    made = new_key(places, key_id).encoded.hex()
    if json:
        print_json({"key_configuration": made, "file": str(places.public)})
    else:
        say(f"wrote {places.public}: give it to the shuffler, who puts it into the bundle")
        say(f"wrote {places.private}: secret; no backup should hold it")


@app.command()
def run(
    folder: Folder,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Bundle of the shuffler, the first time.")
    ] = None,
) -> None:
    """Take releases and open them, until it is stopped.

    Host, port and the number of processes stand in FOLDER/collector.toml, or in the environment
    as INCROWD_COLLECTOR_PORT and so on.

    \b
    Example:
      incrowd collector run collector --bundle bundle.json
    """
    with needing_collect("collector run"):
        import uvicorn

        from incrowd.collection.collector.app import application
    places, settings = Places(folder), load_settings(folder)
    made = keep_bundle(places, bundle)
    if is_complete(places, made, system()) and not places.private.exists():
        say("everything is opened, and the private key is destroyed: nothing is left to do")
        return
    private = load_private(places.private, made)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    say(f"bundle {made.digest.hex()}; listening on {settings.host}, port {settings.port}")
    service = application(folder, made, private, settings)
    uvicorn.run(service, host=settings.host, port=settings.port, access_log=False, log_config=None)
