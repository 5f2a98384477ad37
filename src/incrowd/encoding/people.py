"""The answers of people, encoded: what is randomised for each message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.encoding.answers import check_columns, texts
from incrowd.encoding.records import Encoded, encode, taken
from incrowd.errors import AnswersError, InWords, Problem
from incrowd.plans.strata import stratum_numbers
from incrowd.survey import AnyQuestion, Survey

SHOWN = 5


class People(NamedTuple):
    """The encoded answers of some people to every question, by its id."""

    number: int
    encoded: Mapping[str, Encoded]

    @classmethod
    def of(cls, survey: Survey, answers: pa.Table, before: int = 0) -> People:
        """Encode answers. Raises AnswersError if they do not fit the survey.

        before: how many rows of the file come before these; errors count them as well.
        """
        checked = check_columns(answers, survey)
        return cls(checked.num_rows, encode(survey.questions, checked, before, survey.codes))

    def strata(self, survey: Survey) -> np.ndarray:
        """The number of the stratum of each person, 0 where no question is open."""
        codes = {question.id: self._codes(question) for question in survey.open}
        return stratum_numbers(survey, codes, self.number)

    def _codes(self, question: AnyQuestion) -> np.ndarray:
        """Which of its answers each person gave to a question of exactly one answer."""
        found = self.encoded[question.id]
        codes = np.zeros(self.number, np.int64)
        codes[found.rows] = found.places + (question.bits < len(question.answers))  # no is no bit
        return codes

    def take(self, rows: np.ndarray) -> People:
        """Some of the people, in that order; one may come several times."""
        found = {id: taken(each, self.number, rows) for id, each in self.encoded.items()}
        return People(len(rows), found)


def one_row_each(answers: pa.Table, survey: Survey, id: str) -> pa.Table:
    """The answers without repeated ids: one row for each person, who sends one set of reports.

    Ids are text, equal if their bytes are. Raises AnswersError as `texts`, or if rows of one id
    differ.
    """
    names = texts(answers, id)
    codes = pc.dictionary_encode(names).indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    wanted = [question.id for question in survey.questions]
    _check_equal(answers.select(wanted), names, codes, first[codes])
    return answers.take(pa.array(np.sort(first)))


def _check_equal(answers: pa.Table, names: pa.Array, codes: np.ndarray, first: np.ndarray) -> None:
    """Raises AnswersError unless every row says what the first of its id says."""
    again = np.flatnonzero(first != np.arange(len(first)))
    said, before = (answers.take(pa.array(rows)).to_pylist() for rows in (again, first[again]))
    wrong = [row for row, one, other in zip(again, said, before, strict=True) if one != other]
    problems = [
        Problem(
            f"rows {first[row] + 1} and {row + 1}",
            names[int(row)].as_py(),
            "it is the id of both rows, but their answers differ; keep one of them",
        )
        for row in wrong[:SHOWN]
    ]
    if (more := len(wrong) - SHOWN) > 0:
        shown = InWords(f"{more:,} more rows" if more > 1 else "1 more row")
        allowed = "the answers differ from the first row of the id; keep one row for each id"
        problems.append(Problem("id", shown, allowed))
    if problems:
        raise AnswersError(*problems)
