"""A column of data -> a question, or why it makes none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from incrowd.characters import cleaned, hidden
from incrowd.drafts.missing import FEW, no_answers, number, spikes
from incrowd.survey import NONE, SEPARATOR
from incrowd.survey.question import TABLE_SEPARATOR

# What was found of one column or one field: a question, or why there is none.


@dataclass(frozen=True)
class DraftQuestion:
    """A question as it will be written.

    keys: of the survey file, in order. remarks: comments above it. undecided: what the data or
    the questionnaire did not tell.
    """

    id: str
    keys: Mapping[str, Any]
    remarks: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    def noting(self, *remarks: str) -> DraftQuestion:
        """The same with more comments."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def doubting(self, doubt: str) -> DraftQuestion:
        """The same with something more that was not decided."""
        return replace(self, undecided=(*self.undecided, doubt))


@dataclass(frozen=True)
class LeftOut:
    """A column that makes no question, and why."""

    id: str
    reason: str


Found = DraftQuestion | LeftOut


# Words for yes and no, and what the names of columns say.


YES = frozenset({"yes", "true", "1", "y", "ja", "j", "oui", "si", "sí", "sim", "да", "tak", "hai"})
NO = frozenset({"no", "false", "0", "n", "nein", "nee", "non", "não", "нет", "nie", "nej", "iie"})
PLAIN = ({"yes", "no"}, {"true", "false"}, {"1", "0"})  # which need no codes
_ID = re.compile(
    r"(^|[_\W])(id|uuid|guid|key|email|e-mail|phone|name|caseid|respondent|participant|pid|token)$",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"country|region|state|county|province|district|city|town|land$|kanton|canton|facult|"
    r"department|school|class$|site|clinic|hospital|store|branch|week|month|year$|wave|round$",
    re.IGNORECASE,
)


def yes_and_no(answers: Collection[str]) -> dict[str, str] | None:
    """What two answers mean if one is yes and the other no, in some language."""
    folded = {answer: answer.casefold() for answer in answers}
    found = {a: "yes" if f in YES else "no" for a, f in folded.items() if f in YES | NO}
    return found if len(found) == len(folded) and set(found.values()) == {"yes", "no"} else None


def is_plain(answers: Iterable[str]) -> bool:
    """Whether yes and no are written as every survey reads them."""
    folded = {answer.casefold().removesuffix(".0") for answer in answers}
    return any(folded <= words for words in PLAIN)


def looks_like_id(name: str) -> bool:
    """Whether a column's name says whose row it is."""
    return bool(_ID.search(name))


def looks_open(name: str) -> bool:
    """Whether, by its name, a column holds what everybody knows about others."""
    return bool(_OPEN.search(name))


# Edges of bins: round numbers near the fifths of the data.


FIFTHS = (0.2, 0.4, 0.6, 0.8)


def edges(numbers: np.ndarray, counts: np.ndarray) -> list[float | int]:
    """Left edges of about five bins with as many people, rounded; the least below all numbers.

    Rounded, so that they tell little of anybody; the last bin is open, so that nobody's largest
    number stands in the survey. The unit of rounding follows the middle of the data: a few huge
    numbers do not change it.
    """
    order = np.argsort(numbers)
    values, counts = numbers[order], counts[order]
    fifths = _quantiles(values, counts, FIFTHS)
    others = values != values[np.argmax(counts)]
    if not (spread := fifths[-1] - fifths[0]):  # most are alike: the others say what is large
        rest = _quantiles(values[others], counts[others], FIFTHS)
        spread = rest[-1] - rest[0] or values[-1] - values[0]
    unit = _unit(float(spread), bool(np.all(values == np.round(values))))
    first = 0.0 if values[0] >= 0 else np.floor(values[0] / unit) * unit
    rising = sorted({first, *(edge for edge in np.round(fifths / unit) * unit if edge >= first)})
    if len(rising) < 2:
        (middle,) = _quantiles(values[others], counts[others], (0.5,))
        rising.append(max(first + unit, np.round(middle / unit) * unit))
    return [_plain(edge) for edge in rising]


def _quantiles(values: np.ndarray, counts: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """The least of the sorted values that at least such shares of the people do not exceed."""
    cumulative = np.cumsum(counts) / counts.sum()
    return values[np.searchsorted(cumulative, shares)]


def _unit(spread: float, whole: bool) -> float:
    unit = 10.0 ** (np.floor(np.log10(spread)) - 1)
    return float(max(unit, 1.0) if whole else unit)


def _plain(edge: float) -> float | int:
    rounded = float(f"{edge:.15g}")
    return int(rounded) if rounded.is_integer() else rounded


def even(low: float, high: float) -> list[float | int]:
    """Edges of four bins between two bounds."""
    unit = _unit(high - low, float(low).is_integer() and float(high).is_integer())
    inner: Sequence[float] = [low + (high - low) * share for share in (0.25, 0.5, 0.75)]
    return [_plain(edge) for edge in sorted({low, *(np.round(e / unit) * unit for e in inner)})]


MOST_OPTIONS = 1000
MOST_CODES = 10  # whole numbers that may be codes rather than amounts
FEWEST_BINS = 4  # with fewer, most answers are alike: somebody has to choose the edges
FEWEST_ROWS = 20  # below, nothing tells that a column is of ids
FEWEST_EACH = 3  # rows on average, below which texts are free
_DATE = re.compile(
    r"(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d\d(\d\d)?)([T ]\d\d?:\d\d.*)?"
)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?")


class Column(NamedTuple):
    """What a column of data holds, and what its file says of it.

    counts: of each value, in how many rows. lists: whether a cell is a list, of which counts are
    those of its items, and most the longest. nothing: rows without an answer.
    """

    name: str
    counts: Mapping[str, int]
    rows: int
    nothing: int
    most: int = 0
    text: str = ""
    labels: Mapping[str, str] = {}
    missing: tuple[str, ...] = ()

    @property
    def lists(self) -> bool:
        """Whether a cell holds several answers."""
        return self.most > 0


def question_of(column: Column) -> Found:
    """The question that a column answers."""
    if not is_id(column.name):
        return LeftOut(column.name, "a name has no comma and no space around it; rename it")
    if character := hidden(column.name):
        return LeftOut(column.name, f"its name holds {character}; rename it")
    column = _with_items(column)
    codes = tuple(dict.fromkeys((*column.missing, *no_answers(column.counts, column.labels))))
    counts = {value: n for value, n in column.counts.items() if value not in codes}
    found = _found(column, counts)
    if isinstance(found, LeftOut):
        return found
    keys: dict[str, Any] = {"text": cleaned(column.text)} if column.text.strip() else {}
    keys |= found.keys
    if codes or column.nothing:
        keys["optional"] = True
    if codes:
        keys["missing"] = list(codes)
    made = replace(found, keys=keys)
    for code in set(codes) - set(column.missing):
        made = made.doubting(f"{code} was taken for no answer")
    return _remarked(made, counts)


def is_id(name: str) -> bool:
    """Whether a question can have that id."""
    return bool(name) and TABLE_SEPARATOR not in name and name == name.strip()


def _found(column: Column, counts: Mapping[str, int]) -> Found:
    """The type of a question, and its options or edges, by its answers."""
    name, values = column.name, list(counts)
    if not values:
        return LeftOut(name, "it is empty, or holds only codes for no answer")
    if column.labels and set(values) <= set(column.labels):
        missing = (*column.missing, *no_answers(column.counts, column.labels))
        return labeled(name, {c: w for c, w in column.labels.items() if c not in missing})
    if len(values) == 1:
        return LeftOut(name, "all who answered say the same")
    if column.lists:
        return _multi(column, counts)
    if meaning := yes_and_no(values):
        return yes_no(name, {} if is_plain(values) else meaning)
    if reason := _as_written(values):
        return LeftOut(name, reason)
    if _is_id_column(column, counts):
        return LeftOut(name, f"it looks like an id: use --id {name} if it says whose row it is")
    numbers = [number(value) for value in values]
    if all(each is not None for each in numbers):
        found = zip(values, numbers, strict=True)
        return _numbers(column, {float(n or 0): counts[value] for value, n in found})
    if len(values) > MOST_OPTIONS or (
        len(values) > FEWEST_ROWS and FEWEST_EACH * len(values) > column.rows
    ):
        reason = f"it is free text, {len(values):,} different ones: group them into a few answers"
        return LeftOut(name, reason)
    return _listed(name, {"type": "choice"}, values)


def _listed(name: str, keys: Mapping[str, Any], values: Sequence[str]) -> DraftQuestion:
    """A question among some values; those that a survey may not have are codes for visible ones."""
    words = {value: cleaned(value) if hidden(value) else value for value in values}
    codes = {"values": words} if any(map(hidden, values)) else {}
    return DraftQuestion(name, {**keys, "options": sorted({*words.values()})} | codes)


def _as_written(values: Sequence[str]) -> str:
    """Why answers are of no use as they are written, if so."""
    if all(map(_DATE.fullmatch, values)):
        return "it holds dates: group them in a new column, such as month"
    if any("," in value for value in values) and all(map(_DECIMAL_COMMA.fullmatch, values)):
        return "its numbers have a decimal comma: write them with a point"
    if _lists(values, ","):
        return f'several answers stand in a cell, with commas between them: write "{SEPARATOR}"'
    return ""


def yes_no(name: str, meaning: Mapping[str, str]) -> DraftQuestion:
    """A yes/no question; meaning: of each code, if it is written in any."""
    return DraftQuestion(name, {"type": "yesno"} | ({"values": dict(meaning)} if meaning else {}))


def labeled(name: str, labels: Mapping[str, str]) -> Found:
    """A question whose codes have labels, which are its answers."""
    words = {code: cleaned(label or code) for code, label in labels.items()}
    options = list(dict.fromkeys(words.values()))
    if len(options) < 2:
        return LeftOut(name, "it has fewer than two answers")
    if meaning := yes_and_no(options):
        return _spoken(yes_no(name, {code: meaning[word] for code, word in words.items()}), meaning)
    return DraftQuestion(name, {"type": "choice", "options": options, "values": words})


def _spoken(found: DraftQuestion, meaning: Mapping[str, str]) -> DraftQuestion:
    """With the file's own words for yes and no, if they are not these."""
    labels = {answer: word for word, answer in meaning.items() if word.casefold() != answer}
    return replace(found, keys={**found.keys, "labels": labels}) if labels else found


def _is_id_column(column: Column, counts: Mapping[str, int]) -> bool:
    """By its name and many values; or as many whole numbers or single words as rows."""
    rows, distinct = sum(counts.values()), len(counts)
    if looks_like_id(column.name) and 2 * distinct > rows:
        return True
    if any(" " in value for value in counts):
        return False
    fractions = any("." in value and number(value) is not None for value in counts)
    return rows >= FEWEST_ROWS and distinct == rows and not fractions


def _numbers(column: Column, counts: Mapping[float, int]) -> DraftQuestion:
    """A few whole numbers are codes or small amounts: the user has to decide."""
    values, apart = sorted(counts), spikes(counts)
    if len(values) <= MOST_CODES and all(value.is_integer() for value in values):
        options = [str(int(value)) for value in values]
        made = DraftQuestion(column.name, {"type": "choice", "options": options})
        listed = ", ".join(options)
        return made.doubting(
            f"{listed}: if these are codes, give the options names, and say in values which code "
            'is which; if they are amounts, use type = "number" and edges'
        )
    inner = np.array([value for value in values if value not in apart])
    found = edges(inner, np.array([counts[value] for value in inner]))
    made = DraftQuestion(column.name, {"type": "number", "edges": found})
    for value in apart:
        made = made.doubting(
            f"{value:.15g} is in {counts[value]:,} rows, far from all other numbers: "
            "if it means no answer, add it to missing"
        )
    if len(found) < FEWEST_BINS:
        made = made.doubting(f"only {len(found)} bins, since most answers are alike: choose edges")
    fifths = "Edges near the fifths of the data, rounded: choose those that you report."
    mean = 'If it is the mean that counts: type = "amount", edges from the least to the most.'
    return made.noting(fifths, mean)


def _with_items(column: Column) -> Column:
    """A column whose cells list several answers, with the counts of each answer."""
    if column.lists or not _lists(list(column.counts), SEPARATOR):
        return column
    items, most = Counter[str](), 1
    for cell, rows in column.counts.items():
        answers = {item.strip() for item in cell.split(SEPARATOR)}
        items.update(dict.fromkeys(answers, rows))
        most = max(most, len(answers))
    return column._replace(counts=items, most=most)


def _lists(values: Sequence[str], separator: str) -> bool:
    """Whether some cells list several of what other cells hold or list too."""
    several = [value for value in values if separator in value]
    items = {item.strip() for value in values for item in value.split(separator)}
    return bool(several) and len(items - {NONE}) < len(values) and "" not in items


def _multi(column: Column, counts: Mapping[str, int]) -> Found:
    options = sorted({*counts} - {NONE, ""})
    if len(options) < 2:
        return LeftOut(column.name, "it has fewer than two answers")
    made = _listed(column.name, {"type": "multi"}, options)
    most = min(column.most, len(made.keys["options"]))
    made = replace(made, keys={**made.keys, "at_most": most})
    return made.noting("at_most is the longest answer: fewer need less noise.")


def _remarked(made: DraftQuestion, counts: Mapping[str, int]) -> DraftQuestion:
    """With what should be looked at before it is used."""
    options, meaning = made.keys.get("options", ()), made.keys.get("values", {})
    people = Counter[str]()
    for value, rows in counts.items():
        people[meaning.get(value, value)] += rows
    if rare := [option for option in options if 0 < people[option] < FEW]:
        shown = "one option stands" if len(rare) == 1 else f"{len(rare)} of the options stand"
        each = " each" if len(rare) > 1 else ""
        made = made.doubting(f"{shown} in fewer than {FEW} rows{each}: group with others")
    if len(options) > 1 and looks_open(made.id):
        said = "If everybody knows this of everybody, `open = true` spends no noise on it."
        made = made.noting(said).doubting("likely an open stratum: see the comment")
    return made
