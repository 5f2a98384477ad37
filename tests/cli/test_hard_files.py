"""Files that were a fault once, or took all time and memory; and those that are not spoiled."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cli.conftest import COMMANDS, SECONDS, TOML, check, filled, said
from tests.conftest import one_in, slowly

pytestmark = pytest.mark.filterwarnings("default::incrowd.errors.IncrowdWarning")

MOST = 4 << 30  # bytes of address space of a process, threads and libraries included


# --- what has to hold --------------------------------------------------------------------------


def in_a_process(arguments):
    """Exit code and standard error of a command in a process of its own, of bounded memory."""
    code = "from incrowd.cli import main; main()"
    most = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MOST}, {MOST})); "
    command = [sys.executable, "-c", most + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stderr


def in_survey(crowd):
    return TOML.replace("crowd = 40", f"crowd = {crowd}").encode()


HARD = [
    ("survey.toml", in_survey("9" * 5000)),
    ("survey.toml", in_survey("0x" + "f" * 6000)),
    ("survey.toml", in_survey("[" * 100_000)),
    ("survey.toml", in_survey("{a=" * 100_000)),
    ("survey.toml", in_survey("1e30")),
    ("survey.toml", in_survey(10**30)),
    ("survey.toml", b"a" + b".a" * 100_000 + b" = 1\n" + TOML.encode()),
    ("survey.toml", b"[a" + b' . "a"' * 100_000 + b"]\n" + TOML.encode()),
    ("survey.toml", TOML.encode() + b"[[table]]\nquestions = [['a'], {a = 1}]"),
    ("plan.json", b"[" * 1_000_000),
    ("ledger.json", b'{"format":' * 100_000),
    ("tally.json", b"[" * 1_000_000),
    ("answers.csv", b"id,a,b,c,d,t\n" + b"x" * 3_000_000),
    ("words.txt", b"\xff\xfe"),
]


@pytest.mark.slow
# Each in a process of its own: one of a kind, and all of them slowly.
@pytest.mark.parametrize("number", [0, 2, 6, 9, 12, *slowly(1, 3, 4, 5, 7, 8, 10, 11, 13)])
def test_hard_files_are_refused_in_bounded_time_and_memory(valid, number):
    """What was a fault, or took more and more time and memory: refused in 4 GiB and 30 s."""
    name, content = HARD[number]

    def refused(arguments):
        code, error = in_a_process(arguments)
        assert code == 2 and error.startswith("error: ")
        return code, error

    check(valid, name, content, COMMANDS[name][0], refused)


@pytest.mark.parametrize(
    ("name", "command"),
    one_in(3, [(name, command) for name in COMMANDS for command in COMMANDS[name]]),
)
def test_files_that_are_not_spoiled(valid, name, command):
    """The wrong variant: what the tests spoil works as it is, so that they look at more than
    the first line."""
    with tempfile.TemporaryDirectory(dir=valid.parent) as place:
        for copied in (name, "new.json"):
            (Path(place) / copied).write_bytes((valid / copied).read_bytes())
            os.chmod(Path(place) / copied, 0o600)
        words = [filled(word, Path(place), valid, name) for word in command.split()]
        code, error = said(words)
        assert code == 0, error
