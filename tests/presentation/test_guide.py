"""What a page of estimates says of its intervals is true of them, and experts' words stay away."""

import io
from dataclasses import replace

import pyarrow as pa
import pytest
from rich.console import Console

import incrowd
from incrowd.presentation.guarantee_text import worst_pair
from incrowd.presentation.layouts import page
from incrowd.presentation.terminal import terminal
from tests.conftest import local_plan, yes_no_question

SINGLY = "one in 20 to miss"
TOGETHER = "all of them cover their true shares together"


@pytest.fixture(scope="module")
def found():
    made = local_plan(yes_no_question("a"), yes_no_question("b"), crowd=200)
    people = pa.table({"a": ["yes", "no"] * 100, "b": ["no"] * 200})
    reports = incrowd.randomize(made, people, simulation_seed=1)
    return incrowd.estimate(made, reports, simultaneous="bonferroni")


@pytest.mark.parametrize(
    ("kept", "said", "together"),
    [
        ([], "Every interval is for its own cell", False),
        ([0], "Every other interval is for its own cell", True),
        ([0, 1], "", True),
    ],
)
def test_the_guide_knows_which_intervals_hold_together(found, kept, said, together):
    """kept: the tables whose intervals are for all cells at once."""
    at_once = tuple(each if i in kept else None for i, each in enumerate(found.simultaneous))
    words = " ".join(page(replace(found, simultaneous=at_once)).split())
    assert (TOGETHER in words, SINGLY in words) == (together, bool(said))
    assert said in words and words.count("all cells at once (bonferroni)") == len(kept)


def test_the_worst_pair_is_for_experts(found):
    """What decided the certificate stands neither on the page nor at the terminal."""
    console = Console(file=io.StringIO(), width=1000)
    console.print(terminal(found))
    shown = page(found) + console.file.getvalue()
    assert str(worst_pair(found.guarantee.worst)) not in shown and "Worst" not in shown
    assert f"crowd of {found.guarantee.crowd}" in shown
