"""The rules of the house: who may import whom, what is public, what is documented."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import incrowd
import reproduction
from incrowd import accountant, interviews
from incrowd.survey.questions import TYPES
from tests.oracles import public_names
from tests.oracles.source import tree_of, walk

SOURCE = Path(incrowd.__file__).parent
AUDIT = Path(reproduction.__file__).parent  # of the papers; outside of the package
PACKAGES = (SOURCE, AUDIT)
LEVELS = [
    {"characters", "methods", "catalog", "version"},
    {"errors"},
    {"files", "views", "arguments"},
    {"accountant", "kernels"},
    {"number_text"},
    {"survey"},
    {"plans"},
    {"guarantees"},
    {"encoding"},
    {"reports", "drafts"},
    {"sampling"},
    {"estimation"},
    {"interviews"},
    {"planner"},
    {"verification", "simulation"},
    {"presentation"},
    {"collection"},
    {"studio"},
    {"cli"},
    {"__main__"},
    {"reproduction"},
]
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}


def imported_modules(tree: ast.AST) -> list[str]:
    """Every module of ours imported anywhere in a file, also inside functions."""
    found = []
    for node in walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.split(".")[0] in ("incrowd", "reproduction")]


@cache
def imports_of(file: Path) -> list[str]:
    return imported_modules(tree_of(file.read_text()))


def room(module: str) -> str:
    parts = module.split(".")
    if parts[0] == "reproduction":
        return parts[0]
    return parts[1] if len(parts) > 1 and parts[1] in LEVEL else "incrowd"


def violations(importer: str, imported: list[str]) -> list[tuple[str, str]]:
    """The imports that do not go down; `incrowd` itself stands for the public names."""
    own = room(importer)
    return [
        (importer, name)
        for name in imported
        if (other := room(name)) != own
        and (LEVEL["cli"] if other == "incrowd" else LEVEL[other] + 1) > LEVEL[own]
    ]


def module_files() -> list[Path]:
    return [
        file for home in PACKAGES for file in home.rglob("*.py") if file != SOURCE / "__init__.py"
    ]


def module_name(file: Path) -> str:
    home = next(home for home in PACKAGES if file.is_relative_to(home))
    parts = file.relative_to(home.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_room_has_a_level():
    rooms = {file.name.removesuffix(".py") for file in SOURCE.iterdir()}
    assert rooms - {"__init__", "__init__.pyi", "__pycache__", "py.typed"} <= set(LEVEL)


def test_imports_go_downwards():
    for file in module_files():
        assert violations(module_name(file), imports_of(file)) == []


def test_the_rule_rejects_upward_sideways_and_hidden_imports():
    hidden = ast.parse("def f():\n    from incrowd.planner.plan import plan\n")
    assert violations("incrowd.survey", imported_modules(hidden))
    assert violations("incrowd.encoding.records", ["incrowd.reports.moments"])
    assert violations("incrowd.accountant.numerics.lattice", ["incrowd.survey.Survey"])
    assert violations("incrowd.planner.plan", ["incrowd.plan.Plan", "incrowd.estimate"])
    assert violations("incrowd.cli.app", ["reproduction.command.app"])
    assert not violations("incrowd.reports.moments", ["incrowd.reports.collection.Collection"])
    assert not violations("reproduction.ratio_law", ["incrowd.accountant.numerics.lattice.Lattice"])


def test_no_cycles_between_modules():
    names = {module_name(f): f for f in module_files()}
    graph = {
        name: {
            target
            for imported in imports_of(file)
            if (target := imported if imported in names else imported.rpartition(".")[0]) in names
            and target != name
        }
        for name, file in names.items()
    }
    while leaves := [name for name, targets in graph.items() if not targets & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert graph == {}


def test_public_names_are_sorted_loadable_and_documented():
    assert list(incrowd.__all__) == sorted(incrowd.__all__)
    assert set(incrowd.__all__) == set(incrowd._HOMES)
    for name in incrowd.__all__:
        assert getattr(incrowd, name).__doc__, name
        assert getattr(incrowd, name).__module__.split(".")[0] == "incrowd", name


def test_the_stub_and_the_page_of_python_have_the_public_names():
    """If not, `python -m tests.oracles.public_names` writes them."""
    assert public_names.STUB.read_text() == public_names.stub()
    assert public_names.STUB_OF_ACCOUNTANT.read_text() == public_names.stub_of_accountant()
    assert public_names.STUB_OF_INTERVIEWS.read_text() == public_names.stub_of_interviews()
    text = public_names.PAGE.read_text()
    assert text == public_names.page(text)
    fewer = text.replace("::: incrowd.correlate\n\n", "")
    assert fewer != text == public_names.page(fewer)
    assert incrowd._HOMES["correlate"] == "incrowd.estimation.correlate"


def test_packages_and_public_names_do_not_hide_each_other():
    assert not LEVEL.keys() & set(incrowd.__all__)
    modules = {file.stem for file in (SOURCE / "interviews").glob("*.py")}
    assert not modules & set(interviews.__all__)
    code = "import incrowd.plans; incrowd.plans.Plan; from incrowd import plan; plan.__code__"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_is_light():
    heavy = "numpy scipy pyarrow pydantic altair rich numba"
    code = f"import incrowd, sys; print([m for m in {heavy.split()} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


TYPE_NAME = re.compile("_?[A-Z]([a-z].*)?")  # a constant has capitals only
TYPE_VARIABLES = ("TypeVar(", "ParamSpec(")  # their names are conventions: T, R, P


def type_names(tree: ast.AST) -> list[str]:
    """The classes that a module defines, its aliases, and types that it imports as another name."""
    names = []
    for node in walk(tree):
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            assigned = not ast.unparse(node.value).startswith(TYPE_VARIABLES)
            names += [each.id for each in targets if isinstance(each, ast.Name) and assigned]
        elif isinstance(node, ast.ImportFrom):
            renamed = [each for each in node.names if each.asname not in (None, each.name)]
            names += [each.asname for each in renamed]
    return [name for name in names if TYPE_NAME.fullmatch(name)]


def repeated(trees: Iterable[ast.AST]) -> list[str]:
    names = Counter(name for tree in trees for name in type_names(tree))
    return sorted(name for name, times in names.items() if times > 1)


def test_the_name_of_a_class_or_type_alias_exists_once_in_the_package():
    assert repeated(tree_of(file.read_text()) for file in SOURCE.rglob("*.py")) == []


def test_a_repeated_name_of_a_type_is_found():
    law = ast.parse(
        "class Law:\n    class _Part: ...\nPair = tuple[int, int]\nMOST = 3\nT = TypeVar('T')"
    )
    for wrong in (
        "def f():\n    class Law: ...",
        "class _Part: ...",
        "Pair: TypeAlias = 'tuple[str, str]'",
        "from elsewhere import Other as Law",
    ):
        assert len(repeated([law, ast.parse(wrong)])) == 1
    right = "class OtherLaw: ...\nMOST = 4\nT = TypeVar('T')\nfrom elsewhere import Pair"
    assert repeated([law, ast.parse(right)]) == []


UNLIKE_OTHERS = ("multi", "yesno")  # names of question types that mean nothing else
ABOUT_TYPES = re.compile(r"type|kind", re.IGNORECASE)
BUILT = ("incrowd-sdk.js", "x-wing.js", "mixers.js", "htmx.min.js")
REDCAP = SOURCE / "drafts" / "redcap.py"  # its types of fields, some of which have these names
PAGES = ("html", "js", "css")


def texts_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The constants among some expressions and their parts."""
    parts = (part for node in nodes for part in walk(node))
    return {str(part.value) for part in parts if isinstance(part, ast.Constant)}


def types_in_python(tree: ast.AST) -> set[str]:
    """The names of question types that a module compares with, lists, or gives a question."""
    alone = {text for text in texts_in([tree]) if text in UNLIKE_OTHERS}
    compared = (
        node
        for node in walk(tree)
        if isinstance(node, ast.Compare) and ABOUT_TYPES.search(ast.unparse(node))
    )
    given = (
        value
        for node in walk(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "type"
    )
    return (texts_in([*compared, *given]) & {*TYPES}) | alone


def types_in_page(text: str) -> list[str]:
    """The lines of a script, a template or a style sheet that name question types."""
    name, alone = (f"({'|'.join(names)})" for names in (TYPES, UNLIKE_OTHERS))
    quoted = rf"[\"'`]{name}[\"'`]"
    compared = rf"\b(type|kind)\b[^\"'`]{{0,12}}([!=]=|\bin\b)[^%{{}}]*?{quoted}"
    named = re.compile(rf"{compared}|\[value={quoted}\]|[\"'`]{alone}[\"'`]|\b{alone}: ")
    return [line for line in text.splitlines() if named.search(line)]


def test_question_types_are_named_in_their_own_modules_only():
    types = SOURCE / "survey" / "types"
    modules = [file for file in SOURCE.rglob("*.py") if types not in file.parents]
    assert {file for file in modules if types_in_python(tree_of(file.read_text()))} == {REDCAP}
    pages = [file for kind in PAGES for file in SOURCE.rglob(f"*.{kind}")]
    pages = [file for file in pages if file.name not in BUILT]
    pages += (SOURCE.parents[1] / "clients" / "js" / "src").glob("*.ts")
    assert [line for file in pages for line in types_in_page(file.read_text())] == []


@pytest.mark.parametrize(
    "planted",
    [
        'NAMED = ("yesno", "choice")',
        'wanted = question.type == "number"',
        'numbers = kind in ("number", "amount")',
        'entries = {"id": id, "type": "choice"}',
    ],
)
def test_a_question_type_named_in_python_is_found(planted):
    right = 'shown = {"text": text, "number": 1} if name == "choice" else ("number", "text")'
    assert types_in_python(ast.parse(planted)) and not types_in_python(ast.parse(right))


@pytest.mark.parametrize(
    "planted",
    [
        'if (question.type === "text") return answer',
        '{% if q.type in ("number", "amount") %}',
        '{% if q.type != "text" %}',
        'form:has([value="number"]:checked) .for-edges { display: block; }',
        "const typed = { yesno: Boolean }",
    ],
)
def test_a_question_type_named_on_a_page_is_found(planted):
    right = 'if (typeof value === "number") el("input", { id, type: "text" })'
    assert types_in_page(planted) and not types_in_page(f'{right}\n<input type="number">')


def rederives_p(tree: ast.AST) -> bool:
    """Whether p = 1 - q is worked out again."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and ast.unparse(node.left) in ("1", "1.0")
        and ast.unparse(node.right).split(".")[-1] == "q"
        for node in walk(tree)
    )


def test_p_and_q_come_from_channels_only():
    assert rederives_p(ast.parse("p = 1 - channel.q"))
    outside = [file for file in module_files() if "channels" not in file.parts]
    assert [file for file in outside if rederives_p(tree_of(file.read_text()))] == []


ENTRY_POINT = {
    "incrowd.accountant.displays.Displayed._repr_html_",  # by notebooks
    "incrowd.cli.later.Commands.format_commands",  # by typer
    "incrowd.cli.main",
    "incrowd.collection.settings.ServiceSettings.settings_customise_sources",  # by pydantic
    "incrowd.interviews.procedures.Procedure.rules",  # by the template of cards
    "incrowd.sampling.check.AnswersFinding.missing_code",  # by a template of the studio
    "incrowd.views.Notebook._repr_html_",  # by notebooks
    "incrowd.views.Plotted.plot",  # by users, of the public classes that inherit it
}
CALLED_BY_FRAMEWORKS = {"command", "callback", "register", "validator", "serializer"}


def called_by_a_framework(node: ast.FunctionDef) -> bool:
    """Whether a decorator hands a function to pydantic, typer or a registry."""
    made = " ".join(map(ast.unparse, node.decorator_list))
    return any(word in made for word in CALLED_BY_FRAMEWORKS)


def definitions(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Functions and constants that only our own code can read."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not called_by_a_framework(node):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {each.id: node for each in targets if isinstance(each, ast.Name)}
    return {name: node for name, node in found.items() if not name.startswith("__")}


def bound_modules(tree: ast.AST) -> dict[str, str]:
    """What names stand for that `from package import module` binds, also inside functions."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def read_in(module: str, tree: ast.Module) -> set[str]:
    """What a module imports, reads of its own, and names in words ("planning:plan")."""
    modules = bound_modules(tree)
    found = set(imported_modules(tree))
    own = definitions(tree.body)
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{modules.get(node.value.id, node.value.id)}.{node.attr}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value.replace(":", ".")
            found.update([named, f"{module.rpartition('.')[0]}.{named}"])
        elif isinstance(node, ast.Name) and (it := own.get(node.id)):
            recursive = it.lineno <= node.lineno <= it.end_lineno
            found.update([] if recursive else [f"{module}.{node.id}"])
    return found


def unused(modules: dict[str, ast.Module], also: Iterable[str] = ()) -> list[str]:
    """Functions and constants that no module reads, methods whose name nothing reads."""
    trees = modules.values()
    used = set(also).union(*(read_in(module, tree) for module, tree in modules.items()))
    read = {n.attr for tree in trees for n in walk(tree) if isinstance(n, ast.Attribute)}
    found = []
    for module, tree in modules.items():
        for name, node in definitions(tree.body).items():
            constant_of_a_module = not isinstance(node, ast.FunctionDef) and name in read
            found += [] if constant_of_a_module else [f"{module}.{name}"]
        for made in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            methods = [
                name
                for name, node in definitions(made.body).items()
                if isinstance(node, ast.FunctionDef)
                # a public class serves its users
                and (name.startswith("_") or made.name not in incrowd.__all__)
            ]
            found += [f"{module}.{made.name}.{name}" for name in methods if name not in read]
    return [name for name in found if name not in used]


def test_nothing_is_for_tests_alone():
    modules = {
        module_name(file): tree_of(file.read_text())
        for file in [*module_files(), SOURCE / "__init__.py"]
    }
    public = [f"{home}.{name}" for name, home in incrowd._HOMES.items()]
    public += [f"incrowd.accountant.{home}.{name}" for name, home in accountant._HOMES.items()]
    public += [f"incrowd.interviews.{home}.{name}" for name, home in interviews._HOMES.items()]
    assert set(unused(modules, public)) <= ENTRY_POINT


def test_a_function_for_tests_alone_is_found():
    lonely = ast.parse("def lonely():\n    return lonely()\n")
    name, user = "incrowd.a.lonely", ast.parse("from incrowd.a import lonely\n")
    assert unused({"incrowd.a": lonely}) == [name]
    assert unused({"incrowd.a": lonely, "incrowd.b": ast.parse("lonely = 1\nlonely")}) == [name]
    assert unused({"incrowd.a": lonely, "incrowd.b": user}) == []
    assert unused({"incrowd.a": lonely, "incrowd.b": ast.parse("'a:lonely'")}) == []
    assert unused({"incrowd.a": lonely}, [name]) == []
    constant = ast.parse("LONELY: int = 1\n")
    assert unused({"incrowd.a": constant}) == ["incrowd.a.LONELY"]
    assert unused({"incrowd.a": constant, "incrowd.b": ast.parse("a.LONELY")}) == []
    method = ast.parse("class Box:\n    def lonely(self):\n        pass\n")
    assert unused({"incrowd.a": method}) == ["incrowd.a.Box.lonely"]
    assert unused({"incrowd.a": method, "incrowd.b": ast.parse("box.lonely()")}) == []


TESTS = Path(__file__).parent


def imported_tests(tree: ast.AST, own: str) -> list[str]:
    """What a file takes from other tests: builders are in a conftest or among the oracles."""
    taken = [node for node in walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {getattr(node, "module", None) or node.names[0].name for node in taken}
    builders = {"tests.conftest", "tests.oracles", "tests.messages", f"{own}.conftest"}
    return sorted(
        name
        for name in modules
        if name.split(".")[0] == "tests"
        and name not in builders
        and not name.startswith(("tests.oracles.", "tests.messages."))
    )


# A statement that imports from the tests: hundreds of files are parsed for nothing else.
OF_TESTS = re.compile(r"^[ \t]*((?:from|import)\b[^\n(]*\btests\b[^\n(]*(?:\([^)]*\))?)", re.M)


def imports_of_tests(text: str) -> ast.Module:
    return ast.parse("\n".join(OF_TESTS.findall(text)))


def test_no_test_imports_another_test():
    found = {}
    for file in TESTS.rglob("*.py"):
        own = ".".join(("tests", *file.relative_to(TESTS).parent.parts))
        if wrong := imported_tests(imports_of_tests(file.read_text()), own):
            found[str(file.relative_to(TESTS))] = wrong
    assert found == {}


def test_the_rule_about_tests_rejects_a_test_and_another_rooms_builders():
    wrong = "from tests.plans.test_plan import GOOD\nimport tests.tally.conftest"
    assert len(imported_tests(ast.parse(wrong), "tests.plans")) == 2
    right = "from tests.conftest import GOOD\nfrom tests.plans.conftest import x"
    assert imported_tests(ast.parse(right), "tests.plans") == []


def test_imports_of_tests_are_found_in_any_form():
    text = (
        "import os\nimport os, tests.plans.test_plan\nfrom pathlib import Path\n"
        "from tests.cli import (\n    test_start,\n    test_names,\n)\nx = (1, 2)\n"
        "def later():\n    from tests.drafts.test_people import GOOD  # noqa\n    return (GOOD)\n"
    )
    taken = [ast.unparse(node) for node in imports_of_tests(text).body]
    assert taken == [
        "import os, tests.plans.test_plan",
        "from tests.cli import test_start, test_names",
        "from tests.drafts.test_people import GOOD",
    ]
