"""Invitations: printed codes, each of which lets one person answer once."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from incrowd.collection.protocol import addresses
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.upload import RANDOM_BYTES, new_code
from incrowd.errors import UsageError
from incrowd.files import PRIVATE, replaced, write_text


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


def write_invitations(
    store: Inviting, number: int, output: Path, page: Path | None, survey_page: str
) -> int:
    """Create invitations, and return how many there are in all.

    output: a CSV file with columns code and link. page: an HTML page to print, or None.
    survey_page: as `page` of `new_invitations`. They are valid only if both files were written.
    """
    from incrowd.presentation.receipts import invitations_page

    rows = new_invitations(store, number, survey_page)
    with replaced(output, mode=PRIVATE) as temporary:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("code", "link"), *rows])
        title, digest = store.bundle.wording.title, addresses.short(store.bundle.digest)
        if page:
            write_text(page, invitations_page(title, digest, rows, survey_page), mode=PRIVATE)
        issue(store, rows)
    return store.issued()
