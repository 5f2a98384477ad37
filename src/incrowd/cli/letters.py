"""The command that writes what people are invited and reminded with: `letters`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.inviting import (
    LettersLanguage,
    LettersText,
    LettersZone,
    SurveyPage,
    letter_words,
    zone_of,
)
from incrowd.cli.options import AsJson, make_folder
from incrowd.errors import UsageError, unreadable


def letters(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="Bundle of the collection.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write to; created if missing.")
    ],
    survey_page: SurveyPage = "",
    language: LettersLanguage = None,
    zone: LettersZone = "",
    text: LettersText = None,
    json: AsJson = False,
) -> None:
    """Write letters, a mail, and a reminder for a collection. None has an invitation in it.

    letter.txt is the text for `invitations --text`; letter.docx, a letter for the mail merge of
    Word; mail.txt, a mail for a mail program that fills in {link}; reminder.txt, a mail to all. If
    everybody may answer, there is a poster instead of a letter.

    \b
    Example:
      incrowd letters shuffler/bundle.json -o letters --survey-page https://survey.example
    """
    from incrowd.cli.inviting import check_page
    from incrowd.collection.mailing import letter_facts, letter_style, text_files
    from incrowd.collection.protocol.bundle import Bundle
    from incrowd.files import write_bytes

    check_page(survey_page)
    try:
        agreed = Bundle.parse(bundle.read_bytes())
    except OSError as error:
        why = unreadable(error)
        raise UsageError.of("bundle", "cli.unreadable", path=str(bundle), reason=why) from None
    facts = letter_facts(agreed, survey_page.rstrip("/"))
    style = letter_style(agreed, language or "", zone_of(zone))
    files = text_files(facts, style, letter_words(text) if text else "")
    make_folder(output)
    for name, content in files.items():
        write_bytes(output / name, content, mode=0o644)
    if json:
        print_json({"folder": str(output), "files": sorted(files), "language": style.language})
        return
    say(f"wrote {', '.join(sorted(files))} to {output}")
