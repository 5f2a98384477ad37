"""A column of data -> a question, or the reason why it was left out."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.characters import cleaned, hidden
from incrowd.drafts.column_names import FREE_WORDS, RECORDS, is_year, named, tokens
from incrowd.drafts.design import design_of
from incrowd.drafts.excel_dates import is_date, may_be_ranges, ranges_of
from incrowd.drafts.lists import is_ranking, listed_answers, may_list
from incrowd.drafts.missing import FEW, SOFTWARE, no_answers, number, spikes, stray_words
from incrowd.drafts.number_forms import NumberForm, number_form, unit_of
from incrowd.drafts.people import is_identifier
from incrowd.drafts.personal import PersonalData, is_day, personal
from incrowd.drafts.scales import ordered
from incrowd.drafts.spellings import canonical, clean_id, confusable
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


PERSONAL = "drafts.personal"  # the reason of columns that are left out


@dataclass(frozen=True)
class SkippedColumn:
    """A column that cannot become a question, and why.

    doubt: what the user has to decide, if the column may be a question after all; "" otherwise.
    """

    id: str
    why: Sentence
    doubt: str = ""

    @property
    def reason(self) -> str:
        """The reason in English."""
        return str(self.why)

    @property
    def personal(self) -> bool:
        """Whether it has personal data without doubt."""
        return self.why.code == PERSONAL


ColumnDraft = DraftQuestion | SkippedColumn

# Words for yes and no, and names of columns that identify people or hold public facts.

YES = frozenset(
    {
        *("yes", "true", "1", "y", "ja", "j", "oui", "si", "sí", "sim", "да", "tak", "hai", "はい"),
        *(
            "selected",
            "checked",
            "ticked",
            "chosen",
            "mentioned",
            "ausgewählt",
            "genannt",
            "quoted",
            "gewählt",
            "angekreuzt",
            "marked",
            "markiert",
        ),
    }
)
NO = frozenset(
    {
        *(
            "no",
            "false",
            "0",
            "n",
            "nein",
            "nee",
            "non",
            "não",
            "нет",
            "nie",
            "nej",
            "iie",
            "いいえ",
        ),
        *("not selected", "unchecked", "not checked", "not ticked", "unselected", "not chosen"),
        *("not mentioned", "nicht ausgewählt", "nicht genannt", "not quoted", "unticked"),
        *("nicht gewählt", "nicht angekreuzt", "not marked", "nicht markiert"),
    }
)
TICKS = frozenset({"x", "✓", "✔", "☑", "✗", "*", "+", "on", "•", "●", "■"})  # beside blank cells
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
    return bool(_ID.search(name)) or is_identifier(name)


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
    return [whole_or_not(edge) for edge in rising]


def _quantiles(values: np.ndarray, counts: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """Return the quantiles of sorted values, each of which `counts` people have."""
    cumulative = np.cumsum(counts) / counts.sum()
    return values[np.searchsorted(cumulative, shares)]


def _unit(spread: float, whole: bool) -> float:
    unit = 10.0 ** (np.floor(np.log10(spread)) - 1)
    return float(max(unit, 1.0) if whole else unit)


def whole_or_not(edge: float) -> float | int:
    """Return a number as a survey writes it."""
    rounded = float(f"{edge:.15g}")
    return int(rounded) if rounded.is_integer() else rounded


def even(low: float, high: float) -> list[float | int]:
    """Return the left edges of four bins of equal width between two bounds, rounded."""
    unit = _unit(high - low, float(low).is_integer() and float(high).is_integer())
    inner = [low + (high - low) * share for share in (0.25, 0.5, 0.75)]
    return [
        whole_or_not(edge) for edge in sorted({low, *(np.round(e / unit) * unit for e in inner)})
    ]


BAD_NAME = sentence("drafts.bad-name")
MOST_OPTIONS = 1000
YEARS = range(1800, 2200)
MOST_CODES = 10  # so few whole numbers may be codes rather than amounts
FEWEST_BINS = 4  # with fewer, most answers are equal, and the user has to choose the edges
FEWEST_ROWS = 20  # in fewer rows, different values do not suggest ids
FEWEST_EACH = 3  # answers per text on average; with fewer, the column is free text
_DATE = re.compile(
    r"(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d\d(\d\d)?)([T ]\d\d?:\d\d.*)?"
)
_TIME = re.compile(r"\d\d?:\d\d(:\d\d(\.\d+)?)?( ?[ap]\.?m\.?)?", re.IGNORECASE)
HOURS = 24  # more different times are not a list of answers
LONGEST_TICK = 60  # characters of a value that marks a choice
FEW_RARE = 5  # answers, none of which is common, of the few people who gave any
REMARK = 4  # words: answers as long are remarks sooner than options


class DataColumn(NamedTuple):
    """The values of a column of data, and what its file says about them.

    counts: the number of rows with each value; if cells are lists, with each item. empty: the
    number of rows without an answer. longest: the length of the longest list; 0 if cells are not
    lists. text, labels, missing: the wording, the label of each code, and the codes for no answer.
    order: the categories in the order of the file, if it states one. id: the id of the question, if
    it is not the name. separator: what separates the answers in a cell of text. typed: whether the
    file stores numbers, and not text. form: how its numbers are written.
    """

    name: str
    counts: Mapping[str, int]
    rows: int
    empty: int
    longest: int = 0
    text: str = ""
    labels: Mapping[str, str] = {}
    missing: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    id: str = ""
    separator: str = ""
    typed: bool = False
    form: NumberForm = NumberForm()

    @property
    def lists(self) -> bool:
        """Whether a cell can contain several answers."""
        return self.longest > 0


def question_of(column: DataColumn) -> ColumnDraft:
    """Return the question that a column answers, or why there is none."""
    id = column.id or clean_id(column.name)
    if not (column.lists or column.labels) and (ranges := ranges_of(column.counts)):
        return _with_ranges(column, ranges)
    if left_out := _no_question(column, id):
        return left_out
    column = _with_plain_numbers(_with_items(column))
    if column.form.unclear:
        return _unclear(column.name, column.form)
    codes = dict.fromkeys((*column.missing, *no_answers(column.counts, column.labels)))
    words = () if column.labels or column.lists else stray_words(column.counts)
    counts = {v: n for v, n in column.counts.items() if v not in codes and v not in words}
    question = _typed(column, counts, len(column.counts) == len(counts))
    if isinstance(question, SkippedColumn):
        return question
    codes |= dict.fromkeys(words)
    question = replace(question, id=id, keys=_all_keys(column, id, question, tuple(codes)))
    certain = question.keys["type"] in (Number.type_name(), YesNo.type_name())
    for code in codes:
        if code not in column.missing and not (certain and code.casefold() in SOFTWARE):
            question = question.doubting(f"{code} was taken to mean no answer")
    if any(char.isdigit() for word in words for char in word):
        question = question.noting(
            "A code that stands for an amount can be mapped to it, as in values = "
            '{ "60+" = "60" }; then remove it from missing.'
        )
    return reviewed(question, counts)


def _with_ranges(column: DataColumn, ranges: Mapping[str, str]) -> ColumnDraft:
    """Return the question of a column in which a spreadsheet turned ranges into dates."""
    counts = Counter[str]()
    for value, rows in column.counts.items():
        counts[ranges.get(value, value)] += rows
    question = question_of(column._replace(counts=counts))
    if isinstance(question, SkippedColumn):
        return question
    values = question.keys.get("values", {})
    codes = values | {date: values.get(range, range) for date, range in ranges.items()}
    shown = ", ".join(f"{date} as {range}" for date, range in ranges.items())
    return replace(question, keys={**question.keys, "values": codes}).doubting(
        f"a spreadsheet seems to have turned ranges into dates; these were read back: {shown}"
    )


def _no_question(column: DataColumn, id: str) -> SkippedColumn | None:
    """Return why a column is no question, whatever the type of its answers; None if it may be."""
    name = column.name
    if character := hidden(name):
        return SkippedColumn(name, sentence("drafts.hidden-character", character=character))
    if not is_id(id):
        return SkippedColumn(name, BAD_NAME)
    if data := personal(name, _shown(column)):
        return _personal(name, data)
    if _is_about_record(name, column.counts):
        return SkippedColumn(name, sentence("drafts.about-the-record"))
    if not column.lists and is_ranking(column.counts):
        return SkippedColumn(name, sentence("drafts.ranking"))
    return None


_TIMES = re.compile(r"TIME\d{3}|(Group|Question|Gruppen|Frage)[ -]?(time|zeit): .*", re.IGNORECASE)
_STATES = frozenset({"0", "1", "2"})  # of an instrument of REDCap


def _is_about_record(name: str, counts: Mapping[str, int]) -> bool:
    """Return whether survey software writes a column about the record: its language, how long it
    took, or whether a form is complete."""
    words = " ".join(tokens(name))
    state = name.casefold().endswith("_complete") and {*counts} <= _STATES
    return words in RECORDS or state or bool(_TIMES.fullmatch(name))


def _shown(column: DataColumn) -> Mapping[str, int]:
    """Return the answers that people could read: labels instead of their codes."""
    return {column.labels.get(value) or value: rows for value, rows in column.counts.items()}


def _all_keys(
    column: DataColumn, id: str, question: DraftQuestion, codes: tuple[str, ...]
) -> dict[str, Any]:
    """Return the entries of a question, and how the file writes its answers."""
    text = cleaned(column.text) if column.text.strip() else ""
    text = text or (cleaned(column.name) if TABLE_SEPARATOR in column.name else "")
    keys: dict[str, Any] = {"text": text} if text else {}
    if id != column.name:
        keys["column"] = column.name
    keys |= question.keys
    for key in ("separator", "thousands", "decimal"):
        if sign := {**column.form._asdict(), "separator": column.separator}[key]:
            keys[key] = sign
    blank_is_no = "" in keys.get("values", {})
    if codes or (column.empty and not blank_is_no):
        keys["optional"] = True
    return keys | ({"missing": list(codes)} if codes else {})


_KINDS = {
    "email": sentence("drafts.emails"),
    "url": sentence("drafts.urls"),
    "device": sentence("drafts.devices"),
    "agent": sentence("drafts.user-agents"),
    "iban": sentence("drafts.bank-accounts"),
    "ip": sentence("drafts.ip-addresses"),
    "account": sentence("drafts.accounts"),
    "contact": sentence("drafts.contacts"),
    "national": sentence("drafts.national-numbers"),
    "card": sentence("drafts.cards"),
    "phone": sentence("drafts.phones"),
    "coordinates": sentence("drafts.coordinates"),
    "address": sentence("drafts.addresses"),
    "plate": sentence("drafts.plates"),
    "birth": sentence("drafts.birth-dates"),
    "name": sentence("drafts.people"),
}


def _personal(name: str, data: PersonalData) -> SkippedColumn:
    what = _KINDS[data.kind]
    if not data.doubtful:
        return SkippedColumn(name, sentence(PERSONAL, what=what))
    doubt = f'"{name}" seems to contain {what}; make it a question only if it is something else'
    return SkippedColumn(name, sentence("drafts.maybe-personal", what=what), doubt)


def is_id(name: str) -> bool:
    """Return whether a question can have this name as its id."""
    return bool(name) and TABLE_SEPARATOR not in name and name == name.strip()


def _typed(column: DataColumn, counts: Mapping[str, int], all_answers: bool = True) -> ColumnDraft:
    """Choose the type of a question, and its options or edges, by its answers.

    all_answers: whether no value means no answer.
    """
    name, values = column.name, list(counts)
    if not values:
        return SkippedColumn(name, sentence("drafts.empty-column"))
    if column.labels and set(values) <= set(column.labels):
        missing = (*column.missing, *no_answers(column.counts, column.labels))
        return labeled(name, {c: w for c, w in column.labels.items() if c not in missing})
    if column.lists:
        return _multi(column, counts)
    if len(values) == 1:
        ticked = column.empty and all_answers and _is_tick(column, values[0], counts[values[0]])
        return _tick(name, values[0]) if ticked else SkippedColumn(name, ONE_ANSWER)
    if meaning := yes_and_no(values):
        return yes_no(name, {} if is_plain(values) else meaning)
    return _no_answers(column, counts) or _counted(column, counts)


def _no_answers(column: DataColumn, counts: Mapping[str, int]) -> SkippedColumn | None:
    """Return why the values are no answers to a question; None if they are."""
    name, values = column.name, list(counts)
    if why := _nested(values) or _as_written(values):
        turned = may_be_ranges(counts)
        doubt = f"if a spreadsheet turned ranges into dates, so that {turned}, write them back"
        return SkippedColumn(name, why, doubt if turned else "")
    if why := design_of(name, counts):
        doubt = f'"{name}" was left out of the questions; {_DESIGN_ADVICE}'
        return SkippedColumn(name, why, doubt)
    if _is_id_column(column, counts):
        why = sentence("drafts.looks-like-id", name=name)
        doubt = "" if looks_like_id(name) else f'"{name}" differs in every row; {_IF_ANSWERS}'
        return SkippedColumn(name, why, doubt)
    return None


def _counted(column: DataColumn, counts: Mapping[str, int]) -> ColumnDraft:
    """Return a question about numbers or options."""
    name, values = column.name, list(counts)
    numbers = [number(value) for value in values]
    if all(each is not None for each in numbers):
        return _numbers(
            column, counts, {v: float(n or 0) for v, n in zip(values, numbers, strict=True)}
        )
    if _is_free_text(column, counts):
        why = sentence("drafts.free-text", texts=len(values))
        coded = not any(" " in value for value in values)
        doubt = f'"{name}" has {len(values):,} different words or codes; {_IF_ANSWERS}'
        return SkippedColumn(name, why, doubt if coded else "")
    return _choice(column, counts)


ONE_ANSWER = sentence("drafts.one-answer")
_IF_ANSWERS = "if they are answers, group them into a few, and add a question"
_DESIGN_ADVICE = (
    "weights and strata belong to the analysis: ask for what they were computed from, list these "
    "questions in `weights`, and name the file of known shares with --margins"
)


def _is_tick(column: DataColumn, value: str, rows: int) -> bool:
    """Return whether a single value beside blank cells marks what people chose."""
    word = value.casefold().removesuffix(".0")
    if word in YES or word in TICKS or word in column.name.casefold():
        return True
    words = named(tokens(column.name), *FREE_WORDS)
    marks = word not in NO and number(value) is None and not words
    return marks and rows >= FEW and len(value) <= LONGEST_TICK


BLANK_IS_NO = "blank cells were taken to mean no; some may mean that the question was not asked"


def _tick(name: str, value: str) -> DraftQuestion:
    shown = value if len(value) <= LONGEST_TICK else f"{value[:LONGEST_TICK]}…"
    return (
        yes_no(name, {value: "yes", "": "no"})
        .noting(f"A cell with {shown} means yes, and a blank cell means no.")
        .doubting(BLANK_IS_NO)
    )


def _choice(column: DataColumn, counts: Mapping[str, int]) -> DraftQuestion:
    """Return a choice among the values, in the order of their scale if it is known."""
    names, ignored = canonical(counts)
    options = list(dict.fromkeys(names.values()))
    if len(options) < 2:
        names, ignored = {value: cleaned(value) for value in counts}, ()
        options = list(dict.fromkeys(names.values()))
    order = _category_order(column.order, names, options) or ordered(options)
    codes = {value: option for value, option in names.items() if value != option}
    keys = {"type": Choice.type_name(), "options": [*(order or sorted(options))]}
    question = DraftQuestion(column.name, keys | ({"values": codes} if codes else {}))
    if len(names) > len(options):
        question = question.noting(
            f"{len(names) - len(options)} other spellings of these options are mapped in values."
        )
    if dated := [option for option in options if is_date(option)]:
        question = question.doubting(
            f"{dated[0]} may be an answer such as 1-2 that a spreadsheet took for a date; map it "
            "to that answer in values"
        )
    if named(tokens(column.name), *FREE_WORDS) and any(" " in option for option in options):
        question = question.doubting(
            "its name suggests remarks, which everyone who is asked would read as options; remove "
            "this question if people wrote them"
        )
    if ignored:
        question = question.doubting(f"capitals were ignored in {', '.join(ignored)}; see values")
    for remark in confusable(question.keys["options"]):
        question = question.doubting(f"{remark}; if they are one answer, map one in values")
    if order is None and (cell := may_list(column.counts)):
        question = question.doubting(
            f'if "{cell}" lists several answers, use type = "multi" with separator = " "'
        )
    if others := _beside_numbers(counts):
        question = question.doubting(
            f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} not a number; "
            'for a question with type = "number" and edges, map each such value in values'
        )
    elif order is None and len(options) > 2:
        question = question.doubting(
            "the options are in alphabetical order; if they are steps of a scale, sort them before "
            "scores or regressions use them"
        )
    return question


def _beside_numbers(counts: Mapping[str, int]) -> list[str]:
    """Return the values that are not numbers, if nearly all rows have numbers, several ones."""
    others = [value for value in counts if number(value) is None]
    few = 10 * sum(counts[value] for value in others) <= sum(counts.values())
    return others if few and len(counts) - len(others) > 2 else []


def _category_order(
    order: Sequence[str], names: Mapping[str, str], options: Sequence[str]
) -> tuple[str, ...] | None:
    """Return the options in the order that the file states for its categories."""
    stated = tuple(dict.fromkeys(names[each] for each in order if each in names))
    return stated if stated and {*stated} == {*options} else None


def _is_free_text(column: DataColumn, counts: Mapping[str, int]) -> bool:
    """Return whether answers are free text: many of the different ones occur in few rows.

    Only rows that answered count, since many people may skip a remark. Texts of several words are
    remarks sooner than single words, which may be places or products.
    """
    answered, distinct = sum(counts.values()), len(counts)
    if distinct > MOST_OPTIONS:
        return True
    once = sum(rows == 1 for rows in counts.values())
    rare = sum(rows < FEW for rows in counts.values())
    wordy = sum(len(value.split()) >= REMARK for value in counts) * 2 >= distinct
    if column.rows < FEWEST_ROWS:
        return wordy and distinct == answered > 2
    if once == distinct:  # nobody gave the answer of another
        return distinct > 2 or wordy
    if distinct <= FEWEST_ROWS:
        own_words = sum(rows == 1 and len(value.split()) >= 3 for value, rows in counts.items())
        nothing_common = rare == distinct > FEW_RARE and 4 * answered < column.rows
        return 2 * once >= distinct and (wordy or own_words > 1 or nothing_common)
    many = FEWEST_EACH * distinct > answered or 2 * once >= distinct
    return many or (wordy and 5 * rare >= 4 * distinct)


def _nested(values: Sequence[str]) -> Sentence | None:
    """Return why the cells cannot be answers if they contain lists and tables as JSON."""
    return sentence("drafts.nested") if all(map(_is_nested, values)) else None


def _is_nested(value: str) -> bool:
    if value[:1] + value[-1:] not in ("{}", "[]"):
        return False
    try:
        return isinstance(json.loads(value.replace("'", '"')), dict | list)
    except (ValueError, RecursionError):
        return False


def _as_written(values: Sequence[str]) -> Sentence | None:
    """Return why the answers cannot be used as they are written; None if they can."""
    dates = all(_DATE.fullmatch(v) or is_day(v) or is_date(v) for v in values)
    if dates or (len(values) > HOURS and all(map(_TIME.fullmatch, values))):
        return sentence("drafts.dates")
    if len(values) > MOST_CODES and (unit := unit_of(values)):
        return sentence("drafts.unit", unit=unit)
    if any("," in value for value in values) and _lists(values, ","):
        return sentence("drafts.separated-by-commas", separator=SEPARATOR)
    return None


def yes_no(name: str, meaning: Mapping[str, str]) -> DraftQuestion:
    """Return a yes/no question. meaning: the answer that each code stands for;
    empty without codes."""
    return DraftQuestion(
        name, {"type": YesNo.type_name()} | ({"values": dict(meaning)} if meaning else {})
    )


def labeled(name: str, labels: Mapping[str, str]) -> ColumnDraft:
    """Return a question whose answers are the labels of its codes, in the order of numeric codes.

    A label of several codes is followed by the code, since the answers differ.
    """
    words = {code: cleaned(label or code) for code, label in _by_code(labels).items()}
    times = Counter(words.values())
    distinct = {
        code: f"{word} ({code})" if times[word] > 1 else word for code, word in words.items()
    }
    question = coded(name, distinct)
    for word in (word for word, codes in times.items() if codes > 1):
        if isinstance(question, DraftQuestion):
            question = question.doubting(merged_or_not(word, times[word]))
    return question


def merged_or_not(label: str, codes: int) -> str:
    """Return the doubt about a label of several codes."""
    return f"{codes} codes have the label {label}; if they mean the same answer, merge them"


def coded(name: str, words: Mapping[str, str]) -> ColumnDraft:
    """Return a question with the answers of some codes, in their order."""
    options = list(dict.fromkeys(words.values()))
    if len(options) < 2:
        return SkippedColumn(name, sentence("drafts.few-answers"))
    if meaning := yes_and_no(options):
        question = yes_no(name, {code: meaning[word] for code, word in words.items()})
        shown = {answer: word for word, answer in meaning.items() if word.casefold() != answer}
        return replace(question, keys={**question.keys, "labels": shown}) if shown else question
    keys = {"type": Choice.type_name(), "options": options, "values": dict(words)}
    return DraftQuestion(name, keys)


def _by_code(labels: Mapping[str, str]) -> Mapping[str, str]:
    numbers = {code: number(code) for code in labels}
    if any(each is None for each in numbers.values()):
        return labels
    return {code: labels[code] for code in sorted(labels, key=lambda code: numbers[code] or 0)}


def _is_id_column(column: DataColumn, counts: Mapping[str, int]) -> bool:
    """Return whether a column holds ids: by its name and many values,
    or because all values differ."""
    rows, distinct = sum(counts.values()), len(counts)
    if looks_like_id(column.name) and 2 * distinct > rows:
        return True
    if any(" " in value for value in counts):
        return False
    if rows < FEWEST_ROWS or distinct < rows:
        return False
    numbers = [number(value) for value in counts]
    amounts = [each for each in numbers if each is not None]
    if len(amounts) < distinct:
        return True
    whole = all(each.is_integer() for each in amounts)
    return whole and max(amounts) - min(amounts) < 2 * distinct  # they number the rows


def _numbers(
    column: DataColumn, rows: Mapping[str, int], numbers: Mapping[str, float]
) -> DraftQuestion:
    """Return a question about a number; of a few whole numbers, a choice for the user to review."""
    counts: dict[float, int] = Counter()
    for text, value in numbers.items():
        counts[value] += rows[text]
    values, possible_codes = sorted(counts), spikes(counts)
    if len(values) < 2 or _may_be_codes(counts):
        return _few_numbers(column.name, numbers)
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


def _may_be_codes(counts: Mapping[float, int]) -> bool:
    """Return whether numbers are few and whole. Large ones that hardly recur are amounts, of which
    a list would show everyone's own."""
    few = len(counts) <= MOST_CODES and all(each.is_integer() for each in counts)
    recurring = sum(counts.values()) >= FEWEST_EACH * len(counts)
    return few and (recurring or max(counts) <= MOST_CODES)


def _few_numbers(name: str, numbers: Mapping[str, float]) -> DraftQuestion:
    """Return a choice among a few whole numbers, written in any digits."""
    texts = sorted(numbers, key=lambda text: (numbers[text], len(text), text))
    names = {text: unicodedata.normalize("NFKC", text) for text in texts}
    names = {
        text: name if name.isascii() else f"{numbers[text]:.15g}" for text, name in names.items()
    }
    options = list(dict.fromkeys(names.values()))
    codes = {text: option for text, option in names.items() if text != option}
    keys = {"type": Choice.type_name(), "options": options} | ({"values": codes} if codes else {})
    question = DraftQuestion(name, keys)
    if len({*numbers.values()}) < len(options):
        question = question.doubting("some options are the same number; see whether they differ")
    if is_year(name) and all(value in YEARS for value in numbers.values()):
        return question
    doubt = (
        f"if {', '.join(options)} are codes, name the options and map the codes to them in values"
    )
    amounts = '; if they are amounts, use type = "number" with edges'
    return question.doubting(doubt + (amounts if len(options) > 2 else ""))


def _with_items(column: DataColumn) -> DataColumn:
    """Return the column with the counts of each answer, if its cells list several answers."""
    if column.lists or column.labels or (lists := listed_answers(column.counts)) is None:
        return column
    items = {item: rows for item, rows in lists.counts.items() if item != NONE}
    if any(SEPARATOR in item for item in items):
        return column
    separator = "" if lists.separator == SEPARATOR else lists.separator
    return column._replace(counts=items, longest=lists.longest, separator=separator)


def _with_plain_numbers(column: DataColumn) -> DataColumn:
    """Return the column with the counts of its numbers as Python writes them."""
    if column.lists or column.labels or column.typed:
        return column
    form = number_form(column.counts)
    return column._replace(counts=form.plain(column.counts), form=form) if form else column


def _unclear(name: str, form: NumberForm) -> SkippedColumn:
    """Return why a column is left out whose numbers have one sign, for thousands or decimals."""
    text, sign = form.unclear, form.thousands
    one, other = text.replace(sign, ""), text.replace(sign, ".")
    why = sentence("drafts.unclear-numbers", text=text, one=one, other=other)
    decimals = f'decimal = "{sign}"' if sign == "," else "neither of these keys"
    comma = ', decimal = ","' if sign == "." else ""
    doubt = (
        f'if {text} means {one}, add a question with thousands = "{sign}"{comma}; if it means '
        f"{other}, with {decimals}"
    )
    return SkippedColumn(name, why, doubt)


def _lists(values: Sequence[str], separator: str) -> bool:
    """Return whether some cells list several values that recur in other cells."""
    several = [value for value in values if separator in value]
    items = {item.strip() for value in values for item in value.split(separator)}
    return bool(several) and len(items - {NONE}) < len(values) and "" not in items


AT_MOST = (
    "at_most is the largest number of options in one answer; a smaller limit needs less noise."
)


def _multi(column: DataColumn, counts: Mapping[str, int]) -> ColumnDraft:
    values = [value for value in counts if value not in (NONE, "")]
    words = {value: cleaned(value) for value in values}
    options = list(dict.fromkeys(words.values()))
    if len(options) < 2:
        return SkippedColumn(column.name, sentence("drafts.few-answers"))
    if _is_free_text(column, {value: counts[value] for value in values}):
        return SkippedColumn(column.name, sentence("drafts.free-text", texts=len(options)))
    codes = {value: word for value, word in words.items() if value != word}
    keys: dict[str, Any] = {
        "type": Multi.type_name(),
        "options": [*(ordered(options) or sorted(options))],
        "at_most": min(column.longest, len(options)),
    }
    question = DraftQuestion(column.name, keys | ({"values": codes} if codes else {}))
    if column.separator == " ":
        question = question.doubting(
            "its cells were split at spaces; if they are remarks, remove this question"
        )
    return question.noting(AT_MOST)


def reviewed(question: DraftQuestion, counts: Mapping[str, int]) -> DraftQuestion:
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
