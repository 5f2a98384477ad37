"""The extra `stats`, which reads SPSS, Stata, and Excel files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from incrowd.errors import AnswersError, InWords


@contextmanager
def needing_stats(name: str) -> Iterator[None]:
    """Use for imports of the extra `stats`. Raises AnswersError for the file if it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        needed = InWords(f"needs {error.name}, which is not installed")
        raise AnswersError.of(name, needed, 'install "incrowd[stats]"') from None
