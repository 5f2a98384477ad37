"""Published counts: what is said of them, and that no number of reports is."""

import json
import math

import numpy as np
import pytest

import incrowd
from incrowd.reports.collection import Collection
from incrowd.reports.consistency import counts_sums
from incrowd.reports.tally import as_counts
from tests.conftest import run
from tests.oracles.noisy_releases import LAW, plan_of

PLAN = plan_of(("smokes",), ("region",), ("uses",), ("region", "uses"))
PEOPLE = 12
COUNTS = [[5], [-1, 9, 6], [3, 20, 0], [4, 1, 0, 0, 2, 2, 1, 1, 1, 8, 3, 4]]


def collections(counts=COUNTS, plan=PLAN, name=""):
    return [
        Collection(plan.digest, number, 64, as_counts(np.array(each)), id=f"{name}{number}",
                   people=PEOPLE, draws=2)
        for number, each in enumerate(counts)
    ]  # fmt: skip


def sums(reports):
    counted = incrowd.count(PLAN, reports, tables=[("region",)])
    return list(counts_sums(PLAN, [counted.messages[n] for n in range(len(PLAN.messages))]))


def test_the_sum_of_each_table_of_exclusive_answers_is_compared_with_the_people():
    """Not of a lone bit, nor of options of which people choose several."""
    region, crossed = sums(collections())
    assert (region.message, region.questions, region.sum, region.people) == (2, ("region",), 14, 12)
    assert (crossed.message, crossed.questions, crossed.sum) == (4, ("region",), 15)
    deviation = math.sqrt(3 * 2 * LAW.variance)
    assert region.deviation == crossed.deviation == pytest.approx(deviation)
    assert region.z == pytest.approx(2 / deviation)


def test_several_strata_have_the_noise_of_each():
    twice = [*collections(), *collections(name="b")]
    region, _ = sums(twice)
    assert (region.sum, region.people) == (28, 24)
    assert region.deviation == pytest.approx(math.sqrt(3 * 4 * LAW.variance))


def test_the_sum_has_the_deviation_that_is_stated():
    """2,000 draws; a wrong variance (one service's, or one cell's) is far outside."""
    random = np.random.default_rng(5)
    values, chances = np.arange(-LAW.reach, LAW.reach + 1), LAW.chances
    noise = random.choice(values, (2000, 2, 3), p=chances).sum(axis=(1, 2))
    z = [sums(collections([[0], [4 + int(each), 4, 4], *COUNTS[2:]]))[0].z for each in noise]
    assert np.var(z) == pytest.approx(1, abs=0.16), "five standard errors"


def test_the_command_that_counts_states_people(tmp_path):
    (tmp_path / "plan.json").write_text(PLAN.dumps())
    incrowd.save_reports(collections(), tmp_path / "counts")
    words = ("tally", tmp_path / "plan.json", tmp_path / "counts", "-o", tmp_path / "t.json")
    done = run(*map(str, words), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["messages"] == {str(n + 1): {"people": 12} for n in range(4)}


def test_no_text_has_a_number_of_reports():
    counted = incrowd.count(PLAN, collections())
    assert "reports" not in repr(counted)
