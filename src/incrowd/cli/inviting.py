"""The common part of the commands of a shuffler and of an inviter: bundles and invitations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.catalog.sentences import LANGUAGES, sentence
from incrowd.cli.console import print_json, say
from incrowd.cli.options import choice
from incrowd.errors import Unfit, UsageError, quantity, unreadable

if TYPE_CHECKING:
    from incrowd.collection.invitations import InvitationFiles
    from incrowd.collection.protocol.bundle import Bundle
    from incrowd.plans import Guarantee

NumberArgument = Annotated[
    int, typer.Argument(metavar="NUMBER", help="Number of people to invite; not with --people.")
]
CodesFile = Annotated[
    Path,
    typer.Option(
        "-o", "--output", help="CSV or Excel file to write, with columns link, code and digest."
    ),
]
PrintedPage = Annotated[
    Path | None,
    typer.Option(help="Page (.html or .docx) to write: invitations to print and cut out."),
]
LettersFile = Annotated[
    Path | None, typer.Option(help="Letters (.html or .docx) to write, one page for each person.")
]
PeopleFile = Annotated[
    Path | None,
    typer.Option(help="List of people, CSV or Excel, each of whom gets an invitation."),
]
LettersLanguage = Annotated[
    str | None, choice("--language", LANGUAGES, "Language of the letters: en or de.")
]
LettersZone = Annotated[
    str, typer.Option(help="Time zone of the letters, such as Europe/Berlin; this machine's.")
]
LettersText = Annotated[
    Path | None, typer.Option(help="Text of the letters, with {link}, {code} and columns.")
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


def invitation_files(
    number: int,
    output: Path,
    page: Path | None,
    letters: Path | None,
    people: Path | None,
    language: str | None,
    zone: str,
    text: Path | None,
    survey_page: str,
) -> tuple[int, InvitationFiles]:
    """Return how many people to invite, and the files to write for them. Raises UsageError for
    options that cannot be used."""
    from incrowd.collection.invitations import InvitationFiles
    from incrowd.collection.mailing import address_list

    listed = address_list(people) if people else None
    if listed and number not in (0, len(listed.rows)):
        raise UsageError.of("number", "cli.other-number", value=number, people=len(listed.rows))
    number = len(listed.rows) if listed else number
    check_invitations(number, survey_page)
    worded = letter_words(text) if text else ""
    files = InvitationFiles(output, page, letters, listed, language or "", zone_of(zone), worded)
    files.check()
    return number, files


def letter_words(path: Path) -> str:
    """Return the text of letters in a file. Raises UsageError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = unreadable(error) if isinstance(error, OSError) else sentence("cli.not-text")
        raise UsageError.of("text", "cli.unreadable", path=str(path), reason=why) from None


def zone_of(name: str) -> tzinfo | None:
    """Return a time zone by its name; None for that of this machine. Raises UsageError."""
    from zoneinfo import ZoneInfo

    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise UsageError.of("zone", "cli.no-zone", value=name) from None


def check_invitations(number: int, survey_page: str) -> None:
    """Raise UsageError for a number or an address that cannot be used."""
    if number < 1:
        raise UsageError.of("number", "cli.too-few", value=number, least=1)
    check_page(survey_page)


def check_page(survey_page: str) -> None:
    """Raise UsageError for an address of a survey page that cannot be used."""
    from incrowd.collection.protocol.addresses import checked_address

    if survey_page:
        try:
            checked_address(survey_page.rstrip("/"))
        except Unfit as error:
            path, reason = "survey_page", error.reason
            raise UsageError.of(path, "survey.unfit", value=survey_page, reason=reason) from None


def report_invitations(number: int, issued: int, files: InvitationFiles, json: bool) -> None:
    """Print how many invitations were created, and who may have the files."""
    written = [each for each in (files.table, files.strips, files.letters) if each]
    if json:
        facts = {"invitations": number, "issued": issued, "file": str(files.table)}
        print_json(facts | {"files": [str(each) for each in written]})
        return
    names = ", ".join(map(str, written))
    say(f"wrote {names}: {quantity(number, 'invitations')}, {issued:,} in all; keep it secret")
    if files.people:
        say(
            f"{files.table} says who has which invitation: only the person who sends them may "
            "have it; destroy it when all are sent"
        )


def say_secret(files: Sequence[Path]) -> None:
    """Print which files are secret."""
    *most, last = map(str, files)
    say(f"wrote {', '.join(most)} and {last}: secret; keep them out of backups")
