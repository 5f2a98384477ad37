"""The command `open`: a release into collections, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import show
from incrowd.cli.console import print_json, progress, say
from incrowd.cli.options import AsJson
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.keys import load_private
from incrowd.collection.collector.opening import cores
from incrowd.collection.collector.receipt import received
from incrowd.collection.collector.taking import read_start
from incrowd.collection.durable import destroy
from incrowd.collection.machine import protect
from incrowd.collection.wire.bundle import Bundle
from incrowd.errors import UsageError
from incrowd.estimation.results import Received
from incrowd.presentation.receipts import receipt_facts


def open_sealed(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="Release, as the shuffler sent it.")
    ],
    bundle: Annotated[Path, typer.Option(help="The bundle that it belongs to.")],
    key: Annotated[Path, typer.Option(help="The private key that `collector init` made.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to make.")],
    workers: Annotated[
        int, typer.Option(min=0, help="Processes that open; 0 for one on each core.")
    ] = 0,
    keep_key: Annotated[
        bool, typer.Option("--keep-key", help="Keep the private key, for other strata.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Open a release without a server. Collections, the receipt and the bundle go into a folder.

    The private key is destroyed when every stratum of the bundle is in the release, and all was
    read again; see --keep-key.

    \b
    Example:
      incrowd open 0.release --bundle bundle.json --key private.key -o reports
      incrowd estimate plan.json reports
    """
    protect()
    made = Bundle.parse(_read("bundle", bundle))
    private = load_private(key, made)
    signed, start = read_start(release)
    with progress("opening, reports", signed.header.reports) as advance:
        many = workers or cores()
        receipt = open_release(
            release, start, signed, made, private, output, workers=many, advance=advance
        )
    gone = len(signed.header.strata) == len(made.strata) and not keep_key
    if gone:
        destroy(key)
    _show(received(receipt, made), output, key, gone, json)


def _show(found: Received, output: Path, key: Path, gone: bool, json: bool) -> None:
    """What was opened, and what became of the key."""
    if json:
        facts = {"output": str(output), "key_destroyed": gone, "receipt": receipt_facts(found)}
        print_json(facts)
        return
    show.receipts([found])
    say(f"wrote {output}")
    if gone:
        say(f"destroyed {key}: everything is opened")
    else:
        say(f"{key} is still there: destroy it when all strata are opened")


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        allowed = f"it cannot be read: {error.strerror}; name another file"
        raise UsageError.of(name, str(path), allowed) from None
