"""The command that writes a survey page: `page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.options import AsJson, check_certificate, make_folder


def page(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan, or a collection's bundle.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write to; created if missing.")
    ],
    shuffler: Annotated[
        str | None, typer.Option(help="Address that answers are sent to; by default the bundle's.")
    ] = None,
    strings: Annotated[
        list[Path] | None,
        typer.Option(help="Texts in another language, such as fr.json; repeatable."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Write a survey page where people answer in a browser.

    The page is a folder of static files for any web host. The plan's certificate is checked. Give
    people the link ADDRESS#DIGEST, with the digest of the bundle; with invitations,
    ADDRESS#DIGEST.CODE.

    \b
    Example:
      incrowd page shuffler/bundle.json -o public
    """
    from incrowd.collection.page.files import (
        asked_in,
        page_files,
        read_strings,
        shipped,
        write_page,
    )
    from incrowd.presentation.data import guarantee_facts
    from incrowd.presentation.guarantee_text import guarantee_sentence

    content = asked_in(plan, shuffler)
    check_certificate(content.plan, plan)
    tables = shipped() | dict(map(read_strings, strings or []))
    files = page_files(content, tables)
    make_folder(output)
    write_page(files, output)
    facts = {
        "files": sorted(files),
        "folder": str(output),
        "services": content.services,
        "bundle": content.digest or None,
        "plan": content.plan.digest,
        "guarantee": guarantee_facts(content.guarantee),
        "languages": sorted(tables),
    }
    if json:
        print_json(facts)
        return
    say(f"wrote {len(files)} files to {output}; languages: {', '.join(sorted(tables))}")
    say(guarantee_sentence(content.guarantee))
    say(f"answers go to {content.services[-1]}; serve the folder from elsewhere, over https")
    say("the host should send the headers of _headers, nginx.conf or Caddyfile")
