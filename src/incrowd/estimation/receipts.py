"""The receipts of releases: what the shuffler or the mixers signed, in words, and who counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from incrowd.catalog.sentences import NumberText, translatable
from incrowd.plans.claims import ClaimedRelease

UPLOADS = translatable("estimation.uploads-are-people")
_NOT_SHOWN = translatable("estimation.signature-shows")
_TOKENS_SHOW = translatable("estimation.tokens-show")
ROWS = translatable("estimation.rows-are-people")
IDS = translatable("estimation.ids-are-people")


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
    `incrowd.plans.claims.Claims`. rehearsed: whether the people were invented for a rehearsal.
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
    rehearsed: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """The verified receipt for programs, with its sentences."""
        words = " ".join(receipt_sentences(self))
        facts = asdict(self) | {"signatures_valid": True, "sentence": words}
        return facts if facts.pop("rehearsed") is False else facts | {"rehearsed": True}


def receipt_sentences(receipt: Received) -> Iterator[str]:
    """Yield the receipt of one release, then anything unusual about it."""
    yield _received(receipt)
    if receipt.contradicted:
        yield cheating_sentence(receipt.mixers)
    filled = "estimation.crowded-or-filled"
    if receipt.mixers > 1:  # tokens are of a message
        filled = "estimation.crowded"
    for message, reports, most in receipt.crowded:
        yield translatable(
            filled,
            message=message + 1,
            reports=reports,
            most=most,
            people=receipt.opened_people,
        )


def cheating_sentence(mixers: int) -> str:
    """Return what contradicting signatures prove. mixers: 1 for a shuffler, 2 for two mixers."""
    cheated = "estimation.shuffler-cheated" if mixers == 1 else "estimation.mixer-cheated"
    return translatable(cheated)


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
            code = "estimation.more-invitations" if more > 0 else "estimation.fewer-invitations"
            yield translatable(code, number=abs(more), bundle=bundle)


def without_receipt(
    releases: Iterable[ClaimedRelease], received: Iterable[Received]
) -> Iterator[str]:
    """Yield a sentence for each release without a receipt."""
    receipts = {receipt.release for receipt in received}
    for release in sorted(releases, key=lambda release: (release.claims.bundle, release.strata)):
        if release.id not in receipts:
            one = release.claims.mixers == 1
            yield translatable(
                "estimation.no-receipt" if one else "estimation.no-receipt-of-mixers",
                release=release.id[:12],
                bundle=release.claims.bundle[:12],
                people=release.people,
            )


def _received(receipt: Received) -> str:
    if receipt.reports is None:
        signed = _of_services(receipt)
    elif receipt.tokens is not None:
        opened = receipt.reports - sum(receipt.rejected.values())
        signed = _mixed(receipt, receipt.reports, opened)
    else:
        signed = translatable(
            "estimation.shuffler-signed",
            people=receipt.people,
            reports=receipt.reports,
            places=receipt.places,
            codes=_codes(receipt),
            opened=receipt.reports - sum(receipt.rejected.values()),
            enough=receipt.opened_people,
            rejected=_rejected(receipt),
            proof=_NOT_SHOWN,
        )
    of = "estimation.receipt-of-strata" if len(receipt.strata) > 1 else "estimation.receipt-of"
    return translatable(of, strata=[*receipt.strata], signed=signed, bundle=receipt.bundle)


def _of_services(receipt: Received) -> str:
    """Return what the shuffler signed if it adds noise, and how much that proves."""
    return translatable(
        "estimation.noisy-shuffler-signed",
        people=receipt.people,
        codes=_codes(receipt),
        enough=receipt.opened_people,
        proof=_NOT_SHOWN,
    )


def _mixed(receipt: Received, reports: int, opened: int) -> str:
    """Return what the two mixers and the inviter signed."""
    if not receipt.tokens:
        return translatable("estimation.mixers-counted-nothing", people=receipt.people)
    issued = translatable("estimation.inviter-silent")
    if receipt.issued is not None:
        issued = translatable("estimation.inviter-signed", used=receipt.used, issued=receipt.issued)
    return translatable(
        "estimation.mixers-signed",
        people=receipt.people,
        reports=reports,
        each=[NumberText(f"{tokens:,}") for tokens in receipt.tokens],
        opened=opened,
        enough=receipt.opened_people,
        rejected=_rejected(receipt),
        issued=issued,
        proof=_TOKENS_SHOW,
    )


def _codes(receipt: Received) -> str:
    if receipt.issued is not None:
        return translatable("estimation.with-invitations", issued=receipt.issued)
    return translatable("estimation.without-invitations", people=receipt.colluding)


_REJECTED = {
    "another-key": "estimation.rejected-another-key",
    "unopened": "estimation.rejected-unopened",
    "malformed": "estimation.rejected-malformed",
    "repeated": "estimation.rejected-repeated",
    "token": "estimation.rejected-token",
    "another-message": "estimation.rejected-another-message",
}


def _rejected(receipt: Received) -> str:
    if not receipt.rejected:
        return translatable("estimation.none-rejected")
    kinds = [translatable(_REJECTED[kind], reports=n) for kind, n in receipt.rejected.items()]
    total = sum(receipt.rejected.values())
    return translatable("estimation.some-rejected", reports=total, kinds=kinds)


def persons_sentence(persons: str, rows_per_person: int) -> str:
    """State what was treated as one person."""
    if persons == "ids":
        return IDS
    if rows_per_person > 1:
        return translatable("estimation.several-rows", rows=rows_per_person)
    return ROWS
