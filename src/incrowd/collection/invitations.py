"""Invitations: printed codes, each of which lets one person answer once."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple, Protocol

from incrowd.collection.mailing import (
    AddressList,
    checked_endings,
    handed_out,
    letter_bytes,
    letter_facts,
    letter_of,
    letter_style,
    table_bytes,
)
from incrowd.collection.protocol import addresses
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.upload import RANDOM_BYTES, new_code
from incrowd.errors import UsageError
from incrowd.files import PRIVATE, destroy, replaced, write_bytes
from incrowd.presentation.letters import Letter, LetterLayout, check_fields


class Invitation(NamedTuple):
    """A printed code and the link that contains it. Its holder can answer once."""

    code: str
    link: str


class Inviting(Protocol):
    """A store of codes, of a shuffler or an inviter."""

    @property
    def bundle(self) -> Bundle:
        """The bundle that they are for."""

    def invite(self, invitations: Iterable[bytes]) -> None:
        """Add unused codes."""

    def issued(self) -> int:
        """Return the number of codes."""


def new_invitations(store: Inviting, number: int, page: str = "") -> list[Invitation]:
    """Return a number of new random invitations; `issue` makes them valid.

    page: the address of a survey page for the links; by default that of the service that invites,
    which `incrowd send` requires. Raises UsageError if the bundle uses no invitations.
    """
    bundle = store.bundle
    if not bundle.codes:
        raise UsageError.of("bundle", "collection.no-invitations")
    codes = [new_code(os.urandom(RANDOM_BYTES)) for _ in range(number)]
    links = (Link(page or bundle.link_address, bundle.digest, code) for code in codes)
    return [Invitation(addresses.grouped(link.code), str(link)) for link in links]


def issue(store: Inviting, invitations: Sequence[Invitation]) -> None:
    """Store the codes as unreadable tags; from now on each can be used once."""
    store.invite([addresses.plain(each.code).encode() for each in invitations])


@dataclass(frozen=True)
class InvitationFiles:
    """The files of new invitations, which are secret: each has all of them.

    table: CSV or Excel, for mail programs and Word. strips, letters: HTML or Word, to print.
    people: a list of the people, each of whom gets one. language, zone: of the letters; by
    default, those of the survey and of this machine. text: of the letters; by default, the usual
    one.
    """

    table: Path
    strips: Path | None = None
    letters: Path | None = None
    people: AddressList | None = None
    language: str = ""
    zone: tzinfo | None = None
    text: str = ""

    def check(self) -> None:
        """Raise UsageError for a file that cannot be written, or a text that does not fit."""
        checked_endings(self.table, self.strips, self.letters)
        if self.text:
            check_fields(self.text, self.people.columns if self.people else ())

    def contents(self, bundle: Bundle, letters: Sequence[Letter], page: str) -> dict[Path, bytes]:
        """Return the content of each file. page: the address of the survey page, or ""."""
        facts = letter_facts(bundle, page)
        style = letter_style(bundle, self.language, self.zone)
        contents = {self.table: table_bytes(letters, self.table.suffix.lower())}
        printed: tuple[tuple[Path | None, LetterLayout], ...] = (
            (self.strips, "strips"),
            (self.letters, "letters"),
        )
        for path, layout in printed:
            if path:
                ending = path.suffix.lower()
                contents[path] = letter_bytes(
                    facts, style, letters, ending, text=self.text, layout=layout
                )
        return contents


def write_invitations(
    store: Inviting, number: int, files: InvitationFiles, survey_page: str
) -> int:
    """Create invitations, and return how many there are in all.

    survey_page: as `page` of `new_invitations`. They are valid only if all files were written.
    """
    files.check()
    rows, digest = new_invitations(store, number, survey_page), addresses.short(store.bundle.digest)
    letters = handed_out(files.people, [letter_of(*row, digest) for row in rows])
    with ExitStack() as stack:
        for path, content in files.contents(store.bundle, letters, survey_page).items():
            stack.enter_context(replaced(path, mode=PRIVATE)).write_bytes(content)
        issue(store, rows)
    return store.issued()


def remaining(table: Path) -> list[Letter]:
    """Return the invitations in a file that nobody got yet. Raises UsageError if it cannot be
    read."""
    try:
        rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8-sig"))))
        return [letter_of(row["code"], row["link"], row.get("digest") or "") for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError.of("invitations", "collection.no-codes-file", path=str(table)) from None


def hand_out(table: Path, people: AddressList) -> list[Letter]:
    """Return letters for the people of a list, whose invitations are then no longer in the file, so
    that nobody else can get them.

    Raises UsageError if the file cannot be read, or has too few.
    """
    left = remaining(table)
    letters = handed_out(people, left)
    used = {letter["code"] for letter in letters}
    keep(table, [each for each in left if each["code"] not in used])
    return letters


def add_invitations(store: Inviting, number: int, table: Path, page: str) -> None:
    """Create more invitations, and add them to those in a file that nobody got yet. page: as of
    `new_invitations`."""
    left, digest = remaining(table), addresses.short(store.bundle.digest)
    rows = new_invitations(store, number, page)
    with replaced(table, mode=PRIVATE) as temporary:
        temporary.write_bytes(
            table_bytes([*left, *(letter_of(*row, digest) for row in rows)], ".csv")
        )
        issue(store, rows)


def keep(table: Path, letters: Sequence[Letter]) -> None:
    """Write the invitations that nobody got yet, and overwrite the file that has the others."""
    old = table.with_name(f"{table.name}.old")
    destroy(old)
    os.link(table, old)  # a second name, so that the invitations are never without a file
    write_bytes(table, table_bytes(letters, ".csv"))
    destroy(old)
