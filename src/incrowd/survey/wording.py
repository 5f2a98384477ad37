"""What is wrong with one value that a person wrote, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

TRUTH = "should be true or false, without quotation marks"
LIST = 'should be a list, such as ["a", "b"]'
NUMBER = "should be a number, such as 0.5"
PART = "should be a table of keys and values"
TEXT = "should be text in quotation marks"
WHOLE = "should be a whole number, such as 1000"

KINDS = {
    "bool_parsing": TRUTH,
    "bool_type": TRUTH,
    "dict_type": PART,
    "finite_number": "should be a finite number",
    "float_parsing": NUMBER,
    "float_type": NUMBER,
    "int_from_float": WHOLE,
    "int_parsing": WHOLE,
    "int_type": WHOLE,
    "list_type": LIST,
    "model_attributes_type": PART,
    "model_type": PART,
    "string_too_short": "should not be empty",
    "string_type": TEXT,
    "tuple_type": LIST,
}
SHAPES = {"dict_type", "list_type", "model_attributes_type", "model_type", "tuple_type"}
LIMITS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda limits: f"should be greater than {limits['gt']:g}",
    "greater_than_equal": lambda limits: f"should be at least {limits['ge']:,.15g}",
    "less_than": lambda limits: f"should be less than {limits['lt']:g}",
    "less_than_equal": lambda limits: f"should be at most {limits['le']:,.15g}",
    "literal_error": lambda limits: f"use one of {_listed(limits['expected'])}",
    "too_short": lambda limits: f"should have {limits['min_length']} or more entries",
}
PARTS = {
    "privacy": "write [privacy], and its keys below it",
    "question": "write [[question]] before each one, and its keys below",
    "table": "write [[table]] before each one, and its questions below",
    "message": "write [[message]] before each one, and its questions below",
    "randomizer": 'should be a table, such as { kind = "warner", spinner = 0.7 }',
}


def wording(error: Mapping[str, Any]) -> str:
    """What would work in the place of one error that pydantic found."""
    kind, limits = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(limits["error"])
    if kind in LIMITS:
        return LIMITS[kind](limits)
    if kind in SHAPES and (key := _key(error["loc"])) in PARTS:
        return PARTS[key]
    return KINDS.get(kind, "it cannot stand here; leave it out")


def _key(place: Sequence[str | int]) -> str:
    """The last key on the way to a place."""
    return [key for key in place if isinstance(key, str)][-1]


def _listed(expected: str) -> str:
    """The choices without quotation marks: 'a', 'b' or 'c' is "a, b or c"."""
    return expected.replace("'", "")
