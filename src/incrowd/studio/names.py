"""Problems about files, by the names that a person knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from incrowd.catalog.sentences import Sentence
from incrowd.errors import Problem


def renamed(problem: Problem, rename: Callable[[str], str]) -> Problem:
    """Return a problem with other names in its path and in the arguments of its message."""
    path = (rename(part) if isinstance(part, str) else part for part in problem.path)
    return Problem(path, _renamed(problem.message, rename))


def within(problem: Problem, folder: Path) -> Problem:
    """Return a problem with the paths of files in a folder as commands in that folder name them."""
    return renamed(problem, lambda name: name.removeprefix(f"{folder}/"))


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(value, Sentence):
        arguments = {name: _renamed(each, rename) for name, each in value.arguments.items()}
        return Sentence(value.code, arguments)
    if isinstance(value, list | tuple):
        return type(value)(_renamed(each, rename) for each in value)
    if isinstance(value, str | Path):
        name = rename(str(value))
        return value if name == str(value) else name
    return value
