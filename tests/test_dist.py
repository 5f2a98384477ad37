"""What `make dist` builds works where nothing of the repository is, and says its version."""

import json
import os
import re
import shlex
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
from tests.oracles import repository, standalone
from tests.oracles.installed import LOCAL, NEEDING, check_outcomes, prepare, run_commands

ROOT = Path(__file__).parent.parent
CLEAN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


ACCOUNTANT = ROOT / "packages" / "accountant"
PROJECT, ALONE = (
    tomllib.loads((folder / "pyproject.toml").read_text()) for folder in (ROOT, ACCOUNTANT)
)
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


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The folder with the wheels and source archives, made from a copy of the repository."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    repository.copy(source)
    for project in (source / "packages" / "accountant", source):
        run(sys.executable, "-m", "build", "--outdir", folder, project, cwd=source)
    return folder


def wheels(folder):
    """The wheels of incrowd and of the accountant."""
    (whole,), (alone,) = folder.glob("incrowd-*.whl"), folder.glob("incrowd_accountant-*.whl")
    return whole, alone


def packed(wheel):
    """The files of the package in a wheel."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("incrowd/")}


def of_the_accountant():
    """The files of the package that the accountant's distribution contains."""
    linked = ACCOUNTANT / "src" / "incrowd"
    there = (path.resolve() for path in linked.iterdir())
    files = {file for path in there for file in [path, *path.rglob("*")] if file.is_file()}
    return {str(file.relative_to(ROOT / "src")) for file in files if file.suffix != ".pyc"}


@pytest.mark.slow
def test_the_wheels_share_the_files_of_the_package_between_them(built):
    whole, alone = map(packed, wheels(built))
    assert alone == of_the_accountant()
    assert not whole & alone and whole | alone == set(repository.names("src"))
    assert wheels(built)[1].stat().st_size < 1_000_000


@pytest.mark.slow
def test_the_source_archives_hold_what_they_should(built):
    inside = {}
    for archive in built.glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            assert all(entry.isfile() or entry.isdir() for entry in opened), "no links"
            names = {entry.name.partition("/")[2] for entry in opened if entry.isfile()}
        inside[archive.name.partition("-")[0]] = names
    files = {name for name in repository.names() if (ROOT / name).is_file()}
    assert {name for name in files if not re.search(r"(^|/)\.", name)} <= inside["incrowd"]
    unwanted = re.compile("node_modules|__pycache__|[.]venv|/build/|accountant[.]egg-info")
    assert not [name for name in inside["incrowd"] if unwanted.search(name)]
    alone = {f"src/{name}" for name in of_the_accountant()}
    assert alone | {"LICENSE", "README.md", "pyproject.toml"} <= inside["incrowd_accountant"]


@pytest.fixture(scope="session")
def alone(built, tmp_path_factory):
    """The Python of an environment with the accountant, and a folder with the source archive."""
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder / "venv", with_pip=True)
    python, (_, accountant) = folder / "venv" / "bin" / "python", wheels(built)
    run(python, "-m", "pip", "install", "--quiet", accountant, cwd=folder)
    with tarfile.open(next(built.glob("incrowd-*.tar.gz"))) as opened:
        opened.extractall(folder, filter="data")
    source = next(folder.glob("incrowd-*"))
    shutil.rmtree(source / "src")
    return python, source


EXAMPLES = """
import doctest, importlib, pkgutil
from incrowd import accountant

# `proved` needs an extra, and cannot be imported here.
found = pkgutil.walk_packages(accountant.__path__, "incrowd.accountant.", onerror=lambda name: None)
names = ["incrowd.accountant", *(each.name for each in found if ".proved" not in each.name)]
modules = [importlib.import_module(name) for name in names]
examples = [each for module in modules for each in doctest.DocTestFinder().find(module)]
# Two functions exchange curves with dp_accounting, and their examples need it.
examples = [each for each in examples if not each.name.endswith("_dp_accounting")]
results = [doctest.DocTestRunner().run(each) for each in examples]
print(sum(each.attempted for each in results), sum(each.failed for each in results))
"""


@pytest.mark.slow
def test_the_accountant_needs_numpy_and_scipy_alone_and_its_examples_run(alone):
    python, source = alone
    listed = json.loads(run(python, "-m", "pip", "list", "--format", "json", cwd=source))
    names = {each["name"] for each in listed} - {"pip", "setuptools"}
    assert names == {"incrowd-accountant", "numpy", "scipy"}
    number, failed = map(int, run(python, "-c", EXAMPLES, cwd=source).split()[-2:])
    assert number > 50 and failed == 0
    description = (ACCOUNTANT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", description, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        run(python, "-c", block, cwd=source)


TYPED = """
from incrowd.accountant import BitFlip, certify
from incrowd.errors import PrivacyError

delta: {type} = certify("shuffle", BitFlip.from_epsilon(2.0), 1000, 0.5).delta.upper
problems: tuple[object, ...] = PrivacyError().problems
"""


@pytest.mark.slow
def test_type_checkers_know_the_types_of_the_accountant_alone(alone, tmp_path):
    python, _ = alone
    outputs = {}
    for kind in ("float", "str"):
        (tmp_path / f"{kind}.py").write_text(TYPED.format(type=kind))
        checker = (sys.executable, "-m", "mypy", "--strict", "--python-executable", python)
        done = subprocess.run(
            [*checker, f"{kind}.py"], cwd=tmp_path, capture_output=True, text=True
        )
        outputs[kind] = done.stdout
    assert outputs["float"] == "Success: no issues found in 1 source file\n"
    assert '(expression has type "float", variable has type "str")' in outputs["str"]


@pytest.mark.slow
def test_the_accountants_own_tests_pass_where_it_is_alone(alone):
    python, source = alone
    run(python, "-m", "pip", "install", "--quiet", *standalone.TOOLS, cwd=source)
    names = "examples, one_in, slowly, slowly_except"
    (source / "tests" / "conftest.py").write_text(f"from tests.oracles.cases import {names}\n")
    every = sorted((ROOT / "tests" / "accountant").rglob("test_*.py"))
    tests = [str(file.relative_to(ROOT)) for file in every if standalone.works_alone(file)]
    assert len(tests) > 25
    quick = ("-q", "-m", "not slow", "-p", "no:cacheprovider")
    run(python, "-m", "pytest", *quick, *tests, cwd=source)


FROM_WHERE = """
import incrowd, incrowd.errors, incrowd.methods, incrowd.accountant
print(incrowd.errors.__file__, incrowd.accountant.__file__, incrowd.methods.__file__)
"""


@pytest.mark.slow
def test_both_distributions_work_in_different_folders(built, tmp_path):
    whole, alone = tmp_path / "whole", tmp_path / "alone"
    for folder, wheel in zip((whole, alone), wheels(built), strict=True):
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder)
        run(*pip, wheel, cwd=tmp_path)
    for folders in ([whole, alone], [alone, whole]):
        path = {"PYTHONPATH": os.pathsep.join(map(str, folders))}
        code = (sys.executable, "-S", "-c", FROM_WHERE)  # -S: without this environment
        done = subprocess.run(code, env=path, cwd=tmp_path, capture_output=True, text=True)
        folders = [Path(file).relative_to(tmp_path).parts[0] for file in done.stdout.split()]
        assert folders == ["alone", "alone", "whole"], done.stderr


@pytest.mark.slow
def test_uninstalling_one_distribution_leaves_the_other_whole(built, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    pip = (tmp_path / "venv" / "bin" / "python", "-m", "pip")
    packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    for removed, left in zip(("incrowd-accountant", "incrowd"), wheels(built), strict=True):
        run(*pip, "install", "--quiet", "--no-deps", *wheels(built), cwd=tmp_path)
        run(*pip, "uninstall", "--quiet", "--yes", removed, cwd=tmp_path)
        files = (file for file in (packages / "incrowd").rglob("*") if file.is_file())
        names = {str(file.relative_to(packages)) for file in files if file.suffix != ".pyc"}
        assert names == packed(left)


@pytest.fixture
def stranger(tmp_path):
    """A folder like an index, where somebody else has a package with the accountant's name."""
    (folder := tmp_path / "index").mkdir()
    name = f"incrowd_accountant-{incrowd.__version__}"
    about = f"Metadata-Version: 2.1\nName: incrowd-accountant\nVersion: {incrowd.__version__}\n"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.dist-info/METADATA", about)
        wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{name}.dist-info/RECORD", "")
    return folder


def accountant_for(words, stranger, folder):
    """Where pip would take the accountant from, if these words followed `pip install`."""
    pip = (sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed")
    options = ("--quiet", "--report", "-", "--find-links", stranger)
    chosen = json.loads(run(*pip, *options, *words, cwd=folder))["install"]
    (found,) = (each for each in chosen if each["metadata"]["name"] == "incrowd-accountant")
    return Path(found["download_info"]["url"].removeprefix("file://"))


def needing_only(project, *wanted):
    """Let a project need nothing but this: pip then looks for nothing else."""
    text, listed = project.read_text(), json.dumps(wanted)
    less = re.sub(
        r"^dependencies = \[.*?\]$", f"dependencies = {listed}", text, count=1, flags=re.M | re.S
    )
    assert less != text
    project.write_text(less)


@pytest.mark.slow
def test_an_installation_from_a_clone_takes_no_strangers_accountant(stranger, tmp_path):
    repository.copy(source := tmp_path / "source")
    accountant = source / "packages" / "accountant"
    needing_only(source / "pyproject.toml", f"incrowd-accountant=={incrowd.__version__}")
    needing_only(accountant / "pyproject.toml")
    make = ("make", "--dry-run", "--always-make", ".venv/.installed")
    (line,) = (line for line in run(*make, cwd=source).splitlines() if " -e " in line)
    made = shlex.split(line.partition("pip install ")[2].replace("[studio]", ""))
    for words in (made, ["./packages/accountant", "."]):
        assert accountant_for(words, stranger, source) == accountant
    assert accountant_for(["."], stranger, source).parent == stranger, "as nothing else is named"


def bounds(extras):
    """Every direct dependency of both distributions with its lower bound, as a constraint."""
    listed = []
    for project in (PROJECT["project"], ALONE["project"]):
        listed += project["dependencies"]
        for extra in extras:
            listed += project["optional-dependencies"].get(extra, ())
    listed = [each for each in listed if not re.match(r"incrowd\b", each)]  # other parts of it
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
    python, (wheel, accountant) = tmp_path / "venv" / "bin" / "python", wheels(built)

    def install(*wanted):
        pip = (python, "-m", "pip", "install", "--quiet", accountant, *wanted)
        run(*pip, cwd=elsewhere, constraints=constraints)

    install(f"{wheel}[collect]")
    version = run(python, "-m", "incrowd", "--version", cwd=elsewhere).split()[1]
    assert version == incrowd.__version__
    run(tmp_path / "venv" / "bin" / "incrowd", "demo", "-o", "demo", cwd=elsewhere)
    assert (elsewhere / "demo" / "report.html").stat().st_size > 10_000
    code = "import importlib.util as u; print(u.find_spec('pyreadstat'), u.find_spec('openpyxl'))"
    assert run(python, "-c", code, cwd=elsewhere).split() == ["None", "None"]

    install(f"{wheel}[collect,stats]", *TOOLS)
    with tarfile.open(next(built.glob("incrowd-*.tar.gz"))) as opened:
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
    python, (wheel, accountant) = tmp_path / "venv" / "bin" / "python", wheels(built)
    wanted = f"{wheel}[{extra}]" if extra else wheel
    run(python, "-m", "pip", "install", "--quiet", accountant, wanted, cwd=tmp_path)
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
    assert any(each.startswith("python-flint==") for each in bounds(["proved"]))


def test_the_description_works_on_a_package_index():
    """There are no files beside it: no link leads to one. Those of the README would."""
    link = re.compile(r"\]\((?!https://)[^)]*\)|<img")
    name = PROJECT["project"]["readme"]
    assert link.search((ROOT / "README.md").read_text())
    assert not link.search((ROOT / name).read_text())
    assert not link.search((ACCOUNTANT / ALONE["project"]["readme"]).read_text())
    extras = PROJECT["project"]["optional-dependencies"].keys() - {"dev", "docs"}
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / name).read_text(), flags=re.MULTILINE)
    assert sorted(rows) == sorted(extras)


def test_the_version_of_both_distributions_is_read_from_the_source():
    for project in (PROJECT, ALONE):
        dynamic = project["tool"]["setuptools"]["dynamic"]
        assert dynamic["version"] == {"attr": "incrowd.version.__version__"}
    assert of_package(ROOT) == incrowd.__version__
    needed = [each for each in PROJECT["project"]["dependencies"] if each.startswith("incrowd")]
    assert needed == [f"incrowd-accountant=={incrowd.__version__}"]


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
