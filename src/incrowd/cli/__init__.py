"""Arguments and printing only."""

from __future__ import annotations

from incrowd.cli.app import main

__all__ = ["main"]
