"""What arrived: shares of reports that no true answers can produce are pointed out."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import incrowd
from incrowd import interviews
from incrowd.interviews.arrivals import report_limits
from incrowd.interviews.items import ItemMatrices

FORCED = {"kind": "forced", "yes": "1/6", "no": "1/6"}


def seen(yes, no, **columns):
    asked = incrowd.InterviewSurvey.of(
        {
            "name": "x",
            "device": {"kind": "die"},
            "question": [{"id": "a", "type": "yesno", "design": FORCED}],
        }
    )
    table = pa.table({"a": ["yes"] * yes + ["no"] * no} | columns)
    return interviews.overview(incrowd.read_answers(asked, table))


def test_reports_stand_beside_what_the_die_can_produce():
    no, yes = seen(30, 70).reports
    assert (yes.count, no.count) == (30, 70)
    assert yes.share == pytest.approx(0.3) and not yes.outside
    assert (yes.least, yes.most) == (pytest.approx(1 / 6), pytest.approx(5 / 6))


def test_fewer_than_the_die_forces_is_a_warning():
    found = seen(5, 95)
    no, yes = found.reports
    assert yes.chance == pytest.approx(stats.binom(100, 1 / 6).cdf(5))
    assert no.chance == pytest.approx(yes.chance)
    assert [each.code for each in found.warnings()] == [
        "interviews.too-many-reports",
        "interviews.too-few-reports",
    ]


def test_what_chance_explains_is_no_warning():
    found = seen(14, 86)
    assert found.reports[1].outside and not list(found.warnings())


def test_limits_include_unknown_probabilities():
    """With an unknown share u of the other question, P(yes | true) = 1/2 true + 1/2 u."""
    base = np.array([[[1.0, 0.5], [0.0, 0.5]]])
    unknown = np.array([[[[-0.5, -0.5], [0.5, 0.5]]]])
    least, most = report_limits(ItemMatrices(base, unknown, ("u",)))
    assert least.tolist() == [[0, 0]] and most.tolist() == [[1, 1]]


def test_columns_that_seem_to_identify_people_are_named():
    names = [f"person {n}" for n in range(100)]
    found = seen(30, 70, name=names, town=["x", "y"] * 50, age=list(range(100)))
    (warning,) = found.warnings()
    assert warning.code == "interviews.identifying" and warning.arguments["names"] == ["name"]
