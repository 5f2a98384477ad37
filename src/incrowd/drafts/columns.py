"""A column of data -> a question, or the reason why it was left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.characters import cleaned, hidden
from incrowd.drafts.missing import FEW, no_answers, number, spikes
from incrowd.errors import quantity
from incrowd.survey import NONE, SEPARATOR, Choice, Multi, Number, YesNo
from incrowd.survey.question import TABLE_SEPARATOR


@dataclass(frozen=True)
class DraftQuestion:
    """A question as it will be written.

    keys: its entries in the survey file, in order. remarks: comments above it. undecided: what the
    data or the questionnaire do not show, so that the user has to decide.
    """

    id: str
    keys: Mapping[str, Any]
    remarks: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    def noting(self, *remarks: str) -> DraftQuestion:
        """Return this question with more comments."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def doubting(self, doubt: str) -> DraftQuestion:
        """Return this question with one more open decision."""
        return replace(self, undecided=(*self.undecided, doubt))


@dataclass(frozen=True)
class SkippedColumn:
    """A column that cannot become a question, and why."""

    id: str
    why: Sentence

    @property
    def reason(self) -> str:
        """The reason in English."""
        return str(self.why)


ColumnDraft = DraftQuestion | SkippedColumn

# Words for yes and no, and names of columns that identify people or hold public facts.

YES = frozenset({"yes", "true", "1", "y", "ja", "j", "oui", "si", "sí", "sim", "да", "tak", "hai"})
NO = frozenset({"no", "false", "0", "n", "nein", "nee", "non", "não", "нет", "nie", "nej", "iie"})
PLAIN = ({"yes", "no"}, {"true", "false"}, {"1", "0"})  # read without codes
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
    """Map two answers to "yes" and "no" if that is what they mean, in any of some languages."""
    folded = {answer: answer.casefold() for answer in answers}
    meaning = {a: "yes" if f in YES else "no" for a, f in folded.items() if f in YES | NO}
    return meaning if len(meaning) == len(folded) and {*meaning.values()} == {"yes", "no"} else None


def is_plain(answers: Iterable[str]) -> bool:
    """Return whether yes and no are written in a way that every survey reads without codes."""
    folded = {answer.casefold().removesuffix(".0") for answer in answers}
    return any(folded <= words for words in PLAIN)


def looks_like_id(name: str) -> bool:
    """Return whether the name of a column suggests that it identifies the person."""
    return bool(_ID.search(name))


def looks_open(name: str) -> bool:
    """Return whether the name of a column suggests public knowledge,
    such as a country or a month."""
    return bool(_OPEN.search(name))


# Edges of bins: round numbers near the quintiles of the data.

QUINTILES = (0.2, 0.4, 0.6, 0.8)


def edges(numbers: np.ndarray, counts: np.ndarray) -> list[float | int]:
    """Return the left edges of about five bins with equally many people, rounded.

    The first edge is not above any number. The edges are rounded so that they reveal little about
    any one person, and the last bin has no upper edge, so that nobody's largest number appears in
    the survey. The unit of rounding follows the middle of the data: a few huge numbers do not
    change it. numbers, counts: the different numbers, and the rows of each.
    """
    order = np.argsort(numbers)
    values, counts = numbers[order], counts[order]
    quintiles = _quantiles(values, counts, QUINTILES)
    others = values != values[np.argmax(counts)]
    if not (spread := quintiles[-1] - quintiles[0]):  # most are equal: use the others
        rest = _quantiles(values[others], counts[others], QUINTILES)
        spread = rest[-1] - rest[0] or values[-1] - values[0]
    unit = _unit(float(spread), bool(np.all(values == np.round(values))))
    first = 0.0 if values[0] >= 0 else np.floor(values[0] / unit) * unit
    rising = sorted({first, *(edge for edge in np.round(quintiles / unit) * unit if edge >= first)})
    if len(rising) < 2:
        (middle,) = _quantiles(values[others], counts[others], (0.5,))
        rising.append(max(first + unit, np.round(middle / unit) * unit))
    return [_plain(edge) for edge in rising]


def _quantiles(values: np.ndarray, counts: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """Return the quantiles of sorted values, each of which `counts` people have."""
    cumulative = np.cumsum(counts) / counts.sum()
    return values[np.searchsorted(cumulative, shares)]


def _unit(spread: float, whole: bool) -> float:
    unit = 10.0 ** (np.floor(np.log10(spread)) - 1)
    return float(max(unit, 1.0) if whole else unit)


def _plain(edge: float) -> float | int:
    rounded = float(f"{edge:.15g}")
    return int(rounded) if rounded.is_integer() else rounded


def even(low: float, high: float) -> list[float | int]:
    """Return the left edges of four bins of equal width between two bounds, rounded."""
    unit = _unit(high - low, float(low).is_integer() and float(high).is_integer())
    inner = [low + (high - low) * share for share in (0.25, 0.5, 0.75)]
    return [_plain(edge) for edge in sorted({low, *(np.round(e / unit) * unit for e in inner)})]


BAD_NAME = sentence("drafts.bad-name")
MOST_OPTIONS = 1000
MOST_CODES = 10  # so few whole numbers may be codes rather than amounts
FEWEST_BINS = 4  # with fewer, most answers are equal, and the user has to choose the edges
FEWEST_ROWS = 20  # in fewer rows, different values do not suggest ids
FEWEST_EACH = 3  # rows per text on average; with fewer, the column is free text
_DATE = re.compile(
    r"(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d\d(\d\d)?)([T ]\d\d?:\d\d.*)?"
)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?")


class DataColumn(NamedTuple):
    """The values of a column of data, and what its file says about them.

    counts: the number of rows with each value; if cells are lists, with each item. empty: the
    number of rows without an answer. longest: the length of the longest list; 0 if cells are not
    lists. text, labels, missing: the wording, the label of each code, and the codes for no answer.
    """

    name: str
    counts: Mapping[str, int]
    rows: int
    empty: int
    longest: int = 0
    text: str = ""
    labels: Mapping[str, str] = {}
    missing: tuple[str, ...] = ()

    @property
    def lists(self) -> bool:
        """Whether a cell can contain several answers."""
        return self.longest > 0


def question_of(column: DataColumn) -> ColumnDraft:
    """Return the question that a column answers, or why there is none."""
    if not is_id(column.name):
        return SkippedColumn(column.name, BAD_NAME)
    if character := hidden(column.name):
        return SkippedColumn(column.name, sentence("drafts.hidden-character", character=character))
    column = _with_items(column)
    codes = tuple(dict.fromkeys((*column.missing, *no_answers(column.counts, column.labels))))
    counts = {value: n for value, n in column.counts.items() if value not in codes}
    question = _typed(column, counts)
    if isinstance(question, SkippedColumn):
        return question
    keys: dict[str, Any] = {"text": cleaned(column.text)} if column.text.strip() else {}
    keys |= question.keys
    if codes or column.empty:
        keys["optional"] = True
    if codes:
        keys["missing"] = list(codes)
    question = replace(question, keys=keys)
    for code in set(codes) - set(column.missing):
        question = question.doubting(f"{code} was taken to mean no answer")
    return _reviewed(question, counts)


def is_id(name: str) -> bool:
    """Return whether a question can have this name as its id."""
    return bool(name) and TABLE_SEPARATOR not in name and name == name.strip()


def _typed(column: DataColumn, counts: Mapping[str, int]) -> ColumnDraft:
    """Choose the type of a question, and its options or edges, by its answers."""
    name, values = column.name, list(counts)
    if not values:
        return SkippedColumn(name, sentence("drafts.empty-column"))
    if column.labels and set(values) <= set(column.labels):
        missing = (*column.missing, *no_answers(column.counts, column.labels))
        return labeled(name, {c: w for c, w in column.labels.items() if c not in missing})
    if len(values) == 1:
        return SkippedColumn(name, sentence("drafts.one-answer"))
    if column.lists:
        return _multi(column, counts)
    if meaning := yes_and_no(values):
        return yes_no(name, {} if is_plain(values) else meaning)
    if why := _as_written(values):
        return SkippedColumn(name, why)
    if _is_id_column(column, counts):
        return SkippedColumn(name, sentence("drafts.looks-like-id", name=name))
    numbers = [number(value) for value in values]
    if all(each is not None for each in numbers):
        pairs = zip(values, numbers, strict=True)
        return _numbers(column, {float(n or 0): counts[value] for value, n in pairs})
    if len(values) > MOST_OPTIONS or (
        len(values) > FEWEST_ROWS and FEWEST_EACH * len(values) > column.rows
    ):
        return SkippedColumn(name, sentence("drafts.free-text", texts=len(values)))
    return _listed(name, {"type": Choice.type_name()}, values)


def _listed(name: str, keys: Mapping[str, Any], values: Sequence[str]) -> DraftQuestion:
    """Return a question whose options are some values;
    values with hidden characters become codes."""
    words = {value: cleaned(value) if hidden(value) else value for value in values}
    codes = {"values": words} if any(map(hidden, values)) else {}
    return DraftQuestion(name, {**keys, "options": sorted({*words.values()})} | codes)


def _as_written(values: Sequence[str]) -> Sentence | None:
    """Return why the answers cannot be used as they are written; None if they can."""
    if all(map(_DATE.fullmatch, values)):
        return sentence("drafts.dates")
    if any("," in value for value in values) and all(map(_DECIMAL_COMMA.fullmatch, values)):
        return sentence("drafts.decimal-comma")
    if _lists(values, ","):
        return sentence("drafts.separated-by-commas", separator=SEPARATOR)
    return None


def yes_no(name: str, meaning: Mapping[str, str]) -> DraftQuestion:
    """Return a yes/no question. meaning: the answer that each code stands for;
    empty without codes."""
    return DraftQuestion(
        name, {"type": YesNo.type_name()} | ({"values": dict(meaning)} if meaning else {})
    )


def labeled(name: str, labels: Mapping[str, str]) -> ColumnDraft:
    """Return a question whose answers are the labels of its codes."""
    words = {code: cleaned(label or code) for code, label in labels.items()}
    options = list(dict.fromkeys(words.values()))
    if len(options) < 2:
        return SkippedColumn(name, sentence("drafts.few-answers"))
    if meaning := yes_and_no(options):
        question = yes_no(name, {code: meaning[word] for code, word in words.items()})
        shown = {answer: word for word, answer in meaning.items() if word.casefold() != answer}
        return replace(question, keys={**question.keys, "labels": shown}) if shown else question
    return DraftQuestion(name, {"type": Choice.type_name(), "options": options, "values": words})


def _is_id_column(column: DataColumn, counts: Mapping[str, int]) -> bool:
    """Return whether a column holds ids: by its name and many values,
    or because all values differ."""
    rows, distinct = sum(counts.values()), len(counts)
    if looks_like_id(column.name) and 2 * distinct > rows:
        return True
    if any(" " in value for value in counts):
        return False
    fractions = any("." in value and number(value) is not None for value in counts)
    return rows >= FEWEST_ROWS and distinct == rows and not fractions


def _numbers(column: DataColumn, counts: Mapping[float, int]) -> DraftQuestion:
    """Return a question about a number; of a few whole numbers, a choice for the user to review."""
    values, possible_codes = sorted(counts), spikes(counts)
    if len(values) <= MOST_CODES and all(value.is_integer() for value in values):
        options = [str(int(value)) for value in values]
        question = DraftQuestion(column.name, {"type": Choice.type_name(), "options": options})
        listed = ", ".join(options)
        return question.doubting(
            f"if {listed} are codes, name the options and map the codes to them in values; if they "
            'are amounts, use type = "number" with edges'
        )
    answers = np.array([value for value in values if value not in possible_codes])
    bins = edges(answers, np.array([counts[value] for value in answers]))
    question = DraftQuestion(column.name, {"type": Number.type_name(), "edges": bins})
    for value in possible_codes:
        question = question.doubting(
            f"{value:.15g} occurs in {quantity(counts[value], 'rows')}, far from all other "
            "numbers; if it means no answer, add it to missing"
        )
    if len(bins) < FEWEST_BINS:
        question = question.doubting(
            f"there are only {len(bins)} bins, because most answers are equal; choose the edges"
        )
    return question.noting(
        "The edges are the quintiles of the data, rounded. Choose those that you will report.",
        'For the mean, use type = "amount" with edges from the smallest to the largest amount.',
    )


def _with_items(column: DataColumn) -> DataColumn:
    """Return the column with the counts of each answer, if its cells list several answers."""
    if column.lists or not _lists(list(column.counts), SEPARATOR):
        return column
    items, longest = Counter[str](), 1
    for cell, rows in column.counts.items():
        answers = {item.strip() for item in cell.split(SEPARATOR)}
        items.update(dict.fromkeys(answers, rows))
        longest = max(longest, len(answers))
    return column._replace(counts=items, longest=longest)


def _lists(values: Sequence[str], separator: str) -> bool:
    """Return whether some cells list several values that recur in other cells."""
    several = [value for value in values if separator in value]
    items = {item.strip() for value in values for item in value.split(separator)}
    return bool(several) and len(items - {NONE}) < len(values) and "" not in items


def _multi(column: DataColumn, counts: Mapping[str, int]) -> ColumnDraft:
    options = sorted({*counts} - {NONE, ""})
    if len(options) < 2:
        return SkippedColumn(column.name, sentence("drafts.few-answers"))
    question = _listed(column.name, {"type": Multi.type_name()}, options)
    most = min(column.longest, len(question.keys["options"]))
    question = replace(question, keys={**question.keys, "at_most": most})
    return question.noting(
        "at_most is the largest number of options in one answer; a smaller limit needs less noise."
    )


def _reviewed(question: DraftQuestion, counts: Mapping[str, int]) -> DraftQuestion:
    """Add what the user should look at: rare options, and public knowledge."""
    options, meaning = question.keys.get("options", ()), question.keys.get("values", {})
    people = Counter[str]()
    for value, rows in counts.items():
        people[meaning.get(value, value)] += rows
    if rare := [option for option in options if 0 < people[option] < FEW]:
        question = question.doubting(
            f"one option occurs in fewer than {FEW} rows; group it with others"
            if len(rare) == 1
            else f"{len(rare)} options occur in fewer than {FEW} rows each; group them with others"
        )
    if len(options) > 1 and looks_open(question.id):
        question = question.noting(
            "If this is public knowledge about everyone, `open = true` sends it without noise."
        ).doubting("this may be public knowledge; see the comment about `open`")
    return question
