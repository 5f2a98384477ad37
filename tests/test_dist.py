"""What `make dist` builds works where nothing of the repository is, and says its version."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import incrowd

ROOT = Path(__file__).parent.parent
CLEAN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def run(*command, cwd):
    environment = {key: value for key, value in os.environ.items() if key not in CLEAN}
    environment |= {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "COLUMNS": "100"}
    command = list(map(str, command))
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def copied(folder):
    """What is in the repository, without what lies beside it."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.split():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.mark.slow
def test_the_wheel_runs_the_example_from_anywhere(tmp_path):
    source, built, elsewhere = (tmp_path / name for name in ("source", "dist", "elsewhere"))
    elsewhere.mkdir()
    run(sys.executable, "-m", "build", "--outdir", built, copied(source), cwd=tmp_path)
    wheel, archive = next(built.glob("*.whl")), next(built.glob("*.tar.gz"))
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("incrowd/")}
    sources = {
        str(file.relative_to(source / "src"))
        for file in (source / "src" / "incrowd").rglob("*")
        if file.is_file() and file.suffix in (".py", ".pyi", ".typed", ".html", ".css")
    }
    assert sources <= packed
    with tarfile.open(archive) as opened:
        inside = {name.partition("/")[2] for name in opened.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "examples/rand_hie.csv"} <= inside
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[collect]", cwd=elsewhere)
    assert run(python, "-m", "incrowd", "--version", cwd=elsewhere).split()[1] == (
        incrowd.__version__
    )
    run(tmp_path / "venv" / "bin" / "incrowd", "demo", "-o", "demo", cwd=elsewhere)
    assert (elsewhere / "demo" / "report.html").stat().st_size > 10_000
    code = "import importlib.util as u; print(u.find_spec('pyreadstat'), u.find_spec('openpyxl'))"
    assert run(python, "-c", code, cwd=elsewhere).split() == ["None", "None"]


def test_the_version_stands_in_one_place_and_in_the_citation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "incrowd.__version__"}
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited[1] == incrowd.__version__


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "incrowd", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"incrowd {incrowd.__version__}\n"
