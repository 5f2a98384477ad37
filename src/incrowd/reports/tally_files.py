"""Tallies as JSON files, so that collections can be counted where they are and merged later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from incrowd.catalog.sentences import sentence
from incrowd.errors import ReportsError
from incrowd.files import write_text
from incrowd.plans.claims import ClaimedRelease, together
from incrowd.plans.digests import (
    FileCount,
    FileKind,
    StrictFileModel,
    read_json,
    sealed,
    unsealed,
)
from incrowd.reports.tally import MessageTally, Tally, TallyKind

FORMAT = "incrowd tally 1"
ENDING = ".json"
MOST = 1 << 53  # of any count, so that sums are exact
_FILES = FileKind(
    "tally", ReportsError, sentence("reports.no-tally"), sentence("reports.name-tally")
)

MessageNumber = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,5})$")]


class _Table(StrictFileModel):
    questions: list[str] = Field(min_length=1)
    shape: list[Annotated[int, Field(ge=1, le=MOST)]] = Field(min_length=1)
    counts: list[Any]  # checked as an array, which is faster

    def read(self) -> np.ndarray:
        """Return the counts as int64. Raises ValueError if they are not counts of that shape."""
        counts = np.array(self.counts)
        least, most = counts.min(initial=0), counts.max(initial=0)
        if counts.dtype != np.int64 or counts.ndim != 1 or max(-least, most) > MOST:
            raise ValueError("are not counts")
        return counts.reshape(self.shape)


class _MessageEntry(StrictFileModel):
    accepted: FileCount
    rejected: FileCount
    declared: FileCount
    tables: list[_Table]
    draws: FileCount = 0


class _StratumCounts(StrictFileModel):
    names: list[str] = Field(min_length=1)
    messages: dict[MessageNumber, _MessageEntry]


class _File(StrictFileModel):
    format: Literal["incrowd tally 1"]
    plan: str
    kind: TallyKind
    tables: list[list[str]]
    parts: list[str]
    simulation_seed: Annotated[int, Field(ge=0)] | None
    persons: Literal["rows", "ids"]
    messages: dict[MessageNumber, _MessageEntry]
    strata: list[_StratumCounts] = Field(default_factory=list)
    releases: list[ClaimedRelease] = Field(default_factory=list)


def save_tally(tally: Tally, path: str | Path) -> None:
    """Write a tally as JSON. Raises UsageError if the file cannot be written."""
    write_text(path, as_text(tally) + "\n")


def as_text(tally: Tally) -> str:
    """Return a tally as JSON, with a digest of its content.

    With strata it has their counts, and no totals.
    """
    data: dict[str, Any] = {
        "format": FORMAT,
        "plan": tally.plan,
        "kind": tally.kind,
        "tables": [list(ids) for ids in tally.tables],
        "parts": sorted(tally.parts),
        "simulation_seed": tally.seed,
        "persons": tally.persons,
        "messages": {} if tally.strata else _messages(tally.messages),
    }
    if tally.strata:
        data["strata"] = [
            {"names": list(names), "messages": _messages(crowd)}
            for names, crowd in tally.strata.items()
        ]
    if tally.releases:
        data["releases"] = [
            release.model_dump(mode="json")
            for release in sorted(tally.releases, key=lambda release: release.id)
        ]
    return json.dumps(sealed(data), allow_nan=False)


def _messages(crowd: Mapping[int, MessageTally]) -> dict[str, Any]:
    return {str(number): _message(counts) for number, counts in crowd.items()}


def _message(counts: MessageTally) -> dict[str, Any]:
    tables = [
        {"questions": list(ids), "shape": list(table.shape), "counts": table.ravel().tolist()}
        for ids, table in counts.tables.items()
    ]
    return vars(counts) | {"tables": tables}


def load_tally(path: str | Path) -> Tally:
    """Read a tally. Raises ReportsError if the file is not a tally."""
    return _FILES.load(path, of_text)


def of_text(text: str, name: str | None = None) -> Tally:
    """Return the tally that `as_text` wrote.

    Raises ReportsError if the text is not a tally, or was edited after it was written.
    """
    with _FILES.parsing(name):
        data = read_json(text)
        if data["format"] != FORMAT:
            raise _FILES.refused(name, sentence("plans.unsupported-format"))
        content, fits = unsealed(data)
        if not fits:
            named = name or sentence("plans.text-given")
            raise ReportsError.of("tally", "reports.edited-tally", value=named)
        return _read(content)


def _read(data: dict[str, Any]) -> Tally:
    """Return the tally of a file's content. Raises ValueError if it is not a tally."""
    file = _File.model_validate(data)
    strata = {tuple(each.names): _read_messages(each.messages) for each in file.strata}
    if len(strata) < len(file.strata) or (strata and file.messages):
        raise ValueError("counts a stratum twice")
    counted = Tally(
        plan=file.plan,
        tables=tuple(map(tuple, file.tables)),
        kind=file.kind,
        messages=_read_messages(file.messages),
        parts=frozenset(file.parts),
        seed=file.simulation_seed,
        persons=file.persons,
        strata=strata,
        releases=together(frozenset(), file.releases),
    )
    return counted.only(strata) if strata else counted


def _read_messages(crowd: Mapping[str, _MessageEntry]) -> dict[int, MessageTally]:
    return {
        int(number): MessageTally(
            accepted=message.accepted,
            rejected=message.rejected,
            declared=message.declared,
            tables={tuple(table.questions): table.read() for table in message.tables},
            draws=message.draws,
        )
        for number, message in crowd.items()
    }
