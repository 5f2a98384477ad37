"""The commands of a shuffler: `shuffler init`, `shuffler run` and `shuffler check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.findings import print_findings
from incrowd.cli.later import needing_collect
from incrowd.cli.options import AsJson, PlanFile, certified

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Take sealed reports, mix them, pass them on.

    \b
    Example:
      incrowd shuffler init plan.json collection.toml shuffler
      incrowd shuffler check shuffler
      incrowd shuffler run shuffler""",
)

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The shuffler's files, of one bundle.")
]


@app.command()
def init(
    plan: PlanFile,
    collection: Annotated[
        Path, typer.Argument(metavar="COLLECTION", help="What is stated about it, a TOML file.")
    ],
    folder: Folder,
    json: AsJson = False,
) -> None:
    """Make the bundle of a collection, and the shuffler's keys.

    Certifies the plan, and prints what the bundle stands for. Its link is what people are given.

    \b
    Example:
      incrowd shuffler init plan.json collection.toml shuffler
    """
    from incrowd.presentation.data import promise_facts  # slow to load, and `run` starts often
    from incrowd.presentation.sentences import (
        against_sentence,
        guarantee_sentence,
        guarantee_symbols,
    )

    parts = _parts()
    terms, settings = parts.Terms.load(collection), parts.load_shuffler_settings(folder)
    made = parts.make_bundle(certified(plan), terms)
    parts.install(settings, made.bundle, made.private)
    bundle, found = made.bundle, made.guarantee
    link = parts.Link(bundle.addresses.shuffler, bundle.digest)
    facts = {
        "bundle": str(settings.bundle_file),
        "digest": bundle.digest.hex(),
        "short": parts.short(bundle.digest),
        "link": str(link),
        "least_people": bundle.least_people,
        "reports_per_person": bundle.places,
        "upload_bytes": parts.upload_length(bundle),
        "guarantee": promise_facts(found, sealed=True),
        "secret": str(settings.secret_file),
    }
    if json:
        print_json(facts)
        return
    say(f"wrote {settings.bundle_file}: give it to the collector; everybody may have it")
    say(f"wrote {settings.secret_file} and {settings.signing_file}: secret, and for no backup")
    for name in ("link", "short", "least_people", "reports_per_person", "upload_bytes"):
        typer.echo(f"{name.replace('_', ' ')}: {facts[name]}")
    typer.echo(f"guarantee: {guarantee_sentence(found)}")
    typer.echo(guarantee_symbols(found))
    typer.echo(f"against: {against_sentence(found, sealed=True)}")


@app.command()
def run(folder: Folder) -> None:
    """Take uploads, and release what is due, until it is stopped.

    Host, port, database and the place of the secret stand in FOLDER/shuffler.toml, or in the
    environment as INCROWD_SHUFFLER_PORT and so on.

    \b
    Example:
      incrowd shuffler run shuffler
    """
    parts = _parts()
    settings = parts.load_shuffler_settings(folder)
    parts.protect()
    parts.log_discreetly()
    store = parts.open_store(settings)
    with parts.listening("shuffler", settings.host, settings.port) as door:
        host, port = door.getsockname()[:2]
        text = f"bundle {store.bundle.digest.hex()}; listening on {host}, port {port}"
        parts.serve(parts.application(store, store.bundle, settings), door, lambda: say(text))
    store.engine.dispose()


@app.command()
def check(folder: Folder, json: AsJson = False) -> None:
    """Look at permissions, clock, disk, swap and logs, and at what is left after the last release.

    Exit code 1 if something should be otherwise.

    \b
    Example:
      incrowd shuffler check shuffler
    """
    parts = _parts()
    settings = parts.load_shuffler_settings(folder)
    print_findings(parts.check(settings, parts.open_store(settings)), json)


def _parts() -> Any:
    """What needs the extra `collect`. Raises UsageError without it."""
    with needing_collect("shuffler"):
        from incrowd.cli import serving
    return serving
