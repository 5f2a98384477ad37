"""The interface of file formats: files are read as a whole unless the format can do better."""

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
SHOWN = 5  # missing columns that are listed; the rest is counted

Pieces = Iterator[tuple[pa.RecordBatch, int]]  # each piece with the amount read up to its end


class Request(NamedTuple):
    """The columns to read from a file. id: the column that identifies the person."""

    survey: Survey
    id: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of the survey's questions, in order, and the column of ids."""
        ids = [question.id for question in self.survey.questions]
        return list(dict.fromkeys(ids + ([self.id] if self.id else [])))

    @property
    def numbers(self) -> list[str]:
        """The questions for which a comma between digits must be a decimal comma, as in 3,5.

        No answer to them, and no code for one, contains a comma.
        """
        questions = self.survey.questions
        return [question.id for question in questions if not _has_commas(self.survey, question)]


@dataclass(frozen=True)
class Data:
    """All columns unchanged, and for some of them wording, labels, and codes for no answer."""

    table: pa.Table
    texts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Reader(ABC):
    """Reads files of one format. Subclasses have to define only `table`."""

    @abstractmethod
    def table(self, source: Source) -> pa.Table:
        """Return all columns of a file. Raises AnswersError if it cannot be read."""

    def columns(self, source: Source, request: Request) -> list[str]:
        """Return the names of all columns, in order."""
        return list(self.table(source).column_names)

    def wanted(self, source: Source, request: Request) -> pa.Table:
        """Return the wanted columns. Raises AnswersError if one is missing."""
        table = self.table(source)
        return table.select(check_names(table.column_names, request.survey, request.id))

    def pieces(self, source: Source, request: Request, rows: int, piece_bytes: int) -> Pieces:
        """Yield the wanted columns in pieces, each with the amount read up to its end.

        rows: the most rows of a piece. piece_bytes: its approximate size.
        """
        done = 0
        for batch in self.wanted(source, request).to_batches(max_chunksize=rows):
            done += batch.num_rows
            yield batch, done

    def size(self, source: Source) -> tuple[int, str]:
        """Return how much there is to read, and its unit; 0 if that is not known in advance."""
        return 0, "rows"

    def data(self, source: Source) -> Data:
        """Return all columns with their metadata."""
        return Data(self.table(source))


def reader(kind: str) -> Reader:
    """Return the reader of a format."""
    result: Reader = import_module(FORMATS[kind].module).READER
    return result


def _has_commas(survey: Survey, question: AnyQuestion) -> bool:
    codes = survey.codes_of(question.id)
    written = [*codes.values, *codes.missing, *question.choices]
    return not question.one_value or any("," in each for each in written)


def check_names(columns: Sequence[str], survey: Survey, id: str | None = None) -> list[str]:
    """Return the names of the columns of the survey's questions, in order, and of the ids.

    Raises AnswersError that lists all missing and duplicate columns.
    """
    return check_once("answers", Request(survey, id).columns, columns)


def check_once(field: str, names: list[str], columns: Sequence[str]) -> list[str]:
    """Return the names. Raises AnswersError unless there is exactly one column of each name."""
    if wrong := [name for name in names if list(columns).count(name) != 1]:
        raise AnswersError(*_not_once(field, wrong, columns))
    return names


def _not_once(field: str, wrong: Sequence[str], columns: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for the first few wrong names; the last one lists the columns."""
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
