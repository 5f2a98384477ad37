"""What is asked in clear is counted: it has no error, and tells no more than everybody did."""

import io
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import incrowd
from incrowd.estimation.displayed import CLEAR, quality
from incrowd.estimation.tables import OpenAxis, across, everybody
from incrowd.presentation.layouts import page
from incrowd.presentation.terminal import _list

SIZES = {"law": 40, "arts": 35, "music": 25}


def estimated(**asked_for):
    faculty = {"id": "faculty", "type": "choice", "options": list(SIZES), "open": True}
    asked = [faculty, {"id": "ill", "type": "yesno"}]
    raw = {"name": "U", "crowd": 20, "privacy": {"epsilon": 20.0, "analysis": "local"}}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"question": asked}))
    people = np.repeat(list(SIZES), list(SIZES.values()))
    answers = pa.table({"faculty": people, "ill": np.arange(100) % 4 == 0})
    reports = incrowd.randomize(plan, answers, simulation_seed=1)
    return incrowd.estimate(plan, reports, **asked_for)


def text_of(estimates):
    return re.sub(r"<[^>]+>", " ", page(estimates).split('class="key"')[1]).split("ill")[0]


def test_an_open_table_has_the_error_of_sampling_alone():
    """Binomial: 100 people were drawn from everybody."""
    estimates = estimated()
    faculty = estimates.tables[0]
    assert not faculty.error.noise.any()
    shares = np.array([0.4, 0.35, 0.25])
    assert faculty.standard_error == pytest.approx(np.sqrt(shares * (1 - shares) / 100))
    assert quality(faculty).startswith("counted in the clear, without noise; one person's false")
    assert "std. error" in text_of(estimates) and "as precise as" not in text_of(estimates)


def test_what_is_certain_is_shown_without_an_error():
    """The people are fixed, and who is from where was counted."""
    estimates = estimated(noise_only=True)
    assert not estimates.tables[0].standard_error.any()
    said = text_of(estimates)
    assert CLEAR in said and "std. error" not in said and " 0.00" not in said
    console = Console(width=200, file=io.StringIO())
    console.print(_list(next(iter(estimates.displayed(estimates.plan)))))
    printed = " ".join(console.file.getvalue().split())
    assert CLEAR in printed and "40.00" in printed
    assert "std. error" not in printed and "interval" not in printed


def test_nothing_is_more_precise_than_everybody():
    """Without any noise 30,000 people were as precise as 30,001: the sampling error was added."""
    parts = [everybody(people, noise_only=False) for people in (18_000, 12_000)]
    table = across(parts, OpenAxis("town", ("a", "b"), 0, (18_000, 12_000)))
    assert table.effective_sample_size == 30_000
    assert "30,001" not in quality(table)


def test_json_says_no_more_people_than_there_were(tmp_path):
    incrowd.save_estimates(estimated(), tmp_path / "figures.json")
    tables = json.loads((tmp_path / "figures.json").read_text())["tables"]
    assert all(table["as_good_as"] <= 100 for table in tables)
