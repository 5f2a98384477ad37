"""Words nobody has listed, as bits: a Bloom filter in blocks, hashed anew for each cohort.

RAPPOR's encoding (Erlingsson, Pihur and Korolova 2014, section 2), but every hash function has a
block of bits to itself and sets exactly one of them: a text is `hashes` exclusive choices of
`block` options. A report also shows its cohort c, one of C, which the device draws uniformly and
independently of the word x; the cohort is not randomized and says nothing of the word.

No two words leak more than the farthest two answers to those choices, with the whole crowd N:
docs/mathematics.md#cohorts-and-blocks.
"""

from __future__ import annotations

import hashlib
import logging
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from incrowd.errors import UsageError

_log = logging.getLogger(__name__)
DOMAIN = b"incrowd word 1"
NUMBER_BYTES = 8


def normalize(word: str) -> str:
    """The word as it is hashed: Unicode NFC, no white space around it; letter case is kept."""
    return unicodedata.normalize("NFC", word).strip()


def load_words(path: str | Path) -> tuple[str, ...]:
    """The words of a text file, one a line, normalized; empty lines are skipped, repeats too.

    Raises UsageError if the file cannot be read or holds no word.
    """
    _log.info("reading %s, words", path)
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


def places(
    words: Sequence[str], cohorts: np.ndarray, question: str, hashes: int, block: int
) -> np.ndarray:
    """Which bit of each block a word sets in its cohort.

    words and cohorts: one of each for every row, cohorts as integers. Returns int64, shape (rows,
    hashes), from 0 to block - 1: SHA-256 of domain, question, cohort, block number and normalized
    word, read as a number and taken modulo `block`, so uniform to within block / 2^256. Each
    distinct pair of word and cohort is hashed once.
    """
    keys = list(zip(map(normalize, words), np.asarray(cohorts).tolist(), strict=True))
    prefix = _framed(DOMAIN) + _framed(_text(question))
    found = {
        (word, cohort): [_digest(prefix, cohort, number, word) % block for number in range(hashes)]
        for word, cohort in set(keys)
    }
    return np.array([found[key] for key in keys], np.int64).reshape(len(keys), hashes)


def candidate_places(
    words: Sequence[str], cohorts: int, question: str, hashes: int, block: int
) -> np.ndarray:
    """The places of every word in all of 0 to cohorts - 1: shape (words, cohorts, hashes)."""
    repeated = [word for word in words for _ in range(cohorts)]
    found = places(repeated, np.tile(np.arange(cohorts), len(words)), question, hashes, block)
    return found.reshape(len(words), cohorts, hashes)


def _digest(prefix: bytes, cohort: int, number: int, word: str) -> int:
    parts = (_number(cohort), _number(number), _text(word))
    return int.from_bytes(hashlib.sha256(prefix + b"".join(map(_framed, parts))).digest(), "big")


def _framed(text: bytes) -> bytes:
    """A text after its length: no two sequences of texts are written alike."""
    return _number(len(text)) + text


def _number(value: int) -> bytes:
    return value.to_bytes(NUMBER_BYTES, "big")


def _text(text: str) -> bytes:
    """UTF-8; half a surrogate pair, which a broken source may hold, is kept."""
    return text.encode("utf-8", "surrogatepass")
