"""How a collector is run: a TOML file, and the environment above it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import SettingsConfigDict

from incrowd.collection.collector.opening import cores
from incrowd.collection.settings import ServiceSettings, load

PREFIX = "INCROWD_COLLECTOR_"
FILE = "collector.toml"


def _token(text: str) -> str:
    """Raises ValueError if it can be guessed, or does not fit into a header or a link."""
    if not re.fullmatch(r"[A-Za-z0-9._~-]{20,200}", text):
        raise ValueError(
            "should be 20 or more random letters and digits, as `openssl rand -hex 16`"
        )
    return text


class Settings(ServiceSettings):
    """host, port: where it listens; a proxy with certificates stands before it. workers: processes
    that open reports; by default one for each core. piece_seconds: the longest pause while a
    release arrives. token: what opens the dashboard; without one there is none.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX)

    host: str = "127.0.0.1"
    port: int = Field(default=8081, ge=0, lt=1 << 16)
    workers: int = Field(default_factory=cores, ge=1, le=1024)
    piece_seconds: float = Field(default=60.0, gt=0)
    token: Annotated[str, AfterValidator(_token)] | None = Field(default=None, repr=False)


def load_settings(folder: Path) -> Settings:
    """Those of a collector's folder: its collector.toml, if any, then INCROWD_COLLECTOR_*.

    Raises UsageError for an unknown setting, an invalid value, or a file that is not TOML.
    """
    return load(Settings, folder / FILE)
