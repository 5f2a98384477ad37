"""Amounts of people, rounded at random: once for each person, before all messages and copies."""

from __future__ import annotations

from incrowd.encoding.people import People
from incrowd.sampling.amounts import rounded_up
from incrowd.sampling.keystream import Keystream


def rounded(people: People, keystream: Keystream) -> People:
    """The people with one edge in the place of each amount; whom nothing is asked of stay as is.

    All reports of a person are then of one record, as the guarantee and the errors count on.
    """
    found = {
        id: each if each.up is None else each.drawn(rounded_up(each.up, keystream))
        for id, each in people.encoded.items()
    }
    return people._replace(encoded=found)


def unrounded(people: People) -> bool:
    """Whether there are amounts that are not rounded yet."""
    return any(each.up is not None for each in people.encoded.values())
