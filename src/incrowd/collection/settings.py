"""How a service is run: a TOML file in its folder, and the environment above it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from incrowd.errors import InWords, UsageError
from incrowd.plans.message import place
from incrowd.survey.toml import read_toml
from incrowd.survey.wording import known_keys, wording

S = TypeVar("S", bound=BaseModel)
OURS, SERVICES = "INCROWD_", ("INCROWD_SHUFFLER_", "INCROWD_COLLECTOR_")
GENERAL = {"INCROWD_DEBUG"}  # of every command
UNKNOWN = InWords("is no setting")
SECRET = {"database", "token"}  # the address of a database can hold a password


def load(kind: type[S], file: Path, prefix: str, environment: Mapping[str, str], **known: Any) -> S:
    """Settings: those of a TOML file, if there is one, then variables that begin with the prefix.

    known: settings that neither of them states. Raises UsageError for what is no setting, no
    value of one, or no TOML.
    """
    names = kind.model_fields.keys() - known.keys()
    content: dict[str, Any] = read_toml(file, "settings") if file.exists() else {}
    for key in content:
        if key not in names:
            raise UsageError.of(f"{file.stem}.{key}", UNKNOWN, known_keys(key, names))
    variables = {prefix + name.upper(): name for name in names}
    _check_variables(variables, prefix, environment)
    content |= {name: environment[v] for v, name in variables.items() if v in environment}
    try:
        return kind.model_validate(content | known)
    except ValidationError as error:
        first = error.errors()[0]
        shown = "" if SECRET & set(first["loc"]) else first["input"]
        raise UsageError.of(place(file.stem, first["loc"]), shown, wording(first)) from None


def _check_variables(
    variables: Collection[str], prefix: str, environment: Mapping[str, str]
) -> None:
    """Another service's variables may stand there; what is nobody's is a mistake."""
    others = tuple(service for service in SERVICES if service != prefix)
    for name in environment:
        ours = name.startswith(OURS) and not name.startswith(others)
        if ours and name not in variables and name not in GENERAL:
            raise UsageError.of(name, UNKNOWN, known_keys(name, variables, "variables"))
