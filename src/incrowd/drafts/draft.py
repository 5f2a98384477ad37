"""A first draft of a survey: questions, what was left out, and what the user has to decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from incrowd.drafts.columns import ColumnDraft, DraftQuestion, SkippedColumn
from incrowd.drafts.design import WEIGHTED
from incrowd.drafts.writing import body, parts, predicts, start
from incrowd.survey.participation import Participation, crowd_of
from incrowd.survey.words import LANGUAGE

CROWD = 1000  # if the number of people is not known
DIGITS = 2  # significant digits of the number of rows, which a survey makes public


@dataclass(frozen=True)
class Draft:
    """A survey that can be planned, with everything that the user has to decide.

    Attributes
    ----------
    name : str
        The name of the survey.
    people : int or None
        The number of people in the data: of rows, or of different ids that repeat; None for a
        questionnaire.
    columns : tuple of ColumnDraft
        A question for each column or field, or the reason why it was left out.
    notes : tuple of str
        Open decisions about the survey as a whole.
    language : str
        The language of its texts.
    rows_per_person : int
        The largest number of rows of one person.
    frame : mapping
        What people read before and after the questions: the table `page` of the survey file.
    sections, matrices : tuple of mapping
        Tables of the survey file.
    invited : Participation or None
        Who is invited; the crowd then follows from it, and not from the data.

    Examples
    --------
    >>> import incrowd
    >>> draft = incrowd.draft("examples/rand_hie.csv")
    >>> draft.people, draft.crowd  # rounded down
    (20190, 20000)
    """

    name: str
    people: int | None
    columns: tuple[ColumnDraft, ...]
    notes: tuple[str, ...] = ()
    language: str = LANGUAGE
    rows_per_person: int = 1
    frame: Mapping[str, Any] = field(default_factory=dict)
    sections: tuple[Mapping[str, Any], ...] = ()
    matrices: tuple[Mapping[str, Any], ...] = ()
    invited: Participation | None = None

    @property
    def questions(self) -> tuple[DraftQuestion, ...]:
        """The columns that became questions."""
        return tuple(each for each in self.columns if isinstance(each, DraftQuestion))

    @property
    def left_out(self) -> tuple[SkippedColumn, ...]:
        """The columns that cannot become questions."""
        return tuple(each for each in self.columns if isinstance(each, SkippedColumn))

    @property
    def crowd(self) -> int:
        """The number of people in the data, rounded down; or that which follows from who is
        invited."""
        if self.invited is not None:
            return crowd_of(self.invited.answering(self.invited.invited))
        if self.people is None:
            return CROWD
        unit: int = 10 ** max(0, len(str(self.people)) - DIGITS)
        return max(2, self.people // unit * unit)

    @property
    def toml(self) -> str:
        """The text of a survey file, which can be loaded and planned as it is."""
        people = (self.people, self.crowd, self.rows_per_person)
        head = start(self.name, self.language, *people, self.notes, self._weighted, self.invited)
        layout = parts(self.frame, self.sections, self.matrices)
        rest = body(self.questions, self.left_out, self.matrices)
        return "\n".join([*head, *layout, *rest]) + "\n"

    @property
    def _weighted(self) -> tuple[str, ...]:
        """Examples of questions by which tables may be weighted; () if the data have no weights."""
        crossed = (each.id for each in self.questions if predicts(each))
        has_weights = any(each.why == WEIGHTED for each in self.left_out)
        return tuple(islice(crossed, 2)) if has_weights else ()

    @property
    def undecided(self) -> tuple[str, ...]:
        """The decisions that are left to the user, one line for each."""
        doubts = (f"{each.id}: {text}" for each in self.questions for text in each.undecided)
        left_out = (f"{each.id}: left out: {each.reason}" for each in self.left_out)
        maybe = (f"{each.id}: {each.doubt}" for each in self.left_out if each.doubt)
        return (*self.notes, *doubts, *left_out, *maybe)
