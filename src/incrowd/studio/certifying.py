"""Certificates in the background: the plan of the values on the screen, in a process of its own."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from incrowd.accountant.analyses import analysis
from incrowd.catalog.sentences import localized
from incrowd.collection import page
from incrowd.number_text import bound, factor
from incrowd.planner.search import SearchProgress
from incrowd.plans import Plan
from incrowd.plans.plan import check_promised, is_promised
from incrowd.presentation.guarantee_text import promise_sentence
from incrowd.studio.language import Phrase, in_language, phrase
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Project
from incrowd.studio.publication import needs_no_crowd
from incrowd.studio.work import Job
from incrowd.survey import Survey

COUNTS = phrase("whoever counts the answers")


def certified_plan(progress: SearchProgress, survey: Survey) -> Plan:
    """Return the plan that the command `plan` makes of a survey.

    Raises UsageError if its analysis is not a guarantee.
    """
    from incrowd.planner.plan import make_plan

    check_promised(survey.privacy.analysis, "privacy.analysis")
    return make_plan(survey, (), progress)


def certified_crowd(progress: SearchProgress, survey: Survey, margin: float) -> Plan:
    """Return the plan with the smallest crowd that reaches a margin. Raises as above."""
    from incrowd.planner.solving import solve

    check_promised(survey.privacy.analysis, "privacy.analysis")
    return solve(survey, "crowd", margin=margin, progress=progress)


def content(survey: Survey) -> str:
    """Return the content of a survey, on which its plan depends, as plans write it."""
    return survey.model_dump_json(by_alias=True)


def digest(survey: Survey) -> str:
    """Return a short name of a survey's content, by which a page asks for its certificate."""
    return sha256(content(survey).encode()).hexdigest()[:16]


def values(survey: Survey) -> str:
    """Return a short name of everything that the tables of a survey depend on: also of who is
    invited."""
    return sha256(f"{content(survey)} {survey.people!r}".encode()).hexdigest()[:16]


def inputs(survey: Survey) -> str:
    """Return a short name of everything that a needed number of people depends on: of all but the
    people."""
    people = survey.people and (survey.people.expected, survey.people.groups)
    others = survey.model_copy(update={"crowd": 0})
    return sha256(f"{content(others)} {people!r}".encode()).hexdigest()[:16]


def certify(studio: Studio, project: Project, survey: Survey) -> Job:
    """Start certifying a survey unless that is running or done; an earlier job is stopped."""
    survey = survey.as_planned
    job = studio.jobs.get((project.path, "certify"))
    if job and job.state in ("running", "done") and job.arguments == (survey,):
        return job
    return studio.jobs.start((project.path, "certify"), certified_plan, survey)


def certificate(studio: Studio, project: Project, survey_digest: str) -> Job | None:
    """Return the job that certifies the survey with a digest; None if another one was started
    since."""
    job = studio.jobs.get((project.path, "certify"))
    return job if job and digest(job.arguments[0]) == survey_digest else None


def certified(studio: Studio, project: Project, survey: Survey) -> Plan | None:
    """Return the plan of exactly this survey, if the page of precision has just certified it."""
    job = certificate(studio, project, digest(survey))
    return job.result if job and job.state == "done" else None


class PlanPromise(NamedTuple):
    """The guarantee in words. respondents: the texts of the survey page, in the page's language.

    They are empty if the result of the analysis is not a guarantee. shuffler_fails: what is left if
    the shuffler fails, or works with the collector; "" without a shuffler. local_epsilon: "" if
    nothing is left. experts: one English sentence, only of a certified plan. services: whether
    services add noise.
    """

    respondents: tuple[str, ...]
    shuffler_fails: str
    epsilon: str
    delta: str
    local_epsilon: str
    chance: Phrase
    experts: str = ""
    services: bool = False


def promise(survey: Survey, local_epsilon: float, language: str, plan: Plan | None) -> PlanPromise:
    """Return what respondents will read, from the texts of the survey page.

    local_epsilon: the local epsilon of everything that a person sends, rounded up; infinite if
    services add noise. plan: once it is certified.
    """
    texts, privacy = _texts_of_the_survey_page(language), survey.privacy
    shuffled = analysis(privacy.analysis).shuffled
    cells = any(message.cells for message in plan.messages) if plan else True
    crowd = survey.honest if plan is None or plan.guarantee.crowd is None else plan.guarantee.crowd
    values = {
        "factor": localized(factor(privacy.epsilon), language),
        "delta": localized(f"{Decimal(bound(privacy.delta)):f}", language),
        "crowd": localized(f"{crowd:,}", language),
    }
    services = local_epsilon == math.inf
    left = {"collector": in_language(COUNTS, language)}
    left |= {} if services else {"factor": localized(factor(local_epsilon), language)}
    colluding = texts["colluding" if survey.colluding else "no_colluding"]
    rests = {**values, "colluding": colluding.format(colluding=survey.colluding)}
    sentences: tuple[str, ...] = (
        texts["promise"].format(**values),
        texts["promise_rests"].format(**rests),
    )
    if services:
        alone = needs_no_crowd(survey, plan)
        rest = "promise_rests_services" if alone else "promise_rests_services_crowd"
        sentences = (texts["added"], sentences[0], texts[rest].format(**rests))
        if privacy.service_epsilon:
            more = {"factor": localized(factor(privacy.service_epsilon), language)}
            sentences = (*sentences[:2], texts["promise_service"].format(**more), sentences[2])
    if not shuffled:
        sentences = (texts["promise_local"].format(**values),)
    return PlanPromise(
        respondents=sentences if is_promised(privacy.analysis) else (),
        shuffler_fails=texts[_fails(cells, services)].format(**left) if shuffled else "",
        services=services,
        epsilon=localized(bound(privacy.epsilon), language),
        delta=bound(privacy.delta),
        local_epsilon="" if services else localized(bound(local_epsilon), language),
        chance=one_in(privacy.delta),
        experts=promise_sentence(plan.guarantee) if plan else "",
    )


@cache
def _texts_of_the_survey_page(language: str) -> dict[str, str]:
    """Return the texts of the survey page, read without loading the protocol."""
    file = files(page) / "strings" / f"{language}.json"
    texts: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return texts


def _fails(cells: bool, services: bool) -> str:
    if services:
        return "cheat_both_added"
    return "cheat_both_pieces" if cells else "cheat_both"


def one_in(delta: float) -> Phrase:
    """Return a small chance in words, rounded up."""
    return phrase("1 in {number}", number=int(1 / Decimal(repr(delta))))
