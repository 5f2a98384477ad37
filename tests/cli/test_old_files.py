"""Files of the first format, made by an older incrowd: all but ledgers are read as they were."""

import json
from pathlib import Path

import pytest

from tests.conftest import run

OLD = Path(__file__).parents[1] / "data" / "format-1"
PLAN, REPORTS, TALLY, LEDGER = (
    OLD / name for name in ("plan.json", "reports", "tally.json", "ledger.json")
)
ESTIMATES = json.loads((OLD / "estimates.json").read_text())


@pytest.mark.parametrize("counted", [REPORTS, TALLY], ids=["reports", "tally"])
def test_old_reports_and_tallies_give_the_old_estimates(counted):
    done = run("estimate", PLAN, counted, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for table, old in zip(found["tables"], ESTIMATES["tables"], strict=True):
        assert table["questions"] == old["questions"]
        assert [each["estimate"] for each in table["cells"]] == pytest.approx(
            [each["estimate"] for each in old["cells"]]
        )


def test_an_old_plan_and_its_reports_hold():
    done = run("verify", PLAN, REPORTS, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["holds"] is True


def test_an_old_plan_still_makes_reports(tmp_path):
    done = run("randomize", PLAN, OLD / "answers.csv", "-o", tmp_path / "reports")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "reports").iterdir())) == len(ESTIMATES["messages"])


def test_an_old_ledger_is_refused(tmp_path):
    """It does not say how its rounds were collected: they may have hidden nothing."""
    done = run("plan", OLD / "survey.toml", "--ledger", LEDGER, "--no-side-by-side")
    assert done.returncode == 2 and "how the reports were collected" in done.stderr
