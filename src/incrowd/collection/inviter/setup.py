"""The folder of an inviter: create it for a bundle, open its store, check its machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from incrowd.collection.folders import load_signing_key
from incrowd.collection.inviter.init import InviterKeys
from incrowd.collection.inviter.signing import PrivateTokenKey, SigningError
from incrowd.collection.inviter.store import OPEN, InviterStore
from incrowd.collection.machine import MachineFinding, clock, memory, modes, room
from incrowd.collection.mixer.setup import database_logs, secret_place
from incrowd.collection.mixer.store.database import closed_on_error, opened
from incrowd.collection.mixer.store.keys import StoreError, load_secret, new_secret
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.settings import InviterSettings
from incrowd.collection.steady import steadiness
from incrowd.errors import UsageError
from incrowd.files import is_taken, private_folder, write_private

ROW_BYTES = 100  # of a code, with its place in the table and in its log


def check_unused(settings: InviterSettings) -> None:
    """Raise UsageError if the folder contains a bundle or keys: they are for one bundle only."""
    for path in (settings.bundle_file, *settings.private_files):
        if is_taken(path):
            raise UsageError.of("folder", "collection.folder-taken", file=str(path))


def install(settings: InviterSettings, bundle: MixersBundle, keys: InviterKeys) -> None:
    """Create the folder of a bundle, with the keys and an empty store.

    Raises UsageError if the folder already contains a bundle or keys.
    """
    check_unused(settings)
    private_folder(settings.folder)
    write_private(settings.signing_file, keys.signing.private_bytes_raw())
    lines = [f"{key.encoded.hex()}\n" for key in keys.tokens]
    write_private(settings.tokens_file, "".join(lines).encode())
    new_secret(settings.secret_file)
    InviterStore.create(settings.url, load_secret(settings.secret_file), bundle)
    write_private(settings.bundle_file, bundle.encoded)


def open_store(settings: InviterSettings) -> InviterStore:
    """Return the store in a folder; without its keys after closing.

    Raises UsageError if there is no bundle with two mixers, StoreError if the database or a key is
    missing or another one, and ProtocolError if the bundle was changed.
    """
    try:
        bundle = Bundle.parse(settings.bundle_file.read_bytes())
    except OSError:
        bundle = None
    if not isinstance(bundle, MixersBundle):
        folder = str(settings.folder)
        raise UsageError.of("folder", "collection.folder-without-mixers", folder=folder)
    store = InviterStore(opened(settings.url), bundle)
    if store.state() == OPEN:
        with closed_on_error(store):
            store.unlock(load_secret(settings.secret_file))
            store.keys = _load_keys(settings.tokens_file, bundle)
            load_signing_key(settings.signing_file, bundle.inviter.key, "inviter")
    return store


def _load_keys(path: Path, bundle: MixersBundle) -> tuple[PrivateTokenKey, ...]:
    """Return the private keys of tokens. Raises StoreError unless they are the bundle's."""
    public = [text.key.modulus for text in (bundle.inviter.entry, *bundle.inviter.messages)]
    try:
        lines = path.read_text(encoding="ascii").split()
        keys = tuple(PrivateTokenKey.parse(bytes.fromhex(line)) for line in lines)
    except (OSError, ValueError, SigningError):
        raise StoreError.of("tokens", "collection.tokens-unreadable", file=path.name) from None
    if [key.public.modulus for key in keys] != public:
        raise StoreError.of("tokens", "collection.tokens-of-other-bundle", file=path.name)
    return keys


def check(settings: InviterSettings, store: InviterStore) -> list[MachineFinding]:
    """Check the machine of an inviter; return the findings in a fixed order."""
    needed = 3 * ROW_BYTES * max(store.issued(), store.bundle.plan.survey.crowd)
    looks: list[Callable[[], Iterator[MachineFinding]]] = [
        lambda: modes((settings.folder, *settings.private_files)),
        lambda: secret_place(settings),
        memory,
        clock,
        lambda: steadiness(settings.clock_file),
        lambda: room(settings.folder, needed),
        lambda: database_logs(store.engine),
        lambda: _left(settings, store),
    ]
    return [finding for look in looks for finding in look()]


def _left(settings: InviterSettings, store: InviterStore) -> Iterator[MachineFinding]:
    """Check that no key and no code is left after closing."""
    if store.state() == OPEN:
        return
    left = [path.name for path in settings.private_files if path.exists()]
    left += ["codes"] if store.issued() else []
    state = ", ".join(left) + "; start the inviter again" if left else "nothing"
    yield MachineFinding("left after closing", not left, state)
