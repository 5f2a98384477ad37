"""What cells of pairs are for, from a survey to the command line: linear models, correlations."""

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.errors import TableError
from incrowd.estimation.regression.cell_pairs import ASSUMPTION
from tests.oracles import cell_pairs
from tests.oracles.cell_pairs import IDS, LINEAR, ON, PEOPLE, people


@pytest.fixture(scope="module")
def collected():
    return cell_pairs.collected()


@pytest.mark.slow
def test_a_linear_model_is_near_the_people_and_its_forecast(collected):
    ill, smokes, old = people()
    x = np.column_stack([np.ones(PEOPLE), smokes, old == 1, old == 2]).astype(float)
    wanted, *_ = np.linalg.lstsq(x, ill.astype(float), rcond=None)
    found = incrowd.regress(*collected, **LINEAR)
    noise = incrowd.regress(*collected, **LINEAR, noise_only=True)
    assert (found.method, noise.method) == ("pairs", "pairs")
    assert (found.assumption, noise.assumption) == (ASSUMPTION, "")
    values = np.array([each.estimate for each in found.coefficients])
    errors = np.array([each.standard_error for each in noise.coefficients])
    assert np.all(np.abs(values - wanted) < 4 * errors) and errors.max() < 0.03
    (expected,) = incrowd.forecast_regressions(collected[0])
    forecast = [each.standard_error for each in expected.coefficients]
    stated = [each.standard_error for each in found.coefficients]
    assert expected.method == "pairs" and expected.assumption == ASSUMPTION
    assert stated[1:] == pytest.approx(forecast[1:], rel=0.3)


def test_a_logistic_model_needs_one_table(collected):
    with pytest.raises(TableError, match="it needs one table of them all"):
        incrowd.regress(*collected, outcome="ill", on=ON)
    two = incrowd.regress(*collected, outcome="ill", on=["smokes"])
    assert two.estimable and two.method == "table"


def test_correlations_are_near_those_of_the_people(collected):
    ill, smokes, old = people()
    found = incrowd.correlate(*collected, scores={"old": [1, 2, 3]})
    assert found.questions == IDS
    wanted = np.corrcoef(np.array([ill, smokes, old], float))
    noise = incrowd.correlate(*collected, scores={"old": [1, 2, 3]}, noise_only=True)
    apart = np.abs(found.matrix - wanted)[np.triu_indices(3, 1)]
    errors = noise.standard_errors[np.triu_indices(3, 1)]
    assert np.all(apart < 4 * errors) and errors.max() < 0.05
    assert found.smallest_eigenvalue > 0 and found.to_arrow().num_rows == 3


def test_a_pair_that_no_message_holds_has_no_correlation():
    raw = {"name": "two", "crowd": 500, "privacy": {"epsilon": 2.0, "analysis": "local"}}
    asked = [{"id": id, "type": "yesno"} for id in "abc"]
    messages = [{"questions": ["a", "b"]}, {"questions": ["c"]}]
    plan = incrowd.plan(incrowd.Survey.of(raw | {"question": asked, "message": messages}))
    said = {id: ["yes", "no"] * 250 for id in "abc"}
    reports = incrowd.randomize(plan, pa.table(said), simulation_seed=1)
    found = incrowd.correlate(plan, reports)
    assert [bool(pair.reason) for pair in found.pairs] == [False, True, True]
    assert np.isnan(found.matrix[0, 2]) and np.isnan(found.smallest_eigenvalue)
