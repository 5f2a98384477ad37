"""Write a draft as a survey file, with comments on everything that the user has to decide."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from incrowd.characters import visible
from incrowd.drafts.columns import DraftQuestion, SkippedColumn
from incrowd.survey import Codes, YesNo
from incrowd.survey.layout import MATRIX_KEYS, QuestionMatrix, QuestionSection, SurveyFrame
from incrowd.survey.participation import Participation
from incrowd.survey.questions import TYPES
from incrowd.survey.toml import Frozen
from incrowd.survey.words import LANGUAGE

PARTS: tuple[type[Frozen], ...] = (Codes, SurveyFrame, QuestionSection, QuestionMatrix)
KEYS = {key for part in (*TYPES.values(), *PARTS) for key in part.model_fields}
MOST_LEVELS = 12
FEWEST_PEOPLE = 2  # of a crowd whose people have several rows
MOST_ROWS = 1000
WIDTH = 96  # a list that makes its line longer is written with one entry per line


def start(
    name: str,
    language: str,
    people: int | None,
    crowd: int,
    rows_each: int,
    notes: Sequence[str],
    weighted: Sequence[str] = (),
    invited: Participation | None = None,
) -> Iterator[str]:
    """Yield the first lines of the file: name, crowd and requested guarantee.

    weighted: questions by which tables may be weighted, if the data have weights. invited: who is
    invited, from which the crowd follows then.
    """
    yield "# A first draft, written by `incrowd init`. DECIDE marks what you have to decide."
    yield from (f"# DECIDE: {_one_line(note)}." for note in notes)
    yield ""
    yield f"name = {quoted(name)}"
    if language != LANGUAGE:
        yield f"language = {quoted(language)}"
    rows = "rows" if rows_each == 1 else "different ids"
    source = "an example" if people is None else f"the number of {rows}, rounded down"
    if invited is None:
        decide = "DECIDE: the guarantee requires at least this many people"
        yield f"crowd = {crowd}  # {source}; {decide}"
    if rows_each > 1:
        possible = crowd // rows_each >= FEWEST_PEOPLE and rows_each <= MOST_ROWS
        line = f"{'' if possible else '# '}rows_per_person = {rows_each}"
        yield f"{line}  # DECIDE: all rows of a person are protected; the crowd then counts rows"
    if weighted:
        listed = ", ".join(map(quoted, weighted))
        yield f"# weights = [{listed}]  # DECIDE: questions with known shares in the population"
    if invited:
        yield ""
        yield "[people]  # the crowd follows from it"
        yield f"invited = {invited.invited}"
        yield f"expected = {invited.expected}  # the share of them that will probably answer"
    yield ""
    yield "[privacy]"
    yield "epsilon = 1.0  # DECIDE: a smaller value protects more, with larger errors"
    yield "delta = 1e-6"
    yield "# The epsilon that is left if the mixing of reports fails. Without a limit, tables are"
    yield "# most precise, but almost no privacy is left; `incrowd plan` shows what a limit costs."
    yield "# local_epsilon = 8.0"


def parts(
    frame: Mapping[str, Any],
    sections: Sequence[Mapping[str, Any]],
    matrices: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Yield the lines of what frames the questions, of sections, and of matrices."""
    tables = [("[page]", frame)] if frame else []
    tables += [("[[section]]", each) for each in sections]
    tables += [("[[matrix]]", each) for each in matrices]
    for header, table in tables:
        yield from ("", header)
        for key, value in table.items():
            yield from _entry(key, value)


def body(
    questions: Sequence[DraftQuestion],
    left_out: Sequence[SkippedColumn],
    matrices: Sequence[Mapping[str, Any]] = (),
) -> Iterator[str]:
    """Yield the lines of the questions. Together with `start` and `parts`, the file loads as it
    is."""
    shared = {matrix["id"]: {*matrix} - {*MATRIX_KEYS} for matrix in matrices}
    for each in questions:
        yield from _question(each, shared.get(each.keys.get("matrix"), ()))
    if len(questions) > 1:
        yield ""
        yield "# Joint tables that you want, such as:"
        yield "# [[table]]"
        yield f"# questions = [{', '.join(quoted(each.id) for each in questions[:2])}]"
    yield from _regression(questions)
    if left_out:
        yield ""
        yield "# Columns that were left out:"
        for column in left_out:
            yield f"# {quoted(column.id)}: {_one_line(column.reason)}"
            if column.doubt:
                yield f"# DECIDE: {_one_line(column.doubt)}."


def _regression(questions: Sequence[DraftQuestion]) -> Iterator[str]:
    """Yield an example: the first yes/no question on the first two possible predictors."""
    first = next((each for each in questions if each.keys["type"] == YesNo.type_name()), None)
    others = [each for each in questions if each is not first and predicts(each)]
    if first and others:
        yield ""
        yield "# A regression that you want, such as:"
        yield "# [[regression]]"
        yield f"# outcome = {quoted(first.id)}"
        yield f"# on = [{', '.join(quoted(each.id) for each in others[:2])}]"


def predicts(question: DraftQuestion) -> bool:
    """Return whether a question has one answer per person, out of a few."""
    kind = TYPES[question.keys["type"]]
    one_answer = kind.exclusive and not kind.rounded and not kind.not_explained
    return one_answer and len(question.keys.get("options", ())) <= MOST_LEVELS


def _question(question: DraftQuestion, shared: Collection[str]) -> Iterator[str]:
    """Yield the lines of a question. shared: the keys that its matrix states for it."""
    yield ""
    yield from (f"# {_one_line(remark)}" for remark in question.remarks)
    yield from (f"# DECIDE: {_one_line(doubt)}." for doubt in question.undecided)
    yield "[[question]]"
    yield f"id = {quoted(question.id)}"
    for key, value in question.keys.items():
        if key not in shared:
            yield from _entry(key, value)


def _entry(key: str, value: Any) -> Iterator[str]:
    line = f"{key} = {_value(value)}"
    if key not in KEYS:  # a key of a later version
        line = f"# {line}"
    if len(line) <= WIDTH or not isinstance(value, list):
        yield line
        return
    yield f"{key} = ["
    yield from (f"    {_value(each)}," for each in value)
    yield "]"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{quoted(k)} = {_value(v)}' for k, v in value.items())} }}"
    return repr(value)


def quoted(text: str) -> str:
    """Quote a text as a TOML string on one line."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
