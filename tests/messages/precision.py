"""What is said of values and changes on the page of precision."""

import tomllib

from incrowd.planner.plan import limit_outline
from incrowd.studio.precision import margin_of
from incrowd.studio.what_if import operation_of
from incrowd.survey.surveys import survey_in
from tests.messages.shared import YESNO, survey

TEXT = """
name = "work"
crowd = 1000

[privacy]
epsilon = 1.0

[[question]]
id = "a"
type = "yesno"

[[question]]
id = "b"
type = "choice"
options = ["x", "y", "z"]

[[table]]
questions = ["a", "b"]
"""
ALONE = TEXT[: TEXT.index('[[question]]\nid = "b"')]


def change(kind, *chosen, text=TEXT):
    return lambda _: operation_of(tomllib.loads(text), kind, chosen)


def with_options_file(folder):
    raw = tomllib.loads(TEXT)
    raw["question"][1] = {"id": "b", "type": "choice", "options_file": "options.txt"}
    return survey_in(raw, folder)


CASES = {
    "no margin": lambda _: margin_of("wide"),
    "no estimate": lambda _: limit_outline(survey(YESNO, upload_bytes=10)),
    "no file of options": with_options_file,
    "no such change": change("double", "a"),
    "no such question": change("drop", "c"),
    "the only question": change("drop", "a", text=ALONE),
    "a table of one question": change("table", "a", "a"),
    "a table that is wanted": change("table", "b", "a"),
    "one answer to merge": change("merge", "b", "x"),
    "answers of yes or no": change("merge", "a", "yes", "no"),
    "an unknown answer to merge": change("merge", "b", "x", "w"),
    "all answers merged": change("merge", "b", "x", "y", "z"),
}
