"""The figures of comparisons in words: estimates, intervals, and notes on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial

from incrowd.catalog.sentences import NumberText, text_list, translatable
from incrowd.estimation.ratios import Comparison, GroupPrecision
from incrowd.number_text import between, digits, percent, times
from incrowd.survey import NO_ANSWER, NOT_ASKED, UNANSWERED
from incrowd.views import LabeledInterval, Line, Numbers, Sheet

UNITS = {  # other figures have three significant digits
    "share": "estimation.percent-unit",
    "difference": "estimation.points-unit",
}
UNKNOWN = translatable("estimation.unknown")
POINTS = translatable("estimation.points")
INTERVALS = translatable("estimation.column-interval")
PERCENT = (0.0, 100.0)  # the limits of shares
POINTS_BETWEEN = (-100.0, 100.0)  # those of differences of shares
IN_R = """
    subset(incrowd$sheets$figures, kind == "difference")
    # Together with other surveys, with the package metafor (log scale for odds ratios):
    # metafor::rma(yi = estimates, sei = errors)
    """
METHODS = {
    "score": translatable("estimation.by-score"),
    "exact": translatable("estimation.by-exact-law"),
    "length": translatable("estimation.by-length"),
    "Wald": translatable("estimation.by-wald"),
}


def people_words(answers: Iterable[str], answered: float | None) -> Line:
    """State to whom figures refer, if that is not all people who took part; otherwise no words.

    answers: in the table. answered: the share of people who answered, None if all people count.
    """
    if answered is not None:
        if answered > 1:  # an unbiased estimate
            return (translatable("estimation.of-all-both-answered"),)
        share = percent(max(answered, 0.0), 1)
        return (translatable("estimation.of-both-answered", share=share),)
    states = [_STATES[state] for state in UNANSWERED if state in answers]
    if not states:
        return ()
    code = "estimation.of-all-counting" if len(states) == 1 else "estimation.of-all-counting-both"
    return (translatable(code, states=text_list(states, "shared.and")),)


_STATES = {
    NO_ANSWER: translatable("estimation.quoted-no-answer"),
    NOT_ASKED: translatable("estimation.quoted-not-asked"),
}


def row(item: Comparison, kind: str = "", mark: str = "") -> tuple[str, str, str]:
    """Return the name, the estimate and the interval of a figure. kind: as in `TwoWay.kinds`."""
    none = translatable("shared.none")
    estimate = say(item, kind)(item.estimate) if item.estimable else none
    return item.name, estimate, _marked(interval_words(item, say(item, kind)), mark)


def _marked(text: str, mark: str) -> str:
    return translatable("estimation.one-another", first=text, second=mark) if mark else text


def say(item: Comparison, kind: str) -> Callable[[float], str]:
    """Return the function that formats the values of a kind of figure."""
    if kind not in UNITS:
        return times
    return partial(_percent, places=digits([item]), unit=UNITS[kind])


def _percent(value: float, places: int, unit: str) -> str:
    return translatable(unit, value=percent(value, places))


def interval_words(item: Comparison, say: Callable[[float], str] = times) -> str:
    """Return "0.2 to 0.3", "above 0.8", "below 0.3" or "anything"."""
    if item.unbounded == "everywhere":
        return translatable("estimation.anything")
    if item.unbounded == "above":
        return translatable("estimation.above", end=say(item.low))
    if item.unbounded == "below":
        return translatable("estimation.below", end=say(item.high))
    return between(say(item.low), say(item.high))


def _reasons(items: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(item.reason for item in items if item.reason))


def marks(items: Sequence[Comparison]) -> Callable[[Comparison], str]:
    """Return the function that refers a figure to its note, as " (1)"."""
    numbers = {reason: f" ({number})" for number, reason in enumerate(_reasons(items), 1)}
    return lambda item: numbers.get(item.reason, "")


def notes(items: Sequence[Comparison]) -> list[str]:
    """Return the notes below the figures: first the reasons for missing limits or estimates."""
    misses = translatable("estimation.one-in-twenty", intervals=len(items))
    numbered = (
        translatable("estimation.numbered", number=number, text=reason)
        for number, reason in enumerate(_reasons(items), 1)
    )
    return [*numbered, text_list((misses, POINTS))]


def methods_words(items: Iterable[Comparison]) -> str:
    """Return the methods of the intervals; one that is not that of the most is named with its
    figures."""
    by_method: dict[str, list[str]] = {}
    for item in items:
        by_method.setdefault(item.method, []).append(item.name)
    usual = max(by_method, key=lambda method: len(by_method[method]))
    others = (
        translatable("estimation.that-by", name=name, method=METHODS[method])
        for method, names in by_method.items()
        for name in names
        if method != usual
    )
    first = translatable("estimation.intervals-by", method=METHODS[usual])
    return text_list((first, *others), "shared.comma")


def precision_tables(first: str, groups: Sequence[GroupPrecision]) -> Iterator[Numbers]:
    """Yield the effective number of people and the design effect of each group of a question, if
    there are any."""
    if groups:
        lines = tuple(
            (
                each.group,
                _count(each.people),
                _count(each.effective_people),
                times(each.design_effect) if math.isfinite(each.design_effect) else UNKNOWN,
            )
            for each in groups
        )
        headings = (
            first,
            translatable("estimation.participants"),
            translatable("estimation.effective-n"),
            translatable("estimation.design-effect"),
        )
        yield Numbers(translatable("estimation.precision-within"), headings, lines)


def percentage(number: str) -> str:
    """Return a percentage with its sign."""
    return translatable("estimation.percent-unit", value=number)


def with_error(figure: str, error: str) -> str:
    """Return a figure, and its error in parentheses."""
    return translatable("estimation.with-interval", estimate=figure, interval=error, mark="")


def among_each(second: str, first: str) -> str:
    """Return the title of shares of the answers to a question within groups."""
    return translatable("estimation.among-each", second=second, first=first)


def _count(people: float) -> str:
    return NumberText(f"{people:,.0f}") if math.isfinite(people) else UNKNOWN


def comparison_sheet(figures: Iterable[tuple[str, Comparison]]) -> Sheet:
    """Return a row for each figure: its kind, and the fields of `Comparison`."""
    return Sheet.of_records("figures", [{"kind": kind, **asdict(each)} for kind, each in figures])


def percent_lines(
    groups: Sequence[str], answers: Sequence[str], figures: Sequence[Comparison]
) -> list[tuple[str, list[LabeledInterval]]]:
    """Return the lines of a picture, in percent, a group for each of `groups`. figures: group by
    group."""
    width = len(answers)
    return [
        (
            group,
            [
                LabeledInterval(answer, 100 * each.estimate, 100 * each.low, 100 * each.high)
                for answer, each in zip(answers, figures[n * width : (n + 1) * width], strict=True)
                if math.isfinite(each.estimate)
            ],
        )
        for n, group in enumerate(groups)
    ]
