"""What a receipt says of reports that came over a network, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from incrowd.estimation.results import Received

UPLOADS = (
    "Each upload was treated as one person. Who was invited twice, or sent under two names, is "
    "protected less than stated."
)
_NOT_SHOWN = (
    "The signature shows that the shuffler's key stated these numbers for these very bytes. It "
    "does not show that they were mixed, that the people are real, or that nobody was left out"
)
_ALONE = "One party mixed and opened these reports: nothing beyond the local guarantee is promised"
_AGAIN = (
    "Permanent responses of an earlier round are repeated, here or in another round that the "
    "promise covers: nothing beyond the local guarantee is promised. Who took part in which "
    "rounds can be matched with responses that stay the same, and nobody signed that the same "
    "people were invited"
)
_CHEATED = (
    "The shuffler signed two different releases of one stratum: it cheats, and the proof is kept "
    "in the collector's folder `contradictions`"
)


def receipt_sentences(found: Received) -> Iterator[str]:
    """The receipt of one release; what stands out comes after it."""
    yield _received(found)
    if found.contradicted:
        yield f"{_CHEATED}."
    if found.local_only:
        yield f"{_ALONE}."
    if found.again:
        yield f"{_AGAIN}."
    for message, reports, most in found.crowded:
        yield (
            f"Message {message + 1} has {reports:,} reports, more than the {most:,} of "
            f"{found.opened_people:,} people: some senders filled places that were not meant for "
            "it, or other reports were lost."
        )


def receipt_facts(found: Received) -> dict[str, Any]:
    """A receipt as JSON-ready data, with its sentences. A receipt that is shown was verified."""
    words = " ".join(receipt_sentences(found))
    return asdict(found) | {"signature_valid": True, "sentence": words}


def _received(found: Received) -> str:
    strata = f"{'strata' if len(found.strata) > 1 else 'stratum'} {', '.join(found.strata)}"
    opened = found.reports - sum(found.rejected.values())
    return (
        f"Receipt of {strata}: the shuffler signed that {found.people:,} people sent "
        f"{found.reports:,} sealed reports ({found.places} each, dummies included), "
        f"{_codes(found)}. {opened:,} of them were opened, enough for {found.opened_people:,} "
        f"people; {_rejected(found)}. {_NOT_SHOWN}. Bundle {found.bundle}."
    )


def _codes(found: Received) -> str:
    if found.issued is not None:
        return f"each with an invitation, of {found.issued:,} sent out"
    return (
        f"without invitations: {found.colluding:,} of them are taken to be invented or to collude"
    )


def _rejected(found: Received) -> str:
    if not found.rejected:
        return "none was rejected"
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.rejected.items())
    return f"{sum(found.rejected.values()):,} were rejected ({kinds})"
