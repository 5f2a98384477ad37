"""Random lists: which group of an interview study each interview is in."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from incrowd.errors import UsageError

BLOCK = 2  # times that each group occurs in a block


class RandomList(NamedTuple):
    """The interviews of one interviewer, from number `first` on, each with its group."""

    interviewer: int
    first: int
    groups: tuple[str, ...]

    @property
    def numbered(self) -> tuple[tuple[int, str], ...]:
        """The number and the group of each interview."""
        return tuple(enumerate(self.groups, self.first))


def random_lists(
    interviews: int, groups: Sequence[str], *, interviewers: int = 1
) -> tuple[RandomList, ...]:
    """Assign interviews to groups at random, with a list for each interviewer.

    Within a list, blocks of `BLOCK` interviews of each group are in random order, so that at any
    time two groups differ by at most `BLOCK` interviews, and by one at the end. The randomness is
    that of the operating system: nobody can repeat or foresee a list. Without groups, the group of
    each interview is "".

    Raises UsageError for fewer than one interview for each interviewer.
    """
    if interviewers < 1:
        raise UsageError.of("interviewers", "accountant.at-least-one", value=interviewers)
    if interviews < interviewers:
        raise UsageError.of(
            "interviews", "kits.few-interviews", value=interviews, interviewers=interviewers
        )
    share, more = divmod(interviews, interviewers)
    sizes = [share + (number < more) for number in range(interviewers)]
    firsts = [1 + sum(sizes[:number]) for number in range(interviewers)]
    return tuple(
        RandomList(number, first, tuple(_assigned(size, groups or [""])))
        for number, (first, size) in enumerate(zip(firsts, sizes, strict=True), 1)
    )


def _assigned(size: int, groups: Sequence[str]) -> Iterator[str]:
    """Yield the groups of a list, block by block."""
    chance = secrets.SystemRandom()
    whole = BLOCK * len(groups)
    while size > 0:
        each, rest = divmod(min(whole, size), len(groups))
        block = [*groups] * each + chance.sample([*groups], rest)
        chance.shuffle(block)
        yield from block
        size -= whole
