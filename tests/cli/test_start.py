"""The command line starts quickly: its help needs nothing of what the commands work with.

What that costs beside importing typer, rich and pydantic is measured by `python -m bench start`.
"""

import re
import subprocess
import sys

import pytest

from incrowd.accountant.analyses import ANALYSES
from incrowd.cli import words
from incrowd.cli.later import COMMANDS, Later
from incrowd.collection.device.connection import Patience
from incrowd.collection.device.crowd import AT_ONCE
from incrowd.drafts.examples import EXAMPLES
from incrowd.drafts.new_survey import OFFERED
from incrowd.interviews.devices import DEVICES
from incrowd.planner.solving import UNKNOWNS
from incrowd.studio.ready_surveys import READY_SURVEYS
from incrowd.survey import formulas, question

COMMAND = """
import sys
from incrowd.cli import main
def run(*words):
    sys.argv = ["incrowd", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
def loaded(*names):
    print("loaded:", *sorted(set(names) & set(sys.modules) if names else sys.modules))
"""
HEAVY = "numpy scipy pyarrow pydantic altair numba jinja2 httpx starlette rich.console"


def printed(*lines):
    command = [sys.executable, "-c", "\n".join([COMMAND, *lines])]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def loads(*lines):
    """What is printed, and for each `loaded()` the modules."""
    shown, *modules = printed(*lines, "print()").split("loaded:")
    return shown, [set(each.splitlines()[0].split()) for each in modules]


def test_help_names_every_command_and_loads_none():
    shown, [modules] = loads("run('--help')", "loaded()")
    lines = shown.splitlines()
    listed, heading = {}, ""
    for line in lines[lines.index("Start:") :]:
        if line.endswith(":"):
            heading = line.removesuffix(":")
        elif line:
            name, about = line.split(maxsplit=1)
            listed[name] = heading, about
    assert listed == {name: (of, line) for name, (of, _, line) in COMMANDS.items()}
    assert not modules & set(HEAVY.split())
    assert {name for name in modules if name.startswith("incrowd.cli.")} == {
        f"incrowd.cli.{name}" for name in ("app", "console", "later")
    }


# typer needs pydantic for a command's arguments, and the console is rich's.
OF_ITS_HELP = {"pydantic", "rich.console"}
NO_COMMAND = {
    "incrowd",
    *(
        f"incrowd.{name}"
        for name in (
            "arguments",
            "catalog",
            "characters",
            "errors",
            "files",
            "methods",
            "version",
            "views",
        )
    ),
    "incrowd.catalog.sentences",
    *(f"incrowd.reports{name}" for name in ("", ".locking")),
    *(f"incrowd.encoding{name}" for name in ("", ".formats", ".formats.registry")),
}


def loaded_for_help(names):
    """By command, what its help has loaded beyond that of the commands before it."""
    _, [*totals] = loads(*(f"run('{name}', '--help')\nloaded()" for name in names))
    return {
        name: total - before
        for name, before, total in zip(names, [set(), *totals], totals, strict=False)
    }


def beyond_arguments(modules):
    """Modules of the library that commands work with, and the heavy ones of others."""
    own = {name for name in modules if name.split(".")[0] == "incrowd"} - NO_COMMAND
    library = {name for name in own if not f"{name}.".startswith("incrowd.cli.")}
    return library | modules & set(HEAVY.split()) - OF_ITS_HELP


def test_the_help_of_a_command_loads_nothing_that_it_works_with():
    beyond = {name: beyond_arguments(loads) for name, loads in loaded_for_help(COMMANDS).items()}
    of_channels = re.compile(r"incrowd\.accountant(\.(channels|numerics)\b.*)?|numpy")
    beyond["privacy"] = {  # the parameters of channels are options
        name for name in beyond["privacy"] if not of_channels.fullmatch(name)
    }
    assert {name: modules for name, modules in beyond.items() if modules} == {}


@pytest.mark.slow
def test_a_command_that_imports_what_it_works_with_is_seen():
    """The wrong variant of the tests above."""
    _, [modules] = loads("import incrowd.cli.show_plans", "loaded()")
    assert {"numpy", "incrowd.survey", "incrowd.presentation"} <= beyond_arguments(modules)


def test_words_of_options_are_those_of_the_library():
    library = {
        "ANALYSES": tuple(ANALYSES),
        "UNKNOWNS": UNKNOWNS,
        "TABLE_SEPARATOR": question.TABLE_SEPARATOR,
        "BETWEEN": formulas.BETWEEN,
        "AT_ONCE": AT_ONCE,
        "PATIENCE": Patience.whole,
        "READY": tuple(each.name for each in READY_SURVEYS),
        "EXAMPLES": tuple(EXAMPLES),
        "PROTECTIONS": tuple(OFFERED),
        "DEVICES": tuple(DEVICES),
    }
    assert {name: getattr(words, name) for name in library} == library


NO_PART_OF_A_PLAN = """
    scipy.special scipy.optimize scipy.sparse scipy.fft scipy.linalg pyarrow cryptography jinja2
    incrowd.reports.tally incrowd.reports.collection incrowd.estimation.regression.regress
"""


@pytest.mark.slow
def test_a_plan_loads_nothing_that_reads_reports_and_no_part_of_scipy():
    """Its table of other ways among it. The wrong variant: what another command loads."""
    names = f"loaded(*{NO_PART_OF_A_PLAN.split()})"
    other = "import incrowd.estimation.regression.regress, incrowd.cli.show"
    shown, [plan, regress] = loads("run('plan', 'examples/health.toml', '-v')", names, other, names)
    assert "other ways to send it" in shown
    assert not plan
    assert {"pyarrow", "incrowd.reports.tally", "incrowd.estimation.regression.regress"} <= regress


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_about_a_command_is_what_its_own_help_begins_with(name):
    stub = Later(name)
    own = " ".join(stub.loaded().help.split())
    assert f"{own} ".startswith(f"{stub.help} ")
