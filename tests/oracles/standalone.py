"""What the accountant imports, and its tests: the files that work where only it is installed."""

import ast
import sys
from pathlib import Path

from tests.oracles.source import tree_of, walk

ROOT = Path(__file__).parents[2]
# What its distribution contains: links to files and folders of the package.
SHIPPED = ROOT / "packages" / "accountant" / "src" / "incrowd"
ROOMS = {path.stem for path in SHIPPED.iterdir()} - {"py"}
INSTALLED = {*sys.stdlib_module_names, "numpy", "scipy"}
TOOLS = ("hypothesis", "mpmath", "pytest")  # of its tests
CONFTEST = ROOT / "tests" / "conftest.py"  # uses all of incrowd; replaced by `oracles.cases`


def imported_names(node):
    """The modules that a statement imports, with the names of what is taken from ours."""
    if isinstance(node, ast.ImportFrom):
        ours = node.module.split(".")[0] in ("incrowd", "tests")
        return {f"{node.module}.{each.name}" for each in node.names} if ours else {node.module}
    return {each.name for each in node.names} if isinstance(node, ast.Import) else set()


def loaded_modules(tree):
    """The modules that a module imports when it is loaded, and those of ours at any time."""
    waiting, found = [*tree.body], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef):
            found |= imported_names(node)
            waiting += ast.iter_child_nodes(node)
    everywhere = set().union(*map(imported_names, walk(tree)))
    return found | {name for name in everywhere if name.split(".")[0] == "incrowd"}


def missing(tree, extra=()):
    """The modules that a module of the accountant imports, and that are not installed with it."""
    return {
        name
        for name in loaded_modules(tree)
        if (parts := name.split("."))[0] not in {*INSTALLED, *extra}
        and not (parts[0] == "incrowd" and parts[1:] and parts[1] in ROOMS)
    }


def works_alone(test):
    """Whether a test and the files of tests that it imports need nothing but the accountant."""
    waiting, seen = [test], {CONFTEST}
    while waiting:
        if (file := waiting.pop()) in seen:
            continue
        seen.add(file)
        tree = tree_of(file.read_text())
        if missing(tree, {*TOOLS, "tests"}):
            return False
        paths = (ROOT / name.replace(".", "/") for name in loaded_modules(tree))
        files = (path.with_suffix(".py") for full in paths for path in (full, full.parent))
        waiting += (each for each in files if each.exists())
    return True
