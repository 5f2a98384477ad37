"""The commands of a shuffler: `shuffler init`, `run` and `check`, and `invitations`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.mixing import check_mixer, run_mixer
from incrowd.cli.options import AsJson, PlanFile, certified
from incrowd.errors import UsageError
from incrowd.files import PRIVATE, replaced, write_text

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Receive sealed reports, mix them, and pass them on.

    \b
    Example:
      incrowd shuffler init plan.json collection.toml shuffler
      incrowd shuffler check shuffler
      incrowd shuffler run shuffler""",
)

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of the shuffler's files, for one bundle.")
]


@app.command()
def init(
    plan: PlanFile,
    collection: Annotated[
        Path, typer.Argument(metavar="COLLECTION", help="Terms of the collection, a TOML file.")
    ],
    folder: Folder,
    json: AsJson = False,
) -> None:
    """Create the bundle of a collection, and the shuffler's keys.

    Checks the plan's certificate and prints the guarantee, and the link to give to people.

    \b
    Example:
      incrowd shuffler init plan.json collection.toml shuffler
    """
    from incrowd.collection.mixer.init import Terms, make_bundle
    from incrowd.collection.mixer.setup import install
    from incrowd.collection.protocol.addresses import Link, short
    from incrowd.collection.protocol.upload import upload_length
    from incrowd.collection.settings import load_shuffler_settings
    from incrowd.presentation.data import promise_facts  # slow to load
    from incrowd.presentation.sentences import (
        against_sentence,
        guarantee_sentence,
        guarantee_symbols,
    )

    terms, settings = Terms.load(collection), load_shuffler_settings(folder)
    result = make_bundle(certified(plan), terms)
    install(settings, result.bundle, result.private)
    bundle, guarantee = result.bundle, result.guarantee
    link = Link(bundle.addresses.shuffler, bundle.digest)
    facts = {
        "bundle": str(settings.bundle_file),
        "digest": bundle.digest.hex(),
        "short": short(bundle.digest),
        "link": str(link),
        "least_people": bundle.least_people,
        "reports_per_person": bundle.places,
        "upload_bytes": upload_length(bundle),
        "guarantee": promise_facts(guarantee, sealed=True),
        "secret": str(settings.secret_file),
    }
    if json:
        print_json(facts)
        return
    say(f"wrote {settings.bundle_file}: give it to the collector; it is not secret")
    say(
        f"wrote {settings.secret_file} and {settings.signing_file}: secret; keep them out of "
        "backups"
    )
    for name in ("link", "short", "least_people", "reports_per_person", "upload_bytes"):
        typer.echo(f"{name.replace('_', ' ')}: {facts[name]}")
    typer.echo(f"guarantee: {guarantee_sentence(guarantee)}")
    typer.echo(guarantee_symbols(guarantee))
    typer.echo(f"against: {against_sentence(guarantee, sealed=True)}")


@app.command()
def run(folder: Folder) -> None:
    """Receive uploads and release them when due, until stopped.

    Set host, port, database and the path of the secret in FOLDER/shuffler.toml, or in environment
    variables such as INCROWD_SHUFFLER_PORT.

    \b
    Example:
      incrowd shuffler run shuffler
    """
    from incrowd.collection.settings import load_shuffler_settings

    run_mixer(load_shuffler_settings(folder))


@app.command()
def check(folder: Folder, json: AsJson = False) -> None:
    """Check permissions, clock, disk, swap and logs, and what is left after the last release.

    Exit code 1 if a check fails.

    \b
    Example:
      incrowd shuffler check shuffler
    """
    from incrowd.collection.settings import load_shuffler_settings

    check_mixer(load_shuffler_settings(folder), json)


def invitations(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of people to invite.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="CSV file to write, with columns code and link.")
    ],
    shuffler: Annotated[Path, typer.Option(help="The shuffler's folder.")] = Path("shuffler"),
    page: Annotated[
        Path | None, typer.Option(help="HTML page to write: invitations to print and cut out.")
    ] = None,
    survey_page: Annotated[
        str, typer.Option(help="Address of a survey page (see `page`) for the links.")
    ] = "",
    json: AsJson = False,
) -> None:
    """Create invitations, on the shuffler's side. Each lets one person answer once.

    Anyone who has the file could answer for everyone: give each invitation to one person, then
    destroy the file. The collector should never see it.

    \b
    Example:
      incrowd invitations 9000 -o codes.csv --page codes.html
    """
    from incrowd.collection.mixer.init import issue, new_invitations
    from incrowd.collection.mixer.setup import open_store
    from incrowd.collection.protocol.addresses import checked_address, short
    from incrowd.collection.settings import load_shuffler_settings
    from incrowd.presentation.receipts import invitations_page

    if number < 1:
        raise UsageError.of("number", number, "should be at least 1")
    if survey_page:
        try:
            checked_address(survey_page.rstrip("/"))
        except ValueError as error:
            raise UsageError.of("survey_page", survey_page, str(error)) from None
    store = open_store(load_shuffler_settings(shuffler))
    rows = new_invitations(store, number, survey_page)
    with replaced(output, mode=PRIVATE) as temporary:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("code", "link"), *rows])
        title, digest = store.bundle.wording.title, short(store.bundle.digest)
        if page:
            write_text(page, invitations_page(title, digest, rows, survey_page), mode=PRIVATE)
        issue(store, rows)
    issued = store.issued()
    if json:
        print_json({"invitations": number, "issued": issued, "file": str(output)})
    else:
        say(f"wrote {output}: {number:,} invitations, {issued:,} in all; keep it secret")
