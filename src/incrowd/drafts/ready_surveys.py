"""Ready surveys, in English and German, to begin with."""

from __future__ import annotations

from pathlib import Path


def ready_text(name: str) -> str:
    """Return the text of the survey file with one of these names."""
    return (Path(__file__).parent / "ready" / f"{name}.toml").read_text(encoding="utf-8")
