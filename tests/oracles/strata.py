"""The vectors of open strata: surveys, the strata of some answers, and which are released."""

from itertools import product

import pyarrow as pa

from incrowd.encoding.records import EncodedAnswers
from incrowd.plans.strata import releases, strata
from incrowd.survey import Survey

FACULTY = {"id": "faculty", "type": "choice", "options": ["law", "Künste"], "open": True}
ABROAD = {"id": "abroad", "type": "yesno", "open": True}
SICK = {"id": "sick", "type": "yesno"}
SURVEYS = [
    [SICK],
    [SICK, ABROAD],
    [FACULTY | {"optional": True}, SICK],
    [FACULTY, SICK, ABROAD | {"optional": True}],
]
COUNTS = [[130, 90, 0, 40], [99, 1, 0, 0], [100, 50, 50, 20], [60, 60, 0, 0]]


def cases():
    """What is right, as the library has it."""
    return {
        "surveys": [of_survey(questions) for questions in SURVEYS],
        "releases": [
            {
                "people": people,
                "least": 100,
                "small_strata": rule,
                "released": releases(dict(enumerate(people)), 100, rule),
            }
            for people in COUNTS
            for rule in ("delete", "merge")
        ],
    }


def of_survey(questions):
    """Every combination of open answers, null for none, with its stratum."""
    raw = {"name": "S", "crowd": 100, "privacy": {"epsilon": 1.0}, "question": questions}
    survey = Survey.of(raw)
    given = [
        [None if answer == "no answer" else answer for answer in question.answers]
        for question in survey.open
    ]
    rows = [dict(zip([q.id for q in survey.open], each, strict=True)) for each in product(*given)]
    table = pa.table(
        {q.id: [row[q.id] for row in rows] for q in survey.open} | {"sick": ["no"] * len(rows)}
    )
    numbers = EncodedAnswers.of(survey, table).strata(survey).tolist() if survey.open else []
    answers = [{"answers": row, "stratum": n} for row, n in zip(rows, numbers, strict=False)]
    return {"questions": questions, "strata": strata(survey), "people": answers}
