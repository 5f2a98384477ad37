"""Certificates in the background: the plan of the values on the screen, in a process of its own."""

from __future__ import annotations

import math
from decimal import Decimal
from hashlib import sha256
from typing import NamedTuple

from incrowd.catalog.sentences import Sentence, localized, sentence
from incrowd.guarantees.strength import strength
from incrowd.number_text import bound
from incrowd.planner.search import SearchProgress
from incrowd.plans import Guarantee, Outline, Plan
from incrowd.plans.plan import check_promised, is_promised
from incrowd.presentation.guarantee_text import (
    guess_sentence,
    promise_sentence,
    strength_words,
    warnings,
)
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Project
from incrowd.studio.respondent_words import PromiseWords
from incrowd.studio.work import Job
from incrowd.survey import Survey


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
    nothing is left. strength, guess: how strong it is, and what that leaves to a guess. empty:
    whether it is practically no protection. doubts: warnings about it. experts: one sentence, only
    of a certified plan. services: whether services add noise.
    """

    respondents: tuple[str, ...]
    shuffler_fails: str
    epsilon: str
    delta: str
    local_epsilon: str
    chance: Phrase
    strength: Sentence
    guess: Sentence
    empty: bool
    doubts: tuple[Sentence, ...]
    experts: Sentence | None = None
    services: bool = False


def promise(
    outline: Outline, guarantee: Guarantee, language: str, *, certified: bool
) -> PlanPromise:
    """Return what respondents will read, from the texts of the survey page.

    guarantee: that of a certified plan; otherwise what the survey requests.
    """
    words, people = PromiseWords(outline, guarantee, language), outline.survey.crowd
    cells = any(message.cells for message in outline.messages) if certified else True
    local, promised = guarantee.local_epsilon, is_promised(guarantee.analysis)
    word = strength(guarantee, people)
    return PlanPromise(
        respondents=words.sentences() if promised else (),
        shuffler_fails=words.if_both_work_together(cells),
        services=outline.by_services,
        epsilon=localized(bound(guarantee.epsilon), language),
        delta=localized(bound(guarantee.delta), language),
        local_epsilon="" if local == math.inf else localized(bound(local), language),
        chance=one_in(outline.survey.privacy.delta),
        strength=strength_words(word),
        guess=guess_sentence(guarantee.epsilon, guarantee.delta),
        empty=promised and word == "practically-none",
        doubts=warned(outline, guarantee) if promised else (),
        experts=promise_sentence(guarantee) if certified else None,
    )


def warned(outline: Outline, guarantee: Guarantee) -> tuple[Sentence, ...]:
    """Return the warnings about a guarantee and the precision, as sentences of their own."""
    from incrowd.planner.forecast import forecast
    from incrowd.presentation.advice import of_hardly_anybody, of_no_use, without_cells

    expected = forecast(outline)
    texts = [*warnings(guarantee, outline.survey.crowd), *of_no_use(outline, expected)]
    texts += [*of_hardly_anybody(expected), *without_cells(outline)]
    return tuple(sentence("promises.warning", text=text) for text in texts)


def one_in(delta: float) -> Phrase:
    """Return a small chance in words, rounded up."""
    return phrase("1 in {number}", number=int(1 / Decimal(repr(delta))))
