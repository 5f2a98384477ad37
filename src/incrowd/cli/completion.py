"""Shell completion: words from a list, and questions of the plan on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import typer

from incrowd.cli.words import TABLE_SEPARATOR


def one_of(choices: Iterable[str]) -> Callable[[str], list[str]]:
    """Complete one of some words."""
    candidates = tuple(choices)
    return lambda incomplete: [choice for choice in candidates if choice.startswith(incomplete)]


def question(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the id of a question of the plan."""
    return one_of(_ids(context))(incomplete)


def questions(context: typer.Context, incomplete: str) -> list[str]:
    """Complete a list of ids, as a,b; ids that are listed already are not offered again."""
    written, comma, last = incomplete.rpartition(TABLE_SEPARATOR)
    rest = [id for id in _ids(context) if id not in written.split(TABLE_SEPARATOR)]
    return [f"{written}{comma}{id}" for id in one_of(rest)(last)]


def questions_joined(sign: str) -> Callable[[typer.Context, str], list[str]]:
    """Complete a list of ids, two of which may be joined by a sign, as in a,b:c."""

    def completions(context: typer.Context, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(TABLE_SEPARATOR)
        first, joint, second = last.rpartition(sign)
        others = [id for id in _ids(context) if joint and id not in first.split(sign)]
        rest = [f"{before}{comma}{first}{joint}{id}" for id in one_of(others)(second)]
        return questions(context, incomplete) + rest

    return completions


def question_is(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the id of a question, with the = that an answer follows."""
    return one_of(f"{id}=" for id in _ids(context))(incomplete)


def _ids(context: typer.Context) -> list[str]:
    """Return ids of the questions in the plan; none if it cannot be read, as no error can be shown
    here.

    The file is not validated as a plan: that would be too slow for completion.
    """
    try:
        # An option that waits for its value ends the parsing: the arguments are left over.
        path = context.params.get("plan") or context.args[0]
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        return [each["id"] for each in content["plan"]["survey"]["question"]]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
