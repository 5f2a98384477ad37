"""Tallies as files: JSON, so that collections can be counted where they lie and merged later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.errors import ReportsError
from incrowd.reports.files import replaced
from incrowd.tally.tally import MessageTally, Tally

FORMAT = "incrowd tally 1"
ENDING = ".json"
_MAKE = "name a file that `incrowd tally` wrote"


def save_tally(tally: Tally, path: str | Path) -> None:
    """Write a tally as JSON. Raises UsageError if the file cannot be written."""
    with replaced(path) as temporary:
        temporary.write_text(as_text(tally) + "\n", encoding="utf-8")


def as_text(tally: Tally) -> str:
    """A tally as JSON."""
    data = {
        "format": FORMAT,
        "plan": tally.plan,
        "kind": tally.kind,
        "tables": [list(ids) for ids in tally.tables],
        "parts": sorted(tally.parts),
        "simulation_seed": tally.seed,
        "persons": tally.persons,
        "messages": {str(number): _message(m) for number, m in tally.messages.items()},
    }
    return json.dumps(data, allow_nan=False)


def _message(counts: MessageTally) -> dict[str, Any]:
    tables = [
        {"questions": list(ids), "shape": list(table.shape), "counts": table.ravel().tolist()}
        for ids, table in counts.tables.items()
    ]
    return {
        "accepted": counts.accepted,
        "rejected": counts.rejected,
        "declared": counts.declared,
        "tables": tables,
    }


def load_tally(path: str | Path) -> Tally:
    """Read a tally. Raises ReportsError if the file holds none."""
    try:
        return of_text(Path(path).read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ReportsError.of("tally", str(path), f"{error.strerror}; {_MAKE}") from None
    except UnicodeDecodeError:
        raise ReportsError.of("tally", str(path), f"holds no tally; {_MAKE}") from None


def of_text(text: str, name: str = "text") -> Tally:
    """The tally that `as_text` wrote. Raises ReportsError if the text holds none."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ReportsError.of("tally", name, f"is of another format; {_MAKE}")
        messages = {int(number): _read(message) for number, message in data["messages"].items()}
        return Tally(
            plan=data["plan"],
            tables=tuple(tuple(ids) for ids in data["tables"]),
            kind=data["kind"],
            messages=messages,
            parts=frozenset(data["parts"]),
            seed=data["simulation_seed"],
            persons=data["persons"],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ReportsError.of("tally", name, f"holds no tally; {_MAKE}") from None


def _read(message: dict[str, Any]) -> MessageTally:
    tables = {
        tuple(table["questions"]): np.array(table["counts"], np.int64).reshape(table["shape"])
        for table in message["tables"]
    }
    return MessageTally(message["accepted"], message["rejected"], message["declared"], tables)
