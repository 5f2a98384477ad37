"""The first lines about a plan: how precise it will be, and what would make it better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING, Protocol

from incrowd.accountant.channels.base import rounded_up
from incrowd.catalog.sentences import Sentence, listed, sentence
from incrowd.errors import quantity
from incrowd.estimation.intervals import HALF_WIDTH, detectable_size
from incrowd.estimation.regression.results import SELDOM
from incrowd.number_text import short_percent, written_out
from incrowd.plans import Outline, Plan
from incrowd.plans.strata import strata
from incrowd.survey import Survey
from incrowd.survey.participation import people_of_release

if TYPE_CHECKING:
    from incrowd.estimation.regression.results import Regression
    from incrowd.planner.forecast import AskedForecast, TableForecast

# Name, messages, reports per person, the effective sample of the wanted tables (None if no noise
# keeps the promise), and the local epsilon.
Way = tuple[str, int, float, float | None, float]
WORTH_IT = 1.2  # times sharper
MODERATE = 1.5  # an odds ratio
USELESS = 0.25  # a margin of error whose interval covers half of all possible shares
COUNTING = "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"
PARTS = "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"
ROUNDED = 0.05  # relative error below which a ratio is written as a whole number


class ForecastErrors(Protocol):
    """The expected standard errors of a table's least precise cell, as proportions."""

    @property
    def questions(self) -> tuple[str, ...]:
        """The ids of its questions."""

    @property
    def standard_error_even(self) -> float:
        """The error if all answers are equally common."""

    @property
    def standard_error_uneven(self) -> float:
        """The error if answers are uneven, or as stated."""


def first_line(
    plan: Plan,
    expected: Sequence[ForecastErrors],
    models: Sequence[Regression] = (),
    *,
    solved: str | None = None,
) -> str:
    """State how precise single questions, joint tables and regressions will be.

    expected: forecasts of all tables; models: the models of the wanted regressions. solved: the
    parameter that the plan was solved for, if any.
    """
    survey, average = plan.survey, " on average" if plan.survey.objective == "mean" else ""
    there = " there" if survey.open else ""
    single, joint = _tables(survey, expected)
    low, high = _errors(survey, single)
    of = "each share" if len(survey.questions) == 1 else "each share of a single question"
    margins = [f"{of} is accurate to {_between(low, high)} percentage points{there}{average}"]
    if joint:
        which = "joint tables" if average else "the largest joint table"
        margins.append(f"{which} to {_between(*_errors(survey, joint))}{average}")
    text = "; ".join([*margins, *map(_detected, models)])
    if solved == "crowd":
        return f"You need {_people(survey)}: {text}."
    if solved in ("epsilon", "delta"):
        value = getattr(survey.privacy, solved)
        return f"{_people(survey)} need {solved} {value:.3g}: {text}."
    return f"With {_people(survey)}, {text}."


def _tables(
    survey: Survey, expected: Sequence[ForecastErrors]
) -> tuple[list[ForecastErrors], list[ForecastErrors]]:
    """Return the tables of one question, and the joint tables that are wanted for themselves."""
    wanted = set(map(frozenset, survey.counted))
    joint = [each for each in expected if len(each.questions) > 1]
    return (
        [each for each in expected if len(each.questions) == 1],
        [each for each in joint if frozenset(each.questions) in wanted],
    )


def _errors(survey: Survey, tables: Sequence[ForecastErrors]) -> tuple[float, float]:
    """Return the largest or mean standard error under both assumptions, the smaller one first."""
    of = max if survey.objective == "largest" else fmean
    even = of([each.standard_error_even for each in tables])
    uneven = of([each.standard_error_uneven for each in tables])
    return min(even, uneven), max(even, uneven)


def margin_text(error: float) -> str:
    """Return half of the width of a 95% interval in percentage points, as "±1.6"."""
    return f"±{short_percent(HALF_WIDTH * error).removesuffix('%')}"


def _between(low: float, high: float) -> str:
    """Return margins of error, as "±1.6 to ±2.0"; one figure if both are shown alike."""
    return range_text(margin_text(low), margin_text(high))


def _detected(model: Regression) -> str:
    """State what the least precise coefficient of a regression detects."""
    of = f"regression of {model.outcome}"
    if model.often_refused():
        return f"{of}: not supported by the reports in {model.refusal:.0%} of surveys"
    if not model.estimable:
        return f"{of}: cannot be estimated"
    size = detectable_size(model.power)
    worst = size * max(each.standard_error for each in model.coefficients[1:])
    least = size * ((model.even and model.even.largest_error) or math.inf)
    least = min(least, worst)
    if model.family == "logistic":
        return f"{of}: odds ratios of {range_text(odds(least), odds(worst))} or more"
    return f"{of}: differences of {range_text(f'{least:.3g}', f'{worst:.3g}')} or more"


def range_text(*ends: str) -> str:
    """Return a range as text; one figure if both ends are shown alike, or there is one."""
    return " to ".join(dict.fromkeys(ends))


def odds(log: float) -> str:
    """Return an odds ratio from its logarithm; above a million, "a million"."""
    return f"{math.exp(log):.3g}" if log < math.log(1e6) else "a million"


def _people(survey: Survey) -> str:
    """Return the crowd; with open questions, that of each stratum and the total."""
    if not survey.open:
        return f"{survey.crowd:,} people"
    number = len(strata(survey))
    return (
        f"{survey.crowd:,} people in each stratum ({number * survey.crowd:,} or more in all "
        f"{number:,} strata)"
    )


def error_ratio(effective: float, other: float) -> float:
    """Return the ratio of the errors with one effective sample to those with another."""
    return math.sqrt(other / effective)


def sharper(plan: Plan, effective: float, others: Sequence[Way]) -> Iterator[str]:
    """Suggest more reports per person where that helps, with the cost.

    effective: the effective sample of the plan.
    """
    cap = plan.survey.privacy.local_epsilon or math.inf
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
        now, local_now = len(plan.messages), plan.guarantee.local_epsilon
        split = f", and {messages:,} messages instead of {now:,}" if messages > now else ""
        yield (
            f"sending {quantity(math.ceil(reports), 'reports')} per person would {_cut(ratio)}: "
            f"--reports-per-person {math.ceil(reports)}; {_remaining(local, local_now)}{split}"
        )


def _remaining(local: float, now: float) -> str:
    """State what remains without the shuffler, instead of what remains now."""
    if math.inf in (local, now):
        return "whoever runs both services could read every answer"
    return (
        f"without the shuffler, ε {written_out(local)} would remain instead of {written_out(now)}"
    )


def _cut(ratio: float) -> str:
    """Describe errors divided by a ratio: "cut the error to a third"."""
    whole = round(ratio)
    if 2 <= whole <= 10 and abs(ratio - whole) <= ROUNDED * ratio:
        article = "an" if whole == 8 else "a"
        return "halve the error" if whole == 2 else f"cut the error to {article} {PARTS[whole - 3]}"
    return f"make the error {times(ratio)} smaller"


def shuffler_trade(plan: Plan, effective: float, limited: Sequence[Way]) -> Iterator[str]:
    """State the cost of a smaller local epsilon, where cells have little protection without mixing.

    effective: the effective sample of the plan; limited: the ways that limit the local epsilon.
    """
    local_now = plan.guarantee.local_epsilon
    if local_now == math.inf:  # the services add noise, which no limit can be put on
        return
    weaker = [(other, local) for *_, other, local in limited if other and local < local_now]
    for other, local in sorted(weaker)[-1:]:
        ratio = error_ratio(other, effective)
        errors = f"errors {times(ratio)} as large" if ratio >= 1.05 else "hardly larger errors"
        yield (
            f"The protection comes from the mixing: if the shuffler failed, ε "
            f"{written_out(local_now)} would remain; local_epsilon = {local:.3g} in [privacy] "
            f"limits it to that, with {errors}."
        )


class OtherNoise(Protocol):
    """The other kind of noise, where it would make the tables clearly more precise."""

    @property
    def kind(self) -> str:
        """Who would add the noise: "devices" or "services"."""

    @property
    def effective(self) -> tuple[float, float]:
        """The smallest effective sample of the wanted tables, now and then."""

    @property
    def errors(self) -> tuple[float, float]:
        """The standard error of the wanted tables, now and then."""


_TRUST = {
    "services": "people then have to trust that the mixing service and the counting service do "
    "not work together: together they could read every answer",
    "devices": "the noise is then added before answers leave the devices, so that some protection "
    "is left even if all services work together",
}


def other_noise(other: OtherNoise | None) -> Iterator[str]:
    """State what the other kind of noise would give, and whom people would have to trust."""
    if other is None:
        return
    now, then = (f"±{short_percent(HALF_WIDTH * error)}" for error in other.errors)
    fewer, more = (f"{effective:,.0f}" for effective in other.effective)
    yield (
        f'noise = "{other.kind}" in [privacy] would make the least precise table as precise as '
        f"{more} answers without noise instead of {fewer} ({then} instead of {now}); "
        f"{_TRUST[other.kind]}."
    )


def refusals(expected: Sequence[Regression]) -> Iterator[str]:
    """State how often reports will not support a regression, if that is above one in five."""
    for model in expected:
        if model.often_refused():
            yield _refused(model)


def _refused(model: Regression) -> str:
    return (
        f"{model.outcome}: reports will not support this model in {model.refusal:.0%} of surveys; "
        "see below the plan for what would work."
    )


def odds_seen(plan: Plan, expected: Sequence[Regression]) -> Iterator[str]:
    """State how often reports will not support each regression, unless that is rare, or so frequent
    that `refusals` states it.

    For logistic models also the odds ratio that the least precise coefficient detects and, where
    more people are needed, how many it takes to detect 1.5: errors fall with the square root.
    """
    crowd, each = plan.survey.crowd, " in each stratum" if plan.survey.open else ""
    for model in expected:
        refusal, often = model.refusal or 0.0, model.often_refused()
        if refusal > SELDOM and not often:
            yield _refused(model)
        if model.family != "logistic" or not model.estimable or often:
            continue
        of = "all surveys" if refusal <= SELDOM else "the surveys that support the model"
        worst = max(model.coefficients[1:], key=attrgetter("standard_error"))
        size = detectable_size(model.power) * worst.standard_error
        needed = rounded_up(crowd * (size / math.log(MODERATE)) ** 2, 3, whole=True)
        if size > math.log(MODERATE):
            yield (
                f"{model.outcome}: an odds ratio of {math.exp(size):.3g} for {worst.term}, the "
                f"least precise term, is detected in {100 * model.power:.3g}% of {of}; "
                f"detecting one of {MODERATE} takes {needed} people{each} with this noise."
            )


def of_no_use(
    plan: Outline, expected: Sequence[ForecastErrors], how: str = ""
) -> Iterator[Sentence]:
    """Warn of single questions, or else joint tables, that would be too imprecise to use.

    how: the way to find how many people are needed, in parentheses.
    """
    single, joint = _tables(plan.survey, expected)
    remedy = sentence("forecasts.more-people", how=f" {how}" if how else "")
    if cap := plan.survey.privacy.local_epsilon:
        remedy = sentence("forecasts.more-local-epsilon", remedy=remedy, cap=cap)
    errors = _errors(plan.survey, single)
    if HALF_WIDTH * errors[1] >= USELESS:
        yield sentence("forecasts.useless-questions", margin=_margin(*errors), remedy=remedy)
        return
    for table in joint:
        errors = (
            min(table.standard_error_even, table.standard_error_uneven),
            max(table.standard_error_even, table.standard_error_uneven),
        )
        if HALF_WIDTH * errors[1] >= USELESS:
            yield sentence(
                "forecasts.useless-table",
                ids=list(table.questions),
                margin=_margin(*errors),
                remedy=remedy,
            )


def _margin(low: float, high: float) -> Sentence:
    """Return margins of error, as `_between` does, in any language."""
    least, most = map(margin_text, (low, high))
    if least == most:
        return sentence("promises.number", value=least)
    return sentence("cards.from-to", least=least, most=most)


def of_hardly_anybody(expected: Sequence[TableForecast]) -> Iterator[Sentence]:
    """Warn of questions that so few are asked that their answers would be too imprecise to use."""
    for table in expected:
        if table.asked and HALF_WIDTH * table.asked.standard_error >= USELESS:
            error = table.asked.standard_error
            yield sentence(
                "forecasts.hardly-anybody",
                share=short_percent(table.asked.share),
                id=table.questions[0],
                margin=_margin(error, error),
            )


def asked_words(id: str, asked: AskedForecast) -> str:
    """State how many people are asked a question, and how precise their answers will be."""
    margin = _between(asked.standard_error, asked.standard_error)
    return (
        f"{id}: about {short_percent(asked.share)} of the people are asked; among them, each share "
        f"is accurate to {margin} percentage points"
    )


def without_cells(plan: Outline) -> Iterator[Sentence]:
    """Say that `explore` has no effect if everything is sent in joint reports."""
    survey = plan.survey
    if survey.explore is None or any(message.cells for message in plan.messages):
        return
    limits = {
        "reports_per_person": survey.reports_per_person,
        "upload_bytes": survey.upload_bytes,
        "local_epsilon": survey.privacy.local_epsilon,
    }
    causes = [f"{name} = {limit:g}" for name, limit in limits.items() if limit is not None]
    within = listed(causes or [f'analysis = "{survey.privacy.analysis}"'])
    yield sentence("forecasts.explores-nothing", share=survey.explore, within=within)


def times(ratio: float) -> str:
    """Return a ratio in words: "1.7 times", "ten times", "23 times"."""
    whole = round(ratio)
    if abs(ratio - whole) > ROUNDED * ratio:
        return f"{ratio:.1f} times"
    return f"{COUNTING[whole - 2] if 2 <= whole <= 10 else f'{whole:,}'} times"


def people_lines(survey: Survey, plan: Plan) -> Iterator[str]:
    """Yield what follows from the number of people who are invited, if the survey states it."""
    people, expected = survey.people, survey.expected_answers
    if people is None or expected is None:
        return
    invited = f"{people.invited:,} people are invited, and {expected.people:,} expected to answer"
    group = f", {expected.in_smallest:,} in the smallest stratum" if expected.groups > 1 else ""
    if plan.guarantee.crowd is None:
        needed, why = plan.least, ""
    else:
        needed = people_of_release(survey.crowd)
        why = f": the crowd of {survey.crowd:,} and a reserve of {needed - survey.crowd:,}"
    yield f"{invited}{group}; a release over a network needs {needed:,}{why}"
    warned = plan.guarantee.crowd is not None and survey.unreachable_release  # by `plan`
    if expected.in_smallest < needed and not warned:
        yield "probably, nothing would be released: invite more people, or leave out the crowd"
