"""The commands of a second mixer: `second-mixer init`, `run` and `check`."""

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
    help="""Open the first mixer's batch, and mix it again.

    \b
    Example:
      incrowd second-mixer init second-mixer
      incrowd second-mixer run second-mixer --bundle bundle.json""",
)

SecondMixerFolder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", help="Folder of the second mixer's files, for one bundle."),
]


@app.command()
def init(
    folder: SecondMixerFolder,
    classical: Annotated[
        bool, typer.Option("--classical", help="Open with X25519 instead of X-Wing.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Create the second mixer's keys. Give the printed lines to the inviter.

    The private keys stay in FOLDER until the releases are complete. Use them for one bundle only.
    By default, envelopes are sealed with X-Wing (ML-KEM-768 and X25519), so that recorded traffic
    stays sealed even if quantum computers break X25519.

    \b
    Example:
      incrowd second-mixer init second-mixer
    """
    from incrowd.collection.mixer.second.keeper import make_keys
    from incrowd.collection.settings import SecondMixerSettings, load_settings
    from incrowd.files import PRIVATE_FOLDER

    settings = load_settings(SecondMixerSettings, folder)
    make_folder(folder, "folder", PRIVATE_FOLDER)
    public = make_keys(settings, classical=classical)
    if json:
        print_json({**public, "file": str(settings.public_file)})
        return
    say(f"wrote {settings.public_file}: give it to the inviter, who puts it into the bundle")
    for path in settings.private_files:
        say(f"wrote {path}: secret; no backup should hold it")
    for name, value in public.items():
        typer.echo(f'{name} = "{value}"')


@app.command()
def run(
    folder: SecondMixerFolder,
    bundle: BundleFile = None,
) -> None:
    """Receive the batch, and release it to the collector, until stopped.

    Set host, port, the number of processes and the path of the secret in FOLDER/second-mixer.toml,
    or in environment variables such as INCROWD_SECOND_MIXER_PORT.

    \b
    Example:
      incrowd second-mixer run second-mixer --bundle bundle.json
    """
    from incrowd.collection.settings import SecondMixerSettings

    mixing.run(SecondMixerSettings, folder, bundle)


@app.command()
def check(folder: SecondMixerFolder, json: AsJson = False) -> None:
    """Check permissions, swap, clock and disk, what was released, and what is left over.

    Exit code 1 if a check fails.

    \b
    Example:
      incrowd second-mixer check second-mixer
    """
    from incrowd.collection.settings import SecondMixerSettings

    mixing.check(SecondMixerSettings, folder, json)
