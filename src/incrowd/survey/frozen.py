"""What all parts of a survey have in common: they never change, and unknown keys are mistakes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Plain frozen data, read from TOML."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)


class Mistake(ValueError):
    """A field that does not go with the others of its part: name, value, what would work."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field}: {allowed}")
        self.field, self.value, self.allowed = field, value, allowed
