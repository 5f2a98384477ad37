"""The settings of the services: a TOML file in the folder, overridden by the environment."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from incrowd.collection.machine import cores
from incrowd.collection.steady import CLOCK_FILE
from incrowd.errors import InWords, UsageError
from incrowd.survey.toml import read_toml
from incrowd.survey.wording import known_keys, wording

OURS = "INCROWD_"
GENERAL = {"INCROWD_DEBUG", "INCROWD_READ_MIB", "INCROWD_READ_SECONDS"}  # for every command
UNKNOWN = InWords("is not a known setting")


class ServiceSettings(BaseSettings):
    """Base class of the settings. The value of a field with `repr=False` is never shown.

    The constructor uses its arguments only; `load` reads the file and the environment.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the constructor's arguments as the only source."""
        return (init_settings,)


S = TypeVar("S", bound=ServiceSettings)


def load(kind: type[S], file: Path, **arguments: Any) -> S:
    """Return the settings of a TOML file (if it exists), overridden by environment variables.

    arguments: settings that may not occur in file or environment. Raises UsageError for an unknown
    setting, an invalid value, or a file that is not TOML.
    """
    prefix = kind.model_config["env_prefix"]
    names = kind.model_fields.keys() - arguments.keys()
    content: dict[str, Any] = read_toml(file, "settings") if file.exists() else {}
    for key in content:
        if key not in names:
            raise UsageError.of(f"{file.stem}.{key}", UNKNOWN, known_keys(key, names))
    _check_variables({prefix + name.upper() for name in names}, prefix)
    variables = EnvSettingsSource(kind)()
    try:
        return kind(**content | variables | arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        place = prefix + name.upper() if name in variables else f"{file.stem}.{name}"
        shown = first["input"] if kind.model_fields[name].repr else ""
        raise UsageError.of(place, shown, wording(first)) from None


def _check_variables(variables: set[str], prefix: str) -> None:
    """Raise UsageError for a variable that belongs to no service."""
    others = tuple(_prefixes(ServiceSettings) - {prefix})
    for name in os.environ:
        ours = name.startswith(OURS) and not name.startswith(others)
        if ours and name not in variables and name not in GENERAL:
            raise UsageError.of(name, UNKNOWN, known_keys(name, variables, "variables"))


def _prefixes(kind: type[ServiceSettings]) -> set[str]:
    """Return the prefixes of the variables of all services."""
    below = set[str]().union(*map(_prefixes, kind.__subclasses__()))
    return below | {kind.model_config.get("env_prefix", "")} - {""}


class StoreSettings(ServiceSettings):
    """The settings of a service that stores what devices send it.

    folder: contains the bundle and the private keys. secret: the file of the store's key, best on a
    volume in memory without backups. database: an SQLAlchemy URL; by default SQLite in the folder.
    host, port: the address to listen on, behind a proxy with certificates. body_seconds: time limit
    for receiving a body. pause: seconds between two checks for work. memory: bytes of bodies that
    are received at the same time.
    """

    folder: Path
    secret: Path | None = None
    database: str | None = Field(default=None, repr=False)  # it can contain a password
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, lt=1 << 16)
    body_seconds: float = Field(default=20.0, gt=0)
    pause: float = Field(default=10.0, gt=0)
    memory: int = Field(default=1 << 28, ge=1)

    @property
    def secret_file(self) -> Path:
        """The file of the store's key."""
        return self.secret or self.folder / "store.key"

    @property
    def url(self) -> str:
        """The SQLAlchemy URL of the database."""
        return self.database or f"sqlite:///{(self.folder / 'store.sqlite').absolute()}"

    @property
    def signing_file(self) -> Path:
        """The file of the private Ed25519 key."""
        return self.folder / "signing.key"

    @property
    def clock_file(self) -> Path:
        """The file that states since when the clock of this machine has been steady."""
        return self.folder / CLOCK_FILE

    @property
    def private_files(self) -> tuple[Path, ...]:
        """The files of all private keys."""
        return self.secret_file, self.signing_file

    @property
    def bundle_file(self) -> Path:
        """The file of the bundle."""
        return self.folder / "bundle.json"


SHUFFLER_FILE, FIRST_MIXER_FILE = "shuffler.toml", "first-mixer.toml"


class MixerSettings(StoreSettings):
    """The settings of a shuffler, and of the first of two mixers. command: the service's name."""

    command: ClassVar[str]

    @property
    def releases(self) -> Path:
        """The folder of what was signed and waits to be delivered."""
        return self.folder / "releases"


class ShufflerSettings(MixerSettings):
    """The settings of a shuffler."""

    model_config = SettingsConfigDict(env_prefix="INCROWD_SHUFFLER_")
    command = "shuffler"


class FirstMixerSettings(MixerSettings):
    """The settings of the first of two mixers."""

    model_config = SettingsConfigDict(env_prefix="INCROWD_FIRST_MIXER_")
    command = "first-mixer"

    port: int = Field(default=8083, ge=0, lt=1 << 16)


def load_shuffler_settings(folder: Path) -> ShufflerSettings:
    """Return the settings of a folder: shuffler.toml, if it exists, then INCROWD_SHUFFLER_*.

    Raises UsageError for an unknown setting, an invalid value, or a file that is not TOML.
    """
    return load(ShufflerSettings, folder / SHUFFLER_FILE, folder=folder)


def load_first_mixer_settings(folder: Path) -> FirstMixerSettings:
    """Return the settings of a folder: first-mixer.toml, if it exists, then INCROWD_FIRST_MIXER_*.

    Raises UsageError for an unknown setting, an invalid value, or a file that is not TOML.
    """
    return load(FirstMixerSettings, folder / FIRST_MIXER_FILE, folder=folder)


INVITER_FILE = "inviter.toml"


class InviterSettings(StoreSettings):
    """The settings of an inviter."""

    model_config = SettingsConfigDict(env_prefix="INCROWD_INVITER_")

    port: int = Field(default=8082, ge=0, lt=1 << 16)

    @property
    def tokens_file(self) -> Path:
        """The file of the private keys of tokens."""
        return self.folder / "tokens.key"

    @property
    def private_files(self) -> tuple[Path, ...]:
        """The files of all private keys, which are destroyed after closing."""
        return self.tokens_file, self.secret_file, self.signing_file


def load_inviter_settings(folder: Path) -> InviterSettings:
    """Return the settings of a folder: inviter.toml, if it exists, then INCROWD_INVITER_*.

    Raises UsageError for an unknown setting, an invalid value, or a file that is not TOML.
    """
    return load(InviterSettings, folder / INVITER_FILE, folder=folder)


SECOND_MIXER_FILE = "second-mixer.toml"


class SecondMixerSettings(ServiceSettings):
    """The settings of a second mixer.

    folder: contains the bundle, the signing key, the batch, and releases that wait for the
    collector. secret: the file of the private key that opens envelopes, best on a volume in memory
    without backups. host, port: the address to listen on, behind a proxy with certificates.
    workers: processes that open envelopes; by default one per core. piece_seconds: the longest
    pause while a batch arrives. pause: seconds between two checks for work.
    """

    model_config = SettingsConfigDict(env_prefix="INCROWD_SECOND_MIXER_")

    folder: Path
    secret: Path | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8084, ge=0, lt=1 << 16)
    workers: int = Field(default_factory=cores, ge=1, le=1024)
    piece_seconds: float = Field(default=60.0, gt=0)
    pause: float = Field(default=10.0, gt=0)

    @property
    def secret_file(self) -> Path:
        """The file of the private key that opens envelopes."""
        return self.secret or self.folder / "private.key"

    @property
    def signing_file(self) -> Path:
        """The file of the private Ed25519 key."""
        return self.folder / "signing.key"

    @property
    def private_files(self) -> tuple[Path, ...]:
        """The files of both private keys, which are destroyed before anything is sent."""
        return self.secret_file, self.signing_file

    @property
    def public_file(self) -> Path:
        """The file of the public keys, which go into the bundle."""
        return self.folder / "second_mixer_keys.toml"

    @property
    def clock_file(self) -> Path:
        """The file that states since when the clock of this machine has been steady."""
        return self.folder / CLOCK_FILE

    @property
    def bundle_file(self) -> Path:
        """The file of the bundle."""
        return self.folder / "bundle.json"

    @property
    def releases(self) -> Path:
        """The folder of the releases; it exists when all are complete."""
        return self.folder / "releases"


def load_second_mixer_settings(folder: Path) -> SecondMixerSettings:
    """Return the settings of a folder: second-mixer.toml, if it exists, then
    INCROWD_SECOND_MIXER_*.

    Raises UsageError for an unknown setting, an invalid value, or a file that is not TOML.
    """
    return load(SecondMixerSettings, folder / SECOND_MIXER_FILE, folder=folder)


COLLECTOR_FILE = "collector.toml"


def _token(text: str) -> str:
    """Return a token. Raises ValueError if it is too short or not valid in a header or link."""
    if not re.fullmatch(r"[A-Za-z0-9._~-]{20,200}", text):
        raise ValueError(
            "should be 20 or more random letters and digits; `openssl rand -hex 16` makes one"
        )
    return text


class CollectorSettings(ServiceSettings):
    """The settings of a collector.

    host, port: the address to listen on, behind a proxy with certificates. workers: processes that
    open reports; by default one per core. piece_seconds: the longest pause while a release
    arrives. token: the password of the dashboard; without a token there is no dashboard.
    """

    model_config = SettingsConfigDict(env_prefix="INCROWD_COLLECTOR_")

    host: str = "127.0.0.1"
    port: int = Field(default=8081, ge=0, lt=1 << 16)
    workers: int = Field(default_factory=cores, ge=1, le=1024)
    piece_seconds: float = Field(default=60.0, gt=0)
    token: Annotated[str, AfterValidator(_token)] | None = Field(default=None, repr=False)


def load_collector_settings(folder: Path) -> CollectorSettings:
    """Return the settings of a folder: collector.toml, if it exists, then INCROWD_COLLECTOR_*.

    Raises UsageError for an unknown setting, an invalid value, or a file that is not TOML.
    """
    return load(CollectorSettings, folder / COLLECTOR_FILE)
