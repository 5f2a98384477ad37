"""What works without the extras: every command says which one it needs, or needs none."""

import pytest

from incrowd.cli.later import COMMANDS, Later
from tests.conftest import slowly
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


def test_every_command_works_or_names_its_extra_in_a_plain_installation(folder):
    done = run_commands(folder, LOCAL | NEEDED, missing=missing_modules())
    check_outcomes(done, [])


@pytest.mark.parametrize("extra", ["collect", *slowly(*(e for e in NEEDING if e != "collect"))])
def test_commands_name_the_extra_that_is_missing_beside_another(folder, extra):
    if extra == "spark":
        pytest.importorskip("pyspark")
    done = run_commands(folder, NEEDED, missing=missing_modules([extra]))
    check_outcomes(done, [extra])
