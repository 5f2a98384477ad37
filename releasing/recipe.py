"""The conda recipe of both distributions, made from their project files.

Run as `python -m releasing.recipe` to write packages/conda/recipe.yaml again.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from releasing import versions
from releasing.commands import CheckError
from releasing.distributions import PROJECTS

ROOT = Path(__file__).parents[1]
RECIPE = Path("packages", "conda", "recipe.yaml")
HEAD = """\
# The conda packages of both distributions. `python -m releasing.recipe` writes this file from their
# project files. docs/releasing.md says what to change in it for conda-forge.
"""
# conda-forge has most packages under their canonical name on the index of Python packages.
OTHER_NAMES = {"prometheus-client": "prometheus_client"}
FOR_DEVELOPERS = {"dev", "docs"}  # extras that users do not install
PYTHON = "${{ python_min }}"


def conda_requirement(text: str) -> str:
    """Write the requirement of a project file as conda does: `psycopg[binary]>=3.2.1` has no extra.

    Examples
    --------
    >>> conda_requirement("SQLAlchemy>=2.1,<3")
    'sqlalchemy >=2.1,<3'
    """
    requirement = Requirement(text)
    name = canonicalize_name(requirement.name)
    # The specification has no order of its own; lower bounds first.
    bounds = ",".join(sorted(map(str, requirement.specifier), reverse=True))
    return f"{OTHER_NAMES.get(name, name)} {bounds}".strip()


def conda_requirements(texts: Iterable[str]) -> list[str]:
    """Return the requirements of a project file, except for distributions of this repository."""
    return sorted(
        conda_requirement(text)
        for text in texts
        if canonicalize_name(Requirement(text).name) not in PROJECTS
    )


def output(project: dict[str, Any], build: dict[str, Any]) -> dict[str, Any]:
    """Return one package of the recipe, from the table `project` of its project file.

    What extras need is a constraint: conda has no extras, and does not install these packages.
    """
    name = project["name"]
    scripts = [
        f"{command} = {function}" for command, function in project.get("scripts", {}).items()
    ]
    extras = {
        text
        for extra, texts in project.get("optional-dependencies", {}).items()
        if extra not in FOR_DEVELOPERS
        for text in texts
    }
    run = [f"python >={PYTHON}", *conda_requirements(project["dependencies"])]
    needed = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    run += [
        f'${{{{ pin_subpackage("{each}", exact=True) }}}}' for each in PROJECTS if each in needed
    ]
    imported = "incrowd" if name == "incrowd" else "incrowd.accountant"
    tests: list[dict[str, Any]] = [
        {"python": {"imports": [imported], "pip_check": True, "python_version": f"{PYTHON}.*"}}
    ]
    tests += [{"script": [f"{command} --version"]} for command in project.get("scripts", {})]
    noarch: dict[str, Any] = {"noarch": "python"}
    if scripts:
        noarch["python"] = {"entry_points": scripts}
    script = "${{ PYTHON }} -m pip install . -vv --no-deps --no-build-isolation"
    return {
        "package": {"name": name},
        "source": {"path": f"../../dist/{name.replace('-', '_')}-${{{{ version }}}}.tar.gz"},
        "build": noarch | {"script": script},
        "requirements": {
            "host": [f"python {PYTHON}.*", "pip", *conda_requirements(build["requires"])],
            "run": run,
            "run_constraints": conda_requirements(extras),
        },
        "tests": tests,
        "about": {
            "license": project["license"],
            "license_file": project["license-files"],
            "summary": project["description"],
        },
    }


def recipe(root: Path) -> str:
    """Return the recipe of a repository."""
    read = [tomllib.loads((root / path).read_text(encoding="utf-8")) for path in PROJECTS.values()]
    lowest = read[0]["project"]["requires-python"].removeprefix(">=")
    version = versions.of_package(root)
    content = {
        "schema_version": 1,
        "context": {"version": version, "python_min": lowest},
        "recipe": {"name": "incrowd-split", "version": "${{ version }}"},
        "build": {"number": 0},
        "outputs": [output(each["project"], each["build-system"]) for each in read],
    }
    written = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)
    return f"{HEAD}{written}"


def rendered(path: Path) -> list[dict[str, Any]]:
    """Return each package as the builder of conda packages reads it from a recipe.

    Raises
    ------
    CheckError
        If it refuses the recipe.
    """
    from rattler_build import RattlerBuildError, Stage0Recipe

    try:
        return [each.recipe.to_dict() for each in Stage0Recipe.from_file(path).render()]
    except RattlerBuildError as error:
        raise CheckError(f"rattler-build does not accept {RECIPE}: {error}") from error


if __name__ == "__main__":
    (ROOT / RECIPE).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / RECIPE).write_text(recipe(ROOT), encoding="utf-8")
