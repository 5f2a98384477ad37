"""The common part of the commands of a shuffler and of an inviter: bundles and invitations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.console import print_json, say
from incrowd.errors import Unfit, UsageError, quantity

if TYPE_CHECKING:
    from incrowd.collection.protocol.bundle import Bundle
    from incrowd.plans import Guarantee

NumberArgument = Annotated[
    int, typer.Argument(metavar="NUMBER", help="Number of people to invite.")
]
CodesFile = Annotated[
    Path, typer.Option("-o", "--output", help="CSV file to write, with columns code and link.")
]
PrintedPage = Annotated[
    Path | None, typer.Option(help="HTML page to write: invitations to print and cut out.")
]
SurveyPage = Annotated[str, typer.Option(help="Address of a survey page (see `page`) for links.")]


def bundle_facts(bundle: Bundle, guarantee: Guarantee, file: Path) -> dict[str, Any]:
    """Return what to know of a new bundle, with the link to give to people."""
    from incrowd.collection.claims import organizations_of
    from incrowd.collection.protocol.addresses import Link, short
    from incrowd.collection.protocol.upload import upload_length
    from incrowd.presentation.data import guarantee_facts  # slow to load

    return {
        "bundle": str(file),
        "digest": bundle.digest.hex(),
        "short": short(bundle.digest),
        "link": str(Link(bundle.link_address, bundle.digest)),
        "least_people": bundle.least_people,
        "reports_per_person": bundle.places,
        "upload_bytes": upload_length(bundle),
        "guarantee": guarantee_facts(guarantee, organizations_of(bundle)),
    }


def print_bundle(facts: dict[str, Any], bundle: Bundle, guarantee: Guarantee) -> None:
    """Print the facts of a new bundle, and its guarantee."""
    from incrowd.collection.claims import organizations_of
    from incrowd.presentation.guarantee_text import (
        against_sentence,
        guarantee_symbols,
        promise_sentence,
    )

    for name in ("link", "short", "least_people", "reports_per_person", "upload_bytes"):
        typer.echo(f"{name.replace('_', ' ')}: {facts[name]}")
    typer.echo(f"guarantee: {promise_sentence(guarantee)}")
    typer.echo(guarantee_symbols(guarantee))
    typer.echo(f"against: {against_sentence(guarantee, organizations_of(bundle))}")


def check_invitations(number: int, survey_page: str) -> None:
    """Raise UsageError for a number or an address that cannot be used."""
    from incrowd.collection.protocol.addresses import checked_address

    if number < 1:
        raise UsageError.of("number", "cli.too-few", value=number, least=1)
    if survey_page:
        try:
            checked_address(survey_page.rstrip("/"))
        except Unfit as error:
            path, reason = "survey_page", error.reason
            raise UsageError.of(path, "survey.unfit", value=survey_page, reason=reason) from None


def report_invitations(number: int, issued: int, output: Path, json: bool) -> None:
    """Print how many invitations were created."""
    if json:
        print_json({"invitations": number, "issued": issued, "file": str(output)})
    else:
        say(f"wrote {output}: {quantity(number, 'invitations')}, {issued:,} in all; keep it secret")


def say_secret(files: Sequence[Path]) -> None:
    """Print which files are secret."""
    *most, last = map(str, files)
    say(f"wrote {', '.join(most)} and {last}: secret; keep them out of backups")
