"""The common parts of all pages of the studio: projects, jobs, and the frame around the content."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from incrowd.catalog.sentences import in_words, sentence, system_words
from incrowd.characters import typed
from incrowd.errors import IncrowdError, Problem, UsageError
from incrowd.presentation.shell import templates
from incrowd.studio.language import LANGUAGES, day, in_language, moment, phrase, preferred
from incrowd.studio.projects import ConflictError, Project, Projects
from incrowd.studio.work import Jobs, fault

LANGUAGE_COOKIE = "incrowd-studio-language"
# The steps of a survey: the last part of the address, and the name of the step.
STEPS = (
    ("design", phrase("Design")),
    ("precision", phrase("Precision and privacy")),
    ("publish", phrase("Publish")),
    ("watch", phrase("Watch")),
    ("results", phrase("Results")),
)
INTERVIEW_STEPS = (
    ("interview", phrase("Design")),
    ("kit", phrase("Kit")),
    ("answers", phrase("Read")),
    ("report", phrase("Report")),
)


class ElsewhereError(UsageError):
    """A page is for another kind of survey than the project has. project: the project."""

    project: Project


@dataclass(frozen=True)
class Studio:
    """One run of the studio."""

    projects: Projects
    jobs: Jobs

    def any_project(self, request: Request) -> Project:
        """Return the project that the address names. Raises UsageError if there is none."""
        return self.projects.open(request.path_params["name"])

    def project(self, request: Request) -> Project:
        """Return the project, whose answers are collected. Raises ElsewhereError for one of
        interviews, in which a device in the person's hand randomizes the answers."""
        project = self.any_project(request)
        return _checked(project, not project.has_interviews, "studio.has-interviews")

    def interviews(self, request: Request) -> Project:
        """Return the project of interviews. Raises ElsewhereError for another one."""
        project = self.any_project(request)
        return _checked(project, project.has_interviews, "studio.no-interviews")


def _checked(project: Project, belongs: bool, code: str) -> Project:
    if not belongs:
        error = ElsewhereError(Problem("survey", code))
        error.project = project
        raise error
    return project


StudioHandler = Callable[[Studio, Request], Awaitable[Response]]


def route(studio: Studio, path: str, handler: StudioHandler, *, methods: tuple[str, ...]) -> Route:
    """Return a route whose errors are shown as text, never as a traceback."""

    async def handling(request: Request) -> Response:
        try:
            return await handler(studio, request)
        except ElsewhereError as error:
            if request.method == "GET" and not is_fragment(request):
                return render(request, "elsewhere.html", project=error.project)
            return error_response(request, error)
        except (IncrowdError, OSError) as error:
            return error_response(request, error)
        except HTTPException as error:  # a form that cannot be read, or is too long
            return error_response(request, unread(error), status=error.status_code)
        except Exception as error:  # a fault of ours: it is named, and the studio goes on
            if os.environ.get("INCROWD_DEBUG"):
                raise
            return error_response(request, fault(error), status=500)

    return Route(path, handling, methods=list(methods))


def unread(error: HTTPException) -> UsageError:
    """Return the error for an unreadable form."""
    reason = str(error.detail).rstrip(".").lower()
    return UsageError(Problem("form", "studio.unread-form", reason=reason))


MOST_FIELDS = 100_000  # of a form: expected shares of 300 questions are several thousand
# Fields that have to match a file of answers or a comment, whatever characters are in it.
EXACT = re.compile(r"(code|was)(\.[0-9]+)?|missing|comment")
TOML_FIELD = "toml"


async def form_of(request: Request) -> FormData:
    """Return the form of a request, with texts as a person typed them (`typed`)."""
    form = await request.form(max_fields=MOST_FIELDS)
    return FormData([(name, _typed(name, each)) for name, each in form.multi_items()])


def _typed(name: str, value: UploadFile | str) -> UploadFile | str:
    if not isinstance(value, str) or EXACT.fullmatch(name):
        return value
    if name == TOML_FIELD:  # tabs stay
        return "\t".join(map(typed, value.split("\t")))
    return typed(value)


def expected_version(form: FormData) -> str:
    """Return the version of the survey that an edit in a form is made for.

    A form has the version that its fields were filled from (`seen`). A script adds the version that
    later edits of the same window made of it (`at`). After a conflict, a button has the version
    that the person has been shown (`insist`).
    """
    return str(form.get("insist") or form.get("at") or form.get("seen", ""))


def with_version(response: Response, version: str) -> Response:
    """Return the response with the version that later edits of the window are made for."""
    response.headers["Survey-Version"] = version
    return response


def texts(form: FormData) -> dict[str, str]:
    """Return the fields of a form that are text."""
    return {name: value for name, value in form.items() if isinstance(value, str)}


def chosen_file(form: FormData) -> UploadFile:
    """Return the file of a form. Raises UsageError if none was chosen."""
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise UsageError.of("file", "studio.no-file")
    return file


def language_of(request: Request) -> str:
    """Return the language of the studio: the chosen one, or the browser's."""
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    return preferred(request.headers.get("accept-language", ""))


def render(request: Request, template: str, *, status: int = 200, **parts: Any) -> Response:
    """Return a page or a fragment of one, from a template.

    Templates have `_` for texts, `language`, `languages`, `steps`, `path`, `lines_of` for the
    problems of an error, `date` for days, `moment` for days with a time, and `back`, the address of
    the page, beside their parts.
    """
    language, project = language_of(request), parts.get("project")
    of_interviews = isinstance(project, Project) and project.has_interviews
    html = (
        templates(__package__)
        .get_template(template)
        .render(
            parts
            | {
                "_": partial(_translate, language),
                "language": language,
                "languages": LANGUAGES,
                "steps": INTERVIEW_STEPS if of_interviews else STEPS,
                "path": request.url.path,
                "lines_of": partial(lines, language=language),
                "date": partial(day, language=language),
                "moment": partial(moment, language=language),
                "back": _page_address(request),
            }
        )
    )
    return HTMLResponse(html, status)


def _page_address(request: Request) -> str:
    """Return the address under which a browser gets the page; for a form that was sent, of its
    step."""
    path, query = request.url.path, request.url.query
    if request.method == "GET":
        return f"{path}?{query}" if query else path
    return "/".join(path.split("/")[:4]) if path.startswith("/p/") else "/"


def _translate(language: str, text: Any, /, **values: Any) -> str:
    return in_language(text, language, **values)


def error_response(request: Request, error: Exception, status: int = 422) -> Response:
    """Return an error as a page, or as an alert for the page that sent the request."""
    problems = lines(error, language_of(request))
    status = 409 if isinstance(error, ConflictError) else status
    template = "problems.html" if is_fragment(request) else "error.html"
    return render(request, template, status=status, problems=problems)


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def lines(error: Exception, language: str) -> tuple[str, ...]:
    """Return every problem of an error, as text in a language."""
    if isinstance(error, IncrowdError):
        return tuple(problem.text(language) for problem in error.problems)
    if not isinstance(error, OSError):
        return (str(error),)
    reason = system_words(error)
    if error.errno in _FULL:
        text = sentence("studio.disk-full", reason=reason)
    elif error.errno in _FORBIDDEN:
        text = sentence("studio.not-permitted", reason=reason)
    else:
        text = sentence("studio.file-error", reason=reason)
    place = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return (f"{place}{in_words(text, language)}",)


def is_fragment(request: Request) -> bool:
    """Return whether the response replaces a part of the page that sent the request."""
    return "hx-request" in request.headers
