"""What works where a model is refused because groups are separated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from incrowd.estimation.regression.results import Fit
from incrowd.survey import Survey
from incrowd.survey.formulas import BETWEEN, IS, Formula, scored
from incrowd.survey.merging import Merge, merged_answers, merged_questions
from incrowd.survey.question import MERGED

Groups = Mapping[str, Mapping[str, tuple[str, ...]]]  # by question, answers by their merged name


class WayOut(NamedTuple):
    """A formula that can be estimated in the place of another, and how to ask for it."""

    words: str
    formula: Formula


def ways_out(
    survey: Survey, formula: Formula, refused: Fit, fitted: Callable[[Formula], Fit]
) -> Iterator[WayOut]:
    """The ways out of separation that work: merged answers, one slope, Firth's penalty.

    refused: what came of the formula. fitted: what comes of another one.
    """
    if not refused.separated or formula.penalty:
        return
    candidates = [
        _merged(survey, formula, refused, fitted),
        *(_scored(survey, formula, id) for id in dict.fromkeys(id for id, _ in refused.separated)),
        WayOut(
            "use Firth's penalized likelihood (penalty firth)",
            formula.model_copy(update={"penalty": "firth"}),
        ),
    ]
    yield from (way for way in candidates if way and not fitted(way.formula).reason)


def _merged(
    survey: Survey, formula: Formula, refused: Fit, fitted: Callable[[Formula], Fit]
) -> WayOut | None:
    """Each answer that is not seen is merged with its neighbor, until all are seen."""
    groups: Groups = {id: dict(merged_answers(each)) for id, each in formula.merge.items()}
    before, changed = groups, formula
    while refused.separated:
        step = next(_merged_further(survey, formula, groups, refused), None)
        if step is None:
            return None
        groups = {**groups, **step}
        changed = formula.model_copy(
            update={"merge": groups, "reference": _references(survey, formula, groups)}
        )
        refused = fitted(changed)
    each = (
        f'"{id}: {MERGED.join(answers)}"'
        for id, named in groups.items()
        for name, answers in named.items()
        if name not in before.get(id, {})
    )
    return WayOut(f"merge answers (merge {', '.join(each)})", changed)


def _merged_further(
    survey: Survey, formula: Formula, groups: Groups, refused: Fit
) -> Iterator[Groups]:
    """For a question with an answer that is not seen, its groups with one more merge."""
    questions = merged_questions(survey.questions, groups)
    for id, level in refused.separated:
        levels = questions[id].substantive
        if id not in formula.on or level not in levels or len(levels) < 3:
            continue  # one answer against all others, a slope, or two groups
        place = levels.index(level)
        outward = place - 1 if place < len(levels) / 2 else place + 1
        other = outward if 0 <= outward < len(levels) else 2 * place - outward
        named = dict(groups.get(id, {}))
        parts = [named.pop(levels[each], (levels[each],)) for each in sorted((place, other))]
        answers = (*parts[0], *parts[1])
        yield {id: {**named, MERGED.join(answers): answers}}


def _references(survey: Survey, formula: Formula, merge: Merge) -> dict[str, str]:
    """The levels that others are compared with, as they are called after merging."""
    questions = merged_questions(survey.questions, merge)
    named = {id: questions[id].read_as(level) for id, level in formula.reference.items()}
    return {id: level for id, level in named.items() if level in questions[id].answers}


def _scored(survey: Survey, formula: Formula, id: str) -> WayOut | None:
    """One slope in the place of the levels of a predictor."""
    question = merged_questions(survey.questions, formula.merge)[id]
    if id not in formula.on or question.rounded or not question.exclusive:
        return None
    if question.merged or len(question.substantive) < 3:
        return None

    def replaced(text: str) -> str:
        return BETWEEN.join(scored(id) if part == id else part for part in text.split(BETWEEN))

    on = tuple(text if IS in text else replaced(text) for text in formula.on)
    reference = {key: level for key, level in formula.reference.items() if key != id}
    words = f"give {id} one slope, if its answers are in order ({scored(id)} as a predictor)"
    return WayOut(words, formula.model_copy(update={"on": on, "reference": reference}))


def advice(ways: Sequence[str]) -> str:
    """What to do, in words. ways: those that work."""
    if not ways:
        return "merge answers, use fewer predictors, or collect more reports"
    return f"what works here: {'; or '.join(ways)}"
