"""What is said of surveys whose answers are randomized in interviews."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pydantic import ValidationError

import incrowd
from incrowd import interviews
from incrowd.errors import Problem, SurveyError
from incrowd.interviews.assignment import random_lists
from incrowd.interviews.designs import ItemDesign, design_of
from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem
from incrowd.interviews.shares import moments
from incrowd.presentation.interview_kit import kit_files
from incrowd.survey.toml import Mistake
from tests.messages.shared import command, file
from tests.oracles.randomized_items import UNRELATED

YES_NO = ("no", "yes")


def design(*raw, answers=YES_NO):
    """The designs of an item, one for each group."""

    def call(_):
        try:
            item = ItemDesign(answers, tuple(map(design_of, raw)))
        except ValidationError as error:
            first = error.errors()[0]
            inner = first["ctx"]["error"]
            if isinstance(inner, Mistake):
                raise SurveyError(Problem((*first["loc"], *inner.path), inner.message)) from None
            said = Problem(first["loc"], "survey.unfit", value=first["input"], reason=inner.reason)
            raise SurveyError(said) from None
        except Mistake as mistake:
            raise SurveyError(Problem(mistake.path, mistake.message)) from None
        raise SurveyError(*item.problems())

    return call


def shares(reports, *, same=False, items=1, groups=1, weights=None, clusters=None):
    """The shares of items by moments. same: whether reports say nothing about answers."""

    def call(_):
        rows = [[1 / 2, 1 / 2]] * 2 if same else [[5 / 6, 1 / 6], [1 / 6, 5 / 6]]
        matrices = ItemMatrices(np.array([rows, *[[[1 / 2, 1 / 2]] * 2] * (groups - 1)]))
        group = np.arange(len(reports)) % groups
        item = ReportedItem(np.array(reports), group, matrices)
        moments([item] * items, weights, clusters)

    return call


def estimate(function, *arguments, columns=(), **options):
    """A function of interviews, with twelve answers to a die and some columns."""

    def call(_):
        table = {"a": ["yes", "no", "no"] * 4, "age": [*range(12)], "sex": ["f", "m"] * 6}
        question = {"id": "b", "type": "choice", "options": ["x", "y", "z"], "design": FORCED}
        asked = SURVEY | {"question": [QUESTION, question]}
        table |= {"b": ["x", "y", "z"] * 4} | dict(columns)
        answers = incrowd.read_answers(incrowd.InterviewSurvey.of(asked), pa.table(table))
        getattr(interviews, function)(answers, *arguments, **options)

    return call


DIE = {"kind": "forced", "yes": "1/6", "no": "1/6"}
FORCED = {"kind": "forced", "forced": {"x": "1/6", "y": "1/6"}}
CROSSWISE = {"kind": "crosswise", "p": "1/4"}
QUESTION = {"id": "a", "type": "yesno", "design": DIE}
SURVEY = {"name": "x", "device": {"kind": "die"}, "question": [QUESTION]}
GROUPS = {"columns": {"group": "g"}, "groups": {"codes": [0, 1]}}
OPTIONS = """name = "x"
device = { kind = "die" }
[[question]]
id = "a"
type = "choice"
options_file = "none.txt"
design = { kind = "forced", forced = { a = "1/6" } }
"""


def of(**changed):
    """A survey with other keys; None leaves one out."""
    raw = {key: value for key, value in (SURVEY | changed).items() if value is not None}
    return lambda _: incrowd.InterviewSurvey.of(raw)


def asked(*questions, **changed):
    """A survey whose questions have other keys; None leaves one out."""
    listed = [{k: v for k, v in (QUESTION | each).items() if v is not None} for each in questions]
    return of(question=listed, **changed)


def read(table, /, **changed):
    """The answers to a survey with other keys."""
    survey = incrowd.InterviewSurvey.of(SURVEY | changed)
    return incrowd.read_answers(survey, pa.table(table))


def read_again(folder):
    """A file of interviews in the place of answers that a computer would randomize."""
    read({"a": ["yes"]}).save(folder / "interviews.parquet")
    plain = {"name": "x", "crowd": 100, "privacy": {"epsilon": 1}}
    asked = incrowd.Survey.of(plain | {"question": [{"id": "a", "type": "yesno"}]})
    return incrowd.load_answers(folder / "interviews.parquet", asked)


def edited(folder):
    """A file of interviews in which a report was changed."""
    path = folder / "interviews.parquet"
    read({"a": ["yes"]}).save(path)
    table = pa.parquet.read_table(path)
    pa.parquet.write_table(table.set_column(0, "a", pa.array(["maybe"])), path)
    return interviews.InterviewAnswers.load(path)


def other_parquet(folder):
    """A Parquet file that is not one of interviews."""
    pa.parquet.write_table(pa.table({"a": ["yes"]}), folder / "a.parquet")
    return interviews.InterviewAnswers.load(folder / "a.parquet")


def kit(design):
    """The kit of a survey with a design."""
    raw = SURVEY | {"question": [QUESTION | {"design": design}]}
    return lambda _: kit_files(incrowd.InterviewSurvey.of(raw), random_lists(1, ()), "en")


def written_kit(folder):
    """A kit in a folder that has one."""
    asked = '[[question]]\nid = "a"\ntype = "yesno"\ndesign = { kind = "warner", p = "1/6" }\n'
    survey = file(folder, "s.toml", f'name = "x"\ndevice = {{ kind = "die" }}\n{asked}')
    for _ in range(2):
        command("interviews", "kit", survey, "-o", folder / "kit", "--interviews", "1")


HALVES = {"no": ["1/2", "1/2"], "yes": ["1/4", "3/4"]}

CASES = {
    "shares: no weight": shares([0, 1], weights=np.zeros(2)),
    "shares: one interview": shares([1, MISSING]),
    "shares: one cluster": shares([0, 1], clusters=np.zeros(2, int)),
    "shares: one weight": shares([0, 1], weights=np.array([1.0, 1e12])),
    "shares: one interview in a group": lambda _: moments(
        [ReportedItem(np.array([0, 1, 1]), np.array([0, 0, 1]), UNRELATED)]
    ),
    "shares: not identified": shares([0, 1], same=True),
    "shares: one group": shares([0, 1, 1, 0], items=2, groups=2),
    "estimate: method": estimate("prevalence", method="bayes"),
    "estimate: threshold of names": estimate("prevalence", by="sex", threshold=3),
    "estimate: many numbers": estimate("prevalence", by="age"),
    "estimate: one value": estimate("prevalence", by="n", columns=[("n", [1] * 12)]),
    "estimate: small group": estimate("compare", "a", "age", threshold=11),
    "estimate: many cells": estimate(
        "table", ["a", *"nopq"], columns=[(name, [*range(6)] * 2) for name in "nopq"]
    ),
    "estimate: one name": estimate("table", ["a"]),
    "estimate: no such name": estimate("table", ["a", "agee"]),
    "estimate: one correlation": estimate("correlate", ["age"]),
    "estimate: names without numbers": estimate("correlate", ["a", "sex"]),
    "estimate: no scores": estimate("correlate", ["b", "age"]),
    "estimate: number of scores": estimate("correlate", ["a", "age"], scores={"a": [1]}),
    "design: probability": design({"kind": "warner", "p": "one sixth"}),
    "design: percent": design({"kind": "warner", "p": 25}),
    "design: unknown": design({"kind": "dice"}),
    "design: no kind": design({"prevalence": "1/6"}),
    "design: three answers": design({"kind": "warner", "p": "1/6"}, answers=("a", "b", "c")),
    "design: repeated birthday": design({"kind": "crosswise", "p": "1/4", "repeats": 2}),
    "design: repeated answers": design(
        {"kind": "forced", "forced": {"a": "1/6"}, "repeats": 2}, answers=("a", "b", "c")
    ),
    "design: tells nothing": design({"kind": "warner", "p": "1/2"}),
    "design: no answer": design({"kind": "forced", "forced": {"maybe": "1/6"}}),
    "design: no truth": design({"kind": "forced", "yes": "1/2", "no": "1/2"}),
    "design: sum of column": design({"kind": "matrix", "columns": HALVES | {"no": ["1/2", "1/4"]}}),
    "design: length of column": design({"kind": "matrix", "columns": HALVES | {"no": ["1"]}}),
    "design: other columns": design({"kind": "matrix", "columns": HALVES}, answers=("a", "b")),
    "survey: no device": of(device=None),
    "survey: unknown device": of(device={"kind": "dice"}),
    "survey: device without a kind": of(device={"dice": 2}),
    "survey: crowd": of(crowd=100),
    "survey: optional": asked({"optional": True}),
    "survey: unknown key": asked({"desing": 1}),
    "survey: unknown key of the device": of(device={"kind": "die", "sides": 8}),
    "survey: number": asked({"type": "number", "edges": [0, 1]}),
    "survey: no design": asked({"design": None}),
    "survey: kind of design": asked({"design": {"kind": "dice"}}),
    "survey: key of design": asked({"design": {"kind": "warner", "p": "1/6", "q": "5/6"}}),
    "survey: missing key of design": asked({"design": {"kind": "warner"}}),
    "survey: repeats": asked({"design": {"kind": "warner", "p": "1/6", "repeats": 0}}),
    "survey: sum of column": asked(
        {"design": {"kind": "matrix", "columns": HALVES | {"no": [1, 1]}}}
    ),
    "survey: tells nothing": asked({"design": {"kind": "warner", "p": "1/2"}}),
    "survey: designs without groups": asked({"design": None, "designs": [DIE, DIE]}),
    "survey: number of designs": asked({"design": None, "designs": [DIE]}, **GROUPS),
    "survey: not realized": asked({"design": {"kind": "warner", "p": "1/5"}}),
    "survey: truth": asked({"truth": "maybe"}),
    "survey: same id": asked({}, {}),
    "survey: column of a question": of(columns={"weight": "a"}),
    "survey: no column of groups": of(groups={"codes": [0, 1]}),
    "survey: no codes of groups": of(columns={"group": "g"}),
    "survey: codes twice": of(columns={"group": "g"}, groups={"codes": [0, "0"]}),
    "survey: same birthday": asked(
        {"design": CROSSWISE}, {"id": "b", "design": CROSSWISE}, device={"kind": "birthday"}
    ),
    "survey: birthday drawn twice": asked(
        {"design": {"kind": "warner", "p": "1/4", "repeats": 2}}, device={"kind": "birthday"}
    ),
    "survey: statement asked": asked({"design": CROSSWISE | {"statement": "A"}, "text": "a"}),
    "survey: code of no report": asked({"values": {"1": "maybe"}}),
    "survey: missing code of a report": asked({"missing": ["yes"]}),
    "survey: wording": asked({"text": {"de": "Ja?"}}),
    "survey: options file": lambda folder: incrowd.InterviewSurvey.load(
        file(folder, "s.toml", OPTIONS)
    ),
    "survey: options file and more": lambda folder: incrowd.InterviewSurvey.load(
        file(folder, "s.toml", OPTIONS.replace("die", "dice"))
    ),
    "kit: interviewers": lambda _: random_lists(3, (), interviewers=0),
    "kit: interviews": lambda _: random_lists(1, (), interviewers=2),
    "kit: wording": kit({"kind": "crosswise", "p": "1/4"}),
    "kit: folder": written_kit,
    "answers: no such question": lambda _: read({"a": ["yes"]}).item("b"),
    "answers: no such question of the survey": lambda _: read({"a": ["yes"]}).survey.item("b"),
    "answers: no such column": lambda _: read({"a": ["yes"]}).column("b"),
    "answers: no file": lambda folder: interviews.InterviewAnswers.load(folder / "none.parquet"),
    "answers: CSV": lambda folder: interviews.InterviewAnswers.load(
        file(folder, "a.csv", "a\nyes\n")
    ),
    "answers: other Parquet": other_parquet,
    "answers: edited": edited,
    "answers: column of the id": lambda _: read(
        {"a": ["yes"], "q1": ["yes"]}, question=[QUESTION | {"column": "q1"}]
    ),
    "answers: read already": read_again,
    "plan: survey of interviews": lambda folder: incrowd.Plan.load(file(folder, "s.toml", OPTIONS)),
    "answers: no column": lambda _: read({"b": ["yes"]}),
    "answers: reports": lambda _: read({"a": ["maybe"] * 9}),
    "answers: groups": lambda _: read({"a": ["yes"] * 9, "g": [2] * 8 + [None]}, **GROUPS),
    "answers: no groups": lambda _: read({"a": ["yes"] * 9, "g": [None] * 9}, **GROUPS),
    "answers: clusters": lambda _: read(
        {"a": ["yes"] * 2, "c": ["x", None]}, columns={"cluster": "c"}
    ),
    "answers: weights": lambda _: read(
        {"a": ["yes"] * 3, "w": [1.5, 0, -1]}, columns={"weight": "w"}
    ),
    "answers: words as weights": lambda _: read(
        {"a": ["yes"] * 3, "w": ["1", "2", "many"]}, columns={"weight": "w"}
    ),
    "answers: among numbers": lambda _: read({"a": ["yes"] * 3, "age": ["30", "41", "old"]}),
    "answers: many reports": lambda _: read({"a": [f"text {n}" for n in range(9)]}),
    "answers: two rows": lambda _: read({"a": ["yes", "maybe", "maybe"]}),
    "answers: commas": lambda _: read({"a": ["yes"] * 2, "income": ["1,500", "2,100"]}),
    "design: open": design({"kind": "auto"}),
    "design: one group": design({"kind": "unrelated", "p": "2/3"}),
}
