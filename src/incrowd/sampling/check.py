"""Check a file of answers against a survey before planning: what would `randomize` reject?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.catalog.sentences import ENGLISH, Sentence, in_words, sentence, shown
from incrowd.characters import visible
from incrowd.drafts.missing import no_answers, number
from incrowd.drafts.people import is_person, is_wave, repeated_ids
from incrowd.encoding.amounts import Adjusted
from incrowd.encoding.answers import (
    check_names,
    column_names,
    columns_of,
    load_answers,
    load_batches,
    load_columns,
    texts,
)
from incrowd.encoding.cells import texts_of, without_point
from incrowd.encoding.frames import as_table, is_frame
from incrowd.encoding.records import (
    Encoded,
    EncodedAnswers,
    asked_rows,
    hint,
    one_row_each,
    read_column,
)
from incrowd.encoding.sources import source_of
from incrowd.errors import AnswersError, PathPart, Problem, spelled
from incrowd.sampling.randomize import adjusted_lines
from incrowd.sampling.strata import release_lines, released
from incrowd.survey import AnyQuestion, Codes, Survey
from incrowd.survey.conditions import comparisons

BATCH = 1 << 17  # rows
SHOWN = 5  # different wrong values listed per question; the rest is counted
# Sentences that propose to take a code for no answer.
MISSING_CODES = {
    "sampling.often-missing",
    "encoding.code-for-no-answer",
    "encoding.null-for-no-answer",
}


@dataclass(frozen=True)
class AnswersFinding:
    """One finding about the answers.

    path: the path of the question, or another subject, as in a `Problem`. message: what was found,
    and what would work. rows: how many rows have it; first: the first of them, counted from 1
    without the header; both None if it is not about rows. refused: whether `randomize` raises an
    error.
    """

    path: tuple[PathPart, ...]
    message: Sentence
    rows: int | None = None
    first: int | None = None
    refused: bool = False

    def __str__(self) -> str:
        return self.text()

    def text(self, language: str = ENGLISH) -> str:
        """Return the finding as a line."""
        words = in_words(self.message, language)
        return visible(f"{spelled(self.path, language)}: {words}")

    @property
    def field(self) -> str:
        """The question, or another subject."""
        return spelled(self.path)

    @property
    def missing_code(self) -> str:
        """A code that may mean no answer; "" if there is none."""
        for each in (self.message, self.message.arguments.get("hint")):
            if isinstance(each, Sentence) and each.code in MISSING_CODES:
                return str(each.arguments["value"])
        return ""

    def facts(self) -> dict[str, Any]:
        """Return the finding as JSON-ready data."""
        return {
            "field": self.field,
            "code": self.message.code,
            "message": str(self.message),
            "rows": self.rows,
            "first": self.first,
            "refused": self.refused,
        }


def already_randomized(survey: Survey) -> AnswersFinding | None:
    """Return a note for questions with a device of their own, such as Warner's spinner.

    Answers that a spinner, dice or cards randomized already would be randomized again, and their
    estimates would be wrong. No file shows whether this is so.
    """
    devices = [f"{q.id} ({q.randomizer.kind})" for q in survey.questions if q.randomizer]
    if not devices:
        return None
    return AnswersFinding((", ".join(devices),), sentence("sampling.true-answers"))


@dataclass(frozen=True)
class AnswersCheck:
    """The result of checking a file of answers.

    Attributes
    ----------
    rows : int
        How many were read.
    people : int
        The number of rows, or of different ids.
    crowd : int
        The crowd of the survey.
    findings : tuple of AnswersFinding
        What `randomize` would reject or warn about.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.Survey.load("examples/health.toml")
    >>> found = incrowd.check(survey, "examples/rand_hie.csv")
    >>> found.people, found.findings
    (20190, ())
    """

    rows: int
    people: int
    crowd: int
    findings: tuple[AnswersFinding, ...]

    @property
    def accepted(self) -> bool:
        """Whether `randomize` would take these answers."""
        return not any(finding.refused for finding in self.findings)


def check(
    survey: Survey,
    answers: str | Path | IO[bytes] | Any,
    *,
    id: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> AnswersCheck:
    """Find everything in a file of answers that `randomize` would reject or warn about.

    Parameters
    ----------
    survey : Survey
        The survey that the answers belong to.
    answers : str, Path, file object, or data frame
        As for `load_answers`.
    id : str, optional
        A column that identifies people. All rows are then held in memory.
    format, encoding, sheet : str, optional
        As for `load_answers`.

    Returns
    -------
    AnswersCheck
        The findings: missing columns; cells that are not answers, by value; missing answers; ids
        that are missing or whose rows differ; a column that seems to identify people who have
        several rows; too few people for the crowd or for every stratum;
        amounts outside the edges; numbers that look like codes for no answer; and, for questions
        with a randomizer of their own, that the answers should be true.

    Raises
    ------
    AnswersError
        Only if the file cannot be read at all.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.Survey.load("examples/health.toml")
    >>> incrowd.check(survey, "examples/rand_hie.csv").accepted
    True
    """
    data: Any = answers if is_frame(answers) else source_of(answers, format, encoding, sheet)
    names = as_table(data).column_names if is_frame(data) else column_names(data, survey, id)
    findings = _wrong_columns(survey, names, id)
    there = tuple(
        each
        for each in survey.questions
        if all(names.count(name) == 1 for name in columns_of(survey, each.id, names))
    )
    present = survey.model_copy(update={"questions": there})
    has_id = id is not None and names.count(id) == 1
    columns = [_Column(question, survey.codes_of(question.id)) for question in there]
    strata, rows, people = Counter[int](), 0, 0
    try:
        for table in _tables(data, present, id if has_id else None):
            encoded: dict[str, Encoded] = {}
            for each in columns:
                question, number = each.question, table.num_rows
                cells = table[question.id].combine_chunks()
                asked = _asked(question, there, encoded, number)
                encoded[question.id] = each.add(cells, asked, rows)
            rows += table.num_rows
            if id is not None and has_id:
                table, more = _identified(table, present, id)
                findings += more
            people += table.num_rows
            strata.update(_strata(present, table))
    except AnswersError as error:
        findings += _refused(error.problems)
        if rows:
            findings.append(
                AnswersFinding(("answers",), sentence("sampling.only-first", rows=rows))
            )
    findings += chain.from_iterable(each.findings() for each in columns)
    findings += _several_rows(survey, data, names) if id is None and rows else ()
    findings += filter(None, [already_randomized(survey)])
    if rows:
        findings += _crowd(survey, people, strata)
    return AnswersCheck(rows, people, survey.crowd, tuple(findings))


def _asked(
    question: AnyQuestion, there: Sequence[AnyQuestion], encoded: Mapping[str, Encoded], rows: int
) -> np.ndarray | None:
    """Return which people were asked a question; None for everybody, also if the file lacks a
    column on which that depends, which is a finding by itself."""
    needed = {each.question for each in comparisons(question.asked_if)} if question.asked_if else ()
    if not all(id in encoded for id in needed):
        return None
    return asked_rows(question, there, encoded, rows)


def _several_rows(survey: Survey, data: Any, names: Sequence[str]) -> Iterator[AnswersFinding]:
    """Yield a note if a column seems to identify people who have more rows than the survey says."""
    columns = [name for name in dict.fromkeys(names) if is_person(name) or is_wave(name)]
    if not any(map(is_person, columns)):
        return
    try:
        table = as_table(data).select(columns) if is_frame(data) else load_columns(data, columns)
    except (AnswersError, KeyError):  # of the questions' columns, it is a finding elsewhere
        return
    repeated = repeated_ids(table)
    if repeated and repeated.most > survey.rows_per_person:
        message = sentence(
            "sampling.rows-of-people",
            rows=table.num_rows,
            people=repeated.people,
            most=repeated.most,
        )
        yield AnswersFinding((repeated.id,), message)


def _refused(problems: Iterable[Problem]) -> list[AnswersFinding]:
    return [AnswersFinding(each.path, each.message, refused=True) for each in problems]


def _wrong_columns(survey: Survey, names: Sequence[str], id: str | None) -> list[AnswersFinding]:
    """Return findings about missing and duplicate columns, and the column of ids."""
    findings = []
    if id is None and any(question.memoized for question in survey.questions):
        findings.append(AnswersFinding(("id",), sentence("sampling.no-ids"), refused=True))
    try:
        check_names(names, survey, id)
    except AnswersError as error:
        findings += _refused(error.problems)
    return findings


def _tables(data: Any, survey: Survey, id: str | None) -> Iterator[pa.Table]:
    """Yield the rows in pieces; all at once if they have ids."""
    if not survey.questions:
        return iter(())
    if id is not None or is_frame(data):
        return iter([load_answers(data, survey, id=id)])
    return (table for table, _ in load_batches(data, survey, BATCH).tables)


class _Column:
    """The findings about the column of a question, collected piece by piece."""

    def __init__(self, question: AnyQuestion, codes: Codes) -> None:
        self.question, self.codes = question, codes
        self.problems: list[Problem] = []
        self.wrong: dict[str, _WrongAnswer] = {}
        self.missing = _Rows()
        self.numbers, self.adjusted = Counter[str](), Adjusted()

    def add(self, cells: pa.Array, asked: np.ndarray | None, before: int) -> Encoded:
        """Check more cells, and return them encoded. asked: the people who were asked, None for
        everybody. before: how many rows come before them."""
        read = read_column(self.question, self.codes, cells, asked)
        self.problems += [each for each in read.problems if each not in self.problems]
        self.missing.add(np.flatnonzero(read.missing) + before)
        self.adjusted = self.adjusted.and_of(read.encoded.adjusted)
        for row in np.flatnonzero(read.wrong).tolist():
            value = cells[row].as_py()
            if (text := shown(value)) not in self.wrong:
                help = hint(value, read.choices)
                self.wrong[text] = _WrongAnswer(value, help, read.allowed, _Rows())
            self.wrong[text].rows.add(np.array([row + before]))
        if self.question.of_numbers and not read.problems:
            counts = pc.value_counts(without_point(texts_of(pc.drop_null(read.answers))))
            pairs = zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)
            self.numbers.update(dict(pairs))
        return read.encoded

    def findings(self) -> Iterator[AnswersFinding]:
        """Yield the findings about the column, those that are refused first."""
        id = self.question.id
        yield from _refused(self.problems)
        often = sorted(self.wrong.values(), key=lambda each: -each.rows.number)
        for each in often[:SHOWN]:
            message = sentence(
                "sampling.wrong-answer",
                value=each.value,
                where=each.rows.where,
                hint=each.hint,
                advice=each.advice,
            )
            yield each.rows.finding(id, message)
        if rest := often[SHOWN:]:
            rows = [each.rows for each in rest]
            others = _Rows(sum(each.number for each in rows), min(each.first for each in rows))
            message = sentence(
                "sampling.other-wrong-answers",
                values=len(rest),
                where=others.where,
                advice=rest[0].advice,
            )
            yield others.finding(id, message)
        if self.missing.number:
            optional = self.question.optional
            code = "sampling.no-answer" if optional else "sampling.answer-missing"
            message = sentence(code, where=self.missing.where)
            yield self.missing.finding(id, message, refused=not optional)
        for line in adjusted_lines(self.question, self.adjusted):
            yield AnswersFinding((id,), line)
        numbers = {value: n for value, n in self.numbers.items() if number(value) is not None}
        for value in no_answers(numbers, {}):
            if value not in map(str, self.adjusted.codes) and shown(value) not in self.wrong:
                message = sentence("sampling.often-missing", value=value, rows=numbers[value])
                yield AnswersFinding((id,), message, numbers[value])


@dataclass
class _Rows:
    """Rows with one mistake: how many there are, and the first, from 0."""

    number: int = 0
    first: int = 0

    def add(self, places: np.ndarray) -> None:
        """Count more rows, all later than those before."""
        if len(places) and not self.number:
            self.first = int(places[0])
        self.number += len(places)

    @property
    def where(self) -> Sentence:
        """The place of these rows."""
        return sentence("sampling.in-rows", rows=self.number, first=self.first + 1)

    def finding(self, id: str, message: Sentence, refused: bool = True) -> AnswersFinding:
        """Return the finding about these rows of a question."""
        return AnswersFinding((id,), message, self.number, self.first + 1, refused)


class _WrongAnswer(NamedTuple):
    """A value that is not an answer: what it may mean, what would work, and its rows."""

    value: object
    hint: Sentence | str
    advice: Sentence | str
    rows: _Rows


def _identified(table: pa.Table, survey: Survey, id: str) -> tuple[pa.Table, list[AnswersFinding]]:
    """Return the first row of each id, and findings about the ids."""
    try:
        ids = pc.value_counts(texts(table, id))
        first = one_row_each(table, survey, id)
    except AnswersError as error:
        return table, _refused(error.problems)
    if (most := pc.max(ids.field("counts")).as_py()) == 1:
        return first, []
    message = sentence("sampling.several-rows", rows=table.num_rows, people=len(ids), most=most)
    return first, [AnswersFinding((id,), message)]


def _strata(survey: Survey, table: pa.Table) -> list[int]:
    """Return the strata of the rows; none if an open answer is wrong, which is a finding
    elsewhere."""
    asked = survey.model_copy(update={"questions": survey.open})
    if not asked.questions:
        return []
    try:
        return [int(n) for n in EncodedAnswers.of(asked, table).strata(asked)]
    except AnswersError:
        return []


def _least(survey: Survey) -> int:
    """Return the number of people that a release needs: the crowd, unless services add all noise,
    which they cannot if a question cannot be sent as cells."""
    alone = all(not (question.hashed or question.randomizer) for question in survey.randomized)
    return survey.least if alone and survey.privacy.noise == "services" else survey.crowd


def _crowd(survey: Survey, people: int, strata: Counter[int]) -> Iterator[AnswersFinding]:
    """Yield findings about too few people for the crowd, for a release, or for strata."""
    least = _least(survey)
    if survey.privacy.noise == "devices" and (unreachable := survey.unreachable_release):
        yield AnswersFinding(("crowd",), unreachable)
    if not survey.open:
        if least < survey.crowd:
            if people < least:
                message = sentence("sampling.fewer-than-least", people=people, least=least)
                yield AnswersFinding(("least",), message, refused=True)
        elif people < survey.crowd:
            message = sentence("sampling.few-people", people=people, crowd=survey.crowd)
            yield AnswersFinding(("crowd",), message)
        return
    if strata.total() < people:  # some open answers are wrong
        return
    numbers = np.repeat(list(strata), list(strata.values()))
    try:
        groups = released(survey, numbers, least)
    except AnswersError as error:
        yield from _refused(error.problems)
        return
    for line in release_lines(survey, numbers, groups, least):
        yield AnswersFinding(("strata",), line)
