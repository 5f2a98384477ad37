"""The receipt of a release: what the shuffler signed, and the result of opening it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from incrowd.collection.claims import release_of
from incrowd.collection.collector.opening import kinds_of
from incrowd.collection.collector.places import INVENTED, RECEIPT, CollectorPlaces
from incrowd.collection.folders import BUNDLE
from incrowd.collection.protocol.addresses import short
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.mixing import AnyRelease, Invitations, MixedRelease
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed, prove_cheating
from incrowd.errors import IncrowdError, ReportsError, unreadable
from incrowd.estimation.receipts import Received
from incrowd.files import write_bytes
from incrowd.plans import Plan
from incrowd.plans.claims import ClaimedRelease
from incrowd.plans.digests import FileCount, StrictFileModel
from incrowd.plans.slots import most_reports, tail
from incrowd.plans.strata import StratumNames
from incrowd.reports.collection import load_header
from incrowd.reports.folder import report_files
from incrowd.reports.tally_files import ENDING as TALLY
from incrowd.survey.reasons import wording

_log = logging.getLogger(__name__)


class OpenedCollection(StrictFileModel):
    """A collection in the folder: its id, its number of reports, the SHA-256 of its file.

    reports: None if services add noise, and the file has published counts: nobody may know how many
    reports there were.
    """

    id: str
    reports: FileCount | None = Field(default=None, exclude_if=lambda reports: reports is None)
    sha256: str


class Receipt(StrictFileModel):
    """The facts of one release, as in receipt.json.

    bundle: SHA-256 of the bundle. start: signature and header, in hexadecimal; people, reports,
    strata, tokens, and with one shuffler issued and used repeat what it states. tokens: the tokens
    of each message, with two mixers; empty if some message had too few. rejected: sealed reports by
    kind. dummies: their number; with two mixers, of each message. opened_people: the most people
    that the opened plaintexts can be from. messages: in their order; none if there were too few
    tokens. contradictions: starts of other releases that are signed by the same key, and exclude
    this one. invitations: the inviter's signature and statement, when it has arrived; issued and
    used repeat it.

    If services add noise, rejected and dummies are empty, since whoever knows what was added could
    learn answers from any number of reports; `reports` follows from the people then.
    """

    format: Literal["incrowd receipt 1"] = "incrowd receipt 1"
    bundle: str
    start: str
    people: FileCount
    issued: FileCount | None
    used: FileCount | None
    reports: FileCount
    strata: list[str]
    tokens: list[FileCount] | None = None
    rejected: dict[str, FileCount]
    dummies: list[FileCount]
    opened_people: FileCount
    messages: list[OpenedCollection]
    contradictions: list[str] = Field(default_factory=list)
    invitations: str | None = None

    @property
    def accepted(self) -> int:
        """Sealed reports that were opened, dummies included; not known if services add noise."""
        return sum(self.dummies) + sum(message.reports or 0 for message in self.messages)

    @property
    def counts_only(self) -> bool:
        """Whether services add noise, so that no number of reports is known."""
        return any(message.reports is None for message in self.messages)

    @property
    def is_refused(self) -> bool:
        """Whether the second mixer had too few tokens, so that the stratum has no reports."""
        return self.tokens == []

    @property
    def signed(self) -> Signed[AnyRelease]:
        """The statement that the shuffler, or the second mixer, signed."""
        return self._start(self.start)

    @property
    def contradicting(self) -> list[Signed[AnyRelease]]:
        """The signed statement that excludes this release."""
        return list(map(self._start, self.contradictions))

    def _start(self, text: str) -> Signed[AnyRelease]:
        kind = Header if self.tokens is None else MixedRelease
        return Signed[AnyRelease].parse(kind, bytes.fromhex(text))[0]

    @property
    def inviter(self) -> Signed[Invitations] | None:
        """The statement that the inviter signed, once it has arrived."""
        if self.invitations is None:
            return None
        return Signed.parse(Invitations, bytes.fromhex(self.invitations))[0]


def accepted(dummies: Iterable[int], reports: Iterable[int], bundle: Bundle) -> list[int]:
    """Return the reports, dummies included, of each of the bundle's groups.

    dummies: the dummies of each group. reports: the reports of each message.
    """
    of_messages = [*reports]
    return [
        empty + sum(of_messages[message] for message in messages)
        for empty, (messages, _) in zip(dummies, bundle.groups, strict=True)
    ]


def people_at_most(signed: Signed[AnyRelease], accepted: Sequence[int], bundle: Bundle) -> int:
    """Return the most people that the reports can be from: as stated, and with all slots full.

    accepted: as from `accepted`; if the bundle has lanes, for each of them.
    """
    if bundle.lanes:
        lanes = zip(accepted, bundle.lanes, strict=True)
        each = [max(opened - lane.invented, 0) // lane.slots for opened, lane in lanes]
    else:
        each = [opened // slots for opened, (_, slots) in zip(accepted, bundle.groups, strict=True)]
    return min(signed.header.people, *each)


def receipt_of(
    signed: Signed[AnyRelease],
    bundle: Bundle,
    people: int,
    rejected: Mapping[str, int],
    dummies: Sequence[int],
    messages: Sequence[OpenedCollection],
    contradictions: Sequence[str] = (),
    invitations: Signed[Invitations] | None = None,
) -> Receipt:
    """Return the receipt of an opened release. people: the most that the reports can be from."""
    header = signed.header
    counted = header if isinstance(header, Header) else invitations and invitations.header
    return Receipt(
        bundle=bundle.digest.hex(),
        start=signed.encoded.hex(),
        people=header.people,
        issued=counted.issued if counted else None,
        used=counted.used if counted else None,
        reports=header.reports,
        strata=list(names_of(signed, bundle)),
        tokens=list(header.tokens) if isinstance(header, MixedRelease) else None,
        rejected={kind: rejected.get(kind, 0) for kind in kinds_of(bundle)},
        dummies=list(dummies),
        opened_people=people,
        messages=list(messages),
        contradictions=list(contradictions),
        invitations=invitations.encoded.hex() if invitations else None,
    )


def names_of(signed: Signed[AnyRelease], bundle: Bundle) -> StratumNames:
    """Return the names of the strata of a release."""
    return tuple(bundle.strata[number] for number in signed.header.strata)


def check(receipt: Receipt, bundle: Bundle) -> None:
    """Raise ProtocolError unless the parties in the bundle signed the statements in the receipt.

    Raise ReportsError unless the numbers follow from what was signed and opened.
    """
    signed, inviter = receipt.signed, receipt.inviter
    for statement in (signed, inviter) if inviter else (signed,):
        statement.check(bundle)
    if not all(prove_cheating(signed, other, bundle) for other in receipt.contradicting):
        raise _edited()
    counts = receipt.rejected, receipt.dummies, receipt.messages, receipt.contradictions, inviter
    people = receipt.opened_people
    release = release_of(signed.header, bundle, people)
    each = () if receipt.is_refused else range(len(bundle.plan.messages))
    fits = [message.id for message in receipt.messages] == list(map(release.collection, each))
    add_up = _fit_lanes if bundle.lanes else _add_up
    if not (fits and add_up(receipt, bundle)):
        raise _edited()
    if receipt != receipt_of(signed, bundle, people, *counts):
        raise _edited()


def _add_up(receipt: Receipt, bundle: Bundle) -> bool:
    """Return whether what was opened and rejected is what was signed, and enough for the people."""
    reports = [message.reports for message in receipt.messages] or [0] * len(bundle.plan.messages)
    counted = [each for each in reports if each is not None]
    if len(receipt.dummies) != len(bundle.groups) or len(counted) < len(reports):
        return False
    people = people_at_most(receipt.signed, accepted(receipt.dummies, counted, bundle), bundle)
    whole = receipt.accepted + sum(receipt.rejected.values()) == receipt.reports
    return whole and people == receipt.opened_people


def _fit_lanes(receipt: Receipt, bundle: Bundle) -> bool:
    """Return whether there are no more people than signed, and no numbers of reports but those to
    which devices added the noise."""
    fit = not receipt.dummies and not receipt.rejected and receipt.opened_people <= receipt.people
    for message, of in zip(receipt.messages, bundle.plan.messages, strict=True):
        fit &= (message.reports is None) == of.by_services
    return fit


def _edited() -> IncrowdError:
    return ReportsError.of("receipt", "collection.receipt-edited")


def load_receipt(folder: Path, plan: Plan | None = None) -> tuple[Receipt, Bundle]:
    """Return the receipt and the bundle in a folder, checked. plan: the expected plan.

    Raises ReportsError if they cannot be read or do not belong together, otherwise as `check`.
    """
    path = folder / RECEIPT
    try:
        _log.info("reading %s, a receipt", path)
        receipt = Receipt.model_validate_json(path.read_bytes())
        bundle = Bundle.parse((folder / BUNDLE).read_bytes())
    except OSError as error:
        raise _unreadable(error.filename, error) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ReportsError.of(
            ("receipt", *first["loc"]),
            "survey.unfit",
            value=first["input"],
            reason=wording(first),
        ) from None
    try:
        check(receipt, bundle)
    except ValueError:  # not hexadecimal
        raise ReportsError.of(
            "receipt", "collection.receipt-without-header", file=str(path)
        ) from None
    if plan is not None and bundle.plan.digest != plan.digest:
        raise ReportsError.of("receipt", "collection.receipt-of-other-plan", file=str(path))
    return receipt, bundle


def save_receipt(receipt: Receipt, folder: Path) -> None:
    """Write receipt.json into a folder, atomically."""
    write_bytes(folder / RECEIPT, (receipt.model_dump_json(indent=2) + "\n").encode())


def note_later(places: CollectorPlaces, bundle: Bundle) -> None:
    """Add to the receipts what arrived later: proofs that a signer cheats, and the inviter's
    statement."""
    inviter = next(iter(places.invitations.received()), None)
    for folder in sorted(places.opened_ones.glob("release-*")):
        receipt, _ = load_receipt(folder)
        others = [
            other.encoded.hex()
            for other in places.releases(bundle).proofs()
            if prove_cheating(receipt.signed, other, bundle)
        ]
        now = receipt_of(
            receipt.signed,
            bundle,
            receipt.opened_people,
            receipt.rejected,
            receipt.dummies,
            receipt.messages,
            others,
            inviter,
        )
        if now != receipt:
            save_receipt(now, folder)


def check_files(receipt: Receipt, folder: Path) -> None:
    """Raise ReportsError unless the collections in a folder are those that its receipt names."""
    for number, message in enumerate(receipt.messages):
        path = folder / collection_name(number)
        try:
            with path.open("rb") as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == message.sha256
        except OSError as error:
            raise _unreadable(path, error) from None
        if not same:
            raise ReportsError.of("receipt", "collection.reports-edited", file=str(path))


def collection_name(message: int) -> str:
    """Return the file name of a message's collection."""
    return f"message-{message + 1}.parquet"


def received(
    receipt: Receipt, bundle: Bundle, contradicted: bool = False, rehearsed: bool = False
) -> Received:
    """Return the facts of a receipt for pages. contradicted: whether other files prove cheating.
    rehearsed: whether the people were invented for a rehearsal."""
    people = receipt.opened_people
    most = most_reports(bundle.plan.messages, bundle.slots, bundle.pools)
    counted = () if bundle.lanes else receipt.messages
    pairs = zip(counted, most, strict=not receipt.is_refused and not bundle.lanes)
    return Received(
        release=release_of(receipt.signed.header, bundle, people).id,
        bundle=short(bundle.digest),
        strata=tuple(receipt.strata),
        people=receipt.people,
        issued=receipt.issued if bundle.codes else None,
        used=receipt.used if bundle.codes else None,
        tokens=None if receipt.tokens is None else tuple(receipt.tokens),
        reports=None if bundle.lanes else receipt.reports,
        rejected={kind: count for kind, count in receipt.rejected.items() if count},
        opened_people=people,
        crowded=tuple(
            (number, message.reports, people * places)
            for number, (message, places) in enumerate(pairs)
            if message.reports is not None and message.reports > people * places
        ),
        places=bundle.places,
        tail=tail(bundle.plan, bundle.slots, bundle.pools),
        colluding=bundle.colluding,
        local_only=bundle.one_party,
        contradicted=contradicted or bool(receipt.contradictions),
        mixers=bundle.mixers,
        thinned=bundle.thinned,
        rehearsed=rehearsed,
    )


def receipts_beside(
    paths: Some[str | Path], plan: Plan, releases: Some[ClaimedRelease], files: bool = False
) -> tuple[Received, ...]:
    """Return the facts of the receipts next to some reports, or next to tallies of them.

    releases: the releases whose reports were counted. files: whether the collections are compared
    byte for byte, and every release needs a receipt. Raises as `load_receipt` and `check_files`,
    and ReportsError for a receipt next to reports of another release.
    """
    near: dict[Path, list[Path]] = {}
    for file in (file for path in map(Path, paths) for file in _files(path)):
        near.setdefault(file.parent, []).append(file)
    receipts = [
        each
        for folder, reports in sorted(near.items())
        if (each := _receipt_of(folder, reports, plan, releases, files))
    ]
    missing = {each.id for each in releases} - {each.release for each in receipts}
    if files and missing:
        release = f"{min(missing)[:12]}…"
        raise ReportsError.of(
            "receipt",
            "collection.receipt-missing",
            release=release,
            receipt=RECEIPT,
            bundle=BUNDLE,
        )
    return tuple(receipts)


def _receipt_of(
    folder: Path, paths: list[Path], plan: Plan, releases: Some[ClaimedRelease], files: bool
) -> Received | None:
    """Return the facts of a folder's receipt for some reports in it, or None without a receipt.

    Reports that were not collected over a network may be next to a bundle, but not next to a
    receipt: they could be mistaken for the opened reports.
    """
    whose = {path: load_header(path).release for path in paths if path.suffix != TALLY}
    has_receipt = (folder / RECEIPT).exists()
    if not has_receipt and not ((folder / BUNDLE).exists() and any(whose.values())):
        return None
    receipt, bundle = load_receipt(folder, plan)
    named = release_of(receipt.signed.header, bundle, receipt.opened_people)
    for path, release in whose.items():
        if release != named:
            raise ReportsError.of(
                "receipt",
                "collection.receipt-of-others",
                file=str(folder / RECEIPT),
                reports=path.name,
            )
    if not whose and named not in releases:
        return None  # the tallies next to it are of other reports
    if files:
        check_files(receipt, folder)
    contradicted, rehearsed = _contradicted(receipt, bundle, folder), (folder / INVENTED).exists()
    return received(receipt, bundle, contradicted, rehearsed)


def _contradicted(receipt: Receipt, bundle: Bundle, folder: Path) -> bool:
    """Return whether the collector's folder has a contradicting release of the same strata."""
    signed, places = receipt.signed, CollectorPlaces(folder.resolve().parent.parent)
    if places.opened_ones != folder.resolve().parent:
        return False
    shelf = places.releases(bundle)
    return any(
        prove_cheating(signed, other, bundle) for other in (*shelf.received(), *shelf.proofs())
    )


def _files(path: Path) -> list[Path]:
    """Return the report files in a folder, or the file itself."""
    return report_files(path) if path.is_dir() else [path]


def receipts_of(plan: Plan, paths: Some[str | Path], files: bool = False) -> tuple[Received, ...]:
    """Return `receipts_beside` for all reports in some files and folders."""
    return receipts_beside(paths, plan, releases_in(paths), files)


def releases_in(paths: Some[str | Path]) -> frozenset[ClaimedRelease]:
    """Return the releases in some files and folders of reports."""
    every = (load_header(file).release for path in paths for file in report_files(path))
    return frozenset(each for each in every if each)


def _unreadable(path: str | Path, error: OSError) -> IncrowdError:
    reason = unreadable(error)
    return ReportsError.of(
        "receipt", "collection.receipt-unreadable", file=str(path), reason=reason
    )
