"""The commands of a collector: `collector init`, `collector run` and `collector check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.findings import print_findings
from incrowd.cli.later import needing_collect
from incrowd.cli.options import AsJson, make_folder

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
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
    from incrowd.collection.collector.places import Places, new_key
    from incrowd.files import PRIVATE_FOLDER

    make_folder(folder, "folder", PRIVATE_FOLDER)
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
    as INCROWD_COLLECTOR_PORT and so on. With a token there is a dashboard.

    \b
    Example:
      incrowd collector run collector --bundle bundle.json
    """
    from incrowd.collection.collector.keeper import alone, is_complete, keep_bundle
    from incrowd.collection.collector.places import Places, load_private
    from incrowd.collection.machine import protect, system

    parts = _parts()
    places, settings = Places(folder), parts.load_collector_settings(folder)
    made = keep_bundle(places, bundle)
    if is_complete(places, made, system()) and not places.private.exists():
        say("everything is opened, and the private key is destroyed: nothing is left to do")
        return
    protect()
    private = load_private(places.private, made)
    parts.log_discreetly("incrowd.collector")
    with alone(places), parts.listening("collector", settings.host, settings.port) as door:
        host, port = door.getsockname()[:2]
        lines = [f"bundle {made.digest.hex()}; listening on {host}, port {port}"]
        if settings.token:
            lines.append(f"dashboard at {parts.DASHBOARD} there; it asks for the token")
        service = parts.application(folder, made, private, settings)
        parts.serve(service, door, lambda: say("\n".join(lines)))


@app.command()
def check(folder: Folder, json: AsJson = False) -> None:
    """Look at permissions, swap, clock and disk, at what was opened, and at what is left over.

    Exit code 1 if something should be otherwise.

    \b
    Example:
      incrowd collector check collector
    """
    from incrowd.collection.collector import keeper
    from incrowd.collection.collector.keeper import keep_bundle
    from incrowd.collection.collector.places import Places
    from incrowd.collection.machine import system

    places = Places(folder)
    _parts().load_collector_settings(folder)
    print_findings(keeper.check_machine(places, keep_bundle(places, None), system()), json)


def _parts() -> Any:
    """What needs the extra `collect`. Raises UsageError without it."""
    with needing_collect("collector"):
        from incrowd.cli import receiving
    return receiving
