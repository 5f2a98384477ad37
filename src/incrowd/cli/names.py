"""What the library calls a parameter, the command line calls an option."""

from __future__ import annotations

import re

from incrowd.errors import Problem

_ALIKE = (
    "accept_smaller_crowd as_planned bootstrap code codes device_key encoding engine error family "
    "format id keep margin margins master memory merge method of_those_who_answered on outcome "
    "people reference scores seed sheet short simulation_seed stratum trials words"
)
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _ALIKE.split()} | {
    "candidates": "--words",
    "earlier": "--ledger",
    "path": "-o",
    "shares": "--share",
    "unknown": "--solve",
}
# An argument as it is written in Python: a flag is True, text stands in quotation marks.
_ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(?:True|'([\w-]+)'|(\w+))")


def as_typed(problem: Problem) -> Problem:
    """A problem of the library in the words of the command line."""
    field = OPTIONS.get(problem.field, problem.field)
    return Problem(field, problem.value, _ARGUMENT.sub(_option, problem.allowed))


def _option(found: re.Match[str]) -> str:
    """unknown='crowd' is "--solve crowd", as_planned=True is "--as-planned"."""
    name, text, word = found.groups()
    return " ".join(filter(None, (OPTIONS[name], text, word)))
