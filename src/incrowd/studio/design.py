"""The design of a survey: questions, wanted tables and regressions, saved at every step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.errors import IncrowdError, Of, Problem, SurveyError, Unfit, UsageError
from incrowd.studio import imports, operations, part_forms
from incrowd.studio.chosen_values import (
    PEOPLE,
    VALUES,
    people_values,
    percent_text,
    stratum_fields,
    value_operations,
)
from incrowd.studio.condition_form import (
    OPERATORS,
    ConditionForm,
    DecidingQuestion,
    condition_form,
    condition_words,
    deciding,
    in_main,
)
from incrowd.studio.document import Operation, Raw, changed, version
from incrowd.studio.expected_people import PeopleSummary, people_summary
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.operations import (
    AddQuestion,
    MoveQuestion,
    PlaceQuestion,
    RemoveQuestion,
    SetQuestion,
    SetRegression,
    SetTables,
    SetValue,
)
from incrowd.studio.pages import (
    TOML_FIELD,
    Studio,
    expected_version,
    form_of,
    is_fragment,
    language_of,
    lines,
    render,
    route,
    texts,
    with_version,
)
from incrowd.studio.projects import Changed, ConflictError, Project
from incrowd.studio.published_versions import versions_of
from incrowd.studio.question_form import (
    answer_keys,
    are_alike,
    changed_question,
    codes_of,
    is_crossed,
    lines_of,
    moved_row,
    new_inputs,
    new_question,
    outcomes,
    predicts,
    put,
    put_words,
    shown_form,
    summary,
    text_of,
    words_in,
)
from incrowd.studio.questionnaire import SetPart, fits_matrix
from incrowd.studio.titles import formula_title, table_title, titles_in, variable_title
from incrowd.studio.translations import untranslated
from incrowd.survey.conditions import comparisons
from incrowd.survey.questions import TYPES
from incrowd.survey.surveys import survey_in
from incrowd.survey.words import LANGUAGE, checked_tag

NOISE_KINDS: tuple[tuple[str, Phrase], ...] = (
    ("devices", phrase("the devices of the people who answer")),
    ("services", phrase("two services: the shuffler and the collector")),
    ("auto", phrase("automatic: the services, where tables become clearly more precise")),
)
ROOTS = ("section", "matrix", "page", PEOPLE)
FRAME = ("consent", "thanks")  # texts before and after the questions
MOST_PAIRS = 60  # questions in the matrix of tables; with more, tables are chosen below it


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the design."""
    return [
        route(studio, "/p/{name}/design", show, methods=("GET",)),
        route(studio, "/p/{name}/design", change, methods=("POST",)),
        route(studio, "/p/{name}/design/expected", expected, methods=("GET",)),
    ]


# --- the state of the page ------------------------------------------------------------------------


@dataclass(frozen=True)
class PageState:
    """The open parts of the page, from its address. also: languages that have no text yet."""

    open: str = ""
    regression: str = ""
    also: tuple[str, ...] = ()

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> PageState:
        """Return the state that an address or a form names. Raises UsageError if a tag
        is not one."""
        tags = str(fields.get("also", "")).replace(",", " ").split()
        for tag in tags:
            checked_language(tag)
        return cls(str(fields.get("open", "")), str(fields.get("regression", "")), (*tags,))

    def address(self, project: Project, step: str = "design") -> str:
        """Return the address of the page in this state. step: the last part before the query."""
        parts = {"open": self.open, "regression": self.regression, "also": " ".join(self.also)}
        query = urlencode({key: value for key, value in parts.items() if value})
        return f"/p/{project.name}/{step}{'?' if query else ''}{query}"


SHAPES: Mapping[str, type] = {
    **dict.fromkeys(("labels", "shares", "values"), dict),
    **dict.fromkeys(("options", "edges", "missing", "on"), list),
    **dict.fromkeys(("name", "language", "outcome", "options_file"), str),
}


class Fields(dict[str, Any]):
    """A table of the file for a template: a key that is not there is an empty field."""

    def __missing__(self, _: str) -> str:
        return ""

    @classmethod
    def of(cls, table: Raw) -> Fields:
        """Return the fields of a table, without values of a kind that they cannot have."""
        return cls({k: v for k, v in table.items() if isinstance(v, SHAPES.get(k, object))})


@dataclass(frozen=True)
class QuestionSummary:
    """A question of the list.

    number: its place, from 1. raw: its table in the file, with what its section and its matrix
    state for it; stated: without that. parts: the kinds and titles of its section and its
    matrix. condition:
    whom it is asked, in words. form: of its own condition. fits_matrix: whether it can be taken
    into a matrix.
    """

    number: int
    id: str
    type: str
    text: str
    answers: str
    raw: Raw
    problems: tuple[Problem, ...]
    stated: Raw
    parts: tuple[tuple[str, str], ...] = ()
    condition: Phrase | str = ""
    form: ConditionForm | None = None
    condition_problems: tuple[Problem, ...] = ()
    fits_matrix: bool = False


@dataclass(frozen=True)
class PartSummary:
    """A section or a matrix. kind: which of them. questions: its questions. ends: whether it is the
    first, and the last. form: of its condition."""

    kind: str
    id: str
    title: str
    raw: Raw
    questions: tuple[str, ...]
    ends: tuple[bool, bool]
    form: ConditionForm
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Page:
    """Everything that the page shows.

    broken: why the text is not a survey at all. notices: what the last change did.
    decisions: those that can be made together in one group.
    """

    text: str
    raw: Raw
    questions: tuple[QuestionSummary, ...]
    languages: tuple[str, ...]
    problems: Mapping[str, tuple[Problem, ...]]
    moves: tuple[bool, bool]
    broken: SurveyError | None = None
    notices: tuple[Phrase, ...] = ()
    decisions: tuple[tuple[imports.ImportDecision, ...], ...] = ()
    left_out: tuple[str, ...] = ()
    data: str = ""
    shown: str = ""
    parts: tuple[PartSummary, ...] = ()

    @property
    def seen(self) -> str:
        """The version of the text."""
        return version(self.text)

    @cached_property
    def pairs(self) -> frozenset[frozenset[str]]:
        """The wanted tables of two questions."""
        listed = map(operations.names, operations.tables(self.raw))
        return frozenset(frozenset(each) for each in listed if len(each) == 2)

    @property
    def larger(self) -> tuple[tuple[str, ...], ...]:
        """The wanted tables of three or more questions; in a large survey those of two as well."""
        least = 3 if self.matrix else 2
        listed = map(operations.names, operations.tables(self.raw))
        return tuple(each for each in listed if len(each) >= least)

    @property
    def crossed(self) -> tuple[QuestionSummary, ...]:
        """The questions that can be crossed with others."""
        return tuple(each for each in self.questions if each.id and is_crossed(each.raw))

    @property
    def matrix(self) -> bool:
        """Whether there are few enough questions for a matrix of all pairs."""
        return 2 <= len(self.crossed) <= MOST_PAIRS


def page_of(project: Project, notices: Sequence[Phrase] = ()) -> Page:
    """Read a project for its page. A mistaken survey is shown as far as it can be read."""
    moves = project.can_move()
    document = project.document()
    text = document.text
    decisions = imports.grouped(imports.decisions(document))
    more: dict[str, Any] = {
        "moves": moves,
        "notices": tuple(notices),
        "decisions": decisions,
        "left_out": imports.left_out(text),
        "data": imports.data_name(project),
    }
    try:
        raw = document.content
        for read in (operations.questions, operations.tables, operations.regressions):
            read(raw)
        for kind in operations.PARTS:
            operations.parts(raw, kind)
    except SurveyError as error:
        return Page(text, Fields(), (), (LANGUAGE,), {}, broken=error, **more)
    problems = sorted_problems(raw, _problems(project, raw))
    main = main_language(raw)
    shown = version(repr(raw))
    parts = tuple(_parts(raw, problems, main))
    return Page(
        text,
        Fields.of(raw),
        tuple(_summaries(raw, problems, main)),
        languages_in(raw),
        problems,
        shown=shown,
        parts=parts,
        **more,
    )


def _summaries(raw: Raw, problems: Problems, main: str) -> Iterator[QuestionSummary]:
    whole = operations.whole_questions(raw)
    by_id = {str(each.get("id")): each for each in whole}
    titles = {
        (kind, str(part.get("id"))): _title(kind, part, main)
        for kind in operations.PARTS
        for part in operations.parts(raw, kind)
    }
    pairs = zip(operations.questions(raw), whole, strict=True)
    earlier: list[DecidingQuestion] = []
    for number, (stated, each) in enumerate(pairs, 1):
        condition = operations.condition_of(each)
        names = [(kind, titles.get((kind, str(each.get(kind))), "")) for kind in operations.PARTS]
        there = problems.get(f"question {number}", ())
        yield QuestionSummary(
            number,
            str(each.get("id", "")),
            str(each.get("type", "")),
            in_main(each.get("text"), main),
            summary(each),
            Fields.of(each),
            there,
            Fields.of(stated),
            tuple((kind, title) for kind, title in names if title),
            condition_words(condition, by_id, main) if condition else str(each.get("asked_if", "")),
            condition_form(stated, earlier),
            tuple(filter(is_of_condition, there)),
            "matrix" not in each and fits_matrix(each),
        )
        earlier += deciding([each], main)


def _title(kind: str, part: Raw, main: str) -> str:
    return in_main(part.get("title" if kind == "section" else "text"), main) or str(part.get("id"))


def _parts(raw: Raw, problems: Problems, main: str) -> Iterator[PartSummary]:
    """Yield sections, then matrices, in the order of their questions."""
    whole = operations.whole_questions(raw)
    for kind in operations.PARTS:
        of = [str(each[kind]) if kind in each else "" for each in whole]
        there = operations.parts(raw, kind)
        there.sort(key=lambda part: [*of, str(part.get("id"))].index(str(part.get("id"))))
        for place, part in enumerate(there):
            id = str(part.get("id"))
            first = [*of, id].index(id)
            items = [str(each.get("id")) for each, at in zip(whole, of, strict=True) if at == id]
            yield PartSummary(
                kind,
                id,
                _title(kind, part, main),
                Fields.of(part),
                tuple(items),
                (place == 0, place == len(there) - 1),
                condition_form(part, deciding(whole[:first], main)),
                tuple(
                    problem
                    for number, at in enumerate(of, 1)
                    if at == id and "asked_if" in part
                    for problem in problems.get(f"question {number}", ())
                    if is_of_condition(problem)
                )[:1],
            )


def is_of_condition(problem: Problem) -> bool:
    """Return whether a problem is about the condition of a question."""
    return "asked_if" in problem.path


def _problems(project: Project, raw: Raw) -> tuple[Problem, ...]:
    try:
        survey_in(raw, project.path)
    except SurveyError as error:
        return error.problems
    return ()


Problems = Mapping[str, tuple[Problem, ...]]


def sorted_problems(raw: Raw, problems: Sequence[Problem]) -> dict[str, tuple[Problem, ...]]:
    """Return problems by the part of the page that they are shown in: "question 3", "table",
    "privacy"."""
    numbers = {str(id): number for number, id in enumerate(operations.ids(raw), 1)}
    named: dict[str, tuple[Problem, ...]] = {}
    for problem in problems:
        part = _part(problem, numbers)
        named[part] = (*named.get(part, ()), problem)
    return named


def _part(problem: Problem, numbers: Mapping[str, int]) -> str:
    """Return the part of the page for a problem. numbers: the numbers of the questions, by their
    ids."""
    match problem.path:
        case ("question", int(index), *_):
            return f"question {index + 1}"
        case ("table" | "regression" as root, int(), *_):
            return str(root)
        case (*_, Of(id)) if id in numbers:
            return f"question {numbers[id]}"
        case ("question", "id") if (id := str(problem.arguments.get("value"))) in numbers:
            return f"question {numbers[id]}"
        case (str(root), *_) if root in ("question", *ROOTS, *(each.keys[0] for each in VALUES)):
            return root
    return "survey"


def main_language(raw: Raw) -> str:
    """Return the main language of a survey."""
    language = raw.get("language", LANGUAGE)
    return language if isinstance(language, str) else LANGUAGE


def languages_in(raw: Raw) -> tuple[str, ...]:
    """Return the languages of a survey, its main language first."""
    framing = (*operations.parts(raw, "section"), *operations.parts(raw, "matrix"), page_texts(raw))
    tables = (*operations.questions(raw), *framing)
    tags = {tag for each in tables for words in _all_words(each) for tag in words}
    main = main_language(raw)
    return (main, *sorted(tags - {main}))


def page_texts(raw: Raw) -> Raw:
    """Return the texts before and after the questions."""
    page = raw.get("page")
    return page if isinstance(page, dict) else {}


def _all_words(asked: Raw) -> Iterator[Mapping[str, Any]]:
    labels = asked.get("labels")
    texts = [asked.get(key) for key in ("text", "help", "title", *FRAME)]
    texts += labels.values() if isinstance(labels, dict) else ()
    yield from (each for each in texts if isinstance(each, dict))


# --- operations from forms ------------------------------------------------------------------------


def checked_language(tag: str) -> None:
    """Check the tag of a language. Raises UsageError."""
    try:
        checked_tag(tag)
    except Unfit as error:
        raise UsageError.of("language", "survey.unfit", value=tag, reason=error.reason) from None


def _whole_survey(raw: Raw, form: FormData) -> list[Operation]:
    """Name, language, crowd and privacy."""
    checked_language(text_of(form, "language") or LANGUAGE)
    return value_operations(raw, texts(form))


def _add(raw: Raw, form: FormData) -> list[Operation]:
    """Return a new question, with the fields that its type needs."""
    return [AddQuestion(new_question(form, operations.ids(raw)))]


def _order(_: Raw, form: FormData) -> list[Operation]:
    """Move or remove a question, as its buttons or its handle request."""
    if dragged := str(form.get("moved", "")):
        return [PlaceQuestion(dragged, str(form.get("before", "")))]
    for button, step in (("up", -1), ("down", 1)):
        if button in form:
            return [MoveQuestion(str(form[button]), step)]
    return [RemoveQuestion(str(form.get("remove", "")))]


def _set(raw: Raw, form: FormData) -> list[Operation]:
    """Return everything in the form of an open question that differs from what the page showed."""
    of = str(form.get("of", ""))
    before = operations.existing(raw, of)
    wanted, renamed = changed_question(before, form, main_language(raw), _earlier(raw, of))
    return edits_of_question(raw, of, wanted, renamed)


def edits_of_question(
    raw: Raw, id: str, wanted: Raw, renamed: Mapping[str, str]
) -> list[Operation]:
    """Return the change of a question to the wanted entries; none if nothing differs.

    renamed: answers by their former names, which are renamed wherever they are used.
    """
    now = operations.existing(changed(raw, SetQuestion(id, {}, renamed)), id)
    keys = {**now, **wanted}
    entries = {key: wanted.get(key) for key in keys if wanted.get(key) != now.get(key)}
    return [SetQuestion(id, entries, renamed)] if entries or renamed else []


def _earlier(raw: Raw, id: str) -> list[Raw]:
    """Return the questions before one, with what sections and matrices state for them."""
    return operations.whole_questions(raw)[: operations.ids(raw).index(id)]


def _page(raw: Raw, form: FormData) -> list[Operation]:
    """Return the texts before and after the questions, where they differ."""
    before, wanted = page_texts(raw), {**page_texts(raw)}
    put_words(wanted, form, FRAME, main_language(raw))
    return [
        SetValue(("page", key), wanted.get(key))
        for key in FRAME
        if wanted.get(key) != before.get(key)
    ]


def _tables(raw: Raw, form: FormData) -> list[Operation]:
    """Return the pairs of the matrix, and which tables are there without being listed."""
    there, names = operations.tables(raw), [str(each) for each in operations.ids(raw)]
    places = (tuple(map(_place, str(each).split("-"))) for each in form.getlist("pair"))
    chosen = dict.fromkeys(
        (names[each[0]], names[each[1]])
        for each in places
        if len(each) == 2 and all(0 <= place < len(names) for place in each)
    )
    sets = {frozenset(each) for each in chosen}
    listed = [operations.names(each) for each in there]
    before = [each for each in listed if len(each) == 2]
    before_sets = {frozenset(each) for each in before}
    changes: list[Operation] = [SetValue(("tables",), text_of(form, "tables") or None)]
    if str(form.get("tables", "")) != "pairs" and raw.get("tables") != "pairs":
        added = tuple(each for each in chosen if frozenset(each) not in before_sets)
        removed = tuple(each for each in before if frozenset(each) not in sets)
        changes.append(SetTables(added, removed))
    return changes


def _table(_: Raw, form: FormData) -> list[Operation]:
    """Return a larger table."""
    names = tuple(str(each) for each in form.getlist("q"))
    if len(names) < 2:
        raise UsageError.of("table", "studio.small-table")
    return [SetTables((names,))]


def _no_table(_: Raw, form: FormData) -> list[Operation]:
    return [SetTables((), (tuple(str(each) for each in form.getlist("q")),))]


def _regression(raw: Raw, form: FormData) -> list[Operation]:
    """Return a regression from the builder; one that is changed keeps its other keys."""
    before = _regression_before(raw, form)
    outcome = text_of(form, "outcome")
    on = [*map(str, form.getlist("on")), *lines_of(form, "further")]
    if not outcome or not on:
        raise UsageError.of("regression", "studio.empty-regression")
    after = dict(before or {}) | {"outcome": outcome, "on": list(dict.fromkeys(on))}
    for key in ("family", "penalty"):
        put(after, key, text_of(form, key) or None)
    return [SetRegression(before, after)]


def _no_regression(raw: Raw, form: FormData) -> list[Operation]:
    return [SetRegression(_regression_before(raw, form), None)]


def _regression_before(raw: Raw, form: FormData) -> Raw | None:
    text = text_of(form, "place")
    if not text.isdecimal():
        return None
    place, there = _place(text), operations.regressions(raw)
    if not 0 <= place < len(there):
        raise UsageError.of("regression", "studio.no-such-place", value=text)
    return there[place]


def _place(text: str) -> int:
    """Return the place in a list that a form or an address names; -1 for no number,
    or a long one."""
    return int(text) if text.isdecimal() and len(text) < 10 else -1


ACTIONS: Mapping[str, Callable[[Raw, FormData], list[Operation]]] = {
    "survey": _whole_survey,
    "add": _add,
    "order": _order,
    "set": _set,
    "page": _page,
    **part_forms.ACTIONS,
    "tables": _tables,
    "table": _table,
    "no-table": _no_table,
    "regression": _regression,
    "no-regression": _no_regression,
}
DECIDE = "decide"


def _changed(
    project: Project, form: FormData, view: PageState
) -> tuple[PageState, tuple[Phrase, ...]]:
    """Make the change of a form. Return what is open afterward, and what the change did.

    The form is compared with the version that its fields were filled from; what differs is changed
    in the current version.
    """
    action, seen = str(form.get("do", "")), str(form.get("seen", ""))
    expected = expected_version(form)
    if notice := changed_as_a_whole(project, form):
        return view, (notice,)
    if action not in (*ACTIONS, DECIDE):
        raise UsageError.of("do", "shared.use-one-of", value=action, choices=[*ACTIONS, DECIDE])
    before = project.seen(seen) or project.document()
    decisions = imports.decisions_in(before, form) if action == DECIDE else ()
    if action == DECIDE:
        edits = imports.decided(before.content, form, decisions)
    else:
        edits = ACTIONS[action](before.content, form)
        edits = [_with_former_answers(project, each) for each in edits]
    marks = [(each.comment, each.id) for each in decisions]
    difference = project.change(*edits, expected=expected, marks=marks)
    opened = view.open
    for each in edits:
        if action == "add" and isinstance(each, AddQuestion):
            opened = str(each.entries["id"])
        elif action == "set" and isinstance(each, SetQuestion):
            opened = str(each.entries.get("id", view.open))
    regression = "" if action == "regression" else view.regression
    notices = tuple(notice for each in edits for notice in consequences(each, difference))
    notices += tuple(_answer_notices(edits, form, difference.after.content))
    if len(decisions) > 1:
        notices = (phrase("Decided for {number} columns.", number=len(decisions)), *notices)
    return PageState(opened, regression, view.also), notices


def changed_as_a_whole(project: Project, form: FormData) -> Phrase | None:
    """Undo or redo a change, or save the whole text, if a form requests that. Return what was done;
    None for any other form."""
    action, expected = str(form.get("do", "")), expected_version(form)
    if action in ("undo", "redo"):
        done = project.undo(expected) if action == "undo" else project.redo(expected)
        notice = phrase("Undone.") if action == "undo" else phrase("Redone.")
        return notice if done else phrase("There is nothing to undo or redo.")
    if action == "text":
        text = with_ends(project, str(form.get(TOML_FIELD, "")))
        project.save(text, expected=str(form.get("insist") or form.get("seen", "")))
        return phrase("The text was saved.")
    return None


MOST_SEARCHED = 200  # versions


def _with_former_answers(project: Project, edit: Operation) -> Operation:
    """Give a question whose type changes the answers that it had when it last had that type."""
    now = project.document().content
    before = operations.question(now, edit.id) if isinstance(edit, SetQuestion) else None
    if not isinstance(edit, SetQuestion) or not before or "type" not in edit.entries:
        return edit
    kind = edit.entries["type"]
    if are_alike(edit.entries, before):
        return edit
    for each in islice(project.history(), MOST_SEARCHED):
        with suppress(SurveyError):
            former = operations.question(each.content, edit.id)
            if former and former.get("type") == kind:
                keys = [key for key in answer_keys() if key in {**before, **edit.entries, **former}]
                entries = {**edit.entries, **{key: former.get(key) for key in keys}}
                return replace(edit, entries=entries)
    return edit


def with_ends(project: Project, text: str) -> str:
    """Return a text from a form, whose lines end as those of the file do."""
    return text.replace("\n", "\r\n") if "\r\n" in project.text() else text


def consequences(change: Operation, difference: Changed) -> Iterator[Phrase]:
    """Yield what a change did, in sentences; first what was asked for,
    then what followed from it."""
    before, after = difference.before.content, difference.after.content
    if isinstance(change, RemoveQuestion):
        title = titles_in(before)[change.id]
        yield phrase("“{title}” was removed.", title=title)
    if isinstance(change, MoveQuestion | PlaceQuestion):
        yield _place_notice(change.id, after)
    if isinstance(change, SetQuestion | SetPart):
        yield from _condition_notices(change, before, after)
    if not isinstance(change, RemoveQuestion | SetQuestion):
        return
    reads = ((operations.tables, _table_name), (operations.regressions, _formula))
    for read, about in reads:
        now = [about(each) for each in read(after)]
        for name in (about(each) for each in read(before)):
            if name in now:
                continue
            if isinstance(change, RemoveQuestion):
                yield phrase("This referred to it and was removed or shortened: {name}.", name=name)
            else:
                yield phrase("This refers to it and was adjusted: {name}.", name=name)


def _place_notice(id: str, content: Raw) -> Phrase:
    """Return where a question is now."""
    there = operations.ids(content)
    numbers = {"number": there.index(id) + 1, "total": len(there)}
    title = titles_in(content)[id]
    return phrase("“{title}” is number {number} of {total}.", title=title, **numbers)


def _answer_notices(edits: Sequence[Operation], form: FormData, after: Raw) -> Iterator[Phrase]:
    """Yield where the answer is that a form moves."""
    name = text_of(form, f"option.{moved_row(form)}")
    for each in edits:
        if name and isinstance(each, SetQuestion):
            asked = operations.existing(after, str(each.entries.get("id", each.id)))
            listed = operations.answers(asked)
            if name in listed:
                numbers = {"number": listed.index(name) + 1, "total": len(listed)}
                yield phrase("“{answer}” is answer {number} of {total}.", answer=name, **numbers)


def _condition_notices(change: SetQuestion | SetPart, before: Raw, after: Raw) -> Iterator[Phrase]:
    """Yield which conditions of others were adjusted, and which no longer fit."""
    new = str(change.entries.get("id", change.id))
    if isinstance(change, SetQuestion):
        changed_ids = [new]
    else:
        whole = operations.whole_questions(after)
        changed_ids = [str(each.get("id")) for each in whole if each.get(change.kind) == change.id]
    former = {_named(each, change.id, new): each for each in operations.conditional(before)}
    answers = {each.id: each for each in deciding(operations.whole_questions(after), "")}
    for each in operations.conditional(after):
        name, text = str(each.get("id")), each["asked_if"]
        if name == new:
            continue
        if name in former and text != former[name]["asked_if"]:
            yield phrase("This refers to it and was adjusted: {name}.", name=f"{name}: {text}")
        condition = operations.condition_of(each)
        compared = comparisons(condition) if condition else ()
        if any(
            one.question in changed_ids
            and not (one.question in answers and answers[one.question].decides(one))
            for one in compared
        ):
            yield phrase("This no longer fits: {name}.", name=f"{name}: {text}")


def _named(table: Raw, old: str, new: str) -> str:
    return new if table.get("id") == old else str(table.get("id"))


def _table_name(table: Raw) -> str:
    return " × ".join(operations.names(table))


def _formula(formula: Raw) -> str:
    on = formula.get("on")
    return f"{formula.get('outcome')} ~ {' + '.join(map(str, on if isinstance(on, list) else ()))}"


# --- responses ------------------------------------------------------------------------------------


async def show(studio: Studio, request: Request) -> Response:
    """Return the page, or its content if a part of it is opened or closed. A survey of interviews
    has a page of its own."""
    if studio.any_project(request).has_interviews:
        return RedirectResponse(f"/p/{request.path_params['name']}/interview", 303)
    project = studio.project(request)
    page = await asyncio.to_thread(page_of, project)
    return _rendered(studio, request, project, page, PageState.of(request.query_params))


async def change(studio: Studio, request: Request) -> Response:
    """Make a change, and show the page with it."""
    project = studio.project(request)
    form = await form_of(request)
    view = PageState.of(form)
    try:
        view, notices = await asyncio.to_thread(_changed, project, form, view)
    except ConflictError as error:
        return conflict(request, project, form, view.address(project), error)
    if not is_fragment(request):
        return RedirectResponse(view.address(project), 303)
    page = await asyncio.to_thread(page_of, project, notices)
    response = _rendered(studio, request, project, page, view)
    response.headers["HX-Replace-Url"] = view.address(project)
    return response


def conflict(
    request: Request, project: Project, form: FormData, address: str, error: ConflictError
) -> Response:
    """Return both values, and the choice between them. The input stays in its fields.

    address: of the page with the current version.
    """
    return render(
        request,
        "design_conflict.html" if is_fragment(request) else "design_conflict_page.html",
        status=409,
        project=project,
        problems=lines(error, language_of(request)),
        entered=[(key, str(value)) for key, value in form.multi_items() if key != "insist"],
        at=error.version,
        address=address,
    )


def _rendered(
    studio: Studio, request: Request, project: Project, page: Page, view: PageState
) -> Response:
    also = tuple(tag for tag in view.also if tag not in page.languages)
    shown = operations.regressions(page.raw)
    privacy = page.raw.get("privacy")
    place = _place(view.regression)
    titles = titles_in(page.raw)
    response = render(
        request,
        "design_body.html" if is_fragment(request) else "design.html",
        project=project,
        page=page,
        versions=versions_of(studio.projects, project),
        view=view,
        tags=(*page.languages, *also),
        also=" ".join(also),
        types=TYPES,
        noise_kinds=NOISE_KINDS,
        shown_form=shown_form,
        new_inputs=new_inputs(),
        predicts=predicts,
        codes=codes_of,
        operators=OPERATORS,
        frame=Fields(page_texts(page.raw)),
        raw=page.raw,
        privacy=Fields(privacy if isinstance(privacy, dict) else {}),
        regressions=[
            (each, formula_title(each.get("outcome"), each.get("on"), titles)) for each in shown
        ],
        formula=Fields.of(shown[place] if 0 <= place < len(shown) else {}),
        place=place if 0 <= place < len(shown) else "",
        variable_title=lambda name: variable_title(name, titles),
        outcomes=[name for each in page.questions for name in outcomes(each.raw)],
        job=imports.check_of(studio, project),
        fragment=is_fragment(request),
        words=words_in,
        untranslated=untranslated(page.raw, (*page.languages, *also)),
        condition_effect=_effect(project, page, view.open, language_of(request)),
        titles=titles,
        table_name=lambda ids: table_title(ids, titles),
        about=partial(_about, page),
        has_pair=lambda one, other: frozenset((one, other)) in page.pairs,
        seen=page.seen,
        typed=people_values(page.raw),
        strata=stratum_fields(page.raw),
        sizes=_has_sizes(page.raw),
        percent=percent_text,
    )
    return with_version(response, page.seen)


def _has_sizes(raw: Raw) -> bool:
    """Return whether the survey states how many people are invited in each group."""
    people = raw.get(PEOPLE)
    return isinstance(people, dict) and bool(people.get("groups"))


async def expected(studio: Studio, request: Request) -> Response:
    """Return how many people will answer, and how precise the tables will be then: an estimate."""
    project, language = studio.project(request), language_of(request)

    def summary() -> PeopleSummary:
        from incrowd.planner.outlook import estimate  # slow to load
        from incrowd.studio.data_shares import charted

        survey = project.survey()
        return people_summary(survey, estimate(charted(project, survey)), language)

    try:
        parts: dict[str, Any] = {"summary": await asyncio.to_thread(summary)}
    except IncrowdError as error:
        parts = {"summary": None, "problems": lines(error, language)}
    return render(request, "design_expected.html", project=project, **parts)


MOST_FORECAST = 60  # questions of a survey whose precision is estimated while it is designed


def _effect(project: Project, page: Page, id: str, language: str) -> Phrase | None:
    """Return how precise the answers to a question with a condition will be; None if that is not
    known, or takes long."""
    asked = next((each for each in page.questions if each.id == id), None)
    if page.problems or not asked or not asked.condition or len(page.questions) > MOST_FORECAST:
        return None
    # Here, so that the studio starts without loading what plans.
    from incrowd.planner.outlook import estimate
    from incrowd.studio.interval_figures import asked_words

    with suppress(IncrowdError):
        tables = estimate(survey_in(page.raw, project.path)).tables
        alone = (each.forecast for each in tables if tuple(each.questions) == (id,))
        return next((asked_words(each, language) for each in alone), None)
    return None


def _about(page: Page, *parts: str) -> list[Problem]:
    """Return the problems of some parts of the survey."""
    return [each for part in parts for each in page.problems.get(part, ())]
