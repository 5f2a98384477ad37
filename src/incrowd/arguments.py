"""What the public functions are given: another kind of thing is named, with what would work."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from os import PathLike
from typing import Any

from incrowd.errors import InWords, UsageError

# What an annotation names -> how one is made.
_MADE_BY = {
    "Plan": 'incrowd.Plan.load("plan.json") or incrowd.plan(survey)',
    "Survey": 'incrowd.Survey.load("survey.toml")',
    "Reports": 'incrowd.load_reports("reports")',
    "Given": 'incrowd.load_margins("margins.toml")',
}
_LISTS, _LIST = "Sequence[Sequence[str]]", "Sequence[str]"


def checked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function as the public one of that name.

    It raises UsageError for what its annotations do not allow: a path in the place of what is
    read from it, or a text in the place of a list, whose letters would be taken for its entries.
    """
    kinds = {each.name: str(each.annotation) for each in signature(function).parameters.values()}

    @wraps(function)
    def public(*given: Any, **named: Any) -> Any:
        for argument, value in (*zip(kinds, given, strict=False), *named.items()):
            if works := _works(kinds.get(argument, "").partition(" |")[0], value):
                raise UsageError.of(argument, _shown(value), works)
        return function(*given, **named)

    public.__module__, public.__qualname__ = "incrowd", name  # where pickle finds it
    return public


def _works(kind: str, value: object) -> str:
    """What would work in the place of a value; nothing if it does itself, as far as is known."""
    path = isinstance(value, str | PathLike)
    wrong = {
        "Plan": not _is("Plan", value),
        "Survey": not _is("Survey", value),
        "Reports": path,
        "Given": path,
        _LIST: isinstance(value, str),
        _LISTS: isinstance(value, str) or _texts(value),
    }
    if not wrong.get(kind):
        return ""
    if kind in _MADE_BY:
        return f"should be what {_MADE_BY[kind]} gives"
    inner = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
    return f"should be a list, as {inner}" if kind == _LIST else f"should be lists, as {[inner]}"


def _is(kind: str, value: object) -> bool:
    """By name: nothing is imported in order to check."""
    return any(each.__name__ == kind for each in type(value).__mro__)


def _texts(value: object) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(each, str) for each in value)


def _shown(value: object) -> object:
    readable = isinstance(value, str | PathLike | list | tuple)
    return value if readable else InWords(f"got a {type(value).__name__}")
