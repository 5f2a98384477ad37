"""How a result is shown in a notebook and handed on to other libraries.

Imports go downwards only, so a plan cannot know the page on which it stands. It asks the two
functions here; what draws it registers itself, and is imported when a drawing is first wanted.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from typing import TYPE_CHECKING, Any

from incrowd.errors import MISSING, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

_DRAWN_BY: set[str] = set()


def drawn_by(module: str) -> None:
    """Name a module that registers how objects are shown."""
    _DRAWN_BY.add(module)


@singledispatch
def as_html(shown: object) -> str:
    """A piece of HTML that shows an object."""
    raise NotImplementedError(f"nothing shows a {type(shown).__name__}")


@singledispatch
def as_arrow(shown: object) -> pa.Table:
    """An object as a long table, a row for each figure."""
    raise NotImplementedError(f"nothing makes a table of a {type(shown).__name__}")


def simulated(seed: int | None) -> str:
    """What `repr` adds if something is of a simulation."""
    return "" if seed is None else f", simulation with seed {seed}"


class Notebook:
    """What a notebook shows as its page shows it."""

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        _load()
        return as_html(self)


class Tabular:
    """What can be handed on as one long table."""

    def to_arrow(self) -> pa.Table:
        """The figures as an Arrow table, a row for each."""
        _load()
        return as_arrow(self)

    def to_pandas(self) -> Any:
        """The table of `to_arrow` as a data frame. Raises UsageError if pandas is not installed."""
        try:
            import_module("pandas")
        except ImportError:
            allowed = "install it (pip install pandas), or use to_arrow()"
            raise UsageError.of("pandas", MISSING, allowed) from None
        return self.to_arrow().to_pandas()


def _load() -> None:
    for module in _DRAWN_BY:
        import_module(module)
