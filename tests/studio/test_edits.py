"""Edits of survey files: the text keeps everything that a change is not about."""

import copy
import os
import re
import tempfile
import time
import tomllib
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from incrowd.errors import SurveyError, UsageError
from incrowd.studio.document import SurveyDocument, apply, changed, version
from incrowd.studio.operations import (
    AddQuestion,
    MoveQuestion,
    RemoveQuestion,
    SetQuestion,
    SetRegression,
    SetTables,
    SetValue,
)
from incrowd.studio.projects import ConflictError, Projects

TEXT = '''\
# A survey of health.

# DECIDE: how many people?
name = "Health"   # the name
crowd = 1000  # people

[privacy]   # the promise
epsilon = 1.0
delta = 1e-6
# local_epsilon = 8.0

# About smoking.
# It is asked first.
[[question]]
id = "smokes"  # an id
type = "yesno"
text = """
Do you
smoke?"""
# a comment below

# A paragraph of its own.

# About health.
[[question]]
id = "health"
type = "choice"
options = [
  "good",   # well
  "fair",
  "poor",   # ill
]
missing = ["9"]
values = { 1 = "good", 2 = "fair", 3 = "poor" }

[question.labels]
good = "Good"
fair = "Fair"  # so so
poor = "Poor"

# About age.
[[question]]
id = "age"
type = "number"
edges = [0, 18, 65]

# Tables.
[[table]]
questions = ["smokes", "health"]  # the first

[[table]]
questions = ["smokes", "health", "age"]

[[regression]]
outcome = "smokes"
on = ["health=poor", "age", "health=poor:age"]
reference = { age = "0 to <18" }

# The end.
'''
COMMENTS = re.findall("#.*", TEXT)


def edited(text, *operations):
    return apply(SurveyDocument(text), *operations).text


def lost(text):
    return [each for each in COMMENTS if each not in text]


def difference(change, text=TEXT):
    """The lines that a change removes and adds."""
    result = edited(text, change)
    before, after = text.splitlines(), result.splitlines()
    return [e for e in before if e not in after], [e for e in after if e not in before]


def test_a_value_is_replaced_and_nothing_else():
    assert difference(SetValue(("crowd",), 2000)) == (
        ["crowd = 1000  # people"],
        ["crowd = 2000  # people"],
    )
    assert difference(SetValue(("privacy", "local_epsilon"), 8.0)) == ([], ["local_epsilon = 8.0"])
    assert difference(SetValue(("rounds",), 3)) == ([], ["rounds = 3"])
    assert difference(SetValue(("privacy", "delta"), None)) == (["delta = 1e-6"], [])


def test_a_question_moves_with_its_own_comments():
    text = edited(TEXT, MoveQuestion("age", -1))
    assert lost(text) == []
    assert text.index("# About age.") < text.index('id = "age"') < text.index("# About health.")
    assert text.index("# A paragraph of its own.") < text.index("# About age.")
    assert edited(text, MoveQuestion("age", 1)) == TEXT


def test_moving_beyond_the_ends_does_nothing():
    assert edited(TEXT, MoveQuestion("smokes", -1)) == TEXT
    assert edited(TEXT, MoveQuestion("age", 1)) == TEXT


def test_what_refers_to_a_removed_question_goes_with_it():
    text = edited(TEXT, RemoveQuestion("age"))
    raw = tomllib.loads(text)
    assert [each["questions"] for each in raw["table"]] == [["smokes", "health"]]
    assert raw["regression"] == [{"outcome": "smokes", "on": ["health=poor"]}]
    assert lost(text) == ["# About age."]
    text = edited(TEXT, RemoveQuestion("smokes"))
    raw = tomllib.loads(text)
    assert [each["questions"] for each in raw["table"]] == [["health", "age"]]
    assert "regression" not in raw
    assert "# A paragraph of its own." in text and "# The end." in text


def test_what_refers_to_a_renamed_question_follows():
    text = edited(TEXT, SetQuestion("health", {"id": "condition"}))
    raw = tomllib.loads(text)
    assert raw["table"][1]["questions"] == ["smokes", "condition", "age"]
    assert raw["regression"][0]["on"] == ["condition=poor", "age", "condition=poor:age"]
    assert lost(text) == []
    raw = tomllib.loads(edited(TEXT, SetQuestion("age", {"id": "years"})))
    assert raw["regression"][0]["reference"] == {"years": "0 to <18"}


def test_what_refers_to_a_renamed_answer_follows():
    text = edited(TEXT, SetQuestion("health", {}, {"poor": "bad"}))
    raw = tomllib.loads(text)
    asked = raw["question"][1]
    assert asked["options"] == ["good", "fair", "bad"]
    assert asked["labels"] == {"good": "Good", "fair": "Fair", "bad": "Poor"}
    assert asked["values"] == {"1": "good", "2": "fair", "3": "bad"}
    assert raw["regression"][0]["on"] == ["health=bad", "age", "health=bad:age"]
    assert lost(text) == []


def test_two_answers_can_change_names():
    raw = tomllib.loads(edited(TEXT, SetQuestion("health", {}, {"poor": "good", "good": "poor"})))
    assert raw["question"][1]["options"] == ["poor", "fair", "good"]
    assert raw["question"][1]["labels"] == {"poor": "Good", "fair": "Fair", "good": "Poor"}


def test_a_removed_answer_takes_its_label_and_codes_along():
    text = edited(TEXT, SetQuestion("health", {"options": ["good", "poor"]}))
    asked = tomllib.loads(text)["question"][1]
    assert asked["labels"] == {"good": "Good", "poor": "Poor"}
    assert asked["values"] == {"1": "good", "3": "poor"}
    assert "# ill" in text and "# well" in text


def test_a_new_question_is_the_last_one():
    new = {"id": "sport", "type": "yesno", "labels": {"yes": {"en": 'a "b"', "de": "ß\n#"}}}
    text = edited(TEXT, AddQuestion(new))
    raw = tomllib.loads(text)
    assert [each["id"] for each in raw["question"]] == ["smokes", "health", "age", "sport"]
    assert raw["question"][3] == new
    assert lost(text) == []
    with pytest.raises(UsageError, match="another question already has this name"):
        edited(TEXT, AddQuestion({"id": "age", "type": "yesno"}))


def test_the_first_question_of_an_empty_survey():
    text = 'name = "A"\ncrowd = 10\n\n[privacy]\nepsilon = 1.0\n'
    result = edited(text, AddQuestion({"id": "a", "type": "yesno"}))
    assert result == text + '\n[[question]]\nid = "a"\ntype = "yesno"\n'
    assert edited(result, RemoveQuestion("a")).strip() == text.strip()


def test_tables_come_and_go():
    text = edited(TEXT, SetTables((("smokes", "age"),), (("health", "smokes"),)))
    raw = tomllib.loads(text)
    assert [each["questions"] for each in raw["table"]] == [
        ["smokes", "health", "age"],
        ["smokes", "age"],
    ]
    assert edited(TEXT, SetTables((("health", "smokes"),))) == TEXT


def test_regressions_come_and_go():
    formula = tomllib.loads(TEXT)["regression"][0]
    text = edited(TEXT, SetRegression(formula, formula | {"on": ["age"]}))
    assert tomllib.loads(text)["regression"] == [formula | {"on": ["age"]}]
    text = edited(text, SetRegression(None, {"outcome": "health=poor", "on": ["age"]}))
    assert len(tomllib.loads(text)["regression"]) == 2 and lost(text) == []
    with pytest.raises(UsageError, match="no longer there"):
        edited(text, SetRegression(formula, None))


@pytest.mark.parametrize(
    "text",
    [
        'question = [{ id = "a", type = "yesno" }]\n',
        'question = [\n  { id = "a", type = "yesno" },  # one\n]\n',
        'question = []\nname = "x"\n',
        'privacy = { epsilon = 1.0 }\n[[question]]\nid = "a"\n',
        'privacy.epsilon = 1.0\n[[question]]\nid = "a"\n',
        '[[ question ]] # odd\nid = "a"\n["privacy"]\nepsilon = 1\n',
        '[[question]]\nid = "a"\nlabels.yes = "Y"\n[question.shares]\nyes = 0.5\n',
        '[[question]]\nid = "a"\ntext = """\n[[question]]\n"""\n[privacy]\nepsilon = 1\n',
        "[[question]]\nid = 'a'\ntext = '''\n[x]'''\nedges = [\n [1],\n]\n",
    ],
)
def test_other_ways_to_write_a_survey(text):
    """Each change is made exactly, or refused; never made wrongly."""
    changes = [
        SetValue(("privacy", "epsilon"), 2.5),
        AddQuestion({"id": "b", "type": "choice", "options": ["x", "y"]}),
        SetQuestion("a", {"id": "c", "text": "x"}),
        SetTables((("a", "b"),)),
        RemoveQuestion("a"),
    ]
    for change in changes:
        try:
            result = edited(text, change)
        except (SurveyError, UsageError):
            continue
        assert tomllib.loads(result) == changed(tomllib.loads(text), change)
    assert tomllib.loads(edited(text, changes[0]))["privacy"]["epsilon"] == 2.5


@pytest.mark.parametrize("text", ["name = ", "a = 1\na = 2", "[" * 3000, "x = " + "[" * 5000])
def test_what_is_not_toml_is_refused(text):
    with pytest.raises(SurveyError, match="correct the text"):
        edited(text, SetValue(("crowd",), 1))


def test_a_survey_whose_questions_are_no_tables_is_refused():
    with pytest.raises(SurveyError, match="before each one"):
        edited("question = 3\n", RemoveQuestion("a"))


def test_the_marks_of_many_questions_are_removed_at_once():
    mark = "# DECIDE: if 1 to 5 are codes, name the options."
    asked = [f'{mark}\n[[question]]\nid = "q{n}"\ntype = "yesno"\n' for n in range(300)]
    wide = SurveyDocument("\n".join(['name = "A"  # x; DECIDE: y\n', *asked]))
    start = time.process_time()
    marks = [(each.text, each.id) for each in wide.comments() if each.id and each.id != "q7"]
    left = wide.without_comments([*marks, ("DECIDE: y", "")])
    assert time.process_time() - start < 2  # 0.1 on a quiet machine
    assert left.text.count(mark) == 1 and left.content == wide.content
    assert [each for each in left.comments() if each.text == mark] == [(mark, "q7", "")]
    assert left.text.startswith('name = "A"  # x\n\n[[question]]\nid = "q0"')


# A state machine: random edits by two windows, undo, redo, and another program.

NAMES = st.sampled_from(["a", "b", "c", "d e", "f.g", 'h"', "ü", "no", "=", "a:b", "[x]"])
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
OPTIONS = st.lists(st.sampled_from(["u", "v", "w", "x y", "#z", "ä", "'"]), min_size=2, unique=True)
KEYS = st.fixed_dictionaries(
    {},
    optional={
        "text": WORDS | st.fixed_dictionaries({"en": WORDS, "de": WORDS}) | st.none(),
        "help": WORDS | st.none(),
        "optional": st.booleans() | st.none(),
        "open": st.just(True) | st.none(),
        "edges": st.lists(st.integers() | st.floats(allow_nan=False), max_size=4) | st.none(),
        "options": OPTIONS,
        "shares": st.dictionaries(st.sampled_from(["u", "v"]), st.floats(0, 1)) | st.none(),
        "labels": st.dictionaries(st.sampled_from(["u", "v", "x y"]), WORDS, max_size=3),
    },
)


def ids_of(model):
    return [each["id"] for each in model["question"]]


class Editing(RuleBasedStateMachine):
    """A project and a model of it: the parsed survey, and a list of all its states.

    Every question that is added gets a comment above it, by another program; as long as the
    question is there, so is its comment.
    """

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.quick = mock.patch.object(os, "fsync")  # slow, and of no use here
        self.quick.start()
        text = '# Head.\nname = "A"\n\n[privacy]\nepsilon = 1.0  # promise\n\n# Tail.\n'
        self.project = Projects(Path(self.folder.name)).create("A", text)
        model = tomllib.loads(text) | {"question": [], "table": []}
        self.states, self.place, self.number = [(model, {}, text)], 0, 0

    def teardown(self):
        self.quick.stop()
        self.folder.cleanup()

    @property
    def model(self):
        return copy.deepcopy(self.states[self.place][0])

    @property
    def comments(self):
        return dict(self.states[self.place][1])

    def next(self, model, comments=None):
        text = self.project.text()
        if text != self.before:
            state = model, self.comments if comments is None else comments, text
            self.states[self.place + 1 :] = [state]
            self.place += 1

    def change(self, change):
        self.before = self.project.text()
        self.project.change(change, expected=version(self.before))

    @rule(id=NAMES, entries=KEYS)
    def add(self, id, entries):
        model = self.model
        entries = {key: value for key, value in entries.items() if value is not None}
        new = {"id": id, "type": "choice"} | entries
        self.before = self.project.text()
        if id in ids_of(model):
            with pytest.raises(UsageError):
                self.change(AddQuestion(new))
            return
        self.change(AddQuestion(new))
        model["question"].append(new)
        self.next(model)

    @precondition(lambda self: self.model["question"])
    @rule(data=st.data())
    def comment(self, data):
        """Another program writes a comment above a question."""
        text, comments = self.project.text(), self.comments
        place = data.draw(st.integers(0, len(self.model["question"]) - 1))
        self.number += 1
        starts = [each.start() for each in re.finditer(r"^\[\[question\]\]$", text, re.MULTILINE)]
        if len(starts) != len(self.model["question"]):
            return  # one of the texts looks like a question
        self.before = text
        shown = f"# note {self.number}\n"
        text = text[: starts[place]] + shown + text[starts[place] :]
        self.project.survey_path.write_bytes(text.encode())
        self.project.can_move()  # a page shows the text, which makes it a version
        id = ids_of(self.model)[place]
        self.next(self.model, comments | {id: (*comments.get(id, ()), shown)})

    @precondition(lambda self: self.model["question"])
    @rule(data=st.data())
    def remove(self, data):
        model, comments = self.model, self.comments
        id = data.draw(st.sampled_from(ids_of(model)))
        self.change(RemoveQuestion(id))
        model["question"] = [each for each in model["question"] if each["id"] != id]
        shorter = []
        whole = [
            sorted(each["questions"]) for each in model["table"] if id not in each["questions"]
        ]
        for each in model["table"]:
            left = [name for name in each["questions"] if name != id]
            if left == each["questions"]:
                shorter.append(each)
            elif len(left) > 1 and sorted(left) not in whole:
                whole.append(sorted(left))
                shorter.append({"questions": left})
        model["table"] = shorter
        comments.pop(id, None)
        self.next(model, comments)

    @precondition(lambda self: self.model["question"])
    @rule(data=st.data(), step=st.sampled_from([-1, 1]))
    def move(self, data, step):
        model = self.model
        id = data.draw(st.sampled_from(ids_of(model)))
        self.change(MoveQuestion(id, step))
        place = ids_of(model).index(id)
        if 0 <= place + step < len(model["question"]):
            asked = model["question"]
            asked[place], asked[place + step] = asked[place + step], asked[place]
        self.next(model)

    @precondition(lambda self: self.model["question"])
    @rule(data=st.data(), entries=KEYS)
    def set(self, data, entries):
        model = self.model
        id = data.draw(st.sampled_from(ids_of(model)))
        self.change(SetQuestion(id, entries))
        asked = model["question"][ids_of(model).index(id)]
        before = asked.get("options"), bool(asked.get("optional"))
        asked |= entries
        for key in [key for key, value in asked.items() if value is None]:
            del asked[key]
        if (asked.get("options"), bool(asked.get("optional"))) != before and "options" in asked:
            for key in ("labels", "shares"):
                kept = {a: v for a, v in asked.get(key, {}).items() if a in asked["options"]}
                if asked.get(key) and not kept:
                    del asked[key]
                elif key in asked:
                    asked[key] = kept
        self.next(model)

    @precondition(lambda self: self.model["question"])
    @rule(data=st.data(), new=NAMES)
    def rename(self, data, new):
        model, comments = self.model, self.comments
        id = data.draw(st.sampled_from(ids_of(model)))
        if new in ids_of(model):
            return
        self.change(SetQuestion(id, {"id": new}))
        model["question"][ids_of(model).index(id)]["id"] = new
        for each in model["table"]:
            each["questions"] = [new if name == id else name for name in each["questions"]]
        if id in comments:
            comments[new] = comments.pop(id)
        self.next(model, comments)

    @precondition(lambda self: len(self.model["question"]) > 1)
    @rule(data=st.data())
    def table(self, data):
        model = self.model
        names = data.draw(
            st.lists(st.sampled_from(ids_of(model)), min_size=2, max_size=3, unique=True)
        )
        there = [each for each in model["table"] if sorted(each["questions"]) == sorted(names)]
        if there:
            self.change(SetTables((), (tuple(names),)))
            model["table"] = [each for each in model["table"] if each not in there]
        else:
            self.change(SetTables((tuple(names),)))
            model["table"].append({"questions": names})
        self.next(model)

    @rule(crowd=st.integers(2, 10**6), epsilon=st.floats(0.1, 9) | st.none())
    def values(self, crowd, epsilon):
        model = self.model
        self.change(SetValue(("crowd",), crowd))
        self.next(model | {"crowd": crowd})
        model = self.model
        self.change(SetValue(("privacy", "epsilon"), epsilon))
        privacy = {} if epsilon is None else {"epsilon": epsilon}
        self.next(model | {"privacy": privacy})

    @rule(crowd=st.integers(2, 4), data=st.data())
    def late(self, crowd, data):
        """Another window shows an older version."""
        _, _, text = self.states[data.draw(st.integers(0, self.place))]
        self.before = self.project.text()
        if text != self.before:
            with pytest.raises(ConflictError):
                self.project.change(SetValue(("crowd",), crowd), expected=version(text))
            return
        self.project.change(SetValue(("crowd",), crowd), expected=version(text))
        self.next(self.model | {"crowd": crowd})

    @rule()
    def undo(self):
        assert self.project.undo() == (self.place > 0)
        self.place = max(self.place - 1, 0)

    @rule()
    def redo(self):
        there = self.place + 1 < len(self.states)
        assert self.project.redo() == there
        self.place += there

    @invariant()
    def the_file_is_the_model(self):
        text = self.project.text()
        model = {key: value for key, value in self.model.items() if value != []}
        assert tomllib.loads(text) == model
        for comment in ("# Head.\n", "# Tail.\n"):
            assert comment in text
        for shown in self.comments.values():
            assert all(each in text for each in shown)


LONG = "LONG_TESTS" in os.environ
Editing.TestCase.settings = settings(
    max_examples=200 if LONG else 6, stateful_step_count=50 if LONG else 16, deadline=None
)
TestEditing = Editing.TestCase
