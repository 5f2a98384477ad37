"""Copies of a permanent response share its noise: they are no reports of their own."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import incrowd
from tests.conftest import local_plan, yes_no_question

PEOPLE = 250
TRIALS = 60
FALSE_ALARM = 1e-6
ONE_STAGE = {"kind": "rappor", "f": 0.5, "memoized": True}  # all copies are alike
LOOSE = {"epsilon": 8.0, "analysis": "local"}


@pytest.fixture(scope="module")
def collections():
    """The same people on new devices each time: estimates of a share, and its claimed error."""
    copies = {"message": [{"questions": ["drug"], "copies": 4}], "crowd": PEOPLE}
    plan = local_plan(yes_no_question("drug", randomizer=ONE_STAGE), privacy=LOOSE, **copies)
    said = pa.table({"id": np.arange(PEOPLE).astype(str), "drug": np.arange(PEOPLE) < PEOPLE // 3})
    found = []
    for trial in range(TRIALS):
        key = incrowd.DeviceKey(trial.to_bytes(32, "big"))
        reports = incrowd.randomize(plan, said, id="id", device_key=key, simulation_seed=trial)
        found.append(incrowd.estimate(plan, reports, noise_only=True).tables[0])
    return found


@pytest.mark.slow
def test_errors_are_no_smaller_than_what_they_claim(collections):
    """The squares of 60 errors, in claimed standard errors, against chi-square. Wrong: the copies
    taken as four reports, so that the claim is half of it."""
    truth = (PEOPLE // 3) / PEOPLE
    errors = np.array([(t.estimate[1] - truth) / t.standard_error[1] for t in collections])
    limit = chi2.isf(FALSE_ALARM, TRIALS)
    assert np.sum(errors**2) < limit < np.sum((2 * errors) ** 2)
    assert all(table.people == PEOPLE for table in collections)
    assert abs(errors.mean()) < 5 / np.sqrt(TRIALS)
