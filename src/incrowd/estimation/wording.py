"""The figures of comparisons in words: estimates, intervals, and notes on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial

from incrowd.estimation.ratios import Comparison, GroupPrecision
from incrowd.number_text import digits, percent, times
from incrowd.survey import UNANSWERED
from incrowd.views import LabeledInterval, Line, Numbers, Sheet

UNITS = {"share": "%", "difference": " pp"}  # other figures have three significant digits
UNKNOWN = "unknown"
POINTS = "pp: percentage points"
IN_R = """
    subset(incrowd$sheets$figures, kind == "difference")
    # Together with other surveys, with the package metafor (log scale for odds ratios):
    # metafor::rma(yi = estimates, sei = errors)
    """
METHODS = {
    "score": "a score test",
    "exact": "the exact law of the noise",
    "length": "a test of its length",
    "Wald": "the standard error, enlarged for few people",
}


def people_words(answers: Iterable[str], answered: float | None) -> Line:
    """State to whom figures refer, if that is not all people who took part; otherwise no words.

    answers: in the table. answered: the share of people who answered, None if all people count.
    """
    if answered is not None:
        return (f"of those who answered both questions: {percent(answered, 1)}% of the people",)
    states = [f'"{state}"' for state in UNANSWERED if state in answers]
    if not states:
        return ()
    count = "counts as one of the answers" if len(states) == 1 else "count as answers"
    return (f"of all people: {' and '.join(states)} {count}",)


def row(item: Comparison, kind: str = "", mark: str = "") -> tuple[str, str, str]:
    """Return the name, the estimate and the interval of a figure. kind: as in `TwoWay.kinds`."""
    estimate = say(item, kind)(item.estimate) if item.estimable else "none"
    return item.name, estimate, interval_words(item, say(item, kind)) + mark


def say(item: Comparison, kind: str) -> Callable[[float], str]:
    """Return the function that formats the values of a kind of figure."""
    if kind not in UNITS:
        return times
    return partial(_percent, places=digits([item]), unit=UNITS[kind])


def _percent(value: float, places: int, unit: str) -> str:
    return f"{percent(value, places)}{unit}"


def interval_words(item: Comparison, say: Callable[[float], str] = times) -> str:
    """Return "0.2 to 0.3", "above 0.8", "below 0.3" or "anything"."""
    if item.unbounded == "everywhere":
        return "anything"
    ends = {"above": item.low, "below": item.high}
    if item.unbounded in ends:
        return f"{item.unbounded} {say(ends[item.unbounded])}"
    return f"{say(item.low)} to {say(item.high)}"


def _reasons(items: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(item.reason for item in items if item.reason))


def marks(items: Sequence[Comparison]) -> Callable[[Comparison], str]:
    """Return the function that refers a figure to its note, as " (1)"."""
    numbers = {reason: f" ({number})" for number, reason in enumerate(_reasons(items), 1)}
    return lambda item: numbers.get(item.reason, "")


def notes(items: Sequence[Comparison]) -> list[str]:
    """Return the notes below the figures: first the reasons for missing limits or estimates."""
    misses = f"each interval is for one figure alone: of {len(items)}, about one in twenty misses"
    misses += f"; {POINTS}"
    return [*(f"({n}) {reason}" for n, reason in enumerate(_reasons(items), 1)), misses]


def methods_words(items: Iterable[Comparison]) -> str:
    """Return the methods of the intervals; one that is not that of the most is named with its
    figures."""
    by_method: dict[str, list[str]] = {}
    for item in items:
        by_method.setdefault(item.method, []).append(item.name)
    usual = max(by_method, key=lambda method: len(by_method[method]))
    others = (
        f"that of {name} by {METHODS[method]}"
        for method, names in by_method.items()
        for name in names
        if method != usual
    )
    return ", ".join([f"intervals: by {METHODS[usual]}", *others])


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
        headings = (first, "participants", "effective n", "design effect")
        yield Numbers("Precision of the shares within each group", headings, lines)


def _count(people: float) -> str:
    return f"{people:,.0f}" if math.isfinite(people) else UNKNOWN


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
