"""Without noise worth mentioning: coefficients and errors are those of statsmodels, on real data.

The whole path: survey, plan (a local epsilon so large that no bit of these data flips but once in
many thousand runs), randomize, regress. Oracle: statsmodels' own fits with White's errors (HC0).
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import incrowd
from tests.conftest import one_in

EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def frame(name):
    """Real data as text answers, and numbers of their own for the oracle."""
    if name == "fair":
        data = sm.datasets.fair.load_pandas().data
        found = data[["rate_marriage", "religious", "children"]].astype(int)
        found = found.assign(children=np.minimum(found.children, 3))
        return found.assign(affair=(data.affairs > 0).astype(int))
    if name == "anes96":
        data = sm.datasets.anes96.load_pandas().data
        found = data[["educ", "selfLR", "vote"]].astype(int)
        found = found.assign(educ=found.educ.clip(3, 7))
        return found.assign(old=(data.age > 45).astype(int))
    data = pd.read_csv(EXAMPLES / "rand_hie.csv")
    binned = np.digitize(data.chronic_conditions, [5, 10, 20])
    return pd.DataFrame(
        {
            "limited": (data.physical_limitation == "yes").astype(int),
            "plan": (data.individual_deductible_plan == "yes").astype(int),
            "chronic": binned,
            "visits": np.digitize(data.doctor_visits, [1, 3, 6, 12]),
        }
    )


@cache
def collected(name):
    data = frame(name)
    questions = [
        {"id": id, "type": "yesno"}
        if set(data[id]) == {0, 1}
        else {"id": id, "type": "choice", "options": [str(v) for v in sorted(set(data[id]))]}
        for id in data
    ]
    privacy = {"epsilon": 150.0, "analysis": "local"}
    raw = {"name": name, "crowd": len(data), "privacy": privacy, "question": questions}
    plan = incrowd.plan(incrowd.Survey.of(raw))
    said = {
        id: np.where(data[id] == 1, "yes", "no")
        if set(data[id]) == {0, 1}
        else data[id].astype(str).to_numpy()
        for id in data
    }
    return plan, incrowd.randomize(plan, pa.table(said), simulation_seed=4)


def agree(found, oracle):
    """To 4 digits, and to far more; in the order of the terms."""
    names = oracle.model.exog_names
    order = [names.index(name) for name in translated(found)]
    for ours, theirs in (
        ([c.estimate for c in found.coefficients], oracle.params.to_numpy()),
        ([c.standard_error for c in found.coefficients], oracle.bse.to_numpy()),
        ([c.low for c in found.coefficients], oracle.conf_int().to_numpy()[:, 0]),
    ):
        assert np.allclose(ours, theirs[order], rtol=1e-5, atol=1e-7)
    assert len(names) == len(found.coefficients)


def translated(found):
    """Our names of terms in statsmodels' words."""
    words = {"yes": "1"}
    for coefficient in found.coefficients:
        if coefficient.term == "(intercept)":
            yield "Intercept"
            continue
        parts = [part.split("=") for part in coefficient.term.split(":")]
        yield ":".join(f"C({id})[T.{words.get(level, level)}]" for id, level in parts)


LOGITS = {
    "fair": ("affair", ["rate_marriage", "religious", "children"]),
    "anes96": ("vote", ["educ", "old"]),
    "rand": ("limited", ["chronic", "plan", "chronic:plan"]),
}


@pytest.mark.parametrize("name", one_in(2, LOGITS))
def test_logistic_models_are_those_of_statsmodels(name):
    outcome, on = LOGITS[name]
    plan, reports = collected(name)
    found = incrowd.regress(plan, reports, outcome=outcome, on=on)
    right = " + ".join(":".join(f"C({part})" for part in each.split(":")) for each in on)
    logit = smf.logit(f"{outcome} ~ {right}", frame(name))
    agree(found, logit.fit(disp=0, tol=1e-12, cov_type="HC0"))
    if name != "rand":  # where every cell has a coefficient, the model is true
        errors = np.sort([c.standard_error for c in found.coefficients])
        taken_as_true = np.sort(logit.fit(disp=0).bse.to_numpy())
        assert not np.allclose(errors, taken_as_true, rtol=1e-3)


LINEAR = {
    "fair": ("rate_marriage", ["religious", "children", "affair"], [1, 2, 3, 4, 5]),
    "anes96": ("selfLR", ["educ", "old", "vote"], [1, 2, 3, 4, 5, 6, 7]),
    "rand": ("visits", ["chronic", "plan", "limited"], [0, 1, 2, 3, 4]),
}


@pytest.mark.parametrize("method", ["table", "pairs"])
@pytest.mark.parametrize("name", one_in(2, LINEAR))
def test_linear_models_are_those_of_statsmodels(name, method):
    outcome, on, scores = LINEAR[name]
    plan, reports = collected(name)
    found = incrowd.regress(
        plan, reports, outcome=outcome, on=on, family="linear", scores=scores, method=method
    )
    assert found.method == method
    model = smf.ols(f"{outcome} ~ {' + '.join(f'C({id})' for id in on)}", frame(name))
    agree(found, model.fit(cov_type="HC0", use_t=False))


def test_another_reference_and_one_answer_against_all_others():
    plan, reports = collected("rand")
    found = incrowd.regress(
        plan, reports, outcome="visits=4", on=["chronic", "plan"], reference={"chronic": "2"}
    )
    data = frame("rand").assign(often=lambda each: (each.visits == 4).astype(int))
    formula = "often ~ C(chronic, Treatment(2)) + C(plan)"
    oracle = smf.logit(formula, data).fit(disp=0, tol=1e-12, cov_type="HC0")
    assert found.outcome == "visits=4" and found.references == ("chronic=2", "plan=no")
    ours = {c.term: (c.estimate, c.standard_error) for c in found.coefficients}
    for level in "013":
        name = f"C(chronic, Treatment(2))[T.{level}]"
        right = (oracle.params[name], oracle.bse[name])
        assert np.allclose(ours[f"chronic={level}"], right, rtol=1e-5)


def test_maximum_likelihood_is_that_of_statsmodels():
    """Its errors are those of the information, which statsmodels' default are as well."""
    plan, reports = collected("rand")
    asked = {"outcome": "limited", "on": ["chronic", "plan"]}
    found = incrowd.regress(plan, reports, method="likelihood", **asked)
    oracle = smf.logit("limited ~ C(chronic) + C(plan)", frame("rand")).fit(disp=0, tol=1e-12)
    values = [c.estimate for c in found.coefficients]
    order = [oracle.model.exog_names.index(name) for name in translated(found)]
    assert np.allclose(values, oracle.params.to_numpy()[order], rtol=1e-4, atol=1e-6)
    errors = [c.standard_error for c in found.coefficients]
    assert np.allclose(errors, oracle.bse.to_numpy()[order], rtol=0.02)


HEALTH = ["excellent", "good", "fair", "poor"]
FIVE = [
    {"id": "physical_limitation", "type": "yesno", "shares": {"no": 0.88, "yes": 0.12}},
    {"id": "chronic_conditions", "type": "number", "edges": [0, 5, 10, 20]},
    {"id": "individual_deductible_plan", "type": "yesno"},
    {"id": "doctor_visits", "type": "number", "edges": [0, 1, 3, 6, 12]},
    {"id": "self_rated_health", "type": "choice", "options": HEALTH},
]


@pytest.mark.slow
def test_five_questions_have_errors_at_most_twice_those_without_privacy():
    """Epsilon 3, twelve coefficients, means of four collections. health=poor, of 1.5% of the
    people, has 2.6 times the error if the 320 cells are sent alone, 1.6 times with their parts.
    All 48 estimates are within 4.5 errors of the noise: one in 3,000 such tests fails."""
    ids = [question["id"] for question in FIVE]
    raw = {"name": "five", "crowd": 20_000, "privacy": {"epsilon": 3.0, "delta": 1e-6}}
    wanted = {"question": FIVE, "regression": [{"outcome": ids[0], "on": ids[1:]}]}
    plan = incrowd.plan(incrowd.Survey.of(raw | wanted))
    said = pd.read_csv(EXAMPLES / "rand_hie.csv").self_rated_health
    data = frame("rand").assign(health=said.map(HEALTH.index))
    model = smf.logit("limited ~ C(chronic) + C(plan) + C(visits) + C(health)", data)
    oracle = model.fit(disp=0, tol=1e-12, cov_type="HC0")
    right, errors = oracle.params.to_numpy(), oracle.bse.to_numpy()
    ratios = []
    for seed in range(4):
        reports = incrowd.randomize(plan, EXAMPLES / "rand_hie.csv", simulation_seed=seed)
        found = incrowd.regress(plan, reports).coefficients
        stated = np.array([c.standard_error for c in found])
        noise = np.sqrt(stated**2 - errors**2)
        assert np.all(np.abs(np.array([c.estimate for c in found]) - right) < 4.5 * noise)
        ratios.append(stated / errors)
    assert np.all(np.mean(ratios, axis=0) < 2)
