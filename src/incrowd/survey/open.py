"""Open questions, whose answers are sent in the clear and form the strata: their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from incrowd.errors import Problem
from incrowd.survey.question import AnyQuestion

SEPARATOR = " / "  # between the answers that name a stratum
MOST_STRATA = 10_000
LONGEST_NAME = 200


def open_problems(
    questions: Sequence[AnyQuestion], messages: Sequence[tuple[str, Sequence[str]]]
) -> Iterator[Problem]:
    """Check the strata of a survey. messages: the fields and question ids of its messages."""
    asked = [question for question in questions if question.open]
    if not asked:
        return
    if len(asked) == len(questions):
        allowed = (
            "nothing is randomized, so nothing is protected; leave at least one question closed"
        )
        yield Problem("question.open", True, allowed)
    ids = {question.id for question in asked}
    for field, names in messages:
        if in_clear := [name for name in names if name in ids]:
            allowed = "it is open, so it is sent in the clear and not in a message; leave it out"
            yield Problem(f"{field}.questions", in_clear[0], allowed)
    answers = [question.answers for question in asked]
    if (number := math.prod(map(len, answers))) > MOST_STRATA:
        allowed = f"the open questions should form at most {MOST_STRATA:,} strata"
        yield Problem("question.open", number, f"{allowed}; leave one closed, or group its options")
    for id, options in zip([question.id for question in asked], answers, strict=True):
        if wrong := [name for name in options if SEPARATOR in name and len(asked) > 1]:
            allowed = f"an option contains {SEPARATOR!r}, which joins names of strata; rename it"
            yield Problem(f"question.options of {id}", wrong[0], allowed)
    longest = sum(max(map(len, options), default=0) for options in answers)
    if longest + len(SEPARATOR) * (len(asked) - 1) > LONGEST_NAME:
        allowed = f"a stratum's name would have more than {LONGEST_NAME} characters; shorten them"
        yield Problem("question.options", longest, allowed)
