"""A regression as a page: the guarantee, the forest plot, the numbers, and how to read them."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup
from rich.cells import cell_len

from incrowd.estimation.regression.results import Coefficient, Regression, odds_between
from incrowd.estimation.regression.variables import SLOPE
from incrowd.number_text import times
from incrowd.presentation import guarantee_text
from incrowd.presentation.pictures import Picture
from incrowd.presentation.receipts import simulation_warning
from incrowd.survey import Survey
from incrowd.survey.formulas import OTHERS

TOGETHER = " × "
ENDS = ("estimate", "low", "high")
LETTERS = 7  # pixels of a wide character in the labels at the side of a plot


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
            TOGETHER.join(_level_text(survey, *level) for level in term) for term in terms
        )
        sloped = [id for id, level in terms[0] if level == SLOPE]
        references = [_label(model, id, _reference(model, id)) for id in ids if id not in sloped]
        places = range(start, start := start + len(answers))
        question = TOGETHER.join(map(survey.text_of, ids))
        parts.append(CoefficientGroup(ids, question, TOGETHER.join(references), answers, places))
    return parts


def _level_text(survey: Survey, id: str, level: str) -> str:
    return "each step of one" if level == SLOPE else survey.label_of(id, level)


def _names(model: Regression) -> dict[str, str]:
    """Return the answers to each predictor in the survey's words, by their terms."""
    survey = model.plan.survey
    ids = dict.fromkeys(id for term in model.terms for id, _ in term)
    answers = [(id, each) for id in ids for each in survey.question(id).answers]
    return {f"{id}={each}": f"{id} “{survey.label_of(id, each)}”" for id, each in answers}


def _reference(model: Regression, id: str) -> str:
    """Return the reference answer of a predictor."""
    levels = (*model.plan.survey.question(id).answers, OTHERS)
    return next(level for level in levels if f"{id}={level}" in model.references)


def _label(model: Regression, id: str, level: str) -> str:
    return level if level == OTHERS else model.plan.survey.label_of(id, level)


def forest_plot(model: Regression, width: int = 560, most_labels: int = 200) -> Markup:
    """Point and interval of each coefficient as an <svg> element; odds ratios on a log scale.

    The intercept, which comes first, is left out, since it is not a comparison.
    """
    from incrowd.presentation.charts import drawn  # drawing is slow to import

    odds = [(each.ratio, each.low, each.high) for each in model.odds_ratios]
    ends = odds or [(each.estimate, each.low, each.high) for each in model.coefficients]
    shown = groups(model)
    domain = _domain([value for each in ends[1:] for value in each], bool(odds))
    values = [
        {"group": number, "answer": answer, **_drawn(ends[place], domain)}
        for number, group in enumerate(shown)
        for answer, place in zip(group.answers, group.places, strict=True)
    ]
    labels = min(max(cell_len(str(v["answer"])) for v in values) * LETTERS + 26, most_labels)
    plot = width - labels
    headings = [_heading(model, group, plot // (LETTERS + 1)) for group in shown]  # in bold
    return drawn(
        "forest.json",
        f"{model.title}, drawn",
        values=values,
        headings=f"{json.dumps(headings)}[datum.value]",
        labels=labels,
        plot=plot,
        domain=domain,
        across="odds ratio" if odds else "difference",
        nothing=1 if odds else 0,
        ticks=[step * 10.0**power for power in range(-12, 12) for step in (1, 2, 5)],
        scale="log" if odds else "linear",
    )


def _heading(model: Regression, group: CoefficientGroup, letters: int) -> str:
    """Return the wordings of its questions, shortened if necessary."""
    texts, most = map(model.plan.survey.text_of, group.ids), letters // len(group.ids)
    return TOGETHER.join(textwrap.shorten(text, most, placeholder=" …") for text in texts)


def _drawn(ends: Sequence[float], domain: Sequence[float]) -> dict[str, float]:
    """Return the point and the ends of an interval; an open end lies at the edge of the plot."""
    low, high = domain
    return dict(zip(ENDS, (min(max(each, low), high) for each in ends), strict=True))


def _domain(ends: Sequence[float], log: bool) -> list[float]:
    """Return the range of everything that is drawn and of no difference,
    with space at both ends."""
    drawn = [end for end in ends if math.isfinite(end) and (end > 0 or not log)]
    low, high = min(drawn), max(drawn)
    if log:
        return [min(low, 1.0) / 1.1, max(high, 1.0) * 1.1]
    room = 0.03 * (max(high, 0.0) - min(low, 0.0)) or 0.01
    return [min(low, 0.0) - room, max(high, 0.0) + room]


def parts(model: Regression) -> dict[str, Any]:
    """Return what a template shows of a regression: the parts of the page, with the forest plot as
    <svg> elements."""
    drawn = model.estimable and not model.expected
    headings, rows = _figures(model)
    first = list(model.first_lines())
    sizes = ((560, 200), (346, 130))  # as charts of tables: wide, narrow
    what = f"{_odds_of(model)}{model.title}"
    charts = [forest_plot(model, *size) for size in sizes] if drawn else []
    return dict(
        title=model.plan.survey.name,
        model=model,
        guarantee_text=guarantee_text,
        simulated="" if model.seed is None else simulation_warning(model.seed),
        outcome=_outcome(model),
        what=what,
        charts=charts,
        pictures=[Picture(what, *charts)] if charts else [],
        headings=headings,
        rows=rows,
        groups=groups(model),
        first=first,
        intercept="mean" if model.family == "linear" else "odds",
        notes=[
            *(text for text in model.table_notes() if text not in first),
            *model.people_notes(_names(model)),
        ],
        reading=list(reading(model)) if drawn else [],
        way=model.way,
    )


def _outcome(model: Regression) -> str:
    """Return the question that is explained, in the survey's words."""
    return model.plan.survey.text_of(model.outcome_level[0])


def _odds_of(model: Regression) -> str:
    """Return the explained answer, if the outcome is one answer."""
    id, answer = model.outcome_level
    what = "Odds of" if model.family == "logistic" else "Share of"
    return f"{what} “{model.plan.survey.label_of(id, answer)}”: " if answer else ""


def _figures(model: Regression) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return headings and rows; of odds first the ratios, which people read."""
    names = model.headings()[1:]
    lines = [[text.replace("-", "−") for text in row[1:]] for row in model.rows()]
    if model.family == "linear" or model.expected:
        return names, lines
    headings = ("odds ratio", "95% interval", "p", "log odds", "error")
    return headings, [[*line[3:], *line[:2]] for line in lines]


# --- how to read it --------------------------------------------------------------------------


def reading(model: Regression) -> Iterator[str]:
    """Explain a figure of the table; the clearest difference is the example."""
    shown = groups(model)
    single = [(group, place) for group in shown if len(group.ids) == 1 for place in group.places]
    crossed = any(len(group.ids) > 1 for group in shown)
    group, place = max(single, key=lambda each: _clearness(model.coefficients[each[1]]))
    others = "are the reference answers" if crossed else "are the same"
    who = f"“{group.answers[place - group.places.start]}” ({group.question})"
    compared = f"at “{group.against}”" if group.against else "one step below"
    against = f"{compared}, among people whose other answers {others}"
    yield (_difference if model.family == "linear" else _ratio)(model, place, who, against)
    if crossed:
        yield (
            "A line with two answers shows how far people who gave both differ from what the two "
            "answers predict separately."
        )


def _clearness(coefficient: Coefficient) -> float:
    return abs(coefficient.estimate) / max(coefficient.standard_error, 1e-300)


def _ratio(model: Regression, place: int, who: str, against: str) -> str:
    each, (id, answer) = model.odds_ratios[place], model.outcome_level
    label = model.plan.survey.label_of(id, answer)
    return (
        f"The odds of “{label}” are the number of people with that answer for each person "
        "without it. An odds "
        f"ratio of {times(each.ratio)} at {who} means that these odds are "
        f"{times(each.ratio)} times those {against}; by the interval, "
        f"{odds_between(each.low, each.high)} times. A ratio of 1 means no "
        "difference."
    )


def _difference(model: Regression, place: int, who: str, against: str) -> str:
    each = model.coefficients[place]
    side = "higher" if each.estimate >= 0 else "lower"
    return (
        f"A difference of {each.estimate:.3g} at {who} means that the mean of “{_outcome(model)}” "
        f"is {abs(each.estimate):.3g} {side} there than {against}; by the interval, the difference "
        f"is {each.low:.3g} to {each.high:.3g}. A difference of 0 means no effect."
    )
