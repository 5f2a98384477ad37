"""What is said of open designs of interviews, and of power that cannot be meant."""

import incrowd
from incrowd import interviews
from tests.messages.shared import file

DIE = {"kind": "forced", "yes": "1/6", "no": "1/6"}
TOML = """name = "x"
device = { kind = "die" }
aim = { epsilon = 1.7 }
question = [{ id = "a", type = "yesno", design = { kind = "auto" } }]
"""


def planned(*designs, **aim):
    asked = [{"id": f"q{n}", "type": "yesno", "design": each} for n, each in enumerate(designs)]
    raw = {"name": "x", "device": {"kind": "die"}, "aim": aim, "question": asked}
    return lambda _: interviews.plan_interviews(raw)


def power(**options):
    choice = {"id": "c", "type": "choice", "options": ["a", "b", "c"]}
    forced = {"kind": "forced", "forced": {"a": "1/6", "b": "1/6", "c": "1/6"}}
    asked = [{"id": "a", "type": "yesno", "design": DIE}, choice | {"design": forced}]
    survey = {"name": "x", "device": {"kind": "die"}, "question": asked}
    return lambda _: interviews.power_curves(incrowd.InterviewSurvey.of(survey), **options)


CASES = {
    "open design that is read": lambda folder: incrowd.InterviewSurvey.load(
        file(folder, "s.toml", TOML)
    ),
    "open design without an epsilon": planned({"kind": "auto"}),
    "open design, nothing left": planned(DIE, {"kind": "auto"}, epsilon=1.6),
    "open design beside an open question": planned(
        {"kind": "direct"}, {"kind": "auto"}, epsilon=2.0
    ),
    "open design, small epsilon": planned({"kind": "auto"}, epsilon=0.1),
    "open design, one-sided": planned({"kind": "mangat"}, epsilon=2.0),
    "power: people": power(people=[0]),
    "power: share": power(shares=[1.0]),
    "power: level": power(level=0.0),
    "power: inflation": power(inflation=0.5),
    "power: rule breakers": power(at_random=0.6, evasive=0.4),
    "power: odds of three answers": power(questions=["c"], odds_ratios=[2.0]),
    "power: odds ratio": power(questions=["a"], odds_ratios=[1.0]),
    "power: null": power(questions=["a"], shares=[0.2], null=0.2),
    "power: difference": power(questions=["a"], shares=[0.2], differences=[0.5]),
    "power: power": power(power=1.5),
}
