"""How a result is shown in a notebook and converted for other libraries.

Imports go downwards only, so a plan cannot import the page that shows it. It calls the two
functions here. The modules that draw results register themselves, and are imported when first
needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_DRAWN_BY: set[str] = set()


def drawn_by(module: str) -> None:
    """Register a module that defines how objects are shown."""
    _DRAWN_BY.add(module)


@singledispatch
def as_html(shown: object) -> str:
    """Return a piece of HTML that shows an object."""
    raise NotImplementedError(f"there is no HTML view of a {type(shown).__name__}")


@singledispatch
def as_arrow(shown: object) -> pa.Table:
    """Return an object as a long table, one row per figure."""
    raise NotImplementedError(f"there is no table of a {type(shown).__name__}")


def with_and(names: Sequence[str]) -> str:
    """Return names as text, such as "faculty, year and sex"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def simulated(seed: int | None) -> str:
    """Return what `repr` adds for the result of a simulation."""
    return "" if seed is None else f", simulation with seed {seed}"


@singledispatch
def as_chart(plotted: object) -> Any:
    """Return an altair chart of an object."""
    raise NotImplementedError(f"there is no chart of a {type(plotted).__name__}")


class Plotted:
    """A result that can be drawn as a chart."""

    def plot(self) -> Any:
        """Return an altair chart, which a notebook shows; its methods change or save it."""
        _load()
        return as_chart(self)


class Notebook:
    """A result that a notebook shows as its page does."""

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        _load()
        return as_html(self)


class Tabular:
    """A result that can be converted to one long table."""

    def to_arrow(self) -> pa.Table:
        """Return the figures as an Arrow table, one row per figure."""
        _load()
        return as_arrow(self)

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
        """Return `to_arrow()` as a data frame. Raises UsageError if pandas is not installed."""
        try:
            import_module("pandas")
        except ImportError:
            from incrowd.errors import MISSING, UsageError  # slow to load

            allowed = "install it (pip install pandas), or use to_arrow()"
            raise UsageError.of("pandas", MISSING, allowed) from None
        return self.to_arrow().to_pandas()


def _load() -> None:
    for module in _DRAWN_BY:
        import_module(module)
