"""A shuffler's folder: made once for one bundle, and opened whenever it starts."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.shuffler.closing import is_over
from incrowd.collection.shuffler.config import Settings
from incrowd.collection.store.errors import StoreError
from incrowd.collection.store.keys import load_secret, new_secret
from incrowd.collection.store.store import Store
from incrowd.collection.store.tables import opened
from incrowd.collection.wire.bundle import Bundle
from incrowd.errors import UsageError
from incrowd.files import PRIVATE, private_folder, write_private


def install(settings: Settings, bundle: Bundle, private: Ed25519PrivateKey) -> None:
    """Make the folder of a bundle, with the keys and an empty store.

    Raises UsageError if a bundle, or the store of one, is there already.
    """
    for path in (settings.bundle_file, settings.signing_file, settings.secret_file):
        if path.exists():
            allowed = "it is there already; a bundle has a folder of its own, name a new one"
            raise UsageError.of("folder", str(path), allowed)
    private_folder(settings.folder)
    write_private(settings.signing_file, private.private_bytes_raw())
    new_secret(settings.secret_file)
    Store(opened(settings.url), load_secret(settings.secret_file), bundle).engine.dispose()
    if settings.database is None:
        os.chmod(Path(settings.url.removeprefix("sqlite:///")), PRIVATE)
    write_private(settings.bundle_file, bundle.encoded)


def open_store(settings: Settings) -> Store:
    """The store in a folder, without its key if everything was released and acknowledged.

    Raises StoreError if there is none, or its key is gone too early, and ProtocolError for a
    bundle that was changed.
    """
    try:
        bundle = Bundle.parse(settings.bundle_file.read_bytes())
    except OSError:
        allowed = "it is not a bundle; make one with `incrowd shuffler init`"
        raise StoreError.of("folder", str(settings.folder), allowed) from None
    store = Store(opened(settings.url), None, bundle)
    if settings.secret_file.exists() or not is_over(store.strata()):
        store.secrets = load_secret(settings.secret_file)
    return store
