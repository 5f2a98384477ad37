"""The command that makes invitations: `invitations`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.options import AsJson
from incrowd.cli.shuffler import _parts
from incrowd.errors import UsageError
from incrowd.files import PRIVATE, replaced, write_text


def invitations(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="How many people are invited.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="CSV file to write: code, link.")],
    shuffler: Annotated[Path, typer.Option(help="The shuffler's folder.")] = Path("shuffler"),
    page: Annotated[
        Path | None, typer.Option(help="HTML page to print and cut, one invitation each.")
    ] = None,
    survey_page: Annotated[
        str, typer.Option(help="Address of a survey page (see `page`): links lead there.")
    ] = "",
    json: AsJson = False,
) -> None:
    """Make invitations, on the shuffler's side. Each is for one person, who can answer once.

    Whoever has the file can answer for all: give each away to one person, then destroy the file.
    The collector should never see it.

    \b
    Example:
      incrowd invitations 9000 -o codes.csv --page codes.html
    """
    from incrowd.presentation.receipts import invitations_page

    if number < 1:
        raise UsageError.of("number", number, "should be at least 1")
    page_address, parts = _checked(survey_page), _parts()
    store = parts.open_store(parts.load_shuffler_settings(shuffler))
    made = parts.new_invitations(store, number, page_address)
    with replaced(output, mode=PRIVATE) as temporary:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("code", "link"), *made])
        title, digest = store.bundle.wording.title, parts.short(store.bundle.digest)
        if page:
            write_text(page, invitations_page(title, digest, made, survey_page), mode=PRIVATE)
        parts.issue(store, made)
    issued = store.issued()
    if json:
        print_json({"invitations": number, "issued": issued, "file": str(output)})
    else:
        say(f"wrote {output}: {number:,} invitations, {issued:,} in all; keep it secret")


def _checked(page: str) -> str:
    """The address of a page, which may end with /. Raises UsageError for what is none."""
    from incrowd.collection.protocol.addresses import checked_address

    try:
        if page:
            checked_address(page.rstrip("/"))
    except ValueError as error:
        raise UsageError.of("survey_page", page, str(error)) from None
    return page
