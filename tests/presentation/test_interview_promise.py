"""Every result of interviews states what the device promises, and what that rests on."""

import json
from html import unescape

import pyarrow as pa
import pytest

import incrowd
from incrowd import interviews
from incrowd.presentation import terminal
from incrowd.presentation.data import json_ready
from incrowd.presentation.layouts import page
from incrowd.presentation.receipts import promised

FORCED = {"kind": "forced", "yes": "1/6", "no": "1/6"}
ASKED = [
    {"id": "bribe", "type": "yesno", "design": FORCED},
    {"id": "tax", "type": "yesno", "design": FORCED},
]
SURVEY = {"name": "x", "device": {"kind": "die"}, "question": ASKED}
RESULTS = {
    "overview": lambda answers: interviews.overview(answers),
    "prevalence": lambda answers: interviews.prevalence(answers, "bribe"),
    "table": lambda answers: interviews.table(answers, ["bribe", "tax"]),
    "compare": lambda answers: interviews.compare(answers, "bribe", by="sex"),
    "correlate": lambda answers: interviews.correlate(answers, ["bribe", "tax"]),
    "regress": lambda answers: interviews.regress(answers, "bribe ~ age"),
}


@pytest.fixture(scope="module")
def answers():
    columns = {"bribe": ["yes", "no", "no"] * 60, "tax": ["yes", "no"] * 90}
    columns |= {"sex": ["a", "a", "b", "b", "b"] * 36, "age": [*range(180)]}
    return incrowd.read_answers(incrowd.InterviewSurvey.of(SURVEY), pa.table(columns))


@pytest.mark.parametrize("name", RESULTS)
def test_results_state_the_promise_and_what_it_rests_on(answers, name):
    result = RESULTS[name](answers)
    facts = json_ready(result)["guarantee"]
    assert abs(facts["epsilon"] - 3.2188758) < 1e-6  # ln 25: both questions together
    assert "die is fair" in json.dumps(facts)
    shown = unescape(page(result))
    assert "in the whole interview" in shown and "factor of at most 25" in shown
    assert "The die is fair." in shown
    german = unescape(page(result, "de"))
    assert "im ganzen Interview" in german and "Der Würfel ist nicht gezinkt." in german
    assert "The die" not in german
    printed = " ".join(str(each.text) for each in terminal.printed(result, verbose=False))
    assert "factor of at most 25" in printed and "The die is fair." in printed
    assert "ε = 3.21888" in " ".join(promised(result))
