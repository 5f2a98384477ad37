"""The command that makes a survey page: `page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.options import AsJson, check_certificate, make_folder
from incrowd.files import replaced


def page(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, or the shuffler's bundle.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write to; made if missing.")
    ],
    shuffler: Annotated[
        str | None, typer.Option(help="Where answers are sent; a bundle says it itself.")
    ] = None,
    strings: Annotated[
        list[Path] | None, typer.Option(help="Texts in another language, as fr.json; repeatable.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Write a survey page, with which people answer in a browser.

    Static files for any host. The plan is certified. People get the page's address, #, the digest
    of the bundle, and behind a point their invitation.

    \b
    Example:
      incrowd page shuffler/bundle.json -o public
    """
    from incrowd.collection.page.files import asked_in, page_files, read_strings, shipped
    from incrowd.presentation.data import promise_facts
    from incrowd.presentation.sentences import guarantee_sentence

    asked = asked_in(plan, shuffler)
    check_certificate(asked.plan, plan)
    tables = shipped() | dict(map(read_strings, strings or []))
    made = page_files(asked, tables)
    make_folder(output)
    for name, data in sorted(made.items()):
        with replaced(output / name) as temporary:
            temporary.write_bytes(data)
    facts = {
        "files": sorted(made),
        "folder": str(output),
        "shuffler": asked.shuffler,
        "bundle": asked.digest or None,
        "plan": asked.plan.digest,
        "guarantee": promise_facts(asked.guarantee, sealed=True),
        "languages": sorted(tables),
    }
    if json:
        print_json(facts)
        return
    say(f"wrote {len(made)} files to {output}; languages: {', '.join(sorted(tables))}")
    say(guarantee_sentence(asked.guarantee))
    say(f"answers go to {asked.shuffler}; serve the folder from elsewhere, over https")
    say("the host should send the headers of _headers, nginx.conf or Caddyfile")
