"""The pictures of a result: points with intervals, at two widths, and as files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from incrowd.estimation.compare import TwoWay
from incrowd.estimation.correlate import Correlations
from incrowd.estimation.crosstab import Crosstab
from incrowd.estimation.delta_method import named
from incrowd.estimation.ratios import Comparison
from incrowd.presentation.charts import NARROW, WIDE, ChartInterval, Size, intervals_svg

IntervalGroups = list[tuple[str, list[ChartInterval]]]
MOST_LINES = 120  # of a picture


class Picture(NamedTuple):
    """A chart as an <svg> element at two widths. title: what it shows."""

    title: str
    wide: Markup
    narrow: Markup


def pictures(result: object) -> tuple[Picture, ...]:
    """The pictures of a comparison, a crosstab or correlations; none of other results."""
    return tuple(
        _picture(title, across, groups)
        for title, across, groups in _drawn(result)
        if 0 < sum(len(lines) for _, lines in groups) <= MOST_LINES
    )


def _drawn(result: object) -> Iterator[tuple[str, str, IntervalGroups]]:
    """The title, the axis and the groups of each picture."""
    if isinstance(result, TwoWay):
        first, second = result.questions
        shares = _by(result.groups, result.answers, result.shares)
        yield f"{second} among each {first}, 95% intervals", "percent of the group", shares
        if result.differences:
            reference = _reference(result)
            others = [group for group in result.groups if group != reference]
            title = f"{second}: difference to {first}={reference}, 95% intervals"
            yield title, "percentage points", _by(result.answers, others, result.differences)
    elif isinstance(result, Crosstab):
        first, second = result.questions
        rows = _by(result.rows, result.columns, result.of_rows)
        yield f"{second} among each {first}, 95% intervals", "percent of the row", rows
    elif isinstance(result, Correlations):
        groups: dict[str, list[ChartInterval]] = {}
        for pair in result.pairs:
            if math.isfinite(pair.estimate):
                line = ChartInterval(pair.questions[1], pair.estimate, pair.low, pair.high)
                groups.setdefault(pair.questions[0], []).append(line)
        yield "Correlations, 95% intervals", "correlation", list(groups.items())


def _by(
    groups: Sequence[str], answers: Sequence[str], figures: Sequence[Comparison]
) -> IntervalGroups:
    """Figures in percent, a group for each first answer. figures: group by group."""
    width = len(answers)
    return [
        (
            group,
            [
                ChartInterval(answer, 100 * each.estimate, 100 * each.low, 100 * each.high)
                for answer, each in zip(answers, figures[n * width : (n + 1) * width], strict=True)
                if math.isfinite(each.estimate)
            ],
        )
        for n, group in enumerate(groups)
    ]


def _reference(result: TwoWay) -> str:
    """The group with which the others are compared, which every difference names last."""
    name, first = result.differences[0].name, result.questions[0]
    ends = [group for group in result.groups if name.endswith(f" {named({first: group})}")]
    return max(ends, key=len)


def _picture(title: str, across: str, groups: IntervalGroups) -> Picture:
    label = f"{title}. The tables have all figures."
    draw: Callable[[Size], Markup] = lambda size: intervals_svg(groups, across, size, label)  # noqa: E731
    return Picture(title, draw(WIDE), draw(NARROW))
