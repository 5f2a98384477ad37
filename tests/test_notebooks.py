"""The notebooks of the manual use public names, lead to pages that exist, and run as scripts."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import incrowd
from incrowd import accountant

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))
DATA = ROOT / "examples" / "rand_hie.csv"  # the manual has it beside the notebooks
GALLERY = ROOT / "docs" / "notebooks" / "index.md"
CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
LINK = re.compile(r"\]\((?!https:)([^)#]+)(?:#[^)]*)?\)")
PUBLIC = {"incrowd": {*incrowd.__all__, "accountant"}, "incrowd.accountant": {*accountant.__all__}}
OURS = {name: name for name in PUBLIC} | {"accountant": "incrowd.accountant"}
OTHERS = {"altair", "dp_accounting", "numpy", "pandas", "pyarrow", "scipy", "statsmodels"}


def named(notebook):
    return notebook.stem


def used_names(text):
    """Every module that is imported, and every name that is taken from a package of ours."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import():
                yield from ((alias.name, "") for alias in node.names)
            case ast.ImportFrom():
                yield from ((node.module, alias.name) for alias in node.names)
            case ast.Attribute(value=value) if (of := ast.unparse(value)) in OURS:
                yield OURS[of], node.attr


def not_public(text):
    """The names in the code of a notebook that its reader should not depend on."""
    for module, name in used_names(text):
        if module in PUBLIC:
            if name and name not in PUBLIC[module]:
                yield f"{module}.{name}"
        elif module.split(".")[0] not in OTHERS | sys.stdlib_module_names:
            yield module


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import incrowd\nincrowd.plan(incrowd.Survey)", []),
        ("from incrowd import accountant\naccountant.certify", []),
        ("import incrowd.accountant\nincrowd.accountant.BitFlip", []),
        ("from incrowd.accountant import BitFlip, Hidden", ["incrowd.accountant.Hidden"]),
        ("from incrowd import accountant\naccountant.search", ["incrowd.accountant.search"]),
        ("import incrowd\nincrowd.planner", ["incrowd.planner"]),
        ("from incrowd.planner import plan", ["incrowd.planner"]),
        ("import matplotlib", ["matplotlib"]),
    ],
)
def test_a_name_that_is_not_public_is_found(text, names):
    assert list(not_public(text)) == names


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_a_notebook_uses_public_names_and_leads_to_pages(notebook):
    text = notebook.read_text()
    assert list(not_public(text)) == []
    assert text.startswith("# %% [markdown]\n# # ")
    assert len(CELL.findall(text)) > 5
    for link in LINK.findall(text):
        file = notebook.parent / link
        assert file.exists() or file.with_suffix(".py") in NOTEBOOKS or link == DATA.name, link


def test_the_gallery_and_the_navigation_have_every_notebook():
    listed = set(re.findall(r"\]\(([\w-]+)\.md\)", GALLERY.read_text()))
    navigation = set(re.findall(r"notebooks/([\w-]+)\.md", (ROOT / "mkdocs.yml").read_text()))
    assert listed == navigation - {"index"} == {notebook.stem for notebook in NOTEBOOKS}


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_a_notebook_runs(notebook, tmp_path):
    """As a script: what it claims, it asserts."""
    shutil.copy(DATA, tmp_path)
    command = [sys.executable, notebook]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "fault"),
    [
        ("assert 2 > 3, 'too small'", "AssertionError: too small"),
        ("import os; os._exit(1)", "died"),
    ],
)
def test_a_cell_that_fails_is_named_by_the_build(last, fault, tmp_path):
    """With its notebook, its number, and the error, in characters that every terminal shows."""
    for package in ("mkdocs", "nbclient", "jupytext"):
        pytest.importorskip(package, reason="make docs installs it")
    notebook = tmp_path / "example.py"
    notebook.write_text(f"# %% [markdown]\n# # Title\n\n# %%\nx = 1\n\n# %%\n{last}\n")
    code = (
        "import sys, jupytext, gallery\n"
        "gallery.execute(jupytext.read(sys.argv[1]), 'example', sys.argv[2])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, notebook, tmp_path],
        cwd=ROOT / "docs",
        capture_output=True,
        text=True,
    )
    told = done.stderr.partition("mkdocs.exceptions.PluginError: ")[2]
    assert done.returncode and told.startswith(
        "docs/notebooks/example.py: cell 2 of the 2 cells with code fails."
    )
    assert fault in told and "\x1b" not in told
