"""TOML files, read in bounded time and memory whatever they hold."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, FiniteFloat, GetPydanticSchema

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import (
    IncrowdError,
    PathPart,
    SurveyError,
    UsageError,
    check_path,
    path_of,
    unreadable,
)


class Frozen(BaseModel):
    """Plain frozen data, read from TOML; unknown keys are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)


def _with_one_zero(number: float) -> float:
    """Return the number itself, or 0.0 for -0.0."""
    return number + 0.0


# Canonical JSON writes -0.0 as 0, so plans that differ only in this have the same digest. What is
# derived from their numbers, such as the names of answers, must therefore be the same as well.
Real = Annotated[FiniteFloat, AfterValidator(_with_one_zero)]
# Of a name that code registers, such as that of an analysis: a file may hold any text, which the
# registry checks.
REGISTERED = GetPydanticSchema(lambda _, of_type: of_type(str))


class Mistake(ValueError):
    """A value that is inconsistent with others of its part.

    path: where it is within what is validated. message: what is wrong, and what would work.
    """

    def __init__(
        self, path: PathPart | Iterable[PathPart], what: str | Sentence, **arguments: Any
    ) -> None:
        self.path = path_of(path)
        self.message = what if isinstance(what, Sentence) else Sentence(what, arguments)
        super().__init__(str(self.message))


_log = logging.getLogger(__name__)
SURVEY = "survey"
MOST_BYTES = 1 << 24
MOST_NAMES = 32  # in a dotted key, which takes memory that grows with the square of their number
_NAME = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP = re.compile(rf"(?<![\w-]){_NAME}(?:[ \t]*+\.[ \t]*+{_NAME}){{{MOST_NAMES}}}")


def read_toml(path: str | Path, what: str = SURVEY) -> dict[str, Any]:
    """Return the content of a TOML file. what: the kind of file, as a message names it.

    Raises SurveyError if a survey cannot be read or is not TOML, UsageError for another file.
    """
    check_path(path, "path")
    _log.info("reading %s, a %s", path, what)
    try:
        with Path(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        why = sentence("survey.unreadable-toml", value=str(path), reason=unreadable(error))
        raise _refused(what, why) from None
    if len(text) > MOST_BYTES:
        why = sentence("survey.file-too-long", value=str(path), most=MOST_BYTES >> 20)
        raise _refused(what, why)
    try:
        return _parsed(text.decode("utf-8").replace("\r\n", "\n"), what, path)
    except UnicodeDecodeError:
        why = _other_kind(what, path) or sentence("survey.not-utf-8", value=str(path))
        raise _refused(what, why) from None


def _parsed(text: str, what: str, path: str | Path) -> dict[str, Any]:
    if _DEEP.search(text):
        raise _refused(what, sentence("survey.deep-key", value=str(path), most=MOST_NAMES))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        why = _other_kind(what, path) or sentence(
            "survey.not-toml", value=str(path), reason=str(error)
        )
        raise _refused(what, why) from None
    except RecursionError:
        raise _refused(what, sentence("survey.nested-too-deeply", value=str(path))) from None
    except ValueError:  # Python reads no more digits; TOML sets no limit
        raise _refused(what, sentence("survey.long-number", value=str(path))) from None


def _other_kind(what: str, path: str | Path) -> Sentence | None:
    """Return advice if data or a plan was named where a survey is needed."""
    if what != SURVEY or Path(path).suffix.lower() in ("", ".toml"):
        return None
    return sentence("survey.other-kind-of-file", value=str(path))


def _refused(what: str, why: Sentence) -> IncrowdError:
    return (SurveyError if what == SURVEY else UsageError).of(what, why)
