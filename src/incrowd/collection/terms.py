"""The terms of a collection, from its TOML file, and what follows from them for a bundle."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from incrowd.collection.protocol.bundle import Bundle, reserve_of
from incrowd.errors import IncrowdError, IncrowdWarning, UsageError
from incrowd.plans import Plan
from incrowd.plans.strata import strata
from incrowd.survey import Survey
from incrowd.survey.reasons import known_keys, wording
from incrowd.survey.toml import read_toml
from incrowd.survey.words import look_alike_warnings

MISSPELLED = "extra_forbidden"  # of pydantic

EVERYBODY = "all"  # the only stratum if no question is open


class Terms(BaseModel):
    """The terms that every collection states; the fields are those of the bundle.

    title, language, questions (text by id): by default those of the survey; a question without a
    text in the survey needs one here. colluding, strata: by default as in the survey.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str | None = None
    introduction: str = ""
    language: str | None = None
    questions: dict[str, str] = {}
    period: str
    opens: str
    closes: str
    disposes: str
    strata: tuple[str, ...] | None = None
    colluding: int | None = None
    reserve: int | None = None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the terms in a TOML file. Raises UsageError for missing or unknown fields."""
        try:
            return cls.model_validate(read_toml(path, "collection"))
        except ValidationError as error:
            raise _wrong(error, cls) from None


AnyBundle = TypeVar("AnyBundle", bound=Bundle)


def bundle_of(kind: type[AnyBundle], plan: Plan, terms: Terms, **given: Any) -> AnyBundle:
    """Return the bundle of a kind for a plan and terms.

    given: fields that do not follow from them. Raises UsageError if a field is invalid or a
    question has no text, and ProtocolError if the bundle contradicts itself.
    """
    survey = plan.survey
    stated = terms.model_dump(include=set(kind.model_fields) & set(type(terms).model_fields))
    reserve = reserve_of(plan) if terms.reserve is None else terms.reserve
    derived = {
        "plan": plan,
        "wording": _wording(survey, terms),
        "colluding": survey.colluding if terms.colluding is None else terms.colluding,
        "reserve": reserve,
        "strata": terms.strata or strata(survey) or (EVERYBODY,),
    }
    try:
        bundle = kind.model_validate(stated | derived | given)
    except ValidationError as error:
        raise _wrong(error, type(terms)) from None
    for line in look_alike_warnings((), bundle.strata if terms.strata else ()):
        warnings.warn(line, IncrowdWarning, stacklevel=3)
    return bundle


def _wording(survey: Survey, terms: Terms) -> dict[str, Any]:
    """Return the texts that people read: those of the terms, otherwise those of the survey."""
    language = terms.language or survey.language
    texts = {q.id: survey.text_of(q.id, language) for q in survey.questions if q.text}
    questions = texts | terms.questions
    for question in survey.questions:
        if question.id not in questions:
            raise UsageError.of(("questions", question.id), "collection.question-without-text")
    title, introduction = terms.title or survey.name, terms.introduction
    return {
        "language": language,
        "title": title,
        "introduction": introduction,
        "questions": questions,
    }


def _wrong(error: ValidationError, kind: type[Terms]) -> IncrowdError:
    first = min(error.errors(), key=lambda each: each["type"] != MISSPELLED)
    path, value = first["loc"], first["input"]
    if first["type"] == "missing":
        return UsageError.of(path, "collection.term-missing")
    is_misspelled = first["type"] == MISSPELLED
    reason = known_keys(*_misspelled(path, kind)) if is_misspelled else wording(first)
    return UsageError.of(path, "survey.unfit", value=value, reason=reason)


def _misspelled(path: Sequence[int | str], kind: type[BaseModel]) -> tuple[str, list[str]]:
    """Return the last key of a path, and those that are known in its table."""
    for key in path[:-1]:
        table = kind.model_fields[str(key)].annotation
        assert isinstance(table, type) and issubclass(table, BaseModel), "others take every key"
        kind = table
    return str(path[-1]), list(kind.model_fields)
