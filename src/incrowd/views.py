"""The forms of a result, as data: for programs, spreadsheets, notebooks, and people.

A result states its figures and words where it is defined; `incrowd.presentation` draws them. As
imports go downwards only, the methods here load that room when they are called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from incrowd.catalog.sentences import translatable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Line = tuple[str, ...]
Value = str | float | int | bool | None
SIMULATION = "simulation"  # the name of a column
REHEARSAL = "rehearsal"  # why a guarantee is reduced


def with_and(names: Sequence[str]) -> str:
    """Return names as text, such as "faculty, year and sex"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def and_text(names: Sequence[str]) -> str:
    """Return the same as a text that can be translated."""
    *others, last = names or ("",)
    return translatable("shared.and", first=others, second=last) if others else last


def simulated(seed: int | None) -> str:
    """Return what `repr` adds for the result of a simulation."""
    return "" if seed is None else f", simulation with seed {seed}"


def of_the_only(messages: Sequence[dict[str, Any]], *names: str) -> dict[str, Any]:
    """Return facts to repeat outside of `messages` if there is only one message."""
    return {name: messages[0][name] for name in names} if len(messages) == 1 else {}


def presented(function: str, *shown: object) -> Any:
    """Call a function of `incrowd.presentation` with an object. function: "module:function"."""
    module, name = function.split(":")
    return getattr(import_module(module), name)(*shown)


# --- figures for programs and spreadsheets ----------------------------------------------------


class Sheet(NamedTuple):
    """A table of figures: proportions, not percentages, and not rounded.

    name: unique in a result. rows: the rows of the length of the headings; None or nan for a
    missing figure. shares: the headings of columns of proportions.
    """

    name: str
    headings: Line
    rows: tuple[tuple[Value, ...], ...]
    shares: Line = ()

    @classmethod
    def of_records(cls, name: str, records: Sequence[dict[str, Any]]) -> Sheet:
        """Make a sheet of records that all have the keys of the first one."""
        headings = tuple(records[0]) if records else ()
        return cls(name, headings, tuple(tuple(map(each.get, headings)) for each in records))

    def to_arrow(self, invented: str = "") -> pa.Table:
        """Return an Arrow table. invented: what each row says if people are invented, as CSV has
        only rows."""
        import pyarrow as pa  # slow to load, and not needed for plans

        headings = self.headings
        columns = [list(each) for each in zip(*self.rows, strict=True)] or [[] for _ in headings]
        if invented:
            headings = (*headings, SIMULATION)
            columns.append([str(invented)] * len(self.rows))
        return pa.Table.from_arrays(list(map(pa.array, columns)), names=list(headings))


class Square(NamedTuple):
    """A symmetric matrix, such as a covariance. values: shape (labels, labels)."""

    name: str
    labels: Line
    values: np.ndarray


# --- figures and words for people -------------------------------------------------------------


@dataclass(frozen=True)
class Numbers:
    """A table of rounded figures for people. The first column holds the row labels.

    whole: headings of columns that a narrow terminal must not wrap. spaces: between columns, where
    a terminal draws no lines. notes: sentences to show below the table.
    """

    title: str
    headings: Line
    lines: tuple[Line, ...]
    whole: Line = ()
    spaces: int = 0
    notes: Line = ()


@dataclass(frozen=True)
class View:
    """A result for people. Every figure is already rounded.

    warnings: lines above everything else, such as that a forecast is useless. legend: the wording
    of ids. lines: figures outside of tables. notes: sentences to show below.
    """

    title: str
    warnings: Line = ()
    legend: Line = ()
    lines: Line = ()
    tables: tuple[Numbers, ...] = ()
    notes: Line = ()

    @property
    def above(self) -> Line:
        """The lines above the figures."""
        return (*self.warnings, *self.legend)


class LabeledInterval(NamedTuple):
    """A figure with its interval, as a picture shows it. An end may be infinite."""

    label: str
    estimate: float
    low: float
    high: float


class IntervalPlot(NamedTuple):
    """A picture of intervals. across: what the axis measures. groups: a heading, and its lines.
    limits: of the values that are possible, if there are any."""

    title: str
    across: str
    groups: Sequence[tuple[str, Sequence[LabeledInterval]]]
    limits: tuple[float, float] | None = None


class CurvePlot(NamedTuple):
    """A picture of curves over one axis, each with a name.

    across, up: what the axes measure; proportions are shown as percentages. curves: a name, and the
    points.
    """

    title: str
    across: str
    up: str
    curves: Sequence[tuple[str, Sequence[tuple[float, float]]]]


# --- what results derive from -----------------------------------------------------------------


class Notebook:
    """An object that a notebook shows as a page.

    layout: the name of the page, in `incrowd.presentation.layouts`.
    """

    layout: ClassVar[str] = "view"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return str(presented("incrowd.presentation.layouts:framed", self))


class Plotted:
    """A result that can be drawn as a chart. drawn_by: the function, as for `presented`."""

    drawn_by: ClassVar[str]

    def plot(self) -> Any:
        """Return an altair chart, which a notebook shows; its methods change or save it."""
        return presented(self.drawn_by, self)


class Tabular(ABC):
    """A result that can be converted to one long table."""

    seed: int | None = None

    @property
    def invented(self) -> str:
        """What the figures are if the people are invented; "" for those of real people."""
        if self.seed is None:
            return ""
        return translatable("shared.invented-by-seed", seed=self.seed)

    @abstractmethod
    def long_table(self) -> Sheet:
        """Return the figures, one row per figure."""

    def to_arrow(self) -> pa.Table:
        """Return the figures as an Arrow table, one row per figure."""
        return self.long_table().to_arrow(self.invented)

    def __iter__(self) -> Iterator[Any]:
        """Yield a dictionary for each row of `to_arrow()`, which `pandas.DataFrame` reads."""
        yield from self.to_arrow().to_pylist()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return `to_arrow()` to other libraries (Arrow PyCapsule interface), such as polars."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        """Return `to_arrow()` to other libraries (dataframe interchange protocol)."""
        return self.to_arrow().__dataframe__(nan_as_null, allow_copy)

    def to_pandas(self) -> Any:
        """Return `to_arrow()` as a data frame.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        try:
            import_module("pandas")
        except ImportError:
            from incrowd.errors import UsageError  # slow to load

            raise UsageError.of("pandas", "shared.no-pandas") from None
        return self.to_arrow().to_pandas()


class Result(Tabular, Notebook):
    """A result of a statistical method, in every form that it has.

    guarantee: what holds for the people in the reports; None if nothing is promised. seed: None for
    real reports, otherwise the seed of a simulation, about which every form warns.
    """

    guarantee: Any

    @property
    def invented(self) -> str:
        """What the figures are if the people are invented; "" for those of real people."""
        if self.seed is None and self.guarantee and REHEARSAL in self.guarantee.reduced_by:
            return translatable("shared.invented-for-rehearsal")
        return super().invented

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return the result for programs, not rounded: what JSON holds."""

    @abstractmethod
    def view(self) -> View:
        """Return the result for people."""

    def sheets(self) -> Sequence[Sheet]:
        """Return the tables of a workbook; by default the long table."""
        return (self.long_table(),)

    def squares(self) -> Sequence[Square]:
        """Return the matrices of a workbook and a script; by default none."""
        return ()

    @property
    def in_r(self) -> str:
        """Lines of R that use the result, as `incrowd$sheets` and `incrowd$matrices`."""
        return ""

    def plots(self) -> Sequence[IntervalPlot | CurvePlot]:
        """Return the pictures of the result; by default none."""
        return ()

    def worded(self, survey: Any) -> Self:
        """Return the same result with the wording of a survey, such as in another language."""
        return self
