"""The rules of the house: who may import whom, what is public, what is documented."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import incrowd
import reproduction

SOURCE = Path(incrowd.__file__).parent
AUDIT = Path(reproduction.__file__).parent  # of the papers; outside of the package
PACKAGES = (SOURCE, AUDIT)
LEVELS = [
    {"errors"},
    {"numerics", "kernels", "views"},
    {"channels", "survey"},
    {"plans"},
    {"encoding", "sampling", "reports", "tally", "estimation", "accounting"},
    {"planner", "presentation"},
    {"workflow"},
    {"cli"},
    {"reproduction"},
]
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}
SIDEWAYS = {
    ("tally", "reports"),
    ("sampling", "reports"),
    ("channels", "channels"),
    ("survey", "survey"),
}


def imported_modules(tree: ast.AST) -> list[str]:
    """Every module of ours imported anywhere in a file, also inside functions."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.split(".")[0] in ("incrowd", "reproduction")]


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
        and (own, other) not in SIDEWAYS
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
    rooms = {file.stem for file in SOURCE.iterdir()}
    assert rooms - {"__init__", "__pycache__", "py"} <= set(LEVEL)


@pytest.mark.parametrize("file", module_files(), ids=module_name)
def test_imports_go_downwards(file):
    imported = imported_modules(ast.parse(file.read_text()))
    assert violations(module_name(file), imported) == []


def test_the_rule_rejects_upward_sideways_and_hidden_imports():
    hidden = ast.parse("def f():\n    from incrowd.workflow.plan import plan\n")
    assert violations("incrowd.survey", imported_modules(hidden))
    assert violations("incrowd.encoding.records", ["incrowd.tally.moments"])
    assert violations("incrowd.numerics.lattice", ["incrowd.survey.Survey"])
    assert violations("incrowd.planner.planner", ["incrowd.plan.Plan", "incrowd.estimate"])
    assert violations("incrowd.cli.app", ["reproduction.command.app"])
    assert not violations("incrowd.tally.moments", ["incrowd.reports.collection.Collection"])
    assert not violations("reproduction.ratio_law", ["incrowd.numerics.lattice.Lattice"])


def test_no_cycles_between_modules():
    names = {module_name(f): f for f in module_files()}
    graph = {
        name: {
            target
            for imported in imported_modules(ast.parse(file.read_text()))
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
    stub = ast.parse((SOURCE / "__init__.pyi").read_text())
    typed = {a.asname: n.module for n in stub.body[1:] for a in n.names if a.name == a.asname}
    assert typed == incrowd._HOMES
    for name in incrowd.__all__:
        assert getattr(incrowd, name).__doc__, name
        assert getattr(incrowd, name).__module__.startswith("incrowd."), name


def test_packages_and_public_names_do_not_hide_each_other():
    rooms = {file.stem for file in SOURCE.iterdir()}
    assert not rooms & set(incrowd.__all__)
    code = "import incrowd.plans; incrowd.plans.Plan; from incrowd import plan; plan.__code__"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_is_light():
    heavy = "numpy scipy pyarrow pydantic altair rich numba"
    code = f"import incrowd, sys; print([m for m in {heavy.split()} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def functions() -> list[tuple[str, ast.FunctionDef]]:
    return [
        (f"{module_name(file)}:{node.name}", node)
        for file in module_files()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]


def test_functions_are_short():
    long = [n for n, node in functions() if node.end_lineno - node.lineno >= 50]
    assert long == []


def rederives_p(tree: ast.AST) -> bool:
    """Whether p = 1 - q is worked out again."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and ast.unparse(node.left) in ("1", "1.0")
        and ast.unparse(node.right).split(".")[-1] == "q"
        for node in ast.walk(tree)
    )


def test_p_and_q_come_from_channels_only():
    assert rederives_p(ast.parse("p = 1 - channel.q"))
    outside = [file for file in module_files() if "channels" not in file.parts]
    assert [file for file in outside if rederives_p(ast.parse(file.read_text()))] == []
