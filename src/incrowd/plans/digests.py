"""Digests of files: whether they still say what was written.

A digest finds accidents and careless edits. It is no signature: whoever wants to lie makes a new
one.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import rfc8785

from incrowd.errors import IncrowdError, check_path, unreadable

T = TypeVar("T")

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


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its digest."""
    return {**content, KEY: digest_of(content)}


def read_json(text: str) -> Any:
    """The data of a JSON text. Raises ValueError for any text that holds none, or is too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileKind:
    """A kind of JSON file that carries a digest.

    name: what it holds. error: what is raised for a file that cannot be used. remedy: what works.
    """

    name: str
    error: type[IncrowdError]
    remedy: str

    def refused(self, file: str, why: str) -> IncrowdError:
        """The error for a file, or a text of that name."""
        return self.error.of(self.name, file, f"{why}; {self.remedy}")

    def load(self, path: str | Path, loads: Callable[[str, str], T]) -> T:
        """What `loads` makes of the text and the name of a file. Raises if it cannot be read."""
        check_path(path, "path")
        _log.info("reading %s, a %s", path, self.name)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise self.refused(str(path), unreadable(error)) from None
        except UnicodeDecodeError:
            raise self.refused(str(path), f"it is not a {self.name}") from None
        return loads(text, str(path))

    @contextmanager
    def parsing(self, file: str) -> Iterator[None]:
        """Whatever data of another shape raise says that the file is none of this kind."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
            raise self.refused(file, f"it is not a {self.name}") from None


def unsealed(data: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The content without its digest, and whether that fits it."""
    rest = {key: value for key, value in data.items() if key != KEY}
    return rest, data.get(KEY) == digest_of(rest)
