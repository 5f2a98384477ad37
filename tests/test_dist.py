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
import yaml

import incrowd
from releasing.versions import of_package
from tests.oracles.installed import LOCAL, NEEDING, check_outcomes, prepare, run_commands

ROOT = Path(__file__).parent.parent
CLEAN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What the tests below need beside the package, in versions that fit to every way of installing.
TOOLS = ("duckdb", "hypothesis", "pandas<3", "polars", "pytest")
TESTED = (  # every dependency is used in them
    "collection/collector/test_app.py",
    "collection/inviter/test_signing.py",
    "collection/mixer/test_app.py",
    "collection/mixer/test_commands.py",
    "encoding",
    "presentation",
    "reports",
    "sampling/test_flips.py",
)


def run(*command, cwd, constraints=ROOT / "constraints.txt"):
    """Standard output of a command, which has nothing of this environment or of the repository."""
    environment = {key: value for key, value in os.environ.items() if key not in CLEAN}
    environment |= {"COLUMNS": "100"} | (
        {"PIP_CONSTRAINT": str(constraints)} if constraints else {}
    )
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


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The folder with a wheel and a source archive, made from a copy of the repository."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, copied(source), cwd=source)
    return folder


@pytest.mark.slow
def test_the_archives_hold_what_they_should(built):
    wheel, archive = next(built.glob("*.whl")), next(built.glob("*.tar.gz"))
    kinds = (".py", ".pyi", ".typed", ".html", ".css", ".js", ".json")
    sources = {
        str(file.relative_to(ROOT / "src"))
        for file in (ROOT / "src" / "incrowd").rglob("*")
        if file.is_file() and file.suffix in kinds
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("incrowd/")}
    assert sources <= packed
    with tarfile.open(archive) as opened:
        inside = {entry.name.partition("/")[2] for entry in opened if entry.isfile()}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    hidden = {name for name in listed.stdout.split() if re.search(r"(^|/)\.", name)}
    assert set(listed.stdout.split()) - hidden <= inside
    assert not [name for name in inside if re.search("node_modules|__pycache__|[.]venv", name)]


def bounds(extras):
    """Every direct dependency with its lower bound, as a constraint."""
    project = PROJECT["project"]
    listed = [*project["dependencies"]]
    for extra in extras:
        listed += project["optional-dependencies"][extra]
    listed = [each for each in listed if not each.startswith("incrowd[")]  # other extras
    return [re.sub(r"\[.*?\]|,.*", "", each).replace(">=", "==") for each in listed]


WAYS = {  # what pip is bound to: the lowest versions, those of `make`, nothing
    "lowest": lambda: "\n".join(bounds(["collect", "stats", "studio"])),
    "pinned": lambda: (ROOT / "constraints.txt").read_text(),
    "newest": lambda: "",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_the_wheel_works_in_a_clean_environment(built, tmp_path, way):
    """The example from anywhere; then tests of the source archive, on what is installed."""
    elsewhere, constraints = tmp_path / "elsewhere", tmp_path / "constraints.txt"
    elsewhere.mkdir()
    constraints.write_text(WAYS[way]())
    venv.create(tmp_path / "venv", with_pip=True)
    python, wheel = tmp_path / "venv" / "bin" / "python", next(built.glob("*.whl"))

    def install(*wanted):
        pip = (python, "-m", "pip", "install", "--quiet", *wanted)
        run(*pip, cwd=elsewhere, constraints=constraints)

    install(f"{wheel}[collect]")
    version = run(python, "-m", "incrowd", "--version", cwd=elsewhere).split()[1]
    assert version == incrowd.__version__
    run(tmp_path / "venv" / "bin" / "incrowd", "demo", "-o", "demo", cwd=elsewhere)
    assert (elsewhere / "demo" / "report.html").stat().st_size > 10_000
    code = "import importlib.util as u; print(u.find_spec('pyreadstat'), u.find_spec('openpyxl'))"
    assert run(python, "-c", code, cwd=elsewhere).split() == ["None", "None"]

    install(f"{wheel}[collect,stats]", *TOOLS)
    with tarfile.open(next(built.glob("*.tar.gz"))) as opened:
        opened.extractall(elsewhere, filter="data")
    (source,) = (folder for folder in elsewhere.iterdir() if (folder / "pyproject.toml").exists())
    tests = [f"tests/{name}" for name in TESTED]
    unfit = [] if way == "pinned" else ["-W", "ignore::DeprecationWarning"]
    shutil.rmtree(source / "src")
    run(python, "-m", "pytest", "-q", "-m", "not slow and not spark", *unfit, *tests, cwd=source)


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["", *NEEDING])
def test_every_command_works_or_names_its_extra(built, tmp_path, extra):
    """With no extra or with one alone, and with nothing of the repository beside it."""
    venv.create(tmp_path / "venv", with_pip=True)
    python, wheel = tmp_path / "venv" / "bin" / "python", next(built.glob("*.whl"))
    wanted = f"{wheel}[{extra}]" if extra else wheel
    run(python, "-m", "pip", "install", "--quiet", wanted, cwd=tmp_path)
    (folder := tmp_path / "work").mkdir()
    prepare(folder)
    commands = LOCAL | {"demo": "demo -o demo"}
    for needing in NEEDING.values():
        commands |= needing
    check_outcomes(run_commands(folder, commands, python), [extra] if extra else [])
    if extra == "studio":
        words = (python, "-m", "incrowd", "studio", "surveys", "--no-browser")
        with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as studio:
            assert studio.stdout.readline().startswith("http://127.0.0.1:")
            studio.terminate()


def minor_versions(package):
    """The minor versions of 0 that the bounds of a dependency admit."""
    listed = "\n".join(PROJECT["project"]["optional-dependencies"]["collect"])
    first, end = re.search(rf"^{package}>=0\.(\d+),<0\.(\d+)$", listed, re.MULTILINE).groups()
    return range(int(first), int(end))


@pytest.mark.slow
@pytest.mark.parametrize("minor", minor_versions("uvicorn"))
def test_connections_are_limited_with_each_minor_version_of_the_server(tmp_path, minor):
    """The limits of connections build on its classes, which another version could change."""
    wanted = f"uvicorn==0.{minor}.*"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path)
    run(*pip, wanted, cwd=ROOT, constraints=None)
    limits = [f"tests/collection/mixer/test_{name}.py" for name in ("http", "slow_senders")]
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not slow", *limits],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_lower_bounds_are_stated():
    extras = PROJECT["project"]["optional-dependencies"]
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", each) for each in bounds(extras.keys()))
    assert "mkdocstrings==1.0" in bounds(["docs"])


def test_the_description_works_on_a_package_index():
    """There are no files beside it: no link leads to one. Those of the README would."""
    link = re.compile(r"\]\((?!https://)[^)]*\)|<img")
    name = PROJECT["project"]["readme"]
    assert link.search((ROOT / "README.md").read_text())
    assert not link.search((ROOT / name).read_text())
    extras = PROJECT["project"]["optional-dependencies"].keys() - {"dev", "docs"}
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / name).read_text(), flags=re.MULTILINE)
    assert sorted(rows) == sorted(extras)


def test_the_version_of_the_package_is_read_from_the_source():
    dynamic = PROJECT["tool"]["setuptools"]["dynamic"]
    assert dynamic["version"] == {"attr": "incrowd.__version__"}
    assert of_package(ROOT) == incrowd.__version__


def test_citation_and_package_name_the_same_authors_and_license():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = PROJECT["project"]
    assert cited["authors"] == project["authors"] == project["maintainers"]
    assert cited["license"] == project["license"]
    assert set(cited["keywords"]) <= set(project["keywords"])


def test_the_workflow_of_a_forge_runs_the_same_checks():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    versions = [
        f"Programming Language :: Python :: {each}" for each in job["strategy"]["matrix"]["python"]
    ]
    assert set(versions) <= set(PROJECT["project"]["classifiers"])


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "incrowd", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"incrowd {incrowd.__version__}\n"
