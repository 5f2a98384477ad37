"""What a plan promises of its tables, against many simulated collections and closed forms."""

import numpy as np
import pytest

import incrowd
from incrowd.planner.forecast import forecast
from tests.conftest import GOOD


def planned(**changes):
    raw = GOOD | {"crowd": 3000, "table": [{"questions": ["a", "b"]}]} | changes
    return incrowd.plan(incrowd.Survey.of(raw))


def test_every_wanted_table_has_a_forecast():
    made = planned()
    assert [t.questions for t in forecast(made)] == list(made.survey.wanted)


def test_one_bit_is_vinterbos_loss():
    """c = (p^2 + q^2) / (p - q)^2 for one bit (lemma 4.5), s = 0.82 where one in ten says yes."""
    made = planned()
    channel = made.messages[0].noise
    c = (channel.p**2 + channel.q**2) / (channel.p - channel.q) ** 2
    table = forecast(made)[0]
    assert table.effective_sample_size_uneven == pytest.approx(3000 / ((c - 0.82) / (1 - 0.82)))
    assert table.effective_sample_size == pytest.approx(3000 / ((c - 0.5) / (1 - 0.5)))
    half = np.sqrt((c - 0.5) / 2 / 3000)  # two cells of equal variance, (c - s) / m in all
    assert table.standard_error == pytest.approx(half)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 3])
def test_simulated_spread_agrees(copies):
    """400 trials of people drawn from equal shares: 5 standard errors of a spread are 18%; the
    wrong variant, copies counted as people, is off by more for the one-way table of three."""
    made = planned(copies=copies)
    rows = [(a, b) for a in ("yes", "no") for b in "xyz"] * 10
    import pyarrow as pa

    answers = pa.table(
        {
            "a": [a for a, _ in rows],
            "b": [b for _, b in rows],
            "c": [["u"]] * len(rows),
            "d": [0.5] * len(rows),
        }
    )
    result = incrowd.simulate(made.survey, answers, trials=400, seed=copies)
    found = {q.questions: q.empirical_standard_error for q in result.tables}
    for table in forecast(made):
        if table.questions in (("b",), ("a", "b")):
            spread = float(np.sqrt(np.mean(found[table.questions] ** 2)))
            assert table.standard_error_even == pytest.approx(spread, rel=0.1)
