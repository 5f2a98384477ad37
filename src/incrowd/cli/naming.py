"""The library knows what was read by digests; whoever typed a command knows files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incrowd.errors import IncrowdError, Problem

# Of a plan, or of a part of a collection: its random name, and which part it is.
_DIGEST = re.compile(r"[0-9a-f]{32,64}(:\d+)?")


@contextmanager
def naming(*paths: Path) -> Iterator[None]:
    """Errors in what these files hold name the files where they would name a digest."""
    try:
        yield
    except IncrowdError as error:
        raise type(error)(*(_named(problem, paths) for problem in error.problems)) from error


def _named(problem: Problem, paths: tuple[Path, ...]) -> Problem:
    if not (paths and _DIGEST.fullmatch(str(problem.value))):
        return problem
    names = tuple(map(str, paths))
    return Problem(problem.field, names[0] if len(names) == 1 else names, problem.allowed)
