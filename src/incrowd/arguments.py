"""Type checks for the arguments of public functions, with messages that say what would work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from typing import Any

from incrowd.errors import ArgumentError, InWords, likely

# The type that an annotation names -> how to get a value of it.
_WORKS = {
    "Plan": 'should be what incrowd.Plan.load("plan.json") or incrowd.plan(survey) gives',
    "Outline": 'should be what incrowd.Plan.load("plan.json") or incrowd.plan(survey) gives',
    "Survey": 'should be what incrowd.Survey.load("survey.toml") gives',
    "Reports": 'should be what incrowd.load_reports("reports") gives',
    "Given": 'should be what incrowd.load_margins("margins.toml") gives',
    "Estimates": "should be what incrowd.estimate(plan, reports) gives",
    "Contribution": (
        "should be an incrowd.Contribution or incrowd.Schema, as incrowd.Schema.of(parts) gives"
    ),
    "DeviceKey": "should be what incrowd.DeviceKey.create() or .load(path) gives",
    "str": "should be a text",
    "int": "should be a whole number",
    "float": "should be a number",
    "Path": "should be the path of a file",
}
_LISTS, _LIST, _MAPPING = "Sequence[Sequence[str]]", "Sequence[str]", "Mapping["
_TYPES: dict[str, Any] = {
    "None": type(None),
    "str": str,
    "Path": PathLike,
    "int": Integral,
    "float": Real,
}
_REPORTS = ("Collection", "Tally")


def checked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap a function as the public function of that name.

    It raises ArgumentError for values that its annotations do not allow, such as a path instead of
    what is read from it, or a string instead of a list (its letters would be taken for entries),
    and for unknown or missing arguments.
    """
    expected = signature(function)
    kinds = {each.name: str(each.annotation).split(" | ") for each in expected.parameters.values()}

    @wraps(function)
    def public(*given: Any, **named: Any) -> Any:
        try:
            arguments = expected.bind(*given, **named).arguments
        except TypeError as error:
            unknown = next((each for each in named if each not in kinds), "")
            shown = f"got an unexpected keyword argument {unknown!r}" if unknown else str(error)
            allowed = f"{likely(unknown, kinds)}the arguments are {', '.join(kinds)}"
            raise ArgumentError.of(f"{name}()", InWords(shown), allowed) from None
        for argument, value in arguments.items():
            if not any(_accepts(kind, value) for kind in kinds[argument]):
                raise ArgumentError.of(argument, _shown(value), _works(kinds[argument], value))
        return function(*given, **named)

    public.__module__, public.__qualname__ = "incrowd", name  # where pickle finds it
    return public


def _accepts(kind: str, value: object) -> bool:
    """Whether a value has a type that an annotation names; True for types that are not checked.

    Classes are compared by name: nothing is imported in order to check.
    """
    if kind in ("Plan", "Outline", "Survey", "Estimates", "DeviceKey", "Tally"):
        return _is(kind, value)
    if kind in ("Contribution", "Schema"):
        return _is("Contribution", value) or _is("Schema", value)
    if kind.startswith(_MAPPING) or kind == "Given":
        return isinstance(value, Mapping) or (kind == "Given" and not _is_path(value))
    if kind == "Reports" or kind.startswith("Sequence["):
        return _is_list(kind, value)
    return isinstance(value, _TYPES.get(kind, object))


def _is_list(kind: str, value: object) -> bool:
    reports = kind in ("Reports", "Sequence[Collection]")
    if reports and any(_is(each, value) for each in _REPORTS):
        return True
    if not isinstance(value, Iterable) or isinstance(value, Mapping) or _is_path(value):
        return False
    entries = value if isinstance(value, list | tuple) else ()
    if reports:
        return all(any(_is(each, entry) for each in _REPORTS) for entry in entries)
    return kind != _LISTS or not any(isinstance(each, str) for each in entries)


def _is(kind: str, value: object) -> bool:
    return any(each.__name__ == kind for each in type(value).__mro__)


def _is_path(value: object) -> bool:
    return isinstance(value, str | PathLike)


def _works(kinds: list[str], value: object) -> str:
    """Return what would work instead of a value."""
    kind = next((each for each in ("Path", *kinds) if each in kinds), "")
    if kind in (_LIST, _LISTS) and (_is_path(value) or isinstance(value, list | tuple)):
        inner = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
        example = f"a list, as {inner}" if kind == _LIST else f"lists, as {[inner]}"
        return f"should be {example}"
    if kind.startswith("Sequence[") and kind != "Sequence[Collection]":
        return "should be a list"
    if kind.startswith(_MAPPING):
        return "should be a dictionary"
    return _WORKS.get("Reports" if kind == "Sequence[Collection]" else kind, "see help()")


def _shown(value: object) -> object:
    readable = isinstance(value, str | PathLike | list | tuple | int | float)
    return value if readable else InWords(f"got a {type(value).__name__}")
