"""The conda recipe requires what the project files require, and conda's own parser reads it."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

import incrowd
from releasing import recipe
from releasing.distributions import PROJECTS

ROOT = Path(__file__).parents[2]
WRITTEN = (ROOT / recipe.RECIPE).read_text()
OUTPUTS = {each["package"]["name"]: each for each in yaml.safe_load(WRITTEN)["outputs"]}


def project(name):
    return tomllib.loads((ROOT / PROJECTS[name]).read_text())["project"]


def names(requirements):
    """The names in requirements, written as most packages are called in conda."""
    found = {each[0].lower() for each in map(re.compile(r"[\w-]+").match, requirements) if each}
    return found - {"python"} - OUTPUTS.keys()


def test_the_recipe_is_made_from_the_project_files():
    assert recipe.recipe(ROOT) == WRITTEN, "run `python -m releasing.recipe`"


@pytest.mark.parametrize("change", ['"rich>=15"', '"rich>=14", "new-package>=2"'])
def test_another_dependency_makes_another_recipe(tmp_path, change):
    for name in ("src/incrowd/version.py", *map(str, PROJECTS.values())):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert recipe.recipe(tmp_path) == WRITTEN
    changed = (tmp_path / "pyproject.toml").read_text().replace('"rich>=14"', change)
    (tmp_path / "pyproject.toml").write_text(changed)
    assert recipe.recipe(tmp_path) != WRITTEN


@pytest.mark.parametrize("name", OUTPUTS)
def test_conda_requires_the_same_packages_as_pip(name):
    """Extras are constraints: conda installs none of them, but no older version either."""
    requirements, stated = OUTPUTS[name]["requirements"], project(name)
    assert names(requirements["run"]) == names(stated["dependencies"])
    extras = stated["optional-dependencies"]
    for_users = [each for extra in extras.keys() - {"dev", "docs"} for each in extras[extra]]
    other = {"prometheus-client": "prometheus_client"}
    assert names(requirements["run_constraints"]) == {
        other.get(each, each) for each in names(for_users)
    }
    assert f"python >={'${{ python_min }}'}" in requirements["run"]


def test_incrowd_needs_exactly_the_accountant_of_its_version():
    assert OUTPUTS.keys() == {"incrowd", "incrowd-accountant"}
    [pinned] = [each for each in OUTPUTS["incrowd"]["requirements"]["run"] if "pin" in each]
    assert pinned == '${{ pin_subpackage("incrowd-accountant", exact=True) }}'
    entries = OUTPUTS["incrowd"]["build"]["python"]["entry_points"]
    assert entries == [f"{a} = {b}" for a, b in project("incrowd")["scripts"].items()]


@pytest.mark.parametrize(
    ("pip", "conda"),
    [
        ("Jinja2>=3.1.6", "jinja2 >=3.1.6"),
        ("uvicorn>=0.45,<0.55", "uvicorn >=0.45,<0.55"),
        ("psycopg[binary]>=3.2.1", "psycopg >=3.2.1"),
        ("prometheus-client>=0.23", "prometheus_client >=0.23"),
        ("numpy", "numpy"),
    ],
)
def test_requirements_in_the_words_of_conda(pip, conda):
    assert recipe.conda_requirement(pip) == conda


def test_the_parser_of_conda_packages_reads_the_recipe_and_refuses_a_wrong_one(tmp_path):
    pytest.importorskip("rattler_build", reason="make release-check installs it")
    rendered = recipe.rendered(ROOT / recipe.RECIPE)
    assert [each["package"]["name"] for each in rendered] == [*OUTPUTS]
    assert "numpy >=2" in rendered[0]["requirements"]["run"]
    assert {each["package"]["version"] for each in rendered} == {incrowd.__version__}
    wrong = tmp_path / "recipe.yaml"
    wrong.write_text(WRITTEN.replace("noarch: python", "noarch: snake"))
    with pytest.raises(recipe.CheckError, match="snake"):
        recipe.rendered(wrong)
