"""The settings of each service: a TOML file in its folder, overridden by the environment."""

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

from incrowd.collection.folders import BUNDLE
from incrowd.collection.machine import cores
from incrowd.collection.steady import CLOCK_FILE
from incrowd.errors import Unfit, UsageError
from incrowd.survey.reasons import known_keys, wording
from incrowd.survey.toml import read_toml

OURS = "INCROWD_"
GENERAL = {"INCROWD_DEBUG", "INCROWD_READ_MIB", "INCROWD_READ_SECONDS"}  # for every command


class ServiceSettings(BaseSettings):
    """Base class of the settings. The value of a field with `repr=False` is never shown.

    command: the service's command, which also names its file and its variables. host, port: the
    address to listen on, behind a proxy with certificates. The constructor uses its arguments only;
    `load_settings` reads the file and the environment.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid")
    command: ClassVar[str] = ""

    host: str = "127.0.0.1"
    port: int = Field(ge=0, lt=1 << 16)

    @classmethod
    def file(cls, folder: Path) -> Path:
        """Return the file of the settings in a service's folder."""
        return folder / f"{cls.command}.toml"

    @classmethod
    def prefix(cls) -> str:
        """Return how the names of the environment variables begin."""
        return f"{OURS}{cls.command.upper().replace('-', '_')}_"

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


AnySettings = TypeVar("AnySettings", bound=ServiceSettings)


def load_settings(kind: type[AnySettings], folder: Path) -> AnySettings:
    """Return the settings of a service: its file, if it exists, then environment variables.

    folder: contains the file. Raises UsageError for an unknown setting, an invalid value, or a file
    that is not TOML.
    """
    prefix, file = kind.prefix(), kind.file(folder)
    arguments = {"folder": folder} if "folder" in kind.model_fields else {}
    names = kind.model_fields.keys() - arguments.keys()
    content: dict[str, Any] = read_toml(file, "settings") if file.exists() else {}
    for key in content:
        if key not in names:
            raise UsageError.of(
                (file.stem, key), "collection.unknown-setting", known=known_keys(key, names)
            )
    _check_variables({prefix + name.upper() for name in names}, prefix)
    variables = EnvSettingsSource(kind, env_prefix=prefix)()
    try:
        return kind(**content | variables | arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        path = (prefix + name.upper(),) if name in variables else (file.stem, name)
        shown = first["input"] if kind.model_fields[name].repr else ""
        raise UsageError.of(path, "survey.unfit", value=shown, reason=wording(first)) from None


def _check_variables(variables: set[str], prefix: str) -> None:
    """Raise UsageError for a variable that belongs to no service."""
    others = tuple({each.prefix() for each in SERVICES} - {prefix})
    for name in os.environ:
        ours = name.startswith(OURS) and not name.startswith(others)
        if ours and name not in variables and name not in GENERAL:
            raise UsageError.of(
                name,
                "collection.unknown-setting",
                known=known_keys(name, variables, "variables"),
            )


class FolderSettings(ServiceSettings):
    """The settings of a service that signs what it passes on, and destroys its keys in time.

    folder: contains the bundle and the private keys. secret: the file of the key that is best on a
    volume in memory without backups. pause: seconds between two checks for work.
    """

    folder: Path
    secret: Path | None = None
    pause: float = Field(default=10.0, gt=0)

    secret_name: ClassVar[str] = "store.key"

    @property
    def secret_file(self) -> Path:
        """The file of the store's key, or of the key that opens envelopes."""
        return self.secret or self.folder / self.secret_name

    @property
    def signing_file(self) -> Path:
        """The file of the private Ed25519 key."""
        return self.folder / "signing.key"

    @property
    def private_files(self) -> tuple[Path, ...]:
        """The files of all private keys."""
        return self.secret_file, self.signing_file

    @property
    def clock_file(self) -> Path:
        """The file that states since when the clock of this machine has been steady."""
        return self.folder / CLOCK_FILE

    @property
    def bundle_file(self) -> Path:
        """The file of the bundle."""
        return self.folder / BUNDLE


class StoreSettings(FolderSettings):
    """The settings of a service that stores what devices send it.

    database: an SQLAlchemy URL; by default SQLite in the folder. body_seconds: time limit for
    receiving a body. memory: bytes of bodies that are received at the same time. page: whether the
    service also shows the survey page, under its own address.
    """

    database: str | None = Field(default=None, repr=False)  # it can contain a password
    body_seconds: float = Field(default=20.0, gt=0)
    memory: int = Field(default=1 << 28, ge=1)
    page: bool = False

    @property
    def url(self) -> str:
        """The SQLAlchemy URL of the database."""
        return self.database or f"sqlite:///{(self.folder / 'store.sqlite').absolute()}"


class MixerSettings(StoreSettings):
    """The settings of a shuffler, and of the first of two mixers."""

    @property
    def releases(self) -> Path:
        """The folder of what was signed and waits to be delivered."""
        return self.folder / "releases"


class ShufflerSettings(MixerSettings):
    """The settings of a shuffler."""

    command = "shuffler"

    port: int = Field(default=8080, ge=0, lt=1 << 16)


class FirstMixerSettings(MixerSettings):
    """The settings of the first of two mixers."""

    command = "first-mixer"

    port: int = Field(default=8083, ge=0, lt=1 << 16)

    @property
    def public_file(self) -> Path:
        """The file of the public key, which goes into the bundle."""
        return self.folder / "first_mixer_key.toml"


class InviterSettings(StoreSettings):
    """The settings of an inviter. All of its private keys are destroyed after closing."""

    command = "inviter"

    port: int = Field(default=8082, ge=0, lt=1 << 16)

    @property
    def tokens_file(self) -> Path:
        """The file of the private keys of tokens."""
        return self.folder / "tokens.key"

    @property
    def private_files(self) -> tuple[Path, ...]:
        """The files of all private keys."""
        return self.tokens_file, *super().private_files


class OpeningSettings(ServiceSettings):
    """The settings of a service that opens what another service delivers.

    workers: processes that open it; by default one per core. piece_seconds: the longest pause while
    it arrives.
    """

    workers: int = Field(default_factory=cores, ge=1, le=1024)
    piece_seconds: float = Field(default=60.0, gt=0)


class SecondMixerSettings(FolderSettings, OpeningSettings):
    """The settings of a second mixer. Its private keys are destroyed before anything is sent."""

    command = "second-mixer"

    port: int = Field(default=8084, ge=0, lt=1 << 16)

    secret_name: ClassVar[str] = "private.key"

    @property
    def public_file(self) -> Path:
        """The file of the public keys, which go into the bundle."""
        return self.folder / "second_mixer_keys.toml"

    @property
    def releases(self) -> Path:
        """The folder of the releases; it exists when all are complete."""
        return self.folder / "releases"


def _token(text: str) -> str:
    """Return a token. Raises Unfit if it is too short or not valid in a header or link."""
    if not re.fullmatch(r"[A-Za-z0-9._~-]{20,200}", text):
        raise Unfit("collection.no-token")
    return text


class CollectorSettings(OpeningSettings):
    """The settings of a collector.

    token: the password of the dashboard; without a token there is no dashboard.
    """

    command = "collector"

    port: int = Field(default=8081, ge=0, lt=1 << 16)
    token: Annotated[str, AfterValidator(_token)] | None = Field(default=None, repr=False)


SERVICES: tuple[type[ServiceSettings], ...] = (
    ShufflerSettings,
    InviterSettings,
    FirstMixerSettings,
    SecondMixerSettings,
    CollectorSettings,
)
