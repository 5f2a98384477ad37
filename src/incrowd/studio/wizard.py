"""Planning a survey by five questions, and three ways to collect it, each with its errors.

The pages of the wizard keep nothing: what was typed travels in their forms until the last one
writes a survey. The three ways can be compared for every survey, whether the wizard wrote it or
not.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.accountant.analyses import ANALYSES
from incrowd.drafts.writing import quoted
from incrowd.errors import IncrowdError, SurveyError
from incrowd.guarantees.strength import GUESS, Strength, guess_after
from incrowd.studio.chosen_values import number, share_of
from incrowd.studio.document import Operation, Raw, changed
from incrowd.studio.expected_people import PeopleSummary, people_summary
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.operations import SetTables, SetValue, names, tables
from incrowd.studio.pages import (
    Studio,
    expected_version,
    form_of,
    language_of,
    lines,
    render,
    route,
    texts,
)
from incrowd.studio.projects import Project, folder_name
from incrowd.survey import Choice, Survey, YesNo
from incrowd.survey.surveys import survey_in
from incrowd.survey.words import LANGUAGE

STEPS = ("who", "how-many", "sensitive", "comparisons", "mixing")
COMPARISONS = (1, 2, 3)
EXAMPLES = (
    (phrase("Department"), phrase("Administration: 120\nProduction: 250\nSales: 80")),
    (phrase("Age"), phrase("under 30\n30 to 49\n50 or older")),
    (phrase("Gender"), phrase("female\nmale\nother")),
)
MOST_ANSWERS = 20  # of a comparison


class SensitivityLevel(NamedTuple):
    """How sensitive the answers are: the strength of the promise, its epsilon, and what it says.

    about: names the chances in braces.
    """

    strength: Strength
    epsilon: float
    label: Phrase
    about: Phrase

    @property
    def chances(self) -> dict[str, str]:
        """The chance of a guess, and the most that it can become, in percent."""
        most = guess_after(self.epsilon)
        return {"guess": f"{100 * GUESS:g}", "most": f"{100 * most:g}" if most else ""}


LEVELS = (
    SensitivityLevel(
        "strong",
        1.0,
        phrase(
            "Very: it could do serious harm, to someone who was harassed, is ill, or broke a rule"
        ),
        phrase(
            "A strong promise: a guess about an answer that is right with a chance of {guess}% "
            "becomes right with a chance of {most}% at most."
        ),
    ),
    SensitivityLevel(
        "moderate",
        2.0,
        phrase("Rather: an answer would be embarrassing"),
        phrase("A moderate promise: from a chance of {guess}% to one of {most}% at most."),
    ),
    SensitivityLevel(
        "weak",
        4.0,
        phrase("Hardly: people would tell most others"),
        phrase("A weak promise: from a chance of {guess}% to one of {most}% at most."),
    ),
)
MIXING: tuple[tuple[str, Phrase, Phrase], ...] = (
    (
        "shuffler",
        phrase("A colleague of another organization"),
        phrase(
            "One service, the shuffler, receives the answers encrypted, mixes them, and forgets "
            "who sent what."
        ),
    ),
    (
        "mixers",
        phrase("Two organizations that do not work together"),
        phrase("Two mixers and an inviter: nobody alone can link an answer to a person."),
    ),
    (
        "nobody",
        phrase("Nobody: all services run in one organization"),
        phrase(
            "Each device then has to hide its answer alone. This needs thousands of people for "
            "useful results."
        ),
    ),
)
FIELDS = (
    *("title", "question", "everybody", "invited", "expected", "level", "mixing"),
    *(f"{kind}-{place}" for place in COMPARISONS for kind in ("group", "answers")),
)
DEFAULTS = {"expected": "50", "level": "strong", "mixing": "shuffler"}


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the wizard, and of the three ways."""
    return [
        route(studio, "/plan", begin, methods=("GET",)),
        route(studio, "/plan", proceed, methods=("POST",)),
        route(studio, "/p/{name}/ways", show_ways, methods=("GET",)),
        route(studio, "/p/{name}/ways", choose, methods=("POST",)),
    ]


# --- five questions -------------------------------------------------------------------------------


async def begin(_: Studio, request: Request) -> Response:
    """Return the first question."""
    return _question(request, 0, DEFAULTS)


async def proceed(studio: Studio, request: Request) -> Response:
    """Return the next question, or the one before; after the last one, write the survey."""
    form = texts(await form_of(request))
    typed = DEFAULTS | {name: form[name].strip() for name in FIELDS if name in form}
    place = STEPS.index(form["step"]) if form.get("step") in STEPS else 0
    if "back" in form:
        return _question(request, max(place - 1, 0), typed)
    if faults := list(_faults(STEPS[place], typed)):
        return _question(request, place, typed, faults)
    if place + 1 < len(STEPS):
        return _question(request, place + 1, typed)
    try:
        project = await asyncio.to_thread(_written, studio, typed, language_of(request))
    except IncrowdError as error:
        return _question(request, place, typed, lines(error, language_of(request)))
    return RedirectResponse(f"/p/{project.name}/ways?mixing={typed['mixing']}", 303)


def _question(
    request: Request, place: int, typed: Mapping[str, str], faults: Sequence[Phrase | str] = ()
) -> Response:
    return render(
        request,
        "wizard.html",
        status=422 if faults else 200,
        step=STEPS[place],
        number=place + 1,
        of=len(STEPS),
        typed={name: typed.get(name, "") for name in FIELDS},
        faults=faults,
        levels=LEVELS,
        mixing=MIXING,
        comparisons=list(zip(COMPARISONS, EXAMPLES, strict=True)),
    )


def _faults(step: str, typed: Mapping[str, str]) -> Iterator[Phrase]:
    """Yield what is missing or wrong in the answer to one of the five questions."""
    if step == "who":
        if not typed.get("title"):
            yield phrase("Give the survey a name.")
        if not typed.get("question"):
            yield phrase("Write down the question that matters most.")
    elif step == "how-many":
        invited, share = number(typed.get("invited", ""), int), share_of(typed["expected"])
        if not isinstance(invited, int) or invited < 2:
            yield phrase("Type how many people you will invite, such as 450.")
        if isinstance(share, str) or not 0 < share <= 1:
            yield phrase("Type the share in percent, such as 60.")
    elif step == "comparisons":
        for place in COMPARISONS:
            yield from _comparison_faults(place, typed)


def _comparison_faults(place: int, typed: Mapping[str, str]) -> Iterator[Phrase]:
    name, answers = typed.get(f"group-{place}", ""), _answers(typed, place)
    if name and len(answers) < 2:
        yield phrase("{name}: write at least two answers, one per line.", name=name)
    if answers and not name:
        yield phrase("Comparison {number} needs a name.", number=place)
    if 0 < len(_sizes(typed, place)) < len(answers):
        yield phrase("{name}: type the number of people of all answers, or of none.", name=name)
    if len(set(answers)) < len(answers):
        yield phrase("{name}: each answer should be different.", name=name)
    if len(answers) > MOST_ANSWERS:
        yield phrase("{name}: at most {most} answers.", name=name, most=MOST_ANSWERS)


def _answers(typed: Mapping[str, str], place: int) -> list[str]:
    return [answer for answer, _ in _counted(typed, place)]


def _sizes(typed: Mapping[str, str], place: int) -> dict[str, int]:
    """Return the number of people by answer, of the answers after which one is typed."""
    return {answer: people for answer, people in _counted(typed, place) if people}


def _counted(typed: Mapping[str, str], place: int) -> Iterator[tuple[str, int]]:
    """Yield the answers to a comparison, each with the number of people after its colon, or 0."""
    for line in filter(None, map(str.strip, typed.get(f"answers-{place}", "").splitlines())):
        answer, _, tail = line.rpartition(":")
        people = number(tail, int)
        if answer.strip() and isinstance(people, int) and people > 0:
            yield answer.strip(), people
        else:
            yield line, 0


def _written(studio: Studio, typed: Mapping[str, str], language: str) -> Project:
    """Write the survey as a new project. If too few people answer to hide anybody, services add the
    noise. Raises SurveyError if nothing is possible."""
    text = survey_text(typed, language)
    try:
        Survey.of(tomllib.loads(text))
    except SurveyError as error:
        few = any(problem.code == "survey.few-answers" for problem in error.problems)
        if not few or typed["mixing"] != "shuffler":
            raise
        text = survey_text(typed, language, noise="services")
        Survey.of(tomllib.loads(text))
    return studio.projects.create(typed["title"], text)


def survey_text(typed: Mapping[str, str], language: str, noise: str = "") -> str:
    """Return the text of the survey that answers to the five questions describe. noise: who adds
    it, if not the devices."""
    level = next((each for each in LEVELS if each.strength == typed["level"]), LEVELS[0])
    invited, expected = number(typed["invited"], int), share_of(typed["expected"])
    head = [
        f"name = {quoted(typed['title'])}",
        *([f"language = {quoted(language)}"] if language != LANGUAGE else []),
        "",
        "[people]",
        f"invited = {invited}",
        f"expected = {expected}",
        *(["everybody = true"] if typed.get("everybody") else []),
        "",
        "[privacy]",
        f"epsilon = {level.epsilon}",
        f"delta = {delta_for(int(invited))}",
        *(['analysis = "local"'] if typed["mixing"] == "nobody" else []),
        *([f"noise = {quoted(noise)}"] if noise else []),
    ]
    ids: list[str] = []
    groups = [
        _question_lines(name, ids, answers, _sizes(typed, place))
        for place in COMPARISONS
        if (name := typed.get(f"group-{place}", "")) and (answers := _answers(typed, place))
    ]
    compared = [*ids]
    asked = _question_lines(typed["question"], ids, ())
    wanted = [
        line
        for id in compared
        for line in ("", "[[table]]", f"questions = [{quoted(id)}, {quoted(ids[-1])}]")
    ]
    body = [line for lines_of in (*groups, asked) for line in lines_of]
    return "\n".join([*head, *body, *wanted]) + "\n"


def _question_lines(
    text: str, ids: list[str], answers: Sequence[str], sizes: Mapping[str, int] | None = None
) -> list[str]:
    """Return the lines of a question, and add its id to those that are taken. sizes: the number of
    people by answer, if it is known."""
    stem = folder_name(text).replace("-", "_")[:30].strip("_")
    stem = stem if stem[:1].isalpha() else f"q_{stem}"
    possible = [stem, *(f"{stem}_{place}" for place in range(2, 10))]
    ids.append(next(each for each in possible if each not in ids))
    options = [f"options = [{', '.join(map(quoted, answers))}]"] if answers else []
    if sizes:
        whole = sum(sizes.values())
        parts = (f"{quoted(each)} = {round(size / whole, 6)}" for each, size in sizes.items())
        options.append(f"shares = {{{', '.join(parts)}}}")
    kind = (Choice if answers else YesNo).type_name()
    words = f"text = {quoted(text)}"
    return ["", "[[question]]", f"id = {quoted(ids[-1])}", f'type = "{kind}"', words, *options]


def delta_for(people: int) -> str:
    """Return a comfortable delta: at most a hundredth of one over the number of people."""
    return f"1e-{max(6, len(str(people)) + 2)}"


# --- three ways -----------------------------------------------------------------------------------


class CollectionWay(NamedTuple):
    """A way to collect a survey: its name, what it means for people, and what it tells.

    changes: of the survey. summary: None if it is impossible, and then `problems` says why.
    """

    name: str
    title: Phrase
    about: Phrase
    changes: tuple[Operation, ...]
    summary: PeopleSummary | None = None
    problems: tuple[str, ...] = ()


MOST_WAYS = 3
FEW_TABLES = phrase("Fewer comparisons")
DEVICES = phrase("Noise from the devices")
SERVICES = phrase("Noise from two services")
WEAKER = phrase("A weaker promise")


def ways_of(raw: Raw, mixing: str = "") -> Iterator[CollectionWay]:
    """Yield the ways to collect a survey, the most useful ones first. mixing: who mixes, if that is
    known: two mixers cannot add noise."""
    privacy = raw.get("privacy")
    privacy = privacy if isinstance(privacy, dict) else {}
    chosen = ANALYSES.get(str(privacy.get("analysis")))
    local = chosen is not None and not chosen.shuffled
    yield CollectionWay(
        "devices",
        DEVICES,
        phrase("Each device changes its answer at random; nobody has to be trusted with answers.")
        if local
        else phrase(
            "Each device changes its answers at random, and the shuffler mixes them. Enough people "
            "have to answer."
        ),
        (SetValue(("privacy", "noise"), None), SetValue(("privacy", "service_epsilon"), None))
        + ((SetValue(("least",), None),) if "least" in raw else ()),
    )
    if not local and mixing != "mixers":
        yield CollectionWay(
            "services",
            SERVICES,
            phrase(
                "The shuffler and the collector add invented answers. Few people are enough, but "
                "together, both services could read every answer."
            ),
            (SetValue(("privacy", "noise"), "services"),),
        )
    if raw.get("table") or raw.get("tables"):
        yield CollectionWay(
            "fewer",
            FEW_TABLES,
            phrase("Only the tables of single questions: they become more precise."),
            (SetTables(removed=tuple(map(names, tables(raw)))), SetValue(("tables",), None)),
        )
    if (epsilon := privacy.get("epsilon")) and isinstance(epsilon, int | float) and epsilon < 2:
        yield CollectionWay(
            "moderate",
            WEAKER,
            phrase("Epsilon 2: a moderate promise, with smaller errors."),
            (SetValue(("privacy", "epsilon"), 2.0),),
        )


def _computed(project: Project, way: CollectionWay, raw: Raw, language: str) -> CollectionWay:
    """Return a way with what it tells, estimated."""
    from incrowd.planner.outlook import estimate  # slow to load
    from incrowd.studio.data_shares import charted

    try:
        survey = survey_in(changed(raw, *way.changes), project.path)
        seen = estimate(charted(project, survey))
        return way._replace(summary=people_summary(survey, seen, language))
    except IncrowdError as error:
        return way._replace(problems=lines(error, language))


async def show_ways(studio: Studio, request: Request) -> Response:
    """Return the ways to collect a survey, with their errors."""
    project = studio.project(request)
    document, language = await asyncio.to_thread(project.document), language_of(request)

    def computed() -> list[CollectionWay]:
        project.current_version()  # is kept from now on
        raw = document.content
        mixing = request.query_params.get("mixing", "")
        ways = [_computed(project, way, raw, language) for way in ways_of(raw, mixing)]
        return ([each for each in ways if each.summary] or ways)[:MOST_WAYS]

    parts: dict[str, Any] = {"ways": await asyncio.to_thread(computed)}
    return render(request, "ways.html", project=project, seen=document.version, **parts)


async def choose(studio: Studio, request: Request) -> Response:
    """Change the survey to a way, and show how precise it is."""
    project, form = studio.project(request), await form_of(request)
    raw = (await asyncio.to_thread(project.document)).content
    way = next((each for each in ways_of(raw) if each.name == form.get("way")), None)
    if way is not None:
        version = expected_version(form)
        await asyncio.to_thread(project.change, *way.changes, expected=version)
    return RedirectResponse(f"/p/{project.name}/precision", 303)
