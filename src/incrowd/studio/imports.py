"""Surveys from data and questionnaires, and what is left to decide about them.

The draft is that of `incrowd init`. Its open decisions are comments in the survey file: the page
shows them as a list, and a decision removes its comment.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pyarrow as pa
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.drafts.columns import DraftQuestion
from incrowd.drafts.data import draft, draft_of
from incrowd.encoding.answers import load_data
from incrowd.encoding.sources import certain_encoding, codec, source_of
from incrowd.errors import IncrowdError, SurveyError, UsageError
from incrowd.files import PRIVATE, write_text
from incrowd.sampling.check import AnswersCheck, check
from incrowd.studio.document import Comment, Operation, Raw, SurveyDocument, version
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.names import within
from incrowd.studio.operations import SetQuestion, existing
from incrowd.studio.pages import (
    Studio,
    chosen_file,
    expected_version,
    form_of,
    is_fragment,
    render,
    route,
)
from incrowd.studio.projects import STUDIO, Project, Projects
from incrowd.studio.work import Job
from incrowd.survey import Number, Survey

READING = f"{STUDIO}/reading.json"  # in a project: how its data are read, if not as usual
DATA = "data"  # the name of the file of data in a project, before its ending
MOST_BYTES = 256 << 20
MOST_UNPACKED = 2 * MOST_BYTES
PIECE = 1 << 20
COMPRESSED = (".gz", ".zst", ".bz2")


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of imports, and of the check of data."""
    return [
        route(studio, "/import", upload, methods=("POST",)),
        route(studio, "/p/{name}/design/check", start_check, methods=("POST",)),
        route(studio, "/p/{name}/design/check", show_check, methods=("GET",)),
        route(studio, "/p/{name}/design/edges", take_edges, methods=("POST",)),
    ]


# --- a new project from a file --------------------------------------------------------------------


async def upload(studio: Studio, request: Request) -> Response:
    """Begin a survey from a file. Nothing is left behind if it cannot be read: the form is shown
    again, with what was typed."""
    async with request.form(max_files=1) as form:
        typed = {key: str(form.get(key, "")).strip() for key in ("encoding", "sheet")}
        with studio.projects.temporary() as folder:
            try:
                file = chosen_file(form)
                path = folder / "upload" / base_name(file.filename or "")
                path.parent.mkdir()
                await copy_upload(file, path)
                options = {key: text or None for key, text in typed.items()}
                await asyncio.to_thread(check_unpacked, path)
                project = await asyncio.to_thread(imported, studio.projects, path, **options)
            except IncrowdError as error:
                named = [within(each, folder / "upload") for each in error.problems]
                parts = {"problems": named, "typed": typed}
                return render(request, "import_failed.html", status=422, **parts)
    return RedirectResponse(f"/p/{project.name}/design", 303)


def base_name(name: str) -> str:
    """Return the name of an uploaded file without folders. Raises UsageError for one that is no
    name."""
    base = PureWindowsPath(PurePosixPath(name).name).name.replace("\0", "")
    if base.strip(". ") == "" or len(base.encode()) > 200:
        raise UsageError.of("file", "studio.no-file-name", name=name)
    return base


async def copy_upload(file: UploadFile, path: Path) -> None:
    """Write an uploaded file that only this user can read. Raises UsageError if it is too long."""
    path.touch(mode=PRIVATE)
    size = 0
    with path.open("wb") as copy:
        while piece := await file.read(PIECE):
            size += len(piece)
            if size > MOST_BYTES:
                code = "studio.too-long-for-studio"
                raise UsageError.of(path.name, code, mebibytes=MOST_BYTES >> 20)
            copy.write(piece)


def check_unpacked(path: Path) -> None:
    """Check how long a compressed text file is. Raises UsageError for one that would fill the
    memory; files of binary formats are read within limits."""
    size = 0
    with suppress(OSError), path.open("rb") as file:  # damaged: the reader says so
        if kind := codec(file.read(8)):
            with pa.input_stream(str(path), compression=kind) as unpacked:
                while size <= MOST_UNPACKED and (piece := unpacked.read(PIECE)):
                    size += len(piece)
    if size > MOST_UNPACKED:
        most = MOST_UNPACKED >> 20
        raise UsageError.of(path.name, "studio.too-long-unpacked", mebibytes=most)


def imported(
    projects: Projects, path: Path, *, encoding: str | None = None, sheet: str | None = None
) -> Project:
    """Return a new project from a file of answers, a questionnaire or a survey. The file of answers
    is moved into the project. Raises AnswersError or SurveyError for a file that cannot be used."""
    if path.suffix.lower() == ".toml":
        text = _survey_text(path)
        raw = SurveyDocument(text).content
        check_options_files(raw)
        name = raw.get("name")
        return projects.create(name if isinstance(name, str) and name.strip() else path.stem, text)
    encoding = encoding or certain_encoding(path)
    written = draft(path, encoding=encoding, sheet=sheet)
    files = {} if written.people is None else {f"{DATA}{ending(path.name)}": path}
    if files and (encoding or sheet):
        files[READING] = path.with_name(f"{path.name}.reading")
        write_text(files[READING], json.dumps({"encoding": encoding, "sheet": sheet}))
    return projects.create(written.name, written.toml, files)


def check_options_files(raw: Raw) -> None:
    """Raise SurveyError if a survey reads a file outside of its folder: it may be a stranger's."""
    questions = raw.get("question")
    for each in questions if isinstance(questions, list) else ():
        name = each.get("options_file") if isinstance(each, dict) else None
        if isinstance(name, str) and (Path(name).is_absolute() or ".." in Path(name).parts):
            raise SurveyError.of("options_file", "studio.options-elsewhere", name=name)


def _survey_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SurveyError.of(path.name, "studio.not-utf-8") from None


def ending(name: str) -> str:
    """Return the ending of a file of data: two parts if it is compressed."""
    *_, before, last = ("", "", *Path(name).suffixes)
    return f"{before}{last}" if last.lower() in COMPRESSED else last


def data_path(project: Project) -> Path | None:
    """Return the file of data in a project, or None."""
    there = sorted(project.path.glob(f"{DATA}.*"))
    return there[0] if there else None


def reading(data: Path) -> dict[str, str | None]:
    """Return the encoding and the sheet that the data of a project were imported with."""
    try:
        stated = json.loads((data.parent / READING).read_text(encoding="utf-8"))
        return {key: stated[key] for key in ("encoding", "sheet")}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def data_name(project: Project) -> str:
    """Return the name of the file of data in a project, or ""."""
    path = data_path(project)
    return path.name if path else ""


# --- decisions ------------------------------------------------------------------------------------

_DECIDE = re.compile(r"DECIDE: (.*)$")
_TAKEN = re.compile(r"(.+) was taken to mean no answer")
_SPIKE = re.compile(r"(\S+) occurs in [\d,]+ rows, far from all other numbers")
_FEW = re.compile(r"if .+ are codes, name the options")
_LEFT_OUT = "# Columns that were left out:"


class DecisionAnswer(NamedTuple):
    """A button below a decision: its label, and what it does to the question."""

    label: Phrase
    value: str


@dataclass(frozen=True)
class ImportDecision:
    """Something that the data do not show. comment: what it is marked with in the file. id: the
    question that it is about, or "". code: a code that it is about, or ""."""

    comment: str
    text: str
    id: str
    code: str
    answers: tuple[DecisionAnswer, ...]

    @property
    def kind(self) -> tuple[str, tuple[DecisionAnswer, ...]]:
        """The kind of decisions that can be made together."""
        return self.code or self.text, self.answers


def decisions(document: SurveyDocument) -> tuple[ImportDecision, ...]:
    """Return the open decisions that are marked in a survey file."""
    try:
        marked = [(each, _DECIDE.search(each.text)) for each in document.comments()]
    except (ValueError, LookupError):  # not TOML: the page says so
        return ()
    return tuple(_decision(each, mark[0], mark[1]) for each, mark in marked if mark)


def _decision(comment: Comment, mark: str, text: str) -> ImportDecision:
    shown, id = comment.text if comment.text == f"# {mark}" else mark, comment.id
    text = text.removesuffix(".")
    done = DecisionAnswer(phrase("Done"), "done")
    if taken := _TAKEN.fullmatch(text):
        answers = (
            DecisionAnswer(phrase("Yes, no answer"), "done"),
            DecisionAnswer(phrase("No, it is an answer"), "answer"),
        )
        return ImportDecision(shown, text, id, taken[1], answers)
    if spike := _SPIKE.match(text):
        answers = (
            DecisionAnswer(phrase("It means no answer"), "missing"),
            DecisionAnswer(phrase("It is a number"), "done"),
        )
        return ImportDecision(shown, text, id, spike[1], answers)
    if _FEW.match(text):
        answers = (
            DecisionAnswer(phrase("They are amounts"), "amounts"),
            DecisionAnswer(phrase("They are answers"), "done"),
        )
        return ImportDecision(shown, text, id, "", answers)
    beside = f"{comment.beside}: " if comment.beside else ""
    return ImportDecision(shown, f"{beside}{text}", id, "", (done,))


def left_out(text: str) -> tuple[str, ...]:
    """Return the columns that a draft left out, with the reasons."""
    _, mark, after = text.partition(_LEFT_OUT)
    lines = (line for line in after.splitlines() if mark and line.startswith('# "'))
    return tuple(line.removeprefix("# ") for line in lines)


def grouped(every: Sequence[ImportDecision]) -> tuple[tuple[ImportDecision, ...], ...]:
    """Return the decisions in groups that can be made together,
    in the order of their first ones."""
    groups: dict[Any, list[ImportDecision]] = {}
    for each in every:
        groups.setdefault(each.kind, []).append(each)
    return tuple(map(tuple, groups.values()))


def decisions_in(document: SurveyDocument, form: FormData) -> tuple[ImportDecision, ...]:
    """Return the decisions that a form makes: the one that it names, or all that are like it in the
    document that the page showed."""
    id, code, comment = (str(form.get(key, "")) for key in ("of", "code", "comment"))
    every = decisions(document)
    if "all" in form:
        of = next((each.kind for each in every if (each.id, each.comment) == (id, comment)), None)
        alike = tuple(each for each in every if each.kind == of)
        if not alike:
            raise UsageError.of("decision", "studio.decided", comment=comment)
        return alike
    return (ImportDecision(comment, "", id, code, ()),)


def decided(raw: Raw, form: FormData, every: Sequence[ImportDecision]) -> list[Operation]:
    """Return the operations that carry out decisions."""
    answer = str(form.get("answer", ""))
    if answer == "done":
        return []
    return [_decided(raw, each.id, each.code, answer) for each in every]


def _decided(raw: Raw, id: str, code: str, answer: str) -> Operation:
    asked = existing(raw, id)
    codes = asked.get("missing")
    there = [str(each) for each in codes] if isinstance(codes, list) else []
    if answer == "missing":
        entries: Raw = {"missing": list(dict.fromkeys([*there, code])), "optional": True}
        return SetQuestion(id, entries)
    if answer == "answer":
        left = [each for each in there if each != code]
        return SetQuestion(id, {"missing": left or None})
    if answer == "amounts":
        return SetQuestion(id, _amounts(asked))
    raise UsageError.of("answer", "studio.no-button", value=answer)


def _amounts(asked: Raw) -> Raw:
    """Return a choice of whole numbers as a number with a range for each of them."""
    try:
        edges = sorted({int(str(each)) for each in asked.get("options") or ()})
    except ValueError:
        options = asked["options"]
        raise UsageError.of("options", "studio.no-whole-numbers", value=options) from None
    nothing = dict.fromkeys(("options", "labels", "shares", "values"))
    return {"type": Number.type_name(), "edges": edges, **{k: None for k in nothing if k in asked}}


# --- what the data show ---------------------------------------------------------------------------


class CheckedAnswers(NamedTuple):
    """The result of a check, and the version of the survey that was checked."""

    version: str
    check: AnswersCheck


def check_work(progress: Any, survey_path: Path, data: Path, id: str) -> CheckedAnswers:
    """Check the data of a project against its survey."""
    text = survey_path.read_bytes().decode()
    progress("reading the data")
    survey = Survey.load(survey_path)
    return CheckedAnswers(version(text), check(survey, data, id=id or None, **reading(data)))


def check_of(studio: Studio, project: Project) -> Job | None:
    """Return the last check of the data of a project."""
    return studio.jobs.get((project.path, "check"))


async def start_check(studio: Studio, request: Request) -> Response:
    """Start a check of the data."""
    project = studio.project(request)
    form = await form_of(request)
    data = data_path(project)
    if data is None:
        raise UsageError.of("data", "studio.no-data")
    arguments = (project.survey_path, data, str(form.get("person", "")).strip())
    studio.jobs.start((project.path, "check"), check_work, *arguments)
    if not is_fragment(request):
        return RedirectResponse(f"/p/{project.name}/design#check", 303)
    return await show_check(studio, request)


async def show_check(studio: Studio, request: Request) -> Response:
    """Return the state of the check, or its findings."""
    project = studio.project(request)
    return render(
        request,
        "import_check.html",
        project=project,
        job=check_of(studio, project),
        seen=version(project.text()),
    )


def edges_from_data(data: Path, id: str) -> Sequence[float | int]:
    """Return ranges with about equally many people, as a draft has them. Raises UsageError if the
    column is not there, or holds too few different numbers."""
    stated = reading(data)
    source = source_of(data, None, stated.get("encoding"), stated.get("sheet"))
    columns = draft_of("", load_data(source)).columns
    column = next((each for each in columns if each.id == id), None)
    if column is None:
        raise UsageError.of("column", "studio.no-column", id=id)
    edges = column.keys.get("edges") if isinstance(column, DraftQuestion) else None
    if not edges:
        raise UsageError.of("column", "studio.few-numbers", id=id)
    return list(edges)


async def take_edges(studio: Studio, request: Request) -> Response:
    """Give a question the ranges that the data suggest."""
    project = studio.project(request)
    form = await form_of(request)
    id, data = str(form.get("of", "")), data_path(project)
    if data is None:
        raise UsageError.of("data", "studio.no-data")
    edges = await asyncio.to_thread(edges_from_data, data, id)
    edit, expected = SetQuestion(id, {"edges": edges}), expected_version(form)
    await asyncio.to_thread(project.change, edit, expected=expected)
    return RedirectResponse(f"/p/{project.name}/design?{urlencode({'open': id})}", 303)
