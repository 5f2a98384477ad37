"""What is said where a survey is designed in the studio, imported, and previewed."""

import asyncio
from types import SimpleNamespace
from unittest import mock

from starlette.datastructures import FormData

from incrowd.studio import design, imports, pages, pasting, published_versions
from incrowd.studio.document import SurveyDocument, apply, version
from incrowd.studio.operations import (
    AddQuestion,
    MoveQuestion,
    RemoveQuestion,
    SetQuestion,
    SetRegression,
    SetValue,
)
from incrowd.studio.preview import preview_of
from incrowd.studio.projects import Project, Projects
from incrowd.studio.questionnaire import AddMatrix, RemovePart
from incrowd.studio.work import Jobs

TEXT = """\
name = "Health"
crowd = 1000

[privacy]
epsilon = 1.0

[[question]]
id = "smokes"
type = "yesno"

[[question]]
id = "drinks"
type = "choice"
options = ["wine", "beer"]
"""
CONDITIONAL = TEXT.replace('type = "choice"', 'type = "choice"\nasked_if = "smokes = yes"')
ROWS = "smokes,drinks\n" + "yes,wine\nno,beer\n" * 20


def project(folder, text=TEXT):
    return Projects(folder).create("Health", text)


def action(do, **fields):
    """What a form of the page says."""

    def changing(folder):
        of = project(folder)
        form = FormData({"do": do, "seen": version(TEXT), **fields})
        return design._changed(of, form, design.PageState())

    return changing


def change(operation, text=TEXT):
    return lambda _: apply(SurveyDocument(text), operation)


def late(first, second):
    """Two windows: the second one shows an older version."""

    def changing(folder):
        of = project(folder)
        of.change(first, expected=version(TEXT))
        of.change(second, expected=version(TEXT))

    return changing


def saved_late(folder):
    project(folder).save("", expected=version(""))


def seen_never(folder):
    project(folder).change(SetValue(("crowd",), 2), expected=version("x"))


def published(folder):
    of = project(folder)
    (of.path / "shuffler").mkdir()
    (of.path / "shuffler" / "bundle.json").touch()
    return of


def changed_late(folder):
    published(folder).change(SetValue(("crowd",), 2), expected=version(TEXT))


def restored(folder):
    published(folder)
    studio = SimpleNamespace(projects=Projects(folder), project=lambda _: project(folder))
    asyncio.run(published_versions.restore(studio, request()))


def not_utf8(folder):
    of = project(folder)
    of.survey_path.write_bytes(b"\xff")
    of.text()


def request(**form):
    """In the place of a request: what handlers take from it."""

    async def awaited():
        return FormData(form)

    class Form:
        def __await__(self):
            return awaited().__await__()

        async def __aenter__(self):
            return form

        async def __aexit__(self, *_):
            return None

    return SimpleNamespace(form=lambda **_: Form(), path_params={"name": "health"}, headers={})


def handled(handler, **form):
    """What the handler of a request says."""

    def handling(folder):
        project(folder)
        studio = pages.Studio(Projects(folder), Jobs())
        asyncio.run(handler(studio, request(**form)))

    return handling


def file(name, content):
    def importing(folder):
        path = folder / name
        path.write_bytes(content)
        return imports.imported(Projects(folder), path)

    return importing


def edges(id):
    def reading(folder):
        path = folder / "data.csv"
        path.write_text(ROWS)
        return imports.edges_from_data(path, id)

    return reading


def too_long(folder):
    async def read(_):
        return b"x"

    with mock.patch.object(imports, "MOST_BYTES", 0):
        asyncio.run(imports.copy_upload(SimpleNamespace(read=read), folder / "answers.csv"))


def preview(text=TEXT, seen=""):
    return lambda folder: preview_of(project(folder, text), seen or version(text), "http://[::1]")


OPTIONS_FILE = TEXT.replace('options = ["wine", "beer"]', 'options_file = "drinks.txt"')
QUESTION_LIST = 'question = [{ id = "a", type = "yesno" }, { id = "b", type = "yesno" }]\n'
CASES = {
    "survey: no language": action("survey", name="A", language="not one"),
    "add: no type": action("add", text="What?"),
    "add: an unknown type": action("add", type="matrix", text="What?"),
    "add: edges that are no numbers": action("add", type="number", edges="a few"),
    "add: a name that is taken": change(AddQuestion({"id": "smokes", "type": "yesno"})),
    "set: a question that is not there": action("set", of="wine"),
    "set: no short name": action("set", of="smokes", type="yesno"),
    "set: a name that is taken": change(SetQuestion("smokes", {"id": "drinks"})),
    "remove: a question that is not there": change(RemoveQuestion("wine")),
    "remove: a question that decides": change(RemoveQuestion("smokes"), CONDITIONAL),
    "move: before a question that decides": change(MoveQuestion("drinks", -1), CONDITIONAL),
    "section: without questions": action("add-section", title="You"),
    "section: one that is not there": action("part", kind="section", of="you"),
    "section: to be dissolved, but not there": change(RemovePart("section", "you")),
    "section: not a part": action("part-order", kind="page", up="you"),
    "matrix: of nothing": action("add-matrix", text="How?"),
    "matrix: of unlike questions": change(
        AddMatrix({"id": "m", "text": "How?"}, questions=("smokes", "drinks"))
    ),
    "table: of one question": action("table", q="smokes"),
    "regression: on nothing": action("regression", outcome="smokes"),
    "regression: a number that is too large": action("no-regression", place="3"),
    "regression: one that is not there": change(SetRegression({"outcome": "smokes"}, None)),
    "an action that is not known": action("guess"),
    "text: questions that are no tables": change(RemoveQuestion("a"), "question = 3\n"),
    "text: no TOML": change(SetValue(("crowd",), 2), "crowd = "),
    "text: a list that cannot be changed": change(
        SetQuestion("a", {"text": "x"}), QUESTION_LIST + "[table]\n[table.a]\n[other]\n[table.b]\n"
    ),
    "conflict: what was changed": late(SetValue(("crowd",), 2), SetValue(("crowd",), 3)),
    "conflict: the text": saved_late,
    "conflict: a version that is not there": seen_never,
    "paste: no question": lambda folder: pasting.pasted_questions(Projects(folder), "Hello."),
    "paste: nothing chosen": lambda folder: pasting.inserted(project(folder), (), version(TEXT)),
    "published: changed": changed_late,
    "published: restored": restored,
    "project: not UTF-8": not_utf8,
    "project: no file": lambda folder: Project(folder).text(),
    "project: not there": lambda folder: Projects(folder).open("wine"),
    "project: no name": lambda folder: Projects(folder).create(" ", TEXT),
    "import: no file": lambda _: pages.chosen_file({}),
    "import: a file elsewhere": lambda _: imports.check_options_files(
        {"question": [{"options_file": "../secret"}]}
    ),
    "import: no name": lambda _: imports.base_name("..."),
    "import: too long": too_long,
    "import: a survey that is not UTF-8": file("survey.toml", b"\xff"),
    "decision: a question that is not there": action("decide", of="wine", answer="missing"),
    "decision: no longer open": action("decide", of="smokes", code="9", answer="done", all="1"),
    "decision: not a button": action("decide", of="smokes", answer="perhaps"),
    "decision: amounts that are not": action("decide", of="drinks", answer="amounts"),
    "check: no data": handled(imports.start_check),
    "edges: no data": handled(imports.take_edges),
    "edges: no column": edges("wine"),
    "edges: no numbers": edges("drinks"),
    "preview: a version that is not there": preview(seen="0" * 64),
    "preview: a file of options that is not there": preview(OPTIONS_FILE),
}
