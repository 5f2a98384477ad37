"""The statements of a collection over a network about how it was collected.

The claims are part of the collection and of every tally of it, so that the guarantee does not
depend on a receipt that can be lost or moved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from incrowd.errors import ReportsError
from incrowd.plans.digests import FileModel
from incrowd.survey.toml import Real

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
ID_DOMAIN = b"incrowd collection 1\x00"
ID_BYTES = 16


class Claims(FileModel):
    """The statements of a bundle that a guarantee depends on.

    bundle: SHA-256 of the bundle. codes: whether an upload needs an invitation. colluding: people
    who may cooperate with the analyst. mixers: one shuffler, or two mixers with an inviter.
    local_only: whether one party mixes and collects. thinned: whether the collector's organization
    also runs the first of two mixers, and messages are cells: it could pass on single reports of
    many people, and nothing is proved about such sets. places: slots for sealed reports in each
    upload. tail: an upper bound of the probability that one person's reports did not fit into the
    slots and were drawn again.
    """

    bundle: Digest
    codes: bool
    colluding: Annotated[int, Field(ge=0)]
    mixers: Literal[1, 2] = 1
    local_only: bool
    thinned: bool = False
    places: Annotated[int, Field(ge=1)]
    tail: Annotated[Real, Field(ge=0, lt=1)]


class ClaimedRelease(FileModel):
    """One release of a bundle.

    id: SHA-256 of the header that the shuffler signed. strata: the numbers of its strata in the
    bundle. people: the most people whose reports it contains.
    """

    claims: Claims
    id: Digest
    strata: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1)
    people: Annotated[int, Field(ge=0)]

    def collection(self, message: int) -> str:
        """Return the id of the collection of a message's reports; opening it again gives the
        same."""
        content = ID_DOMAIN + bytes.fromhex(self.id) + message.to_bytes(4)
        return hashlib.sha256(content).hexdigest()[: 2 * ID_BYTES]


def together(
    some: frozenset[ClaimedRelease], others: Iterable[ClaimedRelease]
) -> frozenset[ClaimedRelease]:
    """Return the union. Raises ReportsError for releases that cannot be counted together.

    A stratum of a bundle is released only once, and two files must state the same about a release.
    """
    for other in frozenset(others) - some:
        for one in some:
            _check_pair(one, other)
        some |= {other}
    return some


def _check_pair(one: ClaimedRelease, other: ClaimedRelease) -> None:
    if one.id == other.id:
        raise ReportsError.of("reports", "plans.two-versions", release=one.id[:12])
    shared = {*one.strata} & {*other.strata}
    if shared and one.claims.bundle == other.claims.bundle:
        stratum = min(shared) + 1
        raise ReportsError.of("reports", "plans.stratum-released-twice", stratum=stratum)
