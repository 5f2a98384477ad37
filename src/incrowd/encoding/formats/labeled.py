"""SPSS and Stata files: codes, their labels, and the codes that mean no answer.

Both store dates as numbers, which are read here: the library refuses a file with a date after the
year 9999, and leaves quarters, months and weeks as numbers.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from incrowd.encoding.formats.reader import Content, Reader, Request, pieces_of
from incrowd.encoding.sources import AnswersSource
from incrowd.encoding.spelling import as_text
from incrowd.errors import AnswersError, needing

DAY = 86400  # seconds


def _read(source: AnswersSource, **options: Any) -> tuple[Any, Mapping[str, Sequence[Any]]]:
    """Return the metadata of a file, and the cells of its columns."""
    with needing("stats", AnswersError, source.name):
        import pyreadstat
    read: Any = pyreadstat.read_sav if source.kind == "sav" else pyreadstat.read_dta
    file = io.BytesIO(source.whole())
    # The library names encodings as iconv does, which does not have "latin-1".
    encoding = source.encoding and codecs.lookup(source.encoding).name
    options |= {"encoding": encoding, "output_format": "dict", "disable_datetime_conversion": True}
    values, about = read(file, **options)
    return about, values


# Dates and times.

_SPSS = re.compile(r"(E|A|S|J)?DATE(TIME)?\d+(\.\d+)?|(QYR|MOYR|WKYR|YMDHMS)\d+(\.\d+)?")
_SPSS_TIME = re.compile(r"[DM]?TIME\d+(\.\d+)?")
_STATA = re.compile(r"%-?(?:t([cCdwmqh])|(d))")
_SPSS_START, _STATA_START = datetime(1582, 10, 14), datetime(1960, 1, 1)
_MONTHS = {"m": 1, "q": 3, "h": 6}  # in the periods of Stata's formats


def _as_date(kind: str, format: str) -> Callable[[float], str] | None:
    """Return the function that writes the numbers of a format as dates; None for other formats."""
    if kind == "sav":
        time = _time_of_spss if _SPSS_TIME.fullmatch(format) else None
        return _date_of_spss if _SPSS.fullmatch(format) else time
    unit = _STATA.match(format)
    return partial(_date_of_stata, unit[1] or unit[2]) if unit else None


def _time_of_spss(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes // 60):02}:{int(minutes % 60):02}:{int(rest):02}"


def _date_of_spss(seconds: float) -> str:
    return _after(_SPSS_START, seconds)


def _date_of_stata(unit: str, number: float) -> str:
    if unit in "cC":
        return _after(_STATA_START, number / 1000)
    if unit == "d":
        return _after(_STATA_START, number * DAY)
    if unit == "w":
        years, week = divmod(int(number), 52)
        return _after(datetime(min(1960 + years, 9999), 1, 1), week * 7 * DAY)
    years, month = divmod(int(number) * _MONTHS[unit], 12)
    return _after(datetime(min(1960 + years, 9999), month + 1, 1), 0)


def _after(start: datetime, seconds: float) -> str:
    """Return a date as text; one beyond the calendar, which is a mistake, as its last day."""
    try:
        return as_text(start + timedelta(seconds=seconds)) or ""
    except OverflowError:
        return as_text(date.max) or ""


def _texts(labels: Mapping[Any, str]) -> dict[str, str]:
    return {as_text(code) or "": label.strip() for code, label in labels.items()}


def _column(cells: Sequence[Any], as_date: Callable[[float], str] | None) -> pa.Array:
    """Return a column of codes as text; with fractions, of numbers, which have many spellings."""
    if as_date:
        numbers = [isinstance(cell, int | float) and cell == cell for cell in cells]
        dates = [as_date(cell) if is_ else None for cell, is_ in zip(cells, numbers, strict=True)]
        return pa.array(dates, pa.string())
    if any(isinstance(cell, float) and not cell.is_integer() for cell in cells):
        return pa.array(cells, pa.float64())
    return pa.array([None if cell == "" else as_text(cell) for cell in cells], pa.string())


def _missing(about: Any, name: str) -> tuple[str, ...]:
    """Return the codes that a column declares missing: single ones, and labeled ones in ranges."""
    ranges = about.missing_ranges.get(name, ())
    labeled = about.variable_value_labels.get(name, {})
    single = [each["lo"] for each in ranges if each["lo"] == each["hi"]]
    within = [
        code
        for code in labeled
        for each in ranges
        if isinstance(code, type(each["lo"])) and each["lo"] <= code <= each["hi"]
    ]
    user = about.missing_user_values.get(name, ())
    return tuple(dict.fromkeys(as_text(code) or "" for code in [*single, *within, *user]))


def _sets(about: Any) -> dict[str, str]:
    """Return, for each column of a set of multiple responses, what the set is called."""
    sets = getattr(about, "mr_sets", None) or {}
    return {
        name: each["label"].strip() or called.lstrip("$")
        for called, each in sets.items()
        for name in each["variable_list"]
    }


class _Labeled(Reader):
    def table(self, source: AnswersSource) -> pa.Table:
        """Return all columns, as codes."""
        return pa.Table.from_batches([piece for piece, _ in self.content(source, Request()).pieces])

    def content(self, source: AnswersSource, request: Request) -> Content:
        """Return the content: codes as text (fractions as numbers), without those that the file
        declares missing; the wording, labels and codes for no answer."""
        about, _ = _read(source, metadataonly=True, user_missing=True)
        names = tuple(name for name in about.column_names if name)
        chosen = request.chosen(names)
        values = _read(source, usecols=chosen)[1] if chosen else {}
        dates = {
            name: _as_date(source.kind, format)
            for name, format in about.original_variable_types.items()
        }
        table = pa.table({name: _column(cells, dates[name]) for name, cells in values.items()})
        return Content(
            names,
            table.num_rows,
            pieces_of(table, request),
            texts={name: text for name, text in about.column_names_to_labels.items() if text},
            labels={name: _texts(labels) for name, labels in about.variable_value_labels.items()},
            missing={name: _missing(about, name) for name in chosen},
            sets=_sets(about),
        )


READER = _Labeled()
