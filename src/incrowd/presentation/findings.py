"""The main results in sentences, with their uncertainty, and what the results do not show."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from itertools import combinations
from typing import NamedTuple

from incrowd.catalog.sentences import NumberText, text_list, translatable
from incrowd.errors import TableError
from incrowd.estimation.displayed import Cell, Shown
from incrowd.estimation.readings import check_tables
from incrowd.estimation.results import Estimates, first_names
from incrowd.plans import Plan
from incrowd.survey import UNANSWERED, Survey, YesNo

MOST_NAMED = 3  # answers, or pairs of questions, that a sentence lists
MOST_PAIRED = 15  # questions whose pairs are all looked at
NARROW_INTERVAL = 0.02  # below which shares are given in tenths of a percent


class Finding(NamedTuple):
    """The main result of a table. answer: its cell. doubt: an answer that may be as frequent."""

    text: str
    answer: str = ""
    doubt: str = ""


def finding(item: Shown, survey: Survey) -> Finding:
    """Return the main result of a table, as a sentence: "“yes”: between 31 and 38 of 100 people".

    It is about the answer "yes", or else the most frequent one.
    """
    cells = [each for each in item.cells if not {*each.answer} & {*UNANSWERED}]
    if not cells:
        return Finding(translatable("presentation.nothing-above-noise"))
    first, *others = sorted(cells, key=lambda each: -each.estimate)
    one = len(item.names) == 1 and isinstance(survey.question(item.names[0]), YesNo)
    if one:  # its second answer is yes
        first = next(each for each in item.cells if each.answer[0] == item.table.answers[0][1])
    share = share_text(item, first)
    if one or not others:
        text = translatable("presentation.finding", answer=_label(first), share=share)
        return Finding(text, _label(first))
    rival = max(others, key=lambda each: each.high)
    stated = translatable("presentation.most-frequent", answer=_label(first), share=share)
    if item.certain or rival.high < first.low:
        return Finding(stated, _label(first))
    doubt = translatable("presentation.not-certain", answer=_label(rival))
    both = translatable("shared.in-turn", first=stated, second=doubt)
    return Finding(both, _label(first), _label(rival))


def _label(cell: Cell) -> str:
    return text_list(cell.answer, "shared.and")


def share_text(item: Shown, cell: Cell) -> str:
    """Return the interval of a cell in words: "between 31 and 38 of 100 people"."""
    low, high = 100 * cell.low, 100 * cell.high
    places = 1 if cell.high - cell.low < NARROW_INTERVAL else 0
    whose = item.table.provenance.whose
    whose = _PEOPLE.get(whose, whose)
    if item.certain:
        exact = _number(100 * cell.estimate, 1, round)
        return translatable("presentation.exactly-of", share=exact, whose=whose)
    below, above = _number(low, places, math.floor), _number(high, places, math.ceil)
    if low <= 0 and high >= 100:
        return translatable("presentation.anything-of", whose=whose)
    if low <= 0:
        return translatable("presentation.at-most-of", high=above, whose=whose)
    if high >= 100:
        return translatable("presentation.at-least-of", low=below, whose=whose)
    return translatable("presentation.between-of", low=below, high=above, whose=whose)


_PEOPLE = {
    "those who answered": translatable("presentation.people-who-answered"),
    "those who were asked": translatable("presentation.people-who-were-asked"),
}


def _number(value: float, places: int, rounding: Callable[[float], int]) -> NumberText:
    """Return a percentage, rounded so that an interval does not become shorter."""
    scale = 10**places
    whole = rounding(round(min(max(value, 0.0), 100.0) * scale, 6))
    return NumberText(f"{whole / scale:.{places}f}")


def people_lines(estimates: Estimates) -> Iterator[str]:
    """Yield who was asked, and how many answered."""
    survey, people = estimates.plan.survey, estimates.people
    yield translatable("presentation.people-answered", people=people)
    issued = sum(each.issued or 0 for each in estimates.received)
    if issued and not estimates.strata and not estimates.invented:
        share = people / issued
        yield translatable("presentation.people-invited", people=issued, share=share)
    yield translatable("presentation.people-planned", people=survey.crowd)
    for stratum in estimates.strata:
        names = first_names(stratum.names)
        yield translatable("presentation.people-of", name=names, people=stratum.people)
    if estimates.left_out:
        yield translatable("presentation.strata-left-out", names=first_names(estimates.left_out))


def limits(estimates: Estimates) -> Iterator[str]:
    """Yield what can be said, and what cannot."""
    items = list(estimates.displayed(estimates.plan))
    uncertain = [item for item in items if not item.certain]
    if uncertain:
        intervals = sum(len(each.cells) for each in uncertain)
        level = uncertain[0].table.error.level
        missed = round(intervals * (1 - level)) or 1
        yield translatable(
            "presentation.limit-intervals", level=level, intervals=intervals, missed=missed
        )
    sampled = any(not each.table.error.noise_only for each in uncertain)
    if sampled:
        yield translatable("presentation.limit-nonresponse")
    else:
        yield translatable("presentation.limit-nonresponse-of-census")
    weighted = next((each.table.provenance.weighted_to for each in items), ())
    if weighted:
        yield translatable("presentation.limit-weighted", margins=[*weighted])
    if few := list(_few(uncertain)):
        yield translatable("presentation.limit-few", answers=_shortened(few))
    alone = [each for each in uncertain if len(each.names) == 1]
    if doubts := [_title(each) for each in alone if finding(each, estimates.plan.survey).doubt]:
        yield translatable("presentation.limit-order", questions=_shortened(doubts))
    if pairs := list(separate_pairs(estimates.plan)):
        yield translatable("presentation.limit-apart", pairs=_shortened(pairs))
    for missing in estimates.not_made:
        yield translatable("presentation.limit-missing", table=missing.sentence)
    if any(len(each.names) > 1 for each in items):
        yield translatable("presentation.limit-cause")


def joined_title(item: Shown) -> str:
    """Return the questions of a table; before them, who was asked if these are fewer."""
    questions = text_list(item.table.questions, "shared.and-with")
    among = item.table.provenance.among
    if not among:
        return questions
    return translatable("estimation.one-another", first=among, second=questions)


def _title(item: Shown) -> str:
    return text_list([_quoted(each) for each in item.table.questions], "shared.and-with")


def _quoted(text: str) -> str:
    return translatable("presentation.quoted", text=text)


def _few(items: Sequence[Shown]) -> Iterator[str]:
    """Yield the answers that nobody may have given, by the intervals."""
    for item in items:
        for cell in item.cells:
            if cell.low <= 0:
                yield translatable(
                    "presentation.answer-to", answer=_label(cell), question=_title(item)
                )


def separate_pairs(plan: Plan) -> Iterator[str]:
    """Yield the pairs of questions of which the reports show no table; none if there are too many
    questions."""
    survey = plan.survey
    questions = [each.id for each in survey.questions if not each.one_way_only]
    if len(questions) > MOST_PAIRED:
        return
    for first, second in combinations(questions, 2):
        try:
            check_tables(plan, [(first, second)])
        except TableError:
            both = (_quoted(survey.text_of(each)) for each in (first, second))
            yield text_list(both, "shared.and-with")


def _shortened(texts: Sequence[str]) -> str:
    """Return a list of texts, or its beginning."""
    beginning = text_list(texts[:MOST_NAMED])
    if len(texts) <= MOST_NAMED:
        return beginning
    return translatable("presentation.and-more", texts=beginning, more=len(texts) - MOST_NAMED)


# --- the method -------------------------------------------------------------------------------


def method_sentences(estimates: Estimates) -> Iterator[str]:
    """Yield how answers were randomized and how figures are estimated."""
    messages = estimates.plan.messages
    added = [message for message in messages if message.by_services]
    if len(added) < len(messages):
        yield translatable("presentation.method-randomized")
    if added:
        yield translatable("presentation.method-added")
    yield translatable("presentation.method-estimator")
    for item in estimates.displayed(estimates.plan):
        if not item.certain:
            error = item.table.error
            facts = {"errors": error.includes, "level": error.level}
            yield translatable("presentation.method-errors", **facts)
            return


def method_rows(estimates: Estimates) -> Iterator[tuple[str, str]]:
    """Yield the figures of the method, each with its name."""
    survey = estimates.plan.survey
    yield translatable("presentation.method-planned"), NumberText(f"{survey.crowd:,}")
    yield translatable("presentation.method-people"), NumberText(f"{estimates.people:,}")
    if estimates.reports is not None:
        yield translatable("presentation.method-reports"), NumberText(f"{estimates.reports:,}")
        if estimates.rejected:
            rejected = NumberText(f"{estimates.rejected:,}")
            yield translatable("presentation.method-rejected"), rejected
    yield translatable("presentation.method-plan"), estimates.plan.digest
    yield translatable("presentation.method-made"), f"incrowd {version('incrowd')}"


def method_texts(estimates: Estimates) -> Iterator[str]:
    """Yield the method as texts below each other, the first one a heading."""
    yield translatable("presentation.method-heading")
    yield from method_sentences(estimates)
    for name, value in method_rows(estimates):
        yield translatable("estimation.labeled", name=name, text=value)
    yield from estimates.plan.message_texts
