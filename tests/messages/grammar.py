"""Rules that every message keeps; each names a way in which one can read badly."""

import re
from collections.abc import Iterator

from incrowd.cli.console import as_typed
from incrowd.errors import IncrowdError, InWords, Problem

# What would work is said by one of these.
WORKS = re.compile(
    r"\b(should|use|used|name|give|add|make|keep|leave|put|take|write|say|save|set|drop|want|ask|"
    r"allow|promise|correct|correct it|rename|shorten|collect|count|install|stop|try|check|load|"
    r"edit|raise|restore|replace|run|open|free|start|request|record|send|reload|enter|certify|choose|"
    r"needs?|needed|no survey needs|use of|did you mean|belongs to|plan it|note|takes)\b"
)
# A clause about the value that does not say so: "got 3; is no file".
BARE = re.compile(
    r"(?:^|; )(?:is|are|has|have|holds?|was|were|does|do|can|cannot|needs?|stands?|names|goes|"
    r"makes|counts|takes|sets|says|exists|belongs|travels|comes?|would)\b"
)
BRACKETS = re.compile(r"^got [\[({]|\bNone\b|array\(|<[\w.]+ object|\w+Error\b")
DOUBLE = re.compile(r"[;:,.]\s*[;:,]|\.\.(?!\.)(?<!\.\.\.)|\s\s|\s[;,:]")
ENDING = re.compile(r"[\w)\]}'\"`]$")
BRITISH = re.compile(
    r"randomis|colour|behaviour|neighbour|\bcentre|learnt|maximis|normalis|to memoise\b|modelling"
)
SEVERAL = re.compile(
    r"(?<![\w.,:/-])1 (?:\w+ )?(?:people|strata|copies|rows|reports|records|questions|tables|"
    r"columns|invitations|messages|bits|cells|options|codes|answers|rounds|bytes|parts|seconds)\b"
)
OPTION = re.compile(r"(?<![\w-])--[a-z]")
PARAMETER = re.compile(r"\b(unknown|as_planned|accept_smaller_crowd|earlier)=")


def faults(error: Exception, typed: bool = False) -> Iterator[str]:
    """What is wrong with an error's messages; typed: whether they come from the command line."""
    if not isinstance(error, IncrowdError) or type(error) is IncrowdError:
        yield f"{type(error).__name__} is none of our errors"
        return
    if not error.problems:
        yield "says nothing"
    for problem in error.problems:
        yield from _faults(problem, typed)


def _faults(problem: Problem, typed: bool) -> Iterator[str]:
    text, allowed = str(problem), problem.allowed
    words = f"{problem.field} {_unquoted(allowed)}"
    shown = text.removeprefix(f"{problem.field}: ").removesuffix(f"; {allowed}")
    rules = {
        "names no field": bool(problem.field.strip()),
        "does not say what would work": bool(WORKS.search(allowed)),
        "has a clause without a subject": not BARE.search(allowed),
        "has a clause of one word": all(" " in clause for clause in allowed.split("; ")),
        "shows what only Python reads": not BRACKETS.search(shown),
        "has double punctuation": not DOUBLE.search(_unquoted(allowed)),
        "does not end properly": bool(ENDING.search(allowed)),
        "begins with a capital letter": not allowed[:1].isupper() or allowed.startswith("Spark"),
        "counts one thing as several": not SEVERAL.search(text),
        "is not spelled the American way": not BRITISH.search(text),
        "describes nothing": not (isinstance(problem.value, InWords) and not problem.value),
        "names an option in the library": typed or not OPTION.search(words),
        "names a parameter at the command line": not PARAMETER.search(as_typed(problem).allowed),
    }
    yield from (f"{rule}: {text}" for rule, holds in rules.items() if not holds)


def _unquoted(text: str) -> str:
    """Without what is quoted, which may be punctuation, and without lists as TOML writes them."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^]]*\]|\{[^}]*\}|\.\w+", "x", text)
