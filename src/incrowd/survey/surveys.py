"""Surveys: the questions, the crowd, the wanted guarantee and the wanted tables. TOML in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError, model_validator

from incrowd import views
from incrowd.catalog.sentences import translatable
from incrowd.errors import SurveyError
from incrowd.survey.codes import Codes, with_codes
from incrowd.survey.formulas import Formula
from incrowd.survey.layout import (
    QuestionMatrix,
    QuestionSection,
    SurveyFrame,
    layout_words,
    with_layout,
)
from incrowd.survey.options_files import with_options
from incrowd.survey.participation import Participation, invited_in, with_census
from incrowd.survey.problems import cross_problems, derived_crowd, mistakes, right_problems
from incrowd.survey.question import MERGED
from incrowd.survey.toml import Frozen, read_toml
from incrowd.survey.words import hidden_problems, in_language, languages, with_labels
from incrowd.survey.written import Group, Privacy, Table, WrittenSurvey

SHOWN = 8  # questions, in one line
INTERVIEWS = "device"  # the table that only surveys of interviews have


class Survey(views.Notebook, WrittenSurvey):
    """A survey: its questions, crowd, requested guarantee, and requested tables.

    Use `load` or `of` to create it: both list every mistake at once.

    Attributes
    ----------
    name : str
        Its name.
    language : str
        Of texts that have only one language, and of those that lack a reader's language.
    crowd : int
        The number of people who take part; if questions are open, in the smallest stratum that is
        released.
    people : Participation or None
        Who is invited, and how many of them will probably answer; the crowd is derived from it if
        the survey does not state one. It is not part of plans.
    colluding : int
        The number of people in the crowd who are assumed to work with the analyst, and who
        therefore hide no one.
    least : int
        The number of people that a release needs if the services add the noise; nobody is then
        hidden by others, and the crowd serves for planning only.
    census : bool
        Whether everybody was asked, so that those who answered are not a sample of others.
    copies : int
        Of one joint report of all questions.
    reports_per_person : int or None
        The largest expected number.
    rows_per_person : int
        The number of rows of the answers that may belong to one person; all of them are protected.
    rounds : int
        How often the same people are asked these questions; the guarantee covers all rounds.
    upload_bytes : int or None
        The largest size of one person's upload.
    objective : {"largest", "mean"}
        Whether the planner minimizes the largest or the mean inflation of the requested tables,
        which is their variance over that of sampling alone.
    tables : {"pairs", "any"} or None
        "pairs" also requests the tables of all pairs of questions; "any" keeps all questions in
        joint reports, from which any table can be estimated.
    explore : float or None
        The share of the privacy that a joint report of all questions gets, for tables that are not
        requested yet.
    weights : tuple of str
        Questions that are crossed with every requested table, so that it can be weighted by them.
    small_strata : {"delete", "merge"}
        What happens to strata with fewer people than the crowd.
    frame : SurveyFrame
        What people read before and after the questions, [page] in a TOML file.
    sections : tuple of QuestionSection
        The pages of the survey, each of consecutive questions.
    matrices : tuple of QuestionMatrix
        The tables of consecutive questions with the same answers.
    privacy : Privacy
        The requested guarantee.
    questions : tuple of Question
        The questions.
    joint_tables : tuple of Table
        The requested tables of several questions.
    regressions : tuple of Formula
        The requested models.
    messages : tuple of Group or None
        Fixed messages instead of the planner's.
    codes : tuple of Codes
        The codes in files of answers; in a TOML file they are keys of the questions.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.Survey.of({
    ...     "name": "Habits",
    ...     "crowd": 1000,
    ...     "privacy": {"epsilon": 1.0, "delta": 1e-6},
    ...     "question": [{"id": "smokes", "type": "yesno"}],
    ... })
    >>> survey.question("smokes").answers
    ('no', 'yes')
    """

    layout: ClassVar[str] = "survey"

    @model_validator(mode="after")
    def _consistent(self) -> Survey:
        hidden = hidden_problems(self.model_dump(by_alias=True))
        if problems := (*cross_problems(self), *hidden):
            raise SurveyError(*problems)
        return self

    def __repr__(self) -> str:
        asked = ", ".join(f"{q.id} ({len(q.answers):,})" for q in self.questions[:SHOWN])
        more = f", … {len(self.questions):,} in all" if len(self.questions) > SHOWN else ""
        return f"Survey({self.name!r}, crowd={self.crowd:,}, questions: {asked}{more})"

    __str__ = __repr__

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read a survey from a TOML file.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        SurveyError
            With every mistake in the file at once.
        """
        return survey_in(read_toml(path), Path(path).parent)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Survey:
        """Create a survey from data.

        Parameters
        ----------
        raw : mapping
            With the keys of a TOML file.

        Raises
        ------
        SurveyError
            With every mistake at once.
        """
        if INTERVIEWS in raw:
            raise SurveyError.of(INTERVIEWS, "survey.of-interviews")
        raw = with_census(with_labels(with_layout(with_codes(raw))))
        if "crowd" in raw or "people" not in raw:
            return cls._checked(raw)
        survey = cls._checked({**raw, "crowd": invited_in(raw)})
        return cls._checked({**raw, "crowd": derived_crowd(survey)})

    @classmethod
    def _checked(cls, raw: Mapping[str, Any]) -> Survey:
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            wrong = mistakes(error, raw, cls, _PARTS)
            raise SurveyError(*wrong, *right_problems(raw, error), *hidden_problems(raw)) from None

    @property
    def as_planned(self) -> Survey:
        """The survey as plans contain it: without the number of people who are invited."""
        return self.model_copy(update={"people": None}) if self.people else self

    def codes_of(self, id: str) -> Codes:
        """Return the codes of a question in files of answers;
        empty if answers are written by name."""
        of_question = (codes for codes in self.codes if codes.question == id)
        return next(of_question, Codes(question=id))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the survey's texts, its main language first."""
        tags = {tag for question in self.questions for tag in languages(question)}
        framing = layout_words(self.frame, self.sections, self.matrices)
        tags |= {tag for _, words in framing if isinstance(words, dict) for tag in words}
        return (self.language, *sorted(tags - {self.language}))

    def text_of(self, id: str, language: str = "") -> str:
        """Return the wording of a question, in the survey's language or another; or its id."""
        return self._in_language(self.question(id).text, language) or id

    def help_of(self, id: str, language: str = "") -> str:
        """Return the help text of a question, or ""."""
        return self._in_language(self.question(id).help, language)

    def label_of(self, id: str, answer: str, language: str = "") -> str:
        """Return the label of an answer, or the answer itself."""
        question = self.question(id)
        for name, answers in question.merged:
            if name == answer:
                labels = MERGED.join(self.label_of(id, each, language) for each in answers)
                return labels if name == MERGED.join(answers) else f"{name} ({labels})"
        return self._in_language((question.labels or {}).get(answer), language) or question.spoken(
            answer
        )

    def answers_of(self, id: str, language: str = "") -> str:
        """Return the labels of all answers to a question, in one phrase."""
        return self.question(id).in_words(lambda answer: self.label_of(id, answer, language))

    def legend(self, *ids: str) -> tuple[str, ...]:
        """Return a line with wording and answers for each of these questions that has a text or
        labels, and one for each question of amounts, whose answers are edges."""
        worded = tuple(
            translatable("survey.legend", id=id, text=self.text_of(id), answers=self.answers_of(id))
            for id in ids
            if self.question(id).text or self.question(id).labels
        )
        return (*worded, *self.rounding_lines(ids))

    def rounding_lines(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Return a line for each of these questions whose answers are amounts."""
        return tuple(translatable("survey.rounded", id=id) for id in self.rounded(ids))

    def rounded(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Return those of some questions whose answers are amounts, rounded at random."""
        return tuple(id for id in ids if self.question(id).rounded and not self.question(id).open)

    def _in_language(self, words: str | dict[str, str] | None, language: str) -> str:
        return in_language(words, language or self.language, self.language) if words else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The ids of the text questions, whose tables are lists of words."""
        return tuple(question.id for question in self.questions if question.hashed)

    @property
    def shares(self) -> dict[str, tuple[float, ...]]:
        """The expected shares of the answers to each question that states them, among those who are
        asked, by its id."""
        stated = {question.id: question.stated_shares for question in self.questions}
        return {id: shares for id, shares in stated.items() if shares is not None}


_PARTS: dict[str, type[Frozen]] = {
    "page": SurveyFrame,
    "section": QuestionSection,
    "matrix": QuestionMatrix,
    "privacy": Privacy,
    "people": Participation,
    "table": Table,
    "regression": Formula,
    "message": Group,
    "codes": Codes,
}


def is_of_interviews(path: str | Path) -> bool:
    """Return whether a file is a survey of interviews, in which a device in the hand randomizes."""
    try:
        return Path(path).suffix.lower() == ".toml" and INTERVIEWS in read_toml(path)
    except SurveyError:  # whoever reads the file says why
        return False


def survey_in(raw: Mapping[str, Any], folder: Path) -> Survey:
    """Return the survey with the content of a TOML file in a folder, where files of options are
    looked up.

    Raises SurveyError with every mistake at once.
    """
    filled, missing = with_options(raw, folder)
    try:
        survey = Survey.of(filled)
    except SurveyError as error:
        raise SurveyError(*missing, *error.problems) from None
    if missing:
        raise SurveyError(*missing)
    return survey


def worded(survey: Survey, language: str) -> Survey:
    """Return a survey with only one wording of each question and answer, for display: that of a
    language if there is one, otherwise that of the survey's language."""

    def text(words: str | dict[str, str] | None) -> str | None:
        return in_language(words, language, survey.language) if words else None

    questions = tuple(
        each.model_copy(
            update={
                "text": text(each.text),
                "labels": each.labels and {a: text(words) for a, words in each.labels.items()},
            }
        )
        for each in survey.questions
    )
    return survey.model_copy(update={"questions": questions})
