"""The results of a project: tables, crosstabs, comparisons, correlations, regressions.

Every view is one address, with its choices in the query: it can be kept, and works without a
script.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.catalog.sentences import Sentence, translatable, translated
from incrowd.encoding.margins import load_margins
from incrowd.errors import IncrowdError, TableError, UsageError
from incrowd.estimation.readings import check_tables
from incrowd.methods import MethodOption
from incrowd.plans import Plan
from incrowd.plans.plan import in_other_words, with_merged
from incrowd.presentation import guarantee_text, layouts
from incrowd.presentation.pictures import Picture
from incrowd.presentation.receipts import invented_warning
from incrowd.reports.folder import ENDING
from incrowd.reports.tally_files import ENDING as TALLY
from incrowd.studio.calculations import Cache, CalculationOrder, computed
from incrowd.studio.calls import OPTION, Call, CallChoice, choice_of, views
from incrowd.studio.exports import FOR_READERS, FORMATS, formats_of, picture_file, result_file
from incrowd.studio.names import renamed, within
from incrowd.studio.pages import Studio, chosen_file, language_of, lines, render, route
from incrowd.studio.projects import Project
from incrowd.studio.sources import (
    MARGINS,
    MARGINS_ENDINGS,
    REHEARSAL,
    UNREAL,
    ReportSource,
    add_file,
    margins_files,
    plan_path,
    size,
    source,
    sources,
)
from incrowd.studio.titles import QuestionTitles, formula_title, titles_of
from incrowd.studio.work import Job
from incrowd.survey import AnyQuestion
from incrowd.survey.formulas import Formula
from incrowd.survey.merging import parsed_merges
from incrowd.survey.surveys import worded
from incrowd.views import Result

LARGE = 8 << 20  # bytes of reports that are counted in a process, so that it can be stopped
MOST_UPLOADED = 64 << 20  # bytes
INVENTED = "invented-"  # with which the files of results begin that are not of real people
MOST_PAIRS = 15  # questions whose pairs are all listed
_ONLY_COMMAND = ("reference", "scores", "predictor_scores", "merge")  # of a regression


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the results."""
    cache, path = Cache(), "/p/{name}/results"
    return [
        route(studio, path, partial(show, cache), methods=("GET",)),
        route(studio, f"{path}/file", partial(download, cache), methods=("GET",)),
        route(studio, f"{path}/picture", partial(picture, cache), methods=("GET",)),
        route(studio, f"{path}/reports", add_reports, methods=("POST",)),
        route(studio, f"{path}/margins", add_margins, methods=("POST",)),
        route(studio, f"{path}/stop", stop, methods=("POST",)),
        route(studio, f"{path}/again", partial(again, cache), methods=("POST",)),
    ]


class ResultFiles(NamedTuple):
    """The plan, with merged answers, and the files of a choice. reports: the path of its source."""

    plan: Plan
    plan_path: Path
    reports: Path


class ShownResult(NamedTuple):
    """A result and its pictures. worded: the same in the wording of a language. parts: the parts of
    the template that shows it."""

    result: Result
    worded: Result
    template: str
    parts: dict[str, Any]
    pictures: tuple[Picture, ...]


# --- the page ---------------------------------------------------------------------------------


async def show(cache: Cache, studio: Studio, request: Request) -> Response:
    """Return the page of a choice. Errors in the choice are shown beside it."""
    return await asyncio.to_thread(_page, cache, studio, request)


def _page(cache: Cache, studio: Studio, request: Request, problems: Sequence[str] = ()) -> Response:
    project, choice = studio.project(request), choice_of(request.query_params)
    every, language = sources(project), language_of(request)
    chosen = _chosen(every, choice.source)
    parts: dict[str, Any] = {
        "project": project,
        "choice": choice,
        "views": {view: method.label for view, method in views().items()},
        "method": choice.chosen,
        "sources": every,
        "chosen": chosen,
        "margins_files": margins_files(project),
        "options": None,
        "texts": (),
        "outcome": None,
        "work": None,
        "call": None,
        "formats_of": formats_of,
        "guarantee_text": guarantee_text,
        "unreal": UNREAL,
        "invented": chosen is not None and chosen.kind == REHEARSAL,
        "formula": choice.formula_text,
        "here": f"/p/{project.name}/results",
    }
    wrong = list(problems)
    try:
        if chosen:
            desk = _desk(project, chosen, choice)
            parts["options"] = _options(_worded(desk.plan, language), choice)
            parts["texts"] = desk.plan.survey.texts
            waits = choice.view == "correlate" and not choice.among and _uncrossed(desk.plan)
            if (call := choice.call) and not waits:
                parts |= _answered(cache, studio, project, chosen, desk, choice, call, language)
    except IncrowdError as error:
        # As the command says it, which runs in this folder.
        wrong += [within(each, project.path).text(language) for each in error.problems]
    except OSError as error:
        wrong += lines(error, language_of(request))
    status = 422 if wrong else 200
    return render(request, "results.html", status=status, problems=wrong, **parts)


def _answered(
    cache: Cache,
    studio: Studio,
    project: Project,
    chosen: ReportSource,
    desk: ResultFiles,
    choice: CallChoice,
    call: Call,
    language: str,
) -> dict[str, Any]:
    """Return the parts of a page with a result, or with the work that is going on."""
    order = _order(project, desk, call)
    work, result = _result(cache, studio, project, order)
    plan, reports = (str(path.relative_to(project.path)) for path in (desk.plan_path, desk.reports))
    file = f"{choice.view}.html"
    return {
        "work": work,
        "outcome": None if result is None else _outcome(cache, order, desk.plan, result, language),
        "command": f"cd {quote(str(project.path))}\n{call.command(plan, reports, file, language)}",
        "python": call.python(plan, reports, file, chosen.is_release, language),
        "toml": call.toml(),
    }


def _chosen(every: Sequence[ReportSource], name: str) -> ReportSource | None:
    """Return the chosen source, or the only one that can be used; real reports come before those
    of invented people."""
    if name:
        return next((each for each in every if each.name == name), None)
    usable = [each for each in every if not each.problem]
    real = [each for each in usable if each.kind not in UNREAL] or usable
    return real[0] if len(real) == 1 else None


def _desk(project: Project, chosen: ReportSource, choice: CallChoice) -> ResultFiles:
    if chosen.problem:
        raise UsageError(chosen.problem)
    path = plan_path(project, chosen)
    plan = Plan.load(path)
    merge = parsed_merges(plan.survey.questions, choice.merges)
    return ResultFiles(with_merged(plan, merge), path, project.path / chosen.name)


def _order(project: Project, desk: ResultFiles, call: Call) -> CalculationOrder:
    """Return the order of a call. Raises UsageError if there is no such file of margins."""
    if call.margins and call.margins not in margins_files(project):
        name, there = call.margins, margins_files(project)
        if not there:
            raise UsageError.of("margins", "studio.no-margins", name=name)
        raise UsageError.of("margins", "shared.use-one-of", value=name, choices=there)
    margins = project.path / call.margins if call.margins else None
    return CalculationOrder(desk.plan_path, desk.reports, margins, call)


def _result(
    cache: Cache, studio: Studio, project: Project, order: CalculationOrder
) -> tuple[Job | None, Any]:
    """Return the job that is going on, or the result. Raises the error of the work."""
    key, job_key = order.key, _job_key(project)
    if (result := cache.get(key)) is not None:
        return None, result
    if size(order.reports) < LARGE:
        return None, cache.put(key, computed(lambda _: None, order))
    job = studio.jobs.get(job_key)
    if job is None or cache.get(job_key) != key:
        job = studio.jobs.start(job_key, computed, order)
        cache.put(job_key, key)
    if job.error:
        cache.put(job_key, ())
        raise job.error
    if job.state == "done":
        return None, cache.put(key, job.result)
    return job, None


def _job_key(project: Project) -> tuple[Path, str]:
    return project.path, "results"


def _outcome(
    cache: Cache, order: CalculationOrder, plan: Plan, result: Any, language: str
) -> ShownResult:
    """Return how a result is shown; drawn once for each language."""
    key = (order.key, "outcome", language)
    return cache.computed(key, lambda: _drawn(plan, result, language))  # type: ignore[no-any-return]


def _drawn(plan: Plan, result: Result, language: str) -> ShownResult:
    """Return a result on the page, in the wording of its language."""
    from incrowd.presentation.pictures import pictures  # drawing is slow to import

    survey = worded(plan.survey, language)
    shown = result.worded(survey)
    template, parts = f"results_{result.layout}.html", layouts.parts(shown, language)
    parts |= {"promise": result.guarantee, "survey": survey}
    parts["simulated"] = invented_warning(result)
    drawn = parts.get("pictures") or pictures(shown, language)
    return ShownResult(result, shown, template, parts, tuple(drawn))


def _worded(plan: Plan, language: str) -> Plan:
    return in_other_words(plan, worded(plan.survey, language))


# --- what can be chosen -----------------------------------------------------------------------


class Option(NamedTuple):
    """Something to choose. reason: why it cannot be chosen with the rest, or ""."""

    value: str
    label: str
    reason: Sentence | str = ""


class Field(NamedTuple):
    """An input of the form of a declared method. name: in the address. values: those chosen."""

    option: MethodOption
    name: str
    choices: tuple[Option, ...]
    values: tuple[str, ...]

    @property
    def value(self) -> str:
        """The one that is chosen, or ""."""
        return self.values[0] if self.values else ""


class RequestedRegression(NamedTuple):
    """A regression that the survey requests. query: what shows it. keys: those that the page cannot
    show, instead of a query."""

    title: str
    formula: str
    query: str = ""
    keys: str = ""


class Options(NamedTuple):
    """The analyses that the plan allows. wanted: the tables that the survey requests; pairs: other
    tables. regressions: those that the survey requests."""

    wanted: tuple[Option, ...] = ()
    pairs: tuple[Option, ...] = ()
    first: tuple[Option, ...] = ()
    second: tuple[Option, ...] = ()
    references: tuple[Option, ...] = ()
    questions: tuple[Option, ...] = ()
    outcomes: tuple[Option, ...] = ()
    predictors: tuple[Option, ...] = ()
    regressions: tuple[RequestedRegression, ...] = ()
    fields: tuple[Field, ...] = ()


def _options(plan: Plan, choice: CallChoice) -> Options:
    """Return the options of a view, given what is chosen already."""
    survey = plan.survey
    questions = [each for each in survey.questions if not each.one_way_only]
    titles = titles_of(survey)
    named = [Option(each.id, titles[each.id]) for each in questions]
    if choice.view in ("tables", "proportions"):
        wanted = [",".join(ids) for ids in survey.wanted]
        pairs = _pairs(plan, questions) if len(questions) <= MOST_PAIRS else []
        return Options(
            wanted=tuple(Option(ids, _titled(plan, ids)) for ids in wanted),
            pairs=tuple(Option(ids, _titled(plan, ids)) for ids in pairs if ids not in wanted),
        )
    if choice.view in ("crosstab", "compare"):
        first = [each for each in named if _partners(plan, each.value, named)]
        second = [each for each in named if each.value != choice.first]
        if any(each.value == choice.first for each in named):
            second = _partners(plan, choice.first, named)
            answers = survey.question(choice.first).answers
            references = tuple(
                Option(each, survey.label_of(choice.first, each)) for each in answers
            )
        else:
            references = ()
        return Options(first=tuple(first), second=tuple(second), references=references)
    if choice.view == "correlate":
        scored = {each.id for each in questions if each.values}
        numbers = [each for each in named if each.value in scored]
        return Options(
            questions=tuple(each for each in numbers if _partners(plan, each.value, numbers))
        )
    if choice.view != "regress":
        return Options(fields=tuple(_fields(plan, choice, named)))
    return Options(
        outcomes=tuple(_outcomes(plan, questions, named)),
        predictors=tuple(_predictors(plan, choice, named)),
        regressions=tuple(_requested(plan, choice, each, titles) for each in survey.regressions),
    )


def _fields(plan: Plan, choice: CallChoice, named: Sequence[Option]) -> Iterator[Field]:
    """Yield the inputs for the options of a declared method."""
    typed = dict(choice.typed)
    for option in choice.chosen.options:
        choices = tuple(Option(each, each) for each in option.choices) or tuple(named)
        yield Field(option, f"{OPTION}{option.name}", choices, typed.get(option.name, ()))


def _requested(
    plan: Plan, choice: CallChoice, formula: Formula, titles: QuestionTitles
) -> RequestedRegression:
    """Return a regression that the survey requests, as a one-click choice."""
    written = f"{formula.outcome} ~ {' + '.join(formula.on)}"
    title = formula_title(formula.outcome, formula.on, titles)
    if beyond := [name for name in _ONLY_COMMAND if getattr(formula, name)]:
        return RequestedRegression(title, written, keys=", ".join(beyond))
    questions = {each.id for each in plan.survey.questions}
    # Answers, scores and interactions are not among the ticks: they are shown as a formula.
    plain = questions.issuperset(formula.on)
    query = choice.query(
        outcome=formula.outcome if plain else "",
        on=formula.on if plain else (),
        formula="" if plain else written,
        family=formula.family or "",
        penalty=formula.penalty or "",
        merge="",
    )
    return RequestedRegression(title, written, query)


def _titled(plan: Plan, ids: str) -> str:
    return " × ".join(map(plan.survey.text_of, ids.split(",")))


def _pairs(plan: Plan, questions: Sequence[AnyQuestion]) -> Iterator[str]:
    for pair in combinations([each.id for each in questions], 2):
        if not unsupported(plan, pair):
            yield ",".join(pair)


def unsupported(plan: Plan, ids: Sequence[str]) -> Sentence | str:
    """Return why a plan has no table of some questions; "" if it has one."""
    try:
        check_tables(plan, [ids])
    except TableError as error:
        (problem,) = error.problems
        why: Sentence = problem.arguments.get("why", problem.message)
        return why
    return ""


def _uncrossed(plan: Plan) -> bool:
    """Return whether some pair of questions cannot be correlated,
    so that some have to be chosen."""
    scored = [each.id for each in plan.survey.questions if each.values and not each.one_way_only]
    return any(unsupported(plan, pair) for pair in combinations(scored, 2))


def _partners(plan: Plan, id: str, named: Sequence[Option]) -> list[Option]:
    """Return the questions that a table can have together with one."""
    others = (each for each in named if each.value != id)
    return [each for each in others if not unsupported(plan, (id, each.value))]


def _outcomes(
    plan: Plan, questions: Sequence[AnyQuestion], named: Sequence[Option]
) -> Iterator[Option]:
    """Yield what a regression can explain: numbers and yes/no questions, and single answers."""
    for question, option in zip(questions, named, strict=True):
        if question.open or not _partners(plan, question.id, named):
            continue
        if question.values:
            yield option
        if len(question.substantive) > 2:
            for answer in question.substantive:
                label = f"{option.label}: {plan.survey.label_of(question.id, answer)}"
                yield Option(f"{question.id}={answer}", label)


def _predictors(plan: Plan, choice: CallChoice, named: Sequence[Option]) -> Iterator[Option]:
    """Yield the predictors, with the reason why one does not go with the outcome."""
    ids = [each.value for each in named]
    outcome = choice.outcome
    if outcome not in ids:
        outcome = next((id for id in ids if choice.outcome.startswith(f"{id}=")), "")
    for each in named:
        if each.value != outcome:
            reason = unsupported(plan, (outcome, each.value)) if outcome else ""
            yield each._replace(reason=reason)


# --- files ------------------------------------------------------------------------------------


async def download(cache: Cache, studio: Studio, request: Request) -> Response:
    """Return a result as a file: the bytes that the command writes."""
    return await asyncio.to_thread(_download, cache, studio, request)


def _download(cache: Cache, studio: Studio, request: Request) -> Response:
    ending = request.query_params.get("format", "")
    if ending not in FORMATS:
        raise UsageError.of("format", "shared.use-one-of", value=ending, choices=[*FORMATS])
    project, choice, outcome = _called(cache, studio, request, for_script=ending == "R")
    # Files for programs are those of the command.
    shown = outcome.worded if ending in FOR_READERS else outcome.result
    stem = f"{_beginning(outcome)}{project.name}-{choice.view}"
    return result_file(shown, ending, stem, language_of(request))


def _beginning(outcome: ShownResult) -> str:
    """Return how the name of a file begins, so that nobody takes invented people for real ones."""
    return INVENTED if outcome.result.invented else ""


async def picture(cache: Cache, studio: Studio, request: Request) -> Response:
    """Return a picture of a result as a file."""
    return await asyncio.to_thread(_picture, cache, studio, request)


def _picture(cache: Cache, studio: Studio, request: Request) -> Response:
    project, choice, outcome = _called(cache, studio, request)
    number, ending = request.query_params.get("number", "0"), request.query_params.get("format", "")
    language = language_of(request)
    drawn = outcome.pictures
    if outcome.result.invented:
        titles = (translatable("presentation.invented-title", title=each.title) for each in drawn)
        named = zip(drawn, titles, strict=True)
        drawn = tuple(each._replace(title=str(translated(t, language))) for each, t in named)
    stem = f"{_beginning(outcome)}{project.name}-{choice.view}"
    return picture_file(drawn, number, ending, stem, language)


def _called(
    cache: Cache, studio: Studio, request: Request, for_script: bool = False
) -> tuple[Project, CallChoice, ShownResult]:
    """Return the result that an address names. Raises UsageError if something has to be chosen
    first."""
    project, choice = studio.project(request), choice_of(request.query_params)
    chosen, call = _chosen(sources(project), choice.source), choice.call
    if chosen is None or call is None:
        raise UsageError.of("choice", "studio.no-choice")
    desk = _desk(project, chosen, choice)
    if for_script:
        call = replace(call, options=(*call.options, *call.method.for_script))
    order = _order(project, desk, call)
    work, result = _result(cache, studio, project, order)
    if work:
        raise UsageError.of("reports", "studio.being-counted", name=chosen.name)
    return project, choice, _outcome(cache, order, desk.plan, result, language_of(request))


async def add_reports(studio: Studio, request: Request) -> Response:
    """Add a file of reports, or a tally, to the project."""
    project, name, body = await _uploaded(studio, request, (ENDING, TALLY))

    def added() -> str:
        stem = "reports" if name.endswith(ENDING) else "tally"
        file = add_file(project, stem, Path(name).suffix, body)
        problem = source(project, project.path / file).problem
        if problem:
            (project.path / file).unlink()
            raise UsageError(renamed(problem, lambda each: name if each == file else each))
        return file

    query = CallChoice(source=await asyncio.to_thread(added)).query()
    return RedirectResponse(f"/p/{project.name}/results?{query}", 303)


async def add_margins(studio: Studio, request: Request) -> Response:
    """Add a file of known margins, and show the view with its weights."""
    project, name, body = await _uploaded(studio, request, MARGINS_ENDINGS)
    choice = choice_of(request.query_params)

    def added() -> str:
        before = margins_files(project)
        file = add_file(project, MARGINS, Path(name).suffix.lower(), body)
        try:
            load_margins(project.path / file)
        except IncrowdError:
            if file not in before:
                (project.path / file).unlink()
            raise
        return file

    query = choice.query(margins=await asyncio.to_thread(added))
    return RedirectResponse(f"/p/{project.name}/results?{query}", 303)


async def _uploaded(
    studio: Studio, request: Request, endings: tuple[str, ...]
) -> tuple[Project, str, bytes]:
    """Return the project, and the name and content of the uploaded file. Raises UsageError for
    others."""
    project = studio.project(request)
    async with request.form() as form:
        file = chosen_file(form)
        name = Path(file.filename or "").name
        if Path(name).suffix.lower() not in endings:
            raise UsageError.of("file", "studio.ending", name=name, endings=endings)
        if (file.size or 0) > MOST_UPLOADED:
            raise UsageError.of("file", "studio.large-upload", bytes=file.size or 0)
        return project, name, await file.read()


async def stop(studio: Studio, request: Request) -> Response:
    """Stop the running count."""
    project = studio.project(request)
    if job := studio.jobs.get(_job_key(project)):
        job.stop()
    return RedirectResponse(f"/p/{project.name}/results?{request.url.query}", 303)


async def again(cache: Cache, studio: Studio, request: Request) -> Response:
    """Count again what was stopped."""
    project = studio.project(request)
    cache.put(_job_key(project), ())
    return RedirectResponse(f"/p/{project.name}/results?{request.url.query}", 303)
