"""Participation: how many people are invited, how many of them will probably answer, and the crowd
that a guarantee can rely on then.

The manual explains the rule (Planning, "How many people will answer").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from incrowd.errors import Unfit
from incrowd.survey.toml import Frozen

MOST_PEOPLE = 10**13  # 10 billion people of 1,000 rows each
LEAST_CROWD = 2
LEAST_RESERVE = 20
RESERVED = 100  # people of a crowd for each one of the reserve
COUNTED_ON = Fraction(4, 5)  # of the people who are expected to answer
LEAST_ANSWERS = math.ceil((LEAST_CROWD + LEAST_RESERVE) / COUNTED_ON)  # for the least crowd


def least_reserve(crowd: int) -> int:
    """Return the least reserve: 1% of the crowd, at least 20, so that a few may send garbage."""
    return max(LEAST_RESERVE, -(-crowd // RESERVED))


def people_of_release(crowd: int) -> int:
    """Return the number of people whose uploads a release needs: the crowd and its reserve."""
    return crowd + least_reserve(crowd)


def crowd_of(answers: int) -> int:
    """Return the crowd for an expected number of answers: the largest whose release needs at most
    four fifths of them. It is below 2 if there is no such crowd."""
    counted_on = int(COUNTED_ON * answers)
    return min(counted_on - LEAST_RESERVE, counted_on * RESERVED // (RESERVED + 1))


def answers_for(crowd: int) -> int:
    """Return the least expected number of answers for which a crowd follows."""
    return math.ceil(people_of_release(crowd) / COUNTED_ON)


def _share(written: Any) -> Any:
    """Return a share that is written in percent, such as "60%", as a proportion."""
    if not isinstance(written, str):
        if isinstance(written, int | float) and not isinstance(written, bool) and written > 1:
            raise Unfit("survey.share-in-percent", percent=f"{written:.15g}%")
        return written
    number, sign, rest = written.strip().partition("%")
    try:
        share = Decimal(number.strip().replace(",", ".")) / (100 if sign else 1)
    except ArithmeticError:
        share = Decimal("nan")
    if rest or not share.is_finite():
        raise Unfit("survey.share-unreadable")
    return float(share)


class ExpectedAnswers(NamedTuple):
    """The expected number of people who answer: in all groups that are released, and in the
    smallest of them. groups: how many groups there are; 1 without open questions. equal: whether
    they are assumed to be equally large, since their sizes are not stated. smallest: the name of
    the smallest one, or ""."""

    people: int
    in_smallest: int
    groups: int = 1
    equal: bool = False
    smallest: str = ""


class Participation(Frozen):
    """The people who are invited to a survey.

    invited: their number. expected: the share of them that will probably answer. everybody: whether
    they are all the people whom the results describe, and not a sample of others. groups: if
    questions are open, how many of them are invited in each stratum.
    """

    invited: int = Field(ge=LEAST_CROWD, le=MOST_PEOPLE, strict=True)
    expected: Annotated[float, BeforeValidator(_share), Field(gt=0, le=1, strict=True)]
    everybody: bool = Field(default=False, strict=True)
    groups: dict[str, Annotated[int, Field(ge=0, le=MOST_PEOPLE, strict=True)]] = Field(
        default_factory=dict
    )

    def __hash__(self) -> int:
        """Hash the numbers only: tables are not hashable."""
        return hash((self.invited, self.expected, self.everybody))

    def answering(self, invited: int) -> int:
        """Return how many of some invited people will probably answer, rounded down."""
        return int(Fraction(repr(self.expected)) * invited)

    def to_invite(self, answers: int) -> int:
        """Return how many people to invite so that so many will probably answer."""
        return math.ceil(answers / Fraction(repr(self.expected)))

    def answers(self, groups: int, needed: int = 0) -> ExpectedAnswers:
        """Return the expected number of answers, at least 2 in each group.

        groups: the number of strata; 0 without any. needed: the answers that the release of a group
        needs; smaller groups do not count, unless all are smaller.
        """
        if not groups:
            people = max(2, self.answering(self.invited))
            return ExpectedAnswers(people, people)
        sizes = {name: max(2, self.answering(size)) for name, size in self.groups.items() if size}
        if not sizes:
            each = max(2, self.answering(self.invited // groups))
            return ExpectedAnswers(each * groups, each, groups, equal=True)
        released = {name: size for name, size in sizes.items() if size >= needed} or sizes
        smallest = min(released, key=released.__getitem__)
        people, least = sum(released.values()), released[smallest]
        return ExpectedAnswers(people, least, len(released), smallest=smallest)


def invited_in(raw: Mapping[str, Any]) -> int:
    """Return the number of invited people in a raw survey, if it states one: a number that no crowd
    is above, until the crowd is known."""
    people = raw.get("people")
    invited = people.get("invited") if isinstance(people, Mapping) else None
    if not isinstance(invited, int) or isinstance(invited, bool):
        return MOST_PEOPLE
    return invited if LEAST_CROWD <= invited <= MOST_PEOPLE else MOST_PEOPLE


def with_census(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add to a raw survey that it is a census, if everybody is invited."""
    people = raw.get("people")
    everybody = isinstance(people, Mapping) and people.get("everybody") is True
    return {"census": True, **raw} if everybody else raw
