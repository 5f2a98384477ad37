"""Lists of the words to look for among the answers to a text question."""

from __future__ import annotations

from pathlib import Path

from incrowd.encoding.bloom import normalize
from incrowd.errors import UsageError


def load_words(path: str | Path) -> tuple[str, ...]:
    """The words of a text file, one a line, normalized; empty lines are skipped, repeats too.

    Raises UsageError if the file cannot be read or holds no word.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "it is not UTF-8")
        allowed = f"it cannot be read: {reason}; name a text file with one word on each line"
        raise UsageError.of("words", str(path), allowed) from None
    found = tuple(dict.fromkeys(word for line in lines if (word := normalize(line))))
    if not found:
        raise UsageError.of("words", str(path), "it holds no word; write one word on each line")
    return found
