"""Surveys: the questions, the crowd, the wanted guarantee and the wanted tables. TOML in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError, model_validator

from incrowd import views
from incrowd.errors import SurveyError
from incrowd.survey.codes import Codes, with_codes
from incrowd.survey.formulas import Formula
from incrowd.survey.options_files import with_options
from incrowd.survey.problems import cross_problems, mistakes, right_problems
from incrowd.survey.question import MERGED
from incrowd.survey.toml import Frozen, read_toml
from incrowd.survey.words import hidden_problems, in_language, languages, with_labels
from incrowd.survey.written import Group, Privacy, Table, WrittenSurvey

SHOWN = 8  # questions, in one line


class Survey(views.Notebook, WrittenSurvey):
    """A survey whose parts are consistent. For its fields see `WrittenSurvey`."""

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

        Raises SurveyError with every mistake in the file at once.
        """
        return survey_in(read_toml(path), Path(path).parent)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Survey:
        """Create a survey from a mapping with the keys of the TOML file.

        Raises SurveyError with every mistake at once.
        """
        raw = with_labels(with_codes(raw))
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            wrong = mistakes(error, raw, cls, _PARTS)
            raise SurveyError(*wrong, *right_problems(raw, error), *hidden_problems(raw)) from None

    def codes_of(self, id: str) -> Codes:
        """The codes of a question in files of answers; empty if answers are written by name."""
        of_question = (codes for codes in self.codes if codes.question == id)
        return next(of_question, Codes(question=id))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the survey's texts, its main language first."""
        tags = {tag for question in self.questions for tag in languages(question)}
        return (self.language, *sorted(tags - {self.language}))

    def text_of(self, id: str, language: str = "") -> str:
        """The wording of a question, in the survey's language or another; or its id."""
        return self._in_language(self.question(id).text, language) or id

    def help_of(self, id: str, language: str = "") -> str:
        """The help text of a question, or ""."""
        return self._in_language(self.question(id).help, language)

    def label_of(self, id: str, answer: str, language: str = "") -> str:
        """The label of an answer, or the answer itself."""
        question = self.question(id)
        for name, answers in question.merged:
            if name == answer:
                labels = MERGED.join(self.label_of(id, each, language) for each in answers)
                return labels if name == MERGED.join(answers) else f"{name} ({labels})"
        return self._in_language((question.labels or {}).get(answer), language) or answer

    def answers_of(self, id: str, language: str = "") -> str:
        """The labels of all answers to a question, in one phrase."""
        return self.question(id).in_words(lambda answer: self.label_of(id, answer, language))

    def legend(self, *ids: str) -> tuple[str, ...]:
        """A line with wording and answers for each of these questions that has a text or labels,
        and one for each question of amounts, whose answers are edges."""
        worded = tuple(
            f"{id}: {self.text_of(id)} ({self.answers_of(id)})"
            for id in ids
            if self.question(id).text or self.question(id).labels
        )
        return (*worded, *self.rounding_lines(ids))

    def rounding_lines(self, ids: Iterable[str]) -> tuple[str, ...]:
        """A line for each of these questions whose answers are amounts."""
        rounding = "each amount was rounded at random to an edge; shares are of rounded amounts"
        return tuple(f"{id}: {rounding}" for id in self.rounded(ids))

    def rounded(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Those of some questions whose answers are amounts, rounded at random."""
        return tuple(id for id in ids if self.question(id).rounded and not self.question(id).open)

    def _in_language(self, words: str | dict[str, str] | None, language: str) -> str:
        return in_language(words, language or self.language, self.language) if words else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The ids of the text questions, whose tables are lists of words."""
        return tuple(question.id for question in self.questions if question.hashed)

    @property
    def shares(self) -> dict[str, tuple[float, ...]]:
        """The expected shares of the answers to each question that states them, by its id."""
        stated = {question.id: question.stated_shares for question in self.questions}
        return {id: shares for id, shares in stated.items() if shares is not None}


_PARTS: dict[str, type[Frozen]] = {
    "privacy": Privacy,
    "table": Table,
    "regression": Formula,
    "message": Group,
    "codes": Codes,
}


def survey_in(raw: Mapping[str, Any], folder: Path) -> Survey:
    """The survey with the content of a TOML file in a folder, where files of options are looked up.

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
