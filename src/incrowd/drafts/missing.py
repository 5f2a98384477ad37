"""Codes for no answer in a column of data: words, codes, and numbers that may be codes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from incrowd.encoding.amounts import CODES, NINES, beside_nines, is_code

FEW = 10  # rows: fewer tell of few people, and are no habit of whoever wrote the file
SPIKE = 3  # times as many rows as any other number has
LONG = 3  # digits: so many nines are hardly an answer that most people share
WORDS = frozenset(
    {
        *("na", "n/a", "#n/a", "nan", "null", ".", "-", "--", "?", "missing"),
        *("no answer", "not answered", "refused", "refusal", "unknown/refused", "missing value"),
        *("prefer not to say", "prefer not to answer", "not applicable", "not asked"),
        *("keine angabe", "k.a.", "verweigert", "sans réponse", "sin respuesta", "nsp"),
    }
)


def no_answers(counts: Mapping[str, int], labels: Mapping[str, str]) -> tuple[str, ...]:
    """The values that look as if they stood for no answer.

    counts: of each value, its rows. labels: of the codes that have one, which then decides: 9 may
    be labeled "other". Only negative codes are taken for no answer whatever they are called.
    """
    codes = _unlabeled_no_answers(counts)
    words = {code for code, label in labels.items() if label.strip().casefold() in WORDS}
    return tuple(
        value
        for value in counts
        if value in words or (value in codes and (value not in labels or value.startswith("-")))
    )


def _unlabeled_no_answers(counts: Mapping[str, int]) -> tuple[str, ...]:
    words = tuple(value for value in counts if value.casefold() in WORDS)
    numbers = {v: n for v in counts if v not in words and (n := number(v)) is not None}
    if len(numbers) + len(words) < len(counts):  # codes among words: nothing else is a number
        others = [n for n in numbers.values() if n not in CODES]
        return (*words, *(v for v, n in numbers.items() if n in CODES and is_code(n, others)))
    rows = {n: counts[value] for value, n in numbers.items()}
    codes = {n for n in rows if n in CODES and is_code(n, [o for o in rows if o not in CODES])}
    codes |= _top_codes(rows, codes) | _heaped_nines(rows)
    if codes == set(rows):  # then they may well be answers
        return words
    return (*words, *(value for value, n in numbers.items() if n in codes))


def spikes(rows: Mapping[float, int]) -> list[float]:
    """The greatest number, if it stands in many rows and farther out than all others spread."""
    *others, last = sorted(rows)
    if len(others) < 2 or rows[last] < max(FEW, SPIKE * rows[others[-1]]):
        return []
    return [last] if last - others[-1] > others[-1] - others[0] else []


def number(text: str) -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _top_codes(rows: Mapping[float, int], known: set[float]) -> set[float]:
    """Nines at the upper end, and codes beside them, after a gap wider than those of the answers.

    Such as 9, or 8 and 9, behind a scale of 1 to 5; 99 behind hours of 10 to 59. A value of a few
    rows is left alone, unless it is so far out that `is_code` knows it.
    """
    values = sorted(rows)
    if not values or values[-1] not in NINES:
        return set()
    family = beside_nines(int(values[-1]))
    tail = len(values)
    while tail and values[tail - 1] in family:
        tail -= 1
    answers = [value for value in values[:tail] if value not in known]
    if len(answers) < 2:
        return set()
    codes = values[tail:]
    while codes and codes[0] - answers[-1] <= _widest_gap(answers):
        answers.append(codes.pop(0))
    often = codes and rows[codes[-1]] >= FEW
    return set(codes) if often or known.intersection(codes) else set()


def _widest_gap(answers: Sequence[float]) -> float:
    """Among the upper half of sorted answers, where gaps are widest."""
    upper = answers[len(answers) // 2 - 1 :]
    return max(after - before for before, after in pairwise(upper))


def _heaped_nines(rows: Mapping[float, int]) -> set[float]:
    """Nines amid the answers that far more people gave than any other number."""
    most = sorted(rows.values())[-2:]
    return {
        n
        for n, count in rows.items()
        if n in NINES
        and n >= 10 ** (LONG - 1)
        and count >= max(FEW, SPIKE * most[0])
        and count == most[-1]
    }
