"""A regression as a page: the guarantee, the forest plot, the numbers, and how to read them."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from incrowd.catalog.sentences import (
    ENGLISH,
    in_words,
    sentence,
    text_list,
    translatable,
    translated,
)
from incrowd.estimation.regression.results import (
    EFFECT,
    ERROR,
    INTERVAL,
    Coefficient,
    Regression,
    odds_between,
)
from incrowd.estimation.regression.variables import SLOPE
from incrowd.number_text import times
from incrowd.presentation import guarantee_text
from incrowd.presentation.charts import (
    LETTER,
    NARROW,
    WIDE,
    Size,
    cut_off,
    drawn,
    label_lines,
    label_room,
    row_step,
)
from incrowd.presentation.pictures import Picture
from incrowd.presentation.receipts import invented_warning
from incrowd.survey import Survey
from incrowd.survey.formulas import OTHERS

TOGETHER = " × "


class CoefficientGroup(NamedTuple):
    """The coefficients of one predictor, or of an interaction.

    ids: the ids of its questions. against: the reference answers; "" for a slope. answers: those of
    each coefficient. places: the places of its coefficients among all.
    """

    ids: tuple[str, ...]
    question: str
    against: str
    answers: tuple[str, ...]
    places: range


def groups(model: Regression) -> list[CoefficientGroup]:
    """Return the predictors of a model in the survey's words, without the intercept."""
    survey, parts, start = model.plan.survey, [], 1
    for ids, same in groupby(model.terms[1:], lambda term: tuple(id for id, _ in term)):
        terms = list(same)
        answers = tuple(
            text_list([_level_text(survey, *level) for level in term], "shared.and-with")
            for term in terms
        )
        sloped = [id for id, level in terms[0] if level == SLOPE]
        references = [_label(model, id, _reference(model, id)) for id in ids if id not in sloped]
        places = range(start, start := start + len(answers))
        question, against = (
            text_list(each, "shared.and-with") for each in (map(survey.text_of, ids), references)
        )
        parts.append(CoefficientGroup(ids, question, against, answers, places))
    return parts


def _level_text(survey: Survey, id: str, level: str) -> str:
    if level == SLOPE:
        return translatable("presentation.each-step")
    return survey.label_of(id, level)


def _names(model: Regression) -> dict[str, str]:
    """Return the answers to each predictor in the survey's words, by their terms."""
    survey = model.plan.survey
    ids = dict.fromkeys(id for term in model.terms for id, _ in term)
    answers = [(id, each) for id in ids for each in survey.question(id).answers]
    return {
        f"{id}={each}": translatable(
            "presentation.answer-of", question=id, answer=survey.label_of(id, each)
        )
        for id, each in answers
    }


def _reference(model: Regression, id: str) -> str:
    """Return the reference answer of a predictor."""
    levels = (*model.plan.survey.question(id).answers, OTHERS)
    return next(level for level in levels if f"{id}={level}" in model.references)


def _label(model: Regression, id: str, level: str) -> str:
    if level == OTHERS:
        return translatable("presentation.other-answers")
    return model.plan.survey.label_of(id, level)


def forest_plot(model: Regression, size: Size = WIDE, language: str = ENGLISH) -> Markup:
    """Interval and estimate of each coefficient as an <svg> element; odds ratios on a log scale.

    The intercept, which comes first, is left out, since it is not a comparison.
    """

    odds = [(each.ratio, each.low, each.high) for each in model.odds_ratios]
    ends = odds or [(each.estimate, each.low, each.high) for each in model.coefficients]
    shown = groups(model)
    domain = _domain([value for each in ends[1:] for value in each], bool(odds))
    values = [
        {"group": number, "place": place, **cut_off(*ends[place], None, domain)}
        for number, group in enumerate(shown)
        for place in group.places
    ]
    answers = [str(translated(each, language)) for group in shown for each in group.answers]
    labels = label_room(answers, size)
    plot = size.total - labels
    headings = [_heading(model, group, plot // (LETTER + 1)) for group in shown]  # in bold
    names = [[""], *(label_lines(each, labels - 26) for each in answers)]  # without the intercept
    return drawn(
        "forest.json",
        in_words(sentence("presentation.chart-of", title=model.title), language),
        language,
        values=values,
        names=names,
        step=row_step(names),
        headings=f"{json.dumps(headings)}[datum.value]",
        labels=labels,
        plot=plot,
        domain=domain,
        across=str(translated(EFFECT[model.family], language)),
        nothing=1 if odds else 0,
        ticks=[step * 10.0**power for power in range(-12, 12) for step in (1, 2, 5)],
        scale="log" if odds else "linear",
    )


def _heading(model: Regression, group: CoefficientGroup, letters: int) -> str:
    """Return the wordings of its questions, shortened if necessary."""
    texts, most = map(model.plan.survey.text_of, group.ids), letters // len(group.ids)
    return TOGETHER.join(textwrap.shorten(text, most, placeholder=" …") for text in texts)


def _domain(ends: Sequence[float], log: bool) -> list[float]:
    """Return the range of everything that is drawn and of no difference,
    with space at both ends."""
    finite = [end for end in ends if math.isfinite(end) and (end > 0 or not log)]
    low, high = min(finite), max(finite)
    if log:
        return [min(low, 1.0) / 1.1, max(high, 1.0) * 1.1]
    room = 0.03 * (max(high, 0.0) - min(low, 0.0)) or 0.01
    return [min(low, 0.0) - room, max(high, 0.0) + room]


def parts(model: Regression, language: str = ENGLISH) -> dict[str, Any]:
    """Return what a template shows of a regression: the parts of the page, with the forest plot as
    <svg> elements."""
    shown = model.estimable and not model.expected
    linear = model.family == "linear"
    headings, rows = _figures(model)
    first = list(model.first_lines())
    what = _odds_of(model)
    charts = [forest_plot(model, size, language) for size in (WIDE, NARROW)] if shown else []
    return dict(
        title=model.plan.survey.name,
        model=model,
        guarantee_text=guarantee_text,
        simulated=invented_warning(model),
        outcome=_outcome(model),
        what=what,
        charts=charts,
        pictures=[Picture(what, *charts)] if charts else [],
        headings=headings,
        rows=rows,
        groups=groups(model),
        first=first,
        intercept=translatable("estimation.mean" if linear else "presentation.odds"),
        notes=[
            *(text for text in model.table_notes() if text not in first),
            *model.people_notes(_names(model)),
        ],
        reading=list(reading(model)) if shown else [],
        way=model.way,
    )


def _outcome(model: Regression) -> str:
    """Return the question that is explained, in the survey's words."""
    return model.plan.survey.text_of(model.outcome_level[0])


def _odds_of(model: Regression) -> str:
    """Return the explained answer, if the outcome is one answer."""
    id, answer = model.outcome_level
    if not answer:
        return model.title
    logistic = model.family == "logistic"
    code = "presentation.odds-of" if logistic else "presentation.share-of-answer"
    label = model.plan.survey.label_of(id, answer)
    return translatable(code, answer=label, title=model.title)


def _figures(model: Regression) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return headings and rows; of odds first the ratios, which people read."""
    names = model.headings()[1:]
    lines = [list(row[1:]) for row in model.rows()]
    if model.family == "linear" or model.expected:
        return names, lines
    headings = (EFFECT["logistic"], INTERVAL, "p", translatable("presentation.log-odds"), ERROR)
    return headings, [[*line[3:], *line[:2]] for line in lines]


# --- how to read it --------------------------------------------------------------------------


def reading(model: Regression) -> Iterator[str]:
    """Explain a figure of the table; the clearest difference is the example."""
    shown = groups(model)
    single = [(group, place) for group in shown if len(group.ids) == 1 for place in group.places]
    crossed = any(len(group.ids) > 1 for group in shown)
    group, place = max(single, key=lambda each: _clearness(model.coefficients[each[1]]))
    answer = group.answers[place - group.places.start]
    who = translatable("presentation.who", answer=answer, question=group.question)
    compared = translatable("presentation.one-step-below")
    if group.against:
        compared = translatable("presentation.at-answer", answer=group.against)
    others = "presentation.others-are-references" if crossed else "presentation.others-are-same"
    against = translatable(others, compared=compared)
    yield (_difference if model.family == "linear" else _ratio)(model, place, who, against)
    if crossed:
        yield translatable("presentation.two-answers-line")


def _clearness(coefficient: Coefficient) -> float:
    return abs(coefficient.estimate) / max(coefficient.standard_error, 1e-300)


def _ratio(model: Regression, place: int, who: str, against: str) -> str:
    each, (id, answer) = model.odds_ratios[place], model.outcome_level
    label = model.plan.survey.label_of(id, answer)
    return translatable(
        "presentation.read-ratio",
        label=label,
        ratio=times(each.ratio),
        who=who,
        against=against,
        interval=odds_between(each.low, each.high),
    )


def _difference(model: Regression, place: int, who: str, against: str) -> str:
    each = model.coefficients[place]
    higher = each.estimate >= 0
    return translatable(
        "presentation.read-higher" if higher else "presentation.read-lower",
        difference=each.estimate,
        size=abs(each.estimate),
        who=who,
        outcome=_outcome(model),
        against=against,
        low=each.low,
        high=each.high,
    )
