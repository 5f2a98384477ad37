"""What all parts of a survey have in common: they never change, and unknown keys are mistakes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Plain frozen data, read from TOML."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
