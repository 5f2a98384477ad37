"""Words for yes and no, and what the names of columns say."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

YES = frozenset({"yes", "true", "1", "y", "ja", "j", "oui", "si", "sí", "sim", "да", "tak", "hai"})
NO = frozenset({"no", "false", "0", "n", "nein", "nee", "non", "não", "нет", "nie", "nej", "iie"})
PLAIN = ({"yes", "no"}, {"true", "false"}, {"1", "0"})  # which need no codes
_ID = re.compile(
    r"(^|[_\W])(id|uuid|guid|key|email|e-mail|phone|name|caseid|respondent|participant|pid|token)$",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"country|region|state|county|province|district|city|town|land$|kanton|canton|facult|"
    r"department|school|class$|site|clinic|hospital|store|branch|week|month|year$|wave|round$",
    re.IGNORECASE,
)


def yes_and_no(answers: Collection[str]) -> dict[str, str] | None:
    """What two answers mean if one is yes and the other no, in some language."""
    folded = {answer: answer.casefold() for answer in answers}
    found = {a: "yes" if f in YES else "no" for a, f in folded.items() if f in YES | NO}
    return found if len(found) == len(folded) and set(found.values()) == {"yes", "no"} else None


def is_plain(answers: Iterable[str]) -> bool:
    """Whether yes and no are written as every survey reads them."""
    folded = {answer.casefold().removesuffix(".0") for answer in answers}
    return any(folded <= words for words in PLAIN)


def looks_like_id(name: str) -> bool:
    """Whether a column's name says whose row it is."""
    return bool(_ID.search(name))


def looks_open(name: str) -> bool:
    """Whether everybody knows of everybody what is in a column, by its name."""
    return bool(_OPEN.search(name))
