"""The power of a survey of interviews, over the number of people, beside the open question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, translatable
from incrowd.errors import UsageError
from incrowd.estimation.intervals import LEVEL, POWER, detectable_size
from incrowd.interviews.designs import ItemDesign
from incrowd.interviews.planning import (
    SHARE,
    expected_theta,
    openly,
    people_text,
    percent_text,
    sensitive_answers,
    shares_with,
)
from incrowd.interviews.power import (
    Covariate,
    Detection,
    Estimand,
    RuleBreaking,
    detection,
    difference_of,
    odds_ratio_of,
    share_of,
)
from incrowd.interviews.survey import InterviewItem, InterviewSurvey
from incrowd.views import CurvePlot, Line, Numbers, Sheet, View

PEOPLE = (250, 500, 1_000, 2_000, 4_000)
MOST_CURVES, POINTS = 3, 60
_HEADINGS = ("power.to-detect", "power.people-needed", "power.asked-openly")


class _Goal(NamedTuple):
    """Something to detect: "share", "difference", or "odds ratio"; its size, and the share of the
    answer among all people."""

    kind: str
    share: float
    size: float


@dataclass(frozen=True)
class PowerForecast:
    """The power to detect one thing, with a design and with the open question.

    question: its id. goal: "share" (size is the null value), "difference", or "odds ratio". share:
    the expected share of the answer. answer: of which it is. power: with each of the numbers of
    people. standard_error: of a share or difference, or of the logarithm of an odds ratio.
    people_needed, openly_needed: for the wanted power; None if no number is enough. effect: what
    the estimate converges to, as a distance to the null value; `expected` if all follow the rules.
    """

    question: str
    goal: str
    answer: str
    share: float
    size: float
    people: tuple[int, ...]
    power: tuple[float, ...]
    standard_error: tuple[float, ...]
    people_needed: int | None
    openly_needed: int | None
    effect: float
    expected: float
    by_device: Detection
    by_asking: Detection


@dataclass(frozen=True)
class InterviewPower(views.Result):
    """The power of a survey of interviews.

    Attributes
    ----------
    survey : InterviewSurvey
        The survey.
    forecasts : tuple of PowerForecast
        By question, goal, and expected share.
    people : tuple of int
        The numbers of people for which the power is stated.
    power, level : float
        The wanted power, and the level of intervals.
    at_random, evasive : float
        The shares of people who do not follow the rules.

    Examples
    --------
    >>> import incrowd
    >>> from incrowd import interviews
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> found = interviews.power_curves(survey, shares=[0.2], differences=[0.1])
    >>> found.forecasts[0].people_needed, found.forecasts[0].openly_needed
    (1476, 495)
    """

    survey: InterviewSurvey
    forecasts: tuple[PowerForecast, ...]
    people: tuple[int, ...]
    power: float
    level: float
    at_random: float = 0.0
    evasive: float = 0.0
    guarantee: None = None
    layout: ClassVar[str] = "pictured"

    def __repr__(self) -> str:
        return f"InterviewPower({self.survey.name!r}, {len(self.forecasts)} forecasts)"

    def facts(self) -> dict[str, Any]:
        """Return the forecasts and what they assume."""
        hidden = ("by_device", "by_asking")
        names = [name for name in PowerForecast.__dataclass_fields__ if name not in hidden]
        return {
            "survey": self.survey.name,
            "people": self.people,
            "power": self.power,
            "level": self.level,
            "at_random": self.at_random,
            "evasive": self.evasive,
            "forecasts": [{name: getattr(each, name) for name in names} for each in self.forecasts],
        }

    def long_table(self) -> Sheet:
        """Return a row for each forecast and number of people."""
        names = ("question", "goal", "answer", "share", "size", "people_needed", "openly_needed")
        rows = tuple(
            (*(getattr(each, name) for name in names), *figures)
            for each in self.forecasts
            for figures in zip(each.people, each.power, each.standard_error, strict=True)
        )
        return Sheet("power", (*names, "people", "power", "standard_error"), rows, ("power",))

    def view(self) -> View:
        """Return a table for each question: people needed, and the power with some numbers."""
        title = translatable("power.of", name=self.survey.name)
        ids = dict.fromkeys(each.question for each in self.forecasts)
        return View(title, tables=tuple(map(self._numbers, ids)), notes=tuple(self._notes()))

    def _numbers(self, id: str) -> Numbers:
        headings = list(map(translatable, _HEADINGS))
        headings += [translatable("power.with-people", people=n) for n in self.people]
        lines = tuple(self._line(each) for each in self.forecasts if each.question == id)
        return Numbers(id, tuple(headings), lines, spaces=2)

    def _line(self, each: PowerForecast) -> Line:
        figures = [NumberText(f"{100 * power:.0f}%") for power in each.power]
        needed = people_text(each.people_needed), people_text(each.openly_needed)
        return (goal_text(each), *needed, *figures)

    def _notes(self) -> Iterator[str]:
        power = percent_text(self.power)
        yield translatable("power.numbers", power=power, people=self.people[0])
        yield translatable("power.detected", level=percent_text(self.level))
        if self.at_random or self.evasive:
            shares = {
                "random": percent_text(self.at_random),
                "evasive": percent_text(self.evasive),
            }
            yield translatable("power.rules-broken", **shares)
            if any(each.goal == "share" for each in self.forecasts):
                yield translatable("power.share-biased")
        else:
            yield translatable("power.rules-followed")
        if any(each.goal == "odds ratio" for each in self.forecasts):
            yield translatable("power.normal-approximation")

    def plots(self) -> Sequence[CurvePlot]:
        """Return for each question the power over the number of people."""
        ids = dict.fromkeys(each.question for each in self.forecasts)
        return [self._plot(id) for id in ids]

    def _plot(self, id: str) -> CurvePlot:
        shown = [each for each in self.forecasts if each.question == id][:MOST_CURVES]
        needed = max((each.people_needed or 0 for each in shown), default=0)
        most = max(*self.people, min(5 * needed // 4, 10 * max(self.people)))
        people = np.linspace(10, most, POINTS).round()
        curves = []
        for each in shown:
            asked = ((goal_text(each), each.by_device), (self._openly(each), each.by_asking))
            for name, detected in asked:
                power = detected.power(people, self.level)
                curves.append((name, list(zip(people.tolist(), power.tolist(), strict=True))))
        title = translatable("power.curve-of", question=id)
        across = translatable("interviews.interviews-column")
        return CurvePlot(title, across, translatable("power.power-axis"), curves)

    def _openly(self, each: PowerForecast) -> str:
        return translatable("power.goal-openly", goal=goal_text(each))


def goal_text(each: PowerForecast) -> str:
    """Return what is detected, in words."""
    share = percent_text(each.share)
    if each.goal == "share":
        return translatable("power.share-goal", share=share, null=percent_text(each.size))
    if each.goal == "difference":
        size = NumberText(f"{100 * each.size:.3g}")
        return translatable("power.difference-goal", share=share, difference=size)
    return translatable("power.odds-goal", share=share, ratio=NumberText(f"{each.size:.3g}"))


def power_curves(
    survey: InterviewSurvey,
    *,
    questions: Sequence[str] | None = None,
    people: Sequence[int] | None = None,
    shares: Sequence[float] | None = None,
    null: float | None = None,
    differences: Sequence[float] | None = None,
    odds_ratios: Sequence[float] | None = None,
    covariate: Covariate = "binary",
    part: float = 0.5,
    inflation: float = 1.0,
    at_random: float = 0.0,
    evasive: float = 0.0,
    power: float | None = None,
    level: float | None = None,
) -> InterviewPower:
    """Forecast how likely a survey of interviews detects shares, differences, and odds ratios.

    Something is detected if the interval of its estimate excludes the null value on the right side.
    Nobody has to be interviewed for this.

    Parameters
    ----------
    survey : InterviewSurvey
        The survey, with all its designs.
    questions : sequence of str, optional
        Ids; by default all questions.
    people : sequence of int, optional
        The numbers of interviews for which the power is stated.
    shares : sequence of float, optional
        The expected shares of the answer "yes", or of each option; by default that of `[aim]`, or
        one half.
    null : float, optional
        The share to compare with: the power is that of finding the expected share above or below
        it. By default 0, if nothing else is to be detected.
    differences : sequence of float, optional
        Differences of the share between two groups of people, in the middle of which the expected
        share is; by default that of `[aim]`.
    odds_ratios : sequence of float, optional
        Of a logistic regression of a question with two answers.
    covariate : {"binary", "normal"}
        Whether an odds ratio is that of two groups, or of one standard deviation of a number.
    part : float
        The share of people in the second group, or with the binary covariate.
    inflation : float
        The factor of variances by weights, clusters, or other covariates: 1 / (1 - R^2), R^2 the
        share of the covariate's variance that the others explain.
    at_random, evasive : float
        The shares of people who give any report, and who always give the one that speaks most
        against the answer, such as "no". The estimate does not know them.
    power, level : float, optional
        The wanted power, and the level of the intervals; by default those of `[aim]`, or 0.8 and
        0.95.

    Returns
    -------
    InterviewPower
        Of questions with several options, the option with the least power.

    Raises
    ------
    UsageError
        For shares, differences, ratios, and numbers of people that are impossible.

    References
    ----------
    docs/interviews-mathematics.md#power. Ulrich, Schröter, Striegel, and Simon (2012) for power in
    randomized response.

    Examples
    --------
    >>> import incrowd
    >>> from incrowd import interviews
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "birthday"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "crosswise", "p": "3/12"},
    ...     }],
    ... })
    >>> found = interviews.power_curves(survey, shares=[0.1], odds_ratios=[2.0])
    >>> found.forecasts[0].people_needed > 4 * found.forecasts[0].openly_needed
    True
    """
    aim = survey.aim
    power = (aim.power or POWER) if power is None else power
    detectable_size(power)
    level = (aim.level or LEVEL) if level is None else level
    numbers = tuple(people or ([aim.people] if aim.people else PEOPLE))
    breaking = RuleBreaking(at_random, evasive)
    _check(numbers, shares, part, inflation, breaking, level)
    items = [survey.item(id) for id in questions] if questions else survey.items
    if differences is None and not odds_ratios and null is None and aim.difference:
        differences = [aim.difference]
    forecasts = []
    for item in items:
        answers = len(item.design.answers)
        usual = (SHARE if answers == 2 else 1 / answers) if aim.share is None else aim.share
        sizes = [("difference", size) for size in differences or ()]
        sizes += [("odds ratio", size) for size in odds_ratios or ()]
        if null is not None or not sizes:
            sizes.append(("share", null or 0.0))
        for (kind, size), share in product(sizes, shares or [usual]):
            goal = _Goal(kind, share, size)
            _check_goal(item, goal)
            forecasts.append(
                _forecast(item, goal, numbers, covariate, part, inflation, breaking, power, level)
            )
    return InterviewPower(survey, tuple(forecasts), numbers, power, level, at_random, evasive)


def _forecast(
    item: InterviewItem,
    goal: _Goal,
    people: tuple[int, ...],
    covariate: Covariate,
    part: float,
    inflation: float,
    breaking: RuleBreaking,
    power: float,
    level: float,
) -> PowerForecast:
    """Return the forecast of the option with the least power."""

    def detected(design: ItemDesign, answer: int, breaking: RuleBreaking | None) -> Detection:
        return detection(
            design.matrices,
            _estimand(goal, len(design.answers), answer, covariate, part),
            answer=answer,
            theta=expected_theta(design),
            breaking=breaking,
            inflation=inflation,
        )

    def strength(answer: int) -> float:
        result = detected(item.design, answer, breaking)
        return abs(result.effect) / math.sqrt(result.variance)

    answer = min(sensitive_answers(item.design), key=strength)
    hidden = detected(item.design, answer, breaking)
    direct = detected(openly(item.design.answers), answer, None)
    return PowerForecast(
        question=item.id,
        goal=goal.kind,
        answer=item.design.answers[answer],
        share=goal.share,
        size=goal.size,
        people=people,
        power=tuple(float(hidden.power(n, level)) for n in people),
        standard_error=tuple(float(hidden.error(n)) for n in people),
        people_needed=hidden.people(power, level),
        openly_needed=direct.people(power, level),
        effect=hidden.effect,
        expected=hidden.expected,
        by_device=hidden,
        by_asking=direct,
    )


def _estimand(
    goal: _Goal, answers: int, answer: int, covariate: Covariate, part: float
) -> Estimand:
    if goal.kind == "share":
        return share_of(shares_with(answers, answer, goal.share), answer, null=goal.size)
    if goal.kind == "odds ratio":
        return odds_ratio_of(goal.share, goal.size, answer, covariate=covariate, part=part)
    low, high = goal.share - goal.size / 2, goal.share + goal.size / 2
    first, second = (shares_with(answers, answer, each) for each in (low, high))
    return difference_of(first, second, answer, part=part)


def _check(
    people: Sequence[int],
    shares: Sequence[float] | None,
    part: float,
    inflation: float,
    breaking: RuleBreaking,
    level: float,
) -> None:
    """Raise UsageError for impossible numbers."""
    for number in people:
        if number < 1:
            raise UsageError.of("people", "accountant.at-least-one", value=number)
    for name, value in (("level", level), ("part", part), *(("shares", s) for s in shares or ())):
        if not 0 < value < 1:
            raise UsageError.of(name, "power.no-proportion", value=value)
    if not 1 <= inflation < math.inf:
        raise UsageError.of("inflation", "power.no-inflation", value=inflation)
    for name, value in (("at_random", breaking.at_random), ("evasive", breaking.evasive)):
        if not (value >= 0 and breaking.share < 1):
            raise UsageError.of(name, "power.no-rule-breakers", value=value)


def _check_goal(item: InterviewItem, goal: _Goal) -> None:
    """Raise UsageError for a size that does not fit the share or the question."""
    if goal.kind == "odds ratio":
        if len(item.design.answers) > 2:
            raise UsageError.of("odds_ratios", "power.odds-of-two", value=item.id)
        if not (0 < goal.size < math.inf and goal.size != 1):
            raise UsageError.of("odds_ratios", "power.no-ratio", value=goal.size)
    elif goal.kind == "share":
        if not (0 <= goal.size < 1 and goal.size != goal.share):
            raise UsageError.of("null", "power.no-null", value=goal.size, share=goal.share)
    elif not 0 < goal.size / 2 < min(goal.share, 1 - goal.share):
        most = 2 * min(goal.share, 1 - goal.share)
        raise UsageError.of(
            "differences", "power.no-difference", value=goal.size, share=goal.share, most=most
        )
