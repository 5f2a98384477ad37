"""What a receipt says of reports that came over a network, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from incrowd.plans.claims import Release

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.estimation.results import Received


UPLOADS = (
    "Each upload was treated as one person: the promise is to each person who sends once. Who was "
    "invited twice, or sent under two names, is protected less than stated."
)
_NOT_SHOWN = (
    "The signature shows that the shuffler's key stated these numbers for these very bytes. It "
    "does not show that they were mixed, that the people are real, or that nobody was left out"
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


def without_receipt(releases: Iterable[Release], received: Iterable[Received]) -> Iterator[str]:
    """A sentence for each release whose receipt is not there."""
    there = {each.release for each in received}
    for release in sorted(releases, key=lambda release: (release.claims.bundle, release.strata)):
        if release.id not in there:
            yield (
                f"No receipt is there of release {release.id[:12]}… (bundle "
                f"{release.claims.bundle[:12]}…, {release.people:,} people): nobody checked what "
                "the shuffler signed. The guarantee is what the reports themselves state."
            )


def releases_facts(releases: Iterable[Release]) -> list[dict[str, Any]]:
    """What reports that came over a network state about it, JSON-ready."""
    return [each.model_dump(mode="json") for each in sorted(releases, key=lambda each: each.id)]


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


_REJECTED = {
    "another-key": "for another key",
    "unopened": "could not be opened",
    "malformed": "not well formed",
    "repeated": "repeated",
}


def _rejected(found: Received) -> str:
    if not found.rejected:
        return "none was rejected"
    kinds = ", ".join(f"{count:,} {_REJECTED[kind]}" for kind, count in found.rejected.items())
    return f"{sum(found.rejected.values()):,} were rejected ({kinds})"


# Invitations on paper: one to a person, with what the device has to show before it sends.


def invitations_page(
    title: str, short: str, invitations: Sequence[tuple[str, str]], page: str = ""
) -> str:
    """A page to print and cut: code and link of each.

    short: of the bundle's digest. page: address of a survey page, which people open then.
    """
    from incrowd.presentation.shell import rendered

    parts = {"title": title, "short": short, "invitations": invitations, "page": page}
    return rendered("invitations.html", **parts)


# What every output says of reports that were made with a known seed: they protect nobody.


SEED = "simulation_seed"
WARNING = "simulation"


def simulation_warning(seed: int) -> str:
    """What must stand above whatever was made from a simulation."""
    return (
        f"Simulation. These reports were randomized with the known seed {seed}, so the noise can "
        "be taken off again and they protect nobody. What is promised here holds for reports "
        "randomized without a seed."
    )


def marked(facts: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """JSON-ready facts with the seed, null for real reports; of a simulation with the warning."""
    warning = {} if seed is None else {WARNING: simulation_warning(seed)}
    return warning | facts | {SEED: seed}


def marked_table(table: pa.Table, seed: int | None) -> pa.Table:
    """A table that says so in every row if it is of a simulation; else as it was.

    Rows are all that a CSV file has.
    """
    import pyarrow as pa  # slow to load, and a plan needs none

    if seed is None:
        return table
    words = f"known seed {seed}: these reports protect nobody"
    return table.append_column(WARNING, pa.array([words] * table.num_rows, pa.string()))
