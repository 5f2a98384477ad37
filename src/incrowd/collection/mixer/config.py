"""How a shuffler is run: a TOML file, and the environment above it."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from incrowd.collection.settings import ServiceSettings, load

PREFIX = "INCROWD_SHUFFLER_"
FILE = "shuffler.toml"


class Settings(ServiceSettings):
    """folder: bundle, signing key and what waits for the collector.

    secret: the store's key, best on a volume in memory that no backup reads. database: an address
    of SQLAlchemy; SQLite in the folder by default. host, port: where it listens; a proxy with
    certificates stands before it. body_seconds: for the whole of an upload. pause: seconds between
    two looks whether something is due. memory: bytes of uploads that are received at once.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX)

    folder: Path
    secret: Path | None = None
    database: str | None = Field(default=None, repr=False)  # it can hold a password
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


def load_settings(folder: Path) -> Settings:
    """Those of a shuffler's folder: its shuffler.toml, if there is one, then INCROWD_SHUFFLER_*.

    Raises UsageError for an unknown setting, an invalid value, or a file that is not TOML.
    """
    return load(Settings, folder / FILE, folder=folder)
