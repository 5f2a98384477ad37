"""Free text as bits: a Bloom filter in blocks, with different hash functions in each cohort.

This is RAPPOR's encoding (Erlingsson, Pihur and Korolova 2014, section 2), except that every hash
function has a separate block of bits and sets exactly one of them: a text is `hashes` exclusive
choices of `block` options. A report also shows its cohort c, one of C, which the device draws
uniformly and independently of the word x; the cohort is not randomized and reveals nothing about
the word.

A pair of words leaks at most as much as the farthest two answers to these choices, in the whole
crowd of N people: docs/mathematics.md#cohorts-and-blocks.
"""

from __future__ import annotations

import hashlib
import logging
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from incrowd.catalog.sentences import Sentence, sentence, system_words
from incrowd.errors import UsageError

_log = logging.getLogger(__name__)
DOMAIN = b"incrowd word 1"
NUMBER_BYTES = 8


def normalize(word: str) -> str:
    """Return the word as it is hashed: Unicode NFC, without surrounding space, case unchanged."""
    return unicodedata.normalize("NFC", word).strip()


def load_words(path: str | Path) -> tuple[str, ...]:
    r"""Read the words of a text file, one per line.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    tuple of str
        The normalized words, without empty lines and repeats.

    Raises
    ------
    UsageError
        If the file cannot be read or contains no word.

    Examples
    --------
    >>> from pathlib import Path
    >>> import incrowd
    >>> written = Path("words.txt").write_text("apple\n\npear\napple\n")
    >>> incrowd.load_words("words.txt")
    ('apple', 'pear')
    """
    _log.info("reading %s, words", path)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason: Sentence | str = sentence("encoding.not-utf-8")
        if isinstance(error, OSError):
            reason = system_words(error)
        raise UsageError.of(
            "words", "encoding.words-unreadable", value=str(path), reason=reason
        ) from None
    words = tuple(dict.fromkeys(word for line in lines if (word := normalize(line))))
    if not words:
        raise UsageError.of("words", "encoding.no-words", value=str(path))
    return words


def places(
    words: Sequence[str], cohorts: np.ndarray, question: str, hashes: int, block: int
) -> np.ndarray:
    """Return which bit of each block a word sets in its cohort.

    words, cohorts: one per row, cohorts as integers. Returns int64, shape (rows, hashes), from 0 to
    block - 1: SHA-256 of domain, question, cohort, block number and normalized word, as a number
    modulo `block`, so uniform to within block / 2^256. Each distinct pair of word and cohort is
    hashed once.
    """
    keys = list(zip(map(normalize, words), np.asarray(cohorts).tolist(), strict=True))
    prefix = _framed(DOMAIN) + _framed(_text(question))
    bits = {
        (word, cohort): [_digest(prefix, cohort, number, word) % block for number in range(hashes)]
        for word, cohort in set(keys)
    }
    return np.array([bits[key] for key in keys], np.int64).reshape(len(keys), hashes)


def candidate_places(
    words: Sequence[str], cohorts: int, question: str, hashes: int, block: int
) -> np.ndarray:
    """Return the bits of every word in every cohort: shape (words, cohorts, hashes)."""
    repeated = [word for word in words for _ in range(cohorts)]
    bits = places(repeated, np.tile(np.arange(cohorts), len(words)), question, hashes, block)
    return bits.reshape(len(words), cohorts, hashes)


def _digest(prefix: bytes, cohort: int, number: int, word: str) -> int:
    parts = (_number(cohort), _number(number), _text(word))
    return int.from_bytes(hashlib.sha256(prefix + b"".join(map(_framed, parts))).digest(), "big")


def _framed(text: bytes) -> bytes:
    """Return a text after its length, so that different sequences of texts have different bytes."""
    return _number(len(text)) + text


def _number(value: int) -> bytes:
    return value.to_bytes(NUMBER_BYTES, "big")


def _text(text: str) -> bytes:
    """Return UTF-8; lone surrogates, which a damaged source may contain, are encoded as well."""
    return text.encode("utf-8", "surrogatepass")
