"""The page of the rehearsal: start it, follow it, stop it, and see what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.collection.rehearsal import FEWEST
from incrowd.errors import IncrowdError, UsageError
from incrowd.studio import rehearsal
from incrowd.studio.language import LANGUAGES, decimal, phrase
from incrowd.studio.pages import Studio, form_of, language_of, lines, render, route, texts
from incrowd.studio.projects import Project
from incrowd.studio.publication import load_publication, needs_no_crowd
from incrowd.studio.sources import REHEARSAL, sources
from incrowd.studio.titles import CROSS, answer_title, table_title, titles_of
from incrowd.studio.work import Job, is_running
from incrowd.survey import Survey

JOB = "rehearsal"
SHORT_WAIT = 0.2


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    base = "/p/{name}/publish/rehearsal"
    return [
        route(studio, base, show, methods=("GET",)),
        route(studio, base, start, methods=("POST",)),
        route(studio, f"{base}/state", show_state, methods=("GET",)),
        route(studio, f"{base}/go-on", go_on, methods=("POST",)),
        route(studio, f"{base}/stop", stop, methods=("POST",)),
    ]


async def show(studio: Studio, request: Request) -> Response:
    """Return the page."""
    return await _page(studio, request, "rehearse.html")


async def show_state(studio: Studio, request: Request) -> Response:
    """Return the part of the page that changes while a rehearsal runs."""
    return await _page(studio, request, "rehearse_state.html")


async def _page(
    studio: Studio,
    request: Request,
    template: str,
    *,
    status: int = 200,
    values: dict[str, str] | None = None,
    mistakes: tuple[str, ...] = (),
) -> Response:
    project = studio.project(request)
    parts = await asyncio.to_thread(_parts, project)
    job = studio.jobs.get((project.path, JOB))
    parts |= {
        "job": job,
        "running": is_running(job),
        "percent": lambda share: percent(share, language_of(request)),
        "titles": titles_of(survey, language_of(request)) if (survey := parts["survey"]) else {},
        "table_title": table_title,
        "answers_title": partial(answers_title, survey, language_of(request)),
        "mistakes": mistakes,
    }
    parts |= _progress(job)
    if values is not None:
        parts["values"] = values
    return render(request, template, status=status, **parts)


def _parts(project: Project) -> dict[str, Any]:
    """Return the parts of the page, from the files of the project."""
    parts: dict[str, Any] = {"project": project, "survey": None, "problem": None, "summary": None}
    try:
        survey = project.survey()
    except IncrowdError as error:
        return parts | {"problem": error}
    try:
        mixers = load_publication(project)[0].mixers
    except IncrowdError:
        mixers = 1
    values = {"people": str(rehearsal.usual_people(survey)), "mixers": str(mixers)}
    return parts | {
        "survey": survey,
        "needs_no_crowd": needs_no_crowd(survey),
        "fewest": fewest(survey),
        "most": rehearsal.MOST_PEOPLE,
        "values": values,
        "summary": summary(project),
        "source": next((each.name for each in sources(project) if each.kind == REHEARSAL), ""),
    }


def summary(project: Project) -> dict[str, Any] | None:
    """Return what the last rehearsal wrote; None if there is none that can be read."""
    path = project.path / rehearsal.FOLDER / rehearsal.SUMMARY
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for table in facts["tables"] for cell in table["cells"]]
        facts["inside"] = sum(cell["low"] <= cell["truth"] <= cell["high"] for cell in cells)
        facts["cells"] = len(cells)
        facts["seen"] = {language: facts["seen"][language] for language in LANGUAGES}
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return facts


def answers_title(
    survey: Survey | None, language: str, ids: Sequence[str], answers: Sequence[str]
) -> str:
    """Return what people read for the answers of a cell, or the answers themselves if the survey
    has no such questions any longer."""
    there = {each.id for each in survey.questions} if survey else set()
    return CROSS.join(
        answer_title(survey, id, answer, language) if survey and id in there else answer
        for id, answer in zip(ids, answers, strict=True)
    )


def percent(share: float, language: str) -> str:
    """Return a share in percent, with the decimal mark of the language."""
    return decimal(100 * share, 1, language).replace("-", "−")


_STAGES = {
    rehearsal.PLANNING: phrase("Planning for this number of people, and creating the keys"),
    rehearsal.WAITING: phrase("The invented people have sent; the collection is waiting for you"),
    rehearsal.OPENING: phrase(
        "Everyone has sent; the reports are being mixed, released, and opened"
    ),
    rehearsal.COUNTING: phrase("Estimating, and comparing with the invented answers"),
}


def _progress(job: Job | None) -> dict[str, Any]:
    """Return the stage in words, the numbers of people who have sent and of all, and the link."""
    stage, *numbers = (job.progress if job else "").split()[:3] or [rehearsal.PLANNING]
    if stage == rehearsal.SENDING:
        sent, people = map(int, numbers)
        sending = phrase("{sent} of {people} people have sent", sent=sent, people=people)
        return {"stage": sending, "sent": sent, "people": people, "link": ""}
    link = numbers[0] if stage == rehearsal.WAITING else ""
    words = _STAGES.get(stage, _STAGES[rehearsal.PLANNING])
    return {"stage": words, "sent": 0, "people": 0, "link": link}


async def start(studio: Studio, request: Request) -> Response:
    """Start a rehearsal; one that runs is stopped. After an error, the page keeps the input."""
    project = studio.project(request)
    typed = texts(await form_of(request))
    try:
        survey = await asyncio.to_thread(project.survey)
        people, mixers = chosen(typed, survey)
    except IncrowdError as error:
        values = {"people": typed.get("people", ""), "mixers": typed.get("mixers", "1")}
        mistakes = lines(error, language_of(request))
        return await _page(
            studio, request, "rehearse.html", status=422, values=values, mistakes=mistakes
        )
    joining = typed.get("joining") == "yes"
    arguments = ((project.path, JOB), rehearsal.run, project.path, people, mixers, joining)
    job = await asyncio.to_thread(studio.jobs.start, *arguments)
    await asyncio.to_thread(job.ended.wait, SHORT_WAIT)
    return _back(project)


def fewest(survey: Survey) -> int:
    """Return the fewest people of a rehearsal, or of a stratum of it."""
    return survey.least if needs_no_crowd(survey) else FEWEST


def chosen(typed: dict[str, str], survey: Survey) -> tuple[int, Literal[1, 2]]:
    """Return the number of people and of mixers. Raises UsageError."""
    text = typed.get("people", "").strip()
    least, most = fewest(survey), rehearsal.MOST_PEOPLE
    if not text.isdecimal() or not least <= int(text[:9]) <= most:
        code = "studio.rehearsed-people"
        raise UsageError.of("people", code, value=text, least=least, most=most)
    if typed.get("mixers") == "2" and needs_no_crowd(survey):
        raise UsageError.of(
            ("privacy", "noise"), "studio.mixers-add-nothing", noise=survey.privacy.noise
        )
    if typed.get("mixers") == "2" and survey.small_strata == "merge":
        raise UsageError.of("small_strata", "studio.rehearsal-merges", rule="merge")
    return int(text), 2 if typed.get("mixers") == "2" else 1


async def go_on(studio: Studio, request: Request) -> Response:
    """Continue the rehearsal without the person's own answers."""
    project = studio.project(request)
    folder = rehearsal.workplace(project)
    if folder.is_dir():
        await asyncio.to_thread((folder / rehearsal.GO_ON).touch)
    return _back(project)


async def stop(studio: Studio, request: Request) -> Response:
    """Stop the rehearsal: end its processes, and delete its files."""
    project = studio.project(request)
    if job := studio.jobs.get((project.path, JOB)):
        job.stop()
    return _back(project)


def _back(project: Project) -> Response:
    return RedirectResponse(f"/p/{project.name}/publish/rehearsal", 303)
