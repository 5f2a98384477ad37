"""Encode answers as packed records: bit i of a record is bit i % 8 of byte i // 8."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.catalog.sentences import Sentence, likely, sentence
from incrowd.encoding.amounts import CODES, Adjusted, between, outside
from incrowd.encoding.answers import check_columns, texts
from incrowd.encoding.bloom import normalize, places
from incrowd.encoding.cells import (
    by_value,
    code_list,
    decoded,
    distinct,
    index,
    is_list,
    items,
    split,
    texts_of,
    without_point,
)
from incrowd.encoding.number_forms import plain_numbers, with_plain_numbers
from incrowd.encoding.spelling import as_text
from incrowd.errors import AnswersError, Place, Problem
from incrowd.plans.strata import stratum_numbers
from incrowd.survey import (
    NO_ANSWER,
    NONE,
    NOT_ASKED,
    SEPARATOR,
    AnyQuestion,
    Codes,
    Survey,
    Text,
    takes_words,
)
from incrowd.survey.conditions import AnswerComparison, holds
from incrowd.survey.crossings import Block, cell_answers

SHOWN = 5  # mistakes listed for each column; the rest is counted
YES, NO = ("yes", "true", "1"), ("no", "false", "0")
# What other software writes for no answer; it counts as that only if the survey says so.
NO_ANSWERS = {"na", "n/a", "nan", "null", ".", "-", "?", "#n/a", *map(str, CODES)}


class Encoded(NamedTuple):
    """The encoded answers to one question: the set bits, as rows and places within the question.

    words: the answers to a text question, since its bits depend on the cohort. up: for an amount
    that is not rounded yet, one entry per row: 2^32 times the probability that the place is the
    next one (place -1 is no bit). adjusted: how many answers count as others.
    """

    rows: np.ndarray
    places: np.ndarray
    words: np.ndarray | None = None
    up: np.ndarray | None = None
    adjusted: Adjusted = Adjusted()

    def drawn(self, up: np.ndarray) -> Encoded:
        """Return the set bits of an amount. up: 1 for rows that are rounded up, otherwise 0."""
        places = self.places + up
        return Encoded(self.rows[places >= 0], places[places >= 0])


_NOTHING = Encoded(np.zeros(0, np.int64), np.zeros(0, np.int64))


def encode(
    questions: Sequence[AnyQuestion],
    answers: pa.Table,
    before: int = 0,
    all_codes: Sequence[Codes] = (),
) -> dict[str, Encoded]:
    """Return the set bits of every question, by its id; rows ascending.

    questions: each after those on which its condition depends. before: how many rows of the file
    come before these; errors count them as well. all_codes: the codes for the answers to some
    questions.
    Raises AnswersError with the rows and values of every kind of mistake: unknown options,
    missing answers, values below the first edge.
    """
    problems: list[Problem] = []
    written = {each.question: each for each in all_codes}
    encoded: dict[str, Encoded] = {}
    for q in questions:
        asked = asked_rows(q, questions, encoded, answers.num_rows)
        codes = written.get(q.id, Codes(question=q.id))
        encoded[q.id] = _encoded(q, codes, answers[q.id], asked, before, problems)
    if problems:
        raise AnswersError(*problems)
    return encoded


def asked_rows(
    question: AnyQuestion,
    questions: Sequence[AnyQuestion],
    encoded: Mapping[str, Encoded],
    rows: int,
) -> np.ndarray | None:
    """Return which people are asked a question, by their answers to others; None for everybody."""
    if question.asked_if is None:
        return None
    earlier = {each.id: each for each in questions if each.id in encoded}

    def compared(comparison: AnswerComparison) -> np.ndarray:
        decides = earlier[comparison.question]
        answers, places = encoded[decides.id], decides.deciding(comparison)
        assert places is not None, f"{comparison} is not decided by an answer"
        single = decides.bits < len(decides.recorded)  # its first answer sets no bit
        given = np.zeros(rows, bool)
        given[answers.rows[np.isin(answers.places + single, places)]] = True
        if single and 0 in places:
            given[np.setdiff1d(np.arange(rows), answers.rows)] = True
        return given

    return holds(question.asked_if, compared)


def taken(encoded: Encoded, number: int, rows: np.ndarray) -> Encoded:
    """Return the answers of some of `number` rows, in the given order, possibly with repeats."""
    if encoded.words is not None:
        return encoded._replace(words=encoded.words[rows])
    starts = np.searchsorted(encoded.rows, np.arange(number + 1))
    sizes = np.diff(starts)[rows]
    new_rows = np.repeat(np.arange(len(rows)), sizes)
    within = np.arange(len(new_rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.repeat(starts[:-1][rows], sizes) + within
    up = None if encoded.up is None else encoded.up[chosen]
    return Encoded(new_rows, encoded.places[chosen], up=up)


def pack(
    questions: Sequence[AnyQuestion],
    encoded: Mapping[str, Encoded],
    rows: int,
    cohorts: Mapping[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Return records of the questions' bits, in order: uint8, shape (rows, ceil(L / 8)).

    cohorts: for every text question, int64, shape (rows,).
    """
    bits = np.zeros((rows, sum(question.bits for question in questions)), bool)
    start = 0
    for question in questions:
        answers = encoded[question.id]
        if takes_words(question):
            answers = _hashed(question, answers, (cohorts or {})[question.id])
        assert answers.up is None, f"{question.id} is not rounded yet"
        bits[answers.rows, start + answers.places] = True
        start += question.bits
    return np.packbits(bits, axis=1, bitorder="little")


def set_cells(
    blocks: Sequence[Block],
    questions: Sequence[AnyQuestion],
    encoded: Mapping[str, Encoded],
    rows: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells that each person is in (`incrowd.survey.crossings`): rows and cell numbers,
    int64, sorted by row and then by number. blocks: the blocks of the cells."""
    several = next((encoded[q.id] for q in questions if q.many), None)
    one_each = {q.id: _place(q, encoded[q.id], rows) for q in questions if not q.many}
    people, numbers = [], []
    for block in blocks:
        if block.shape == (1,):  # a single bit, set for an odd number of second answers
            who = np.flatnonzero(sum(one_each[id] for id in block.questions) % 2)
            axes = [np.zeros(len(who), np.int64)]
        elif several is None or block.exclusive:
            who = np.arange(rows)
            axes = [one_each[id] for id in block.questions]
        else:
            who = several.rows
            axes = [
                one_each[id][who] if id in one_each else several.places for id in block.questions
            ]
        people.append(who)
        numbers.append(block.first + np.ravel_multi_index(axes, block.shape))
    row, number = np.concatenate(people), np.concatenate(numbers)
    if len(blocks) == 1 and several is None:  # sorted already
        return row, number
    order = np.lexsort((number, row))
    return row[order], number[order]


def _place(question: AnyQuestion, encoded: Encoded, rows: int) -> np.ndarray:
    """Return the place of each person's only answer on the question's axis of cells, shape
    (rows,)."""
    assert encoded.up is None, f"{question.id} is not rounded yet"
    answers = len(cell_answers(question))
    no_bit = 0 if question.bits == 1 else answers - 1  # for people who say no, or choose no option
    given = encoded.places + (question.bits == 1)
    if len(given) == rows:  # everybody's
        return given
    places = np.full(rows, no_bit, np.int64)
    places[encoded.rows] = given
    return places


def _hashed(question: Text, encoded: Encoded, cohorts: np.ndarray) -> Encoded:
    """Return the bits of each word in its cohort, after the bits with the cohort's number."""
    assert encoded.words is not None
    blocks = places(encoded.words.tolist(), cohorts, question.id, question.hashes, question.block)
    starts = question.cohort_bits + question.block * np.arange(question.hashes)
    row, digit = np.nonzero(cohorts[:, None] >> np.arange(question.cohort_bits) & 1)
    return Encoded(
        np.concatenate([row, np.repeat(np.arange(len(cohorts)), question.hashes)]),
        np.concatenate([digit, (blocks + starts).ravel()]),
    )


class ColumnReading(NamedTuple):
    """A column read as answers to a question: what can be encoded, and which rows cannot.

    answers: the cells, codes replaced; null for no answer. wrong, missing: masks of the rows of
    people who were asked with wrong answers, and without an answer. allowed: what would work
    instead of a wrong answer. choices: the allowed answers and codes. problems: those of the whole
    column.
    """

    encoded: Encoded
    answers: pa.Array
    wrong: np.ndarray
    missing: np.ndarray
    allowed: Sentence | str = ""
    choices: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_column(
    question: AnyQuestion, codes: Codes, cells: pa.Array, asked: np.ndarray | None = None
) -> ColumnReading:
    """Read the cells of a column, which may be codes, as answers to a question.

    asked: which people were asked, if not everybody was. For the others, a cell does not matter.
    """
    if codes.columns:  # each option had a column of its own, and the codes have been replaced
        codes = Codes(question=codes.question)
    try:
        answers = _separated(question, codes, plain_numbers(codes, _without_empty(question, cells)))
        codes = with_plain_numbers(codes)
        column, unknown = decoded(question, codes, answers)
        column = _with_blanks(codes, cells, column)
        encoded, wrong, allowed = question.read(RecodedColumn(column))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        nowhere = np.zeros(len(cells), bool)
        problem = _unfit_type(question, cells, sentence("encoding.holds-no-answers"))
        return ColumnReading(_NOTHING, cells, nowhere, nowhere, problems=(problem,))
    problems: tuple[Problem, ...] = ()
    if same := _same_number(question, column.type):
        reason = sentence("encoding.same-number", number=str(same))
        problems = (_unfit_type(question, cells, reason),)
    if codes.values and unknown.any():
        allowed = sentence("encoding.one-of", options=code_list(codes))
    missing = column.is_null().to_numpy(zero_copy_only=False)
    choices = tuple(codes.values) + question.substantive
    wrong = (wrong | unknown) & ~missing
    if asked is not None:
        encoded = _in_state(question, encoded, ~asked, NOT_ASKED)
        unasked = int(np.count_nonzero(~asked & ~missing))
        encoded = encoded._replace(adjusted=encoded.adjusted._replace(unasked=unasked))
        wrong, missing = wrong & asked, missing & asked
    if question.optional:
        encoded = _in_state(question, encoded, missing, NO_ANSWER)
    return ColumnReading(encoded, column, wrong, missing, allowed, choices, problems)


def _encoded(
    question: AnyQuestion,
    codes: Codes,
    cells: pa.ChunkedArray,
    asked: np.ndarray | None,
    before: int,
    problems: list[Problem],
) -> Encoded:
    """Return one question's set bits; append mistakes to `problems`. asked: who is asked."""
    cells = cells.combine_chunks()
    read = read_column(question, codes, cells, asked)
    problems += read.problems
    problems += _mistakes(question.id, cells, read.wrong, read.allowed, before, read.choices)
    if not question.optional:
        problems += _mistakes(question.id, cells, read.missing, DROP, before)
    return read.encoded


def _without_empty(question: AnyQuestion, cells: pa.Array) -> pa.Array:
    """Make quoted empty cells and blank cells missing; for `multi` they mean that no option
    applies."""
    coded = pa.types.is_dictionary(cells.type)  # of Parquet files and categories
    kind = cells.type.value_type if coded else cells.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not question.one_value or not text:
        return cells
    if coded:
        nowhere = pa.array(by_value(cells, _empty, False), pa.bool_())
        places = pc.if_else(nowhere, pa.scalar(None, cells.indices.type), cells.indices)
        return pa.DictionaryArray.from_arrays(places, cells.dictionary)
    return pc.if_else(_empty(cells), pa.scalar(None, cells.type), cells)


def _separated(question: AnyQuestion, codes: Codes, cells: pa.Array) -> pa.Array:
    """Split cells with several options at the separator that the survey states."""
    if not codes.separator or is_list(cells.type):
        return cells
    return split(cells, codes.separator, (*question.substantive, *codes.values))


def _with_blanks(codes: Codes, cells: pa.Array, column: pa.Array) -> pa.Array:
    """Fill blank cells with the answer that they stand for, if the survey states one."""
    if (answer := codes.values.get("")) is None or is_list(column.type):
        return column
    blank = pc.fill_null(_empty(texts_of(cells)), True)
    return pc.if_else(blank, pa.scalar(answer, column.type), column)


def _empty(texts: pa.Array) -> pa.Array:
    return pc.equal(pc.utf8_trim_whitespace(texts), "")


def _unfit_type(question: AnyQuestion, column: pa.Array, reason: Sentence) -> Problem:
    return Problem(question.id, "encoding.unfit-type", value=str(column.type), reason=reason)


def _same_number(question: AnyQuestion, kind: pa.DataType) -> Decimal | None:
    """Return a number that two options share, if the column has numbers: was 7 the answer 7 or
    007?"""
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    numbers = Counter(map(_decimal, question.choices))
    return next((n for n, times in numbers.items() if n is not None and times > 1), None)


def _decimal(option: str) -> Decimal | None:
    """Return an option as a number, if it is one: several spellings of a number are equal."""
    try:
        number = Decimal(option)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _in_state(question: AnyQuestion, encoded: Encoded, people: np.ndarray, state: str) -> Encoded:
    """Encode people in a state that is not an answer to choose from: they set only its bit; for a
    text question it is a word."""
    if encoded.words is not None:
        return encoded._replace(words=np.where(people, state, encoded.words))
    others = ~people[encoded.rows]
    rows = np.concatenate([encoded.rows[others], np.flatnonzero(people)])
    its_own = np.full(np.count_nonzero(people), question.recorded.index(state))
    places = np.concatenate([encoded.places[others], its_own])
    order = np.argsort(rows, kind="stable")
    if encoded.up is None:
        return encoded._replace(rows=rows[order], places=places[order])
    up = np.concatenate([encoded.up[others], np.zeros(len(its_own), np.int64)])
    return encoded._replace(rows=rows[order], places=places[order], up=up[order])


DROP = sentence("encoding.drop-row")


def _mistakes(
    id: str,
    column: pa.Array,
    wrong: np.ndarray,
    allowed: Sentence | str,
    before: int,
    choices: Sequence[str] = (),
) -> Iterator[Problem]:
    """Yield the first few wrong rows, counted from 1 without the header, and how many more.

    choices: the allowed answers, one of which may have been meant.
    """
    rows = np.flatnonzero(wrong)
    for row in islice(rows, SHOWN):
        value, path = column[int(row)].as_py(), (Place("row", int(before + row + 1)), id)
        if value is None:
            yield Problem(path, "encoding.answer-missing", advice=allowed)
        else:
            help = hint(value, choices)
            yield Problem(path, "encoding.wrong-answer", value=value, hint=help, advice=allowed)
    if len(rows) > SHOWN:
        yield Problem(id, "encoding.more-rows", rows=len(rows), advice=allowed)


def hint(value: object, choices: Sequence[str]) -> Sentence | str:
    """Return a hint at what a wrong answer may mean: another spelling, or no answer;
    otherwise ""."""
    if not choices or not isinstance(value, str | int | float):
        return ""
    text = (as_text(value) or "nan").strip()
    if text.casefold() in NO_ANSWERS:
        null = not isinstance(value, str) and value != value
        name = "encoding.null-for-no-answer" if null else "encoding.code-for-no-answer"
        return sentence(name, value=text)
    return likely(value, choices) if isinstance(value, str) else ""


EncodedColumn = tuple[Encoded, np.ndarray, Sentence | str]


def _one_of(codes: np.ndarray) -> Encoded:
    """Return one set bit per row; none for the code -1."""
    rows = np.flatnonzero(codes >= 0)
    return Encoded(rows, codes[rows].astype(np.int64))


def _codes(column: pa.Array, values: Sequence[str]) -> np.ndarray:
    """Return the index of each text among the values, -1 if it is not one of them."""
    return by_value(column, lambda texts: index(texts_of(texts), values), -1)


class RecodedColumn(NamedTuple):
    """A column of a file with its codes replaced, and how each type of question reads it."""

    column: pa.Array

    def one_of(self, answers: Sequence[str]) -> EncodedColumn:
        """Read one of the answers, by name."""
        codes = _codes(self.column, answers)
        allowed = sentence("encoding.one-of", options=_listed(answers))
        return _one_of(codes), codes < 0, allowed

    def yes_or_no(self, separate: bool) -> EncodedColumn:
        """Read yes or no, in any of the usual spellings."""
        answer = by_value(self.column, _no_or_yes, -1)
        place = answer if separate else answer - 1  # the one bit is set for yes
        return _one_of(place), answer < 0, sentence("encoding.yes-or-no")

    def some_of(self, options: Sequence[str], most: int) -> EncodedColumn:
        """Read a list column, or text with options separated by semicolons; "none" means no
        option."""
        if is_list(self.column.type):
            return _lists(self.column, options, most)
        rows, values = distinct(self.column)
        encoded, wrong, allowed = _lists(split(values), options, most)
        return taken(encoded, len(values) + 1, rows), np.append(wrong, False)[rows], allowed

    def bins(self, edges: Sequence[float]) -> EncodedColumn:
        """Read the bin of each number; other text, and numbers below all edges, are wrong."""
        numbers = _floats(self.column)
        bins = np.searchsorted(edges, numbers, side="right") - 1
        wrong = (bins < 0) | ~np.isfinite(numbers)
        allowed = sentence("encoding.number-from", least=edges[0], hint=_commas(self.column))
        return _one_of(np.where(wrong, -1, bins)), wrong, allowed

    def between(self, edges: Sequence[float], one_bit: bool) -> EncodedColumn:
        """Read the edge below each number, and the probability of the next one; see `Encoded`."""
        numbers = _floats(self.column)
        wrong = ~np.isfinite(numbers)
        answered = np.flatnonzero(~wrong)
        below, up = between(edges, numbers[answered])
        places = below - one_bit  # the one bit is set for the upper
        encoded = Encoded(answered, places, up=up, adjusted=outside(edges, numbers[answered]))
        return encoded, wrong, sentence("encoding.number", hint=_commas(self.column))

    def words(self) -> EncodedColumn:
        """Read words, normalized; their bits depend on the cohort and are computed later."""
        words = by_value(self.column, _normalized, "")
        return _NOTHING._replace(words=words), words == "", sentence("encoding.word")


def _no_or_yes(column: pa.Array) -> np.ndarray:
    """Return 0 for no, 1 for yes, -1 for anything else."""
    return index(without_point(pc.utf8_lower(texts_of(column))), NO + YES) // len(NO)


def _lists(column: pa.Array, options: Sequence[str], most: int) -> EncodedColumn:
    flat, rows = items(column)
    codes, width = _codes(flat, options), len(options)
    cells = np.unique(rows[codes >= 0] * width + codes[codes >= 0])
    encoded = Encoded(*np.divmod(cells, width))
    wrong = np.bincount(encoded.rows, minlength=len(column)) > most
    wrong[rows[codes < 0]] = True
    allowed = sentence(
        "encoding.some-of", most=most, options=_listed(options), separator=SEPARATOR, none=NONE
    )
    return encoded, wrong, allowed


_NUMBER_WITH_COMMA = re.compile(r"[+-]?\d[\d.]*(,\d+)+(\.\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_MILLIONS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(,\d{3}|\.\d+)")


def _commas(column: pa.Array) -> Sentence | str:
    """Return a hint for messages if numbers have commas: what these separate, by all numbers.

    A single group of three digits may be thousands or decimals, which differ by a factor of 1,000.
    """
    if not pa.types.is_string(column.type):
        return ""
    texts = pc.unique(pc.utf8_trim_whitespace(column)).to_pylist()
    numbers = [text for text in texts if text and _NUMBER_WITH_COMMA.fullmatch(text)]
    if not numbers:
        return ""
    if not all(map(_THOUSANDS.fullmatch, numbers)):
        return sentence("encoding.with-a-point")
    if any(map(_MILLIONS.fullmatch, numbers)):
        return sentence("encoding.without-thousands")
    text = numbers[0]
    readings = text.replace(",", ""), text.replace(",", ".")
    return sentence("encoding.thousands-or-decimals", text=text, one=readings[0], other=readings[1])


def _normalized(column: pa.Array) -> np.ndarray:
    texts = pc.fill_null(pc.cast(column, pa.string()), "").to_pylist()
    return np.array([normalize(text) for text in texts], object)


def _floats(column: pa.Array) -> np.ndarray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return by_value(column, _each_float, np.nan)
    return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))


def _each_float(texts: pa.Array) -> np.ndarray:
    return np.array([_float(text or "") for text in texts.to_pylist()], float)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _listed(options: Sequence[str], most: int = 12) -> Sentence | list[str]:
    if len(options) <= most:
        return [*options]
    return sentence("encoding.first-options", options=[*options[:most]], number=len(options))


# The encoded answers of people, which are randomized for each message.


PEOPLE_SHOWN = 5


class EncodedAnswers(NamedTuple):
    """The encoded answers of people to every question, by its id. number:
    the number of the people."""

    number: int
    encoded: Mapping[str, Encoded]

    @classmethod
    def of(cls, survey: Survey, answers: pa.Table, before: int = 0) -> EncodedAnswers:
        """Encode answers. Raises AnswersError if they do not fit the survey.

        before: how many rows of the file come before these; errors count them as well.
        """
        checked = check_columns(answers, survey)
        return cls(checked.num_rows, encode(survey.questions, checked, before, survey.codes))

    def strata(self, survey: Survey) -> np.ndarray:
        """Return the number of each person's stratum, 0 if no question is open."""
        codes = {question.id: self._codes(question) for question in survey.open}
        return stratum_numbers(survey, codes, self.number)

    def _codes(self, question: AnyQuestion) -> np.ndarray:
        """Return the index of each person's answer to a question with exactly one answer."""
        encoded = self.encoded[question.id]
        codes = np.zeros(self.number, np.int64)
        codes[encoded.rows] = encoded.places + (
            question.bits < len(question.answers)
        )  # no is no bit
        return codes

    def take(self, rows: np.ndarray) -> EncodedAnswers:
        """Return some of the people, in the given order, possibly with repeats."""
        encoded = {id: taken(each, self.number, rows) for id, each in self.encoded.items()}
        return EncodedAnswers(len(rows), encoded)


def one_row_each(answers: pa.Table, survey: Survey, id: str) -> pa.Table:
    """Return the answers without repeated ids: one row per person, who sends one set of reports.

    Ids are text and compared by bytes. Raises AnswersError as `texts`, or if rows of one id differ.
    """
    names = texts(answers, id)
    codes = pc.dictionary_encode(names).indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    wanted = [question.id for question in survey.questions]
    _check_equal(answers.select(wanted), names, codes, first[codes])
    return answers.take(pa.array(np.sort(first)))


def _check_equal(answers: pa.Table, names: pa.Array, codes: np.ndarray, first: np.ndarray) -> None:
    """Raise AnswersError unless every row equals the first row of its id."""
    again = np.flatnonzero(first != np.arange(len(first)))
    repeats, before = (answers.take(pa.array(rows)).to_pylist() for rows in (again, first[again]))
    wrong = [row for row, one, other in zip(again, repeats, before, strict=True) if one != other]
    problems = [
        Problem(
            Place("row", int(row) + 1),
            "encoding.rows-differ",
            value=names[int(row)].as_py(),
            first=int(first[row]) + 1,
        )
        for row in wrong[:PEOPLE_SHOWN]
    ]
    if (more := len(wrong) - PEOPLE_SHOWN) > 0:
        problems.append(Problem("id", "encoding.more-rows-differ", more=more))
    if problems:
        raise AnswersError(*problems)
