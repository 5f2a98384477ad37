"""TOML files, read in bounded time and memory whatever they hold."""

from __future__ import annotations

import logging
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, FiniteFloat

from incrowd.errors import IncrowdError, SurveyError, UsageError, check_path, unreadable


class Frozen(BaseModel):
    """Plain frozen data, read from TOML; unknown keys are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)


def _with_one_zero(number: float) -> float:
    """The number itself, or 0.0 for -0.0."""
    return number + 0.0


# Canonical JSON writes -0.0 as 0, so plans that differ only in this have the same digest. What is
# derived from their numbers, such as the names of answers, must therefore be the same as well.
Real = Annotated[FiniteFloat, AfterValidator(_with_one_zero)]


class Mistake(ValueError):
    """A field that is inconsistent with others of its part: name, value, what would work."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field}: {allowed}")
        self.field, self.value, self.allowed = field, value, allowed


_log = logging.getLogger(__name__)
SURVEY = "survey"
MOST_BYTES = 1 << 24
MOST_NAMES = 32  # in a dotted key, which takes memory that grows with the square of their number
_NAME = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP = re.compile(rf"(?<![\w-]){_NAME}(?:[ \t]*+\.[ \t]*+{_NAME}){{{MOST_NAMES}}}")


def read_toml(path: str | Path, what: str = SURVEY) -> dict[str, Any]:
    """The content of a TOML file. what: the kind of file, as a message names it.

    Raises SurveyError if a survey cannot be read or is not TOML, UsageError for another file.
    """
    check_path(path, "path")
    _log.info("reading %s, a %s", path, what)
    try:
        with Path(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _refused(what, path, f"{unreadable(error)}; name a TOML file") from None
    if len(text) > MOST_BYTES:
        raise _refused(what, path, f"it is longer than {MOST_BYTES >> 20} MiB; write a shorter one")
    try:
        return _parsed(text.decode("utf-8").replace("\r\n", "\n"), what, path)
    except UnicodeDecodeError:
        allowed = _other_kind(what, path) or "it is not UTF-8; save it as UTF-8"
        raise _refused(what, path, allowed) from None


def _parsed(text: str, what: str, path: str | Path) -> dict[str, Any]:
    if _DEEP.search(text):
        raise _refused(
            what, path, f"it has a key of more than {MOST_NAMES} names; use shorter keys"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        allowed = _other_kind(what, path) or f"it is not TOML: {error}; correct it there"
        raise _refused(what, path, allowed) from None
    except RecursionError:
        raise _refused(what, path, "it is nested too deeply; use fewer levels") from None
    except ValueError:  # Python reads no more digits; TOML sets no limit
        raise _refused(what, path, "it has a number with thousands of digits; shorten it") from None


def _other_kind(what: str, path: str | Path) -> str:
    """Advice if data or a plan was named where a survey is needed, or ""."""
    if what != SURVEY or Path(path).suffix.lower() in ("", ".toml"):
        return ""
    return "it is not TOML; name a survey; `incrowd init` drafts one from data"


def _refused(what: str, path: str | Path, allowed: str) -> IncrowdError:
    kind = SurveyError if what == SURVEY else UsageError
    return kind.of(what, str(path), allowed)
