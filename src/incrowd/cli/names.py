"""What the library calls a parameter, the command line calls an option."""

from __future__ import annotations

import re

from incrowd.errors import Problem

OPTIONS = {
    "accept_smaller_crowd": "--accept-smaller-crowd",
    "as_planned": "--as-planned",
    "bootstrap": "--bootstrap",
    "candidates": "--words",
    "device_key": "--device-key",
    "earlier": "--ledger",
    "engine": "--engine",
    "error": "--error",
    "id": "--id",
    "master": "--master",
    "method": "--method",
    "path": "-o",
    "seed": "--seed",
    "simulation_seed": "--simulation-seed",
    "trials": "--trials",
    "unknown": "--solve",
    "words": "--words",
}
# An argument as it is written in Python: a flag is True, text stands in quotation marks.
_ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(?:True|'(\w+)'|(\w+))")


def as_typed(problem: Problem) -> Problem:
    """A problem of the library in the words of the command line."""
    field = OPTIONS.get(problem.field, problem.field)
    return Problem(field, problem.value, _ARGUMENT.sub(_option, problem.allowed))


def _option(found: re.Match[str]) -> str:
    """unknown='crowd' is "--solve crowd", as_planned=True is "--as-planned"."""
    name, text, word = found.groups()
    return " ".join(filter(None, (OPTIONS[name], text, word)))
