"""Precision against promise: what the tables of a survey will show, and what people are promised.

The page shows estimates from large-crowd formulas while a value changes, and saves the value when
the change is complete. The plan for the same values is certified in the background, and then
replaces the estimate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.catalog.sentences import localized
from incrowd.errors import IncrowdError, UsageError
from incrowd.guarantees.strength import is_practically_none
from incrowd.plans import Plan
from incrowd.studio.chosen_values import (
    PEOPLE,
    number,
    share_faults,
    share_fields,
    share_operations,
    stratum_fields,
    typed_values,
    value_operations,
)
from incrowd.studio.document import Operation, SurveyDocument, changed
from incrowd.studio.language import Phrase, decimal, phrase
from incrowd.studio.pages import (
    Studio,
    error_response,
    expected_version,
    form_of,
    is_fragment,
    language_of,
    lines,
    render,
    route,
    with_version,
)
from incrowd.studio.projects import ConflictError, Project
from incrowd.studio.published_versions import versions_of
from incrowd.studio.titles import QuestionTitles, table_title, titles_in, titles_of
from incrowd.studio.what_if import compared, mergeable, operation_of
from incrowd.studio.work import Job, is_running
from incrowd.survey import Survey
from incrowd.survey.participation import answers_for
from incrowd.survey.surveys import survey_in

PageParts = dict[str, Any]
PATH = "/p/{name}/precision"
WAIT = 30.0  # seconds for a certificate, if the page has no script
MOST_MARGIN = 50.0  # points


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    return [
        route(studio, PATH, show, methods=("GET",)),
        route(studio, PATH, redraw, methods=("POST",)),
        route(studio, f"{PATH}/keep", keep, methods=("POST",)),
        route(studio, f"{PATH}/undo", undo, methods=("POST",)),
        route(studio, f"{PATH}/certify", begin, methods=("POST",)),
        route(studio, f"{PATH}/certificate", poll, methods=("GET",)),
        route(studio, f"{PATH}/stop", stop, methods=("POST",)),
        route(studio, f"{PATH}/people", people, methods=("POST",)),
        route(studio, f"{PATH}/people", poll_people, methods=("GET",)),
        route(studio, f"{PATH}/noise", compare_noise, methods=("POST",)),
        route(studio, f"{PATH}/noise", poll_noise, methods=("GET",)),
        route(studio, f"{PATH}/what-if", compare, methods=("POST",)),
        route(studio, f"{PATH}/apply", apply, methods=("POST",)),
    ]


class Screen(NamedTuple):
    """The content of a page: a project, and the values as typed.

    shown: the document that the fields of the page were filled from. now: the file.
    """

    project: Project
    shown: SurveyDocument
    now: SurveyDocument
    typed: dict[str, str]

    def operations(self, kind: str | None = None, chosen: Sequence[str] = ()) -> list[Operation]:
        """Return the operations of the typed values, and of another change. Raises UsageError."""
        content = self.shown.content
        typed = [*value_operations(content, self.typed), *share_operations(content, self.typed)]
        if kind is None:
            return typed
        return [*typed, operation_of(changed(content, *typed), kind, chosen)]

    def survey(self, operations: Sequence[Operation] | None = None) -> Survey:
        """Return the survey in the file after some operations, or with the typed values.

        Raises SurveyError or UsageError.
        """
        edits = self.operations() if operations is None else operations
        return survey_in(changed(self.now.content, *edits), self.project.path)


def screen(project: Project, form: Mapping[str, Any] | None = None) -> Screen:
    """Return the screen of a project. form: what was sent, with the values as typed.

    What was typed differs from what the page showed first, whatever the file has become since; if
    that version is no longer there, from the file. Raises SurveyError if the file has mistakes:
    what is typed here could not correct them.
    """
    project.current_version()  # is kept from now on
    now = project.document()
    survey_in(now.content, project.path)
    if form is None:
        return Screen(project, now, now, typed_values(now.content))

    def version(name: str) -> SurveyDocument:
        seen = str(form.get(name, ""))
        return now if seen == now.version else project.seen(seen) or now

    # Edits of this window have written what its fields hold: a value that returns to the first one
    # differs from them.
    first = version("seen")
    shown = version("at") if form.get("at") else first
    typed = typed_values(shown.content)
    typed |= {name: str(form[name]) for name in typed if name in form}
    stated_since = PEOPLE in shown.content and PEOPLE not in first.content
    if stated_since and typed["crowd"] == typed_values(first.content)["crowd"]:
        typed["crowd"] = ""  # it follows from who is invited
    return Screen(project, shown, now, typed)


async def show(studio: Studio, request: Request) -> Response:
    """Return the page with the values of the file."""
    project = studio.project(request)
    try:
        shown = await asyncio.to_thread(screen, project)
    except IncrowdError as error:
        return _mistaken(request, project, error)
    return await _page(studio, request, shown)


def _mistaken(request: Request, project: Project, error: Exception) -> Response:
    """Return the response for a survey with mistakes: only the mistakes are shown."""
    template = "precision_figures.html" if is_fragment(request) else "precision_unreadable.html"
    problems = lines(error, language_of(request))
    parts: PageParts = {"project": project, "problems": problems, "digest": "", "job": None}
    parts |= {"inputs": "", "values": "", "from_data": {}}
    return render(request, template, status=422, **parts)


async def redraw(studio: Studio, request: Request) -> Response:
    """Return the figures for the typed values; nothing is saved."""
    project, form = studio.project(request), await form_of(request)
    try:
        shown = await asyncio.to_thread(screen, project, form)
    except IncrowdError as error:
        return _mistaken(request, project, error)
    if not is_fragment(request):
        return await _page(studio, request, shown)
    return await _figures(studio, request, shown)


async def _figures(studio: Studio, request: Request, shown: Screen) -> Response:
    """Return the fragment with all figures, which are certified if their plan exists."""
    parts = await asyncio.to_thread(_parts, studio, shown, language_of(request))
    status = 422 if parts["problems"] else 200
    return render(request, "precision_figures.html", status=status, **parts)


def _parts(studio: Studio, shown: Screen, language: str) -> PageParts:
    """Return the parts of the fragment with all figures; of a mistaken survey, its problems."""
    # Here, so that the studio starts without loading what plans.
    from incrowd.guarantees.certified import requested
    from incrowd.planner.outlook import outlook
    from incrowd.planner.plan import limit_outline
    from incrowd.plans import Outline
    from incrowd.studio.certifying import certificate, digest, inputs, promise, values
    from incrowd.studio.data_shares import data_shares, share_hints, with_data_shares
    from incrowd.studio.expected_people import people_summary
    from incrowd.studio.interval_figures import figures

    parts: PageParts = {"project": shown.project, "problems": (), "job": None, "digest": ""}
    parts |= {"inputs": "", "values": "", "from_data": {}}
    try:
        survey = shown.survey()
        parts["digest"] = digest(survey)
        job = certificate(studio, shown.project, parts["digest"])
        plan = job.result if job and job.state == "done" else None
        parts["job"] = job if plan else None
        parts |= {"inputs": inputs(survey), "values": values(survey)}
        outline = plan or limit_outline(survey)
        guarantee = plan.guarantee if plan else requested(survey, outline.messages)
        shares = data_shares(shown.project, survey)
        in_charts = with_data_shares(outline.survey, shares)
        charts = Outline(survey=in_charts, messages=outline.messages)
        seen = outlook(charts, survey.expected_answers)
    except IncrowdError as error:
        return parts | {"problems": lines(error, language)}
    return parts | {
        "from_data": share_hints(shown.shown.content, shares),
        "questions_of_data": ", ".join(titles_of(survey, language)[id] for id in shares),
        "faults": share_faults(shown.shown.content, shown.typed),
        "summary": people_summary(survey, seen, language, plan),
        "figures": figures(survey, seen, language),
        "promise": promise(outline, guarantee, language, certified=plan is not None),
        "certified": plan is not None,
        "census": survey.census,
        "analysis": survey.privacy.analysis,
        "people": localized(f"{seen.answers.people:,}", language),
        "reports": decimal(seen.reports, 1, language),
    }


async def _page(
    studio: Studio,
    request: Request,
    shown: Screen,
    *,
    problem: Exception | None = None,
    status: int = 200,
    **answers: Any,
) -> Response:
    """Return the whole page. problem: why something was not done. answers: to questions on the
    page."""
    parts = await asyncio.to_thread(_parts, studio, shown, language_of(request))
    return render(
        request,
        "precision.html",
        status=status,
        **parts,
        versions=await asyncio.to_thread(versions_of, studio.projects, shown.project),
        typed=shown.typed,
        seen=shown.shown.version,
        shares=share_fields(shown.shown.content),
        strata=stratum_fields(shown.shown.content),
        groups=any(shown.typed.get(name) for name, _ in stratum_fields(shown.shown.content)),
        questions=_questions(shown.shown.content),
        titles=titles_in(shown.shown.content),
        pair=_pair(shown.shown.content),
        failed=lines(problem, language_of(request)) if problem else (),
        again=answers.get("again"),
        answer=answers.get("answer"),
        comparison=answers.get("comparison"),
        margin=answers.get("margin", "2"),
        saved="kept" in request.query_params,
    )


def _questions(raw: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the ids of all questions that are randomized, and the options that can be merged."""
    return [
        (str(question.get("id", "")), options if len(options := mergeable(question)) > 2 else ())
        for question in raw.get("question", ())
        if not question.get("open")
    ]


def _pair(raw: Mapping[str, Any]) -> tuple[str, str]:
    """Return the first two questions whose table is not requested yet; empty if there are none."""
    ids = [id for id, _ in _questions(raw)]
    requested = [set(table.get("questions", ())) for table in raw.get("table", ())]
    pairs = (pair for pair in combinations(ids, 2) if set(pair) not in requested)
    return next(pairs, ("", ""))


async def keep(studio: Studio, request: Request) -> Response:
    """Save the values in the survey. After an error, the page keeps them as typed."""
    form = await form_of(request)
    shown = await asyncio.to_thread(screen, studio.project(request), form)
    return await _save(studio, request, shown, form)


async def undo(studio: Studio, request: Request) -> Response:
    """Undo the last change of the survey, and show the page again."""
    project, form = studio.project(request), await form_of(request)
    await asyncio.to_thread(project.undo, expected_version(form))
    return RedirectResponse(f"/p/{project.name}/precision", 303)


async def _save(
    studio: Studio,
    request: Request,
    shown: Screen,
    form: FormData,
    kind: str = "",
    chosen: Sequence[str] = (),
) -> Response:
    """Save the typed values and a change, if the result is a valid survey; otherwise show why it
    does not."""

    def save() -> SurveyDocument:
        edits = shown.operations(kind or None, chosen)
        shown.survey(edits)
        return shown.project.change(*edits, expected=expected_version(form)).after

    try:
        saved = await asyncio.to_thread(save)
    except ConflictError as error:
        again = ProposedChange(kind, tuple(chosen), at=error.version)
        if is_fragment(request):
            failed = lines(error, language_of(request))
            parts: PageParts = {"project": shown.project, "failed": failed, "again": again}
            return render(request, "precision_conflict.html", status=409, **parts)
        return await _page(studio, request, shown, problem=error, status=409, again=again)
    except (IncrowdError, OSError) as error:
        if is_fragment(request):
            return _mistaken(request, shown.project, error)
        return await _page(studio, request, shown, problem=error, status=422)
    if is_fragment(request):
        return with_version(await _figures(studio, request, shown), saved.version)
    return RedirectResponse(f"/p/{shown.project.name}/precision?kept=1", 303)


async def begin(studio: Studio, request: Request) -> Response:
    """Start certifying the typed values. Without a script, wait, and show the page."""
    from incrowd.studio.certifying import certify, digest

    shown = screen(studio.project(request), await form_of(request))
    survey = await asyncio.to_thread(shown.survey)
    job = await asyncio.to_thread(certify, studio, shown.project, survey)
    if not is_fragment(request):
        await asyncio.to_thread(job.ended.wait, WAIT)
        return await _page(studio, request, shown)
    parts: PageParts = {
        "project": shown.project,
        "digest": digest(survey),
        "job": job,
        "polling": True,
    }
    return render(request, "precision_certificate.html", **parts)


async def poll(studio: Studio, request: Request) -> Response:
    """Return the certified pictures, or why there are none; 204 while the job is running."""
    from incrowd.studio.certifying import certificate

    project, of = studio.project(request), request.query_params.get("of", "")
    job = await asyncio.to_thread(certificate, studio, project, of)
    if is_running(job):
        return Response(status_code=204)
    if job and job.state == "done":
        shown = screen(project, request.query_params)
        return await _figures(studio, request, shown)
    parts: PageParts = {"project": project, "digest": of, "job": job}
    response = render(request, "precision_certificate.html", **parts)
    response.headers["HX-Retarget"] = "#certificate"
    return response


async def stop(studio: Studio, request: Request) -> Response:
    """Stop certifying."""
    project = studio.project(request)
    job = studio.jobs.get((project.path, "certify"))
    if job:
        job.stop()
    if not is_fragment(request):
        return RedirectResponse(f"/p/{project.name}/precision", 303)
    return render(request, "precision_certificate.html", project=project, digest="", job=job)


class NeededCrowd(NamedTuple):
    """The answer to how many people are needed. certified: whether it is; error, stopped: why
    there is none. margin: in points, as typed. of: a short name of the values that it was computed
    from. invite: how many people to invite, if the survey states how many of them answer; 0 if it
    does not. groups: in how many groups so many people are needed each. empty: whether the
    guarantee is practically none.
    """

    margin: str
    number: int
    certified: bool
    of: str = ""
    invite: int = 0
    groups: int = 1
    error: Exception | None = None
    stopped: bool = False
    empty: bool = False


def margin_of(text: str) -> float:
    """Return a margin in points as a proportion. Raises UsageError."""
    points = number(text)
    if isinstance(points, str) or not 0 < points <= MOST_MARGIN:
        raise UsageError.of("margin", "studio.no-points", value=text)
    return points / 100


async def people(studio: Studio, request: Request) -> Response:
    """Estimate how many people a margin needs, and start certifying that number."""
    from incrowd.planner.solving import crowd_in_the_limit
    from incrowd.studio.certifying import certified_crowd

    shown = screen(studio.project(request), form := await form_of(request))
    text = str(form.get("margin", "2"))
    try:
        survey, margin = await asyncio.to_thread(shown.survey), margin_of(text)
        number = await asyncio.to_thread(crowd_in_the_limit, survey, margin=margin)
    except IncrowdError as error:
        if is_fragment(request):
            return error_response(request, error)
        return await _page(studio, request, shown, problem=error, status=422, margin=text)
    key = (shown.project.path, "people")
    job = await asyncio.to_thread(studio.jobs.start, key, certified_crowd, survey, margin)
    answer = _needed(text, number, survey)
    if is_fragment(request):
        return render(request, "precision_people.html", project=shown.project, answer=answer)
    await asyncio.to_thread(job.ended.wait, WAIT)
    return await _page(
        studio, request, shown, margin=text, answer=_certified_people(job, text) or answer
    )


async def poll_people(studio: Studio, request: Request) -> Response:
    """Return the certified number of people; 204 while the job is running."""
    project, text = studio.project(request), request.query_params.get("margin", "")
    from incrowd.studio.certifying import inputs

    job, of = studio.jobs.get((project.path, "people")), request.query_params.get("of", "")
    if job and inputs(job.arguments[0]) != of:  # another window has asked something else since
        job = None
    if is_running(job):
        return Response(status_code=204)
    answer = _certified_people(job, text) if job else None
    if answer is None:
        answer = NeededCrowd(text, 0, certified=False, of=of, stopped=True)
    return render(request, "precision_people.html", project=project, answer=answer)


def _certified_people(job: Job, text: str) -> NeededCrowd | None:
    """Return the certified answer of a job, or why there is none; None if it has not ended."""
    from incrowd.studio.certifying import inputs

    survey = job.arguments[0]
    if job.state == "done":
        plan: Plan = job.result
        answer = _needed(text, plan.survey.crowd, survey)
        empty = is_practically_none(plan.guarantee, plan.survey.crowd)
        return answer._replace(certified=True, empty=empty)
    if job.state == "failed":
        return NeededCrowd(text, 0, certified=False, of=inputs(survey), error=job.error)
    return None


def _needed(text: str, number: int, survey: Survey) -> NeededCrowd:
    """Return the answer for a number of people, in each group if there are several."""
    from incrowd.planner.outlook import of_the_crowd
    from incrowd.studio.certifying import inputs

    people, groups = survey.people, of_the_crowd(survey).groups
    invite = 0
    if people and not people.groups:
        services = survey.privacy.noise == "services"
        invite = groups * people.to_invite(number if services else answers_for(number))
    return NeededCrowd(
        text, number, certified=False, of=inputs(survey), invite=invite, groups=groups
    )


async def compare_noise(studio: Studio, request: Request) -> Response:
    """Start certifying the typed values with both kinds of noise."""
    from incrowd.studio.noise_kinds import noise_kinds

    screened = screen(studio.project(request), await form_of(request))
    survey = await asyncio.to_thread(screened.survey)
    key = (screened.project.path, "noise")
    job = studio.jobs.get(key)
    if job is None or job.arguments != (survey,) or job.state not in ("running", "done"):
        job = await asyncio.to_thread(studio.jobs.start, key, noise_kinds, survey)
    return _noise(studio, request, screened.project, job)


async def poll_noise(studio: Studio, request: Request) -> Response:
    """Return both kinds of noise, or that there is no comparison; 204 while the job is running."""
    from incrowd.studio.certifying import digest

    project = studio.project(request)
    job = studio.jobs.get((project.path, "noise"))
    if job is not None and digest(job.arguments[0]) != request.query_params.get("of"):
        job = None
    return Response(status_code=204) if is_running(job) else _noise(studio, request, project, job)


def _noise(studio: Studio, request: Request, project: Project, job: Job | None) -> Response:
    """Return the fragment with both kinds of noise."""
    from incrowd.studio.certifying import certified, digest
    from incrowd.studio.noise_kinds import shown

    parts: PageParts = {"project": project, "kinds": (), "failed": not is_running(job)}
    parts |= {"polling": is_running(job), "chosen": "", "digest": ""}
    if job is not None:
        survey = job.arguments[0]
        plan = certified(studio, project, survey)
        chosen = "services" if plan and plan.by_services else "devices"
        parts |= {"digest": digest(survey), "chosen": chosen if plan else ""}
        if job.state == "done":
            parts["kinds"] = shown(job.result, language_of(request))
    return render(request, "precision_noise.html", **parts)


class ProposedChange(NamedTuple):
    """A change of the survey: its kind, what was chosen, in words, and the compared tables.

    kind: "" if only the typed values change. of: a short name of the values that the tables were
    computed from.
    """

    kind: str
    chosen: tuple[str, ...]
    words: Phrase | str = ""
    rows: tuple[Any, ...] = ()
    at: str = ""
    of: str = ""


async def compare(studio: Studio, request: Request) -> Response:
    """Compare the tables of the survey before and after a change; nothing is saved."""
    shown = screen(studio.project(request), form := await form_of(request))
    kind, chosen = chosen_change(form)
    try:
        change = await asyncio.to_thread(_compared, shown, kind, chosen, language_of(request))
    except IncrowdError as error:
        if is_fragment(request):
            return error_response(request, error)
        return await _page(studio, request, shown, problem=error, status=422)
    if is_fragment(request):
        return render(request, "precision_what_if.html", project=shown.project, comparison=change)
    return await _page(studio, request, shown, comparison=change)


def chosen_change(form: FormData) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a change in a form, and what was chosen for it."""
    kind = str(form.get("kind", ""))
    chosen = tuple(str(each) for each in form.getlist(f"{kind}-chosen") if each)
    return kind, chosen


def _compared(shown: Screen, kind: str, chosen: tuple[str, ...], language: str) -> ProposedChange:
    from incrowd.planner.outlook import estimate
    from incrowd.studio.certifying import values
    from incrowd.studio.data_shares import charted

    now, after = shown.survey(), shown.survey(shown.operations(kind, chosen))
    titles = titles_of(now, language)
    before, then = (estimate(charted(shown.project, each)) for each in (now, after))
    rows = compared(before, then, language, titles)
    return ProposedChange(kind, chosen, _words(kind, chosen, titles), rows, of=values(now))


def _words(kind: str, chosen: tuple[str, ...], titles: QuestionTitles) -> Phrase:
    if kind == "table":
        return phrase("With the table {table}", table=table_title(chosen, titles))
    question = titles.get(chosen[0], chosen[0])
    if kind == "drop":
        return phrase("Without the question {question}", question=question)
    merged = " + ".join(chosen[1:])
    return phrase("With {answers} as one answer to {question}", answers=merged, question=question)


async def apply(studio: Studio, request: Request) -> Response:
    """Save a change of the survey, together with the typed values."""
    shown = screen(studio.project(request), form := await form_of(request))
    return await _save(studio, request, shown, form, *chosen_change(form))
