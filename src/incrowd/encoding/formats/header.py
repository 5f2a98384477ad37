"""The header of a table, and the rows around it that are not people.

Survey software writes titles and dates above the names of the columns, and question texts, import
ids, or units below them. Every format of rows finds its header here, whoever reads the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median_low
from typing import Any

from incrowd.characters import cleaned

Row = Sequence[str]  # cells without surrounding white space; "" is an empty cell

LOOKED_AT = 500  # rows, or fewer if they have many cells
FEWEST_LOOKED_AT = 20
CELLS = 200_000
MOST_ABOVE = 50  # rows above the names
FEWEST_WEAK = 3  # texts that nobody gave, in all columns, from which a row is no person
WORDING = 3  # words
MOST_BELOW = 3  # rows below the names that are not people
FEWEST = 5  # values from which the kind of a column can be told
SHOWN = 60  # characters of a row in a note
_NUMBER = re.compile(r"[+-]?(\d[\d.,' \u00a0\u202f\u2019]*|[.,]\d+)([eE][+-]?\d+)?\s*%?")
_DATE = re.compile(
    r"(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d\d(\d\d)?)([T ]+\d\d?:\d\d.*)?"
)
_ADDRESS = re.compile(r"\S+@\S+\.\w+|\d{1,3}(\.\d{1,3}){3}|https?://\S+")
_IMPORT_ID = re.compile(r'\s*\{\s*"ImportId"')
_AMOUNT = re.compile(r"\D{0,8}\d[\d.,]*\D{0,8}")  # such as "about 5" or "60+"
_FILLERS = frozenset(
    {
        *("response", "responses", "open-ended response", "other (please specify)"),
        *("antwort", "antworten", "offene antwort", "sonstiges (bitte angeben)"),
    }
)
_UNITS = frozenset(
    {
        *("years", "year", "months", "weeks", "days", "hours", "h", "minutes", "min", "seconds"),
        *("s", "kg", "g", "mg", "lb", "lbs", "cm", "m", "mm", "km", "ft", "in", "inches", "miles"),
        *("%", "percent", "eur", "euro", "usd", "€", "$", "£", "°c", "kcal", "points", "count"),
        *("jahre", "jahr", "monate", "wochen", "tage", "stunden", "minuten", "prozent", "punkte"),
    }
)
_TOTALS = frozenset(
    {
        *("total", "totals", "grand total", "subtotal", "sum", "sums", "average", "mean", "n ="),
        *("median", "minimum", "maximum", "min", "max", "std", "std. dev", "sd", "count"),
        *("summe", "summen", "gesamt", "gesamtsumme", "mittelwert", "durchschnitt", "anzahl"),
        *("insgesamt", "zwischensumme"),
    }
)
_NOTE = re.compile(
    r"(?:sources?|quellen?|notes?|anmerkung(?:en)?|hinweise?|remarks?|legende?|stand|comments?)\s*:"
    r"|(?:exported|generated|created|downloaded|printed|report|erstellt|exportiert|gedruckt)\b"
    r"|n\s*=\s*\d|\d[\d.,]* (?:rows|records|responses|people|cases|zeilen|antworten|personen)\b"
    r"|end of\b|ende de[rs]\b|[*†‡§©]+\s*\w|copyright\b|\(c\)\s",
    re.IGNORECASE,
)
MOST_AFTER = 20  # rows below a table that are not people
_NO_ANSWERS = frozenset(
    {
        *("na", "n/a", "#n/a", "nan", "null", "none", "missing", "unknown", "refused"),
        *("don't know", "dont know", "do not know", "dk", "ni", "n.a.", "no answer"),
        *("prefer not to say", "prefer not to answer", "not applicable"),
        *("keine angabe", "k.a.", "weiß nicht", "weiss nicht", "verweigert", "unbekannt"),
    }
)


@dataclass(frozen=True)
class TableHeader:
    """The names of the columns of a table, and which of its first rows are not people.

    names: one for each column; "" if it has none. first: the number of rows before the first
    person, with that of the names. texts: the wording of columns, from a row below the names.
    skipped: what the rows above and below the names say, shortened. doubtful: whether the first
    person may be another header. answers: the row of the names, if it looks like answers.
    """

    names: tuple[str, ...] = ()
    first: int = 1
    texts: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    doubtful: bool = False
    answers: str = ""


def looked_at(width: int) -> int:
    """Return how many rows of a table are looked at. width: the number of cells of a row."""
    return min(LOOKED_AT, max(FEWEST_LOOKED_AT, CELLS // max(1, width)))


def header_of(cells: Sequence[Sequence[Any]], wanted: Sequence[str] = ()) -> TableHeader:
    """Return the header of a table from the cells of its first rows; None is an empty cell.

    wanted: the names of columns that a survey has; a row with one of them has no answers.
    """
    most = looked_at(max(map(len, cells[:FEWEST_LOOKED_AT]), default=1))
    rows = [["" if c is None else str(c).strip() for c in row] for row in cells[:most]]
    top = _top(rows)
    if top is None:
        return TableHeader()
    width = max(_used(row) for row in rows[top:])
    named = _padded(rows[top], width)
    below = [_padded(row, width) for row in rows[top + 1 :]]
    two_levels = bool(below) and _is_second_level(named, below)
    extra = [below[0]] if two_levels else []
    while len(extra) < min(MOST_BELOW, len(below)) and _is_extra(below, len(extra)):
        extra.append(below[len(extra)])
    people = below[len(extra) :]
    stated = [str(cell) if name else "" for name, cell in zip(named, cells[top], strict=False)]
    names = _combined(stated, below[0]) if two_levels else _padded(stated, width)
    answers = not extra and not {*wanted} & {*names} and _is_data(named, people)
    return TableHeader(
        tuple(names),
        top + 1 + len(extra),
        _texts(names, extra[two_levels:]),
        tuple(shortened(row) for row in (*rows[:top], *extra) if any(row)),
        bool(people) and not answers and _may_be_extra(people),
        shortened(named) if answers else "",
    )


def shortened(row: Row) -> str:
    """Return a row for a note."""
    text = cleaned(" ".join(", ".join(cell for cell in row if cell).split()))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def rows_after(rows: Sequence[Row]) -> int:
    """Return how many of the last rows are not people: totals, sources, notes, and empty rows.

    rows: the last rows of a table.
    """
    after = 0
    for number, row in enumerate(reversed(rows), start=1):
        above = rows[: len(rows) - number]
        if number > MOST_AFTER or (any(row) and not _is_after(row, above)):
            break
        after = number
    return after


def _is_after(row: Row, above: Sequence[Row]) -> bool:
    """Return whether a row sums up the rows above it, or is a note about them. A word that other
    rows have in the same column is an answer."""
    place = next(n for n, cell in enumerate(row) if cell)
    cell, values = row[place], [each[place] for each in above if len(each) > place and each[place]]
    width = max(map(_filled, above), default=0)
    if cell in values or width < 2:
        return False
    if _is_total(cell):  # a person can be called Max: words beside it are her answers
        return all(_NUMBER.fullmatch(each) or _is_total(each) for each in row[place + 1 :] if each)
    alone = _filled(row) == 1
    return alone and (bool(_NOTE.match(cell)) or (width > 2 and is_unlike(cell, values)))


def _is_total(cell: str) -> bool:
    return cell.casefold().rstrip(" :.=") in _TOTALS


def is_unlike(cell: str, values: Sequence[str]) -> bool:
    """Return whether a cell is a word in a column of numbers or dates."""
    return _unlike(cell, values) == 2


def _used(row: Row) -> int:
    """Return the number of cells up to the last one that is filled."""
    return max((place + 1 for place, cell in enumerate(row) if cell), default=0)


def _padded(row: Row, width: int) -> list[str]:
    return [*row[:width], *[""] * (width - len(row))]


def _filled(row: Row) -> int:
    return sum(bool(cell) for cell in row)


# Above the names: titles, dates of export, comments, and empty rows.


def _top(rows: Sequence[Row]) -> int | None:
    """Return the number of the row with the names; None if all rows are empty."""
    start = next((place for place, row in enumerate(rows) if any(row)), None)
    if start is None:
        return None
    top = start
    while top < start + MOST_ABOVE and _is_above(rows[top], rows[top + 1 :]):
        top = next(n for n in range(top + 1, len(rows)) if any(rows[n]))
    below = [_padded(row, len(rows[top])) for row in rows[top + 1 :]]
    return start if top > start and _is_data(rows[top], below, any_cell=True) else top


def _is_above(row: Row, rest: Sequence[Row]) -> bool:
    """Return whether a row has a title, a date, or a comment, and not names: at most two cells,
    where those below have more."""
    below = [_filled(each) for each in rest if any(each)]
    if len(below) < 2 or not row[0]:
        return False
    filled, usual = _filled(row), median_low(below)
    if row[0].startswith("#") and len(row) < max(map(len, rest)):
        return True
    return usual >= (2 if filled == 1 else 2 * filled + 1) and filled <= 2


# Below the names.


def _is_second_level(named: Row, below: Sequence[Row]) -> bool:
    """Return whether the next row has the options of questions that stand above the first of
    several columns, as when cells were merged."""
    second, rest = below[0], below[1:]
    gaps = [n for n, name in enumerate(named) if not name and any(row[n] for row in below)]
    inner = [n for n in gaps if any(named[:n])]
    if not inner or inner != gaps or not all(second[n] for n in inner):
        return False
    kinds = [_unlike(second[n], [row[n] for row in rest if row[n]]) for n in range(len(named))]
    return -1 not in kinds


def _combined(stated: Row, second: Row) -> list[str]:
    """Return the names of columns of which several have a question in common."""
    names, group, named = [], "", _padded(stated, len(second))
    for n, (name, option) in enumerate(zip(named, second, strict=True)):
        group = name or group
        shared = not name or (n + 1 < len(named) and not named[n + 1] and bool(second[n + 1]))
        names.append(f"{group.strip()} - {option}" if shared and option else name)
    return names


def _is_extra(below: Sequence[Row], place: int) -> bool:
    """Return whether a row below the names is certain to be no person."""
    row, later = below[place], below[place + 1 : place + 2]
    if _has_import_ids(row) or (later and _has_import_ids(later[0])):
        return True
    cells = [(cell, n) for n, cell in enumerate(row) if cell]
    if not cells:
        return False
    people = below[place + MOST_BELOW :] if len(below) > 2 * MOST_BELOW else below[place + 1 :]
    kinds = [_unlike(cell, [each[n] for each in people if each[n]]) for cell, n in cells]
    if -1 in kinds:
        return False
    texts = [_plain(cell) for cell, _ in cells]
    if all(text in _FILLERS for text in texts):
        return len(people) >= 2
    if 2 in kinds and all(t in _UNITS or kind == 0 for t, kind in zip(texts, kinds, strict=True)):
        return True
    strong = {text for text, kind in zip(texts, kinds, strict=True) if kind == 2}
    weak = kinds.count(1)
    covering = 2 * (len(strong) + weak) >= len(cells)
    every = weak == len(cells) >= FEWEST_WEAK and any(_is_wording(cell) for cell, _ in cells)
    return covering and (len(strong) >= 2 or (bool(strong) and weak >= 1) or weak >= 4 or every)


def _plain(cell: str) -> str:
    """Return a text without the brackets in which units are often written."""
    text = cell.casefold()
    return text if text in _FILLERS else text.strip("()[]. ")


def _may_be_extra(people: Sequence[Row]) -> bool:
    """Return whether the first person has a text in the only column of numbers that it fills, or
    answers that nobody else gave in all columns, one of them a question or a sentence."""
    first, rest = people[0], people[1:]
    kinds = [
        _unlike(cell, [row[n] for row in rest if row[n]]) for n, cell in enumerate(first) if cell
    ]
    every = kinds.count(1) == len(kinds) > 1
    wording = len(kinds) >= FEWEST_WEAK or any(map(_is_wording, first))
    return -1 not in kinds and (2 in kinds or (every and wording))


def _is_wording(cell: str) -> bool:
    """Return whether a cell is a question, or has as many words as a question."""
    return cell.endswith("?") or len(cell.split()) >= WORDING


def _has_import_ids(row: Row) -> bool:
    return any(map(_IMPORT_ID.match, row))


def _unlike(cell: str, values: Sequence[str]) -> int:
    """Return how much a cell differs from the values below it: 2 for a word above numbers or
    dates, 1 for a text that no value has although they recur, 0 if nothing follows, and -1 if it is
    one of them."""
    if not cell or not values or {*values} == {cell}:  # also a column of ticks, such as "Radio"
        return 0
    if cell in values:
        return -1
    for kind in (_NUMBER, _DATE, _ADDRESS):
        share = sum(map(bool, map(kind.fullmatch, values))) / len(values)
        if kind.fullmatch(cell):
            return -1 if share > 0.5 else 0
        if share >= 0.9 and len(values) >= FEWEST:
            answer = cell.casefold() in _NO_ANSWERS or _AMOUNT.fullmatch(cell)
            return 0 if answer else 2
    recurring = len(values) >= 2 * FEWEST and 4 * len({*values}) <= len(values)
    return int(recurring and cell.casefold() not in _NO_ANSWERS)


def _texts(names: Row, extra: Sequence[Row]) -> dict[str, str]:
    """Return the wording of columns: the first row below the names that has sentences."""
    for row in extra:
        cells = [cell for cell in row if cell]
        sentences = [cell for cell in cells if len(cell.split()) >= 3 or "?" in cell]
        if not _has_import_ids(row) and 3 * len(sentences) >= len(cells):
            return {name: text for name, text in zip(names, row, strict=True) if name and text}
    return {}


# A first row that has answers.


def _is_data(named: Row, below: Sequence[Row], any_cell: bool = False) -> bool:
    """Return whether a row has answers and not names: at least half of its cells, or any cell, are
    like those below."""
    cells = [(cell, [row[n] for row in below if row[n]]) for n, cell in enumerate(named) if cell]
    if not cells or len(below) < 2 - any_cell:
        return False
    if not any_cell and _counts_up([cell for cell, _ in cells], cells):
        return False
    like = sum(_unlike(cell, values) == -1 for cell, values in cells)
    return like > 0 if any_cell else 2 * like >= len(cells)


def _counts_up(names: Sequence[str], cells: Sequence[tuple[str, Sequence[str]]]) -> bool:
    """Return whether names are consecutive numbers, such as years or the numbers of questions, and
    not answers that recur."""
    numbers = [int(name) for name in names if name.isdecimal()]
    if len(numbers) < 2 or len(numbers) < len(names) - 1:
        return False
    steps = {after - before for before, after in pairwise(numbers)}
    return steps == {1} and not all(cell in values for cell, values in cells if cell.isdecimal())
