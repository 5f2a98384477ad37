"""Designs that meet a local epsilon with the smallest error, and the people that they need.

What a device realizes is enumerated exactly: its outcomes are equally likely, so every probability
is a multiple of one. Proof: docs/interviews-mathematics.md#choosing-a-design.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from incrowd import views
from incrowd.catalog.sentences import NumberText, translatable
from incrowd.errors import Of, Problem, SurveyError
from incrowd.estimation.intervals import LEVEL, POWER
from incrowd.interviews.designs import (
    AUTO,
    DESIGNS,
    DirectQuestion,
    ItemDesign,
    UnrelatedQuestion,
    design_of,
    design_text,
    is_open,
    written_keys,
)
from incrowd.interviews.devices import HandDevice
from incrowd.interviews.power import Detection, detection, difference_of, share_of
from incrowd.interviews.probabilities import log_up
from incrowd.interviews.promise import InterviewPromise, promise_of
from incrowd.interviews.survey import InterviewAim, InterviewItem, InterviewSurvey, device_of
from incrowd.number_text import bound, short_percent
from incrowd.survey.options_files import with_options
from incrowd.survey.questions import type_of
from incrowd.survey.toml import Mistake, read_toml
from incrowd.views import Line, Numbers, Sheet, View

DIRECT = DirectQuestion().kind
PEOPLE, MARGIN, SHARE = 1_000, 0.05, 0.5  # if a survey does not state them
ROUNDING = 1e-12  # of a part of an epsilon, so that the sum is not above it
COMPARED = (0.5, 1.0, 1.5, 2.0, 3.0)  # local epsilons of other designs
_HEADINGS = ("power.design", "power.local-epsilon", "power.accurate-to", "power.people-for-margin")


# --- one design ---------------------------------------------------------------------------------


def expected_theta(design: ItemDesign) -> np.ndarray:
    """Return the expected unknown probabilities of a design; 1/2 where none is stated."""
    stated = [
        each.expected
        for each in design.designs
        if isinstance(each, UnrelatedQuestion) and each.expected is not None
    ]
    return np.full(len(design.matrices.names), float(stated[0]) if stated else 0.5)


def shares_with(answers: int, answer: int, share: float) -> np.ndarray:
    """Return the shares of all answers: one is stated, and the others are equally common."""
    shares = np.full(answers, (1 - share) / (answers - 1))
    shares[answer] = share
    return shares


def sensitive_answers(design: ItemDesign) -> Sequence[int]:
    """Return the answers whose shares are forecast: "yes", or every option."""
    return range(len(design.answers)) if len(design.answers) > 2 else (1,)


def share_detection(design: ItemDesign, share: float | None) -> Detection:
    """Return the precision of a share, of the answer that has least.

    share: the expected share; None for one half or, with several options, equal shares.
    """
    answers = len(design.answers)
    share = (SHARE if answers == 2 else 1 / answers) if share is None else share
    matrices, theta = design.matrices, expected_theta(design)
    each = (
        detection(matrices, share_of(shares_with(answers, k, share), k), answer=k, theta=theta)
        for k in sensitive_answers(design)
    )
    return max(each, key=lambda each: each.variance)


def difference_detection(design: ItemDesign, share: float | None, difference: float) -> Detection:
    """Return the detection of a difference between two halves of the people, in the answer with
    the least precise share."""
    answers = len(design.answers)
    share = (SHARE if answers == 2 else 1 / answers) if share is None else share
    low, high = share - difference / 2, share + difference / 2
    matrices, theta = design.matrices, expected_theta(design)
    each = (
        detection(
            matrices,
            difference_of(shares_with(answers, k, low), shares_with(answers, k, high), k, part=0.5),
            answer=k,
            theta=theta,
        )
        for k in sensitive_answers(design)
    )
    return max(each, key=lambda each: each.variance)


def openly(answers: Sequence[str]) -> ItemDesign:
    """Return the design of a question that is asked openly."""
    return ItemDesign(tuple(answers), (DirectQuestion(),))


# --- choosing -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class DesignOption:
    """A design that a device realizes exactly. keys: as a survey writes them."""

    keys: Mapping[str, Any]
    design: ItemDesign
    variance: float


def best_design(
    device: HandDevice,
    answers: Sequence[str],
    keys: Mapping[str, Any],
    epsilon: float,
    share: float | None = None,
) -> DesignOption | None:
    """Return the design with the smallest error among all with at most this local epsilon.

    keys: what is stated already, such as the kind and the wording of a statement. share: the
    expected share. Returns None if the device realizes no such design.
    """
    kinds: Sequence[str] = [keys["kind"]]
    if keys["kind"] == AUTO:
        suiting = (kind for kind, each in DESIGNS.items() if each.suits(device.personal))
        kinds = sorted(suiting, key=lambda kind: DESIGNS[kind].binary)
        kinds = [kind for kind in kinds if len(answers) == 2 or not DESIGNS[kind].binary]
    options: list[DesignOption] = []
    for kind in kinds:
        for chain in DESIGNS[kind].chains(answers, device.outcomes):
            each = [{**keys, "kind": kind, **more} for more in chain]
            place = bisect_left(each, True, key=lambda raw: _within(raw, answers, epsilon))
            if place < len(each):
                design = ItemDesign(tuple(answers), (design_of(each[place]),))
                options.append(
                    DesignOption(each[place], design, share_detection(design, share).variance)
                )
    usable = [each for each in options if math.isfinite(each.variance)]
    # Designs with the same matrix differ by rounding: the first kind is taken.
    return min(usable, key=lambda each: float(f"{each.variance:.9g}"), default=None)


def _within(raw: Mapping[str, Any], answers: Sequence[str], epsilon: float) -> bool:
    return ItemDesign(tuple(answers), (design_of(raw),)).epsilon <= epsilon


def with_designs(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a raw survey in which the open designs of questions are chosen.

    A design is open if its kind is "auto", or its probabilities are missing. All questions of an
    interview together have at most the local epsilon of [aim]; what questions with stated designs
    leave of it is divided equally. Surveys with other mistakes are returned as they are.

    Raises
    ------
    SurveyError
        If [aim] does not state epsilon, or the device realizes no design with so small a one.
    """
    questions = raw.get("question")
    if not isinstance(questions, list) or not all(isinstance(each, Mapping) for each in questions):
        return dict(raw)
    places = [place for place, each in enumerate(questions) if is_open(each.get("design"))]
    try:
        device, aim = device_of(raw.get("device")), InterviewAim.model_validate(raw.get("aim", {}))
        answers = [_answers(each) for each in questions]
    except (ValidationError, Mistake, SurveyError):
        return dict(raw)
    if not places or any(not answers[place] for place in places):
        return dict(raw)
    if aim.epsilon is None:
        id = str(questions[places[0]].get("id"))
        raise SurveyError.of(("aim", "epsilon"), "power.no-epsilon", id=id)
    spent = _spent(questions, answers)
    chosen: dict[int, DesignOption] = {}
    problems = []
    for number, place in enumerate(places):
        left = aim.epsilon - log_up(spent) if spent else 0.0
        each = left / (len(places) - number)
        each = each if each == aim.epsilon else each * (1 - ROUNDING)
        keys = questions[place]["design"]
        option = best_design(device, answers[place], keys, each, aim.share) if each > 0 else None
        if option is None or spent is None:
            problems.append(_no_design(questions[place], device, answers[place], keys, each))
            continue
        spent *= option.design.ratio or 1
        chosen[place] = option
    if problems:
        raise SurveyError(*problems)
    assert spent is not None and log_up(spent) <= aim.epsilon
    filled = [
        {**each, "design": written_keys(chosen[place].keys)} if place in chosen else each
        for place, each in enumerate(questions)
    ]
    return {**raw, "question": filled}


def _answers(question: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the answers of a raw question; () if it has mistakes, which are listed elsewhere."""
    kind = type_of(question)
    plain = kind.without_wording(question) if kind else None
    return tuple(plain.choices) if plain is not None else ()


def read_open(path: Path) -> dict[str, Any]:
    """Read a survey file in which designs may be open. Raises SurveyError."""
    raw, missing = with_options(read_toml(path), path.parent)
    if missing:
        InterviewSurvey.load(path)  # raises an error that lists them with everything else
    return raw


def _spent(
    questions: Sequence[Mapping[str, Any]], answers: Sequence[tuple[str, ...]]
) -> Fraction | None:
    """Return the product of the ratios of the designs that are stated; None if one is unbounded."""
    spent = Fraction(1)
    for each, choices in zip(questions, answers, strict=True):
        if is_open(each.get("design")) or not choices:
            continue
        try:
            designs = each.get("designs") or [each.get("design")]
            ratios = [ItemDesign(choices, (design_of(one),)).ratio for one in designs]
        except (ValidationError, Mistake):
            continue
        if None in ratios:
            return None
        spent *= max(ratio for ratio in ratios if ratio is not None)
    return spent


def _no_design(
    question: Mapping[str, Any],
    device: HandDevice,
    answers: Sequence[str],
    keys: Mapping[str, Any],
    epsilon: float,
) -> Problem:
    """Return why no design meets an epsilon: the smallest one that the device realizes."""
    path = ("question", "design", Of(str(question.get("id"))))
    if epsilon <= 0:
        return Problem(path, "power.nothing-left")
    steps = np.geomspace(max(epsilon, 1e-3), 12.0, 60)
    place = bisect_left(
        steps, True, key=lambda at: best_design(device, answers, keys, at) is not None
    )
    if place == len(steps):
        return Problem(path, "power.no-bounded-design", value=keys["kind"])
    option = best_design(device, answers, keys, float(steps[place]))
    assert option is not None
    least = bound(option.design.epsilon, 4)
    return Problem(
        path,
        "power.epsilon-too-small",
        value=float(f"{epsilon:.4g}"),
        least=least,
        kind=device.kind,
    )


# --- the plan of a survey -----------------------------------------------------------------------


@dataclass(frozen=True)
class DesignForecast:
    """The precision of a design for a question.

    question: its id. design: in the words of a survey file. epsilon: the local epsilon of its
    answer; infinite if an answer can prove something. standard_error: of the least precise share,
    with the people of the plan. margin: half of the interval's width. margin_people,
    difference_people: the people that the aim's margin and difference need; None if no number of
    people is enough, or the aim has no difference. chosen: whether the survey has this design.
    """

    question: str
    design: str
    epsilon: float
    standard_error: float
    margin: float
    margin_people: int | None
    difference_people: int | None
    chosen: bool


@dataclass(frozen=True)
class InterviewPlan(views.Result):
    """What the designs of a survey of interviews cost, and other designs for the same device.

    Attributes
    ----------
    survey : InterviewSurvey
        The survey, with all its designs.
    forecasts : tuple of DesignForecast
        For each question its design, designs with other epsilons, and the open question.
    people : int
        The number of interviews.
    margin : float
        The margin whose people are stated: half of the interval's width.
    power, level : float
        Of differences, and of intervals.
    epsilon : float
        The local epsilon of all questions of an interview together.
    guarantee : InterviewPromise
        What the device promises with these designs.

    Examples
    --------
    >>> from incrowd import interviews
    >>> plan = interviews.plan_interviews({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "aim": {"epsilon": 1.7, "margin": 0.03},
    ...     "question": [{"id": "smokes", "type": "yesno", "design": {"kind": "auto"}}],
    ... })
    >>> (chosen,) = (each for each in plan.forecasts if each.chosen)
    >>> chosen.design, round(chosen.epsilon, 2), chosen.margin_people
    ('forced, no 1/6, yes 1/6', 1.61, 2401)
    """

    survey: InterviewSurvey
    forecasts: tuple[DesignForecast, ...]
    people: int
    margin: float
    power: float
    level: float
    epsilon: float
    guarantee: InterviewPromise

    def __repr__(self) -> str:
        return f"InterviewPlan({self.survey.name!r}, {self.people:,} people)"

    def facts(self) -> dict[str, Any]:
        """Return the forecasts and what they assume; unbounded values are null."""
        return {
            "survey": self.survey.name,
            "people": self.people,
            "margin": self.margin,
            "power": self.power,
            "level": self.level,
            "share": self.survey.aim.share,
            "difference": self.survey.aim.difference,
            "epsilon": self.epsilon,
            "designs": self.forecasts,
            "guarantee": self.guarantee,
        }

    def long_table(self) -> Sheet:
        """Return a row for each design of each question."""
        names = tuple(DesignForecast.__dataclass_fields__)
        rows = (tuple(getattr(each, name) for name in names) for each in self.forecasts)
        return Sheet("designs", names, tuple(rows), shares=("standard_error", "margin"))

    def view(self) -> View:
        """Return a table of designs for each question."""
        title = translatable("power.plan-of", name=self.survey.name)
        tables = tuple(self._numbers(each) for each in self.survey.items)
        return View(title, lines=tuple(self._lines()), tables=tables, notes=tuple(self._notes()))

    def _of(self, id: str) -> tuple[DesignForecast, ...]:
        return tuple(each for each in self.forecasts if each.question == id)

    def _lines(self) -> Iterator[str]:
        for item in self.survey.items:
            (chosen,) = (each for each in self._of(item.id) if each.chosen)
            if math.isinf(chosen.standard_error):
                yield translatable("power.not-identified", question=item.id)
                continue
            yield translatable(
                "power.first-line",
                people=self.people,
                question=item.id,
                margin=points(chosen.margin),
            )

    def _numbers(self, item: InterviewItem) -> Numbers:
        headings = [translatable(code, margin=points(self.margin)) for code in _HEADINGS]
        if self.survey.aim.difference:
            headings.append(translatable("power.people-for-difference"))
        lines = tuple(self._line(each) for each in self._of(item.id))
        return Numbers(item.id, tuple(headings), lines, whole=tuple(headings[1:]))

    def _line(self, each: DesignForecast) -> Line:
        name = translatable("power.asked-openly") if each.design == DIRECT else each.design
        name = translatable("power.chosen-design", design=name) if each.chosen else name
        figures = [
            name,
            epsilon_text(each.epsilon),
            _margin_text(each),
            people_text(each.margin_people),
        ]
        if self.survey.aim.difference:
            figures.append(people_text(each.difference_people))
        return tuple(figures)

    def _notes(self) -> Iterator[str]:
        share = self.survey.aim.share
        if share is None:
            yield translatable("power.any-share")
        else:
            yield translatable("power.expected-share", share=percent_text(share))
        figures = {"level": percent_text(self.level), "people": self.people}
        yield translatable("power.intervals", margin=points(self.margin), **figures)
        if difference := self.survey.aim.difference:
            size = NumberText(f"{100 * difference:.3g}")
            yield translatable("power.of-halves", power=percent_text(self.power), difference=size)
        if len(self.survey.items) > 1:
            yield translatable("power.all-questions", epsilon=epsilon_text(self.epsilon))
        yield translatable("power.truthful")


def percent_text(share: float) -> NumberText:
    """Return a proportion as text, such as "20%"."""
    return NumberText(f"{100 * share:.3g}%")


def points(error: float) -> NumberText:
    """Return a margin in percentage points, such as "±1.6"."""
    return NumberText(f"±{short_percent(error).removesuffix('%')}")


def _margin_text(forecast: DesignForecast) -> str:
    return points(forecast.margin) if math.isfinite(forecast.margin) else "-"


def epsilon_text(epsilon: float) -> str:
    """Return a local epsilon as text, rounded up."""
    return bound(epsilon) if math.isfinite(epsilon) else translatable("power.unbounded")


def people_text(people: int | None) -> str:
    """Return a number of people as text; a dash if no number is enough."""
    return "-" if people is None else NumberText(f"{people:,}")


def plan_interviews(survey: InterviewSurvey | Mapping[str, Any]) -> InterviewPlan:
    """Choose the open designs of a survey of interviews, and forecast what all designs can tell.

    Parameters
    ----------
    survey : InterviewSurvey or mapping
        The survey, or its keys as in a TOML file, in which designs may be open: of the kind "auto",
        or without probabilities. `[aim]` states what is wanted.

    Returns
    -------
    InterviewPlan
        `survey` has the chosen designs; their probabilities are realized by the device exactly.

    Raises
    ------
    SurveyError
        With every mistake of the survey; if a design is open and the aim has no epsilon, or one
        that is too small for the device.

    Examples
    --------
    >>> from incrowd import interviews
    >>> plan = interviews.plan_interviews({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "aim": {"epsilon": 1.7},
    ...     "question": [{"id": "smokes", "type": "yesno", "design": {"kind": "warner"}}],
    ... })
    >>> plan.survey.item("smokes").design.designs[0].p
    Fraction(5, 6)
    """
    if not isinstance(survey, InterviewSurvey):
        survey = InterviewSurvey.of(with_designs(survey))
    aim = survey.aim
    power, level = aim.power or POWER, aim.level or LEVEL
    people, margin = aim.people or PEOPLE, aim.margin or MARGIN

    def forecast(item: InterviewItem, design: ItemDesign, chosen: bool) -> DesignForecast:
        share = share_detection(design, aim.share)
        needed = None
        if aim.difference:
            needed = difference_detection(design, aim.share, aim.difference).people(power, level)
        return DesignForecast(
            question=item.id,
            design=design_text(design),
            epsilon=design.epsilon,
            standard_error=float(share.error(people)),
            margin=float(share.margin(people, level)),
            margin_people=share.people_for_margin(margin, level),
            difference_people=needed,
            chosen=chosen,
        )

    forecasts = [
        forecast(item, design, design is item.design)
        for item in survey.items
        for design in _compared(survey, item)
    ]
    ratios = [item.design.ratio for item in survey.items]
    return InterviewPlan(
        survey=survey,
        forecasts=tuple(forecasts),
        people=people,
        margin=margin,
        power=power,
        level=level,
        epsilon=math.inf
        if None in ratios
        else log_up(math.prod((r for r in ratios if r), start=Fraction(1))),
        guarantee=promise_of(survey),
    )


def _compared(survey: InterviewSurvey, item: InterviewItem) -> Iterator[ItemDesign]:
    """Yield other designs of the device, the design of a question, and the open question."""
    answers = item.design.answers
    options = (
        best_design(survey.device, answers, {"kind": AUTO}, epsilon, survey.aim.share)
        for epsilon in COMPARED
    )
    others = {design_text(each.design): each.design for each in options if each is not None}
    same = item.design.matrices.base
    different = [
        each
        for each in others.values()
        if each.matrices.base.shape != same.shape or not np.allclose(each.matrices.base, same)
    ]
    yield from sorted([*different, item.design], key=lambda each: each.epsilon)
    if not isinstance(item.design.designs[0], DirectQuestion) or len(item.design.designs) > 1:
        yield openly(answers)


@dataclass(frozen=True, eq=False)
class ChosenDesigns:
    """An edit of a survey file: the open designs are those of a planned survey.

    planned: the content of a survey with the same questions.
    """

    planned: Mapping[str, Any]

    def edit(self, content: dict[str, Any]) -> None:
        """Make the edit in a content that belongs to the caller."""
        for question, planned in zip(content["question"], self.planned["question"], strict=True):
            if is_open(question.get("design")):
                question["design"] = planned["design"]
