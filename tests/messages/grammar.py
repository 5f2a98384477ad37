"""Rules that every message keeps; each names a way in which one can read badly."""

import re
from collections.abc import Iterator

from incrowd.characters import visible
from incrowd.cli.console import as_option, as_typed
from incrowd.errors import IncrowdError, spelled

# What would work is said by one of these.
WORKS = re.compile(
    r"\b(should|use|used|name|give|add|make|keep|leave|put|take|write|say|save|set|drop|want|ask|"
    r"allow|promise|correct|correct it|rename|shorten|collect|count|install|stop|try|check|load|"
    r"edit|raise|restore|replace|run|open|free|start|request|record|send|reload|enter|certify|choose|"
    r"needs?|needed|known keys are|no survey needs|use of|did you mean|belongs to|plan it|note|"
    r"takes)\b"
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


# English words that a German text does not have.
ENGLISH = re.compile(
    r"\b(should|the|is|are|it|got|and|with|which|use|give|did|you|your|not|"
    r"must|cannot|does|has|have|from|missing)\b"
)
SEVERAL_GERMAN = re.compile(
    r"(?<![\w.,:/-])1 (?:Personen|Menschen|Leute|Schichten|Kopien|Zeilen|Meldungen|Datensätze|"
    r"Fragen|Tabellen|Spalten|Einladungen|Nachrichten|Bits|Zellen|Optionen|Codes|Antworten|Runden|Teile|"
    r"Sekunden)\b"
)
GENDERED = re.compile(r"\w[*:_/]-?in(nen)?\b")


# Messages that cite the parser of the command line, which speaks English.
CITING = {"cli.not-expected", "cli.not-accepted", "cli.cannot-be-used"}


def faults(error: Exception, typed: bool = False) -> Iterator[str]:
    """What is wrong with an error's messages; typed: whether they come from the command line."""
    if not isinstance(error, IncrowdError) or type(error) is IncrowdError:
        yield f"{type(error).__name__} is none of our errors"
        return
    if not error.problems:
        yield "says nothing"
    for problem in error.problems:
        field = spelled(problem.path)
        yield from english_faults(field, _after(field, str(problem)), typed)
        line = as_typed(problem).text(option=as_option)
        if PARAMETER.search(line):
            yield f"names a parameter at the command line: {line}"
        if problem.code not in CITING:
            message = _after(spelled(problem.path, "de"), problem.text("de"))
            if isinstance(reason := problem.arguments.get("reason"), str):
                message = message.replace(reason, "x")  # other libraries and results speak English
            yield from german_faults(message, _after(field, str(problem)))


def english_faults(field: str, message: str, typed: bool = False) -> Iterator[str]:
    """What is wrong with a message. field: where it is; typed: whether a command says it."""
    found, _, advice = message.partition("; ")
    advice = _unquoted(advice or message)
    rules = {
        "names no field": bool(field.strip()),
        "does not say what would work": bool(WORKS.search(advice)),
        "has a clause without a subject": "; " not in message or not BARE.search(advice),
        "has a clause of one word": all(" " in clause for clause in advice.split("; ")),
        "shows what only Python reads": not BRACKETS.search(found),
        "has double punctuation": not DOUBLE.search(_unquoted(message)),
        "does not end properly": bool(ENDING.search(message)),
        "begins with a capital letter": not (found[:1].isupper() or advice[:1].isupper())
        or advice.startswith("Spark"),
        "counts one thing as several": not SEVERAL.search(message),
        "is not spelled the American way": not BRITISH.search(message),
        "describes nothing": bool(found.strip()),
        "names an option in the library": typed or not OPTION.search(f"{field} {advice}"),
    }
    yield from (f"{rule}: {field}: {message}" for rule, holds in rules.items() if not holds)


def german_faults(message: str, english: str = "") -> Iterator[str]:
    """What is wrong with a message in German. english: the same message in English."""
    words = _unquoted(message)
    rules = {
        "is not translated": message != english,
        "has English words": not ENGLISH.search(words),
        "has double punctuation": not DOUBLE.search(words),
        "does not end properly": bool(ENDING.search(message.removesuffix("“"))),
        "counts one thing as several": not SEVERAL_GERMAN.search(message),
        "has a gendered star": not GENDERED.search(words),
    }
    yield from (f"{rule}: {message}" for rule, holds in rules.items() if not holds)


def _after(field: str, line: str) -> str:
    return line.removeprefix(f"{visible(field)}: ")


def _unquoted(text: str) -> str:
    """Without what is quoted, which may be punctuation, and without lists as TOML writes them."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^]]*\]|\{[^}]*\}|\.\w+", "x", text)
