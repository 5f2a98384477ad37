"""Random conditions and answers: the library, both other clients, and who is asked what."""

import json
import random

import pyarrow as pa
import pytest

import incrowd
from incrowd.encoding.records import EncodedAnswers
from incrowd.survey import NOT_ASKED
from tests.oracles import client, wire
from tests.oracles.javascript import Javascript

pytestmark = pytest.mark.slow
SURVEYS, PEOPLE = 30, 10
DEEPEST = 4
PLAN = {  # as far as a client checks it
    "format": "incrowd plan 1",
    "survey": {"name": "Random", "crowd": 100, "colluding": 0, "rows_per_person": 1},
    "messages": [{"questions": ["q0"], "noise_numerator": 5, "copies": 1, "cells": False}],
    "guarantee": {"analysis": "local", "crowd": 100},
}


class Questions:
    """A random survey: each question after the first may have a condition on those before."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.questions = []
        for number in range(7):
            question = self._question(f"q{number}")
            if number and self.draw.random() < 0.7:
                question["asked_if"] = self._condition(0)
            self.questions.append(question)

    def _question(self, id):
        kind = self.draw.choice(["yesno", "choice", "multi", "number"])
        keys = {
            "yesno": {},
            "choice": {"options": ["a", "b c", "not"]},
            "multi": {"options": ["a", "b c", "and"], "at_most": self.draw.choice([1, 2, 3])},
            "number": {"edges": [0, 1.5, 18]},
        }
        return {"id": id, "type": kind, "optional": self.draw.random() < 0.4} | keys[kind]

    def _condition(self, depth):
        form = self.draw.random()
        if depth < DEEPEST and form < 0.2:
            return {"not": self._condition(depth + 1)}
        if depth < DEEPEST and form < 0.5:
            parts = [self._condition(depth + 1) for _ in range(self.draw.choice([2, 3]))]
            return {self.draw.choice(["all", "any"]): parts}
        decides = self.draw.choice(self.questions)
        if decides["type"] == "number" and form < 0.8:
            edge = self.draw.choice(decides["edges"])
            return {"question": decides["id"], self.draw.choice(["at_least", "below"]): edge}
        named = wire.axis({"randomizer": None} | decides | {"at_most": 2})
        return {"question": decides["id"], "answer": self.draw.choice(named)}

    def person(self):
        """An answer to every question, as a file of answers writes it."""
        return {each["id"]: self._answer(each) for each in self.questions}

    def _answer(self, question):
        if question["optional"] and self.draw.random() < 0.3:
            return None
        if question["type"] == "number":
            return self.draw.choice([0, 1.5, 1.49, 18, 400])
        if question["type"] == "multi":
            chosen = self.draw.sample(
                question["options"], self.draw.randint(0, question["at_most"])
            )
            return ";".join(chosen) or "none"
        return self.draw.choice(question.get("options", ["yes", "no"]))


def by_the_library(survey, person):
    """The ids of the questions that a person is asked."""
    columns = {
        id: pa.array([a], None if a is not None else pa.string()) for id, a in person.items()
    }
    encoded = EncodedAnswers.of(survey, pa.table(columns)).encoded
    return [
        question.id
        for question in survey.questions
        if question.asked_if is None
        or encoded[question.id].places.tolist() != [question.recorded.index(NOT_ASKED)]
    ]


def by_the_other_client(questions, person):
    known, found = {each["id"]: each for each in questions}, {}
    for each in questions:
        asked = "asked_if" not in each or client.is_asked(each["asked_if"], known, found)
        found[each["id"]] = person[each["id"]] if asked else wire.NOT_ASKED
    return [id for id, answer in found.items() if answer != wire.NOT_ASKED]


def typed(question, answer):
    """An answer as the client in TypeScript takes it."""
    if answer is None or question["type"] in ("choice", "number"):
        return answer
    if question["type"] == "multi":
        return [] if answer == "none" else answer.split(";")
    return answer == "yes"


class Case:
    """A random survey, its people, and who is asked what by the library."""

    def __init__(self, seed):
        made = Questions(seed)
        self.questions = made.questions
        raw = {"name": "Random", "crowd": 100, "privacy": {"epsilon": 1.0}}
        survey = incrowd.Survey.of(raw | {"question": made.questions})
        self.people = [made.person() for _ in range(PEOPLE)]
        self.expected = [by_the_library(survey, person) for person in self.people]

    def told(self, javascript):
        """Who is asked what by the client in TypeScript."""
        given = [{q["id"]: typed(q, each[q["id"]]) for q in self.questions} for each in self.people]
        questions = [{"randomizer": None} | each for each in self.questions]
        plan = PLAN | {"survey": PLAN["survey"] | {"question": questions}}
        return json.loads(javascript("asked.mjs", {"plan": plan, "answers": given}))


def test_all_clients_ask_the_same_people(javascript):
    conditional = asked = 0
    for seed in range(SURVEYS):
        case = Case(seed)
        others = [by_the_other_client(case.questions, each) for each in case.people]
        assert others == case.expected == case.told(javascript), seed
        ids = [each["id"] for each in case.questions if "asked_if" in each]
        conditional += len(ids) * PEOPLE
        asked += sum(id in each for each in case.expected for id in ids)
    assert 0.2 < asked / conditional < 0.8  # neither is rare


WRONG = {
    "below an edge includes it": ("place < at ===", "place <= at ==="),
    "a no that sets no bit is no answer": ("set && bitsOf(question) === 1", "set && false"),
    "all is any": ("condition.all.every(each)", "condition.all.some(each)"),
}


@pytest.mark.parametrize("why", WRONG)
def test_a_client_with_another_meaning_is_found(why, tmp_path):
    wrong = Javascript(tmp_path / "wrong", [("conditions.ts", *WRONG[why])])
    assert any(case.told(wrong) != case.expected for case in map(Case, range(SURVEYS)))
