"""Invitations for the people of a list, and the files from which a mail program sends them.

A list stays where the person who invites has it. Its people get invitations in random order, so
that nothing but the file that is made here says who has which one.
"""

from __future__ import annotations

import csv
import io
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from incrowd.catalog.sentences import text_language
from incrowd.collection.claims import bundle_guarantee
from incrowd.collection.protocol.addresses import Link, is_by_hand, is_loopback, location, short
from incrowd.collection.protocol.bundle import Bundle, MixersBundle, as_time
from incrowd.encoding.formats.isolated import content
from incrowd.encoding.formats.reader import Request
from incrowd.encoding.sources import likely_encoding, readable, source_of
from incrowd.errors import IncrowdError, Problem, UsageError
from incrowd.files import checked_ending
from incrowd.presentation.letters import (
    CODE,
    DIGEST,
    LETTER_FIELDS,
    LINK,
    Letter,
    LetterFacts,
    LetterLayout,
    LetterStyle,
    OrganizationRole,
    fields_in,
    letter_text,
    mail_text,
    printed_letters,
    reminder_subject,
    reminder_text,
    subject,
)
from incrowd.presentation.word_letters import merge_letter, word_letters
from incrowd.presentation.workbook import FORMULA, table_workbook

TABLE_ENDINGS, LETTER_ENDINGS = (".csv", ".xlsx"), (".html", ".docx")
MOST_PEOPLE = 1_000_000
FIRST_ROW = 2  # of a list with a line of names above it
AT = "@"
_NUMBER = re.compile(r"[+-]?[0-9 ()./-]*")  # also a dash alone


@dataclass(frozen=True)
class AddressList:
    """A list of the people to invite. columns: their names. rows: one for each person."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return f"AddressList({len(self.rows)} people)"  # names are nobody's business


def address_list(data: Path | IO[bytes], name: str = "people") -> AddressList:
    """Read a list of people, a CSV or Excel file with names of columns in its first row.

    name: the argument that it is, for messages. Raises UsageError if it cannot be read, is empty,
    has a column that invitations have, or has a person twice.
    """
    try:
        table = _table(data)
    except IncrowdError as error:
        raise UsageError(*(Problem(name, each.message) for each in error.problems)) from None
    texts = [[_cell(each) for each in column.to_pylist()] for column in table.columns]
    rows = tuple(row for row in zip(*texts, strict=True) if any(row))
    people = AddressList(tuple(each.strip() for each in table.column_names), rows)
    _check_list(people, name)
    return people


def _table(data: Path | IO[bytes]) -> Any:
    source = source_of(data)
    if source.kind == "csv" and source.encoding is None:
        try:
            source.whole().decode()
        except UnicodeDecodeError:
            text = source.whole()
            source = source_of(io.BytesIO(text), "csv", likely_encoding(text)[0])
    with readable(source.name, source):  # Excel in a process of its own, with little memory
        pieces = [piece for piece, _ in content(source, Request()).pieces]
    return pa.Table.from_batches(pieces) if pieces else pa.table({})


def _cell(value: object) -> str:
    return "" if value is None else str(value).strip()


def _check_list(people: AddressList, name: str) -> None:
    """Raise UsageError for a list that cannot be invited. No message shows who is on it."""
    if not people.rows:
        raise UsageError.of(name, "collection.empty-list")
    for column in people.columns:
        if column.casefold() in LETTER_FIELDS:
            raise UsageError.of((name, column), "collection.taken-column", names=[*LETTER_FIELDS])
    if twice := _twice(people.rows):
        raise UsageError.of(name, "collection.person-twice", first=twice[0], second=twice[1])
    for place, column in enumerate(people.columns):
        addresses = [row[place].casefold() for row in people.rows if AT in row[place]]
        alike = _twice([row[place].casefold() or str(n) for n, row in enumerate(people.rows)])
        if alike and 2 * len(addresses) > len(people.rows):
            first, second = alike
            raise UsageError.of(
                (name, column), "collection.address-twice", first=first, second=second
            )


def _twice(values: Sequence[object]) -> tuple[int, int] | None:
    """Return the rows of a file in which the first repeated value is; None if there is none."""
    seen: dict[object, int] = {}
    for row, value in enumerate(values, FIRST_ROW):
        if value in seen:
            return seen[value], row
        seen[value] = row
    return None


def letter_of(code: str, link: str, digest: str) -> Letter:
    """Return what a letter without a name says of one invitation."""
    return {LINK: link, CODE: code, DIGEST: digest}


def handed_out(people: AddressList | None, letters: Sequence[Letter]) -> list[Letter]:
    """Return the letters for the people of a list, each with an invitation drawn at random.

    Only this result says who has which invitation. Without a list, the letters as they are. Raises
    UsageError if there are fewer invitations than people.
    """
    if people is None:
        return list(letters)
    if len(letters) < len(people.rows):
        raise UsageError.of(
            "people", "collection.few-people-invited", people=len(people.rows), left=len(letters)
        )
    drawn = secrets.SystemRandom().sample(letters, len(people.rows))
    return [
        {**dict(zip(people.columns, row, strict=True)), **letter}
        for row, letter in zip(people.rows, drawn, strict=True)
    ]


# What letters say of a collection.


def letter_facts(
    bundle: Bundle, page: str = "", organizations: Mapping[OrganizationRole, str] | None = None
) -> LetterFacts:
    """Return what invitations to a collection state.

    page: the address of the survey page, if there is one. organizations: those that run the
    shuffler and the collector, which a bundle with one shuffler does not name; by default, their
    hosts.
    """
    return LetterFacts(
        title=bundle.wording.title,
        introduction=bundle.wording.introduction,
        closes=as_time(bundle.closes),
        runs=_runs(bundle, organizations or {}),
        short=short(bundle.digest),
        page=page,
        link=str(Link(page or bundle.link_address, bundle.digest)),
        guarantee=bundle_guarantee(bundle),
        cells=any(message.cells for message in bundle.plan.messages),
        codes=bundle.codes,
    )


def _runs(
    bundle: Bundle, organizations: Mapping[OrganizationRole, str]
) -> dict[OrganizationRole, str]:
    if isinstance(bundle, MixersBundle):
        runs = bundle.runs
        return {
            "inviter": runs.inviter,
            "first": runs.first,
            "second": runs.second,
            "collector": runs.collector,
        }
    by_hand = is_by_hand(bundle.collector_address)
    host = "" if by_hand else _host(bundle.collector_address)
    collector = organizations.get("collector") or host
    if bundle.one_party:
        return {"collector": collector or _host(bundle.upload_address)}
    shuffler = organizations.get("shuffler") or _host(bundle.upload_address)
    return {"shuffler": shuffler, **({"collector": collector} if collector else {})}


def _host(address: str) -> str:
    """Return the host of an address; "" for one of this machine, which says nothing to others."""
    return "" if is_loopback(address) else location(address)


def letter_style(bundle: Bundle, language: str = "", zone: tzinfo | None = None) -> LetterStyle:
    """Return the style of letters: in a language, by default that of the survey or English."""
    return LetterStyle(language or text_language(bundle.wording.language), zone)


# The files.


def table_bytes(letters: Sequence[Letter], ending: str) -> bytes:
    """Return a file for a mail program or for Word: one row for each person. ending: ".csv" or
    ".xlsx".

    CSV is in UTF-8, with the mark at its beginning by which Excel and Word recognize that, if it
    has names. In CSV, texts that spreadsheets would compute begin with an apostrophe; telephone
    numbers stay as they are.
    """
    columns = list(letters[0]) if letters else list(LETTER_FIELDS)
    rows = [tuple(letter[name] for name in columns) for letter in letters]
    if ending == ".xlsx":
        return table_workbook("invitations", columns, rows)
    text = io.StringIO(newline="")
    csv.writer(text).writerows([_not_computed(each) for each in row] for row in [columns, *rows])
    named = any(name not in LETTER_FIELDS for name in columns)
    return text.getvalue().encode("utf-8-sig" if named else "utf-8")


def _not_computed(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) and not _NUMBER.fullmatch(text) else text


def letter_bytes(
    facts: LetterFacts,
    style: LetterStyle,
    letters: Iterable[Letter],
    ending: str,
    *,
    text: str = "",
    layout: LetterLayout = "letters",
) -> bytes:
    """Return letters, strips, or a poster. ending: ".html" or ".docx"."""
    listed = list(letters)
    if ending == ".docx":
        return word_letters(facts, style, listed, text=text, layout=layout)
    return printed_letters(facts, style, listed, text=text, layout=layout).encode()


def text_files(facts: LetterFacts, style: LetterStyle, text: str = "") -> dict[str, bytes]:
    """Return the files without invitations, by name: texts of a letter, a mail and a reminder, and
    a letter for the mail merge of Word, or a poster.

    text: that of the letter; by default, the usual one.
    """
    text = text or letter_text(facts, style)
    texts = {
        "letter.txt": text,
        "mail.txt": mail_file(subject(facts, style), mail_text(facts, style)),
        "reminder.txt": mail_file(reminder_subject(facts, style), reminder_text(facts, style)),
    }
    files = {name: f"{content}\n".encode() for name, content in texts.items()}
    if facts.codes:
        return files | {"letter.docx": merge_letter(facts, style, fields_in(text), text=text)}
    del files["letter.txt"]
    posters = {f"poster{end}": poster_bytes(facts, style, end, text) for end in LETTER_ENDINGS}
    return files | posters


def mail_file(title: str, text: str) -> str:
    """Return a mail as text, with its subject above it."""
    return f"{title}\n\n{text}"


def poster_bytes(facts: LetterFacts, style: LetterStyle, ending: str, text: str = "") -> bytes:
    """Return a poster with the link that everybody may use. ending: ".html" or ".docx"."""
    letter = letter_of("", facts.link, facts.short)
    return letter_bytes(facts, style, [letter], ending, text=text, layout="poster")


def checked_endings(table: Path, *printed: Path | None) -> None:
    """Raise UsageError for a file whose ending is not one of those that can be written."""
    if table.suffix:
        checked_ending(table, TABLE_ENDINGS)
    for path in printed:
        if path:
            checked_ending(path, LETTER_ENDINGS)
