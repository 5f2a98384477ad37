"""The pictures of a result: points with intervals, at two widths, and as files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup

from incrowd.catalog.sentences import ENGLISH, in_words, sentence, translated
from incrowd.presentation.charts import NARROW, WIDE, Size, curves_svg, intervals_svg
from incrowd.views import CurvePlot, IntervalPlot, Result

MOST_LINES = 120  # of a picture


class Picture(NamedTuple):
    """A chart as an <svg> element at two widths. title: what it shows."""

    title: str
    wide: Markup
    narrow: Markup


def pictures(result: Result, language: str = ENGLISH) -> Iterator[Picture]:
    """Yield the pictures of a result, without those that are empty or too large."""
    for plot in result.plots():
        if (
            isinstance(plot, CurvePlot)
            or 0 < sum(len(lines) for _, lines in plot.groups) <= MOST_LINES
        ):
            yield _picture(plot, language)


def _picture(plot: IntervalPlot | CurvePlot, language: str) -> Picture:
    label = in_words(sentence("presentation.chart-of", title=plot.title), language)
    wide, narrow = (_chart(plot, size, label, language) for size in (WIDE, NARROW))
    return Picture(str(translated(plot.title, language)), wide, narrow)


def _chart(plot: IntervalPlot | CurvePlot, size: Size, label: str, language: str) -> Markup:
    if isinstance(plot, CurvePlot):
        return curves_svg(plot, size, label, language)
    return intervals_svg(plot, size, label, language)
