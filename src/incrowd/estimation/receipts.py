"""The receipts of releases: what the shuffler or the mixers signed, in words, and who counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from incrowd.errors import quantity
from incrowd.plans.claims import ClaimedRelease

UPLOADS = (
    "Each upload was treated as one person: the promise is to each person who sends once. Anyone "
    "who was invited twice, or sent under two names, is less protected than stated."
)
_NOT_SHOWN = (
    "The signature proves that the shuffler's key stated these numbers for exactly these bytes. It "
    "does not prove that they were mixed, that the people are real, or that nobody was left out"
)
_TOKENS_SHOW = (
    "The signatures prove that these keys stated these numbers for exactly these bytes, and each "
    "counted report has a token of the inviter. This does not prove that the reports were mixed, "
    "that the people are real, or that nobody was left out"
)
_MIXER_CHEATED = (
    "A mixer signed two statements of which an honest one signs only one, which proves that it "
    "cheats; the evidence is in the collector's folder `contradictions`"
)
_CHEATED = (
    "The shuffler signed two different releases of one stratum, which proves that it cheated; the "
    "evidence is in the collector's folder `contradictions`"
)
ROWS = (
    "Each row of the answers was treated as one person. Anyone with several rows is less protected "
    "than stated, and the intervals do not account for rows that belong to the same person."
)
IDS = (
    "Each id in the answers was treated as one person: rows with the same id gave one set of "
    "reports, and ids with conflicting rows gave none. The ids were never sent."
)


@dataclass(frozen=True)
class Received:
    """The receipt of a release. It is shown to readers; the guarantee follows from what the
    collections themselves state, and from `contradicted`.

    release: SHA-256 of the signed header. bundle: short form of its digest. strata: the strata of
    the release. people, reports: as signed by the shuffler, or by the first and the second mixer;
    reports are sealed, and include dummies. reports is None if services add noise: nobody may know
    how many of them count, and how many were rejected. issued, used: number of invitations, and of
    those that were used; None without invitations, or before the inviter stated them. tokens: the
    reports with a valid token of each message, as signed by the second mixer; empty if some message
    had too few, so that the stratum has no reports; None with one shuffler. rejected: sealed
    reports by kind. opened_people: the largest number of people from whom the reports can come.
    crowded: messages with more reports than people times places: number, reports, and that product.
    places: sealed reports of one person. tail: upper bound on the probability that a person's
    reports did not fit and were drawn again. colluding: the stated number of people who may
    collude. local_only: whether one party both mixed and opened the reports. contradicted: whether
    the shuffler also signed another release of the same stratum. mixers, thinned: as in
    `incrowd.plans.claims.Claims`.
    """

    release: str
    bundle: str
    strata: tuple[str, ...]
    people: int
    issued: int | None
    reports: int | None
    rejected: Mapping[str, int]
    opened_people: int
    crowded: tuple[tuple[int, int, int], ...]
    places: int
    tail: float
    colluding: int
    local_only: bool
    contradicted: bool = False
    mixers: Literal[1, 2] = 1
    thinned: bool = False
    used: int | None = None
    tokens: tuple[int, ...] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """The verified receipt for programs, with its sentences."""
        words = " ".join(receipt_sentences(self))
        return asdict(self) | {"signatures_valid": True, "sentence": words}


def receipt_sentences(receipt: Received) -> Iterator[str]:
    """Yield the receipt of one release, then anything unusual about it."""
    yield _received(receipt)
    if receipt.contradicted:
        yield cheating_sentence(receipt.mixers)
    filled = "some senders filled slots that were meant for other messages, or " * (
        receipt.mixers == 1  # tokens are of a message
    )
    for message, reports, most in receipt.crowded:
        yield (
            f"Message {message + 1} has {quantity(reports, 'reports')}, more than the {most:,} "
            f"that {quantity(receipt.opened_people, 'people send')}: {filled}other reports were "
            "lost."
        )


def cheating_sentence(mixers: int) -> str:
    """Return what contradicting signatures prove. mixers: 1 for a shuffler, 2 for two mixers."""
    return f"{_CHEATED if mixers == 1 else _MIXER_CHEATED}."


def unaccounted(received: Iterable[Received]) -> Iterator[str]:
    """Yield a sentence for each bundle in which more invitations were used than people were
    released."""
    people: dict[str, int] = {}
    used: dict[str, int] = {}
    for receipt in received:
        if receipt.tokens is not None and receipt.used is not None:
            people[receipt.bundle] = people.get(receipt.bundle, 0) + receipt.people
            used[receipt.bundle] = receipt.used
    for bundle, number in used.items():
        if more := number - people[bundle]:
            which = "more" if more > 0 else "fewer"
            yield (
                f"{quantity(abs(more), f'{which} invitations were')} used than there are people in "
                f"these receipts of bundle {bundle}. {_MORE if more > 0 else _FEWER}"
            )


_MORE = (
    "They did not send an upload, withdrew it, or are in strata that are not here; otherwise, "
    "uploads were dropped."
)
_FEWER = "The inviter's or the first mixer's numbers are wrong."


def without_receipt(
    releases: Iterable[ClaimedRelease], received: Iterable[Received]
) -> Iterator[str]:
    """Yield a sentence for each release without a receipt."""
    receipts = {receipt.release for receipt in received}
    for release in sorted(releases, key=lambda release: (release.claims.bundle, release.strata)):
        if release.id not in receipts:
            yield (
                f"There is no receipt for release {release.id[:12]}… (bundle "
                f"{release.claims.bundle[:12]}…, {quantity(release.people, 'people')}): nobody "
                f"verified what the {'shuffler' if release.claims.mixers == 1 else 'mixers'} "
                "signed. The guarantee relies on what the reports themselves state."
            )


def _received(receipt: Received) -> str:
    strata = f"{'strata' if len(receipt.strata) > 1 else 'stratum'} {', '.join(receipt.strata)}"
    if receipt.reports is None:
        return f"Receipt of {strata}: {_of_services(receipt)}. Bundle {receipt.bundle}."
    opened = receipt.reports - sum(receipt.rejected.values())
    if receipt.tokens is not None:
        mixed = _mixed(receipt, receipt.reports, opened)
        return f"Receipt of {strata}: {mixed}. Bundle {receipt.bundle}."
    return (
        f"Receipt of {strata}: the shuffler signed that {quantity(receipt.people, 'people')} sent "
        f"{quantity(receipt.reports, 'sealed reports')} ({receipt.places} each, dummies included), "
        f"{_codes(receipt)}. {opened:,} of them were opened, enough for "
        f"{quantity(receipt.opened_people, 'people')}; {_rejected(receipt)}. {_NOT_SHOWN}. "
        f"Bundle {receipt.bundle}."
    )


def _of_services(receipt: Received) -> str:
    """Return what the shuffler signed if it adds noise, and how much that proves."""
    return (
        f"the shuffler signed that {quantity(receipt.people, 'people')} sent an upload, "
        f"{_codes(receipt)}. What was opened is enough for "
        f"{quantity(receipt.opened_people, 'people')}. The shuffler and the collector each added "
        "noise to the counts, so nobody may know how many reports there were. Nothing here proves "
        f"that they added only noise. {_NOT_SHOWN}"
    )


def _mixed(receipt: Received, reports: int, opened: int) -> str:
    """Return what the two mixers and the inviter signed."""
    people = f"the first mixer signed that {quantity(receipt.people, 'people')} sent an upload"
    if not receipt.tokens:
        return (
            f"{people}, and the second mixer that there were too few reports with a token of the "
            "inviter. Nothing was counted"
        )
    each = ", ".join(f"{tokens:,}" for tokens in receipt.tokens)
    issued = "The inviter has not yet stated how many invitations were used"
    if receipt.issued is not None:
        issued = (
            f"The inviter signed that {receipt.used:,} of {receipt.issued:,} invitations were used"
        )
    return (
        f"{people}, and the second mixer that {quantity(reports, 'sealed reports have')} a "
        f"token of the inviter (by message: {each}; dummies included). {opened:,} of them were "
        f"opened, enough for {quantity(receipt.opened_people, 'people')}; {_rejected(receipt)}. "
        f"{issued}. {_TOKENS_SHOW}"
    )


def _codes(receipt: Received) -> str:
    if receipt.issued is not None:
        return f"each with an invitation, of {receipt.issued:,} sent out"
    return f"without invitations: {receipt.colluding:,} are assumed to be invented or colluding"


_REJECTED = {
    "another-key": "for another key",
    "unopened": "could not be opened",
    "malformed": "not well formed",
    "repeated": "repeated",
    "token": "without a valid token",
    "another-message": "of another message than their token",
}


def _rejected(receipt: Received) -> str:
    if not receipt.rejected:
        return "none was rejected"
    kinds = ", ".join(f"{count:,} {_REJECTED[kind]}" for kind, count in receipt.rejected.items())
    return f"{sum(receipt.rejected.values()):,} were rejected ({kinds})"


def persons_sentence(persons: str, rows_per_person: int) -> str:
    """State what was treated as one person."""
    if persons == "ids":
        return IDS
    if rows_per_person > 1:
        return (
            f"Up to {rows_per_person} rows of the answers may belong to one person: the promise "
            "covers all of them together. The intervals do not account for rows that belong to the "
            "same person."
        )
    return ROWS
