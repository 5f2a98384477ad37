"""The commands of a shuffler: `shuffler init`, `run` and `check`, and `invitations`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import mixing
from incrowd.cli.console import print_json, say
from incrowd.cli.inviting import (
    CodesFile,
    LettersFile,
    LettersLanguage,
    LettersText,
    LettersZone,
    NumberArgument,
    PeopleFile,
    PrintedPage,
    SurveyPage,
    bundle_facts,
    invitation_files,
    print_bundle,
    report_invitations,
    say_secret,
)
from incrowd.cli.later import CommandGroup
from incrowd.cli.options import AsJson, PlanArgument, certified, make_folder

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Receive sealed reports, mix them, and pass them on.

    \b
    Example:
      incrowd shuffler init shuffler plan.json collection.toml
      incrowd shuffler check shuffler
      incrowd shuffler run shuffler""",
)

ShufflerFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of the shuffler's files, for one bundle.")
]


@app.command()
def init(
    folder: ShufflerFolder,
    plan: PlanArgument,
    collection: Annotated[
        Path, typer.Argument(metavar="COLLECTION", help="Terms of the collection, a TOML file.")
    ],
    json: AsJson = False,
) -> None:
    """Create the bundle of a collection, and the shuffler's keys.

    Checks the plan's certificate and prints the guarantee, and the link to give to people.

    \b
    Example:
      incrowd shuffler init shuffler plan.json collection.toml
    """
    from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
    from incrowd.collection.mixer.setup import install
    from incrowd.collection.settings import ShufflerSettings, load_settings
    from incrowd.files import PRIVATE_FOLDER

    terms, settings = ShufflerTerms.load(collection), load_settings(ShufflerSettings, folder)
    result = make_bundle(certified(plan), terms)
    make_folder(folder, "folder", PRIVATE_FOLDER)
    install(settings, result.bundle, result.private)
    facts = bundle_facts(result.bundle, result.guarantee, settings.bundle_file)
    facts["secret"] = str(settings.secret_file)
    if json:
        print_json(facts)
        return
    say(f"wrote {settings.bundle_file}: give it to the collector; it is not secret")
    say_secret((settings.secret_file, settings.signing_file))
    print_bundle(facts, result.bundle, result.guarantee)


@app.command()
def run(folder: ShufflerFolder) -> None:
    """Receive uploads and release them when due, until stopped.

    Set host, port, database and the path of the secret in FOLDER/shuffler.toml, or in environment
    variables such as INCROWD_SHUFFLER_PORT.

    \b
    Example:
      incrowd shuffler run shuffler
    """
    from incrowd.collection.settings import ShufflerSettings

    mixing.run(ShufflerSettings, folder)


@app.command()
def check(folder: ShufflerFolder, json: AsJson = False) -> None:
    """Check permissions, clock, disk, swap and logs, and what is left after the last release.

    Exit code 1 if a check fails.

    \b
    Example:
      incrowd shuffler check shuffler
    """
    from incrowd.collection.settings import ShufflerSettings

    mixing.check(ShufflerSettings, folder, json)


def invitations(
    output: CodesFile,
    number: NumberArgument = 0,
    shuffler: Annotated[Path, typer.Option(help="The shuffler's folder.")] = Path("shuffler"),
    page: PrintedPage = None,
    letters: LettersFile = None,
    people: PeopleFile = None,
    survey_page: SurveyPage = "",
    language: LettersLanguage = None,
    zone: LettersZone = "",
    text: LettersText = None,
    json: AsJson = False,
) -> None:
    """Create invitations, on the shuffler's side. Each lets one person answer once.

    Anyone who has the file could answer for everyone: give each invitation to one person, then
    destroy the file. The collector should never see it. With a list of people, each of them gets an
    invitation at random, and the file says who has which one.

    \b
    Example:
      incrowd invitations 9000 -o codes.csv --page codes.html
      incrowd invitations --people staff.xlsx -o mail.xlsx --letters letters.docx
    """
    from incrowd.collection.invitations import write_invitations
    from incrowd.collection.mixer.setup import open_store
    from incrowd.collection.settings import ShufflerSettings, load_settings

    number, files = invitation_files(
        number, output, page, letters, people, language, zone, text, survey_page
    )
    store = open_store(load_settings(ShufflerSettings, shuffler))
    issued = write_invitations(store, number, files, survey_page)
    report_invitations(number, issued, files, json)
