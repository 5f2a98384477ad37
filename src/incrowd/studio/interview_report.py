"""The report of interviews: shares, groups, tables, correlations, and regressions.

Every view is one address, with its choices in the query: it can be kept, and works without a
script.
"""

from __future__ import annotations

import asyncio
from functools import partial
from shlex import quote
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from incrowd.errors import IncrowdError, UsageError
from incrowd.interviews.answers import InterviewAnswers
from incrowd.presentation import layouts
from incrowd.presentation.pictures import Picture
from incrowd.studio.calculations import Cache
from incrowd.studio.exports import FORMATS, formats_of, picture_file, result_file
from incrowd.studio.interview_calls import ANALYSES, AnalysisChoice, InterviewCall, analysis_of
from incrowd.studio.interview_reading import known_answers
from incrowd.studio.names import within
from incrowd.studio.pages import Studio, language_of, lines, render, route
from incrowd.studio.projects import INTERVIEWS, Project
from incrowd.studio.sources import fingerprint
from incrowd.views import Result

PATH = "/p/{name}/report"


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the report."""
    cache = Cache()
    return [
        route(studio, PATH, partial(show, cache), methods=("GET",)),
        route(studio, f"{PATH}/file", partial(download, cache), methods=("GET",)),
        route(studio, f"{PATH}/picture", partial(picture, cache), methods=("GET",)),
    ]


class ReportedResult(NamedTuple):
    """A result, its view in a language, and its pictures."""

    result: Result
    view: Any
    pictures: tuple[Picture, ...]


async def show(cache: Cache, studio: Studio, request: Request) -> Response:
    """Return the page of a choice. Errors in the choice are shown beside it."""
    return await asyncio.to_thread(_page, cache, request, studio.interviews(request))


def _page(cache: Cache, request: Request, project: Project) -> Response:
    choice, language = analysis_of(request.query_params), language_of(request)
    parts: dict[str, Any] = {"answers": None, "outcome": None, "call": None}
    wrong: list[str] = []
    try:
        read = known_answers(cache, project)
        answers = parts["answers"] = read and read.answers
        if answers is not None and (call := choice.call) is not None:
            file = f"{choice.view}.html"
            command = call.command(file, language)
            parts["command"] = f"cd {quote(str(project.path))}\n{command}"
            parts["python"] = call.python()
            parts["outcome"] = _computed(cache, project, answers, call, language)
    except IncrowdError as error:
        wrong = [within(each, project.path).text(language) for each in error.problems]
    except OSError as error:
        wrong = [*lines(error, language)]
    return render(
        request,
        "interview_report.html",
        status=422 if wrong else 200,
        project=project,
        problems=wrong,
        choice=choice,
        analyses=ANALYSES,
        options=_options(parts["answers"], language),
        formats_of=formats_of,
        query=choice.query(),
        here=f"/p/{project.name}/report",
        **parts,
    )


class ReportOption(NamedTuple):
    """Something to choose: a question or an open column."""

    value: str
    label: str


def _options(
    answers: InterviewAnswers | None, language: str
) -> dict[str, tuple[ReportOption, ...]]:
    """Return what can be chosen for each kind of input."""
    if answers is None:
        return {}
    survey = answers.survey
    questions = tuple(
        ReportOption(each.id, survey.text_of(each.id, language)) for each in survey.items
    )
    columns = tuple(ReportOption(name, name) for name in answers.names)
    return {
        "question": questions,
        "questions": questions,
        "column": columns,
        "columns": columns,
        "both": (*questions, *columns),
    }


def _computed(
    cache: Cache, project: Project, answers: InterviewAnswers, call: InterviewCall, language: str
) -> ReportedResult:
    """Return a result; computed once for the answers, and drawn once for each language."""
    key = (fingerprint(project.survey_path), _typed(project), call)
    result = cache.computed(key, lambda: call.result(answers))
    return cache.computed((key, language), lambda: _drawn(result, language))  # type: ignore[no-any-return]


def _typed(project: Project) -> Any:
    typed = project.typed_answers or project.path / INTERVIEWS
    return fingerprint(typed)


def _drawn(result: Result, language: str) -> ReportedResult:
    from incrowd.presentation.pictures import pictures  # drawing is slow to import

    view = layouts.parts(result, language)["view"]
    return ReportedResult(result, view, tuple(pictures(result, language)))


# --- files ------------------------------------------------------------------------------------


async def download(cache: Cache, studio: Studio, request: Request) -> Response:
    """Return a result as a file: the bytes that the command writes."""
    ending = request.query_params.get("format", "")
    if ending not in FORMATS:
        raise UsageError.of("format", "shared.use-one-of", value=ending, choices=[*FORMATS])
    project = studio.interviews(request)
    choice, outcome = await asyncio.to_thread(_called, cache, request, project)
    stem = f"{project.name}-{choice.view}"
    return await asyncio.to_thread(result_file, outcome.result, ending, stem, language_of(request))


async def picture(cache: Cache, studio: Studio, request: Request) -> Response:
    """Return a picture of a result as a file."""
    project = studio.interviews(request)
    choice, outcome = await asyncio.to_thread(_called, cache, request, project)
    number, ending = request.query_params.get("number", "0"), request.query_params.get("format", "")
    stem = f"{project.name}-{choice.view}"
    return await asyncio.to_thread(
        picture_file, outcome.pictures, number, ending, stem, language_of(request)
    )


def _called(
    cache: Cache, request: Request, project: Project
) -> tuple[AnalysisChoice, ReportedResult]:
    """Return the result that an address names. Raises UsageError if something has to be chosen
    first."""
    choice, read = analysis_of(request.query_params), known_answers(cache, project)
    if read is None or (call := choice.call) is None:
        raise UsageError.of("choice", "studio.no-choice")
    return choice, _computed(cache, project, read.answers, call, language_of(request))
