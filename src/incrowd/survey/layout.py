"""The layout of a questionnaire: what frames it, its sections, and its matrices of questions that
have the same answers.

A section is a page of the survey, a matrix a battery of items with one scale. What a section or a
matrix states for its questions is written into each of them when the survey is read: whom they are
asked, and their answers. Neither has any part in what is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pydantic import Field

from incrowd.catalog.sentences import likely
from incrowd.errors import Of, Problem
from incrowd.survey.conditions import read_condition
from incrowd.survey.question import AnyQuestion
from incrowd.survey.toml import Frozen
from incrowd.survey.words import Wordings

MATRIX_KEYS = ("id", "text", "help")  # of a matrix itself; all others are those of its questions


def _none(value: object) -> bool:
    return value is None


class QuestionSection(Frozen):
    """Consecutive questions that people answer on one page. id: what its questions name it by.
    title, text: what people read above the questions."""

    id: str = Field(min_length=1)
    title: Wordings
    text: Wordings | None = Field(default=None, exclude_if=_none)

    def __hash__(self) -> int:
        """Hash the id only: tables are not hashable."""
        return hash(self.id)


class QuestionMatrix(Frozen):
    """Consecutive questions with the same answers, shown as one table. id: what its questions name
    it by. text, help: what people read above the table."""

    id: str = Field(min_length=1)
    text: Wordings
    help: Wordings | None = Field(default=None, exclude_if=_none)

    def __hash__(self) -> int:
        """Hash the id only: tables are not hashable."""
        return hash(self.id)


class SurveyFrame(Frozen):
    """What people read before and after the questions.

    consent: what they have to agree to before they can send anything; nothing about it is sent.
    thanks: what they read after they have sent their answers.
    """

    consent: Wordings | None = Field(default=None, exclude_if=_none)
    thanks: Wordings | None = Field(default=None, exclude_if=_none)

    def __hash__(self) -> int:
        """Hash nothing: tables are not hashable."""
        return 0


def with_layout(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the raw survey with what its sections and matrices state written into their questions.

    Anything that is wrong with them is for the validation to say.
    """
    matrices = {each["id"]: each for each in _parts(raw, "matrix")}
    conditions = {
        each["id"]: each["asked_if"] for each in _parts(raw, "section") if "asked_if" in each
    }
    filled = dict(raw)
    if matrices:
        filled["matrix"] = [_only(each, MATRIX_KEYS) for each in raw["matrix"]]
    if conditions:
        filled["section"] = [_without(each, "asked_if") for each in raw["section"]]
    if (matrices or conditions) and isinstance(raw.get("question"), list | tuple):
        filled["question"] = [_filled(each, matrices, conditions) for each in raw["question"]]
    return filled


def _parts(raw: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the tables of a list that have a name."""
    parts = raw.get(key)
    for part in parts if isinstance(parts, list | tuple) else ():
        if isinstance(part, Mapping) and isinstance(part.get("id"), str):
            yield part


def _only(part: Any, keys: Sequence[str]) -> Any:
    return {key: part[key] for key in keys if key in part} if isinstance(part, Mapping) else part


def _without(part: Any, key: str) -> Any:
    return {k: v for k, v in part.items() if k != key} if isinstance(part, Mapping) else part


def _filled(
    question: Any, matrices: Mapping[str, Mapping[str, Any]], conditions: Mapping[str, Any]
) -> Any:
    if not isinstance(question, Mapping):
        return question
    matrix = matrices.get(str(question.get("matrix")), {})
    filled = {key: value for key, value in matrix.items() if key not in MATRIX_KEYS}
    filled |= question
    section = filled.get("section")
    if isinstance(section, str) and section in conditions:
        filled["asked_if"] = _both(conditions[section], filled.get("asked_if"))
    return filled


def _both(section: Any, question: Any) -> Any:
    """Return the condition of a section and of a question in it."""
    if question is None:
        return section
    if not (isinstance(section, str) and isinstance(question, str)):
        return question
    for each in (section, question):
        try:
            read_condition(each)
        except ValueError:
            return each  # the validation says what is wrong with it
    return f"({section}) and ({question})"


def layout_words(
    frame: SurveyFrame, sections: Sequence[QuestionSection], matrices: Sequence[QuestionMatrix]
) -> Iterator[tuple[tuple[str, ...], str | dict[str, str]]]:
    """Yield all texts of a layout, each with the path of its table and its key."""
    parts = [("page", frame), *(("section", each) for each in sections)]
    parts += [("matrix", each) for each in matrices]
    for table, part in parts:
        for key in ("consent", "thanks", "title", "text", "help"):
            if words := getattr(part, key, None):
                yield (table, key), words


def layout_problems(
    questions: Sequence[AnyQuestion],
    sections: Sequence[QuestionSection],
    matrices: Sequence[QuestionMatrix],
) -> Iterator[Problem]:
    """Yield mistakes in sections and matrices, and in what questions say about them."""
    for key, parts in (("section", sections), ("matrix", matrices)):
        ids = [part.id for part in parts]
        if twice := next((id for id in ids if ids.count(id) > 1), None):
            yield Problem((key, "id"), "survey.part-twice", value=twice)
        named = {each.id: getattr(each, key) for each in questions}
        for question, id in named.items():
            if id is not None and id not in ids:
                path = ("question", key, Of(question))
                yield Problem(path, "survey.no-part", value=id, meant=likely(id, ids), part=key)
        runs = [id for id, _ in groupby(named.values()) if id is not None]
        for id in ids:
            if (times := runs.count(id)) != 1:
                code = "survey.part-without-questions" if not times else "survey.divided-part"
                yield Problem((key, "id"), code, value=id)
    for matrix in matrices:
        yield from _matrix_problems([each for each in questions if each.matrix == matrix.id])


def _matrix_problems(items: Sequence[AnyQuestion]) -> Iterator[Problem]:
    for item in items:
        path = ("question", "matrix", Of(item.id))
        if item.page_field.control != "one" or item.wide:
            yield Problem(path, "survey.unfit-for-matrix", value=item.matrix)
        elif (item.choices, item.labels, item.optional, item.section) != (
            items[0].choices,
            items[0].labels,
            items[0].optional,
            items[0].section,
        ):
            yield Problem(path, "survey.unlike-in-matrix", value=item.matrix, first=items[0].id)
