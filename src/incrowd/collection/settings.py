"""How a service is run: a TOML file in its folder, and the environment above it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from incrowd.errors import UsageError
from incrowd.plans.message import place
from incrowd.survey.toml import read_toml
from incrowd.survey.wording import wording

S = TypeVar("S", bound=BaseModel)
SECRET = {"database"}  # its address can hold a password


def load(kind: type[S], file: Path, prefix: str, environment: Mapping[str, str], **known: Any) -> S:
    """Settings: those of a TOML file, if there is one, then variables that begin with the prefix.

    known: settings that neither of them states. Raises UsageError for what is no setting, and
    SurveyError for a file that is no TOML.
    """
    content: dict[str, Any] = read_toml(file) if file.exists() else {}
    said = {name: environment.get(prefix + name.upper()) for name in kind.model_fields}
    content |= {name: text for name, text in said.items() if text is not None and name not in known}
    try:
        return kind.model_validate(content | known)
    except ValidationError as error:
        first = error.errors()[0]
        shown = "" if SECRET & set(first["loc"]) else first["input"]
        raise UsageError.of(place(file.stem, first["loc"]), shown, wording(first)) from None
