"""Errors as JSON, from the process that parses a file to the one that started it.

The file may have taken over that process, so nothing that it says is trusted: its errors are plain
data, and each message must be one of the catalog, with the arguments of its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd import errors
from incrowd.catalog.sentences import LANGUAGES, FileDigest, Keyword, Sentence, is_code
from incrowd.errors import IncrowdError, Of, Place, Problem

_ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, IncrowdError)
}
# What data that are none of our errors raise.
INVALID = (LookupError, TypeError, ValueError, RecursionError)


def as_json(error: IncrowdError) -> dict[str, Any]:
    """Return an error as JSON-ready data."""
    problems = [[_packed(problem.path), _packed(problem.message)] for problem in error.problems]
    return {"error": type(error).__name__, "problems": problems}


def error_of(data: Mapping[str, Any]) -> IncrowdError:
    """Return the error that `as_json` wrote. Raises one of INVALID for anything else."""
    return _ERRORS[data["error"]](*(_problem(*each) for each in data["problems"]))


def _problem(path: Any, message: Any) -> Problem:
    sentence = _unpacked(message)
    if not isinstance(sentence, Sentence):
        raise KeyError(type(sentence))
    problem = Problem(_unpacked(path), sentence)
    for language in LANGUAGES:
        problem.text(language)  # its arguments are those of its text
    return problem


def _packed(value: Any) -> Any:
    """Return a value as JSON has it; what JSON does not have is a list that begins with a tag."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return ["list" if isinstance(value, list) else "tuple", *map(_packed, value)]
    if isinstance(value, Mapping):
        return ["table", *([str(key), _packed(each)] for key, each in value.items())]
    if isinstance(value, Sentence):
        return ["sentence", value.code, _packed(value.arguments)]
    if isinstance(value, Keyword):
        return ["keyword", value.name, _packed(value.value)]
    if isinstance(value, Place):
        return ["place", value.kind, value.name]
    if isinstance(value, Of):
        return ["of", value.id]
    if isinstance(value, FileDigest):
        return ["digest", value.text]
    return str(value)


def _unpacked(value: Any) -> Any:
    if not isinstance(value, list):
        return _plain(value)
    tag, *parts = value
    return _KINDS[tag](*parts)


def _sentence(code: Any, arguments: Any) -> Sentence:
    if not (isinstance(code, str) and is_code(code)):
        raise KeyError(code)
    return Sentence(code, dict(_unpacked(arguments)))


def _keyword(name: Any, value: Any) -> Keyword:
    return Keyword(_plain(name), _plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, list | Mapping):
        raise KeyError(type(value))
    return value


_KINDS: dict[Any, Any] = {
    "list": lambda *parts: [*map(_unpacked, parts)],
    "tuple": lambda *parts: tuple(map(_unpacked, parts)),
    "table": lambda *pairs: {_plain(key): _unpacked(each) for key, each in pairs},
    "sentence": _sentence,
    "keyword": _keyword,
    "place": lambda kind, name: Place(_plain(kind), _plain(name)),
    "of": lambda id: Of(_plain(id)),
    "digest": lambda text: FileDigest(_plain(text)),
}
