"""How two records lie to the one that all others hold, in words."""

from __future__ import annotations


def relation_words(whose: str, one: int, other: int, both: int, place: str = "bit") -> str:
    """Two records, by the number of places in which each of them, and both, differ from z.

    whose: who hold z, as "the others'". place: what is counted.
    """
    if not one or not other:
        return f"{whose} record, and one that differs from it in {_many(one + other, place)}"
    if one == other:
        differ = f"two records that each differ from {whose} in {_many(one, place)}"
    else:
        differ = f"two records that differ from {whose} in {one} and in {_many(other, place)}"
    return f"{differ}, {both or 'none'} of them the same"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
