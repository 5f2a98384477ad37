"""The steps of the check before a release, in their order."""

import os
import shutil
import sys
import tarfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from releasing import archives, first_page, lock, npm, pythons, recipe, versions
from releasing.commands import CheckError, run
from releasing.distributions import PROJECTS, build, build_all, time_of

TOOLS = Path(sys.executable).parent
FIRST_PAGE = Path("docs", "first-survey.md")


@dataclass(frozen=True)
class Checkout:
    """A commit to be released, in a folder of its own.

    Attributes
    ----------
    root
        A clone that contains what is committed, and nothing else.
    folder
        An empty folder for everything that the steps create.
    tag
        The tag of the commit that names a version, if it has one.
    say
        Prints a line of progress.
    """

    root: Path
    folder: Path
    tag: str | None
    say: Callable[[str], None]

    @property
    def built(self) -> Path:
        """The folder of the wheels and source archives."""
        return self.folder / "dist"

    def archive(self, distribution: str, ending: str) -> Path:
        """Return the wheel (`.whl`) or the source archive (`.tar.gz`) of a distribution."""
        name = distribution.replace("-", "_")
        [path] = self.built.glob(f"{name}-{versions.of_package(self.root)}*{ending}")
        return path

    def empty(self, name: str) -> Path:
        """Return a new, empty folder of this name."""
        path = self.folder / name
        path.mkdir()
        return path


@dataclass(frozen=True)
class Step:
    """One step: its name, what it checks, the steps without which it cannot run, and itself."""

    name: str
    what: str
    check: Callable[[Checkout], None]
    needs: tuple[str, ...] = ()


def reject(problems: list[str]) -> None:
    """Raise a `CheckError` if there are problems."""
    if problems:
        raise CheckError(*problems)


def check_versions(checkout: Checkout) -> None:
    """Compare the version in every place, and with the tag."""
    reject(versions.problems(checkout.root, checkout.tag))


def check_metadata(checkout: Checkout) -> None:
    """Validate the project files by the schemas of the specification and of setuptools."""
    for path in PROJECTS.values():
        run(TOOLS / "validate-pyproject", checkout.root / path, folder=checkout.root)


def check_build(checkout: Checkout) -> None:
    """Build the wheel and the source archive of each distribution, and nothing else."""
    build_all(checkout.root, checkout.built)
    version = versions.of_package(checkout.root)
    names = [each.replace("-", "_") for each in PROJECTS]
    expected = {f"{name}-{version}-py3-none-any.whl" for name in names}
    expected |= {f"{name}-{version}.tar.gz" for name in names}
    found = {path.name for path in checkout.built.iterdir()}
    reject(
        [f"{name} was not built" for name in sorted(expected - found)]
        + [f"{name} was built, and is not expected" for name in sorted(found - expected)]
    )


def check_descriptions(checkout: Checkout) -> None:
    """Render the descriptions as a package index does, without a warning."""
    run(
        TOOLS / "twine",
        "check",
        "--strict",
        *sorted(checkout.built.iterdir()),
        folder=checkout.root,
    )


def tracked(root: Path, *below: str) -> set[str]:
    """Return the names of the committed files."""
    return set(run("git", "ls-files", "-z", "--", *below, folder=root).split("\0")) - {""}


def check_contents(checkout: Checkout) -> None:
    """Compare the files in the wheels and source archives with those that are committed."""
    expected = {name.removeprefix("src/") for name in tracked(checkout.root, "src/incrowd")}
    packed = {
        distribution: {
            name
            for name in archives.files_in(checkout.archive(distribution, ".whl"))
            if not name.split("/")[0].endswith((".dist-info", ".data"))
        }
        for distribution in PROJECTS
    }
    times = Counter(name for names in packed.values() for name in names)
    problems = [f"{name} is in no wheel" for name in sorted(expected - times.keys())]
    problems += [
        f"{name} is in a wheel, but not committed" for name in sorted(times - Counter(expected))
    ]
    problems += [f"{name} is in several wheels" for name, number in times.items() if number > 1]
    source = set(archives.files_in(checkout.archive("incrowd", ".tar.gz")))
    files = {name for name in tracked(checkout.root) if (checkout.root / name).is_file()}
    visible = {name for name in files if not _hidden(name)}  # links to folders have other names
    problems += [f"{name} is not in the source archive" for name in sorted(visible - source)]
    for distribution in PROJECTS:
        for ending in (".whl", ".tar.gz"):
            archive = checkout.archive(distribution, ending)
            names = archives.unwanted(archives.files_in(archive))
            problems += [f"{archive.name} contains {name}" for name in names]
    reject(problems)


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in Path(name).parts)


def check_reproducible(checkout: Checkout) -> None:
    """Build once more elsewhere, as a user with another umask: every byte must be the same."""
    again, folder = checkout.folder / "again" / "clone", checkout.folder / "again" / "dist"
    (checkout.folder / "again").mkdir()
    run("git", "clone", "--quiet", checkout.root, again, folder=checkout.folder, umask=0o002)
    os.utime(again / "LICENSE", (0, 10**9))
    build_all(again, folder)
    found = [archives.differences(path, folder / path.name) for path in checkout.built.iterdir()]
    reject([line for lines in found for line in lines])


def check_source_archives(checkout: Checkout) -> None:
    """Build each wheel from its source archive alone: it must be the same wheel."""
    problems: list[str] = []
    for distribution in PROJECTS:
        folder = checkout.empty(f"source of {distribution}")
        with tarfile.open(checkout.archive(distribution, ".tar.gz")) as archive:
            archive.extractall(folder, filter="data")
        [source] = folder.iterdir()
        constraints = checkout.root / "constraints.txt"
        build(source, folder, time_of(source), constraints, "--wheel")
        [wheel] = folder.glob("*.whl")
        problems += archives.differences(checkout.archive(distribution, ".whl"), wheel)
    reject(problems)


def check_first_page(checkout: Checkout) -> None:
    """Type the manual's first page literally, with each Python of this machine."""
    wanted = pythons.supported(checkout.root / PROJECTS["incrowd"])
    found = pythons.interpreters(wanted, Path.home())
    for version in wanted:
        if version not in found:
            checkout.say(f"   Python {version} is not on this machine: not checked")
    if not found:
        raise CheckError(
            f"none of these versions of Python is on this machine: {', '.join(wanted)}"
        )
    script = first_page.commands((checkout.root / FIRST_PAGE).read_text(encoding="utf-8"))
    wheels = {name: checkout.archive(name, ".whl") for name in PROJECTS}
    stated = versions.of_package(checkout.root)
    problems = []
    for version, python in found.items():
        checkout.say(f"   with {python}")
        folder = checkout.empty(f"first page with {version}")
        try:
            first_page.type_literally(script, python, wheels, stated, folder)
        except CheckError as error:
            problems.append(f"with Python {version}: {error}")
    reject(problems)


def check_client(checkout: Checkout) -> None:
    """Pack the TypeScript client, and answer a survey with it from Node and from a page."""
    browser = checkout.root / "tests" / "browser"
    client = checkout.root / "clients" / "js"
    for folder in (client, browser):
        npm.npm("install", *npm.QUIET, folder=folder)
    archive = npm.pack(client, checkout.folder)
    if changed := run("git", "status", "--porcelain", folder=checkout.root).strip():
        raise CheckError(f"building the client changes committed files:\n{changed}")
    npm.publish_dry(client)
    npm.use(archive, checkout.empty("client"), checkout.root / "vectors", browser)


def check_container(checkout: Checkout) -> None:
    """Check the container file by the rules of hadolint, and the lock on every platform.

    The packages are also installed from it, as the image does, on this machine.
    """
    run(TOOLS / "hadolint", lock.CONTAINERFILE, folder=checkout.root)
    python = lock.python_of_image(checkout.root)
    reject(lock.problems(checkout.root / lock.LOCK, python))
    found = pythons.interpreters([python], Path.home())
    if python not in found:
        checkout.say(f"   Python {python} is not on this machine: the lock was not installed")
        return
    environment = checkout.folder / "container"
    run(found[python], "-m", "venv", environment, folder=checkout.folder)
    pip = (environment / "bin" / "python", "-m", "pip", "install")
    run(*pip, "--require-hashes", "-r", checkout.root / lock.LOCK, folder=checkout.root)
    sources = [checkout.root / path.parent for path in PROJECTS.values()]
    run(*pip, "--no-deps", "--no-build-isolation", *sources, folder=checkout.root)
    run(environment / "bin" / "python", "-m", "pip", "check", folder=checkout.folder)
    run(environment / "bin" / "incrowd", "shuffler", "--help", folder=checkout.folder)
    shutil.rmtree(environment)


def check_recipe(checkout: Checkout) -> None:
    """Compare the conda recipe with the project files, and read it as its builder does."""
    path = checkout.root / recipe.RECIPE
    if path.read_text(encoding="utf-8") != recipe.recipe(checkout.root):
        raise CheckError(f"{recipe.RECIPE} is stale: run `python -m releasing.recipe`")
    recipe.rendered(path)


STEPS = (
    Step("versions", "one version in every place", check_versions),
    Step("metadata", "project files are valid", check_metadata),
    Step("build", "wheels and source archives", check_build),
    Step("descriptions", "what a package index shows", check_descriptions, ("build",)),
    Step("contents", "every committed file, and no other", check_contents, ("build",)),
    Step("reproducible", "a second build has the same bytes", check_reproducible, ("build",)),
    Step("source", "source archives build the same wheels", check_source_archives, ("build",)),
    Step("first-page", "the manual's first page, literally", check_first_page, ("build",)),
    Step("client", "the npm package, used from Node and from a page", check_client),
    Step("container", "the container file, and its lock with hashes", check_container),
    Step("recipe", "the conda recipe", check_recipe),
)
