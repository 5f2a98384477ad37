"""What the commands say of models and correlations that are read from cells of pairs."""

import json

import pytest

import incrowd
from incrowd.estimation.regression.cell_pairs import ASSUMPTION
from tests.oracles.cell_pairs import collected


@pytest.mark.slow
def test_the_commands_say_what_errors_rest_on(tmp_path, call, monkeypatch):
    plan, reports = collected()
    (tmp_path / "plan.json").write_text(plan.dumps())
    incrowd.save_reports(reports, tmp_path / "reports.parquet")
    monkeypatch.chdir(tmp_path)
    code, out, _ = call("regress", "plan.json", "reports.parquet", "--json")
    assert code == 0 and json.loads(out)["assumption"] == ASSUMPTION
    _, out, err = call("regress", "plan.json", "reports.parquet")
    assert ASSUMPTION in " ".join((out + err).split())
    code, out, _ = call("correlate", "plan.json", "reports.parquet", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["questions"] == ["ill", "smokes"]
    assert facts["positive_definite"] and facts["correlations"][0][0] == 1
    _, out, _ = call("correlate", "plan.json", "reports.parquet", "--among", "ill,smokes")
    assert "ill × smokes" in out and f"{facts['correlations'][0][1]:.3f}" in out
