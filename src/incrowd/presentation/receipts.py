"""Receipts of reports that came over a network, and warnings about simulations, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from incrowd.errors import quantity
from incrowd.plans.claims import ClaimedRelease

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.estimation.results import Received


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


def receipt_sentences(receipt: Received) -> Iterator[str]:
    """The receipt of one release, then anything unusual about it."""
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
    """What contradicting signatures prove. mixers: 1 for a shuffler, 2 for two mixers."""
    return f"{_CHEATED if mixers == 1 else _MIXER_CHEATED}."


def unaccounted(received: Iterable[Received]) -> Iterator[str]:
    """A sentence for each bundle in which more invitations were used than people were released."""
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


def receipt_facts(receipt: Received) -> dict[str, Any]:
    """A verified receipt as JSON-ready data, with its sentences."""
    words = " ".join(receipt_sentences(receipt))
    return asdict(receipt) | {"signatures_valid": True, "sentence": words}


def without_receipt(
    releases: Iterable[ClaimedRelease], received: Iterable[Received]
) -> Iterator[str]:
    """A sentence for each release without a receipt."""
    receipts = {receipt.release for receipt in received}
    for release in sorted(releases, key=lambda release: (release.claims.bundle, release.strata)):
        if release.id not in receipts:
            yield (
                f"There is no receipt for release {release.id[:12]}… (bundle "
                f"{release.claims.bundle[:12]}…, {quantity(release.people, 'people')}): nobody "
                f"verified what the {'shuffler' if release.claims.mixers == 1 else 'mixers'} "
                "signed. The guarantee relies on what the reports themselves state."
            )


def releases_facts(releases: Iterable[ClaimedRelease]) -> list[dict[str, Any]]:
    """The releases that reports over a network belong to, as JSON-ready data."""
    return [each.model_dump(mode="json") for each in sorted(releases, key=lambda each: each.id)]


def _received(receipt: Received) -> str:
    strata = f"{'strata' if len(receipt.strata) > 1 else 'stratum'} {', '.join(receipt.strata)}"
    opened = receipt.reports - sum(receipt.rejected.values())
    if receipt.tokens is not None:
        return f"Receipt of {strata}: {_mixed(receipt, opened)}. Bundle {receipt.bundle}."
    return (
        f"Receipt of {strata}: the shuffler signed that {quantity(receipt.people, 'people')} sent "
        f"{quantity(receipt.reports, 'sealed reports')} ({receipt.places} each, dummies included), "
        f"{_codes(receipt)}. {opened:,} of them were opened, enough for "
        f"{quantity(receipt.opened_people, 'people')}; {_rejected(receipt)}. {_NOT_SHOWN}. "
        f"Bundle {receipt.bundle}."
    )


def _mixed(receipt: Received, opened: int) -> str:
    """What the two mixers and the inviter signed."""
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
        f"{people}, and the second mixer that {quantity(receipt.reports, 'sealed reports have')} a "
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


# Invitations on paper: one per person, with the digest that the device has to show.


def invitations_page(
    title: str, short: str, invitations: Sequence[tuple[str, str]], page: str = ""
) -> str:
    """A page to print and cut, with the code and link of each invitation.

    short: the beginning of the bundle's digest. page: the address of a survey page, if people
    answer there.
    """
    from incrowd.presentation.shell import rendered

    parts = {"title": title, "short": short, "invitations": invitations, "page": page}
    return rendered("invitations.html", **parts)


# Every output warns about reports that were made with a known seed: they protect nobody.


SEED = "simulation_seed"
WARNING = "simulation"


def simulation_warning(seed: int) -> str:
    """The warning above every output of a simulation."""
    return (
        f"Simulation. These reports were randomized with the known seed {seed}, so the noise can "
        "be removed and they protect nobody. The promise stated here holds for reports randomized "
        "without a seed."
    )


def marked(facts: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """Add the seed (null for real reports) to JSON-ready facts, and for a simulation a warning."""
    warning = {} if seed is None else {WARNING: simulation_warning(seed)}
    return warning | facts | {SEED: seed}


def marked_table(table: pa.Table, seed: int | None) -> pa.Table:
    """Add a column with a warning if the table is of a simulation: a CSV file has only rows."""
    import pyarrow as pa  # slow to load, and a plan needs none

    if seed is None:
        return table
    words = f"known seed {seed}: these reports protect nobody"
    return table.append_column(WARNING, pa.array([words] * table.num_rows, pa.string()))
