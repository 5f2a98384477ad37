"""Text questions: the words that people gave, looked up in a list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from incrowd.encoding.bloom import candidate_places, normalize
from incrowd.errors import UsageError
from incrowd.estimation import word_shares
from incrowd.plans import Plan
from incrowd.survey import Text
from incrowd.tally.tally import Tally
from incrowd.workflow.sources import sources


def load_words(path: str | Path) -> tuple[str, ...]:
    """The words of a text file, one a line, normalized; empty lines are skipped, repeats too.

    Raises UsageError if the file cannot be read or holds no word.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError.of("words", str(path), f"cannot be read: {error}") from None
    found = tuple(dict.fromkeys(word for line in lines if (word := normalize(line))))
    if not found:
        raise UsageError.of("words", str(path), "holds no word; write one a line")
    return found


def estimate_words(
    plan: Plan, tally: Tally, id: str, candidates: Sequence[str]
) -> word_shares.WordEstimates:
    """The share of each candidate among the answers to a text question.

    Of several messages that hold the question the sharpest is read.
    """
    question = plan.survey.question(id)
    assert isinstance(question, Text)
    source = max(sources(plan, (id,)), key=lambda source: source.weight)
    names = [normalize(word) for word in candidates]
    places = candidate_places(names, question.cohorts, id, question.hashes, question.block)
    counts = tally.messages[source.number].tables[(id,)]
    inverse = source.message.channels[id].inverse
    return word_shares.estimate_words(names, places, counts, inverse, source.message.copies)
