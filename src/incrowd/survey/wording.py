"""Messages for the errors that pydantic finds in one value of a survey."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from incrowd.errors import likely

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
LIMITS = {
    "greater_than": "should be greater than {gt:g}",
    "greater_than_equal": "should be at least {ge:,.15g}",
    "less_than": "should be less than {lt:g}",
    "less_than_equal": "should be at most {le:,.15g}",
    "literal_error": "use one of {expected}",
    "too_short": "should have {min_length} or more entries",
}
PARTS = {
    "privacy": "write [privacy], and its keys below it",
    "question": "write [[question]] before each one, and its keys below",
    "table": "write [[table]] before each one, and its questions below",
    "message": "write [[message]] before each one, and its questions below",
    "regression": "write [[regression]] before each one, and its keys below",
    "reference": 'should be a table, such as { age = "30 to <40" }',
    "shares": "should be a table, such as { yes = 0.1, no = 0.9 }",
    "labels": 'should be a table, such as { yes = "Yes", no = "No" }',
    "randomizer": 'should be a table, such as { kind = "warner", spinner = 0.7 }',
}


def wording(error: Mapping[str, Any]) -> str:
    """What would work instead of the value of one error of pydantic."""
    kind, limits = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(limits["error"])
    if kind == "literal_error" and " or " not in limits["expected"]:
        return f"should be {limits['expected']}"
    if kind in LIMITS:
        return LIMITS[kind].format(**limits).replace("'", "")  # around each choice
    if kind in SHAPES:
        key = [key for key in error["loc"] if isinstance(key, str)][-1]
        return PARTS.get(key, KINDS[kind])
    return KINDS.get(kind, "it is not allowed here; leave it out")


def known_keys(written: str, keys: Iterable[str], kind: str = "keys") -> str:
    """The keys that are allowed instead of an unknown one, the most likely first."""
    names = sorted(keys)
    meant = likely(written, names)
    return f"{meant}{'Known' if meant else 'known'} {kind} are {', '.join(names)}"
