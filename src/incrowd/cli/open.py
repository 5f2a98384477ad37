"""The command `open`: a release into collections, without a server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.console import print_json, progress, say
from incrowd.cli.options import AsJson, Engine, Master
from incrowd.cli.words import THIS_MACHINE
from incrowd.errors import UsageError

if TYPE_CHECKING:
    from incrowd.collection.collector.collections import Advance
    from incrowd.collection.collector.collections import Engine as OnEngine
    from incrowd.collection.protocol.bundle import Bundle
    from incrowd.estimation.results import Received
    from incrowd.plans import Guarantee

_log = logging.getLogger(__name__)
Workers = Annotated[int, typer.Option(min=0, help="Processes that open; 0 for one on each core.")]


def open_sealed(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="Release, as the shuffler sent it.")
    ],
    bundle: Annotated[Path, typer.Option(help="The bundle that it belongs to.")],
    key: Annotated[Path, typer.Option(help="The private key that `collector init` made.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to make.")],
    workers: Workers = 0,
    engine: Engine = "here",
    master: Master = THIS_MACHINE,
    keep_key: Annotated[
        bool, typer.Option("--keep-key", help="Keep the private key, for other strata.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Open a release without a server. Collections, the receipt and the bundle go into a folder.

    The private key is destroyed when every stratum of the bundle is in the release, and all was
    read again; see --keep-key. With --engine spark every machine of the cluster finds RELEASE and
    the key under these paths.

    \b
    Example:
      incrowd open 0.release --bundle bundle.json --key private.key -o reports
      incrowd estimate plan.json reports
    """
    from incrowd.collection.claims import bundle_guarantee
    from incrowd.collection.collector.collections import open_release
    from incrowd.collection.collector.places import load_private
    from incrowd.collection.collector.receipt import received
    from incrowd.collection.collector.taking import read_start
    from incrowd.collection.machine import cores, protect
    from incrowd.collection.protocol.bundle import Bundle
    from incrowd.files import destroy

    protect()
    made = Bundle.parse(_read("bundle", bundle))
    private = load_private(key, made)
    signed, start = read_start(release)
    with (
        progress("opening, reports", signed.header.reports) as advance,
        _engine(engine, master, release, start, made, key, advance) as work,
    ):
        receipt = open_release(
            release,
            start,
            signed,
            made,
            private,
            output,
            workers=workers or cores(),
            advance=advance,
            engine=work,
        )
    gone = len(signed.header.strata) == len(made.strata) and not keep_key
    if gone:
        destroy(key)
    holds = bundle_guarantee(made, receipt.opened_people)
    _show(received(receipt, made), holds, output, key, gone, json)


@contextmanager
def _engine(
    name: str, master: str, release: Path, start: int, bundle: Bundle, key: Path, advance: Advance
) -> Iterator[OnEngine | None]:
    """Spark, if it is asked for; its machines find release and key by their whole paths."""
    from incrowd.collection.collector import on_spark
    from incrowd.reports.spark import started

    if name != "spark":
        yield None
        return
    say(f"opening on Spark: {master}")
    files = str(release.resolve()), start, bundle.encoded, str(key.resolve())
    with started(master) as session:
        yield on_spark.engine(session, on_spark.Sealed(*files), advance)


def _show(
    found: Received, holds: Guarantee, output: Path, key: Path, gone: bool, json: bool
) -> None:
    """What was opened, what holds for it, and what became of the key."""
    from incrowd.cli import show
    from incrowd.presentation.data import guarantee_facts
    from incrowd.presentation.receipts import receipt_facts
    from incrowd.presentation.sentences import guarantee_sentence

    if json:
        facts = {"output": str(output), "key_destroyed": gone, "receipt": receipt_facts(found)}
        print_json(facts | {"guarantee": guarantee_facts(holds)})
        return
    show.receipts([found])
    say(guarantee_sentence(holds))
    say(f"wrote {output}")
    if gone:
        say(f"destroyed {key}: everything is opened")
    else:
        say(f"{key} is still there: destroy it when all strata are opened")


def _read(name: str, path: Path) -> bytes:
    _log.info("reading %s, %s", path, name)
    try:
        return path.read_bytes()
    except OSError as error:
        allowed = f"it cannot be read: {error.strerror}; name another file"
        raise UsageError.of(name, str(path), allowed) from None
