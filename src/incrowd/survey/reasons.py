"""Messages for the errors that pydantic finds in one value of a survey."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from incrowd.catalog.sentences import Sentence, likely, sentence
from incrowd.errors import Unfit, spelled
from incrowd.survey.toml import Mistake

KINDS = {
    "bool_parsing": "survey.truth",
    "bool_type": "survey.truth",
    "dict_type": "survey.part",
    "finite_number": "survey.finite",
    "float_parsing": "survey.number",
    "float_type": "survey.number",
    "int_from_float": "survey.whole-number",
    "int_parsing": "survey.whole-number",
    "int_type": "survey.whole-number",
    "list_type": "survey.list",
    "model_attributes_type": "survey.part",
    "model_type": "survey.part",
    "string_too_short": "survey.not-empty",
    "string_type": "survey.quoted-text",
    "tuple_type": "survey.list",
}
SHAPES = {"dict_type", "list_type", "model_attributes_type", "model_type", "tuple_type"}
LIMITS = {  # the code, and the name of the limit
    "greater_than": ("survey.greater-than", "gt"),
    "greater_than_equal": ("survey.at-least", "ge"),
    "less_than": ("survey.less-than", "lt"),
    "less_than_equal": ("survey.at-most", "le"),
    "too_short": ("survey.more-entries", "min_length"),
}
PARTS = {
    "privacy": "survey.write-privacy",
    "question": "survey.write-question",
    "table": "survey.write-table",
    "message": "survey.write-message",
    "regression": "survey.write-regression",
    "reference": "survey.write-reference",
    "shares": "survey.write-shares",
    "labels": "survey.write-labels",
    "randomizer": "survey.write-randomizer",
}
KNOWN = {
    "keys": ("survey.known-keys", "survey.likely-keys"),
    "variables": ("survey.known-variables", "survey.likely-variables"),
}


def wording(error: Mapping[str, Any]) -> Sentence:
    """Return what would work instead of the value of one error of pydantic.

    It is a part of a sentence: the `reason` of "survey.unfit", which shows the value before it.
    """
    kind, limits = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return _inner(limits["error"])
    if kind == "literal_error":
        return _literal(limits["expected"])
    if kind in LIMITS:
        code, name = LIMITS[kind]
        return sentence(code, limit=limits[name])
    if kind in SHAPES:
        key = [key for key in error["loc"] if isinstance(key, str)][-1]
        return sentence(PARTS.get(key, KINDS[kind]))
    if "shares" in error["loc"] and KINDS.get(kind) == "survey.number":
        return sentence("survey.share-number")
    return sentence(KINDS.get(kind, "survey.not-allowed"))


def _inner(error: ValueError) -> Sentence:
    """Return an error of a validator of ours, or of a type of another library."""
    if isinstance(error, Unfit):
        return error.reason
    if isinstance(error, Mistake):
        return sentence("survey.mistake", place=spelled(error.path), message=error.message)
    return sentence("survey.other-mistake", reason=str(error))


def _literal(expected: str) -> Sentence:
    """Return what pydantic writes as "'a', 'b' or 'c'"."""
    names = [name.strip("'") for name in re.split(", | or ", expected)]
    if len(names) == 1:
        return sentence("survey.only-value", value=expected)
    return sentence("survey.one-of", names=names)


def known_keys(written: str, keys: Iterable[str], kind: str = "keys") -> Sentence:
    """Return the keys that are allowed instead of an unknown one, the most likely first."""
    names = sorted(keys)
    alone, with_likely = KNOWN[kind]
    if meant := likely(written, names):
        return sentence(with_likely, meant=meant, names=names)
    return sentence(alone, names=names)
