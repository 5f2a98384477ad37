"""The command `open`: turn a release into collections, without a server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.console import print_json, progress, say
from incrowd.cli.options import AsJson, EngineOption, Master
from incrowd.errors import UsageError, unreadable
from incrowd.methods import THIS_MACHINE

if TYPE_CHECKING:
    from incrowd.collection.collector.collections import OpeningEngine as OnEngine
    from incrowd.collection.collector.on_spark import SealedRelease
    from incrowd.estimation.receipts import Received
    from incrowd.plans import Guarantee
    from incrowd.sampling.shuffle import Advance

_log = logging.getLogger(__name__)
Workers = Annotated[int, typer.Option(min=0, help="Number of processes; 0 for one per core.")]


def open_sealed(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="Release, as the mixer sent it.")
    ],
    bundle: Annotated[Path, typer.Option(help="The bundle of the release.")],
    key: Annotated[Path, typer.Option(help="The private key from `collector init`.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")],
    workers: Workers = 0,
    engine: EngineOption = "here",
    master: Master = THIS_MACHINE,
    keep_key: Annotated[
        bool, typer.Option("--keep-key", help="Keep the private key for other strata.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Open a release without a server. Write collections, receipt and bundle to a folder.

    If the release has every stratum of the bundle, the private key is destroyed after the result
    has been read back; see --keep-key. With --engine spark, every machine of the cluster must
    find RELEASE and the key under the same paths.

    \b
    Example:
      incrowd open 0.release --bundle bundle.json --key private.key -o reports
      incrowd estimate plan.json reports
    """
    from incrowd.collection.claims import bundle_guarantee
    from incrowd.collection.collector.collections import open_release
    from incrowd.collection.collector.keeper import missing_strata
    from incrowd.collection.collector.on_spark import SealedRelease
    from incrowd.collection.collector.places import load_private
    from incrowd.collection.collector.receipt import received
    from incrowd.collection.machine import cores, protect
    from incrowd.collection.protocol.addresses import is_by_hand
    from incrowd.collection.protocol.bundle import Bundle
    from incrowd.collection.protocol.mixing import release_kind
    from incrowd.collection.taking import Shelf, read_start
    from incrowd.files import destroy

    protect()
    _log.info("reading %s, bundle", bundle)
    try:
        collected = Bundle.parse(bundle.read_bytes())
    except OSError as error:
        reason = unreadable(error)
        raise UsageError.of("bundle", "cli.unreadable", path=str(bundle), reason=reason) from None
    private = load_private(key, collected)
    signed, start = read_start(release, release_kind(collected))
    files = str(release.resolve()), start, collected.encoded, str(key.resolve())
    sealed = SealedRelease(*files, signed.header.number)  # other machines need absolute paths
    with (
        progress("opening, reports", signed.header.reports) as advance,
        _engine(engine, master, sealed, advance) as work,
    ):
        receipt = open_release(
            release,
            start,
            signed,
            collected,
            private,
            output,
            workers=workers or cores(),
            shelf=Shelf(release_kind(collected), key.resolve().parent),
            advance=advance,
            engine=work,
        )
    destroyed = not missing_strata([signed], collected) and not keep_key
    if destroyed:
        destroy(key)
    guarantee = None  # of what was counted
    if not receipt.is_refused:
        guarantee = bundle_guarantee(collected, receipt.opened_people)
    code = signed.confirmation if is_by_hand(collected.collector_address) else ""
    _show(received(receipt, collected), guarantee, output, key, destroyed, code, json)


@contextmanager
def _engine(
    name: str, master: str, sealed: SealedRelease, advance: Advance
) -> Iterator[OnEngine | None]:
    """Yield the engine `spark`, or None for another."""
    from incrowd.collection.collector import on_spark
    from incrowd.reports.spark import started

    if name != "spark":
        yield None
        return
    say(f"opening on Spark: {master}")
    with started(master) as session:
        yield on_spark.engine(session, sealed, advance)


def _show(
    receipt: Received,
    guarantee: Guarantee | None,
    output: Path,
    key: Path,
    destroyed: bool,
    code: str,
    json: bool,
) -> None:
    """Show what was opened, its guarantee, and whether the key still exists.

    code: for the mixer that handed over the release, or "".
    """
    from incrowd.cli import show
    from incrowd.presentation.data import guarantee_facts
    from incrowd.presentation.guarantee_text import guarantee_sentence

    if json:
        facts = {
            "output": str(output),
            "key_destroyed": destroyed,
            "receipt": receipt.facts,
        } | ({"confirmation": code} if code else {})
        print_json(facts | {"guarantee": guarantee and guarantee_facts(guarantee)})
        return
    show.receipts([receipt])
    if guarantee:
        say(guarantee_sentence(guarantee))
    say(f"wrote {output}")
    if code:
        say(f"tell the mixer the code {code}, for `incrowd acknowledge`")
    if destroyed:
        say(f"destroyed {key}: everything is opened")
    else:
        say(f"kept {key}: destroy it when all strata are opened")
