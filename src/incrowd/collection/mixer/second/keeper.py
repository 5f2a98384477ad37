"""A second mixer's folder: its keys, the batch, the releases; what is due; what is left.

1. The batch is there when `starts` contains its header; its body is in `waiting`.
2. The releases are there when the folder `releases` exists. Then the batch's body is deleted and
   the private keys are destroyed, and only then is anything sent.
3. A release is delivered when its body is gone.
4. At `disposes`, everything is destroyed, except proofs that the first mixer cheats.

Every step can be interrupted anywhere; the next `look` continues from the files.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.delivery import Courier, Pauses
from incrowd.collection.folders import (
    adopt_bundle,
    check_exists,
    load_key,
    load_signing_key,
    unfinished,
)
from incrowd.collection.handover import pauses
from incrowd.collection.machine import MachineFinding, clock, memory, modes, room
from incrowd.collection.mixer.second.releasing import GoOn, SecondMixerKeys, make_releases
from incrowd.collection.protocol.bundle import Bundle, MixersBundle, as_time
from incrowd.collection.protocol.mixing import Batch, MixedRelease
from incrowd.collection.protocol.sealed import X25519, X_WING, PrivateKey
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.settings import SecondMixerSettings
from incrowd.collection.steady import TimedClock, steadiness
from incrowd.collection.steps import KEYS, LOG, STORING, WORKING, ServiceSteps
from incrowd.collection.taking import Shelf
from incrowd.errors import ReportsError, UsageError
from incrowd.files import destroy, is_taken, private_folder, settle_names, write_private

SERVICE = "second-mixer"  # its command
KEY_ID = 1

# The keys: made here, never sent, destroyed before anything leaves.


def make_keys(settings: SecondMixerSettings, *, classical: bool = False) -> dict[str, str]:
    """Make both keys of a second mixer; return the public ones, as they go into the bundle.

    Raises UsageError if there are keys already.
    """
    for path in (*settings.private_files, settings.public_file):
        if is_taken(path):
            raise UsageError.of("folder", "collection.folder-taken", file=str(path))
    private = PrivateKey.generate(X25519 if classical else X_WING)
    signing = Ed25519PrivateKey.generate()
    public = {
        "key": signing.public_key().public_bytes_raw().hex(),
        "key_configuration": private.configuration(KEY_ID).encoded.hex(),
    }
    private_folder(settings.folder)
    write_private(settings.secret_file, private.secret)
    write_private(settings.signing_file, signing.private_bytes_raw())
    lines = "".join(f'{name} = "{value}"\n' for name, value in public.items())
    write_private(settings.public_file, lines.encode())
    return public


def load_keys(settings: SecondMixerSettings, bundle: MixersBundle) -> SecondMixerKeys:
    """Return the private keys. Raises UsageError if they are unreadable or not the bundle's."""
    envelopes = load_key(settings.secret_file, bundle.second_key, SERVICE)
    signing = load_signing_key(settings.signing_file, bundle.second.key, SERVICE)
    return SecondMixerKeys(envelopes, signing)


def keep_bundle(settings: SecondMixerSettings, path: Path | None, now: datetime) -> MixersBundle:
    """Return the bundle in a folder; first copy it there if a file is named.

    Raises UsageError if there is no bundle, a different one, one without a second mixer, or one
    with other keys than those in the folder, until these are destroyed.
    """

    def check(bundle: Bundle) -> None:
        if not isinstance(bundle, MixersBundle):
            given = str(path or settings.bundle_file)
            raise UsageError.of("bundle", "collection.bundle-with-one-mixer", file=given)
        if not settings.releases.exists() and now < as_time(bundle.disposes):
            load_keys(settings, bundle)

    bundle = adopt_bundle(settings.bundle_file, path, check)
    assert isinstance(bundle, MixersBundle)
    return bundle


# What is due.


@dataclass(frozen=True)
class SignedRelease:
    """The files of a signed release. The body is deleted when the collector has acknowledged it."""

    start: Path

    @property
    def body(self) -> Path:
        """The file of the body, empty if the stratum was refused."""
        return self.start.with_suffix(".body")

    @property
    def signed(self) -> Signed[MixedRelease]:
        """Signature and header."""
        return Signed.parse(MixedRelease, self.start.read_bytes())[0]


def releases_in(folder: Path) -> list[SignedRelease]:
    """Return the releases in a folder, which need not exist, by stratum."""
    return [
        SignedRelease(path) for path in sorted(folder.glob("*.start"), key=lambda p: int(p.stem))
    ]


@dataclass
class SecondKeeper:
    """Does what is due. One process has the folder (`incrowd.collection.folders.exclusive`).

    courier: sends a release to the collector. go_on: called between two pieces of work; raises to
    stop. dropped: envelopes that were dropped by this process, by kind.
    """

    settings: SecondMixerSettings
    bundle: MixersBundle
    clock: TimedClock
    courier: Courier
    go_on: GoOn = lambda: None
    dropped: Counter[str] = field(default_factory=Counter)
    steps: ServiceSteps = field(
        default_factory=lambda: ServiceSteps(
            STORING, KEYS, WORKING, "releasing", "destroying", "delivering", "deleting"
        )
    )
    _disposed: bool = False

    def __post_init__(self) -> None:
        self._pauses: Pauses[str] = pauses(self.courier)

    @property
    def shelf(self) -> Shelf[Batch]:
        """The batch."""
        return Shelf(Batch, self.settings.folder)

    @property
    def is_over(self) -> bool:
        """Whether `disposes` has come, or everything was destroyed when it had.

        Without its keys, a folder before that time is not over: its files were lost.
        """
        destroyed = not self.settings.secret_file.exists() and not self.shelf.received()
        end = as_time(self.bundle.disposes)
        was_disposed = self._disposed or (destroyed and self.clock() >= end)
        return was_disposed or self.clock.confirmed() >= end

    def look(self) -> None:
        """Do all that is due. After an error of incrowd or OSError, the next call continues."""
        if self.is_over:
            with self.steps("deleting"):
                self._dispose()
            return
        with self.steps(KEYS):
            self.check_keys()
        if not self.settings.releases.exists():
            if not (received := self.shelf.received()):
                return
            with self.steps("releasing", "made the releases"):
                self._make(received[0])
        with self.steps("destroying"):
            self._settle()
        for release in releases_in(self.settings.releases):
            with self.steps("delivering"):
                self._deliver(release)

    def check_keys(self) -> None:
        """Raise UsageError unless the private keys exist, while they are needed."""
        if not (self.is_over or self.settings.releases.exists()):
            check_exists(*self.settings.private_files)

    def _make(self, batch: Signed[Batch]) -> None:
        body = self.shelf.body(batch)
        if not body.exists():
            raise ReportsError.of("batch", "collection.batch-deleted")
        self.dropped += make_releases(
            batch,
            body,
            self.bundle,
            load_keys(self.settings, self.bundle),
            self.settings.releases,
            workers=self.settings.workers,
            go_on=self.go_on,
        )

    def _settle(self) -> None:
        """Delete the batch and destroy the keys: nothing can be opened or signed again."""
        for body in self.shelf.waiting.glob("*.body"):
            body.unlink()
        if self.shelf.waiting.exists():
            settle_names(self.shelf.waiting)
        self._destroy_keys()

    def _destroy_keys(self) -> None:
        for path in self.settings.private_files:
            if is_taken(path):
                destroy(path)
                LOG.info("destroyed %s", path.name)

    def _deliver(self, release: SignedRelease) -> None:
        """Send exactly what was signed; pause after each refusal."""
        name, now = release.start.stem, self.clock()
        if not release.body.exists() or not self._pauses.is_due(name, now):
            return
        start = release.start.read_bytes()
        with release.body.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        if digest != release.signed.header.body:
            raise ReportsError.of("release", "collection.release-changed")
        if self.courier(start, release.body):
            release.body.unlink()
            settle_names(release.body.parent)
            LOG.info("delivered the release of stratum %s", name)
        else:
            self._pauses.refused(name, now)

    def _dispose(self) -> None:
        """Destroy the keys, then everything else; proofs of cheating stay."""
        self._disposed = True
        self._destroy_keys()
        for folder in (self.shelf.waiting, self.settings.releases, self.shelf.starts):
            if folder.exists():
                LOG.info("deleted %s", folder.name)
            shutil.rmtree(folder, ignore_errors=True)
        settle_names(self.settings.folder)


# Findings about the machine of a second mixer, each with what would fix it.


def check_machine(
    settings: SecondMixerSettings, bundle: MixersBundle, time: TimedClock
) -> list[MachineFinding]:
    """Check the machine of a second mixer; return the findings in a fixed order."""
    keeper = SecondKeeper(settings, bundle, time, lambda start, body: False)
    private = (settings.folder, *settings.private_files, settings.releases, keeper.shelf.waiting)
    looks: list[Callable[[], Iterator[MachineFinding]]] = [
        lambda: modes(private),
        lambda: _key(settings),
        memory,
        clock,
        lambda: steadiness(settings.clock_file),
        lambda: _room(settings, bundle),
        lambda: _progress(keeper),
        lambda: _cheating(keeper),
        lambda: _left(keeper),
    ]
    return [finding for look in looks for finding in look()]


def _key(settings: SecondMixerSettings) -> Iterator[MachineFinding]:
    """Check that the key is on a separate volume, away from backups and old disk blocks."""
    path, subject = settings.secret_file, "the private key"
    if not path.exists():
        yield MachineFinding(subject, True, "destroyed: recorded envelopes cannot be opened")
        return
    separate = path.stat().st_dev != settings.folder.stat().st_dev
    state = "on a separate volume"
    if not separate:
        state = "on the same disk as the batch; set secret to a file on a volume in memory"
    yield MachineFinding(subject, separate, state)


def _room(settings: SecondMixerSettings, bundle: MixersBundle) -> Iterator[MachineFinding]:
    """Check the disk space for three times the crowd: the batch, opened, in buckets, permuted."""
    each = bundle.places * (bundle.envelope_length + 3 * bundle.row_length)
    return room(settings.folder, 3 * bundle.plan.survey.crowd * len(bundle.strata) * each)


def _progress(keeper: SecondKeeper) -> Iterator[MachineFinding]:
    releases = releases_in(keeper.settings.releases)
    if releases:
        waiting = sum(release.body.exists() for release in releases)
        text = f"{len(releases):,} releases, {waiting:,} of them wait for the collector"
        yield MachineFinding("batch", not waiting, text)
    elif keeper.shelf.received():
        yield MachineFinding("batch", False, "waiting to be opened; start the second mixer")
    else:
        yield MachineFinding("batch", True, "disposed" if keeper.is_over else "has not arrived")


def _cheating(keeper: SecondKeeper) -> Iterator[MachineFinding]:
    if many := len(keeper.shelf.proofs()):
        folder = keeper.shelf.contradictions
        text = f"{many} batches that contradict each other; keep {folder} as proof"
        yield MachineFinding("contradictory batches", False, text)


def _left(keeper: SecondKeeper) -> Iterator[MachineFinding]:
    """Check for what should be gone: files of killed processes, and what was to be destroyed."""
    settings, shelf = keeper.settings, keeper.shelf
    left = unfinished(settings.folder)
    if keeper.is_over or settings.releases.exists():
        left += [*settings.private_files, *shelf.waiting.glob("*.body")]
    if keeper.is_over:
        left += [settings.releases, *shelf.starts.glob("*.start")]
    names = ", ".join(str(path) for path in left if path.exists())
    text = f"{names}; start the second mixer again" if names else "nothing"
    yield MachineFinding("leftover files", not names, text)
