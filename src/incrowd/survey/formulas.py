"""What is regressed on what, in the words of a person.

`smoker` is a question, `health=poor` one of its answers against all others, `score(health)` one
slope over all its answers, `age:smoker` the interaction of two predictors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from pydantic import Field, FiniteFloat

from incrowd.errors import MISSING, Problem, likely
from incrowd.survey.merging import merge_problems, merged_questions
from incrowd.survey.question import AnyQuestion
from incrowd.survey.toml import Frozen

Family = Literal["logistic", "linear"]
Penalty = Literal["firth"]
Questions = Mapping[str, AnyQuestion]

FAMILIES: tuple[Family, ...] = get_args(Family)
PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
BETWEEN = ":"  # variables of an interaction
IS = "="  # a question and its answer
OTHERS = "any other"  # all answers but one
SCORE = "score({})"  # of the answers to a question


def scored(id: str) -> str:
    """A question as a predictor with one slope over the scores of its answers."""
    return SCORE.format(id)


def _none(value: object) -> bool:
    return not value


class Formula(Frozen):
    """A wanted regression.

    outcome, on: what is explained, and by what. reference: for a predictor the answer with which
    the others are compared; by default its first. family: by default logistic for two levels,
    else linear. scores: the value of each answer to the outcome of a linear model; by default the
    middle of a bin. predictor_scores: the same for predictors `score(...)`; by default the middle
    of a bin, or 1, 2, 3 and so on. merge: for some questions groups of answers that are read as
    one, or a name for each group. penalty: "firth" for Firth's penalized likelihood.
    """

    outcome: str = Field(min_length=1)
    on: tuple[str, ...] = Field(min_length=1)
    reference: dict[str, str] = Field(default_factory=dict, exclude_if=_none)
    family: str | None = Field(default=None, exclude_if=_none)
    scores: tuple[FiniteFloat, ...] = Field(default=(), exclude_if=_none)
    predictor_scores: dict[str, tuple[FiniteFloat, ...]] = Field(
        default_factory=dict, exclude_if=_none
    )
    merge: dict[str, dict[str, tuple[str, ...]] | tuple[tuple[str, ...], ...]] = Field(
        default_factory=dict, exclude_if=_none
    )
    penalty: str | None = Field(default=None, exclude_if=_none)

    def __hash__(self) -> int:
        """Tables of references and scores have none of their own."""
        return hash((self.outcome, self.on))

    def __str__(self) -> str:
        return f"{self.outcome} on {', '.join(self.on)}"


class Named(NamedTuple):
    """A question of a regression, one answer to it against all others, or its score."""

    question: AnyQuestion
    answer: str | None = None
    scored: bool = False

    @property
    def levels(self) -> tuple[str, ...]:
        """What people can be on, those left out who did not answer."""
        return self.question.substantive if self.answer is None else (OTHERS, self.answer)

    @property
    def is_number(self) -> bool:
        """Whether its levels have values of their own."""
        return self.answer is None and self.question.of_numbers and not self.question.merged

    @property
    def whole(self) -> bool:
        """Whether each of its levels has a coefficient, but for one that they are compared with."""
        return self.answer is None and not self.scored


class Meant(NamedTuple):
    """A formula that was understood. singles: the predictors as they are written, by text."""

    outcome: Named
    singles: Mapping[str, Named]
    interactions: tuple[tuple[str, ...], ...]
    family: str

    @property
    def questions(self) -> tuple[AnyQuestion, ...]:
        """The outcome's, then those of the predictors."""
        return tuple(each.question for each in (self.outcome, *self.singles.values()))


def named(text: str, questions: Questions) -> Named | None:
    """The question, or the answer to one, that a text names; None if no question is meant."""
    if question := questions.get(text):
        return Named(question)
    for question in questions.values():
        if text == scored(question.id):
            return Named(question, scored=True)
    for place in (at for at, letter in enumerate(text) if letter == IS):
        if question := questions.get(text[:place]):
            return Named(question, text[place + 1 :])
    return None


def parts(text: str, questions: Questions) -> tuple[str, ...]:
    """The variables of an interaction; none, if the text names one variable."""
    found = named(text, questions)
    alone = found and (found.answer is None or found.answer in found.question.answers)
    return () if alone or BETWEEN not in text else tuple(map(str.strip, text.split(BETWEEN)))


def meant(formula: Formula, questions: Questions) -> Meant:
    """What a formula without problems says."""
    questions = merged_questions(tuple(questions.values()), formula.merge)
    outcome = named(formula.outcome, questions)
    singles = {text: each for text in formula.on if (each := _single(text, questions))}
    crossed = tuple(filter(None, (parts(text, questions) for text in formula.on)))
    assert outcome is not None
    linear = formula.scores or outcome.is_number
    family = formula.family or ("linear" if linear else "logistic")
    return Meant(outcome, singles, crossed, family)


def _single(text: str, questions: Questions) -> Named | None:
    return None if parts(text, questions) else named(text, questions)


# What cannot be meant by a formula, in words.


CLOSE = 1e-6  # to one, of a sum of shares as people write them


def formula_problems(formula: Formula, questions: Questions) -> Iterator[Problem]:
    """What cannot be meant; of names that nothing has, only those."""
    if unmerged := tuple(merge_problems(questions, formula.merge)):
        yield from unmerged
        return
    questions = merged_questions(tuple(questions.values()), formula.merge)
    singles = [text for text in formula.on if not parts(text, questions)]
    places = [("outcome", formula.outcome), *(("on", text) for text in singles)]
    unknown = [each for place in places for each in _name_problems(*place, questions)]
    if unknown:
        yield from unknown
        return
    if not formula.on:
        yield Problem("on", MISSING, "name at least one predictor")
    found = meant(formula, questions)
    yield from _twice_problems(found, singles)
    yield from _reference_problems(formula, found)
    yield from _predictor_score_problems(formula, found)
    yield from _penalty_problems(formula, found)
    for text in formula.on:
        yield from _interaction_problems(text, parts(text, questions), found.singles)
    yield from _outcome_problems(formula, found)


def _name_problems(field: str, text: str, questions: Questions) -> Iterator[Problem]:
    found = named(text, questions)
    if found is None:
        close = likely(text.partition(IS)[0], questions)
        yield Problem(field, text, f"no question has this id; {close}use {', '.join(questions)}")
    elif found.question.not_explained:
        yield Problem(field, found.question.id, found.question.not_explained)
    elif found.answer is None and not found.question.exclusive:
        id, first = found.question.id, found.question.answers[0]
        allowed = f"its answers overlap; name one, as in {id}{IS}{first}"
        yield Problem(field, text, allowed)
    elif found.scored and field == "outcome":
        allowed = f"a score is for a predictor; name {found.question.id}, and scores for it"
        yield Problem(field, text, allowed)
    elif found.answer is not None and found.answer not in found.question.answers:
        known = found.question.answers
        said = f"{likely(found.answer, known)}use {', '.join(known)}"
        yield Problem(field, found.answer, f"it is not an answer to {found.question.id}; {said}")


def _twice_problems(found: Meant, singles: Sequence[str]) -> Iterator[Problem]:
    """A question stands in a model once."""
    ids = [found.outcome.question.id, *(found.singles[text].question.id for text in singles)]
    for id in dict.fromkeys(id for id in ids if ids.count(id) > 1):
        allowed = "it stands in the model more than once; use each question once"
        yield Problem("on", id, allowed)


def _reference_problems(formula: Formula, found: Meant) -> Iterator[Problem]:
    whole = {text: each for text, each in found.singles.items() if each.whole}
    for id, answer in formula.reference.items():
        if id not in whole:
            said = f"should be of {', '.join(whole)}" if whole else "leave it out"
            allowed = f"no predictor has all the answers of that question; {said}"
            yield Problem("reference", f"{id}{IS}{answer}", allowed)
        elif answer not in whole[id].levels:
            known = f"{likely(answer, whole[id].levels)}use one of {', '.join(whole[id].levels)}"
            yield Problem("reference", answer, f"{id} has no such answer; {known}")


def _predictor_score_problems(formula: Formula, found: Meant) -> Iterator[Problem]:
    """A number for each answer to a predictor with a slope."""
    sloped = {each.question.id: each for each in found.singles.values() if each.scored}
    for id in formula.predictor_scores:
        if id not in sloped:
            said = f"should be of {', '.join(sloped)}" if sloped else f"name {scored(id)} in on"
            allowed = f"no predictor is the score of that question; {said}"
            yield Problem("predictor_scores", id, allowed)
    for id, each in sloped.items():
        values = formula.predictor_scores.get(id)
        if values is None:
            if each.question.of_numbers and each.question.merged:
                allowed = f"merged bins have no middle; give a number for {', '.join(each.levels)}"
                yield Problem(f"predictor_scores.{id}", MISSING, allowed)
        elif len(values) != len(each.levels) or len(set(values)) < 2:
            allowed = f"should be a number for each of {', '.join(each.levels)}, not all the same"
            yield Problem(f"predictor_scores.{id}", list(values), allowed)


def _penalty_problems(formula: Formula, found: Meant) -> Iterator[Problem]:
    if formula.penalty is None:
        return
    if formula.penalty not in PENALTIES:
        yield Problem("penalty", formula.penalty, f"use {', '.join(PENALTIES)}, or leave it out")
    elif found.family == "linear":
        allowed = "a linear model needs none, since no group can be separated; leave it out"
        yield Problem("penalty", formula.penalty, allowed)


def _interaction_problems(
    text: str, crossed: Sequence[str], singles: Mapping[str, Named]
) -> Iterator[Problem]:
    for part in dict.fromkeys(crossed):
        if part not in singles:
            allowed = f"{part!r} should stand among the predictors by itself as well"
            yield Problem("on", text, allowed)
    if len(set(crossed)) < len(crossed):
        yield Problem("on", text, "should name each predictor once")


def _outcome_problems(formula: Formula, found: Meant) -> Iterator[Problem]:
    """An outcome that noise hides, and a family that goes with it."""
    if found.outcome.question.open:
        allowed = "it is asked in clear; the outcome should be a question with noise"
        yield Problem("outcome", formula.outcome, allowed)
    if found.family not in FAMILIES:
        yield Problem("family", found.family, f"use one of {', '.join(FAMILIES)}")
        return
    yield from _amount_problems(found)
    yield from (_linear_problems if found.family == "linear" else _logistic_problems)(
        formula, found.outcome
    )


def _amount_problems(found: Meant) -> Iterator[Problem]:
    """An amount that is more than an outcome: only its mean is kept."""
    means = found.family == "linear" and found.outcome.answer is None
    places = [("on", each) for each in found.singles.values()]
    places += [] if means else [("outcome", found.outcome)]
    for field, each in places:
        if each.question.rounded:
            allowed = (
                "of an amount only the mean is kept: it should be the outcome of a linear model; "
                "as a predictor use a question of type number"
            )
            yield Problem(field, each.question.id, allowed)


def _logistic_problems(formula: Formula, outcome: Named) -> Iterator[Problem]:
    """Two levels without values."""
    if formula.scores:
        allowed = "a logistic model takes none; leave them out, or make it linear"
        yield Problem("scores", list(formula.scores), allowed)
    if len(outcome.levels) != 2:
        id, (first, *_) = outcome.question.id, outcome.levels
        allowed = f"a logistic outcome has two levels; name an answer, as in {id}{IS}{first}"
        yield Problem("outcome", id, allowed)


def _linear_problems(formula: Formula, outcome: Named) -> Iterator[Problem]:
    """A value for each level; bins have their middle, and two levels are 0 and 1."""
    valued = outcome.is_number or len(outcome.levels) == 2
    if len(formula.scores) != len(outcome.levels) and (formula.scores or not valued):
        allowed = f"should be a number for each of {', '.join(outcome.levels)}"
        yield Problem("scores", list(formula.scores) or MISSING, allowed)


def share_problems(
    shares: Mapping[str, Sequence[float]], formula: Formula, questions: Questions
) -> Iterator[Problem]:
    """Shares of answers that no people can have, or that a right formula does not ask for."""
    found = meant(formula, questions)
    noisy = {each.id: each for each in found.questions if not each.open}
    for id, values in shares.items():
        question = noisy.get(id)
        if question is None or not question.exclusive:
            one = [id for id, each in noisy.items() if each.exclusive]
            allowed = "should be of a question of the regression with noise and one answer"
            yield Problem("shares", id, f"{allowed}: use {', '.join(one)}" if one else allowed)
            continue
        fits = len(values) == len(question.recorded) and min(values) >= 0
        if not fits or abs(sum(values) - 1) > CLOSE:
            allowed = f"should be shares of {', '.join(question.recorded)} that sum to 1"
            yield Problem("shares", list(values), allowed)
