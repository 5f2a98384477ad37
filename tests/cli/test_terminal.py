"""Tables at a terminal, and the tab key."""

import re

import pytest

from tests.cli.conftest import ANSWERS, SURVEY
from tests.conftest import one_in

ASKED = ("privacy", "delta", "--noise", 0.3, "--bits", 2, "--crowd", 120, "--epsilon", 0.7)
MODEL = ("--outcome", "physical_limitation", "--on", "doctor_visits,chronic_conditions")
FEWER = (  # as many answers as a regression of this survey supports
    "--merge",
    "doctor_visits: 1 to <3 + 3 to <6 + 6 to <12 + 12 or more",
    "--merge",
    "chronic_conditions: 5 to <10 + 10 to <20 + 20 or more",
)
COMMANDS = {
    "plan": ("plan", SURVEY),
    "simulate": ("simulate", SURVEY, ANSWERS, "--trials", "2"),
    "privacy": ASKED,
    "compare": ("compare", "plan.json", "reports.parquet", "doctor_visits", "chronic_conditions"),
    "postprocess": ("postprocess", "plan.json", "reports.parquet"),
    "regress": ("regress", "plan.json", "--forecast", *MODEL, *FEWER),
}


@pytest.mark.parametrize("name", one_in(3, COMMANDS))
def test_tables_fit_80_columns_uncut(name, made, call, monkeypatch):
    """Nothing is cut with an ellipsis; every name stands there whole, be it on two lines."""
    monkeypatch.chdir(made)
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call(*COMMANDS[name])
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    if name != "privacy":
        names = "".join(re.split(r"[\s│]+", out))
        assert "doctor_visits" in names and "chronic_conditions" in names


def completed(call, monkeypatch, words):
    monkeypatch.setenv("_INCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"incrowd {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    return call()[1].split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("esti", ["estimate"]),
        ("estimate plan.json r.parquet --engine s", ["spark"]),
        ("estimate plan.json r.parquet --simultaneous b", ["bonferroni"]),
        ("privacy noise --analysis b", ["blanket"]),
        ("postprocess plan.json r.parquet --method s", ["simplex"]),
        ("plan survey.toml --solve c", ["crowd"]),
        ("plan surv", []),  # the shell then offers files
    ],
)
def test_the_tab_key_completes_commands_and_values(words, found, call, monkeypatch):
    assert completed(call, monkeypatch, words) == found


def test_completion_can_be_shown(call, monkeypatch):
    """Where incrowd has nothing to offer, the shell offers files."""
    monkeypatch.setenv("_INCROWD_COMPLETE", "source_bash")
    assert "complete -o default" in call()[1]
