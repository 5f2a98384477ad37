"""The page on which people are invited and reminded: links for mail programs, letters, a poster.

A list of people is read, and its file with names goes back to the browser. It is kept in memory
until the studio ends, and never written.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.catalog.sentences import text_language
from incrowd.collection.invitations import add_invitations, hand_out, keep, remaining
from incrowd.collection.mailing import (
    address_list,
    letter_bytes,
    letter_facts,
    poster_bytes,
    table_bytes,
)
from incrowd.collection.protocol.bundle import Bundle
from incrowd.errors import IncrowdError, UsageError
from incrowd.files import destroy
from incrowd.presentation.letters import (
    Letter,
    LetterFacts,
    LetterLayout,
    LetterStyle,
    letter_text,
    mail_text,
    own_columns,
    reminder_subject,
    reminder_text,
    subject,
)
from incrowd.presentation.word_letters import merge_letter
from incrowd.studio.evidence import CODES, PRINTED, bundle_of
from incrowd.studio.exports import attachment
from incrowd.studio.language import LANGUAGES, Phrase, phrase
from incrowd.studio.pages import (
    Studio,
    chosen_file,
    form_of,
    language_of,
    lines,
    render,
    route,
    texts,
)
from incrowd.studio.preparation import exclusively, inviting_store
from incrowd.studio.projects import Project
from incrowd.studio.publication import (
    FOLDERS,
    MOST_INVITATIONS,
    NAMES,
    Publication,
    load_publication,
)

MOST_LIST_BYTES = 1 << 26
# The files of invitations, and those without any, by name.
TABLES: dict[str, Phrase] = {
    "invitations.xlsx": phrase("Excel, for Word's mail merge"),
    "invitations.csv": phrase("CSV, for mail programs"),
}
LETTERS: dict[str, Phrase] = {
    "letters.docx": phrase("Letters for Word, a page each"),
    "letters.html": phrase("Letters to print"),
    "strips.docx": phrase("Strips to cut out, for Word"),
    "strips.html": phrase("Strips to cut out, to print"),
}
TEMPLATES: dict[str, Phrase] = {
    "mail-merge.docx": phrase("Letter for Word's mail merge"),
    "letter.txt": phrase("Text of the letter"),
}
POSTERS: dict[str, Phrase] = {
    "poster.docx": phrase("Poster for Word"),
    "poster.html": phrase("Poster to print"),
}


@dataclass
class InvitingState:
    """What the page keeps in memory until the studio ends.

    named: letters for the people of a list, with their invitations. texts: edited texts of letters
    by language; a text that nobody changed follows the list.
    """

    named: tuple[Letter, ...] = field(default=(), repr=False)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, named: tuple[Letter, ...]) -> None:
        """Keep letters beside those of an earlier list with the same columns, or instead."""
        alike = bool(self.named) and list(self.named[0]) == list(named[0])
        self.named = (*self.named, *named) if alike else named

    def remember(self, typed: Mapping[str, str], usual_language: str) -> str:
        """Keep a text that was changed, and return its language."""
        chosen, text = typed.get("language", ""), typed.get("text", "").strip()
        language = chosen if chosen in LANGUAGES else usual_language
        self.texts.pop(language, None)
        if text and text != typed.get("usual", "").strip():
            self.texts[language] = text
        return language


class ReminderText(NamedTuple):
    """A reminder in one language. mail: the address that opens it in a mail program."""

    language: str
    name: str
    text: str
    mail: str


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    states: dict[Path, InvitingState] = {}

    def of(request: Request) -> tuple[Project, InvitingState]:
        project = studio.project(request)
        return project, states.setdefault(project.path, InvitingState())

    async def show(studio: Studio, request: Request) -> Response:
        """Return the page."""
        project, state = of(request)
        chosen = request.query_params.get("language", "")
        return await _page(request, project, state, chosen)

    async def take_list(studio: Studio, request: Request) -> Response:
        """Give each person of a list an invitation."""
        project, state = of(request)
        try:
            async with request.form() as form:
                file = chosen_file(form)
                data = whole_list(await file.read(MOST_LIST_BYTES + 1), file.filename)
            named = await asyncio.to_thread(_handed_out, project, data)
        except (IncrowdError, OSError) as error:
            return await _page(request, project, state, mistakes=lines(error, language_of(request)))
        state.add(named)
        return _back(project, "people")

    async def download(studio: Studio, request: Request) -> Response:
        """Return a file, with the text as it was typed, which is kept."""
        project, state = of(request)
        typed = texts(await form_of(request))
        language = state.remember(typed, language_of(request))
        try:
            name = typed.get("file", "")
            data = await asyncio.to_thread(_content, project, state, language, name)
        except (IncrowdError, OSError) as error:
            mistakes = lines(error, language_of(request))
            return await _page(request, project, state, language, mistakes)
        return attachment(data, name.rpartition(".")[2], name)

    async def forget(studio: Studio, request: Request) -> Response:
        """Forget the names."""
        project, state = of(request)
        state.named = ()
        return _back(project, "people")

    async def destroy_codes(studio: Studio, request: Request) -> Response:
        """Destroy the invitations that nobody got, and forget the names."""
        project, state = of(request)
        state.named = ()
        await asyncio.to_thread(_destroy, project)
        return _back(project, "delete")

    base = "/p/{name}/publish/invitations"
    return [
        route(studio, base, show, methods=("GET",)),
        route(studio, f"{base}/people", take_list, methods=("POST",)),
        route(studio, f"{base}/more", create_more, methods=("POST",)),
        route(studio, f"{base}/file", download, methods=("POST",)),
        route(studio, f"{base}/forget", forget, methods=("POST",)),
        route(studio, f"{base}/destroy", destroy_codes, methods=("POST",)),
    ]


async def create_more(studio: Studio, request: Request) -> Response:
    """Create more invitations, such as for people who lost theirs."""
    project, typed = studio.project(request), texts(await form_of(request))
    await asyncio.to_thread(_create_more, project, typed.get("number", "").strip())
    return _back(project, "people")


def _back(project: Project, place: str) -> Response:
    return RedirectResponse(f"/p/{project.name}/publish/invitations#{place}", 303)


async def _page(
    request: Request,
    project: Project,
    state: InvitingState,
    language: str = "",
    mistakes: tuple[str, ...] = (),
) -> Response:
    parts = await asyncio.to_thread(_parts, project, state, language)
    parts["mistakes"] = mistakes
    return render(request, "inviting.html", status=422 if mistakes else 200, **parts)


def _parts(project: Project, state: InvitingState, language: str) -> dict[str, Any]:
    """Return the parts of the page, from the files of the project and what is in memory."""
    publication, _ = load_publication(project)
    bundle = bundle_of(project, publication)
    parts: dict[str, Any] = {"project": project, "publication": publication, "bundle": bundle}
    if bundle is None:
        return parts
    facts, usual = facts_of(bundle, publication), text_language(bundle.wording.language)
    style = LetterStyle(language if language in LANGUAGES else usual, publication.time_zone)
    columns = own_columns(state.named)
    table = codes_file(project, publication)
    return parts | {
        "facts": facts,
        "mine": publication.maker in publication.mine,
        "maker": NAMES[publication.maker],
        "folder": FOLDERS[publication.maker],
        "left": len(remaining(table)) if table else None,
        "table": table and table.relative_to(project.path),
        "named": len(state.named),
        "columns": columns,
        "letter_language": style.language,
        "usual": letter_text(facts, style, columns),
        "text": state.texts.get(style.language, ""),
        "mail": mail_text(facts, style, columns),
        "subject": subject(facts, style),
        "tables": TABLES,
        "letters": LETTERS,
        "templates": TEMPLATES,
        "posters": POSTERS,
        "reminders": reminders(facts, publication),
    }


def facts_of(bundle: Bundle, publication: Publication) -> LetterFacts:
    """Return what letters state, with the organizations that were chosen."""
    named = {
        service: publication.organizations[service]
        for service in publication.services
        if publication.organizations.get(service)
    }
    return letter_facts(bundle, publication.survey_page, named)


def reminders(facts: LetterFacts, publication: Publication) -> tuple[ReminderText, ...]:
    """Return the reminder in each language."""
    return tuple(_reminder(facts, publication, tag, name) for tag, name in LANGUAGES.items())


def _reminder(facts: LetterFacts, publication: Publication, tag: str, name: str) -> ReminderText:
    style = LetterStyle(tag, publication.time_zone)
    text, title = reminder_text(facts, style), reminder_subject(facts, style)
    mail = f"mailto:?subject={quote(title)}&body={quote(text.replace(chr(10), chr(13) + chr(10)))}"
    return ReminderText(tag, name, text, mail)


def codes_file(project: Project, publication: Publication) -> Path | None:
    """Return the file of invitations that nobody got yet, if this person has one."""
    if publication.maker not in publication.mine:
        return None
    files = (project.path / CODES, project.path / FOLDERS["inviter"] / CODES)
    return next((file for file in files if file.exists()), None)


def whole_list(content: bytes, name: str | None) -> io.BytesIO:
    """Return a list of people as a file. Raises UsageError if it was not read to its end."""
    if len(content) > MOST_LIST_BYTES:
        raise UsageError.of("file", "studio.too-long", mebibytes=MOST_LIST_BYTES >> 20)
    data = io.BytesIO(content)
    data.name = name or "people.csv"
    return data


def _handed_out(project: Project, data: io.BytesIO) -> tuple[Letter, ...]:
    with exclusively(project):
        table = codes_file(project, load_publication(project)[0])
        if table is None:
            raise UsageError.of("file", "studio.no-invitations-here")
        letters = tuple(hand_out(table, address_list(data)))
        destroy(project.path / PRINTED)  # by `incrowd invitations --page`: it has them all
        return letters


def _create_more(project: Project, number: str) -> None:
    if not number.isdecimal() or not 0 < int(number) <= MOST_INVITATIONS:
        raise UsageError.of("number", "studio.not-a-number-of-people", value=number)
    with exclusively(project):
        publication, _ = load_publication(project)
        table = codes_file(project, publication)
        if table is None:
            raise UsageError.of("number", "studio.no-invitations-here")
        store = inviting_store(project, publication)
        try:
            add_invitations(store, int(number), table, publication.survey_page)
        finally:
            store.engine.dispose()


def _destroy(project: Project) -> None:
    """Destroy the invitations; the file stays without any, as a sign that they were created."""
    with exclusively(project):
        if table := codes_file(project, load_publication(project)[0]):
            keep(table, [])
        destroy(project.path / PRINTED)


def _content(project: Project, state: InvitingState, language: str, name: str) -> bytes:
    """Return the content of a file of the page. Raises UsageError for an unknown name."""
    publication, _ = load_publication(project)
    bundle = bundle_of(project, publication)
    files: Mapping[str, Phrase] = TABLES | LETTERS | TEMPLATES | POSTERS
    if bundle is None or name not in files:
        raise UsageError.of("file", "shared.use-one-of", value=name, choices=[*files])
    facts = facts_of(bundle, publication)
    style = LetterStyle(language, publication.time_zone)
    columns = own_columns(state.named)
    text = state.texts.get(language) or letter_text(facts, style, columns)
    kind, _, ending = name.rpartition(".")
    if kind == "poster":
        return poster_bytes(facts, style, f".{ending}", text)
    if name == "mail-merge.docx":
        return merge_letter(facts, style, columns, text=text)
    if name == "letter.txt":
        return text.encode()
    letters = state.named or _left(project, publication)
    if name in TABLES:
        return table_bytes(letters, f".{ending}")
    layout: LetterLayout = "strips" if kind == "strips" else "letters"
    return letter_bytes(facts, style, letters, f".{ending}", text=text, layout=layout)


def _left(project: Project, publication: Publication) -> Sequence[Letter]:
    table = codes_file(project, publication)
    left = remaining(table) if table else []
    if not left:
        raise UsageError.of("file", "studio.no-invitations-here")
    return left
