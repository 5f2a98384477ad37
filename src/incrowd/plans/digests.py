"""Digests of files: whether they still say what was written.

A digest finds accidents and careless edits. It is no signature: whoever wants to lie makes a new
one.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from typing import Any

from incrowd.errors import IncrowdWarning

KEY = "digest"
EDITED = "the digest does not fit: the file was edited or damaged after it was written"


def canonical(content: Any) -> str:
    """JSON with sorted keys, no white space and shortest floats: equal contents, equal text.

    Raises ValueError for numbers that are none.
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(content: Any) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its digest."""
    return {**content, KEY: digest_of(content)}


def unsealed(content: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The content without its digest, and whether the digest was that of the content."""
    rest = {key: value for key, value in content.items() if key != KEY}
    return rest, content.get(KEY) == digest_of(rest)


def read_json(text: str) -> Any:
    """The data of a JSON text. Raises ValueError for any text that holds none, or is too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def warn_unsealed(name: object) -> None:
    """Say that a file of an older format carries no digest."""
    said = "is of an older format, without a digest: it cannot be seen whether it was edited"
    warnings.warn(f"{name} {said}", IncrowdWarning, stacklevel=3)
