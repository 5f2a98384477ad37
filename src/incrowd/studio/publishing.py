"""The page on which a survey is published: certify, choose who runs what, go through the steps."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.catalog.sentences import Sentence
from incrowd.collection.handover import confirm_delivery
from incrowd.collection.machine import system
from incrowd.collection.protocol.addresses import BY_HAND, Link, is_by_hand, short
from incrowd.collection.protocol.bundle import MOST_BYTES as MOST_BUNDLE_BYTES
from incrowd.collection.taking import RELEASE_FILE, STATEMENT_FILE
from incrowd.errors import IncrowdError, UsageError
from incrowd.guarantees.strength import strength
from incrowd.number_text import bound
from incrowd.plans import Guarantee, Outline, Plan
from incrowd.plans.plan import is_promised
from incrowd.plans.strata import strata
from incrowd.presentation.guarantee_text import (
    against_sentence,
    promise_sentence,
    strength_sentence,
)
from incrowd.studio.certifying import certified, warned
from incrowd.studio.evidence import (
    CARD,
    LAST,
    PACKAGE,
    PAGE,
    STATES,
    WAITS,
    WIZARD,
    PlanFileState,
    bundle_of,
    group_of,
    plan_file,
    public_lines,
    steps,
    wizard,
)
from incrowd.studio.expected_people import doubt
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.own_services import (
    confirmations,
    handed_file,
    handed_over,
    hosted_role,
    is_hosted,
    last_lines,
    open_releases,
    start_service,
    stop_service,
    take_release,
)
from incrowd.studio.packages import local_port
from incrowd.studio.pages import (
    Studio,
    chosen_file,
    form_of,
    is_fragment,
    language_of,
    lines,
    render,
    route,
    texts,
)
from incrowd.studio.preparation import certify, perform, take_bundle, zipped
from incrowd.studio.projects import ConflictError, Project
from incrowd.studio.publication import (
    FILE,
    FOLDERS,
    NAMES,
    SERVICES,
    Here,
    Publication,
    ServiceRole,
    by_services,
    load_publication,
    needed_people,
    needs_no_crowd,
    organizations,
    parsed,
    problems_of,
    promise_of,
    save_publication,
    unprotected,
)
from incrowd.studio.published_versions import versions_of
from incrowd.studio.work import is_running
from incrowd.survey import Survey

DROPPED = "bundle.json"  # where a colleague's bundle can be put by hand
AT_ONCE = 0.4  # seconds to wait for a job before the page is shown
TABLES = {"organization": "organizations", "address": "addresses", "key": "keys"}
KEYS = ("collector", "first", "second", "second_configuration")
TIMES = ("opens", "closes", "disposes")
HAND, NETWORK = "hand", "network"  # how the release reaches the collector
ELSEWHERE, WITH_SERVICE = "elsewhere", "service"  # who hosts the survey page
USUAL_TIME = timedelta(days=21)  # between opening and closing
CARD_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"


class WorkDivision(NamedTuple):
    """One way to divide the work. values: the values of the fields `mixers` and `here`."""

    id: str
    title: Phrase
    text: Phrase
    mixers: int
    here: Here


CHOICES = (
    WorkDivision(
        "shuffler",
        phrase("One shuffler: a colleague elsewhere"),
        phrase(
            "A colleague at another organization invites people, receives sealed reports, "
            "and mixes them. You open them."
        ),
        1,
        "collector",
    ),
    WorkDivision(
        "mixers",
        phrase("Two mixers and an inviter"),
        phrase(
            "Three other organizations share this work. You need not trust any single one of them."
        ),
        2,
        "collector",
    ),
    WorkDivision(
        "both",
        phrase("Everything in one organization"),
        phrase(
            "You run the shuffler and the collector. You could then link every report to its "
            "sender. Only the local guarantee remains."
        ),
        1,
        "both",
    ),
)
WITH_SERVICES = {  # texts of the same choices if services add noise
    "shuffler": phrase(
        "A colleague at another organization invites people, receives sealed reports, adds "
        "invented ones, and mixes them. You open them and add noise to the counts."
    ),
    "mixers": phrase(
        "Not possible for this survey: with two mixers, services cannot add noise. Choose the "
        "devices in the design instead."
    ),
    "both": phrase(
        "You run the shuffler and the collector. You could then read every answer. Only readers of "
        "the results are kept from it."
    ),
}
ROLES: dict[Here, Phrase] = {
    "collector": phrase("Collector: opens and counts the reports"),
    "shuffler": phrase("Shuffler: invites, receives, and mixes"),
    "inviter": phrase("Inviter: invites people and creates the bundle"),
    "first": phrase("First mixer: receives the uploads"),
    "second": phrase("Second mixer: mixes once more"),
}
ROLES_OF: dict[int, tuple[Here, ...]] = {
    1: ("collector", "shuffler"),
    2: ("collector", "inviter", "first", "second"),
}


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    base = "/p/{name}/publish"
    return [
        route(studio, base, show, methods=("GET",)),
        route(studio, f"{base}/plan", show_plan, methods=("GET",)),
        route(studio, f"{base}/plan", start_plan, methods=("POST",)),
        route(studio, f"{base}/plan/stop", stop_plan, methods=("POST",)),
        route(studio, f"{base}/choices", choose, methods=("POST",)),
        route(studio, f"{base}/bundle", upload_bundle, methods=("POST",)),
        route(studio, f"{base}/do/{{step}}", do_step, methods=("POST",)),
        route(studio, f"{base}/files/{{folder}}.zip", download, methods=("GET",)),
        route(studio, f"{base}/files/{CARD}", show_card, methods=("GET",)),
        route(studio, f"{base}/run/{{service}}", run_service, methods=("POST",)),
        route(studio, f"{base}/release", upload_release, methods=("POST",)),
        route(studio, f"{base}/handover/{{service}}/{{file}}", hand_over, methods=("GET",)),
        route(studio, f"{base}/confirm/{{service}}", confirm, methods=("POST",)),
    ]


async def show(studio: Studio, request: Request) -> Response:
    """Return the page."""
    return await _page(studio, request)


async def _page(
    studio: Studio,
    request: Request,
    *,
    status: int = 200,
    step: str = "",
    values: Mapping[str, str] | None = None,
    mistakes: tuple[str, ...] = (),
    failure: tuple[str, ...] = (),
) -> Response:
    """Return the page. step: the one in view; by default the first that is not done. values,
    mistakes: those of a form that could not be saved. failure: the failure of a step."""
    project = studio.project(request)
    parts = await asyncio.to_thread(page_parts, project)
    if values is not None and "values" in parts:
        parts["values"] |= values
    step = step or request.query_params.get("step", "")
    if step in WIZARD or "current" not in parts:
        parts["current"] = step
    opening = studio.jobs.get((project.path, "open"))
    parts |= {"opening": opening, "is_opening": is_running(opening)}
    job = studio.jobs.get((project.path, "plan"))
    parts |= {"mistakes": mistakes, "failure": failure, "job": job, "running": is_running(job)}
    parts["versions"] = await asyncio.to_thread(versions_of, studio.projects, project)
    return render(request, "publish.html", status=status, **parts)


def page_parts(project: Project) -> dict[str, Any]:
    """Return the parts of the page, from the files of the project."""
    parts: dict[str, Any] = {"project": project, "survey": None, "problem": None, "unread": None}
    try:
        survey = project.survey()
    except IncrowdError as error:
        return parts | {"problem": error}
    try:
        publication, version = load_publication(project)
    except IncrowdError as error:
        return parts | {"survey": survey, "unread": error}
    planned = plan_file(project, survey)
    parts |= {
        "survey": survey,
        "planned": planned,
        "publication": publication,
        "version": version,
        "values": defaults(publication, survey, system()) | values_of(publication),
        "choices": choices(by_services(survey, planned.plan)),
        "roles": ROLES,
        "roles_of": ROLES_OF,
        "names": NAMES,
        "states": STATES,
        "waits": WAITS,
        "languages_of_survey": survey.languages,
        "promises": _promises(planned, publication),
        "unprotected": [*unprotected(publication, survey, planned.plan)],
        "doubts": _doubts(survey, planned),
        "folders": FOLDERS,
        "package": PACKAGE,
        "page_folder": PAGE,
        "now": system(),
        "least": needed_people(survey, planned.plan),
        "needs_no_crowd": needs_no_crowd(survey, planned.plan),
        "groups": len(strata(survey)),
        "by_hand": is_by_hand(publication.addresses.get("collector", "")),
    }
    return parts | _checklist(project, publication, planned)


def _checklist(
    project: Project, publication: Publication, planned: PlanFileState
) -> dict[str, Any]:
    """Return the steps and the facts about the bundle; a broken bundle is reported on the page."""
    survey = project.survey()
    try:
        bundle = bundle_of(project, publication)
        listed, broken = steps(project, survey, publication, planned), None
    except IncrowdError as error:
        return {
            "wizard": wizard((), False),
            "current": "certify",
            "bundle": None,
            "broken": error,
            "stale_bundle": False,
        }
    page = publication.survey_page
    link = str(Link(page or bundle.link_address, bundle.digest)) if bundle else ""
    lines = {
        step.id: public_lines(project, service)
        for step in listed
        for service in step.who
        if step.id in ("first-key", "second-key")
        and step.here
        and step.state == "done"
        and not bundle
    }
    chosen = (project.path / FILE).exists()
    shown = wizard(listed, chosen)
    return {
        "wizard": shown,
        "current": next((each.id for each in shown if each.state != "done"), LAST),
        "services": [_hosted(project, publication, service) for service in publication.mine],
        "codes": confirmations(project) if "collector" in publication.mine else (),
        "missing": problems_of(publication, survey, planned.plan) if chosen else [],
        "bundle": bundle,
        "broken": broken,
        "link": link,
        "short": short(bundle.digest) if bundle else "",
        "stale_bundle": bool(bundle and planned.plan and bundle.plan.digest != planned.plan.digest),
        "dropped": bundle is None and (project.path / DROPPED).exists(),
        "lines": lines,
        "packages": [
            service
            for service in publication.theirs
            if (project.path / f"{PACKAGE}{FOLDERS[service]}").is_dir()
        ],
    }


class OwnService(NamedTuple):
    """A service that this person runs. here: whether its address is on this machine.

    lines: those that it wrote last. files: those for the collector.
    """

    service: ServiceRole
    address: str
    here: bool
    is_running: bool
    lines: str
    files: tuple[str, ...]


def _hosted(project: Project, publication: Publication, service: ServiceRole) -> OwnService:
    return OwnService(
        service,
        publication.addresses.get(service, ""),
        local_port(publication, service) is not None,
        is_hosted(project, service),
        last_lines(project, service),
        tuple(file.name for file in handed_over(project, service)),
    )


class DivisionPromise(NamedTuple):
    """The promise of a choice, in words, and who could learn more."""

    sentence: Sentence
    against: Sentence
    epsilon: str
    strength: Sentence
    empty: bool


def _promises(planned: PlanFileState, publication: Publication) -> dict[str, DivisionPromise]:
    """Return the promise of each choice; none without a plan, or if its analysis is not a
    guarantee."""
    if planned.plan is None or not is_promised(planned.plan.guarantee.analysis):
        return {}
    possible = (each for each in CHOICES if each.mixers == 1 or not planned.plan.by_services)
    return {each.id: _promise(planned.plan, publication, each) for each in possible}


def _doubts(survey: Survey, planned: PlanFileState) -> tuple[Sentence | Phrase, ...]:
    """Return the warnings about the plan's guarantee, and about results of no use if as many people
    answer as expected; none if there is no guarantee."""
    from incrowd.planner.outlook import outlook  # slow to load

    if planned.plan is None or not is_promised(planned.plan.guarantee.analysis):
        return ()
    plan = planned.plan
    tables = plan.survey.model_copy(update={"regressions": ()})
    people = survey.expected_answers if planned.state == "current" else None
    of_no_use = doubt(outlook(Outline(survey=tables, messages=plan.messages), people))
    return (*warned(plan, plan.guarantee), *([of_no_use] if of_no_use else []))


def _promise(plan: Plan, publication: Publication, choice: WorkDivision) -> DivisionPromise:
    update = {"mixers": choice.mixers, "here": choice.here}
    imagined = publication.model_copy(update=update)
    guarantee = promise_of(plan, imagined)
    named = organizations(imagined) if choice.mixers == 2 else None
    against = against_sentence(guarantee, named)
    word = strength(guarantee, plan.survey.crowd)
    return DivisionPromise(
        promise_sentence(guarantee),
        against,
        _epsilon(guarantee),
        strength_sentence(guarantee, plan.survey.crowd),
        empty=word == "practically-none",
    )


def _epsilon(guarantee: Guarantee) -> str:
    """Return the largest epsilon of a party that acts alone, rounded up; "" if nothing is left."""
    most = max(guarantee.epsilon, guarantee.service_epsilon or 0.0)
    return "" if most == math.inf else bound(most)


def choices(services: bool) -> tuple[WorkDivision, ...]:
    """Return the ways to divide the work. services: whether services add noise."""
    if not services:
        return CHOICES
    return tuple(each._replace(text=WITH_SERVICES[each.id]) for each in CHOICES)


def choice_of(publication: Publication) -> WorkDivision:
    """Return the choice that a publication states."""
    if publication.mixers == 2:
        return CHOICES[1]
    return CHOICES[2 if publication.local_only else 0]


def values_of(publication: Publication) -> dict[str, str]:
    """Return the values of the form's fields that were chosen, as text."""
    values = {
        "choice": choice_of(publication).id,
        "here-1": publication.here,
        "here-2": publication.here,
        "survey_page": publication.survey_page,
        "language": publication.language,
        "introduction": publication.introduction,
        "period": publication.period,
        "invitations": str(publication.invitations or ""),
    }
    values |= {name: getattr(publication, name).removesuffix("Z") for name in TIMES}
    for prefix, table in TABLES.items():
        values |= {f"{prefix}-{name}": text for name, text in getattr(publication, table).items()}
    addresses = publication.addresses
    if addresses.get("collector"):
        values["reach"] = HAND if is_by_hand(addresses["collector"]) else NETWORK
    if publication.page_at_service:
        values["page"] = WITH_SERVICE
    elif publication.survey_page:
        hosted = publication.survey_page == addresses.get(publication.maker)
        values["page"] = WITH_SERVICE if hosted else ELSEWHERE
    return {name: text for name, text in values.items() if text}


def defaults(publication: Publication, survey: Survey, now: datetime) -> dict[str, str]:
    """Return what the form proposes for fields that are not chosen yet: it opens now, closes in
    three weeks, and its release is handed over as a file."""
    values = {"reach": HAND, "page": ELSEWHERE, "language": survey.language}
    if not publication.opens and not publication.closes:
        values["opens"] = f"{now:%Y-%m-%dT%H:%M:00}"
        values["closes"] = f"{now + USUAL_TIME:%Y-%m-%dT%H:00:00}"
    if survey.people and not publication.invitations:
        values["invitations"] = str(survey.people.invited)
    return values


def fields_of(form: Mapping[str, str], before: Publication | None = None) -> dict[str, Any]:
    """Return the values of a publication, of which the fields of a form are changed.

    before: the publication that is changed; by default none was chosen. Raises UsageError for no
    number.
    """
    fields: dict[str, Any] = (before or Publication()).model_dump()
    for name in ("survey_page", "language", "introduction", "period", "zone"):
        if name in form:
            fields[name] = form[name].strip()
    fields |= {name: _time(form[name].strip()) for name in TIMES if name in form}
    if "choice" in form:
        choice = next((each for each in CHOICES if each.id == form["choice"]), CHOICES[0])
        role = form.get(f"here-{choice.mixers}", "")
        fields |= {"mixers": choice.mixers, "here": choice.here}
        if choice.here == "collector" and role in ROLES_OF[choice.mixers]:
            fields["here"] = role
    if "invitations" in form:
        invited = form["invitations"].replace(",", "").strip() or "0"
        if not invited.isdecimal() or len(invited) > 9:
            raise UsageError.of("invitations", "studio.not-a-number-of-people", value=invited)
        fields["invitations"] = int(invited)
    allowed: dict[str, tuple[str, ...]] = {
        "organization": tuple(NAMES),
        "address": tuple(NAMES),
        "key": KEYS,
    }
    for prefix, table in TABLES.items():
        given = {
            name: form[f"{prefix}-{name}"].strip()
            for name in allowed[prefix]
            if f"{prefix}-{name}" in form
        }
        merged = fields[table] | given
        fields[table] = {name: text for name, text in merged.items() if text}
    fields |= _ways(form, fields)
    if not fields["period"] and fields["opens"] and fields["closes"]:
        fields["period"] = f"{fields['opens'][:10]} – {fields['closes'][:10]}"
    return fields


def _ways(form: Mapping[str, str], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the addresses that follow from the ways of delivery and of hosting in a form."""
    addresses = dict(fields["addresses"])
    if form.get("reach") == HAND:
        addresses["collector"] = BY_HAND
    page, hosted = fields["survey_page"], fields["page_at_service"]
    if "page" in form:
        hosted = form["page"] == WITH_SERVICE
    if hosted:
        page = addresses.get(SERVICES[fields["mixers"]][0], "")
    return {"addresses": addresses, "survey_page": page, "page_at_service": hosted}


def _time(text: str) -> str:
    """Return a time as bundles write it, from that of a field, which has minutes or seconds."""
    if not text:
        return ""
    seconds = ":00" if text.count(":") == 1 else ""
    return text if text.endswith("Z") else f"{text}{seconds}Z"


async def choose(studio: Studio, request: Request) -> Response:
    """Save the choices of a form, and go to another step. After an error, the page keeps them as
    typed."""
    project = studio.project(request)
    typed = texts(await form_of(request))
    step = typed.get("step", "")
    try:
        before, _ = await asyncio.to_thread(load_publication, project)
        publication = parsed(fields_of(typed, before))
        await asyncio.to_thread(save_publication, project, publication, typed.get("version", ""))
    except ConflictError as error:  # what was typed stays; to save it again replaces the other
        typed.pop("version", None)
        mistakes = lines(error, language_of(request))
        return await _page(studio, request, status=409, step=step, values=typed, mistakes=mistakes)
    except (IncrowdError, OSError) as error:
        mistakes = lines(error, language_of(request))
        return await _page(studio, request, status=422, step=step, values=typed, mistakes=mistakes)
    to = typed.get("to", "")
    return _to(project, to if to in WIZARD else "")


def _to(project: Project, step: str) -> Response:
    """Return a redirection to a step; to the first that is not done if none is named."""
    return RedirectResponse(f"/p/{project.name}/publish{f'?step={step}' if step else ''}", 303)


async def start_plan(studio: Studio, request: Request) -> Response:
    """Start to certify the survey; a plan that the page of precision has certified is written."""
    project = studio.project(request)
    survey = await asyncio.to_thread(project.survey)  # fail at once, with every mistake
    arguments = (certify, project.path, certified(studio, project, survey))
    job = await asyncio.to_thread(studio.jobs.start, (project.path, "plan"), *arguments)
    await asyncio.to_thread(job.ended.wait, AT_ONCE)
    if is_fragment(request):  # what was typed in the choices, and not saved, stays
        return await show_plan(studio, request)
    return _to(project, "certify")


async def stop_plan(studio: Studio, request: Request) -> Response:
    """Stop certifying."""
    project = studio.project(request)
    if job := studio.jobs.get((project.path, "plan")):
        job.stop()
    return _to(project, "certify")


async def show_plan(studio: Studio, request: Request) -> Response:
    """Return the part of the page about the plan; with the steps when the job has ended."""
    project = studio.project(request)
    job = studio.jobs.get((project.path, "plan"))
    running = is_running(job)
    parts = await asyncio.to_thread(page_parts, project)
    parts |= {"job": job, "running": running}
    return render(request, "publish_plan_swap.html", **parts)


async def do_step(studio: Studio, request: Request) -> Response:
    """Carry out a step, then show the steps."""
    project, step = studio.project(request), request.path_params["step"]
    if step == "plan":
        return await start_plan(studio, request)
    try:
        await asyncio.to_thread(perform, project, step, language_of(request))
    except (IncrowdError, OSError) as error:
        failure = lines(error, language_of(request))
        return await _page(studio, request, status=422, step=group_of(step), failure=failure)
    return _to(project, group_of(step))


async def upload_bundle(studio: Studio, request: Request) -> Response:
    """Install the bundle that a colleague sent, or that is in the folder of the project."""
    project = studio.project(request)
    publication, _ = await asyncio.to_thread(load_publication, project)
    async with request.form() as form:
        file = form.get("file")
        data = b""
        if isinstance(file, UploadFile):
            data = await file.read(MOST_BUNDLE_BYTES + 1)
        elif form.get("dropped"):
            data = await asyncio.to_thread((project.path / DROPPED).read_bytes)
    try:
        await asyncio.to_thread(take_bundle, project, publication, data)
    except (IncrowdError, OSError) as error:
        failure = lines(error, language_of(request))
        return await _page(studio, request, status=422, step=group_of("bundle"), failure=failure)
    return _to(project, group_of("bundle"))


async def download(studio: Studio, request: Request) -> Response:
    """Return the package for a colleague, or that of the survey page, as one archive."""
    project, name = studio.project(request), request.path_params["folder"]
    data = await asyncio.to_thread(zipped, project, name, language_of(request))
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return Response(data, media_type="application/zip", headers=headers)


async def show_card(studio: Studio, request: Request) -> Response:
    """Return the guarantee card, to be looked at or to be saved."""
    project = studio.project(request)
    data = await asyncio.to_thread((project.path / CARD).read_bytes)
    headers = {"Content-Security-Policy": CARD_POLICY}
    if request.query_params.get("save"):
        headers["Content-Disposition"] = f'attachment; filename="{CARD}"'
    return Response(data, media_type="text/html", headers=headers)


def _own_role(project: Project, request: Request) -> tuple[Publication, ServiceRole]:
    """Return the publication, and the service in the address."""
    publication, _ = load_publication(project)
    return publication, hosted_role(publication, request.path_params["service"])


async def run_service(studio: Studio, request: Request) -> Response:
    """Start a service on this machine, or stop it."""
    project, typed = studio.project(request), texts(await form_of(request))
    publication, service = await asyncio.to_thread(_own_role, project, request)
    try:
        if typed.get("stop"):
            await asyncio.to_thread(stop_service, project, service)
        else:
            await asyncio.to_thread(start_service, project, publication, service)
    except (IncrowdError, OSError) as error:
        failure = lines(error, language_of(request))
        return await _page(studio, request, status=422, step=LAST, failure=failure)
    return _to(project, LAST)


async def upload_release(studio: Studio, request: Request) -> Response:
    """Store a release that a colleague sent as a file, and begin to open it."""
    project = studio.project(request)
    try:
        async with request.form() as form:
            await asyncio.to_thread(_store_release, project, chosen_file(form))
    except (IncrowdError, OSError) as error:
        failure = lines(error, language_of(request))
        return await _page(studio, request, status=422, step=LAST, failure=failure)
    key = (project.path, "open")
    job = await asyncio.to_thread(studio.jobs.start, key, open_releases, project.path)
    await asyncio.to_thread(job.ended.wait, AT_ONCE)
    return _to(project, LAST)


def _store_release(project: Project, file: UploadFile) -> None:
    """Store an uploaded file as if it had been posted to the collector."""
    with TemporaryDirectory(prefix="release-", dir=project.hidden) as folder:
        ending = STATEMENT_FILE if Path(file.filename or "").suffix == STATEMENT_FILE else ""
        copy = Path(folder) / f"arrived{ending or RELEASE_FILE}"
        with copy.open("wb") as target:
            shutil.copyfileobj(file.file, target)
        take_release(project, copy)


async def hand_over(studio: Studio, request: Request) -> Response:
    """Return a file that a service here has written for the collector."""
    project, name = studio.project(request), request.path_params["file"]
    _, service = await asyncio.to_thread(_own_role, project, request)
    file = await asyncio.to_thread(handed_file, project, service, name)
    return FileResponse(file, media_type="application/octet-stream", filename=name)


async def confirm(studio: Studio, request: Request) -> Response:
    """Confirm that the collector has what a service here handed over."""
    project, typed = studio.project(request), texts(await form_of(request))
    _, service = await asyncio.to_thread(_own_role, project, request)
    folder = project.path / FOLDERS[service]
    try:
        await asyncio.to_thread(confirm_delivery, folder, typed.get("code", ""))
    except (IncrowdError, OSError) as error:
        failure = lines(error, language_of(request))
        return await _page(studio, request, status=422, step=LAST, failure=failure)
    return _to(project, LAST)
