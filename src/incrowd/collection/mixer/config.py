"""How a shuffler is run: a TOML file, and the environment above it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from incrowd.collection.settings import load

PREFIX = "INCROWD_SHUFFLER_"
FILE = "shuffler.toml"


class Settings(BaseModel):
    """folder: bundle, signing key and what waits for the collector.

    secret: the store's key, best on a volume in memory that no backup reads. database: an address
    of SQLAlchemy; SQLite in the folder by default. host, port: where it listens; a proxy with
    certificates stands before it. body_seconds: for the whole of an upload. pause: seconds between
    two looks whether something is due. memory: bytes of uploads that are received at once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path
    secret: Path | None = None
    database: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, lt=1 << 16)
    body_seconds: float = Field(default=20.0, gt=0)
    pause: float = Field(default=10.0, gt=0)
    memory: int = Field(default=1 << 28, ge=1)

    @property
    def secret_file(self) -> Path:
        """Where the store's key is."""
        return self.secret or self.folder / "store.key"

    @property
    def url(self) -> str:
        """Where the database is."""
        return self.database or f"sqlite:///{(self.folder / 'store.sqlite').absolute()}"

    @property
    def signing_file(self) -> Path:
        """Where the private Ed25519 key is."""
        return self.folder / "signing.key"

    @property
    def bundle_file(self) -> Path:
        """Where the bundle is."""
        return self.folder / "bundle.json"

    @property
    def releases(self) -> Path:
        """Where releases wait for the collector."""
        return self.folder / "releases"


def load_settings(folder: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Those of a shuffler's folder: its shuffler.toml, if there is one, then INCROWD_SHUFFLER_*.

    Raises UsageError for what is no setting, and for a file that is no TOML.
    """
    return load(Settings, folder / FILE, PREFIX, environment, folder=folder)
