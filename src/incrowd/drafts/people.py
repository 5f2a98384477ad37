"""People in data in which a person may have several rows: repeated ids, waves, and long tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.drafts.column_names import (
    ATTRIBUTES,
    IDS,
    NOT_PERSONS,
    PEOPLE,
    ROUNDS,
    VALUES,
    WAVES,
    named,
    tokens,
)

MOST_ROWS = 100  # of one person; an id that repeats more often names a group
GROUP = 3  # times as many rows of one id as there are ids: it names a group as well
FEWEST_PEOPLE = 3
FEWEST_NAMED = 12  # in a column such as "household", which may be a number of people
FILLED = 0.9  # of the rows have an id
ROW_NUMBERS = ("redcap_repeat_instrument", "redcap_repeat_instance", "redcap_event_name")


class RepeatedIds(NamedTuple):
    """A column that seems to identify people and repeats: the number of different ids, the most
    rows of one id, and the column of waves, or ""."""

    id: str
    people: int
    most: int
    waves: str = ""


def repeated_ids(table: pa.Table) -> RepeatedIds | None:
    """Return the column that seems to identify people who have several rows; None if each person
    seems to have one row."""
    names = [name for name in table.column_names if table.column_names.count(name) == 1]
    flat = [name for name in names if not pa.types.is_nested(table.schema.field(name).type)]
    waves = [name for name in flat if is_wave(name)]
    codes = {name: _codes(table[name]) for name in flat if name not in waves}
    candidates = [
        ids for name in codes if is_person(name) and (ids := _repeated(name, codes[name]))
    ]
    if not candidates and waves:
        candidates = [ids for name in codes if (ids := _repeated(name, codes[name]))]
        candidates = [each for each in candidates if _is_panel(table, waves, codes[each.id])]
    if not candidates:
        return None
    best = max(candidates, key=lambda each: each.people)
    return best._replace(waves=next((name for name in waves if _varies(table[name])), ""))


def is_person(name: str) -> bool:
    """Return whether the name of a column suggests that it identifies people."""
    words = tokens(name)
    identifies = named(words, *IDS) and not named(words, *NOT_PERSONS)
    return identifies or " ".join(words) in PEOPLE


def is_wave(name: str) -> bool:
    """Return whether the name of a column suggests that it tells the rows of one person apart."""
    return tokens(name) in _WAVES


_WAVES = {tuple(each.split()) for each in WAVES}
_ROUNDS = {tuple(each.split()) for each in ROUNDS}


def is_long(names: Sequence[str]) -> bool:
    """Return whether a table with these columns has one row for each answer."""
    words = [" ".join(tokens(name)) for name in names]
    return len(names) <= 5 and bool({*words} & {*ATTRIBUTES}) and bool({*words} & {*VALUES})


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    """Return a number for each value of a column; -1 for no value."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    places = pc.fill_null(encoded.indices, -1)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        empty = pc.index(encoded.dictionary, pa.scalar("", column.type)).as_py()
        places = pc.if_else(pc.equal(places, empty), -1, places)
    return np.asarray(places.to_numpy(zero_copy_only=False))


def _repeated(name: str, codes: np.ndarray) -> RepeatedIds | None:
    rows = np.bincount(codes[codes >= 0])
    least = FEWEST_NAMED if " ".join(tokens(name)) in PEOPLE else FEWEST_PEOPLE
    if len(rows) < least or rows.sum() < FILLED * len(codes):
        return None
    most = int(rows.max())
    group = most > min(MOST_ROWS, GROUP * len(rows))
    return None if most == 1 or group else RepeatedIds(name, len(rows), most)


def _varies(column: pa.ChunkedArray) -> bool:
    return len(np.unique(_codes(column))) > 1


def _is_panel(table: pa.Table, waves: Sequence[str], codes: np.ndarray) -> bool:
    """Return whether the ids occur at most once in each wave, and most of them in several."""
    rows = np.bincount(codes[codes >= 0])
    if 2 * np.count_nonzero(rows > 1) < len(rows):
        return False
    for wave in waves:
        pairs = np.stack([codes, _codes(table[wave])], axis=1)
        if len(np.unique(pairs, axis=0)) == len(pairs):
            return True
    return False


def notes_of(ids: RepeatedIds | None, names: Sequence[str], rows: int) -> tuple[str, ...]:
    """Return the decisions about people and rows."""
    notes = []
    if ids:
        waves = f', as many as "{ids.waves}" tells apart' if ids.waves else ""
        notes.append(
            f'"{ids.id}" has {ids.people:,} different values in {rows:,} rows: if it identifies '
            f"people, they are {ids.people:,} people with up to {ids.most:,} rows each{waves}; see "
            "crowd and rows_per_person, or keep one row per person"
        )
    elif times := [name for name in names if tokens(name) in _ROUNDS]:
        notes.append(
            f'if the same people are in several rows, as "{times[0]}" suggests, the number of rows '
            "is not the number of people: set crowd and rows_per_person, or keep one row per person"
        )
    if is_long(names):
        notes.append(
            "each row seems to be one answer rather than one person; write the answers of a person "
            "into one row, with a column for each question"
        )
    return tuple(notes)
