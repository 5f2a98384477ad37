"""Fifty thousand options, from the survey to the page."""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from tests.conftest import cells_survey, choice_survey

WORDS = tuple(f"w{i}" for i in range(50_000))


# --- many options ----------------------------------------------------------------------------


@dataclass(repr=False)
class Many:
    plan: incrowd.Plan
    table: pa.Table
    reports: tuple[incrowd.Collection, ...]
    estimates: incrowd.Estimates


@pytest.fixture(scope="module")
def many():
    """50,000 words, 20,000 people, of whom one half has one of ten words."""
    plan = incrowd.plan(choice_survey(WORDS, 20_000, 4.0, 1e-4))
    generator = np.random.default_rng(9)
    places = np.where(
        generator.random(20_000) < 0.5,
        generator.integers(0, 10, 20_000),
        generator.integers(10, len(WORDS), 20_000),
    )
    table = pa.table({"home": np.array(WORDS)[places]})
    reports = incrowd.randomize(plan, table, simulation_seed=10)
    return Many(plan, table, reports, incrowd.estimate(plan, reports))


@pytest.mark.slow
def test_fifty_thousand_options_end_to_end(many):
    """The ten words are found, at 5 standard errors, and none of the other 49,990: each of them
    has one or no person, the noise one of 3 people or more; as many reports as the noise says."""
    plan, found = many.plan, many.estimates.tables[0]
    (truth,) = incrowd.truth(plan, many.table)
    assert found.estimate.shape == truth.shape == (50_000,)
    assert many.reports[0].packed.shape[1] == 2
    off = np.abs(found.estimate - truth) / found.standard_error
    assert np.all(off[:10] < 5)
    marked = np.flatnonzero(found.above_noise())
    assert marked.tolist() == list(range(10))
    expected = 20_000 + plan.messages[0].noise.q * 50_000 * 20_000
    assert abs(len(many.reports[0]) - expected) < 5 * math.sqrt(expected)
    checked = incrowd.verify(plan, many.reports)
    assert checked.impossible == () and checked.plan_holds


@pytest.mark.slow
def test_people_are_shown_what_rises_above_the_noise(many):
    (item,) = many.estimates.displayed(many.estimates.plan)
    assert sorted(cell.answer[0] for cell in item.cells) == sorted(WORDS[:10])
    assert "10 of 50,000" in item.note and "5%" in item.note


@pytest.mark.slow
def test_the_page_of_many_options_is_written(many, tmp_path):
    incrowd.save_estimates(many.estimates, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "of 50,000 answers rise above the noise" in text and len(text) < 1_000_000


def test_a_page_where_nothing_rises_above_the_noise_is_written(tmp_path):
    plan = incrowd.plan(cells_survey(WORDS[:300], 2000, 0.2, 1e-6))
    table = pa.table({"home": np.resize(WORDS[:300], 2000)})
    estimates = incrowd.estimate(plan, incrowd.randomize(plan, table, simulation_seed=11))
    assert not estimates.tables[0].above_noise().any()
    incrowd.save_estimates(estimates, tmp_path / "page.html")
    assert "0 of 300 answers" in (tmp_path / "page.html").read_text()
