"""Both kinds of noise side by side: how precise the tables of a survey are, whom people trust."""

from __future__ import annotations

import json
from typing import NamedTuple

from incrowd.errors import IncrowdError, Problem, SurveyError
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.planner.search import SearchProgress
from incrowd.studio.interval_figures import points, rounded
from incrowd.studio.language import Phrase, phrase
from incrowd.survey import Survey
from incrowd.survey.problems import derived_crowd
from incrowd.survey.written import LEAST

KINDS = ("devices", "services")


class NoiseKind(NamedTuple):
    """One kind of noise, certified: the largest error of a table, the smallest effective sample.

    problems: why the survey cannot have this kind; error and effective are then 0.
    """

    kind: str
    error: float
    effective: float
    problems: tuple[Problem, ...] = ()


def noise_kinds(progress: SearchProgress, survey: Survey) -> tuple[NoiseKind, ...]:
    """Return both kinds for a survey. Work of a job."""
    return tuple(_certified(progress, survey, kind) for kind in KINDS)


def with_noise(survey: Survey, kind: str) -> Survey:
    """Return the survey with a kind of noise. Raises SurveyError if it does not fit."""
    changes: dict[str, object] = {"noise": kind}
    if kind == "devices":
        changes["service_epsilon"] = None
        survey = survey.model_copy(update={"least": LEAST})
    privacy = survey.privacy.model_copy(update=changes)
    changed = survey.model_copy(update={"privacy": privacy})
    content = json.loads(changed.model_dump_json(by_alias=True))
    if survey.people:
        content["people"] = survey.people.model_dump()
        if _follows(survey):
            del content["crowd"]  # which follows from who is invited, and from who adds the noise
    return Survey.of(content)


def _follows(survey: Survey) -> bool:
    """Return whether the crowd of a survey is the one that follows from who is invited."""
    try:
        return survey.crowd == derived_crowd(survey)
    except SurveyError:
        return False


def _certified(progress: SearchProgress, survey: Survey, kind: str) -> NoiseKind:
    from incrowd.planner.outlook import outlook  # in the process of the job: slow to load
    from incrowd.planner.plan import make_plan

    try:
        of_kind = with_noise(survey, kind)
        plan = make_plan(of_kind, (), progress)
    except IncrowdError as impossible:
        return NoiseKind(kind, 0.0, 0.0, impossible.problems)
    tables = [each.forecast for each in outlook(plan, of_kind.expected_answers).tables]
    error = max(each.standard_error for each in tables)
    return NoiseKind(kind, error, min(each.effective_sample_size for each in tables))


class ShownKind(NamedTuple):
    """A kind as the page shows it. margin: in points, "" if it is impossible."""

    kind: str
    name: Phrase
    trusted: Phrase
    margin: str
    people: int
    problems: tuple[Problem, ...]


NAMES = {"devices": phrase("the devices"), "services": phrase("two services")}
TRUSTED = {
    "devices": phrase(
        "The shuffler mixes and forgets who sent what, and enough honest people take part. "
        "Otherwise, only the noise of the device is left."
    ),
    "services": phrase(
        "The shuffler and the collector do not work together. Otherwise, nothing is left: they can "
        "read every answer. Any number of people will do."
    ),
}


def shown(kinds: tuple[NoiseKind, ...], language: str) -> tuple[ShownKind, ...]:
    """Return both kinds in words and figures."""
    return tuple(
        ShownKind(
            each.kind,
            NAMES[each.kind],
            TRUSTED[each.kind],
            "" if each.problems else points(HALF_WIDTH * each.error, language),
            rounded(each.effective),
            each.problems,
        )
        for each in kinds
    )
