"""Open questions, whose answers are sent in the clear and form the strata: their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from incrowd.errors import Of, PathPart, Problem
from incrowd.survey.question import AnyQuestion

SEPARATOR = " / "  # between the answers that name a stratum
MOST_STRATA = 10_000
LONGEST_NAME = 200


def stratum_names(questions: Sequence[AnyQuestion]) -> tuple[str, ...]:
    """Return the names of all strata of some open questions, such as "law / 2024"; none without
    questions."""
    if not questions:
        return ()
    return tuple(map(SEPARATOR.join, product(*(question.recorded for question in questions))))


def open_problems(
    questions: Sequence[AnyQuestion],
    messages: Sequence[tuple[tuple[PathPart, ...], Sequence[str]]],
) -> Iterator[Problem]:
    """Check the strata of a survey. messages: the paths and question ids of its messages."""
    asked = [question for question in questions if question.open]
    if not asked:
        return
    if len(asked) == len(questions):
        yield Problem(("question", "open"), "survey.all-open", value=True)
    ids = {question.id for question in asked}
    for message, names in messages:
        if in_clear := [name for name in names if name in ids]:
            yield Problem((*message, "questions"), "survey.open-in-message", value=in_clear[0])
    answers = [question.answers for question in asked]
    if (number := math.prod(map(len, answers))) > MOST_STRATA:
        path = ("question", "open")
        yield Problem(path, "survey.too-many-strata", value=number, most=MOST_STRATA)
    for id, options in zip([question.id for question in asked], answers, strict=True):
        if wrong := [name for name in options if SEPARATOR in name and len(asked) > 1]:
            yield Problem(
                ("question", "options", Of(id)),
                "survey.joins-strata",
                value=wrong[0],
                separator=SEPARATOR,
            )
    longest = sum(max(map(len, options), default=0) for options in answers)
    if longest + len(SEPARATOR) * (len(asked) - 1) > LONGEST_NAME:
        path = ("question", "options")
        yield Problem(path, "survey.long-stratum", value=longest, most=LONGEST_NAME)
