"""What the tab key offers: options that are words, and the questions of the plan on the line."""

import shlex

import pytest

from incrowd.cli.app import app
from tests.conftest import local_plan, yes_no_question

IDS = ["smoker", "sleep", "age group"]


@pytest.fixture
def offered(tmp_path, monkeypatch, capsys):
    """What is offered after the words of a line, in a folder with a plan."""
    monkeypatch.chdir(tmp_path)
    plan = local_plan(*map(yes_no_question, IDS))
    (tmp_path / "plan.json").write_text(plan.dumps())
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")

    def after(line, incomplete=""):
        words = ["incrowd", *line.split(), *([incomplete] if incomplete else [])]
        monkeypatch.setenv("_INCROWD_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", shlex.join(words))
        monkeypatch.setenv("COMP_CWORD", str(1 + len(line.split())))
        capsys.readouterr()
        with pytest.raises(SystemExit):
            app(prog_name="incrowd")
        shown = capsys.readouterr()
        assert shown.err == ""
        return [each for each in shown.out.splitlines() if each]

    return after


@pytest.mark.parametrize(
    ("line", "incomplete", "found"),
    [
        ("estimate plan.json r.parquet --table", "", IDS),
        ("estimate plan.json r.parquet --table", "s", ["smoker", "sleep"]),
        ("estimate plan.json r.parquet --table", "smoker,s", ["smoker,sleep"]),
        ("estimate plan.json r.parquet --table", "sleep,smoker,", ["sleep,smoker,age group"]),
        ("estimate plan.json r.parquet --table", "x", []),
        ("tally plan.json r.parquet --table", "sm", ["smoker"]),
        ("postprocess plan.json r.parquet --table", "sm", ["smoker"]),
        ("estimate plan.json r.parquet --words", "sm", ["smoker="]),
        ("compare plan.json r.parquet", "sm", ["smoker"]),
        ("compare plan.json r.parquet smoker", "sl", ["sleep"]),
        ("regress plan.json r.parquet --outcome", "a", ["age group"]),
        ("regress plan.json r.parquet --outcome smoker --on", "sleep,a", ["sleep,age group"]),
        ("regress plan.json --outcome smoker --on", "sleep:a", ["sleep:age group"]),
        ("regress plan.json --outcome smoker --on", "sleep,smoker:s", ["sleep,smoker:sleep"]),
        ("regress plan.json --outcome smoker --reference", "sl", ["sleep="]),
        ("regress plan.json --forecast --share", "sm", ["smoker="]),
        ("estimate plan.json r.parquet --engine", "s", ["spark"]),
    ],
)
def test_what_is_offered(offered, line, incomplete, found):
    assert offered(line, incomplete) == found


@pytest.mark.parametrize(
    "plan", ["", "no.json", "list.json", "deep.json", "bytes.json", ".", "http://x"]
)
def test_without_a_plan_nothing_is_offered_and_nothing_is_said(offered, plan):
    assert offered(f"estimate {plan} --table") == []
