"""The design of a survey of interviews: the device, groups, questions, and their designs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.errors import Of, Problem, SurveyError, UsageError
from incrowd.interviews.designs import DESIGNS
from incrowd.interviews.devices import DEVICES, HandDevice
from incrowd.interviews.survey import device_of
from incrowd.studio import operations
from incrowd.studio.chosen_values import number, percent_text, share_of
from incrowd.studio.condition_form import in_main, label_of
from incrowd.studio.design import ACTIONS as DESIGN_ACTIONS
from incrowd.studio.design import (
    Fields,
    PageState,
    changed_as_a_whole,
    checked_language,
    conflict,
    consequences,
    edits_of_question,
    languages_in,
    main_language,
)
from incrowd.studio.document import Operation, Raw, version
from incrowd.studio.interview_designs import (
    DesignSetting,
    Expectation,
    ProtectionForm,
    design_in,
    designs_in,
    fitted,
    form_of_design,
    new_design,
    put_designs,
    typed_design,
)
from incrowd.studio.interview_words import DESIGN_NAMES, DEVICE_NAMES, SIZES, WORDINGS
from incrowd.studio.language import Phrase
from incrowd.studio.operations import AddQuestion, SetEntries, SetQuestion, SetValue, put_value
from incrowd.studio.pages import (
    Studio,
    expected_version,
    form_of,
    is_fragment,
    render,
    route,
    with_version,
)
from incrowd.studio.projects import ConflictError, Project
from incrowd.studio.question_form import (
    changed_question,
    new_question,
    put,
    shown_form,
    summary,
    text_of,
    words_in,
)
from incrowd.studio.titles import titles_in
from incrowd.survey.questions import TYPES, type_of
from incrowd.survey.surveys import INTERVIEWS as DEVICE
from incrowd.survey.words import LANGUAGE

STEP = "interview"
GROUP = "group"  # the column of groups, unless another is named
USUAL_DESIGNS = {"birthday": "crosswise"}  # of new questions, by device
FIRST = "forced"  # the design of new questions with other devices


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    path = f"/p/{{name}}/{STEP}"
    return [
        route(studio, path, show, methods=("GET",)),
        route(studio, path, change, methods=("POST",)),
    ]


# --- what the page shows --------------------------------------------------------------------------


@dataclass(frozen=True)
class InterviewQuestion:
    """A question of the list.

    kinds: of its designs. problems: by the key that they are about. designs: the forms of its
    designs, if the question is open.
    """

    number: int
    id: str
    type: str
    text: str
    answers: str
    kinds: tuple[str, ...]
    raw: Raw
    problems: tuple[tuple[str, Problem], ...]
    designs: tuple[ProtectionForm, ...] = ()


@dataclass(frozen=True)
class InterviewPage:
    """Everything that the page shows. device: None if the file has a mistake there. problems: of
    the survey, by the part that they are about."""

    text: str
    raw: Raw
    device: HandDevice | None
    groups: tuple[str, ...]
    questions: tuple[InterviewQuestion, ...]
    languages: tuple[str, ...]
    problems: tuple[tuple[str, Problem], ...]
    moves: tuple[bool, bool]
    broken: SurveyError | None = None
    notices: tuple[Phrase, ...] = ()

    @property
    def seen(self) -> str:
        """The version of the text."""
        return version(self.text)

    @property
    def is_ready(self) -> bool:
        """Whether there are questions, and no mistakes."""
        return bool(self.questions) and not any(
            (self.problems, *(q.problems for q in self.questions))
        )


def page_of(project: Project, opened: str, notices: Sequence[Phrase] = ()) -> InterviewPage:
    """Read a project for its page. opened: the id of the open question, or ""."""
    moves, document = project.can_move(), project.document()
    text, shown = document.text, tuple(notices)
    try:
        raw = document.content
        operations.questions(raw)
    except SurveyError as error:
        empty = ((), (), (LANGUAGE,), ())
        return InterviewPage(text, Fields(), None, *empty, moves, broken=error, notices=shown)
    problems = _problems(project, raw)
    numbers = {str(id): place for place, id in enumerate(operations.ids(raw), 1)}
    device, groups = device_in(raw), groups_in(raw)
    asked = tuple(_questions(raw, device, groups, opened, problems, numbers))
    rest = [each for each in problems if not _number_of(each, numbers)]
    return InterviewPage(
        text,
        Fields.of(raw),
        device,
        groups,
        asked,
        languages_in(raw),
        tuple((str(each.path[0]), each) for each in rest),
        moves,
        notices=shown,
    )


def _problems(project: Project, raw: Raw) -> tuple[Problem, ...]:
    """Return all mistakes; that there is no question yet is none on this page."""
    if not operations.questions(raw):
        return ()
    try:
        project.interviews()
    except SurveyError as error:
        return error.problems
    return ()


def _number_of(problem: Problem, numbers: Mapping[str, int]) -> int:
    """Return the number of the question that a problem is about; 0 if it is about none."""
    root, *rest = problem.path
    of = next((each.id for each in rest if isinstance(each, Of)), None)
    if of is None and root == "question" and rest == ["id"]:
        of = str(problem.arguments.get("value"))
    if of is None and root == "question" and rest and isinstance(rest[0], int):
        return rest[0] + 1
    return numbers.get(of or "", 0)


def _key_of(problem: Problem) -> str:
    """Return the key of a question that a problem is about; that of a design has its group."""
    keys = [each for each in problem.path[1:] if not isinstance(each, Of)]
    if keys and isinstance(keys[0], int):
        keys = keys[1:]
    if keys[:1] == ["design"]:
        return "design 0"
    if keys[:1] == ["designs"]:
        return f"design {keys[1] if keys[1:] and isinstance(keys[1], int) else 0}"
    return str(keys[0]) if keys else str(problem.path[0])


def device_in(raw: Raw) -> HandDevice | None:
    """Return the device of a survey file; None if it has a mistake."""
    try:
        return device_of(raw.get(DEVICE))
    except ValueError:
        return None


def groups_in(raw: Raw) -> tuple[str, ...]:
    """Return the codes of the groups in a survey file."""
    groups = raw.get("groups")
    codes = groups.get("codes") if isinstance(groups, dict) else None
    return tuple(map(str, codes)) if isinstance(codes, list) else ()


def _questions(
    raw: Raw,
    device: HandDevice | None,
    groups: Sequence[str],
    opened: str,
    problems: Sequence[Problem],
    numbers: Mapping[str, int],
) -> Iterator[InterviewQuestion]:
    main = main_language(raw)
    for place, each in enumerate(operations.questions(raw), 1):
        id = str(each.get("id", ""))
        there = (problem for problem in problems if _number_of(problem, numbers) == place)
        kinds = dict.fromkeys(str(one.get("kind", "")) for one in designs_in(each, len(groups)))
        yield InterviewQuestion(
            place,
            id,
            str(each.get("type", "")),
            in_main(each.get("text"), main),
            summary(each),
            tuple(kinds),
            Fields.of(each),
            tuple((_key_of(problem), problem) for problem in there),
            tuple(_forms(raw, each, device, groups)) if id and id == opened else (),
        )


def _forms(
    raw: Raw, asked: Raw, device: HandDevice | None, groups: Sequence[str]
) -> Iterator[ProtectionForm]:
    """Yield the forms of the designs of a question."""
    if (setting := setting_of(raw, asked, device, groups)) is not None:
        for group, design in enumerate(designs_in(asked, len(groups))):
            yield form_of_design(group, design, setting)


def choices_in(asked: Raw) -> tuple[str, ...]:
    """Return the true answers to a question in the order of designs; () if it has a mistake."""
    kind = type_of(asked)
    question = kind.without_wording(asked) if kind else None
    return question.choices if question else ()


def setting_of(
    raw: Raw, asked: Raw, device: HandDevice | None, groups: Sequence[str]
) -> DesignSetting | None:
    """Return what the designs of a question are chosen for; None without answers or a device."""
    answers, main = choices_in(asked), main_language(raw)
    if device is None or len(answers) < 2:
        return None
    labels = tuple(label_of(asked, each, main) for each in answers)
    designs = tuple(map(design_in, designs_in(asked, len(groups))))
    return DesignSetting(device, answers, labels, Expectation.of(raw), designs)


# --- changes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetDevice:
    """Another device, or another size of it; a number that is not one stays as it was typed."""

    kind: str
    sizes: Mapping[str, Any]

    def edit(self, content: Raw) -> None:
        """Set the device, with the sizes that it has."""
        before = content.get(DEVICE)
        stated = before if isinstance(before, dict) else {}
        if self.kind != stated.get("kind"):
            content[DEVICE] = {"kind": self.kind}
            return
        for key, value in self.sizes.items():
            if value != stated.get(key):
                put_value(stated, key, value)


@dataclass(frozen=True)
class SetGroups:
    """The codes of groups with different probabilities; none for one group. column: that has
    them."""

    codes: tuple[str, ...]
    column: str

    def edit(self, content: Raw) -> None:
        """Set the groups, and give each question a design for each of them."""
        put_value(content, "groups", {"codes": [*self.codes]} if self.codes else None)
        column = (self.column or GROUP) if self.codes else None
        SetEntries("columns", {"group": column}).edit(content)
        for each in operations.questions(content):
            if "design" in each or "designs" in each:
                put_designs(each, designs_in(each, len(self.codes)))


def _survey(raw: Raw, form: FormData) -> list[Operation]:
    """Return the changes of the name, the language, the device, the groups, and what is
    expected."""
    checked_language(text_of(form, "language") or LANGUAGE)
    kind = text_of(form, "device")
    if kind not in DEVICES:
        raise UsageError.of("device", "shared.use-one-of", value=kind, choices=[*DEVICES])
    language = text_of(form, "language")
    edits: list[Operation] = [
        SetValue(("name",), text_of(form, "name")),
        SetValue(("language",), language if language not in ("", LANGUAGE) else None),
    ]
    sizes = {key: _whole(text_of(form, key)) for key in SIZES if key in form}
    edits.append(SetDevice(kind, sizes))
    codes = tuple(filter(None, (each.strip() for each in text_of(form, "groups").split(","))))
    column = text_of(form, "column")
    columns = raw.get("columns")
    named = str(columns.get("group", "")) if isinstance(columns, dict) else ""
    if "groups" in form and (codes != groups_in(raw) or (codes and column not in ("", named))):
        edits.append(SetGroups(codes, column))
    aim = raw.get("aim")
    stated: Raw = aim if isinstance(aim, dict) else {}
    typed = {key: read(text_of(form, key)) for key, read in AIMS.items() if key in form}
    different = {key: value for key, value in typed.items() if value != stated.get(key)}
    return [*edits, SetEntries("aim", different)] if different else edits


def _whole(text: str) -> Any:
    return number(text, int) if text else None


def _share(text: str) -> Any:
    return share_of(text) if text else None


AIMS: Mapping[str, Callable[[str], Any]] = {"people": _whole, "share": _share}


def _add(raw: Raw, form: FormData) -> list[Operation]:
    """Return a new question with a usual design."""
    asked, device = new_question(form, operations.ids(raw)), device_in(raw)
    answers = choices_in(asked)
    kind = text_of(form, "design") or USUAL_DESIGNS.get(device.kind if device else "", FIRST)
    if kind not in DESIGNS:
        raise UsageError.of("design", "shared.use-one-of", value=kind, choices=[*DESIGNS])
    if device is not None and answers:
        asked["design"] = new_design(kind, device, answers)
    return [AddQuestion(asked)]


def _set(raw: Raw, form: FormData) -> list[Operation]:
    """Return everything in the form of an open question that differs from what the page showed."""
    of = text_of(form, "of")
    before = operations.existing(raw, of)
    main, groups = main_language(raw), groups_in(raw)
    wanted, renamed = changed_question(before, form, main)
    for key in ("values", "missing"):  # codes of reports, which this form does not show
        put(wanted, key, before.get(key))
    setting = setting_of(raw, before, device_in(raw), groups)
    if setting:
        after = choices_in(wanted)
        shown = [
            form_of_design(n, each, setting)
            for n, each in enumerate(designs_in(before, len(groups)))
        ]
        typed = [fitted(typed_design(form, each, setting, main), after, renamed) for each in shown]
        put_designs(wanted, typed)
    return edits_of_question(raw, of, wanted, renamed)


ACTIONS: Mapping[str, Callable[[Raw, FormData], list[Operation]]] = {
    "survey": _survey,
    "add": _add,
    "order": DESIGN_ACTIONS["order"],
    "set": _set,
}


def _changed(
    project: Project, form: FormData, view: PageState
) -> tuple[PageState, tuple[Phrase, ...]]:
    """Make the change of a form. Return what is open afterward, and what the change did."""
    action, seen = text_of(form, "do"), text_of(form, "seen")
    expected = expected_version(form)
    if notice := changed_as_a_whole(project, form):
        return view, (notice,)
    if action not in ACTIONS:
        raise UsageError.of("do", "shared.use-one-of", value=action, choices=[*ACTIONS])
    before = project.seen(seen) or project.document()
    edits = ACTIONS[action](before.content, form)
    difference = project.change(*edits, expected=expected)
    opened = view.open
    for each in edits:
        if isinstance(each, AddQuestion):
            opened = str(each.entries["id"])
        elif isinstance(each, SetQuestion):
            opened = str(each.entries.get("id", view.open))
    notices = tuple(notice for each in edits for notice in consequences(each, difference))
    return PageState(opened, "", view.also), notices


# --- responses ------------------------------------------------------------------------------------


async def show(studio: Studio, request: Request) -> Response:
    """Return the page, or its content if a part of it is opened or closed."""
    project, view = studio.interviews(request), PageState.of(request.query_params)
    page = await asyncio.to_thread(page_of, project, view.open)
    return _rendered(request, project, page, view)


async def change(studio: Studio, request: Request) -> Response:
    """Make a change, and show the page with it."""
    project, form = studio.interviews(request), await form_of(request)
    view = PageState.of(form)
    try:
        view, notices = await asyncio.to_thread(_changed, project, form, view)
    except ConflictError as error:
        return conflict(request, project, form, view.address(project, STEP), error)
    if not is_fragment(request):
        return RedirectResponse(view.address(project, STEP), 303)
    page = await asyncio.to_thread(page_of, project, view.open, notices)
    response = _rendered(request, project, page, view)
    response.headers["HX-Replace-Url"] = view.address(project, STEP)
    return response


def _rendered(request: Request, project: Project, page: InterviewPage, view: PageState) -> Response:
    also = tuple(tag for tag in view.also if tag not in page.languages)
    aim, columns = page.raw.get("aim"), page.raw.get("columns")
    response = render(
        request,
        "interview_body.html" if is_fragment(request) else "interview.html",
        project=project,
        page=page,
        is_ready=page.is_ready,
        view=view,
        tags=(*page.languages, *also),
        also=" ".join(also),
        types={name: each for name, each in TYPES.items() if fits_interview(each)},
        devices=DEVICE_NAMES,
        sizes=SIZES,
        design_names=DESIGN_NAMES,
        wordings=WORDINGS,
        expected=Expectation.of(page.raw),
        aim=Fields(aim if isinstance(aim, dict) else {}),
        columns=Fields(columns if isinstance(columns, dict) else {}),
        device=Fields(page.device.model_dump() if page.device else {}),
        titles=titles_in(page.raw),
        shown_form=shown_form,
        words=words_in,
        percent=percent_text,
        fragment=is_fragment(request),
    )
    return with_version(response, page.seen)


def fits_interview(kind: Any) -> bool:
    """Return whether a type of question can be asked in an interview with a device: one of a few
    answers that have names."""
    return bool(kind.exclusive and kind.named and not kind.of_numbers)
