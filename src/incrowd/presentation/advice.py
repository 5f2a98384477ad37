"""What a person wants to know of a plan first: how precise it will be, and what would help."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING, Protocol

from incrowd.accountant.channels.base import rounded_up
from incrowd.estimation.tables import HALF_WIDTH
from incrowd.plans import Plan
from incrowd.plans.strata import strata
from incrowd.presentation.number_text import short_percent, written_out
from incrowd.presentation.regressions import SELDOM
from incrowd.survey import Survey

if TYPE_CHECKING:
    from incrowd.estimation.regression.results import Regression

# Name, messages, reports a person, the effective sample of the wanted tables (None if there is
# none), and the local epsilon.
Way = tuple[str, int, float, float | None, float]
WORTH_IT = 1.2  # times sharper
MODERATE = 1.5  # an odds ratio
OFTEN = 0.5  # of surveys, in which a model is refused: then nothing else is said of it
USELESS = 0.25  # a margin: the interval holds half of all shares
COUNTING = "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"


class TableForecast(Protocol):
    """What to expect of a table: standard errors of its least precise cell, as proportions."""

    @property
    def questions(self) -> tuple[str, ...]:
        """Their ids."""

    @property
    def standard_error_even(self) -> float:
        """If all answers are equally common."""

    @property
    def standard_error_uneven(self) -> float:
        """If they are uneven, or as stated."""


def first_line(
    made: Plan,
    expected: Sequence[TableForecast],
    models: Sequence[Regression] = (),
    *,
    solved: str | None = None,
) -> str:
    """How precise single questions, joint tables and regressions will be, each by itself.

    expected: of all tables; models: of the wanted regressions. solved: what was looked for, if
    anything was.
    """
    survey, average = made.survey, " on average" if made.survey.objective == "mean" else ""
    there = " there" if survey.open else ""
    single, joint = _tables(survey, expected)
    low, high = _errors(survey, single)
    of = "each share" if len(survey.questions) == 1 else "each share of a single question"
    known = [f"{of} is known{there} to {_between(low, high)} percentage points{average}"]
    if joint:
        which = "joint tables" if average else "largest joint table"
        known.append(f"{which} {_between(*_errors(survey, joint))}{average}")
    said = "; ".join([*known, *map(_detected, models)])
    if solved == "crowd":
        return f"You need {_people(survey)}: {said}."
    if solved in ("epsilon", "delta"):
        value = getattr(survey.privacy, solved)
        return f"{_people(survey)} need {solved} {value:.3g}: {said}."
    return f"With {_people(survey)} {said}."


def _tables(
    survey: Survey, expected: Sequence[TableForecast]
) -> tuple[list[TableForecast], list[TableForecast]]:
    """Tables of one question, and wanted joint ones; not those that only a regression reads."""
    wanted = set(map(frozenset, survey.counted))
    joint = [each for each in expected if len(each.questions) > 1]
    return (
        [each for each in expected if len(each.questions) == 1],
        [each for each in joint if frozenset(each.questions) in wanted],
    )


def _errors(survey: Survey, tables: Sequence[TableForecast]) -> tuple[float, float]:
    """Standard errors under both assumptions, the smaller one first: the largest, or the mean."""
    of = max if survey.objective == "largest" else fmean
    even = of([each.standard_error_even for each in tables])
    uneven = of([each.standard_error_uneven for each in tables])
    return min(even, uneven), max(even, uneven)


def _between(low: float, high: float) -> str:
    """Margins of two standard errors, as "±1.6 to ±2.0"; once, if they look alike."""
    shown = (f"±{short_percent(HALF_WIDTH * error).removesuffix('%')}" for error in (low, high))
    return " to ".join(dict.fromkeys(shown))


def _detected(found: Regression) -> str:
    """What the least precise coefficient of a regression detects."""
    of = f"regression of {found.outcome}"
    if not found.estimable:
        return f"{of}: cannot be estimated"
    refusal = found.refusal or 0.0
    if refusal > OFTEN:
        return f"{of}: not supported by the reports in {refusal:.0%} of surveys"
    size = HALF_WIDTH * max(each.standard_error for each in found.coefficients[1:])
    worst = size * max(1.0, (found.uneven and found.uneven.error_ratio) or 1.0)
    if found.family == "logistic":
        return f"{of}: odds ratios of {_range(odds(size), odds(worst))} or more"
    return f"{of}: differences of {_range(f'{size:.3g}', f'{worst:.3g}')} or more"


def _range(least: str, most: str) -> str:
    """If answers are equally common, and if they are uneven; once, if they look alike."""
    return least if least == most else f"{least} to {most}"


def odds(log: float) -> str:
    """An odds ratio from its logarithm; beyond a million only that."""
    return f"{math.exp(log):.3g}" if log < math.log(1e6) else "a million"


def _people(survey: Survey) -> str:
    """The crowd; of each stratum where questions are open, and how many that are in all."""
    if not survey.open:
        return f"{survey.crowd:,} people"
    number = len(strata(survey))
    return (
        f"{survey.crowd:,} people in each stratum ({number * survey.crowd:,} or more in all "
        f"{number:,} strata)"
    )


def error_ratio(effective: float, other: float) -> float:
    """How many times as large errors are with one effective sample as with another."""
    return math.sqrt(other / effective)


def sharper(made: Plan, effective: float, others: Sequence[Way]) -> Iterator[str]:
    """More reports from each person, where that helps, and what it costs. effective: the sample of
    the plan."""
    cap = made.survey.privacy.local_epsilon or math.inf
    certified = [
        (other, -n, reports, local)
        for _, n, reports, other, local in others
        if other and local <= cap
    ]
    if not certified:
        return
    best, fewer, reports, local = max(certified)
    ratio, messages = error_ratio(effective, best), -fewer
    if ratio > WORTH_IT:
        now, own = len(made.messages), made.guarantee.local_epsilon
        split = f", and {messages:,} messages instead of {now:,}" if messages > now else ""
        yield (
            f"{math.ceil(reports):,} reports per person would make this {times(ratio)} sharper: "
            f"--reports-per-person {math.ceil(reports)}; without the shuffler "
            f"ε {written_out(local)} instead of {written_out(own)}{split}"
        )


def shuffler_trade(made: Plan, effective: float, kept: Sequence[Way]) -> Iterator[str]:
    """What a smaller local epsilon costs, where cells leave hardly anything without the shuffler.

    effective: the sample of the plan; kept: the ways that keep a local epsilon.
    """
    left = made.guarantee.local_epsilon
    weaker = [(other, local) for *_, other, local in kept if other and local < left]
    for other, local in sorted(weaker)[-1:]:
        yield (
            f"The mixing is what protects: if the shuffler failed, ε {written_out(left)} would be "
            f"left; local_epsilon = {local:.3g} in [privacy] leaves that, with errors "
            f"{times(error_ratio(other, effective))} as large."
        )


def odds_seen(made: Plan, expected: Sequence[Regression]) -> Iterator[str]:
    """Of each regression how often it is refused, if that is not rare; of a logistic one what its
    least sharp coefficient tells, and how many people it takes to tell odds ratios of 1.5, if they
    are more: their errors fall with the square root."""
    crowd, each = made.survey.crowd, " in each stratum" if made.survey.open else ""
    for found in expected:
        if found.refusal is not None and found.refusal > SELDOM:
            yield (
                f"{found.outcome}: reports will not support this model in {found.refusal:.0%} of "
                "surveys; below the plan stands what would work."
            )
        refusal = found.refusal or 0.0
        if found.family != "logistic" or not found.estimable or refusal > OFTEN:
            continue
        of = "all surveys" if refusal <= SELDOM else "the surveys that support the model"
        worst = max(found.coefficients[1:], key=attrgetter("standard_error"))
        size = HALF_WIDTH * worst.standard_error
        needed = rounded_up(crowd * (size / math.log(MODERATE)) ** 2, 3, whole=True)
        if size > math.log(MODERATE):
            yield (
                f"{found.outcome}: an odds ratio of {math.exp(size):.3g} for {worst.term}, the "
                f"least sharp, is detected in half of {of}; one of {MODERATE} takes "
                f"{needed} people{each} with this noise."
            )


def of_no_use(made: Plan, expected: Sequence[TableForecast]) -> Iterator[str]:
    """Warnings of what would tell next to nothing: single questions, or else some joint tables."""
    single, joint = _tables(made.survey, expected)
    remedy = "ask more people (--solve crowd --margin 5% says how many), or want fewer tables"
    if cap := made.survey.privacy.local_epsilon:
        remedy += f", or allow more than local_epsilon = {cap:g}"
    low, high = _errors(made.survey, single)
    if HALF_WIDTH * high >= USELESS:
        yield (
            f"single questions are known to {_between(low, high)} percentage points only, which "
            f"tells next to nothing; {remedy}"
        )
        return
    for table in joint:
        errors = table.standard_error_even, table.standard_error_uneven
        if HALF_WIDTH * max(errors) >= USELESS:
            yield (
                f"the joint table {', '.join(table.questions)} is known to "
                f"{_between(*sorted(errors))} percentage points only, which tells next to nothing; "
                f"{remedy}"
            )


def times(ratio: float) -> str:
    """A ratio in words: "1.7 times", "ten times", "23 times"."""
    whole = round(ratio)
    if abs(ratio - whole) > 0.05 * ratio:
        return f"{ratio:.1f} times"
    return f"{COUNTING[whole - 2] if 2 <= whole <= 10 else f'{whole:,}'} times"
