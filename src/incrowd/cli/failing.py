"""How errors and warnings are shown: lines for people, or JSON for machines."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

from incrowd.cli.names import as_typed
from incrowd.errors import IncrowdError, IncrowdWarning, Problem


def wants_json() -> bool:
    """Whether the command was asked for JSON: then standard error has an object in each line."""
    return "--json" in sys.argv[1:]


def line(kind: str, text: str, /, **more: Any) -> str:
    """A line of standard error: an error, a warning or a note."""
    if wants_json():
        return json.dumps({kind: {"message": text, **more} if more else text}, ensure_ascii=False)
    return text if kind == "note" else f"{kind}: {text}"


def error_lines(error: IncrowdError) -> list[str]:
    """What is said of an error: a line for each problem; as JSON one object with all of them."""
    problems = [as_typed(problem) for problem in error.problems]
    if not wants_json():
        return [line("error", str(problem)) for problem in problems]
    name, code = type(error).__name__, error.exit_code
    facts = [_facts(problem) for problem in problems]
    text = "\n".join(map(str, problems))
    return [line("error", text, kind=name, exit_code=code, problems=facts)]


def _facts(problem: Problem) -> dict[str, str]:
    return {"field": problem.field, "found": problem.shown, "allowed": problem.allowed}


def other_error(text: str, kind: str, code: int) -> str:
    """The line for an error that is none of ours."""
    more = {"kind": kind, "exit_code": code, "problems": []} if wants_json() else {}
    return line("error", text, **more)


def say_warnings(say: Any) -> None:
    """What the library warns of is said in a line of its own; other warnings as always."""
    show = warnings.showwarning

    def shown(message: Warning | str, *about: Any, **more: Any) -> None:
        if isinstance(message, IncrowdWarning):
            say(line("warning", str(message)))
        else:
            show(message, *about, **more)

    warnings.showwarning = shown
