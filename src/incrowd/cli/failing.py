"""How errors and warnings are shown: lines for people, or JSON for machines."""

from __future__ import annotations

import json
import signal
import sys
import warnings
from typing import Any

from incrowd.characters import visible
from incrowd.cli.names import as_typed
from incrowd.errors import MISSING, IncrowdError, IncrowdWarning, InWords, Problem

INTERRUPTED = 128 + signal.SIGINT
BEYOND_FILES = frozenset({"send", "shuffler", "collector", "open", "demo", "invitations"})


def wants_json() -> bool:
    """Whether the command was asked for JSON: then standard error has an object in each line."""
    return "--json" in sys.argv[1:]


def line(kind: str, text: str, /, **more: Any) -> str:
    """A line of standard error: an error, a warning or a note."""
    if wants_json():
        facts = {kind: {"message": text, **more} if more else text}
        return visible(json.dumps(facts, ensure_ascii=False))
    return visible(text if kind == "note" else f"{kind}: {text}")


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


def other_error(text: str, kind: str, code: int, *problems: Problem) -> str:
    """The line for an error that is none of ours."""
    facts = [_facts(problem) for problem in problems]
    more = {"kind": kind, "exit_code": code, "problems": facts} if wants_json() else {}
    return line("error", text, **more)


def interrupted(wrote: bool) -> str:
    """The line for a command that was interrupted. wrote: whether it had written a file.

    What was sent, or kept in a database, no file tells: of such commands nothing is claimed.
    """
    silent = wrote or not BEYOND_FILES.isdisjoint(sys.argv[1:])
    text = "interrupted" if silent else "interrupted; nothing was written"
    return other_error(text, "KeyboardInterrupt", INTERRUPTED) if wants_json() else text


def usage_problem(error: Any) -> Problem | None:
    """What is wrong with an option or argument by the parser of the command line, if it says."""
    if option := getattr(error, "option_name", ""):
        known = sorted(getattr(error, "possibilities", None) or ())
        meant = f"did you mean {' or '.join(known)}? " if known else ""
        unknown = hasattr(error, "possibilities")
        found = InWords("is no option") if unknown else MISSING
        return Problem(
            option, found, f"{meant}use one that --help lists" if unknown else "give a value"
        )
    if (param := getattr(error, "param", None)) is None:
        return None
    name = str(param.get_error_hint()).split(" / ")[-1].strip("'")
    if hasattr(error, "param_type"):
        return Problem(name, MISSING, "name it; --help says what it is")
    reasons: Any = getattr(error.__cause__, "errors", None)
    found = reasons()[0]["input"] if reasons else InWords("cannot be used")
    return Problem(name, found, error.message.removeprefix("Input ").partition(", unable")[0])


def say_warnings(say: Any) -> None:
    """What the library warns of is said in a line of its own; other warnings as always."""
    show = warnings.showwarning

    def shown(message: Warning | str, *about: Any, **more: Any) -> None:
        if isinstance(message, IncrowdWarning):
            say(line("warning", str(message)))
        else:
            show(message, *about, **more)

    warnings.showwarning = shown
