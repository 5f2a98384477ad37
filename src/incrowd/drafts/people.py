"""People in data in which a person may have several rows: repeated ids, waves, and long tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.drafts.column_names import (
    ATTRIBUTES,
    FREQUENCIES,
    IDS,
    NOT_PERSONS,
    PEOPLE,
    ROUNDS,
    VALUES,
    WAVES,
    named,
    tokens,
)
from incrowd.encoding.cells import texts_of

MOST_ROWS = 100  # of one person; an id that repeats more often names a group
MOST_ROWS_OF_ID = 1000  # of one person in a column such as "id"
GROUP = 3  # times as many rows of one id as there are ids: it names a group as well
FEWEST_PEOPLE = 3
FEWEST_NAMED = 12  # in a column such as "household", which may be a number of people
MOST_LEVELS = 50  # of a question in a table of frequencies
FILLED = 0.9  # of the rows have an id
SHARED = 2  # rows of the same wave, on average
_FRACTION = r"^-?\d*\.\d*[1-9]\d*$"
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
    attributes = _ATTRIBUTES if is_long(names) else set[tuple[str, ...]]()
    waves = [name for name in flat if is_wave(name) or tokens(name) in attributes]
    codes = {name: _codes(table[name]) for name in flat if name not in waves}
    candidates = [
        ids for name in codes if is_person(name) and (ids := _repeated(name, codes[name]))
    ]
    if not candidates and waves:
        whole = {name: codes[name] for name in codes if not _is_measured(table[name])}
        candidates = [ids for name in whole if (ids := _repeated(name, whole[name]))]
        candidates = [each for each in candidates if _is_panel(table, waves, codes[each.id])]
    if not candidates:
        return None
    best = max(candidates, key=lambda each: each.people)
    return best._replace(waves=next((name for name in waves if _varies(table[name])), ""))


def is_person(name: str) -> bool:
    """Return whether the name of a column suggests that it identifies people."""
    return is_identifier(name) or " ".join(tokens(name)) in PEOPLE


def is_identifier(name: str) -> bool:
    """Return whether a name says that the column holds ids, and not those of places or groups."""
    words = tokens(name)
    return named(words, *IDS) and not named(words, *NOT_PERSONS)


def is_wave(name: str) -> bool:
    """Return whether the name of a column suggests that it tells the rows of one person apart."""
    return tokens(name) in _WAVES


_WAVES = {tuple(each.split()) for each in WAVES}
_ATTRIBUTES = {tuple(each.split()) for each in ATTRIBUTES}
_ROUNDS = {tuple(each.split()) for each in ROUNDS}


def is_long(names: Sequence[str]) -> bool:
    """Return whether a table with these columns has one row for each answer."""
    words = [" ".join(tokens(name)) for name in names]
    return len(names) <= 5 and bool({*words} & {*ATTRIBUTES}) and bool({*words} & {*VALUES})


def frequencies(table: pa.Table) -> str:
    """Return the column that counts the people of each row, in a table with one row for each
    combination of answers; "" if rows seem to be people."""
    names = table.column_names
    counted = [name for name in names if " ".join(tokens(name)) in FREQUENCIES]
    others = [name for name in names if name not in counted]
    nested = any(pa.types.is_nested(field.type) for field in table.schema)
    if len(counted) != 1 or not others or nested or not _is_count(table[counted[0]]):
        return ""
    codes = [_codes(table[name]) for name in others]
    if any(len(np.unique(each)) > MOST_LEVELS for each in codes):
        return ""
    combinations = np.unique(np.stack(codes, axis=1), axis=0)
    return counted[0] if len(combinations) == table.num_rows else ""


def _is_count(column: pa.ChunkedArray) -> bool:
    """Return whether all cells are whole numbers, of which some are above one."""
    texts = texts_of(column)
    whole = pc.all(pc.match_substring_regex(texts, r"^\d+(\.0*)?$")).as_py()
    return bool(whole) and not pc.all(pc.match_substring_regex(texts, r"^[01](\.0*)?$")).as_py()


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
    group = most > min(MOST_ROWS_OF_ID if is_identifier(name) else MOST_ROWS, GROUP * len(rows))
    return None if most == 1 or group else RepeatedIds(name, len(rows), most)


def _varies(column: pa.ChunkedArray) -> bool:
    return len(np.unique(_codes(column))) > 1


def _is_measured(column: pa.ChunkedArray) -> bool:
    """Return whether a column has fractions, which measure something and identify nobody."""
    if pa.types.is_floating(column.type):
        return bool(pc.any(pc.not_equal(column, pc.floor(column))).as_py())
    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return texts and bool(pc.any(pc.match_substring_regex(column, _FRACTION)).as_py())


def _is_panel(table: pa.Table, waves: Sequence[str], codes: np.ndarray) -> bool:
    """Return whether the ids occur at most once in each wave, and most of them in several.

    Many people share a wave; a time that only one person has tells nothing apart.
    """
    rows = np.bincount(codes[codes >= 0])
    if 2 * np.count_nonzero(rows > 1) < len(rows):
        return False
    for wave in waves:
        times = _codes(table[wave])
        pairs = np.stack([codes, times], axis=1)
        shared = SHARED * len(np.unique(times)) <= len(times)
        if shared and len(np.unique(pairs, axis=0)) == len(pairs):
            return True
    return False


def notes_of(ids: RepeatedIds | None, table: pa.Table) -> tuple[str, ...]:
    """Return the decisions about people and rows."""
    names, rows = table.column_names, table.num_rows
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
    if counted := frequencies(table):
        notes.append(
            f'each row seems to stand for as many people as "{counted}" says; repeat it so often, '
            f'with one row per person, and leave "{counted}" out'
        )
    if is_long(names):
        notes.append(
            "each row seems to be one answer rather than one person; write the answers of a person "
            "into one row, with a column for each question"
        )
    return tuple(notes)
