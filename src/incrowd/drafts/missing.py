"""Codes for no answer in a column of data: words, codes, and numbers that may be codes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from incrowd.encoding.amounts import CODES, NINES, beside_nines, is_code

FEW = 10  # rows: a value in fewer rows reveals a few people, and is hardly a code
SPIKE = 3  # a code may have so many times the rows of any other number
LONG = 3  # digits: so many nines are hardly the answer of many people
WORDS = frozenset(
    {
        *("na", "n/a", "#n/a", "nan", "null", ".", "-", "--", "?", "missing"),
        *("no answer", "not answered", "refused", "refusal", "unknown/refused", "missing value"),
        *("..", "...", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "n.a.", "unk"),
        *("asku", "nask", "msk"),  # of HL7, as REDCap writes them
        *("prefer not to say", "prefer not to answer", "not applicable", "not asked"),
        *("keine angabe", "k.a.", "verweigert", "sans réponse", "sin respuesta", "nsp"),
    }
)

SOFTWARE = frozenset({"na", "nan", "null", "#n/a", "<na>", "."})  # writes these for empty cells


def no_answers(counts: Mapping[str, int], labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that seem to mean no answer.

    counts: the number of rows with each value. labels: the labels of codes. A label decides, since
    9 may be labeled "other"; only a negative code means no answer whatever its label.
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
    if len(numbers) + len(words) < len(counts):  # among other words, only codes are numbers
        others = [n for n in numbers.values() if n not in CODES]
        return (*words, *(v for v, n in numbers.items() if n in CODES and is_code(n, others)))
    rows = {n: counts[value] for value, n in numbers.items()}
    if _is_symmetric(rows):
        return words
    if far := _beside_symmetric(rows):
        return (*words, *(value for value, n in numbers.items() if n in far))
    codes = {n for n in rows if n in CODES and is_code(n, [o for o in rows if o not in CODES])}
    codes |= _top_codes(rows, codes) | _heaped_nines(rows)
    if codes == set(rows):  # then they may well be the answers
        return words
    return (*words, *(value for value, n in numbers.items() if n in codes))


MOST_STEPS = 10  # on each side of zero


def _is_symmetric(rows: Collection[float]) -> bool:
    """Return whether whole numbers are a scale around zero, such as -2 to 2; a scale of at least
    two steps down may lack the last step up, which nobody chose."""
    low, high = min(rows, default=0), max(rows, default=0)
    if not all(n == int(n) for n in rows) or not -MOST_STEPS <= low < 0 < high <= MOST_STEPS:
        return False
    below = [n for n in rows if n < 0]
    if low == -high:
        return True
    return len(below) == -low >= 2 and -low - 1 <= high <= -low + 1


def _beside_symmetric(rows: Collection[float]) -> set[float]:
    """Return codes such as -9 or 99 that are farther out than a scale around zero; none without
    such a scale."""
    far = {n for n in rows if n in CODES and abs(n) >= LEAST_FAR}
    steps = [n for n in rows if n not in far]
    symmetric = _is_symmetric(steps) and min(steps) == -max(steps)
    gap = symmetric and min(map(abs, far), default=0) > max(steps) + 1
    return far if gap else set()


LEAST_FAR = 7  # the least code for no answer, as in 7, 8, 9


def stray_words(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the words in a column of numbers, which seem to mean no answer.

    Examples are "don't know", "NI", "#DIV/0!", and "60+". counts: the rows with each value.
    """
    words = [value for value in counts if number(value) is None and value.casefold() not in WORDS]
    usual = sum(value.casefold() in WORDS for value in counts)
    numbers = len(counts) - len(words) - usual
    rows = sum(counts[word] for word in words)
    few = len(words) <= max(MOST_STRAY, numbers // 4) and 2 * rows <= sum(counts.values())
    return tuple(words) if numbers > FEWEST_NUMBERS and few else ()


MOST_STRAY = 4  # different words in a column of numbers
FEWEST_NUMBERS = 10  # with more different ones, the column is one of numbers


def spikes(rows: Mapping[float, int]) -> list[float]:
    """Return the largest number, if many rows have it and it is far beyond the range of
    all others."""
    *others, last = sorted(rows)
    if last <= 1:  # of shares, which are rarely coded
        return []
    if len(others) < 2 or rows[last] < max(FEW, SPIKE * rows[others[-1]]):
        return []
    return [last] if last - others[-1] > others[-1] - others[0] else []


def number(text: str) -> float | None:
    """Return the finite number that a text represents; None if it represents none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _top_codes(rows: Mapping[float, int], codes: set[float]) -> set[float]:
    """Return nines at the upper end, and codes beside them, after a gap wider than between the
    answers.

    Examples are 9, or 8 and 9, after a scale of 1 to 5, and 99 after hours of 10 to 59. A value in
    a few rows does not count, unless it is among `codes`, which `is_code` recognized.
    """
    values = sorted(rows)
    if not values or values[-1] not in NINES:
        return set()
    family = beside_nines(int(values[-1]))
    tail = len(values)
    while tail and values[tail - 1] in family:
        tail -= 1
    answers = [value for value in values[:tail] if value not in codes]
    if len(answers) < 2:
        return set()
    top = values[tail:]
    while top and top[0] - answers[-1] <= _widest_gap(answers):
        answers.append(top.pop(0))
    frequent = top and rows[top[-1]] >= FEW
    return set(top) if frequent or codes.intersection(top) else set()


def _widest_gap(answers: Sequence[float]) -> float:
    """Return the widest gap in the upper half of sorted answers."""
    upper = answers[len(answers) // 2 - 1 :]
    return max(after - before for before, after in pairwise(upper))


def _heaped_nines(rows: Mapping[float, int]) -> set[float]:
    """Return nines among the answers that have far more rows than any other number."""
    most = sorted(rows.values())[-2:]
    return {
        n
        for n, count in rows.items()
        if n in NINES
        and n >= 10 ** (LONG - 1)
        and count >= max(FEW, SPIKE * most[0])
        and count == most[-1]
    }
