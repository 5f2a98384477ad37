"""What is said of interviews in which some people do not follow the rules of the device."""

import pyarrow as pa

import incrowd
from incrowd import interviews

YES_NO = ("no", "yes")


def asked(*questions, groups=1, missing=False, same=False):
    """Answers of 40 interviews. questions: designs, or a question with other keys."""
    tables = [{"type": "yesno", "id": f"q{n}"} | each for n, each in enumerate(questions)]
    raw = {"name": "Rules", "device": {"kind": "spinner", "sectors": 100}, "question": tables}
    columns = {f"q{n}": [] for n in range(len(questions))}
    if groups > 1:
        raw |= {"columns": {"group": "g"}, "groups": {"codes": list(map(str, range(groups)))}}
        columns["g"] = [str(row % groups) for row in range(40)]
    survey = incrowd.InterviewSurvey.of(raw)
    for item in survey.items:
        names = item.design.reports[0]
        columns[item.id] = [
            None if missing else names[0 if same else row // 4 % len(names)] for row in range(40)
        ]
    return incrowd.read_answers(survey, pa.table(columns))


def honesty(*questions, ids="q0", groups=1, missing=False, same=False, **options):
    return lambda _: interviews.honesty(
        asked(*questions, groups=groups, missing=missing, same=same), ids, **options
    )


FORCED = {"design": {"kind": "forced", "yes": "1/4"}}
TWO = {"designs": [{"kind": "forced", "yes": "1/4"}, {"kind": "forced", "yes": "3/4"}]}
HALF = {"design": {"kind": "crosswise", "p": "1/4", "statement": "born in spring"}}
MOON = {"design": {"kind": "matrix", "columns": {"no": ["1/2", "1/2"], "yes": ["1/4", "3/4"]}}}
UNRELATED = {
    "designs": [{"kind": "unrelated", "p": "1/4"}, {"kind": "unrelated", "p": "3/4"}],
}
CHOICE = {"type": "choice", "options": ["a", "b", "c"]}
OF_THREE = CHOICE | {"design": {"kind": "forced", "forced": {"a": "1/4"}}}

CASES = {
    "an unknown model of honesty": honesty(FORCED, model="liars"),
    "two questions for one model": honesty(FORCED, FORCED, ids=["q0", "q1"], model="lies"),
    "one question for always-no": honesty(FORCED, model="always-no"),
    "no reports to two questions": honesty(
        FORCED, FORCED, ids=["q0", "q1"], model="always-no", missing=True
    ),
    "only no to two questions": honesty(
        FORCED, FORCED, ids=["q0", "q1"], model="always-no", same=True
    ),
    "no reports to one question": honesty(TWO, groups=2, model="lies", missing=True),
    "nine questions": honesty(*[FORCED] * 9, ids=[f"q{n}" for n in range(9)], model="always-no"),
    "cheaters in a crosswise question": honesty(HALF, model="cheaters"),
    "three answers for an anchor": honesty(
        OF_THREE, HALF | {"truth": "no"}, model="anchor", anchor="q1"
    ),
    "an unknown prevalence": honesty(UNRELATED, TWO, groups=2, ids=["q0", "q1"], model="always-no"),
    "an anchor is missing": honesty(HALF, model="anchor"),
    "an anchor for lies": honesty(TWO, HALF, groups=2, model="lies", anchor="q1"),
    "an anchor without its truth": honesty(HALF, FORCED, model="anchor", anchor="q1"),
    "an anchor of unknown prevalence": honesty(
        HALF, UNRELATED | {"truth": "no"}, groups=2, model="anchor", anchor="q1"
    ),
    "one group for lies": honesty(FORCED, model="lies"),
    "one group for cheaters": honesty(FORCED, model="cheaters"),
    "an anchor like a guess": honesty(HALF, MOON | {"truth": "no"}, model="anchor", anchor="q1"),
    "no breakers": lambda _: interviews.sensitivity(asked(FORCED), "q0", breakers=[]),
    "too many breakers": lambda _: interviews.sensitivity(asked(FORCED), "q0", breakers=[1.5]),
    "a share that a model does not have": lambda _: interviews.honesty(
        asked(TWO, groups=2), "q0", model="cheaters"
    ).share("liars"),
}
