"""The association of two questions, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from incrowd.estimation.weighting.margins import weights_facts, weights_words
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import digits, finite, percent
from incrowd.presentation.receipts import marked_table
from incrowd.presentation.regressions import times
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.view import Numbers, View
from incrowd.survey import NO_ANSWER

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.estimation.association import IndependenceTest
    from incrowd.estimation.compare import TwoWay
    from incrowd.estimation.compare_shares import ShareDifference
    from incrowd.estimation.crosstab import Crosstab
    from incrowd.estimation.ratios import Comparison, GroupPrecision

HEADINGS = ("figure", "estimate", "95% interval")
UNITS = {"share": "%", "difference": " pp"}  # other figures have three significant digits
UNKNOWN = "unknown"
POINTS = "pp: percentage points"
METHODS = {
    "score": "a score test",
    "length": "a test of its length",
    "Wald": "the standard error, enlarged for few people",
}


def view(two_way: TwoWay) -> View:
    """The view of two questions: the test of independence, the crosstab and the comparisons.

    JSON has no infinity: it is null, and `unbounded` names the sides without a limit.
    """
    facts = finite(asdict(two_way)) | {"guarantee": guarantee_facts(two_way.guarantee)}
    facts |= weights_facts(facts.pop("weighted_to"), facts.pop("error_ratio"))
    if not two_way.wording:
        del facts["wording"]
    first, second = two_way.questions
    return View(
        title=f"{second} by {first}, 95% intervals",
        facts=facts,
        seed=two_way.seed,
        legend=two_way.wording,
        promise=guarantee_sentence(two_way.guarantee),
        lines=(*people_of(two_way), independence_words(two_way.independence)),
        tables=(_crosstab(two_way), _figures(two_way), *precision(two_way)),
        notes=tuple(comparison_notes(two_way)),
    )


def people_of(two_way: TwoWay) -> tuple[str, ...]:
    """State to whom the figures of a comparison refer, as `people_words`."""
    return people_words((*two_way.groups, *two_way.answers), two_way.answered)


def share_view(difference: ShareDifference) -> View:
    """The view of the difference of two shares."""
    name, estimate, interval = row(difference.figure, "difference")
    return View(
        title=name,
        facts=finite(asdict(difference)) | {"guarantee": guarantee_facts(difference.guarantee)},
        seed=difference.seed,
        promise=guarantee_sentence(difference.guarantee),
        lines=(f"{name}: {estimate}, 95% interval {interval}", *whose(difference)),
        notes=tuple(
            filter(None, (difference.figure.reason, methods_words([difference.figure]), POINTS))
        ),
    )


def whose(difference: ShareDifference) -> tuple[str, ...]:
    """State to whom the shares of a difference refer; no words if that is all people."""
    if difference.answered is None:
        return ()
    first, second = (f"{percent(each, 1)}%" for each in difference.answered)
    return (
        f"each share is of those who answered its questions: {first} and {second} of the people",
    )


def people_words(answers: Iterable[str], answered: float | None) -> tuple[str, ...]:
    """State to whom figures refer, if that is not all people who took part; else no words.

    answers: in the table. answered: the share of people who answered, None if all people count.
    """
    if answered is not None:
        return (f"of those who answered both questions: {percent(answered, 1)}% of the people",)
    if NO_ANSWER in answers:
        return (f'of all people: "{NO_ANSWER}" counts as one of the answers',)
    return ()


def independence_words(test: IndependenceTest) -> str:
    """The test of independence, or why it is not estimable."""
    if not test.estimable:
        return f"independence: not estimable: {test.reason}"
    degrees = test.degrees_of_freedom
    unit = "degree" if degrees == 1 else "degrees"
    chi = f"chi-square {test.statistic:.4g} on {degrees} {unit} of freedom"
    without = ""
    if test.left_out:
        without = f"; excluding {', '.join(test.left_out)}, which may be zero"
    return f"independence: {chi} ({test.method} test), p = {test.p_value:.3g}{without}"


def _crosstab(two_way: TwoWay) -> Numbers:
    """The shares of answers within each group, with their intervals."""
    reasons, number = _reasons(two_way.figures), len(two_way.answers)
    cells = [
        f"{row(item, 'share')[1]} ({_words(item, 'share')}){_mark(item, reasons)}"
        for item in two_way.shares
    ]
    lines = tuple(
        (group, *cells[place * number : (place + 1) * number])
        for place, group in enumerate(two_way.groups)
    )
    first, second = two_way.questions
    title = f"{second} among each {first}, 95% intervals"
    return Numbers(title, (first, *two_way.answers), lines)


def _figures(two_way: TwoWay) -> Numbers:
    """The figures outside of the crosstab: name, estimate and interval.

    A number in parentheses refers to a note. Differences are in percentage points.
    """
    reasons = _reasons(two_way.figures)
    kinds = [(kind, item) for kind, item in two_way.kinds() if kind != "share"]
    lines = tuple(row(item, kind, _mark(item, reasons)) for kind, item in kinds)
    first, second = two_way.questions
    return Numbers(f"{second} by {first}, 95% intervals", HEADINGS, lines)


def precision(result: TwoWay | Crosstab) -> Iterator[Numbers]:
    """The effective number of people and the design effect of each group, if there are any."""
    if result.precision:
        lines = tuple(
            (each.group, *map(_count, (each.people, each.effective_people)), _effect(each))
            for each in result.precision
        )
        headings = (result.questions[0], "participants", "effective n", "design effect")
        yield Numbers("Precision of the shares within each group", headings, lines)


def _count(people: float) -> str:
    return f"{people:,.0f}" if math.isfinite(people) else UNKNOWN


def _effect(group: GroupPrecision) -> str:
    return times(group.design_effect) if math.isfinite(group.design_effect) else UNKNOWN


def methods_words(items: Iterable[Comparison]) -> str:
    """The methods of the intervals; one that is not that of the most is named with its figures."""
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


def row(item: Comparison, kind: str = "", mark: str = "") -> tuple[str, str, str]:
    """The name, the estimate and the interval of a figure. kind: as in `TwoWay.kinds`."""
    estimate = _say(item, kind)(item.estimate) if item.estimable else "none"
    return item.name, estimate, _words(item, kind) + mark


def _say(item: Comparison, kind: str) -> Callable[[float], str]:
    """The function that formats the values of a kind of figure."""
    if kind not in UNITS:
        return times
    return partial(_percent, places=digits([item]), unit=UNITS[kind])


def _words(item: Comparison, kind: str) -> str:
    """The interval in words."""
    return interval_words(item, _say(item, kind))


def _percent(value: float, places: int, unit: str) -> str:
    return f"{percent(value, places)}{unit}"


def _reasons(items: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(item.reason for item in items if item.reason))


def _mark(item: Comparison, reasons: Sequence[str]) -> str:
    return f" ({reasons.index(item.reason) + 1})" if item.reason else ""


def comparison_table(figures: Iterable[tuple[str, Comparison]], seed: int | None) -> pa.Table:
    """An Arrow table with a row for each figure: its kind, and the fields of `Comparison`."""
    import pyarrow  # slow to load

    rows = [{"kind": kind, **asdict(figure)} for kind, figure in figures]
    return marked_table(pyarrow.Table.from_pylist(rows), seed)


def comparison_notes(two_way: TwoWay) -> list[str]:
    """The weights, if any, and the notes on the figures."""
    weights = list(filter(None, [weights_words(two_way.weighted_to, two_way.error_ratio)]))
    methods = [methods_words(two_way.figures), *_zero_beside_a_small_p(two_way)]
    return [*weights, *methods, *notes(two_way.figures)]


def _zero_beside_a_small_p(two_way: TwoWay) -> Iterator[str]:
    """Explain why the interval of Cramer's V includes zero although independence is rejected."""
    length, test = two_way.cramers_v, two_way.independence
    if length and length.estimable and length.low <= 0 and test.estimable and test.p_value <= 0.05:
        yield (
            "the interval of Cramer's V includes zero although p is at most 0.05, because each of "
            "its ends is tested at 2.5%; to judge independence, use p"
        )


def notes(items: Sequence[Comparison]) -> list[str]:
    """The notes below the figures: first the reasons for missing limits or estimates."""
    misses = f"each interval is for one figure alone: of {len(items)}, about one in twenty misses"
    misses += f"; {POINTS}"
    return [*(f"({n}) {reason}" for n, reason in enumerate(_reasons(items), 1)), misses]


def interval_words(item: Comparison, say: Callable[[float], str] = times) -> str:
    """ "0.2 to 0.3", "above 0.8", "below 0.3" or "anything"."""
    if item.unbounded == "everywhere":
        return "anything"
    ends = {"above": item.low, "below": item.high}
    if item.unbounded in ends:
        return f"{item.unbounded} {say(ends[item.unbounded])}"
    return f"{say(item.low)} to {say(item.high)}"
