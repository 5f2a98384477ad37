"""Invitations: codes that the shuffler's side makes, and gives to one person each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from incrowd.collection.store.errors import StoreError
from incrowd.collection.store.store import Store
from incrowd.collection.wire import text32
from incrowd.collection.wire.addresses import Link
from incrowd.collection.wire.upload import RANDOM_BYTES, new_code
from incrowd.errors import InWords


class Invitation(NamedTuple):
    """A code as it is printed, and a link that holds it. Whoever has it can answer once."""

    code: str
    link: str


def new_invitations(store: Store, number: int, page: str = "") -> list[Invitation]:
    """So many new ones, random from the system; `issue` makes them valid.

    page: address of a survey page, where links lead then; `incrowd send` wants the shuffler's.
    Raises StoreError if the bundle asks for none.
    """
    bundle = store.bundle
    if not bundle.codes:
        allowed = "use a bundle with codes = true; this one needs no invitations"
        raise StoreError.of("bundle", InWords("is of an open survey"), allowed)
    made = [new_code(os.urandom(RANDOM_BYTES)) for _ in range(number)]
    links = (Link(page or bundle.addresses.shuffler, bundle.digest, code) for code in made)
    return [Invitation(text32.grouped(link.code), str(link)) for link in links]


def issue(store: Store, invitations: Sequence[Invitation]) -> None:
    """Keep the codes, as tags that nobody reads: from now on they can be used once."""
    store.invite([text32.plain(each.code).encode() for each in invitations])
