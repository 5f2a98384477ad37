"""What works without the extras: every command says which one it needs, or needs none."""

import subprocess
import sys

import pytest

from incrowd.cli.later import COMMANDS, Later
from tests.oracles.installed import (
    LOCAL,
    NEEDING,
    PROJECT,
    check_outcomes,
    missing_modules,
    prepare,
    run_commands,
)

NEEDED = {name: words for commands in NEEDING.values() for name, words in commands.items()}
DEVELOPMENT = {"dev", "docs"}


FEW_NEED = ("accountant.proved", "collection.mixer", "reports.spark", "studio")
WITHOUT = """
import sys
sys.modules |= dict.fromkeys(sys.argv[1:])  # an import of these raises ModuleNotFoundError
import pyarrow as pa
import incrowd
for name in incrowd.__all__:
    getattr(incrowd, name)
question = {"id": "smoker", "type": "yesno", "text": "Do you smoke?"}
privacy = {"epsilon": 2.0, "delta": 1e-6}
survey = incrowd.Survey.of(
    {"name": "Smoking", "crowd": 1000, "privacy": privacy, "question": [question]}
)
plan = incrowd.plan(survey)
answers = pa.table({"smoker": ["yes", "no"] * 500})
reports = incrowd.randomize(plan, answers, simulation_seed=1)
incrowd.verify(plan, reports)
print(incrowd.estimate(plan, reports).people)
"""


def run_without(*parts):
    names = [f"incrowd.{part}" for part in parts]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *names], capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


@pytest.mark.slow
def test_the_core_works_without_the_parts_that_few_need():
    assert run_without(*FEW_NEED) == ("1000\n", "")


@pytest.mark.slow
def test_a_part_that_the_core_needs_is_missed():
    assert "incrowd.plans" in run_without("plans")[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("installed"))


def subcommands(name):
    """The names of a command, or of the commands of a group."""
    loaded = Later(name).loaded()
    return [f"{name} {each}" for each in getattr(loaded, "commands", [])] or [name]


def test_every_command_and_extra_is_run():
    every = {each for name in COMMANDS for each in subcommands(name)}
    assert every - {"demo"} <= LOCAL.keys() | NEEDED.keys()  # the demo is in tests/test_dist.py
    assert NEEDING.keys() == PROJECT["optional-dependencies"].keys() - DEVELOPMENT


def test_modules_of_extras_are_missing_and_all_others_are_not():
    missing = missing_modules()
    assert {"gmpy2", "httpx", "flint", "openpyxl", "tomlkit", "pytest", "pandas"} <= {*missing}
    assert {"numpy", "cryptography", "pydantic_core", "attr", "incrowd"}.isdisjoint(missing)
    with_studio = missing_modules(["studio"])
    assert {"gmpy2", "httpx", "openpyxl", "tomlkit"}.isdisjoint(with_studio)
    assert "flint" in with_studio


@pytest.mark.slow
def test_every_command_works_or_names_its_extra_in_a_plain_installation(folder):
    done = run_commands(folder, LOCAL | NEEDED, missing=missing_modules())
    check_outcomes(done, [])


@pytest.mark.slow
@pytest.mark.parametrize("extra", NEEDING)
def test_commands_name_the_extra_that_is_missing_beside_another(folder, extra):
    if extra == "spark":
        pytest.importorskip("pyspark")
    done = run_commands(folder, NEEDED, missing=missing_modules([extra]))
    check_outcomes(done, [extra])
