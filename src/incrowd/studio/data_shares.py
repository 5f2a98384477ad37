"""Shares of answers in the data that a survey was imported from, as expectations for its charts.

They are computed again from the file in the project whenever they are shown, and are written
nowhere: a plan, which everybody may read, contains the shares that its survey states.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from incrowd.encoding.answers import load_answers
from incrowd.encoding.records import Encoded, EncodedAnswers
from incrowd.errors import IncrowdError
from incrowd.studio.chosen_values import percent_text, share_name
from incrowd.studio.document import Raw
from incrowd.studio.imports import data_path, reading
from incrowd.studio.operations import whole_questions
from incrowd.studio.projects import Project
from incrowd.survey import NOT_ASKED, AnyQuestion, Survey

AnswerShares = dict[str, dict[str, float]]  # by question and answer, in proportions
MOST_BYTES = 32 << 20  # of a file that is read whenever its survey is shown for the first time


def data_shares(project: Project, survey: Survey) -> AnswerShares:
    """Return the shares in the data of a project, for questions whose shares are not stated.

    Empty without data, and if the data do not fit the survey: the check of the data says why.
    """
    path = data_path(project)
    if path is None:
        return {}
    about = path.stat()
    if about.st_size > MOST_BYTES:
        return {}
    content = survey.as_planned.model_dump_json(by_alias=True, include=_OF_ANSWERS)
    shares = _shares(path, (about.st_mtime_ns, about.st_size), content, _Parsed(survey))
    return {id: each for id, each in shares.items() if survey.question(id).shares is None}


_OF_ANSWERS = {"questions", "codes", "language"}


class _Parsed:
    """A survey that a cache does not compare: its content is beside it."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Parsed)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=8)
def _shares(path: Path, _: tuple[int, int], __: str, parsed: _Parsed) -> AnswerShares:
    survey = parsed.survey
    try:
        people = EncodedAnswers.of(survey, load_answers(path, survey, **reading(path)))
    except IncrowdError:
        return {}
    return {
        question.id: _of_question(question, people.encoded[question.id], people.number)
        for question in survey.randomized
        if question.exclusive and not question.hashed and not question.rounded and people.number
    }


def _of_question(question: AnyQuestion, encoded: Encoded, people: int) -> dict[str, float]:
    """Return the share of each answer, among those who are asked."""
    names = question.recorded
    missing = int(question.bits < len(names))  # no is no bit
    counts = np.bincount(encoded.places + missing, minlength=len(names)).astype(float)
    if missing:
        counts[0] = people - len(encoded.rows)
    shares = dict(zip(names, counts.tolist(), strict=True))
    shares.pop(NOT_ASKED, None)
    total = sum(shares.values())
    return {name: count / total for name, count in shares.items()} if total else {}


def with_data_shares(survey: Survey, shares: AnswerShares) -> Survey:
    """Return the survey with expected shares for its charts. It is not to be saved or planned."""
    questions = tuple(
        each.model_copy(update={"shares": shares[each.id]}) if shares.get(each.id) else each
        for each in survey.questions
    )
    return survey.model_copy(update={"questions": questions})


def charted(project: Project, survey: Survey) -> Survey:
    """Return the survey with the shares of the project's data. It is not to be saved or planned."""
    return with_data_shares(survey, data_shares(project, survey))


def share_hints(content: Raw, shares: AnswerShares) -> dict[str, str]:
    """Return the shares of the data by the names of their fields, in percent."""
    return {
        share_name(place, number): percent_text(round(share, 3))
        for place, asked in enumerate(whole_questions(content))
        for number, share in enumerate(shares.get(str(asked.get("id")), {}).values())
    }
