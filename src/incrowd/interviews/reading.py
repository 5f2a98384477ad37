"""Read files with one row for each interview. What people reported is never randomized again."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from incrowd.catalog.sentences import LANGUAGES, Sentence, sentence, translated
from incrowd.encoding.answers import Data, check_once, check_rows, load_data
from incrowd.encoding.frames import is_frame
from incrowd.encoding.sources import source_of
from incrowd.errors import AnswersError, IncrowdWarning, Problem
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.columns import (
    NOT_AVAILABLE,
    ColumnCells,
    Factor,
    OpenColumn,
    cells_of,
    factor,
    number,
    numbers,
    open_column,
    without_unavailable,
)
from incrowd.interviews.items import MISSING
from incrowd.interviews.survey import InterviewItem, InterviewSurvey, report_text
from incrowd.survey import AnyQuestion

# What software writes for yes and no, by the number of the answer.
_TRUTH = {0.0: ("false", "falsch"), 1.0: ("true", "wahr")}


def read_answers(
    survey: InterviewSurvey,
    answers: str | Path | IO[bytes] | Any,
    *,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> InterviewAnswers:
    """Read answers that a device in the person's hand has randomized already.

    Nothing is randomized here: every report is what the person said.

    Parameters
    ----------
    survey : InterviewSurvey
        Names the questions, and columns of weights, clusters, and groups.
    answers : str, Path, file object, or data frame
        One row for each interview: a file (CSV, JSON lines, Parquet, Arrow, SPSS, Stata, Excel), a
        file object open for reading, or a data frame of any library that narwhals supports. The
        column of a question has its reports, as they are called, by their labels, or as codes. If
        a draw is repeated, the column has the number of draws with the second report; or there is
        a column for each draw, `id_1`, `id_2`, and so on. All other columns are read as numbers or
        as factors. An empty cell is a missing value; so are NA, NaN, a point, and #NULL! in columns
        of numbers, and in those of questions unless a report is called so.
    format, encoding : str, optional
        Of a file, if its name and content do not show them.
    sheet : str, optional
        Of a workbook; by default the first.

    Returns
    -------
    InterviewAnswers
        With all columns.

    Raises
    ------
    AnswersError
        If the answers cannot be read, or do not fit the survey; with every kind of mistake, and
        the first rows that have it.

    Warns
    -----
    IncrowdWarning
        Which texts were read as missing values, and what was left out.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> import pyarrow
    >>> table = pyarrow.table({"smokes": ["yes", "No", ""], "town": ["Bonn", "Ulm", "Ulm"]})
    >>> answers = incrowd.read_answers(survey, table)
    >>> answers.reports["smokes"]
    array([ 1,  0, -1])
    >>> answers.column("town")
    Factor(levels=('Bonn', 'Ulm'), codes=array([0, 1, 1]))
    """
    frame = is_frame(answers)
    data = load_data(answers if frame else source_of(answers, format, encoding, sheet))
    read, notes = read_with_notes(survey, data)
    for line in notes:
        warnings.warn(str(line), IncrowdWarning, stacklevel=2)
    return read


def read_with_notes(
    survey: InterviewSurvey, data: Data
) -> tuple[InterviewAnswers, tuple[Sentence, ...]]:
    """Return the answers in loaded data, and what people should know about how they were read.

    Raises AnswersError as `read_answers` does.
    """
    check_rows(data.table.num_rows)
    asked = _checked_columns(survey, data)
    cells = _cells(survey, data, asked)
    group, problems = _group(survey, cells, data.table.num_rows)
    reports = {}
    for item in survey.items:
        its = [cells[name] for name in asked[item.id]]
        labels = [data.labels.get(name, {}) for name in asked[item.id]]
        reports[item.id], wrong = _reported(item, its, labels, group)
        problems += wrong
    taken = {name for names in asked.values() for name in names}
    columns: dict[str, OpenColumn] = {}
    for name in (name for name in cells if name not in taken):
        columns[name], wrong = _column(survey, cells[name], data.labels.get(name, {}))
        problems += wrong
    if problems:
        raise AnswersError(*problems)
    notes = (*_left_out(data), *_absent(cells), *_named_missing(survey, columns))
    return InterviewAnswers(survey, reports, group, columns), notes


def _left_out(data: Data) -> Iterator[Sentence]:
    """Yield what of a file was not read, or may not be an interview."""
    if data.skipped:
        yield sentence("interviews.skipped-rows", rows=len(data.skipped), texts=[*data.skipped])
    if data.doubtful:
        yield sentence("interviews.doubtful-row")
    if data.unnamed:
        yield sentence("interviews.unnamed-columns", names=[*data.unnamed])
    if data.others:
        yield sentence("interviews.other-sheets", names=[*data.others])


def _absent(cells: Mapping[str, ColumnCells]) -> Iterator[Sentence]:
    """Yield which texts that no column declares were read as missing values, and how often."""
    counts = [
        sentence("interviews.absent-in", number=number, text=text, column=each.name)
        for each in cells.values()
        for text, number in each.absent.items()
    ]
    if counts:
        yield sentence("interviews.absent", counts=counts)


def _named_missing(
    survey: InterviewSurvey, columns: Mapping[str, OpenColumn]
) -> Iterator[Sentence]:
    """Yield columns in which a name may stand for a missing value."""
    for name, column in columns.items():
        if isinstance(column, Factor) and name != survey.columns.group:
            for level in column.levels:
                if level in NOT_AVAILABLE:
                    yield sentence("interviews.named-missing", column=name, level=level)


def _columns_of(item: InterviewItem, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a question: one, or one for each draw."""
    column = item.codes.column or item.id
    draws = max(design.repeats for design in item.design.designs)
    each = tuple(f"{column}_{draw + 1}" for draw in range(draws))
    return each if column not in names and draws > 1 and {*each} & {*names} else (column,)


def _checked_columns(survey: InterviewSurvey, data: Data) -> dict[str, tuple[str, ...]]:
    """Return the columns of each question. Raises AnswersError unless each exists once."""
    names = data.table.column_names
    asked = {item.id: _columns_of(item, names) for item in survey.items}
    stated = survey.columns
    wanted = [*chain(*asked.values()), *stated.named.values(), *stated.factors, *stated.numbers]
    check_once("answers", list(dict.fromkeys([*wanted, *filter(None, names)])), names)
    for id, columns in asked.items():
        if id in names and id not in chain(*asked.values()):
            raise AnswersError.of("answers", "interviews.also-id", name=id, column=columns[0])
    return asked


def _cells(
    survey: InterviewSurvey, data: Data, asked: Mapping[str, tuple[str, ...]]
) -> dict[str, ColumnCells]:
    """Return all columns with a name as text, without codes for missing values."""
    asking = {name: item for item in survey.items for name in asked[item.id]}
    cells = {}
    for name in filter(None, data.table.column_names):
        column, gone = data.table[name].combine_chunks(), data.missing.get(name, ())
        if item := asking.get(name):
            read = cells_of(name, column, {*gone, *item.codes.missing})
            cells[name] = read.without({*survey.columns.missing, *_no_report(item)})
            continue
        read = cells_of(name, column, gone).without(survey.columns.missing)
        is_named = name in survey.columns.factors or name == survey.columns.group
        cells[name] = read if is_named else without_unavailable(read)
    return cells


def _no_report(item: InterviewItem) -> Iterator[str]:
    """Yield what software writes for a missing value, unless it is the name of a report."""
    for text in NOT_AVAILABLE:
        if all(
            report_spellings(item, names).place(text, None) == MISSING
            for design in item.design.designs
            for names in (
                design.reports(item.design.answers),
                design.drawn_reports(item.design.answers),
            )
        ):
            yield text


def _group(
    survey: InterviewSurvey, cells: Mapping[str, ColumnCells], people: int
) -> tuple[np.ndarray, list[Problem]]:
    """Return the group of each interview, and rows with another code or none."""
    name = survey.columns.group
    if name is None:
        return np.zeros(people, np.int64), []
    column, advice = cells[name], sentence("interviews.one-of-groups", codes=survey.groups)
    places = [_index(survey.groups, text) for text in column.texts]
    wrong = [place for place, code in enumerate(places) if code == MISSING]
    problems = [*column.problems(wrong, advice, survey.groups), *column.gaps(advice)]
    return column.coded(places), problems


def _index(names: Sequence[str], text: str) -> int:
    return names.index(text) if text in names else MISSING


def _column(
    survey: InterviewSurvey, cells: ColumnCells, labels: Mapping[str, str]
) -> tuple[OpenColumn, list[Problem]]:
    """Return a column that is not a question, and what is wrong with it."""
    columns = survey.columns
    if cells.name == columns.weight:
        return _weights(cells)
    gaps = cells.gaps(sentence("interviews.needs-cluster")) if cells.name == columns.cluster else ()
    if cells.name in (*columns.factors, columns.group):
        named = {} if cells.name == columns.group else labels
        return factor(cells, named), [*gaps]
    column, problems = open_column(cells, {} if cells.name in columns.numbers else labels)
    return column, [*problems, *gaps]


def _weights(cells: ColumnCells) -> tuple[np.ndarray, list[Problem]]:
    """Return weights, which are positive numbers, and rows in which they are not."""
    values, advice = numbers(cells), sentence("interviews.needs-weight")
    if values is None:
        wrong = [place for place, text in enumerate(cells.texts) if math.isnan(number(text))]
    else:
        wrong = np.unique(cells.rows[values <= 0]).tolist()
    problems = [*cells.problems(wrong, advice), *cells.gaps(advice)]
    return np.ones(len(cells.rows)) if values is None else values, problems


# --- reports ----------------------------------------------------------------------------------


def _reported(
    item: InterviewItem,
    columns: Sequence[ColumnCells],
    labels: Sequence[Mapping[str, str]],
    group: np.ndarray,
) -> tuple[np.ndarray, list[Problem]]:
    """Return the index of each interview's report, and cells that are not one.

    columns: one, or one for each draw, whose second reports are then counted.
    """
    problems: list[Problem] = []
    reported = np.full(len(group), MISSING)
    for place, design in enumerate(item.design.designs):
        here = group == place
        if len(columns) == 1:
            spelled = report_spellings(item, design.reports(item.design.answers))
            codes, wrong = _looked_up(columns[0], labels[0], spelled, here)
            reported[here] = codes[here]
            problems += wrong
            continue
        spelled = report_spellings(item, design.drawn_reports(item.design.answers))
        draws = [
            _looked_up(column, named, spelled, here)
            for column, named in zip(columns[: design.repeats], labels, strict=False)
        ]
        counts = np.array([codes for codes, _ in draws])
        whole = np.where((counts == MISSING).any(axis=0), MISSING, counts.sum(axis=0))
        reported[here] = whole[here]
        problems += [each for _, wrong in draws for each in wrong]
    return reported, problems


def _looked_up(
    column: ColumnCells, labels: Mapping[str, str], spelled: ReportSpellings, here: np.ndarray
) -> tuple[np.ndarray, list[Problem]]:
    """Return the index of the report of each row, and cells in some rows that are not one.

    here: the rows that count. labels: of codes; a code with a label is read by the label, unless it
    is the name of a report itself.
    """
    places = [spelled.place(text, labels.get(text)) for text in column.texts]
    wrong = [place for place, report in enumerate(places) if report == MISSING]
    advice = sentence("interviews.one-of-reports", reports=spelled.names)
    problems = column.among(here).problems(wrong, advice, (*spelled.codes, *spelled.names))
    return column.coded(places), [*problems]


class ReportSpellings(NamedTuple):
    """The reports of a question, as files spell them.

    names: of the reports, in order. codes: for codes that the survey defines, the index of the
    report. others: for further spellings in small letters, the index of the report.
    """

    names: tuple[str, ...]
    codes: Mapping[str, int]
    others: Mapping[str, int]

    def place(self, text: str, label: str | None) -> int:
        """Return the index of the report of a cell; `MISSING` if it is not one."""
        if text in self.codes:
            return self.codes[text]
        if label is None or text in self.names:
            return self._named(text)
        return self._named(label)

    def _named(self, text: str) -> int:
        place = _index(self.names, text)
        return self.others.get(text.casefold(), MISSING) if place == MISSING else place


def report_spellings(item: InterviewItem, names: tuple[str, ...]) -> ReportSpellings:
    """Return how files spell some reports of a question: as the survey, in every language, and for
    yes and no as 1 and 0, or true and false."""
    codes = {code: _index(names, report) for code, report in item.codes.values.items()}
    here = {code: place for code, place in codes.items() if place != MISSING}
    places: dict[str, set[int]] = {}
    for place, name in enumerate(names):
        for text in (name, *_other_spellings(item.question, name)):
            places.setdefault(text.casefold(), set()).add(place)
    others = {text: place for text, (place, *more) in places.items() if not more}
    return ReportSpellings(names, here, others)


def _other_spellings(question: AnyQuestion, name: str) -> Iterator[str]:
    """Yield labels of a report, and words and numbers that all surveys have for it."""
    label = (question.labels or {}).get(name, ())
    yield from (label,) if isinstance(label, str) else dict(label).values()
    yield from (translated(report_text(question, name), language) for language in LANGUAGES)
    values = dict(zip(question.choices, question.values or (), strict=False))
    if name in values:
        yield format(values[name], "g")
        yield from _TRUTH[values[name]] if {*values.values()} == {*_TRUTH} else ()
