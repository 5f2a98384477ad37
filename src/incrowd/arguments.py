"""Type checks for the arguments of public functions, with messages that say what would work."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import Parameter, Signature, cleandoc, signature
from numbers import Integral, Real
from os import PathLike
from sys import modules
from types import FunctionType
from typing import Any, TypeVar, is_typeddict

from incrowd.catalog.sentences import Sentence, likely, sentence
from incrowd.errors import ArgumentError

# The type that an annotation names -> the code of how to get a value of it.
_WORKS = {
    "Plan": "shared.wants-plan",
    "Outline": "shared.wants-plan",
    "Survey": "shared.wants-survey",
    "InterviewSurvey": "shared.wants-interview-survey",
    "InterviewAnswers": "shared.wants-interviews",
    "Reports": "shared.wants-reports",
    "GivenMargins": "shared.wants-margins",
    "Estimates": "shared.wants-estimates",
    "Contribution": "shared.wants-contribution",
    "Schema": "shared.wants-schema",
    "Part": "shared.wants-part",
    "Domain": "shared.wants-domain",
    "Channel": "shared.wants-channel",
    "BitFlip": "shared.wants-bit-flip",
    "Bit": "shared.wants-bit",
    "PrivacyCurve": "shared.wants-privacy-curve",
    "Received": "shared.wants-receipt",
    "EarlierPlan": "shared.wants-earlier-plan",
    "LossLaw": "shared.wants-loss-law",
    "Guarantee": "shared.wants-guarantee",
    "Callable": "shared.wants-function",
    "bool": "shared.wants-truth",
    "DeviceKey": "shared.wants-device-key",
    "NumberArray": "shared.wants-numbers-of-any-shape",
    "WholeNumberArray": "shared.wants-whole-numbers-of-any-shape",
    "str": "shared.wants-text",
    "int": "shared.wants-whole-number",
    "float": "shared.wants-number",
    "Path": "shared.wants-path",
}
_LISTS, _LIST, _MAPPING = "Sequence[Sequence[str]]", "Sequence[str]", "Mapping["
_TYPES: dict[str, Any] = {
    "None": type(None),
    "str": str,
    "Path": PathLike,
}
# Arrays of any shape, and what numpy calls the kinds of their entries.
_ARRAYS = {"NumberArray": "iuf", "WholeNumberArray": "iu"}
_NUMERIC = {"int", "float", *_ARRAYS}
_REPORTS = ("Collection", "Tally")
_CLASSES = frozenset(_WORKS) - {
    "str",
    "int",
    "float",
    "bool",
    "Path",
    "Reports",
    "GivenMargins",
    "Callable",
    *_ARRAYS,
}
_CLASSES |= {"Tally", "Alternatives", "AdditiveNoise"}
_ENTRIES = {"Part", "Domain", "EarlierPlan", "Received", "float", "int"}
_ALIASES = {
    "Sendable": "Contribution | Schema | Channel",
    "AnyContribution": "Contribution | Alternatives",
    "SearchProgress": "Callable",
    "SchemaCounts": "tuple[tuple[Schema, int], ...]",
    "ShiftCounts": "tuple[tuple[AdditiveNoise, int], ...]",
    "AnswerNumbers": "tuple[int, ...]",
    "ProbabilityNumerator": "int | float",  # its class explains what to do with a probability
    "Merge": "Mapping[str, Any]",
    "Scores": "Mapping[str, Sequence[float]]",
    "GuessedShares": "Mapping[str, Sequence[float]]",
    **dict.fromkeys(
        (
            "AnalysisName",
            "Family",
            "OutcomeErrors",
            "OutcomeMethod",
            "Penalty",
            "PlotLibrary",
            "PostprocessingMethod",
            "RegressionMethod",
            "SimultaneousMethod",
            "TallyKind",
        ),
        "str",
    ),
    "Outline": "Outline | Plan",
}


# Tuples of pairs, such as (a part, how many of them), and of one kind.
_PAIRS = re.compile(r"(?:tuple|Sequence)\[tuple\[(\w+), int\](?:, \.\.\.)?\]")
_UNPACKED = re.compile(r"Unpack\[(\w+)\]")
_PARAMETERS = "Parameters\n----------\n"
_TUPLES = re.compile(r"tuple\[(\w+), \.\.\.\]")
Class = TypeVar("Class", bound=type)


def checked(function: Callable[..., Any], name: str, module: str = "incrowd") -> Callable[..., Any]:
    """Wrap a function as the public function of that name.

    It raises ArgumentError for values that its annotations do not allow, such as a path instead of
    what is read from it, or a string instead of a list (its letters would be taken for entries),
    and for unknown or missing arguments.
    """
    public = _checking(function, name)
    public.__module__, public.__qualname__ = module, name  # where pickle finds it
    return public


def checked_class(cls: Class) -> Class:
    """Check the arguments of a class, its public methods, and its operators, as `checked` does.

    Named tuples may have a `__post_init__` as well. Methods that subclasses define are not checked.
    """
    maker = "__new__" if issubclass(cls, tuple) else "__init__"
    operators = {"__mul__", "__pow__", maker}
    for name, method in list(vars(cls).items()):
        kind = type(method) if isinstance(method, classmethod | staticmethod) else None
        function = method.__func__ if kind else method
        if not isinstance(function, FunctionType):
            continue
        if getattr(function, "__isabstractmethod__", False) or not _has_checks(function):
            continue
        if name in operators or not name.startswith("_"):
            called = cls.__name__ if name == maker else f"{cls.__name__}.{name}"
            wrapped = _checking(_completed(function) if name == "__new__" else function, called)
            setattr(cls, name, kind(wrapped) if kind else wrapped)
    return cls


def _checking(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    expected = expanded(function)
    kinds = _kinds(expected)
    by_place = _by_place(expected)

    @wraps(function)
    def public(*given: Any, **named: Any) -> Any:
        try:
            if not named and len(given) == len(by_place):
                arguments = dict(zip(by_place, given, strict=True))
            else:
                arguments = expected.bind(*given, **named).arguments
        except TypeError as error:
            unknown = next((each for each in named if each not in kinds), "")
            called, names = f"{name}()", list(kinds)
            if unknown:
                close = likely(unknown, kinds)
                why = sentence("shared.unknown-argument", name=unknown, meant=close, names=names)
            else:
                why = sentence("shared.wrong-arguments", reason=str(error), names=names)
            raise ArgumentError.of(called, why) from None
        plain: dict[str, Any] = {}
        for argument, value in arguments.items():
            allowed_kinds = kinds.get(argument, ())
            accepted = next((kind for kind in allowed_kinds if _accepts(kind, value)), None)
            if allowed_kinds and accepted is None:
                works = _works(allowed_kinds, value)
                raise ArgumentError.of(
                    argument, "shared.no-argument", value=presentable(value), wanted=works
                )
            if accepted in _NUMERIC and not _is_plain(accepted, value):
                plain[argument] = _plain(accepted, value)
        if plain:
            bound = expected.bind(*given, **named)
            bound.arguments |= plain
            return function(*bound.args, **bound.kwargs)
        return function(*given, **named)

    if expected != signature(function):
        public.__signature__ = expected  # type: ignore[attr-defined]
        public.__doc__ = documented(function)
    return public


def _by_place(expected: Signature) -> tuple[str, ...]:
    """Return the names of the parameters that values alone can fill, as most calls do: `bind` takes
    ten times as long. () if some need their names."""
    parameters = expected.parameters.values()
    alone = all(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)
    return tuple(expected.parameters) if alone else ()


def expanded(function: Callable[..., Any]) -> Signature:
    """Return the signature of a function, with a parameter for each option that it shares with
    others: those of a class that it takes as `**options: Unpack[...]`."""
    stated, shared = signature(function), _shared(function)
    if not shared:
        return stated
    options = shared.__annotations__.items()
    return stated.replace(
        parameters=[
            *list(stated.parameters.values())[:-1],
            *(_option(name, getattr(kind, "__forward_arg__", kind)) for name, kind in options),
        ]
    )


def documented(function: Callable[..., Any]) -> str:
    """Return the docstring of a function, with an entry for each option that it shares."""
    text, shared = cleandoc(function.__doc__ or ""), _shared(function)
    if not shared:
        return text
    end = text.index("\n\n", text.index(_PARAMETERS))
    return f"{text[:end]}\n{_entries(shared)}{text[end:]}"


def _shared(function: Callable[..., Any]) -> Any:
    """Return the class of the options that a function shares with others, if it has any."""
    last = [*signature(function).parameters.values()][-1:]
    shared = last and _UNPACKED.fullmatch(str(last[0].annotation))
    return function.__globals__[shared[1]] if shared else None


def _entries(options: type) -> str:
    """Return the entries of a class of options, and of those that it extends."""
    classes = (each for each in vars(modules[options.__module__]).values() if is_typeddict(each))
    names = options.__annotations__.keys()
    extended = (each for each in classes if each.__annotations__.keys() <= names)
    return "\n".join(cleandoc(each.__doc__).partition(_PARAMETERS)[2] for each in extended)


def _option(name: str, kind: str) -> Parameter:
    """Return the parameter of a shared option: False, None, or () if it is left out."""
    default = False if kind == "bool" else None if kind.endswith("None") else ()
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _completed(new: Callable[..., Any]) -> Callable[..., Any]:
    """Let a named tuple check its values, as a dataclass does."""

    @wraps(new)
    def complete(*given: Any, **named: Any) -> Any:
        result = new(*given, **named)
        check = getattr(result, "__post_init__", None)
        if check:
            check()
        return result

    return complete


def _has_checks(function: Callable[..., Any]) -> bool:
    return bool(_kinds(signature(function)))


def _kinds(expected: Signature) -> dict[str, list[str]]:
    """Return the kinds that each annotated parameter allows: the members of its union."""
    annotated = {
        each.name: _kinds_of(each) for each in expected.parameters.values() if _annotation(each)
    }
    return {name: kinds for name, kinds in annotated.items() if name not in ("self", "cls")}


def _annotation(parameter: Parameter) -> str:
    annotation = parameter.annotation
    if annotation is parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
        return ""
    return str(getattr(annotation, "__forward_arg__", annotation))


def _kinds_of(parameter: Parameter) -> list[str]:
    kinds: list[str] = []
    for kind in re.split(r" \| (?![^\[]*\])", _annotation(parameter)):
        alias = _ALIASES.get(kind, "Callable" if kind.startswith("Callable[") else kind)
        kinds += alias.split(" | ")
    if parameter.kind is parameter.VAR_POSITIONAL:
        return [f"tuple[{kind}, ...]" for kind in kinds]
    return kinds


def _accepts(kind: str, value: object) -> bool:
    """Return whether a value has a type that an annotation names; True for types that are not
    checked.

    Classes are compared by name: nothing is imported in order to check.
    """
    if kind in _CLASSES:
        return _is(kind, value)
    if kind == "Callable":
        return callable(value)
    if kind == "bool":
        return _is("bool", value) or _is("bool_", value)
    if kind in _NUMERIC:
        return _is_numeric(kind, value)
    if pairs := _PAIRS.fullmatch(kind):
        return isinstance(value, list | tuple) and all(_is_pair(pairs[1], each) for each in value)
    if tuples := _TUPLES.fullmatch(kind):
        return isinstance(value, list | tuple) and all(_accepts(tuples[1], each) for each in value)
    if kind.startswith(_MAPPING) or kind == "GivenMargins":
        return isinstance(value, Mapping)
    if kind == "Reports" or kind.startswith(("Sequence[", "Iterable[")):
        return _is_list(kind, value)
    return isinstance(value, _TYPES.get(kind, object))


def _is_numeric(kind: str, value: object) -> bool:
    """Return whether a value is a number, or an array of numbers.

    True is a whole number to Python, and a mistake to everybody else.
    """
    if kind in _ARRAYS:
        array = _array(value)
        return array is not None and (array.dtype.kind in _ARRAYS[kind] or not array.size)
    if isinstance(value, bool):
        return False
    if kind == "float":
        return isinstance(value, Real) and _fits_a_double(value)
    return isinstance(value, Integral)


def _fits_a_double(value: Real) -> bool:
    """Return whether a number can be converted, which very long whole numbers cannot."""
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _array(value: object) -> Any:
    """Return an array, or nested lists of numbers as an array; None for everything else."""
    if not isinstance(value, list | tuple) and not hasattr(value, "dtype"):
        return None
    import numpy as np  # slow to load, and most arguments are not arrays

    try:
        return np.asarray(value)
    except (ValueError, TypeError):  # lists of different lengths
        return None


def _is_plain(kind: str, value: Any) -> bool:
    """Return whether a number is one of Python that libraries in C accept where one is expected."""
    if kind == "float" and type(value) is int:
        return abs(value) < 1 << 63
    return type(value) in (int, float)


def _plain(kind: str, value: Any) -> Any:
    """Return a number of another library as one of Python, and nested lists as an array."""
    if kind in _ARRAYS:
        array = _array(value)
        return array if kind == "WholeNumberArray" and array.size else array.astype(float)
    return int(value) if kind == "int" else float(value)


def _is_list(kind: str, value: object) -> bool:
    reports = kind in ("Reports", "Sequence[Collection]")
    if reports and any(_is(each, value) for each in _REPORTS):
        return True
    if not isinstance(value, Iterable) or isinstance(value, Mapping) or _is_path(value):
        return False
    listed = value.tolist() if hasattr(value, "tolist") else value  # an array, or a column
    if listed is not value and not isinstance(listed, list):
        return False  # an array without a dimension
    entries = listed if isinstance(listed, list | tuple) else ()
    if reports:
        return all(any(_is(each, entry) for each in _REPORTS) for entry in entries)
    if kind == _LISTS:
        return all(isinstance(each, Iterable) and not _is_path(each) for each in entries)
    if kind == _LIST and listed is not value:
        return all(isinstance(each, str) for each in entries)
    inner = kind[kind.index("[") + 1 : -1]
    return all(_accepts(inner, entry) for entry in entries) if inner in _ENTRIES else True


def _is_pair(kind: str, value: object) -> bool:
    """Return whether a value is a pair of something of that kind and how often it occurs."""
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    return _accepts(kind, value[0]) and _accepts("int", value[1]) and int(value[1]) >= 1


def _is(kind: str, value: object) -> bool:
    return kind in _names(type(value))  # type: ignore[arg-type]


@cache
def _names(cls: type) -> frozenset[str]:
    """Return the names of a class and its bases."""
    return frozenset(each.__name__ for each in cls.__mro__)


def _is_path(value: object) -> bool:
    return isinstance(value, str | PathLike)


def works(kind: str) -> Sentence:
    """Return what would work where a value of a kind is expected."""
    return sentence(_WORKS[kind])


def _works(kinds: list[str], value: object) -> Sentence:
    """Return what would work instead of a value."""
    kind = next((each for each in ("Path", "Contribution", *_ARRAYS, *kinds) if each in kinds), "")
    if "float" in kinds and isinstance(value, Real) and not isinstance(value, bool):
        return sentence("shared.wants-smaller-number")
    if kind in (_LIST, _LISTS) and (_is_path(value) or isinstance(value, list | tuple)):
        inner = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
        if kind == _LIST:
            return sentence("shared.wants-list-as", example=str(inner))
        return sentence("shared.wants-lists-as", example=str([inner]))
    if pairs := _PAIRS.fullmatch(kind):
        return sentence("shared.wants-pairs", type=pairs[1])
    if tuples := _TUPLES.fullmatch(kind):
        return sentence("shared.wants-tuple", type=tuples[1])
    if kind == "Sequence[float]":
        return sentence("shared.wants-numbers")
    if kind.startswith(("Sequence[", "Iterable[")) and kind != "Sequence[Collection]":
        return sentence("shared.wants-list")
    if kind.startswith(_MAPPING):
        return sentence("shared.wants-dictionary")
    code = _WORKS.get("Reports" if kind == "Sequence[Collection]" else kind)
    return sentence(code or "shared.see-help")


def presentable(value: object) -> object:
    """Return a value as messages show it: objects only by their type."""
    readable = isinstance(value, str | PathLike | list | tuple | int | float)
    name = type(value).__name__
    if readable:
        return value
    return sentence("shared.an-object" if name[0] in "aeiouAEIOU" else "shared.a-object", type=name)
