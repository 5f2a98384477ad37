"""What the commands say of models and correlations that are read from cells of pairs."""

import json

from incrowd.estimation.regression.cell_pairs import ASSUMPTION
from tests.workflow import test_cell_pairs

folder = test_cell_pairs.folder


def test_the_commands_say_what_errors_rest_on(folder, call, monkeypatch):
    monkeypatch.chdir(folder)
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
