"""Problems about files, by the names that a person knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from incrowd.catalog.sentences import replaced
from incrowd.errors import Problem


def renamed(problem: Problem, rename: Callable[[str], str]) -> Problem:
    """Return a problem with other names in its path and in the arguments of its message."""

    def change(value: Any) -> Any:
        if not isinstance(value, str | Path):
            return value
        name = rename(str(value))
        return value if name == str(value) else name

    return Problem(map(change, problem.path), replaced(problem.message, change))


def within(problem: Problem, folder: Path) -> Problem:
    """Return a problem with the paths of files in a folder as commands in that folder name them."""
    return renamed(problem, lambda name: name.removeprefix(f"{folder}/"))
