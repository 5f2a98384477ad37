"""Tables at a terminal have one home, and fit it."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import incrowd
from incrowd.estimation.postprocess import BootstrapBias, PostprocessedTable
from incrowd.presentation.terminal_tables import (
    alternatives_table,
    assumed_words,
    forecast_table,
    numbers_table,
    table,
)
from incrowd.survey import Survey

COMMANDS = sorted((Path(incrowd.__file__).parent / "cli").glob("*.py"))


def printed(shown):
    console = Console(file=io.StringIO(), width=80)
    console.print(shown)
    return console.file.getvalue()


@pytest.mark.parametrize("file", COMMANDS, ids=lambda file: file.stem)
def test_the_command_line_makes_no_table_of_its_own(file):
    assert "rich.table" not in file.read_text() and "Table(" not in file.read_text()


def test_names_are_not_markup_and_are_never_cut():
    name = "[red]" + "long " * 40
    shown = table(name, "what", "figure")
    shown.add_row("a" * 100, "1")
    text = printed(shown)
    assert "[red]" in text and text.count("a") >= 100 and "…" not in text


@pytest.mark.parametrize(
    ("objective", "said"),
    [("largest", "the least precise wanted table"), ("mean", "by their mean inflation")],
)
def test_ways_are_compared_by_effective_samples(objective, said):
    """16 people tell four times as large errors as 256; of another way no noise is enough."""
    question = {"id": "a", "type": "yesno"}
    privacy = {"epsilon": 1.0, "analysis": "local"}
    survey = {"name": "s", "crowd": 300, "privacy": privacy, "question": [question]}
    made = incrowd.plan(incrowd.Survey.of(survey | {"objective": objective}))
    others = [("twice", 2, 2, 16.0, 3.0), ("none", 1, 1, None, float("inf"))]
    text = " ".join(re.findall(r"[\w.%]+", printed(alternatives_table(made, 256.0, others))))
    assert "twice 2 2 16 4.00 3" in text and "1.00" in text
    assert "no noise level gives the guarantee" in text and said in text


@pytest.mark.parametrize("openly", [False, True])
def test_what_a_plan_will_tell(openly):
    questions = [{"id": "a", "type": "yesno"}, {"id": "b", "type": "yesno", "open": openly}]
    raw = {"name": "s", "crowd": 1000, "privacy": {"epsilon": 1.0}, "question": questions}
    expected = [(("a", "b"), 0.0213, 0.0123, float("inf"), 456.7)]
    text = " ".join(printed(forecast_table(incrowd.Survey.of(raw), expected)).split())
    whose = " in the smallest stratum" if openly else ""
    assert f"expected precision with 1,000 people{whose} " in text and "a, b" in text
    assert "1.2% to 2.1%" in text and "457" in text and "none" in text


def test_what_nobody_can_detect_is_no_share_above_one():
    survey = incrowd.Survey.of(
        {
            "name": "s",
            "crowd": 2,
            "privacy": {"epsilon": 1.0},
            "question": [{"id": "a", "type": "yesno"}],
        }
    )
    text = printed(
        forecast_table(survey, [(("a",), 0.9, 0.9, 1.34, 0.2), (("a",), 0.5, 0.5, 0.99, 1.6)])
    )
    assert "134" not in text and "none" in text and "below 1" in text
    assert "99%" in text and " 2 " in text


@pytest.mark.parametrize(("pairs", "together"), [(28, False), (29, True)])
def test_many_tables_with_the_same_figures_share_a_line(pairs, together):
    """With the two single ones 30 tables, or more; those of one question stand by themselves."""
    survey = incrowd.Survey.of(
        {
            "name": "s",
            "crowd": 900,
            "privacy": {"epsilon": 1.0},
            "question": [{"id": "a", "type": "yesno"}],
        }
    )
    figures = (0.02, 0.02, 0.1, 400.0, 400.0)
    expected = [((id,), *figures) for id in "ab"]
    expected += [((f"x{i}", f"y{i}"), *figures) for i in range(pairs)]
    text = " ".join(printed(forecast_table(survey, expected)).split())
    assert ("a and 1 more" in text) is together
    assert ("x0, y0 and 28 more" in text) is together
    assert ("x7, y7" in text) is not together
    assert text.count("400") == (2 if together else 30)


def test_a_forecast_says_what_it_assumes():
    asked = [{"id": "a", "type": "yesno"}, {"id": "b", "type": "yesno", "shares": {"yes": 0.1}}]
    raw = {"name": "s", "crowd": 1000, "privacy": {"epsilon": 1.0}}
    none, some, all = (
        assumed_words(incrowd.Survey.of(raw | {"question": questions}))
        for questions in (asked[:1], asked, asked[1:])
    )
    assert "equally common, and if they are uneven (one yes in ten;" in none and none in some
    assert some.endswith("; the shares of b are as stated")
    assert all.endswith("with the stated shares of the answers")


ASKED = {"id": "a", "type": "yesno"}


@pytest.mark.parametrize("known", [True, False])
def test_the_bias_stands_beside_if_it_is_known(known):
    found, error = np.array([-0.5, 0.25]), np.array([0.1, 0.2])
    bias = BootstrapBias(found, error, error, 2, 0, "") if known else None
    survey = Survey.of(
        {"name": "s", "crowd": 100, "privacy": {"epsilon": 1.0}, "question": [ASKED]}
    )
    item = PostprocessedTable(
        questions=("a",),
        answers=(("no", "yes"),),
        method="m",
        statement="s",
        estimate=np.array([0.5, 0.5]),
        raw=np.array([1.25, -0.25]),
        bias=bias,
    )
    text = printed(numbers_table(item.numbers(survey)))
    assert ("-50.00 (10.00)" in text) == known
    assert "-25.00%" in text and "125.00%" in text
