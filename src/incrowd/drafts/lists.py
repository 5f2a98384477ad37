"""Cells that list several answers, and what separates these."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from incrowd.survey import NONE, SEPARATOR

STRONG = (SEPARATOR, "||", "|", "\n")  # which hardly occur within answers
SEPARATORS = (*STRONG, ",", "/")  # the first one that fits; then joiners of other cells, and spaces
MOST_CELLS = 400  # different ones, in which joiners are looked for
ALONE = 0.5  # of the items of weak separators, which also occur within answers, stand alone
SPACED = 0.75  # of items between spaces, which also separate words
FREQUENT = 2  # cells: an item in so many different ones recurs
MOST_ITEMS = 60
NEGATIONS = frozenset({"not", "no", "non", "nicht", "kein", "keine"})
_CODE = re.compile(r"[a-z0-9_.-]+")
_WORD = re.compile(r"[\w.-]+")
_AND = frozenset({"and", "or", "und", "oder", "et", "ou", "y", "o", "e", "of", "the", "to", "bis"})


class ListedAnswers(NamedTuple):
    """The items in the cells of a column: the rows with each, the largest number in one cell."""

    separator: str
    counts: Mapping[str, int]
    longest: int


def listed_answers(counts: Mapping[str, int]) -> ListedAnswers | None:
    """Return the items that cells list; None if each cell is one answer.

    counts: the rows with each cell. Items recur in several combinations, which answers that happen
    to contain a comma or a space do not.
    """
    for separator in (*SEPARATORS, *_joiners(counts), " "):
        if listed := _split_at(separator, counts):
            return listed
    return None


_JOINER = re.compile(r"\s*[^\w\s()\[\]\"'.-]+\s*(?=\w)|\s(?:and|und|et|y|e|&)\s(?=\w)")


_AT_END = re.compile(r"\s*[^\w\s()\[\]\"'.-]*\s*$")


def _joiners(counts: Mapping[str, int]) -> list[str]:
    """Return what joins cells in longer ones, such as " and " in "Tea and Milk" beside "Tea"."""
    if len(counts) > MOST_CELLS:
        return []
    joiners = Counter[str]()
    cells = {_AT_END.sub("", cell) for cell in counts}
    for cell in cells:
        for one in cells:
            rest = cell[len(one) :]
            if rest and cell.startswith(one) and (match := _JOINER.match(rest)):
                joiners[match[0] if match[0].strip().isalpha() else match[0].strip()] += 1
    return [joiner for joiner, times in joiners.most_common() if times > 1]


def is_ranking(counts: Mapping[str, int]) -> bool:
    """Return whether every cell lists the same items, three or more, in an order of its own."""
    for separator in (*SEPARATORS, ">", " "):
        orders = {items_of(cell, separator) for cell in counts}
        same = len({tuple(sorted(each)) for each in orders}) == 1
        if same and len(orders) > 2 and len(next(iter(orders))) > 2:
            return True
    return False


def may_list(counts: Mapping[str, int]) -> str | None:
    """Return a cell that may list several codes between spaces, or contain two words; None if there
    is none. A code of it is in another cell as well; "not married" is one answer."""
    cells = {cell: cell.split() for cell in counts}
    if any(len(items) > 1 and items[0] in NEGATIONS for items in cells.values()):
        return None
    if not all(_CODE.fullmatch(item) for items in cells.values() for item in items):
        return None
    different = Counter(item for items in cells.values() for item in {*items})
    several = (cell for cell, items in cells.items() if len(items) > 1)
    return next((c for c in several if any(different[item] > 1 for item in cells[c])), None)


def items_of(cell: str, separator: str) -> tuple[str, ...]:
    """Return the different items of a cell."""
    parts = cell.split() if separator == " " else cell.split(separator)
    return tuple(dict.fromkeys(item for part in parts if (item := part.strip())))


def _split_at(separator: str, counts: Mapping[str, int]) -> ListedAnswers | None:
    cells = {cell: items_of(cell, separator) for cell in counts}
    cells = cells if separator in STRONG else _with_inner(cells)
    several = [listed for listed in cells.values() if len(listed) > 1]
    trailing = any(cell.strip().endswith(separator) for cell in counts if separator != " ")
    if not several and not (trailing and separator in STRONG):
        return None
    rows, different = Counter[str](), Counter[str]()
    for cell, listed in cells.items():
        rows.update(dict.fromkeys(listed, counts[cell]))
        different.update(listed)
    items = [item for item in rows if item != NONE]
    if not items or len(items) > MOST_ITEMS:
        return None
    strong = separator in STRONG
    if separator == " " and any(_repeats(cell) for cell in counts):
        return None  # words of a text: nobody gives the same answer twice
    if strong and len(items) >= len(counts) and several:
        return None
    if not strong and not _weak(separator, cells, items, different):
        return None
    return ListedAnswers(separator, rows, max(map(len, cells.values()), default=1) or 1)


def _repeats(cell: str) -> bool:
    words = cell.split()
    return len({*words}) < len(words)


def _with_inner(cells: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the items of cells, with those that contain the separator whole again.

    Such items have parts that are nowhere apart, as in "Calls (Zoom, Teams)".
    """
    whole = dict(cells)
    while pair := _inseparable(whole.values()):
        for cell, listed in whole.items():
            if pair[0] in listed:
                place = listed.index(pair[0])
                between = cell[cell.index(pair[0]) + len(pair[0]) :]
                joined = pair[0] + between[: between.index(pair[1])] + pair[1]
                whole[cell] = (*listed[:place], joined, *listed[place + 2 :])
    return whole


def _inseparable(lists: Iterable[tuple[str, ...]]) -> tuple[str, str] | None:
    """Return two items that follow each other wherever one of them is, in several lists; or in one,
    if a bracket opens in the first and closes in the second."""
    after, before, times = defaultdict(set), defaultdict(set), Counter[str]()
    for listed in lists:
        for one, other in pairwise(("", *listed, "")):
            after[one].add(other)
            before[other].add(one)
        times.update(listed)
    for one in times:
        (other, *more) = after[one]
        if other and not more and before[other] == {one}:
            inside = one.count("(") > one.count(")")
            if inside or times[one] > 1:
                return one, other
    return None


def _weak(
    separator: str,
    cells: Mapping[str, tuple[str, ...]],
    items: list[str],
    different: Mapping[str, int],
) -> bool:
    """Return whether items of a weak separator recur, and most of them stand alone as well."""
    least = SPACED if separator == " " else ALONE
    alone = {listed[0] for listed in cells.values() if len(listed) == 1}
    several = [listed for listed in cells.values() if len(listed) > 1]
    numbers = all(re.fullmatch(r"-?\d+", item) for item in items)
    if separator == "," and numbers and max(map(len, several)) == 2 and not _rising(several):
        return False  # decimal commas
    if separator == " " and any(not _WORD.fullmatch(item) or item in _AND for item in items):
        return False
    if separator == "/" and any(len(item) < 2 or item.isdigit() for item in items):
        return False
    recurring = sum(different[item] >= FREQUENT for item in items)
    combined = {item for listed in several for item in listed}
    return (
        len(items) > 2
        and len(alone.intersection(items)) >= least * len(items)
        and recurring >= 0.8 * len(items)
        and len(combined & alone) >= ALONE * len(combined)
        and len(several) >= 2
    )


def _rising(several: list[tuple[str, ...]]) -> bool:
    """Return whether the numbers in each cell rise, and each is on both sides of commas."""
    pairs = [tuple(map(int, listed)) for listed in several]
    firsts, lasts = {pair[0] for pair in pairs}, {pair[-1] for pair in pairs}
    return all(a < b for a, b in pairs) and len(firsts & lasts) * 2 >= min(len(firsts), len(lasts))
