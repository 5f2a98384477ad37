"""JSON with one object per line, or a list of objects; every value is read as written, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.encoding.cells import text_column
from incrowd.encoding.formats.reader import Reader
from incrowd.encoding.sources import AnswersSource
from incrowd.errors import AnswersError


def _lines(source: AnswersSource, text: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = sentence("encoding.line", number=number)
            yield _checked(source, _parsed(source, line, place), place)


def _listed(source: AnswersSource, text: str) -> Iterator[Mapping[str, Any]]:
    whole = _parsed(source, text, sentence("encoding.list"))
    for number, row in enumerate(whole, 1):
        yield _checked(source, row, sentence("encoding.entry", number=number))


def _parsed(source: AnswersSource, text: str, place: Sentence) -> Any:
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        raise AnswersError.of(
            "answers", "encoding.not-json", value=source.name, place=place
        ) from None


def _checked(source: AnswersSource, row: object, place: Sentence) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    raise AnswersError.of("answers", "encoding.not-an-object", value=source.name, place=place)


class _JsonLines(Reader):
    def table(self, source: AnswersSource) -> pa.Table:
        """Return a column for each key, in order of appearance; absent keys are missing answers.

        Numbers keep their digits, as in a CSV file: "007" and 7 are different ids.
        """
        text = source.whole().decode(source.encoding or "utf-8-sig")
        rows = _listed(source, text) if text.lstrip().startswith("[") else _lines(source, text)
        objects = list(rows)
        keys = dict.fromkeys(key for row in objects for key in row)
        return pa.table({key: _column([row.get(key) for row in objects]) for key in keys})


def _column(values: Sequence[Any]) -> pa.Array:
    """Return a column of texts or lists; with objects inside, of a type that is no answer."""
    if not any(map(_is_nested, values)):
        return text_column(values)
    cells = [None if value is None else {"json": json.dumps(value)} for value in values]
    return pa.array(cells, pa.struct([("json", pa.string())]))


def _is_nested(value: Any) -> bool:
    inside = value if isinstance(value, list) else [value]
    return any(isinstance(each, Mapping | list) for each in inside)


READER = _JsonLines()
