"""Digests of files: whether a file is still as it was written.

A digest detects accidents and careless edits. It is not a signature: anyone who wants to cheat can
compute a new one.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import rfc8785
from pydantic import BaseModel, ConfigDict, Field

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import IncrowdError, check_path, unreadable

T = TypeVar("T")

KEY = "digest"
EXACT = 1 << 53  # below, every integer is a double

FileCount = Annotated[int, Field(ge=0, le=EXACT)]


class FileModel(BaseModel):
    """Frozen data of a file, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class StrictFileModel(FileModel):
    """The same, in which no value is converted to the type of its field."""

    model_config = ConfigDict(strict=True)


def canonical(content: Any) -> str:
    """Return canonical JSON (RFC 8785): equal contents give equal text in every language.

    Raises ValueError for content that has none: NaN and infinity, integers from 2^53 on, lone
    surrogates, and data that is nested too deeply.
    """
    try:
        return rfc8785.dumps(content).decode()
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def digest_of(content: Any) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with its digest."""
    return {**content, KEY: digest_of(content)}


def read_json(text: str) -> Any:
    """Parse JSON. Raises ValueError for text that is not JSON, or is nested too deeply.

    Integers from 2^53 on are doubles, as in RFC 8785: canonical JSON writes 2.0**53 without a
    point, too.
    """
    try:
        return json.loads(text, parse_int=_number)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _number(digits: str) -> int | float:
    number = int(digits)
    return number if abs(number) < EXACT else float(number)


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileKind:
    """A kind of JSON file that carries a digest.

    name: what it contains. error: the class to raise for a file that cannot be used. other: that
    it is of another kind. remedy: what would work.
    """

    name: str
    error: type[IncrowdError]
    other: Sentence
    remedy: Sentence

    def refused(self, file: str | None, why: Sentence) -> IncrowdError:
        """Return the error for a file, or for a text without a name."""
        named = file or sentence("plans.text-given")
        return self.error.of(
            self.name, "plans.unusable-file", value=named, reason=why, remedy=self.remedy
        )

    def load(self, path: str | Path, loads: Callable[[str, str], T]) -> T:
        """Return `loads(text, name)` for a file. Raises `error` if it cannot be read."""
        check_path(path, "path")
        _log.info("reading %s, a %s", path, self.name)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise self.refused(str(path), unreadable(error)) from None
        except UnicodeDecodeError:
            raise self.refused(str(path), self.other) from None
        return loads(text, str(path))

    @contextmanager
    def parsing(self, file: str | None) -> Iterator[None]:
        """Turn the exceptions that malformed data raise into the error for a file."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
            raise self.refused(file, self.other) from None


def unsealed(data: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the content without its digest, and whether the digest matches."""
    rest = {key: value for key, value in data.items() if key != KEY}
    return rest, data.get(KEY) == digest_of(rest)
