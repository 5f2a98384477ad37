"""Where messages are made in the source, and which of these places a call reaches."""

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import mock

import incrowd
from incrowd import errors
from incrowd.cli.console import as_typed
from tests.oracles.source import tree_of, walk

SOURCE = Path(incrowd.__file__).parent
ERRORS = {name for name in vars(errors) if name.endswith("Error")}
# Mistakes of whoever programs, and signals within the package: no user is shown their texts. That
# of `NotExpressed` becomes a DECIDE of a draft, and is tested there.
NO_MESSAGES = {
    "KeyError",
    "AttributeError",
    "NotImplementedError",
    "typer.Exit",
    "BadHead",
    "MemoryError",
    "NotExpressed",
}


@dataclass(frozen=True)
class Site:
    """A statement or an expression of the source that makes or raises a message."""

    file: str
    first: int
    last: int
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.first}: {self.code.strip()}"


@dataclass(frozen=True)
class Said:
    """What one call of the table said, and where that was made."""

    name: str
    error: Exception
    sites: frozenset[Site]


@cache
def sites() -> tuple[Site, ...]:
    """Every place that raises a message of ours, or makes a problem of one."""
    return tuple(
        Site(str(file.relative_to(SOURCE)), node.lineno, node.end_lineno, lines[node.lineno - 1])
        for file in sorted(SOURCE.rglob("*.py"))
        if file.name != "errors.py" and (lines := file.read_text().splitlines())
        for node in made_in(tree_of(file.read_text()))
    )


def made_in(tree: ast.AST) -> Iterator[ast.AST]:
    """The raises of a file that carry a message, and the problems made outside of them."""
    nodes = walk(tree)
    raises = [node for node in nodes if isinstance(node, ast.Raise) and node.exc]
    inside = {id(node) for one in raises for node in walk(one)}
    for node in raises:
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if ast.unparse(made) not in NO_MESSAGES:
            yield node
    for node in nodes:
        made = isinstance(node, ast.Call) and id(node) not in inside and _makes_one(node.func)
        if made and "(problem.path," not in ast.unparse(node):  # the same problem elsewhere
            yield node


def _makes_one(called: ast.expr) -> bool:
    """Whether `called` is Problem, Mistake, an error, or the method `of` of an error."""
    if isinstance(called, ast.Name):
        return called.id in {"Problem", "Mistake"} | ERRORS
    of = isinstance(called, ast.Attribute) and called.attr == "of"
    return of and isinstance(called.value, ast.Name) and called.value.id in ERRORS


def problems(error: Exception) -> tuple[errors.Problem, ...]:
    """What an error says, in its parts; nothing if it is none of ours."""
    return error.problems if isinstance(error, errors.IncrowdError) else ()


def hear(name: str, call: Callable[[Path], object], folder: Path) -> Said:
    """What a call that is refused says. Raises AssertionError if it is not refused."""
    with _lines() as lines:
        try:
            call(folder)
        except Exception as error:
            lines |= set(_of_tracebacks(error))
            [as_typed(problem) for problem in problems(error)]  # as the command line says it
            reached = frozenset(site for line in lines for site in _places().get(line, ()))
            return Said(name, error, reached)
    raise AssertionError(f"{name} is not refused")


@cache
def _places() -> dict[tuple[str, int], list[Site]]:
    """The places of each line; most lines have none, and every call looks at all of its lines."""
    found: dict[tuple[str, int], list[Site]] = {}
    for site in sites():
        for line in range(site.first, site.last + 1):
            found.setdefault((site.file, line), []).append(site)
    return found


@contextmanager
def _lines() -> Iterator[set[tuple[str, int]]]:
    """The lines of the source that are being executed whenever a problem is made."""
    lines: set[tuple[str, int]] = set()
    make = errors.Problem.__init__

    def noting(problem: errors.Problem, *values: object, **named: object) -> None:
        frame = sys._getframe(1)
        while frame:
            if file := _of_the_source(frame.f_code.co_filename):
                lines.add((file, frame.f_lineno))
            frame = frame.f_back
        make(problem, *values, **named)

    with mock.patch.object(errors.Problem, "__init__", noting):
        yield lines


def _of_tracebacks(error: BaseException) -> Iterator[tuple[str, int]]:
    """Where an error and those it was made of were raised, also those that pydantic holds."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        trace = one.__traceback__
        while trace:
            if file := _of_the_source(trace.tb_frame.f_code.co_filename):
                yield file, trace.tb_lineno
            trace = trace.tb_next
        waiting += [e for e in (one.__cause__, one.__context__) if e]
        if hasattr(one, "errors") and callable(one.errors):
            waiting += [e for e in (p.get("ctx", {}).get("error") for p in one.errors()) if e]


@cache
def _of_the_source(file: str) -> str | None:
    path = Path(file)
    return str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else None
