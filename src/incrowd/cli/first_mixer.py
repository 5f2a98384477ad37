"""The commands of the first of two mixers: `first-mixer init`, `run` and `check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import mixing
from incrowd.cli.console import print_json, say
from incrowd.cli.later import CommandGroup
from incrowd.cli.mixing import BundleFile
from incrowd.cli.options import AsJson, make_folder

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Receive uploads, and send the second mixer one batch.

    \b
    Example:
      incrowd first-mixer init first
      incrowd first-mixer run first --bundle bundle.json
      incrowd first-mixer check first""",
)

FirstMixerFolder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", help="Folder of the first mixer's files, for one bundle."),
]


@app.command()
def init(folder: FirstMixerFolder, json: AsJson = False) -> None:
    """Create the first mixer's key. Give the public half to the inviter, who makes the bundle.

    \b
    Example:
      incrowd first-mixer init first
    """
    from incrowd.collection.mixer.setup import make_keys
    from incrowd.collection.settings import FirstMixerSettings, load_settings
    from incrowd.files import PRIVATE_FOLDER

    settings = load_settings(FirstMixerSettings, folder)
    make_folder(folder, "folder", PRIVATE_FOLDER)
    public = make_keys(settings)
    if json:
        print_json(public | {"file": str(settings.public_file)})
        return
    say(f"wrote {settings.signing_file}: secret; keep it out of backups")
    say(f"wrote {settings.public_file}: give it to the inviter, who puts it into the bundle")
    for name, value in public.items():
        typer.echo(f'{name} = "{value}"')


@app.command()
def run(
    folder: FirstMixerFolder,
    bundle: BundleFile = None,
) -> None:
    """Receive uploads until closing, then deliver one batch to the second mixer, until stopped.

    Set host, port, database and the path of the secret in FOLDER/first-mixer.toml, or in
    environment variables such as INCROWD_FIRST_MIXER_PORT.

    \b
    Example:
      incrowd first-mixer run first --bundle bundle.json
    """
    from incrowd.collection.settings import FirstMixerSettings

    mixing.run(FirstMixerSettings, folder, bundle)


@app.command()
def check(folder: FirstMixerFolder, json: AsJson = False) -> None:
    """Check permissions, clock, disk, swap and logs, and what is left after the batch.

    Exit code 1 if a check fails.

    \b
    Example:
      incrowd first-mixer check first
    """
    from incrowd.collection.settings import FirstMixerSettings

    mixing.check(FirstMixerSettings, folder, json)
