"""What reads files of a format: as a whole, unless the format can do better."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import NamedTuple

import pyarrow as pa

from incrowd.encoding.formats.registry import FORMATS
from incrowd.encoding.sources import Source
from incrowd.errors import AnswersError, InWords, Problem, likely
from incrowd.survey import AnyQuestion, Survey

ONCE = "there should be exactly one"
SHOWN = 5  # columns that are missing; the rest is counted

Pieces = Iterator[tuple[pa.RecordBatch, int]]  # and how much was read up to there


class Request(NamedTuple):
    """What is wanted of a file. id: of the column that says whose row it is."""

    survey: Survey
    id: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of the survey's questions, in order, and that of the ids."""
        ids = [question.id for question in self.survey.questions]
        return list(dict.fromkeys(ids + ([self.id] if self.id else [])))

    @property
    def numbers(self) -> list[str]:
        """The questions to which a comma between digits is no part of an answer, or of a code for
        one: it stands before decimals, as in 3,5 or, of a code, in 3,0."""
        questions = self.survey.questions
        return [question.id for question in questions if not _has_commas(self.survey, question)]


@dataclass(frozen=True)
class Data:
    """Every column as it stands, and of some their wording, labels and codes for no answer."""

    table: pa.Table
    texts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Reader(ABC):
    """Reads files of a format. `table` is all that one has to give."""

    @abstractmethod
    def table(self, source: Source) -> pa.Table:
        """All columns of a file. Raises AnswersError if it cannot be read."""

    def columns(self, source: Source, request: Request) -> list[str]:
        """The names of all columns, in order."""
        return list(self.table(source).column_names)

    def wanted(self, source: Source, request: Request) -> pa.Table:
        """The wanted columns. Raises AnswersError if one is missing."""
        table = self.table(source)
        return table.select(check_names(table.column_names, request.survey, request.id))

    def pieces(self, source: Source, request: Request, rows: int, piece_bytes: int) -> Pieces:
        """The wanted columns piece by piece, at most so many rows, and about so many bytes, in
        each; with how much was read up to its end."""
        done = 0
        for batch in self.wanted(source, request).to_batches(max_chunksize=rows):
            done += batch.num_rows
            yield batch, done

    def size(self, source: Source) -> tuple[int, str]:
        """How much there is to read, and in what; 0 if that is known only when it was read."""
        return 0, "rows"

    def data(self, source: Source) -> Data:
        """All columns, with what the file says of them."""
        return Data(self.table(source))


def reader(kind: str) -> Reader:
    """What reads files of that kind."""
    reads: Reader = import_module(FORMATS[kind].module).READER
    return reads


def _has_commas(survey: Survey, question: AnyQuestion) -> bool:
    codes = survey.codes_of(question.id)
    written = [*codes.values, *codes.missing, *question.choices]
    return not question.one_value or any("," in each for each in written)


def check_names(columns: Sequence[str], survey: Survey, id: str | None = None) -> list[str]:
    """The columns of the survey's questions, in order, and that of the ids, by their names.

    Raises AnswersError about all that are missing or stand twice.
    """
    return check_once("answers", Request(survey, id).columns, columns)


def check_once(field: str, names: list[str], columns: Sequence[str]) -> list[str]:
    """The names. Raises AnswersError unless each is that of one column."""
    if wrong := [name for name in names if list(columns).count(name) != 1]:
        raise AnswersError(*_not_once(field, wrong, columns))
    return names


def _not_once(field: str, wrong: Sequence[str], columns: Sequence[str]) -> Iterator[Problem]:
    """The first few names that are not those of one column; the last says which columns are."""
    listed = f"the columns are {', '.join(columns) or 'none'}"
    for name in wrong[:SHOWN]:
        times = list(columns).count(name)
        shown = InWords(f"{times} columns {name!r}" if times else f"no column {name!r}")
        close = "" if times else likely(name, columns)
        last = name == wrong[-1]
        yield Problem(field, shown, f"{ONCE}; {close}{listed}" if last else f"{close}{ONCE}")
    if (more := len(wrong) - SHOWN) > 0:
        shown = InWords(f"{more:,} more columns are missing or duplicated")
        yield Problem(field, shown, f"{ONCE} of each; {listed}")
