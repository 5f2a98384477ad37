"""The intervals on the page of precision: an outlook as rows of a picture, in readable units.

Margins are half of a 95% interval. Positions in a picture are percentages of its width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.studio.language import Phrase, decimal, phrase
from incrowd.studio.titles import (
    CROSS,
    QuestionTitles,
    answer_title,
    formula_title,
    table_title,
    titles_of,
    variable_title,
)
from incrowd.survey import Survey

if TYPE_CHECKING:
    from incrowd.planner.forecast import TableForecast
    from incrowd.planner.outlook import (
        CellOutlook,
        Outlook,
        RegressionOutlook,
        TableOutlook,
        WithinOutlook,
    )
    from incrowd.planner.outlook import TermOutlook as Term
    from incrowd.survey.participation import ExpectedAnswers

TICK = 0.05  # the axis of a table begins and ends at a multiple of it
MARGIN = 0.005  # between the intervals and the ends of the axis
ODDS_SCALES = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0)
MOST_MARGIN = 0.25  # beyond it a table shows next to nothing
USELESS = phrase(
    "This would show almost nothing. Ask more people, allow a larger epsilon, or request fewer "
    "tables."
)
HARDLY_ASKED = phrase(
    "So few people are asked this question that their answers would show almost nothing. Ask more "
    "people, or ask this question of more of them."
)
PRECISE = 0.1  # margins below this many points are shown with two decimals
SIGNIFICANT = 3  # digits of an effective sample


class PictureInterval(NamedTuple):
    """An interval in a picture: where it begins, and how wide it is, in percent of the width."""

    start: float
    width: float


class PictureAxis(NamedTuple):
    """The two ends of a picture."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of a value, in percent of the width."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def interval(self, middle: float, reach: float) -> PictureInterval:
        """Return the part of an interval that is between the ends."""
        start = self.place(max(middle - reach, self.low))
        return PictureInterval(
            start, round(max(self.place(min(middle + reach, self.high)) - start, 0), 2)
        )


class PictureRow(NamedTuple):
    """One line: an answer or a coefficient, its figures as text, and its two intervals.

    point: the place of the share, in percent of the width.
    """

    label: str
    value: str
    margin: str
    sampling: str
    point: float
    with_noise: PictureInterval
    without_noise: PictureInterval | None


class IntervalFigure(NamedTuple):
    """The picture of a table or a regression. ends: the texts at the two ends of its axis.

    margin: the largest margin; effective: the number of people without noise, None for a
    regression. hidden: how many cells are not listed. note: why there is no picture.
    asked: how many people are asked the question, and how precise their answers are. overall: the
    margin among all people, if they are divided into groups; the others are those of the smallest
    one. within: the margins of shares within the answers to a question. intervals: whose shares the
    picture shows, if that is not obvious.
    """

    name: str
    rows: tuple[PictureRow, ...]
    ends: tuple[str, str]
    margin: str = ""
    effective: int | None = None
    mean: str = ""
    hidden: int = 0
    odds: bool = False
    note: str = ""
    advice: Phrase | None = None
    asked: Phrase | None = None
    overall: Phrase | None = None
    within: tuple[Phrase, ...] = ()
    intervals: Phrase | None = None


def percent(proportion: float, digits: int, language: str) -> str:
    """Return a proportion in percent, with a space before the sign in German."""
    space = "\N{NO-BREAK SPACE}" if language == "de" else ""
    return f"{decimal(100 * proportion, digits, language)}{space}%"


def points(proportion: float, language: str) -> str:
    """Return a margin in percentage points, with one decimal, or two if it is small."""
    value = 100 * proportion
    return decimal(value, 1 if value >= PRECISE else 2, language)


def rounded(value: float) -> int:
    """Return a number of people with three significant digits, rounded down."""
    if not 0 < value < math.inf:
        return 0
    unit = 10 ** max(math.floor(math.log10(value)) + 1 - SIGNIFICANT, 0)
    return int(value // unit * unit)


def figures(survey: Survey, outlook: Outlook, language: str) -> tuple[IntervalFigure, ...]:
    """Return the pictures of all tables, then of all regressions."""
    answers = outlook.answers
    tables = [_table(survey, table, answers, language) for table in outlook.tables]
    titles = titles_of(survey, language)
    regressions = [_regression(each, titles, language) for each in outlook.regressions]
    if answers.groups > 1:
        note = _of_the_smallest(answers)
        regressions = [each._replace(intervals=note) for each in regressions]
    return (*tables, *regressions)


def _of_the_smallest(answers: ExpectedAnswers) -> Phrase:
    if answers.smallest:
        return phrase("These intervals: in the smallest group, {name}.", name=answers.smallest)
    return phrase("These intervals: in one group.")


def _table(
    survey: Survey, table: TableOutlook, answers: ExpectedAnswers, language: str
) -> IntervalFigure:
    titles = titles_of(survey, language)
    forecast, ids = table.forecast, table.questions
    axis = _axis(table.cells)
    mean = ""
    if forecast.mean_error is not None:
        mean = decimal(HALF_WIDTH * forecast.mean_error, 2, language)
    return IntervalFigure(
        name=table_title(ids, titles),
        rows=tuple(_row(survey, ids, cell, axis, language) for cell in table.cells),
        ends=(percent(axis.low, 0, language), percent(axis.high, 0, language)),
        margin=points(HALF_WIDTH * forecast.standard_error, language),
        effective=rounded(forecast.effective_sample_size),
        mean=mean,
        hidden=forecast.cells - len(table.cells),
        advice=_advice(forecast),
        asked=asked_words(forecast, language),
        within=tuple(_within(survey, each, language) for each in table.within),
        **_grouped(table, answers, language),
    )


def _grouped(table: TableOutlook, answers: ExpectedAnswers, language: str) -> dict[str, Any]:
    """Return what is said of groups, and of all people, if open questions divide them."""
    if answers.groups > 1:
        overall = points(HALF_WIDTH * table.overall_error, language)
        return {
            "overall": phrase("All groups together: at most ± {margin} points.", margin=overall),
            "intervals": _of_the_smallest(answers),
        }
    if table.within:
        return {"intervals": phrase("These intervals: shares of everybody.")}
    return {}


def _within(survey: Survey, within: WithinOutlook, language: str) -> Phrase:
    share = percent(within.share, 0 if round(within.share, 2) >= PRECISE else 1, language)
    return phrase(
        "Among those with {question} = {answer} ({share} of all): at most ± {margin} points.",
        question=titles_of(survey, language)[within.question],
        answer=answer_title(survey, within.question, within.answer, language),
        share=share,
        margin=points(HALF_WIDTH * within.standard_error, language),
    )


def _advice(forecast: TableForecast) -> Phrase | None:
    if HALF_WIDTH * forecast.standard_error > MOST_MARGIN:
        return USELESS
    asked = forecast.asked
    return HARDLY_ASKED if asked and HALF_WIDTH * asked.standard_error > MOST_MARGIN else None


def asked_words(forecast: TableForecast, language: str) -> Phrase | None:
    """Return how many people are asked a question, and how precise their answers are."""
    if forecast.asked is None or forecast.asked.share <= 0:
        return None
    share = forecast.asked.share
    return phrase(
        "Among those who are asked: at most ± {margin} points, if about {share} of the people are.",
        share=percent(share, 0 if round(share, 2) >= PRECISE else 1, language),
        margin=points(HALF_WIDTH * forecast.asked.standard_error, language),
    )


def _axis(cells: Sequence[CellOutlook]) -> PictureAxis:
    """Return the axis of a table: around all intervals, from and to a multiple of five points."""
    if not cells:
        return PictureAxis(0.0, 1.0)
    reaches = [HALF_WIDTH * cell.standard_error for cell in cells]
    low = min(cell.share - reach for cell, reach in zip(cells, reaches, strict=True)) - MARGIN
    high = max(cell.share + reach for cell, reach in zip(cells, reaches, strict=True)) + MARGIN
    return PictureAxis(
        max(math.floor(low / TICK) * TICK, 0.0), min(math.ceil(high / TICK) * TICK, 1.0)
    )


def _row(
    survey: Survey, ids: Sequence[str], cell: CellOutlook, axis: PictureAxis, language: str
) -> PictureRow:
    labels = [
        answer_title(survey, id, answer, language) if answer else "…"
        for id, answer in zip(ids, cell.answers, strict=True)
    ]
    reach, sampling = HALF_WIDTH * cell.standard_error, HALF_WIDTH * cell.sampling_error
    return PictureRow(
        label=CROSS.join(labels),
        value=percent(cell.share, 0 if cell.share >= PRECISE else 1, language),
        margin=points(reach, language),
        sampling=points(sampling, language),
        point=axis.place(cell.share),
        with_noise=axis.interval(cell.share, reach),
        without_noise=axis.interval(cell.share, sampling),
    )


def _regression(
    regression: RegressionOutlook, titles: QuestionTitles, language: str
) -> IntervalFigure:
    formula = regression.formula
    name = formula_title(formula.outcome, formula.on, titles)
    if not regression.terms:
        advice = phrase("There are too few people for this regression, or too much noise.")
        return IntervalFigure(name, (), ("", ""), note=regression.reason, advice=advice)
    odds = regression.family == "logistic"
    widest = HALF_WIDTH * max(each.standard_error for each in regression.terms)
    end = widest
    ends = (decimal(-end, 2, language), decimal(end, 2, language))
    if odds:
        most = next((each for each in ODDS_SCALES if math.log(each) >= widest), ODDS_SCALES[-1])
        end = math.log(most)
        ends = (decimal(1 / most, 2, language), decimal(most, 2, language))
    refused = None
    if regression.refusal and regression.refusal > OFTEN:
        refused = phrase(
            "In {percent}% of surveys like this one, the regression could not be fitted.",
            percent=decimal(100 * regression.refusal, 0, language),
        )
    rows = tuple(
        _term(each, titles, PictureAxis(-end, end), odds, language) for each in regression.terms
    )
    return IntervalFigure(name, rows, ends, odds=odds, advice=refused)


OFTEN = 0.05


def _term(
    term: Term, titles: QuestionTitles, axis: PictureAxis, odds: bool, language: str
) -> PictureRow:
    reach = HALF_WIDTH * term.standard_error
    without = None if term.sampling_error is None else HALF_WIDTH * term.sampling_error

    def shown(reach: float) -> str:
        if not odds:
            return decimal(reach, 2, language)
        low, high = math.exp(max(-reach, -LARGE)), math.exp(min(reach, LARGE))
        return f"{decimal(low, 2, language)} – {decimal(high, 2, language)}"

    return PictureRow(
        label=variable_title(term.term, titles),
        value="1" if odds else "0",
        margin=shown(reach),
        sampling="" if without is None else shown(without),
        point=50.0,
        with_noise=axis.interval(0.0, reach),
        without_noise=None if without is None else axis.interval(0.0, without),
    )


LARGE = 20.0  # log odds that are shown as a number
