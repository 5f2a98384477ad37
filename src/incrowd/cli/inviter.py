"""The commands of an inviter: `inviter init`, `run`, `check` and `invite`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import mixing
from incrowd.cli.console import print_json, say, working
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
    check_invitations,
    invitation_files,
    print_bundle,
    report_invitations,
    say_secret,
)
from incrowd.cli.later import CommandGroup
from incrowd.cli.options import AsJson, PlanArgument, certified, make_folder

CODES = "codes.csv"

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Invite people to a collection with two mixers.

    Each of them gets tokens, which are signed blindly: nobody can see who sent what.

    \b
    Example:
      incrowd inviter init inviter plan.json collection.toml --invitations 9000
      incrowd inviter run inviter""",
)

InviterFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of the inviter's files, for one bundle.")
]


@app.command()
def init(
    folder: InviterFolder,
    plan: PlanArgument,
    collection: Annotated[
        Path, typer.Argument(metavar="COLLECTION", help="Terms of the collection, a TOML file.")
    ],
    invitations: Annotated[
        int, typer.Option(min=0, help="Number of people to invite; they get FOLDER/codes.csv.")
    ] = 0,
    survey_page: SurveyPage = "",
    json: AsJson = False,
) -> None:
    """Create the bundle of a collection with two mixers, and the inviter's keys.

    Checks the plan's certificate and prints the guarantee, and the link to give to people. Keys are
    for one bundle only. The bundle is not secret: every other service needs it.

    \b
    Example:
      incrowd inviter init inviter plan.json collection.toml --invitations 9000
    """
    from incrowd.collection.invitations import InvitationFiles, write_invitations
    from incrowd.collection.inviter.init import MixersTerms, make_mixers_bundle
    from incrowd.collection.inviter.setup import check_unused, install, open_store
    from incrowd.collection.settings import InviterSettings, load_settings
    from incrowd.files import PRIVATE_FOLDER

    terms, settings = MixersTerms.load(collection), load_settings(InviterSettings, folder)
    check_unused(settings)
    if invitations:
        check_invitations(invitations, survey_page)
    checked = certified(plan)
    with working("creating the keys of the tokens"):
        result = make_mixers_bundle(checked, terms)
    make_folder(folder, "folder", PRIVATE_FOLDER)
    install(settings, result.bundle, result.keys)
    facts = bundle_facts(result.bundle, result.guarantee, settings.bundle_file)
    facts |= {"secret": [str(path) for path in settings.private_files], "invitations": invitations}
    codes = folder / CODES
    if invitations:
        store = open_store(settings)
        write_invitations(store, invitations, InvitationFiles(codes), survey_page)
        store.engine.dispose()
    if json:
        print_json(facts)
        return
    say(f"wrote {settings.bundle_file}: give it to every other service; it is not secret")
    say_secret(settings.private_files)
    if invitations:
        report_invitations(invitations, invitations, InvitationFiles(codes), json)
    print_bundle(facts, result.bundle, result.guarantee)


@app.command()
def run(folder: InviterFolder) -> None:
    """Sign tokens, and after closing state how many invitations were used, until stopped.

    Set host, port, database and the path of the secret in FOLDER/inviter.toml, or in environment
    variables such as INCROWD_INVITER_PORT.

    \b
    Example:
      incrowd inviter run inviter
    """
    from incrowd.collection.settings import InviterSettings

    mixing.run(InviterSettings, folder)


@app.command()
def check(folder: InviterFolder, json: AsJson = False) -> None:
    """Check permissions, clock, disk, swap and logs, and what is left after closing.

    Exit code 1 if a check fails.

    \b
    Example:
      incrowd inviter check inviter
    """
    from incrowd.collection.settings import InviterSettings

    mixing.check(InviterSettings, folder, json)


@app.command()
def invite(
    output: CodesFile,
    number: NumberArgument = 0,
    inviter: Annotated[Path, typer.Option(help="The inviter's folder.")] = Path("inviter"),
    page: PrintedPage = None,
    letters: LettersFile = None,
    people: PeopleFile = None,
    survey_page: SurveyPage = "",
    language: LettersLanguage = None,
    zone: LettersZone = "",
    text: LettersText = None,
    json: AsJson = False,
) -> None:
    """Create more invitations, until the collection closes. Each lets one person answer once.

    With the file anybody could answer for all: give each invitation to one person, then destroy
    the file. No other service should ever see it. With a list of people, each of them gets an
    invitation at random, and the file says who has which one.

    \b
    Example:
      incrowd inviter invite 500 -o codes.csv --page codes.html
      incrowd inviter invite --people staff.xlsx -o mail.xlsx --letters letters.docx
    """
    from incrowd.collection.invitations import write_invitations
    from incrowd.collection.inviter.setup import open_store
    from incrowd.collection.settings import InviterSettings, load_settings

    number, files = invitation_files(
        number, output, page, letters, people, language, zone, text, survey_page
    )
    store = open_store(load_settings(InviterSettings, inviter))
    issued = write_invitations(store, number, files, survey_page)
    store.engine.dispose()
    report_invitations(number, issued, files, json)
