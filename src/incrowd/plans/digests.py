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

import rfc8785

from incrowd.errors import IncrowdWarning

KEY = "digest"
EDITED = "the digest does not fit: the file was edited or damaged after it was written"


def canonical(content: Any) -> str:
    """Canonical JSON (RFC 8785): equal contents, equal text, in every language.

    Raises ValueError for what has none: numbers that are none, integers from 2^53 on, half of a
    pair of surrogates, what is nested too deeply.
    """
    try:
        return rfc8785.dumps(content).decode()
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def digest_of(content: Any) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def old_digest_of(content: Any) -> str:
    """The digest of files from before RFC 8785: other floats, and ASCII alone."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def fits(digest: object, content: Any) -> bool:
    """Whether a digest is that of the content, also an old one."""
    return digest in (digest_of(content), old_digest_of(content))


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its digest."""
    return {**content, KEY: digest_of(content)}


def unsealed(content: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The content without its digest, and whether the digest was that of the content."""
    rest = {key: value for key, value in content.items() if key != KEY}
    return rest, fits(content.get(KEY), rest)


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
