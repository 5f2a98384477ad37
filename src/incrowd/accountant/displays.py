"""How results appear in notebooks: small tables, and pictures of privacy curves.

They need only the standard library; a picture needs altair or matplotlib, whichever is installed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

from incrowd.errors import UsageError

DisplayRows = tuple[tuple[str, str], ...]  # what a figure is, and the figure
PlotLibrary = Literal["altair", "matplotlib"]

ACROSS, UP = "epsilon", "delta"


class Displayed(ABC):
    """A result that a notebook shows as a table of two columns."""

    @abstractmethod
    def rows(self) -> DisplayRows:
        """Return the rows of the table."""

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows. Building it as a tree escapes every text."""
        table = ElementTree.Element("table")
        caption = ElementTree.SubElement(table, "caption")
        caption.text = type(self).__name__
        for name, value in self.rows():
            row = ElementTree.SubElement(table, "tr")
            ElementTree.SubElement(row, "th", scope="row", style="text-align: left").text = name
            ElementTree.SubElement(row, "td", style="text-align: left").text = value
        return ElementTree.tostring(table, encoding="unicode", method="html")


class CurveLine(NamedTuple):
    """The points of one curve, and what it is called."""

    name: str
    epsilons: list[float]
    deltas: list[float]


class CurveTitle(NamedTuple):
    """The title of a picture: the curve that it is about, and what this curve assumes."""

    curve: str
    assumed: str


def curves_plot(lines: Sequence[CurveLine], title: CurveTitle, library: PlotLibrary | None) -> Any:
    """Return a picture of some curves, by altair or matplotlib; see `PrivacyCurve.plot`."""
    name, drawing = _drawing(library)
    draw = _of_altair if name == "altair" else _of_matplotlib
    return draw(drawing, lines, title)


def _drawing(library: PlotLibrary | None) -> tuple[str, Any]:
    """Return the name of the first library that is installed, and the module that draws.

    Raises UsageError if none is.
    """
    modules = {"altair": "altair", "matplotlib": "matplotlib.pyplot"}
    if library is not None and library not in modules:
        raise UsageError.of("library", "shared.use-one-of", value=library, choices=list(modules))
    names = [library] if library else list(modules)
    for name in names:
        try:
            return name, import_module(modules[name])
        except ModuleNotFoundError:
            continue
    raise UsageError.of("library", "accountant.no-library", wanted=names[-1])


def _of_altair(altair: Any, lines: Sequence[CurveLine], title: CurveTitle) -> Any:
    values = [
        {ACROSS: epsilon, UP: delta, "curve": line.name}
        for line in lines
        for epsilon, delta in zip(line.epsilons, line.deltas, strict=True)
        if delta > 0
    ]
    legend = {"orient": "bottom", "columns": 1, "labelLimit": 600, "symbolSize": 400}
    names = [line.name for line in lines]
    curve = {"field": "curve", "type": "nominal", "title": "", "scale": {"domain": names}}
    return altair.Chart.from_dict(
        {
            "$schema": altair.SCHEMA_URL,
            "title": {"text": title.curve, "subtitle": title.assumed, "anchor": "start"},
            "data": {"values": values},
            "mark": {"type": "line", "tooltip": True},
            "width": 480,
            "height": 300,
            "encoding": {
                "x": {"field": ACROSS, "type": "quantitative", "title": ACROSS},
                "y": {
                    "field": UP,
                    "type": "quantitative",
                    "title": UP,
                    "scale": {"type": "log"},
                    "axis": {"format": ".0e"},
                },
                "color": curve | {"legend": legend},
                "strokeDash": curve | {"legend": legend},
            },
        }
    )


def _of_matplotlib(pyplot: Any, lines: Sequence[CurveLine], title: CurveTitle) -> Any:
    figure, axes = pyplot.subplots(layout="constrained")
    styles = ("-", "--", "-.", ":")
    for i, line in enumerate(lines):
        axes.plot(line.epsilons, line.deltas, styles[i % len(styles)], label=line.name)
    axes.set(yscale="log", xlabel=ACROSS, ylabel=UP)
    axes.set_title("\n".join(filter(None, title)), loc="left", fontsize="medium")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower left", frameon=False)
    return axes
