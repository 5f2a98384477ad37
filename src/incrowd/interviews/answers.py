"""Answers of interviews: randomized by a device in the person's hand, and read as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from incrowd.catalog.sentences import likely, sentence
from incrowd.encoding.formats.parquet import FORMAT_KEY
from incrowd.errors import AnswersError, IncrowdError, UsageError
from incrowd.files import replaced
from incrowd.interviews.columns import Factor, OpenColumn
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.promise import InterviewPromise, promise_of
from incrowd.interviews.survey import InterviewSurvey

FORMAT = b"incrowd interviews 1"
SURVEY_KEY, LEVELS_KEY = b"incrowd.survey", b"incrowd.levels"


@dataclass(frozen=True, eq=False)
class InterviewAnswers:
    """The answers of interviews: what people reported, and everything that was asked openly.

    Attributes
    ----------
    survey : InterviewSurvey
        The survey.
    reports : mapping of str to ndarray
        For each question, the index of the report of each interview, shape (people,); -1 where
        there is none.
    group : ndarray
        The group of each interview, shape (people,), from 0.
    columns : mapping of str to ndarray or Factor
        All other columns: numbers (nan where there is none), or factors.

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
    >>> table = pyarrow.table({"smokes": ["yes", "no", None], "age": [30, 41, 52]})
    >>> answers = incrowd.read_answers(survey, table)
    >>> answers.item("smokes").reported
    array([ 1,  0, -1])
    >>> answers.column("age")
    array([30., 41., 52.])
    """

    survey: InterviewSurvey
    reports: Mapping[str, np.ndarray]
    group: np.ndarray
    columns: Mapping[str, OpenColumn]

    def __repr__(self) -> str:
        asked, others = list(self.reports), list(self.names)
        return f"InterviewAnswers(people={self.people:,}, questions={asked}, columns={others})"

    @property
    def people(self) -> int:
        """The number of interviews."""
        return len(self.group)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are not questions or weights."""
        return tuple(name for name in self.columns if name != self.survey.columns.weight)

    @property
    def weights(self) -> np.ndarray | None:
        """The weight of each interview, shape (people,); None if the survey names no column."""
        name = self.survey.columns.weight
        return None if name is None else np.asarray(self.columns[name])

    @property
    def clusters(self) -> np.ndarray | None:
        """The number of each interview's cluster, shape (people,); None if the survey names no
        column."""
        name = self.survey.columns.cluster
        if name is None:
            return None
        column = self.columns[name]
        return (
            column.codes
            if isinstance(column, Factor)
            else np.unique(column, return_inverse=True)[1]
        )

    def worded(self, language: str) -> InterviewAnswers:
        """Return the same answers, whose results have labels in a language.

        Parameters
        ----------
        language : str
            If the survey does not have it, labels stay in the survey's own language.
        """
        return replace(self, survey=replace(self.survey, shown_in=language))

    @property
    def guarantee(self) -> InterviewPromise:
        """What the device promises the people who answered, about the whole interview."""
        return promise_of(self.survey)

    def item(self, id: str) -> ReportedItem:
        """Return the reports of a question with their probabilities.

        Parameters
        ----------
        id : str
            The id of the question.

        Raises
        ------
        UsageError
            If there is no such question.
        """
        item = self.survey.item(id)
        return ReportedItem(self.reports[id], self.group, item.design.matrices)

    def column(self, name: str) -> OpenColumn:
        """Return an open column.

        Parameters
        ----------
        name : str
            Its name in the file.

        Returns
        -------
        ndarray or Factor
            Numbers, shape (people,), nan where there is none; or a factor with `levels` and
            `codes`, -1 where there is none.

        Raises
        ------
        UsageError
            If there is no such column.
        """
        if name not in self.columns:
            some = list(self.columns) or sentence("shared.none")
            raise UsageError.of(
                "column",
                "interviews.no-such-column",
                value=name,
                hint=likely(name, self.columns),
                names=some,
            )
        return self.columns[name]

    def save(self, path: str | Path) -> None:
        """Write a Parquet file that other programs can read as well.

        Reports and factors are text in it, and the survey is in its metadata.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        UsageError
            If it cannot be written.
        """
        named = {
            each.id: _texts(each.design.reports, self.group, self.reports[each.id])
            for each in self.survey.items
        }
        levels = {n: each.levels for n, each in self.columns.items() if isinstance(each, Factor)}
        others = {name: _names(column) for name, column in self.columns.items()}
        metadata = {
            FORMAT_KEY: FORMAT,
            SURVEY_KEY: self.survey.dumps().encode(),
            LEVELS_KEY: json.dumps(levels).encode(),
        }
        table = pa.table(named | others).replace_schema_metadata(metadata)
        with replaced(Path(path)) as temporary:
            pa.parquet.write_table(table, temporary)

    @classmethod
    def load(cls, path: str | Path) -> InterviewAnswers:
        """Read a file that `save` or `incrowd read` wrote.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        AnswersError
            If it cannot be read, is another kind of file, or was edited.
        UsageError
            If there is no such file.
        """
        if not Path(path).is_file():
            raise UsageError.of("interviews", "interviews.no-file", value=str(path))
        try:
            table = pa.parquet.read_table(path)
        except (OSError, pa.ArrowException):
            raise _other_file(path) from None
        metadata = table.schema.metadata or {}
        if metadata.get(FORMAT_KEY) != FORMAT:
            raise _other_file(path)
        try:
            return _parsed(table)
        except (ValueError, LookupError, TypeError, AttributeError, pa.ArrowException):
            raise AnswersError.of("interviews", "interviews.edited", value=str(path)) from None


def _parsed(table: pa.Table) -> InterviewAnswers:
    """Return the content of a file. Raises ValueError or LookupError if it was edited."""
    metadata = table.schema.metadata
    survey = InterviewSurvey.of(json.loads(metadata[SURVEY_KEY]))
    levels = json.loads(metadata[LEVELS_KEY])
    asked = {each.id for each in survey.items}
    columns: dict[str, OpenColumn] = {
        name: Factor(tuple(levels[name]), _checked(table[name], _places(table[name], levels[name])))
        if name in levels
        else pc.cast(table[name], pa.float64()).to_numpy()
        for name in table.column_names
        if name not in asked
    }
    group = _groups(survey, columns, table.num_rows)
    reports = {
        each.id: _checked(table[each.id], _places_in(each.design.reports, group, table[each.id]))
        for each in survey.items
    }
    return InterviewAnswers(survey, reports, group, columns)


def _checked(column: pa.ChunkedArray, codes: np.ndarray) -> np.ndarray:
    """Return the codes of a column. Raises ValueError if a cell has none."""
    if np.any((codes == MISSING) & pc.is_valid(column).to_numpy()):
        raise ValueError
    return codes


def _groups(survey: InterviewSurvey, columns: Mapping[str, OpenColumn], people: int) -> np.ndarray:
    """Return the group of each interview."""
    column = columns.get(survey.columns.group or "")
    if not isinstance(column, Factor):
        return np.zeros(people, np.int64)
    places = np.array([survey.groups.index(level) for level in column.levels])
    return np.asarray(places[column.codes])


def _other_file(path: str | Path) -> IncrowdError:
    return AnswersError.of("interviews", "interviews.other-file", value=str(path))


def _names(column: OpenColumn) -> pa.Array:
    """Return a column as a file has it: factors are text, and missing values are null."""
    if isinstance(column, Factor):
        return _texts([column.levels], np.zeros(len(column.codes), np.int64), column.codes)
    return pa.array(column, pa.float64(), from_pandas=True)


def _texts(names: Sequence[Sequence[str]], group: np.ndarray, codes: np.ndarray) -> pa.Array:
    """Return the names of codes, null for `MISSING`. names: in each group."""
    pairs = zip(group.tolist(), codes.tolist(), strict=True)
    return pa.array([names[g][code] if code >= 0 else None for g, code in pairs], pa.string())


def _places_in(
    names: Sequence[Sequence[str]], group: np.ndarray, column: pa.ChunkedArray
) -> np.ndarray:
    """Return the codes of names in a column. names: in each group."""
    places = np.array([_places(column, each) for each in names])
    return np.asarray(places[group, np.arange(len(group))])


def _places(column: pa.ChunkedArray, levels: Sequence[str]) -> np.ndarray:
    """Return the index of the level of each cell; `MISSING` for null."""
    places = pc.index_in(column, value_set=pa.array(levels, pa.string()))
    return np.asarray(pc.fill_null(places, MISSING).to_numpy(), np.int64)
