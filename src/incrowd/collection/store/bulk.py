"""Many rows in one statement: their columns behind each other, cut up by the database.

A statement for each row would cost more than all that is done with an upload beside it. Numbers
travel as a JSON array, whose length says how many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import TextualSelect, column, text

from incrowd.collection.store.keys import MARK_BYTES, TAG_BYTES

Given = tuple[bytes, int, bytes, bytes]  # tag, stratum, mark, box

# n: the place of a row from 0; value: its number.
_PLACES = {
    "sqlite": "SELECT key AS n, value FROM json_each(:numbers)",
    "postgresql": "SELECT CAST(n - 1 AS integer) AS n, CAST(value AS integer) AS value "
    "FROM json_array_elements_text(CAST(:numbers AS json)) WITH ORDINALITY AS given (value, n)",
}
_TAG = f"substr(:tags, {TAG_BYTES} * n + 1, {TAG_BYTES})"
_MARK = f"substr(:marks, {MARK_BYTES} * n + 1, {MARK_BYTES})"
_BOX = "substr(:boxes, :width * n + 1, :width)"


def _cut(*columns: str) -> dict[str, TextualSelect]:
    """The same selection for each database. `WHERE` is for SQLite, which cannot parse without."""
    return {
        name: text(f"SELECT {', '.join(columns)} FROM ({places}) AS places WHERE true").columns(
            *(column(name) for name in ("tag", "stratum", "mark", "box")[: len(columns)])
        )
        for name, places in _PLACES.items()
    }


TAGS = _cut(f"{_TAG} AS tag")
ROWS = _cut(f"{_TAG} AS tag", "value AS stratum", f"{_MARK} AS mark", f"{_BOX} AS box")


def as_tags(tags: Iterable[bytes]) -> dict[str, Any]:
    """What TAGS is given."""
    given = list(tags)
    return {"tags": b"".join(given), "numbers": f"[{','.join(['0'] * len(given))}]"}


def as_rows(rows: Sequence[Given]) -> dict[str, Any]:
    """What ROWS is given; all boxes have one length."""
    tags, strata, marks, boxes = zip(*rows, strict=True)
    numbers = f"[{','.join(map(str, strata))}]"
    return {
        "tags": b"".join(tags),
        "numbers": numbers,
        "marks": b"".join(marks),
        "boxes": b"".join(boxes),
        "width": len(boxes[0]),
    }
