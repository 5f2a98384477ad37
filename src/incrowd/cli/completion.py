"""What the tab key offers: words from a list, and questions of the plan that is being typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from incrowd.cli.words import TABLE_SEPARATOR


def one_of(choices: Iterable[str]) -> Callable[[str], list[str]]:
    """What the tab key offers for a choice: those that begin with what is written."""
    offered = tuple(choices)
    return lambda incomplete: [choice for choice in offered if choice.startswith(incomplete)]


def question(context: typer.Context, incomplete: str) -> list[str]:
    """The questions of the plan on the line that begin with what is written."""
    return one_of(_ids(context))(incomplete)


def questions(context: typer.Context, incomplete: str) -> list[str]:
    """One more question of a list, as a,b; those that stand in it are not offered again."""
    written, comma, last = incomplete.rpartition(TABLE_SEPARATOR)
    rest = [id for id in _ids(context) if id not in written.split(TABLE_SEPARATOR)]
    return [f"{written}{comma}{id}" for id in one_of(rest)(last)]


def questions_joined(sign: str) -> Callable[[typer.Context, str], list[str]]:
    """As `questions`, and what stands behind a sign between two of them, as in a,b:c."""

    def offered(context: typer.Context, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(TABLE_SEPARATOR)
        joined, found, second = last.rpartition(sign)
        others = [id for id in _ids(context) if found and id not in joined.split(sign)]
        rest = [f"{before}{comma}{joined}{found}{id}" for id in one_of(others)(second)]
        return questions(context, incomplete) + rest

    return offered


def question_is(context: typer.Context, incomplete: str) -> list[str]:
    """The questions of the plan, each with the sign that an answer follows."""
    return one_of(f"{id}=" for id in _ids(context))(incomplete)


def _ids(context: typer.Context) -> list[str]:
    """Ids of questions in the plan; none if it cannot be read, for nobody sees an error here.

    The file is not checked as a plan: that would take longer than a person waits for a key.
    """
    try:
        return [each["id"] for each in _content(context)["plan"]["survey"]["question"]]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []


def _content(context: typer.Context) -> Any:
    """An option that waits for its value ends the reading of the line: arguments are left over."""
    path = context.params.get("plan") or context.args[0]
    return json.loads(Path(path).read_text(encoding="utf-8"))
