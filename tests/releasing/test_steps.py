"""A step that fails is named with the reason, those that need it are not run, and others are."""

import pytest

from releasing.__main__ import arguments, chosen, perform
from releasing.commands import CheckError
from releasing.steps import STEPS, Checkout, Step


def fails(checkout):
    raise CheckError("this is wrong", "and this")


def step(name, check=lambda checkout: None, needs=()):
    return Step(name, f"what {name} checks", check, needs)


def test_every_failure_is_collected_and_what_needs_it_is_not_run(tmp_path):
    run, lines = [], []
    steps = [
        step("build", fails),
        step("contents", lambda checkout: run.append("contents"), ("build",)),
        step("client", lambda checkout: run.append("client")),
    ]
    failed = perform(steps, Checkout(tmp_path, tmp_path, None, lines.append))
    assert failed == {
        "build": ("this is wrong", "and this"),
        "contents": ("not checked, because `build` failed",),
    }
    assert run == ["client"]
    assert [line for line in lines if line.startswith("==")] == [
        "== 1/3 build: what build checks",
        "== 2/3 contents: what contents checks",
        "== 3/3 client: what client checks",
    ]


def test_chosen_steps_bring_what_they_need():
    assert [each.name for each in chosen(STEPS, ["contents"])] == ["build", "contents"]
    assert chosen(STEPS, None) == [*STEPS]
    for number, each in enumerate(STEPS):
        assert set(each.needs) <= {earlier.name for earlier in STEPS[:number]}


def test_an_unknown_step_and_an_existing_folder_are_usage_errors(tmp_path, capsys):
    for typed in (["--only", "everything"], ["--keep", str(tmp_path)]):
        with pytest.raises(SystemExit) as stopped:
            arguments(typed)
        assert stopped.value.code == 2
    assert "name a new folder" in capsys.readouterr().err
