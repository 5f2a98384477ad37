"""The memory and time that parsing a file may take, from the environment."""

from __future__ import annotations

import os
from typing import Final

from incrowd.errors import UsageError

MEMORY, SECONDS = "INCROWD_READ_MIB", "INCROWD_READ_SECONDS"
_DEFAULTS: Final = {MEMORY: 2048, SECONDS: 600}
_LEAST: Final = {MEMORY: 256, SECONDS: 1}  # the libraries alone take half of this memory


def limit(name: str) -> int:
    """Return a limit. Raises UsageError for anything but a whole number that is large enough."""
    text, least = os.environ.get(name, ""), _LEAST[name]
    if not text:
        return _DEFAULTS[name]
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or int(text) < least:
        raise UsageError.of(name, "encoding.limit", value=text, least=least)
    return int(text)
