"""What a person wants to know of a plan before anything else: how sharp, and what would help."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter

from incrowd.channels.rounding import rounded_up
from incrowd.estimation.regression.results import Regression
from incrowd.estimation.tables import HALF_WIDTH
from incrowd.plans import Plan
from incrowd.plans.strata import strata
from incrowd.presentation.number_text import short_percent, written_out
from incrowd.survey import Survey

# Name, messages, reports a person, the error of the wanted tables (None if there is none), and the
# local epsilon.
Way = tuple[str, int, float, float | None, float]
WORTH_IT = 1.2  # times sharper
MODERATE = 1.5  # an odds ratio
USELESS = 0.25  # a margin: the interval holds half of all shares
COUNTING = "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"


def margin(error: float) -> str:
    """Half of a 95% interval, as text."""
    return f"±{short_percent(HALF_WIDTH * error).removesuffix('%')} percentage points"


def first_line(made: Plan, error: float, *, solved: str | None = None) -> str:
    """How many people know what how well. solved: what was looked for, if anything was."""
    survey, average = made.survey, " on average" if made.survey.objective == "mean" else ""
    there = " there" if survey.open else ""
    known = f"each share of the wanted tables is known{there} to {margin(error)}{average}"
    if solved == "crowd":
        return f"You need {_people(survey)}: {known}."
    if solved in ("epsilon", "delta"):
        value = getattr(survey.privacy, solved)
        return f"{_people(survey)} need {solved} {value:.3g}: {known}."
    return f"With {_people(survey)} {known}."


def _people(survey: Survey) -> str:
    """The crowd; of each stratum where questions are open, and how many that are in all."""
    if not survey.open:
        return f"{survey.crowd:,} people"
    number = len(strata(survey))
    return (
        f"{survey.crowd:,} people in each stratum ({number * survey.crowd:,} or more in all "
        f"{number:,} strata)"
    )


def sharper(made: Plan, error: float, others: Sequence[Way]) -> Iterator[str]:
    """More reports from each person, where that helps, and what it costs. error: of the plan."""
    certified = [(other, reports, local, n) for _, n, reports, other, local in others if other]
    if not certified:
        return
    best, reports, local, messages = min(certified)
    if error > WORTH_IT * best:
        now, own = len(made.messages), made.guarantee.local_epsilon
        split = f", and {messages:,} messages instead of {now:,}" if messages > now else ""
        yield (
            f"{math.ceil(reports):,} reports a person make this {times(error / best)} sharper: "
            f"--reports-per-person {math.ceil(reports)}; without the shuffler "
            f"ε {written_out(local)} instead of {written_out(own)}{split}"
        )


def odds_seen(made: Plan, expected: Sequence[Regression]) -> Iterator[str]:
    """Of each logistic regression what its least sharp coefficient tells, and how many people it
    takes to tell odds ratios of 1.5, if they are more: their errors fall with the square root."""
    crowd, each = made.survey.crowd, " in each stratum" if made.survey.open else ""
    for found in expected:
        if found.family != "logistic" or not found.estimable:
            continue
        worst = max(found.coefficients[1:], key=attrgetter("standard_error"))
        size = HALF_WIDTH * worst.standard_error
        needed = rounded_up(crowd * (size / math.log(MODERATE)) ** 2, 3, whole=True)
        if size > math.log(MODERATE):
            yield (
                f"{found.outcome}: an odds ratio of {math.exp(size):.3g} for {worst.term}, the "
                f"least sharp, is detected in half of all surveys; one of {MODERATE} takes "
                f"{needed} people{each} with this noise."
            )


def of_no_use(error: float) -> Iterator[str]:
    """A warning where the answers would tell next to nothing."""
    if HALF_WIDTH * error >= USELESS:
        yield (
            f"each share is known to {margin(error)} only, which tells next to nothing; ask more "
            "people (--solve crowd --margin 5% says how many), or want fewer tables"
        )


def times(ratio: float) -> str:
    """A ratio in words: "1.7 times", "ten times", "23 times"."""
    whole = round(ratio)
    if abs(ratio - whole) > 0.05 * ratio:
        return f"{ratio:.1f} times"
    return f"{COUNTING[whole - 2] if 2 <= whole <= 10 else f'{whole:,}'} times"
