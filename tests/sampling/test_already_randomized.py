"""Questions with their own randomizer: who randomizes, and what a spinner's answers need."""

import math

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.accountant import Bit, Simmons, Warner
from tests.conftest import local_plan, run, yes_no_question

DEVICES = {
    "warner": {"kind": "warner", "spinner": 0.75},
    "simmons": {"kind": "simmons", "unrelated": 0.4, "prevalence": 0.25},
    "bit": {"kind": "bit", "one_if_zero": 0.15, "one_if_one": 0.85},  # a forced design
}
PEOPLE = 5000
TRUTH = 0.2


def planned(randomizer=None):
    return local_plan(
        yes_no_question("cheated", **({"randomizer": randomizer} if randomizer else {}))
    )


def answers(sensitive=TRUTH):
    return pa.table({"cheated": np.arange(PEOPLE) < sensitive * PEOPLE})


@pytest.mark.parametrize("kind", DEVICES)
def test_check_and_randomize_say_that_answers_should_be_true(kind, tmp_path):
    """One line each, for a survey with such a device, and nothing for one without."""
    for device, lines in ((DEVICES[kind], 1), (None, 0)):
        plan = planned(device)
        notes = [
            str(each)
            for each in incrowd.check(plan.survey, answers()).findings
            if "the true answers" in str(each)
        ]
        assert len(notes) == lines
        assert all(note.startswith(f"cheated ({kind}): ") for note in notes)
        (tmp_path / "plan.json").write_text(plan.dumps())
        (tmp_path / "a.csv").write_text("cheated\n" + "yes\nno\n" * (PEOPLE // 2))
        output = tmp_path / f"{lines}.parquet"
        said = run("randomize", tmp_path / "plan.json", tmp_path / "a.csv", "-o", output)
        assert said.returncode == 0
        assert sum("the true answers" in line for line in said.stderr.splitlines()) == lines


def test_the_note_does_not_refuse_the_answers():
    assert incrowd.check(planned(DEVICES["warner"]).survey, answers()).accepted


def spun(channel, seed):
    """Reports of a spinner, dice or cards, drawn from the definition of the channel."""
    random, true = np.random.default_rng(seed), np.arange(PEOPLE) < TRUTH * PEOPLE
    return random.random(PEOPLE) < channel.matrix[1][true.astype(int)].astype(float)


@pytest.mark.parametrize(
    "channel",
    [
        Warner.from_probability(0.75),
        Simmons.from_probabilities(0.4, 0.25),
        Bit.from_probabilities(0.15, 0.85),
    ],
    ids=str,
)
def test_the_inverse_of_a_channel_estimates_what_a_spinner_randomized(channel):
    """The recipe of the manual, at 5 standard errors. Wrong: to randomize such answers again."""
    said_yes = spun(channel, 3)
    share = said_yes.mean()
    _, yes = channel.inverse @ [1 - share, share]
    slope = channel.inverse[1, 1] - channel.inverse[1, 0]
    error = slope * math.sqrt(share * (1 - share) / PEOPLE)
    assert abs(yes - TRUTH) < 5 * error < 0.09
    zero, one = channel.matrix[1].astype(float)
    again = planned({"kind": "bit", "one_if_zero": zero, "one_if_one": one})
    reports = incrowd.randomize(again, pa.table({"cheated": said_yes}), simulation_seed=2)
    twice = incrowd.estimate(again, reports).tables[0]
    assert abs(twice.estimate[1] - TRUTH) > 3 * twice.standard_error[1]
