"""The spreadsheet that the answers of interviews are typed into, as `incrowd read` reads it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from incrowd.catalog.sentences import Sentence, in_words, joined, sentence, translated
from incrowd.interviews.assignment import RandomList
from incrowd.interviews.survey import InterviewSurvey
from incrowd.presentation.archives import reproducible
from incrowd.presentation.workbook import sheet_names, write_text

NUMBER, INTERVIEWER = "interview", "interviewer"  # columns that a survey does not name
MOST_LISTED, MOST_TITLE = 255, 32  # letters that Excel accepts
WIDEST = 60  # in letters


class TypedColumn(NamedTuple):
    """A column of the spreadsheet. values: what may be typed; () for anything that `rule` says."""

    name: str
    meaning: Sentence
    values: tuple[str, ...] = ()
    rule: Sentence | None = None


def typed_columns(
    survey: InterviewSurvey, language: str, *, interviewers: bool = False
) -> tuple[TypedColumn, ...]:
    """Return the columns of the spreadsheet in order. interviewers: whether there are several."""
    columns = [*_described(survey, interviewers), *_of_questions(survey, language)]
    names = [each.name for each in columns]
    return tuple(each for place, each in enumerate(columns) if each.name not in names[:place])


def _described(survey: InterviewSurvey, interviewers: bool) -> Iterator[TypedColumn]:
    """Yield the columns that describe an interview."""
    whole, some = sentence("kits.typed-whole"), sentence("kits.typed-any-text")
    stated, ids = survey.columns, {each.id for each in survey.items}
    if NUMBER not in ids:
        yield TypedColumn(NUMBER, sentence("kits.typed-number"), rule=whole)
    if interviewers and INTERVIEWER not in ids:
        yield TypedColumn(INTERVIEWER, sentence("kits.typed-interviewer"), rule=whole)
    if stated.group:
        yield TypedColumn(stated.group, sentence("kits.typed-group"), survey.groups)
    if stated.cluster:
        yield TypedColumn(stated.cluster, sentence("kits.typed-cluster"), rule=some)
    if stated.weight:
        above = sentence("kits.typed-any-number")
        yield TypedColumn(stated.weight, sentence("kits.typed-weight"), rule=above)


def _of_questions(survey: InterviewSurvey, language: str) -> Iterator[TypedColumn]:
    """Yield a column for each answer that is said."""
    for item in survey.items:
        labels = tuple(
            str(translated(survey.label_of(item.id, name, language), language))
            for name in item.drawn
        )
        text, column = survey.text_of(item.id, language), item.codes.column or item.id
        draws = max(design.repeats for design in item.design.designs)
        if draws == 1:
            yield TypedColumn(column, sentence("kits.typed-said", question=text), labels)
            continue
        for draw in range(1, draws + 1):
            meaning = sentence("kits.typed-said-again", question=text, number=draw)
            yield TypedColumn(f"{column}_{draw}", meaning, labels)


def answers_file(
    survey: InterviewSurvey, lists: Sequence[RandomList], language: str
) -> dict[str, bytes]:
    """Return a file with a row for each interview, and no answers yet, by its name.

    It is a workbook that says what to type, or a CSV file if openpyxl is not installed.
    """
    columns = typed_columns(survey, language, interviewers=len(lists) > 1)
    rows: list[dict[str, int | str]] = [
        {NUMBER: number, INTERVIEWER: each.interviewer, survey.columns.group or "": group}
        for each in lists
        for number, group in each.numbered
    ]
    with suppress(ImportError):
        return {"answers.xlsx": _workbook_of(columns, rows, language)}
    text = io.StringIO()
    writer = csv.DictWriter(text, [each.name for each in columns], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return {"answers.csv": text.getvalue().encode()}


def _workbook_of(
    columns: Sequence[TypedColumn], rows: Sequence[Mapping[str, int | str]], language: str
) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    page = book.active
    (page.title,) = sheet_names([in_words(sentence("cards.answers"), language)], ())
    for place, column in enumerate(columns, 1):
        _head(page, place, column.name)
        for row, values in enumerate(rows, 2):
            _put(page, row, place, values.get(column.name))
        _explain(page, place, column, len(rows), language)
    page.freeze_panes = "A2"
    content = io.BytesIO()
    book.save(content)
    return reproducible(content.getvalue())


def _put(page: Any, row: int, column: int, value: int | str | None) -> None:
    if isinstance(value, str):
        write_text(page.cell(row, column), value)
    elif value is not None:
        page.cell(row, column).value = value


def _head(page: Any, column: int, name: str) -> None:
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    write_text(page.cell(1, column), name)
    page.cell(1, column).font = Font(bold=True)
    width = min(max(len(name) + 4, 12), WIDEST)
    page.column_dimensions[get_column_letter(column)].width = width


def _explain(page: Any, place: int, column: TypedColumn, people: int, language: str) -> None:
    """Say beside each cell what to type; offer the allowed values as a list, and refuse others."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    listed = ",".join(column.values)
    listable = (
        column.values and len(listed) < MOST_LISTED and listed.count(",") < len(column.values)
    )
    rule = DataValidation("list", formula1=f'"{listed}"') if listable else DataValidation()
    rule.allow_blank = True
    rule.promptTitle = column.name[:MOST_TITLE]
    what = joined("shared.comma", column.values) if column.values else column.rule
    prompt = sentence("kits.typed-prompt", meaning=column.meaning, values=what)
    rule.prompt = in_words(prompt, language)[: MOST_LISTED - 1]
    rule.error = in_words(sentence("kits.not-in-list"), language)
    rule.showInputMessage = rule.showErrorMessage = True
    letter = get_column_letter(place)
    rule.add(f"{letter}2:{letter}{people + 1}")
    page.add_data_validation(rule)
