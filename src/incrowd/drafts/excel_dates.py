"""Ranges such as 1-2, which a spreadsheet turned into dates such as 2-Jan or 2024-01-02."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

FEWEST, MOST = 3, 12  # different answers of a question about ranges
_MONTHS = (
    "jan|januar|january|jän|jänner|janv",
    "feb|februar|february|févr|fév",
    "mar|märz|march|mär|mrz|mars",
    "apr|april|avr",
    "may|mai|mayo",
    "jun|juni|june|juin",
    "jul|juli|july|juil",
    "aug|august|août|ago",
    "sep|sept|september",
    "oct|okt|oktober|october",
    "nov|november",
    "dec|dez|dezember|december|déc|dic",
)
_MONTH = {name: str(n) for n, names in enumerate(_MONTHS, 1) for name in names.split("|")}
_NAME = rf"(?P<name>{'|'.join(_MONTH)})"
_TIME = r"(?:[T ]0?0:00(?::00)?(?:\.0+)?)?"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<year>\d{{4}})-(?P<first>\d\d?)-(?P<last>\d\d?){_TIME}",
        rf"(?P<first>\d\d?)[/.](?P<last>\d\d?)[/.](?P<year>\d{{4}}|\d\d){_TIME}",
        rf"(?P<last>\d\d?)[-. ]{{1,2}}{_NAME}\.?(?:[-. ](?P<year>\d{{4}}|\d\d))?",
        rf"{_NAME}\.?[- ](?P<last>\d\d?)(?P<year>(?!))?",
    )
)
_RANGE = re.compile(r"\s*(\d{1,4})\s?(?:-|–|to|bis|/)\s?(\d{1,4})\s*")
_OPEN_RANGE = re.compile(r"(?:[<>≤≥]=?\s?|under |over |unter |über |ab )?\d{1,4}\s?\+?")
_WORDS = frozenset({"none", "never", "nothing", "keine", "nie", "n/a", "na"})


def ranges_of(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the range that each date of a column seems to have been; none if they are dates.

    counts: the rows with each value. No two ranges overlap. Without other ranges, only dates
    without a year can have been ranges.
    """
    turned = _turned(counts)
    dated = any(date["year"] for value in turned if (date := _date(value)))
    return {} if dated and not any(map(_RANGE.fullmatch, counts)) else turned


def may_be_ranges(counts: Mapping[str, int]) -> str:
    """Return an example of dates that may have been ranges, although nothing else shows it; "" if
    there is none."""
    turned = _turned(counts)
    several = len(turned) == len(counts) >= FEWEST
    return next((f"{date} was {range}" for date, range in sorted(turned.items()) if several), "")


def _turned(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the range that each date would be, if none overlaps with another answer."""
    if not 1 < len(counts) <= MOST:
        return {}
    dates = {value: match for value in counts if (match := _date(value))}
    others = [value for value in counts if value not in dates]
    ranges = [match for value in others if (match := _RANGE.fullmatch(value))]
    plausible = ranges or all(_OPEN_RANGE.fullmatch(v) or v.casefold() in _WORDS for v in others)
    if not dates or not plausible:
        return {}
    usual = _usual_year(dates.values())
    turned = {value: _as_range(match, usual) for value, match in dates.items()}
    bounds = {tuple(map(int, text.split("-"))) for text in turned.values()}
    bounds |= {(int(match[1]), int(match[2])) for match in ranges}
    return turned if _without_overlap(sorted(bounds)) else {}


def is_date(text: str) -> bool:
    """Return whether a text is a date, also without a year."""
    return _date(text) is not None


def _date(text: str) -> re.Match[str] | None:
    return next((match for each in _DATES if (match := each.fullmatch(text.strip()))), None)


def _usual_year(dates: Iterable[re.Match[str]]) -> str:
    """Return the year in which the answers were typed, which spreadsheets add."""
    return Counter(each["year"] or "" for each in dates).most_common(1)[0][0]


def _as_range(date: re.Match[str], usual: str) -> str:
    """Return the range with the month and the day of a date, the smaller first; or the month and
    the year, as of 11-20, which some countries read as a month of 2020."""
    parts = date.groupdict()
    month = _MONTH[parts["name"].casefold()] if "name" in parts else parts["first"]
    first, last = sorted((int(month), int(parts["last"])))
    year = parts["year"] or ""
    if first == 1 and year[-2:] > f"{last:02}" and year != usual:
        return f"{last}-{int(year[-2:])}"
    return f"{first}-{last}"


def _without_overlap(bounds: Iterable[tuple[int, ...]]) -> bool:
    """Return whether sorted ranges rise, and each begins after the one before it, or where it
    ends."""
    ranges = [*bounds]
    return all(a <= b for a, b in ranges) and all(b[0] >= a[1] for a, b in pairwise(ranges))
