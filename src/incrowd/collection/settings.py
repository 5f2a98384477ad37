"""How a service is run: a TOML file in its folder, and the environment above it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from incrowd.errors import InWords, UsageError
from incrowd.survey.toml import read_toml
from incrowd.survey.wording import known_keys, wording

OURS, SERVICES = "INCROWD_", ("INCROWD_SHUFFLER_", "INCROWD_COLLECTOR_")
GENERAL = {"INCROWD_DEBUG"}  # of every command
UNKNOWN = InWords("is not a known setting")


class ServiceSettings(BaseSettings):
    """What the settings of all services share. A field with `repr=False` is never shown.

    The constructor takes its arguments and nothing else; `load` reads file and environment.
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
        """The arguments alone."""
        return (init_settings,)


S = TypeVar("S", bound=ServiceSettings)


def load(kind: type[S], file: Path, **arguments: Any) -> S:
    """Settings: those of a TOML file, if there is one, then variables that begin with the prefix.

    arguments: settings that neither of them may state. Raises UsageError for an unknown setting,
    an invalid value, or a file that is not TOML.
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
    """The other service's variables are allowed; one that belongs to no service is a mistake."""
    others = tuple(service for service in SERVICES if service != prefix)
    for name in os.environ:
        ours = name.startswith(OURS) and not name.startswith(others)
        if ours and name not in variables and name not in GENERAL:
            raise UsageError.of(name, UNKNOWN, known_keys(name, variables, "variables"))
