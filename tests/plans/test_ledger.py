"""A ledger says what happened: what was asked, and how many people came."""

import hashlib
import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import incrowd
from incrowd.cli.app import main
from incrowd.errors import (
    IncrowdWarning,
    PlanError,
    PlanFileError,
    PrivacyError,
    ReportsError,
    UsageError,
)
from incrowd.guarantees.certified import guarantee_for, recertify
from incrowd.guarantees.rounds import spent
from incrowd.plans.digests import digest_of, sealed
from incrowd.plans.ledger import Ledger, rounds_before
from incrowd.plans.plan import smallest_crowd
from tests.conftest import cells_survey, slowly
from tests.oracles.one_bit_crowds import worst_delta


def one_bit(name, epsilon, crowd=5000, delta=1e-6, **more):
    privacy = {"epsilon": epsilon, "delta": delta} | more.pop("privacy", {})
    question = {"id": "a", "type": "yesno"} | more.pop("question", {})
    raw = {"name": name, "crowd": crowd, "privacy": privacy, "question": [question]}
    return incrowd.Survey.of(raw | more)


def of_people(plan, people):
    """Reports of so many people, all of whom say no."""
    question = plan.survey.questions[0]
    answer = False if question.type == "yesno" else question.answers[0]
    return incrowd.randomize(plan, pa.table({question.id: [answer] * people}))


@pytest.fixture(scope="module")
def first():
    return incrowd.plan(one_bit("first", 0.5))


@pytest.fixture
def path(tmp_path):
    incrowd.new_ledger(tmp_path / "ledger.json")
    return tmp_path / "ledger.json"


# --- what arrived is what later plans cover ------------------------------------------------------


def lower_bound(qs, crowd, epsilon):
    """delta of one-bit collections of the same people, one for each noise, all others alike:
    exact for that crowd, so a lower bound of the worst. By listing the numbers of ones."""
    counts = np.arange(crowd + 1)
    laws = []
    for q in qs:
        rest = binom.pmf(counts, crowd - 1, q)
        shifted = np.append(0, rest[:-1])
        yes, no = (1 - q) * shifted + q * rest, q * shifted + (1 - q) * rest
        laws.append((yes, no))
    joint = [np.multiply.outer(*(law[side] for law in laws)) for side in (0, 1)]
    one, other = joint
    return max(
        np.maximum(one - math.exp(epsilon) * other, 0).sum(),
        np.maximum(other - math.exp(epsilon) * one, 0).sum(),
    )


def qs_of(*plans):
    return [plan.messages[0].noise.q for plan in plans]


@pytest.mark.slow
def test_a_round_to_which_few_came_is_not_covered_by_a_plan_that_counts_on_all(first, path):
    """Planned for 5,000, 300 came. A second plan that takes 5,000 breaks its promise (1, 1e-6) a
    thousand times, by an exact lower bound; with what arrived, the planner says why none is left,
    and a weaker promise for both is kept."""
    blind = incrowd.plan(one_bit("second", 1.0), earlier=[first.asked])
    assert lower_bound(qs_of(first, blind), 300, 1.0) > 1e-3

    noted = incrowd.note(path, first, of_people(first, 300))
    assert [asked.crowd for asked in noted.asked] == [300]
    used = guarantee_for(first, 300).epsilon
    with pytest.raises(PrivacyError) as caught:
        incrowd.plan(one_bit("second", 1.0), earlier=noted.asked)
    said = re.search(
        r"have spent epsilon ([\d.]+) at delta 1e-06.*300, 5,000 planned", str(caught.value)
    )
    assert float(said[1]) == pytest.approx(used, rel=1e-3)

    second = incrowd.plan(one_bit("second", 5.0), earlier=noted.asked)
    assert second.guarantee.crowd == 300
    assert recertify(second).delta.upper <= 1e-6
    assert lower_bound(qs_of(first, second), 300, 5.0) <= 1e-6
    assert lower_bound(qs_of(first, second), 300, used * 0.9) > 1e-6  # the oracle can say no
    incrowd.note(path, second, of_people(second, 300))
    assert [asked.crowd for asked in Ledger.load(path).asked] == [300, 300]


@pytest.mark.parametrize("people, crowd", [(5001, 5000), (5000, 5000), (4999, 4999), (1, 1)])
def test_the_crowd_is_who_came_and_never_more_than_planned(first, path, people, crowd):
    incrowd.note(path, first, of_people(first, people))
    assert [asked.crowd for asked in Ledger.load(path).asked] == [crowd]


@pytest.mark.parametrize(
    "changes, came, crowd",
    [
        ({"colluding": 40}, 300, 260),
        ({"colluding": 40}, 30, 1),  # nobody is left: she is her own crowd
        *slowly(
            ({"rows_per_person": 3}, 300, 100),
            ({"rows_per_person": 3, "colluding": 10}, 300, 90),
            ({"copies": 4}, 300, 300),
        ),
    ],
)
def test_the_crowd_is_that_of_the_guarantee(path, changes, came, crowd):
    """As `estimate` counts it: colluding people off, rows divided, copies divided."""
    made = incrowd.plan(one_bit("x", 1.0, **changes))
    found = incrowd.note(path, made, of_people(made, came)).asked[0].crowd
    assert found == crowd == max(made.survey.hidden(came), 1)


def test_of_several_messages_the_smallest_counts(path):
    questions = [{"id": "a", "type": "yesno"}, {"id": "b", "type": "yesno"}]
    messages = [{"questions": ["a"], "copies": 2}, {"questions": ["b"]}]
    raw = {"name": "x", "crowd": 500, "privacy": {"epsilon": 1.0}, "message": messages}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": questions}))
    both = incrowd.randomize(made, pa.table({"a": [True] * 90, "b": [False] * 90}))
    fewer = replace(both[0], packed=both[0].packed[:101])
    with pytest.raises(ReportsError, match="message 2"):
        incrowd.note(path, made, [both[0]])
    assert Ledger.load(path).asked == ()
    noted = incrowd.note(path, made, incrowd.count(made, [fewer, both[1]]))
    assert noted.asked[0].crowd == 50  # 101 reports are those of 50 people who sent two


def test_cells_count_the_people_who_took_part(path):
    options = [f"o{i}" for i in range(12)]
    made = incrowd.plan(cells_survey(options))
    assert incrowd.note(path, made, of_people(made, 700)).asked[0].crowd == 700


def test_crowds_are_not_made_up(first, path):
    with pytest.raises(UsageError, match="as_planned=True"):
        incrowd.note(path, first)
    with pytest.raises(UsageError, match="as_planned=True"):
        incrowd.note(path, first, of_people(first, 10), as_planned=True)
    simulated = incrowd.randomize(first, pa.table({"a": [True] * 10}), simulation_seed=1)
    with pytest.raises(ReportsError, match="name reports of real people"):
        incrowd.note(path, first, simulated)
    another = incrowd.plan(one_bit("another", 0.5))
    with pytest.raises(ReportsError, match="another plan"):
        incrowd.note(path, first, of_people(another, 10))
    assert Ledger.load(path).asked == ()


def test_a_plan_that_counts_on_more_than_came_is_not_noted(first, path):
    """It was made before it was known who came."""
    second = incrowd.plan(one_bit("second", 5.0), earlier=[first.asked])
    incrowd.note(path, first, of_people(first, 300))
    with pytest.raises(PlanError, match="relies on 5,000 people in 'first', but 300 took part"):
        incrowd.note(path, second, of_people(second, 300))


@pytest.fixture(scope="module")
def thousand():
    return incrowd.plan(one_bit("thousand", 1.0, crowd=1000))


@pytest.mark.parametrize("colluding, broken", [(300, 1.4194e-5), (800, 7.779e-3)])
def test_who_colludes_later_may_have_been_in_the_earlier_round(thousand, colluding, broken):
    """The earlier round alone has a delta above the one promised for both rounds, if the people who
    collude by the new plan took part in it: a lower bound, by the law of one crowd."""
    bits = [(q, 1) for q in qs_of(thousand)]
    assert worst_delta(bits, 1000 - colluding, 1.05) == pytest.approx(broken, rel=1e-3)
    assert worst_delta(bits, 1000, 1.05) < 1e-6  # what was counted before
    survey = one_bit("second", 1.05, crowd=2000, colluding=colluding)
    left = f"'thousand' 1,000, 1,000 planned, {1000 - colluding} if {colluding} of them collude"
    with pytest.raises(PrivacyError, match=left):
        incrowd.plan(survey, earlier=[thousand.asked])


@pytest.mark.slow
def test_a_plan_without_its_colluding_people_keeps_its_promise(thousand):
    made = incrowd.plan(one_bit("second", 2.0, crowd=2000, colluding=300), earlier=[thousand.asked])
    wrong = incrowd.plan(one_bit("second", 2.0, crowd=2000), earlier=[thousand.asked])
    assert (made.guarantee.crowd, wrong.guarantee.crowd) == (700, 1000)
    truths = [
        worst_delta([(q, 1) for q in qs_of(thousand, plan)], 700, 2.0) for plan in (made, wrong)
    ]
    assert truths[0] <= recertify(made).delta.upper <= 1e-6 < truths[1]
    assert incrowd.verify(made).holds
    content = made.content
    content["guarantee"]["crowd"] = 1000
    data = {"plan": content, "digest": digest_of(content)}
    with pytest.raises(PlanError, match=r"guarantee\.crowd is 1000"):
        incrowd.Plan.loads(json.dumps(data))


@pytest.mark.parametrize(
    "earlier, later, crowd",
    [
        *slowly(
            ({"colluding": 40}, {"colluding": 30}, 460)
        ),  # the earlier round counts on fewer itself
        ({"colluding": 40}, {"colluding": 300}, 200),
        ({"crowd": 1500, "rows_per_person": 3}, {"colluding": 300}, 200),  # of 500 people
        *slowly(
            ({"crowd": 1500, "rows_per_person": 3, "colluding": 50}, {"colluding": 300}, 200),
            ({}, {"crowd": 8000, "rows_per_person": 4, "colluding": 300}, 200),
        ),
        *slowly(({}, {"colluding": 700}, 1)),  # nobody else is left
        ({"privacy": {"analysis": "local"}}, {"colluding": 300}, 1700),  # no crowd hid anyone
    ],
)
def test_the_smallest_crowd_is_without_whoever_colludes(earlier, later, crowd):
    first = incrowd.plan(one_bit("first", 9.0, **{"crowd": 500} | earlier))
    second = one_bit("second", 9.0, **{"crowd": 2000} | later)
    assert smallest_crowd(second, [first.asked]) == crowd


@pytest.mark.parametrize(
    ("privacy", "local"),
    [
        ({}, False),
        ({"noise": "services"}, False),
        ({"local_epsilon": 1.0, "epsilon": 2.0}, True),
        ({"analysis": "local"}, True),
    ],
)
def test_a_ledger_that_leaves_too_little_says_so(thousand, privacy, local):
    """The guarantee is used up, but not exceeded: no randomizer of the survey is to blame."""
    asked = Ledger().with_plan(thousand, 1000).asked
    with pytest.raises(PrivacyError) as caught:
        incrowd.plan(one_bit("second", 1.0, 1000, privacy=privacy), earlier=asked)
    [problem] = caught.value.problems
    assert problem.code == "planner.nearly-spent"
    words = str(caught.value)
    assert "randomizer" not in words and "'thousand' 1,000, 1,000 planned" in words
    (q,) = qs_of(thousand)
    used = (
        f"a local epsilon of {math.log((1 - q) / q):.4g}" if local else "epsilon 1 at delta 1e-06"
    )
    wanted = "a local epsilon of 1;" if local else "epsilon 1, delta 1e-06, a crowd of 1,000;"
    assert words.startswith(f"privacy: {wanted}") and f"have spent {used}" in words


@pytest.mark.slow
def test_a_survey_that_cannot_be_planned_at_all_does_not_blame_the_ledger(thousand):
    asked = Ledger().with_plan(thousand, 1000).asked
    fixed = {"randomizer": {"kind": "bit flip", "noise": 0.01}}
    survey = one_bit("second", 2.0, 1000, question=fixed)
    with pytest.raises(PrivacyError) as alone:
        incrowd.plan(survey)
    with pytest.raises(PrivacyError) as after:
        incrowd.plan(survey, earlier=asked)
    assert str(after.value) == str(alone.value) and "planner" not in alone.value.problems[0].code


@pytest.mark.slow
def test_what_a_ledger_has_spent_is_without_whoever_colludes(thousand):
    """Also how many rounds are left. Wrong: with the 1,000 people of the earlier round."""
    survey = one_bit("rounds", 3.0, crowd=2000, colluding=300, rounds=2)
    made = incrowd.plan(survey, earlier=[thousand.asked])
    ledger = Ledger().with_plan(thousand, 1000).with_plan(made, 2000)
    spending = spent(ledger)
    assert (spending.done, spending.left) == (1, 1)
    bits = [(q, 1) for q in qs_of(thousand, made)]
    assert (
        worst_delta(bits, 700, spending.epsilon)
        <= 1e-6
        < worst_delta(bits, 700, 0.95 * spending.epsilon)
    )
    assert worst_delta(bits, 1000, 0.95 * spending.epsilon) < 1e-6
    few = Ledger().with_plan(thousand, 1000).with_plan(made, 900)  # 600 without those who collude
    assert spent(few).left == 0


def test_where_nobody_hides_only_the_local_guarantee_is_left(first, path):
    incrowd.note(path, first, of_people(first, 1))
    asked = Ledger.load(path).asked
    with pytest.raises(PrivacyError, match="a crowd of 1 hides nobody"):
        incrowd.plan(one_bit("second", 3.0), earlier=asked)
    local = one_bit("second", 9.0, privacy={"analysis": "local"})
    made = incrowd.plan(local, earlier=asked)
    assert incrowd.verify(made).plan_holds
    both = sum(2 * math.atanh(1 - 2 * q) for q in qs_of(first, made))  # ln(p / q) each
    assert made.guarantee.local_epsilon == pytest.approx(both) and both <= 9.0


@pytest.mark.slow
def test_rounds_with_one_digest_and_other_noise_are_charged_each():
    """A digest of an earlier round is only a text. Wrong: all with the noise of the first."""
    quiet, loud = (incrowd.plan(one_bit("x", each, crowd=400)) for each in (0.2, 2.0))
    forged = loud.asked.model_copy(update={"digest": quiet.digest})
    last = incrowd.plan(one_bit("last", 2.5, crowd=400), earlier=[quiet.asked, quiet.asked])
    for earlier in ([quiet.asked, forged], [forged, quiet.asked]):
        edited = last.model_copy(update={"earlier": tuple(earlier)})
        edited = incrowd.Plan.loads(edited.dumps())
        bits = [(q, 1) for q in qs_of(quiet, loud, last)]
        truth = worst_delta(bits, 400, 2.5)
        assert truth > 1e-6 and recertify(edited).delta.upper >= truth
        assert not incrowd.verify(edited).plan_holds
    honest = incrowd.plan(one_bit("last", 2.5, crowd=400), earlier=[quiet.asked, loud.asked])
    again = incrowd.plan(one_bit("last", 2.5, crowd=400), earlier=[quiet.asked, forged])
    assert again.messages == honest.messages
    weekly = incrowd.plan(one_bit("weekly", 2.0, rounds=2))
    assert len(rounds_before([weekly.asked, quiet.asked, weekly.asked])) == 2  # one plan, twice


# --- the file ------------------------------------------------------------------------------------


def leaves(data, place=()):
    """Where every value of some JSON stands."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, dict | list) and value:
            yield from leaves(value, (*place, key))
        else:
            yield (*place, key)


def edited(data, place, value):
    found = json.loads(json.dumps(data))
    *way, last = place
    inner = found
    for key in way:
        inner = inner[key]
    inner[last] = value
    return found


@pytest.fixture(scope="module")
def rappor(tmp_path_factory):
    """A ledger with a question whose device the survey fixes."""
    device = {"kind": "rappor", "f": 0.5}
    made = incrowd.plan(one_bit("devices", 5.0, question={"randomizer": device}))
    path = tmp_path_factory.mktemp("rappor") / "ledger.json"
    incrowd.new_ledger(path)
    incrowd.note(path, made, of_people(made, 300))
    return json.loads(path.read_text())


def test_what_was_edited_is_refused(rappor, tmp_path):
    """Every single value. On the way the edit that halves what an earlier round told."""
    asked = rappor["asked"][0]
    assert asked["survey"]["question"][0]["randomizer"]["f"] == 0.5
    places = list(leaves(rappor))
    assert ("asked", 0, "survey", "question", 0, "randomizer", "f") in places
    assert len(places) > 15
    for place in places:
        for value in (0.99, 5000, "x", None):
            data = edited(rappor, place, value)
            if data == rappor:
                continue
            with pytest.raises(PlanError):
                Ledger.loads(json.dumps(data))
    assert Ledger.loads(json.dumps(rappor)).asked[0].crowd == 300


def test_ledgers_of_another_format_are_refused(rappor):
    for digest in ({}, {"digest": rappor["digest"]}):
        old = {"format": "incrowd ledger 2", "asked": rappor["asked"]} | digest
        with pytest.raises(PlanFileError, match=r"its format is not supported.*--new"):
            Ledger.loads(json.dumps(old), "old.json")


def test_a_digest_of_other_text_is_another_digest(rappor):
    """In ASCII, with Python's floats: only canonical JSON is the same in every language."""
    content = {key: value for key, value in rappor.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    old = content | {"digest": hashlib.sha256(text.encode()).hexdigest()}
    assert old["digest"] != rappor["digest"]
    with pytest.raises(PlanError, match="edited"):
        Ledger.loads(json.dumps(old))
    with pytest.raises(PlanError, match="edited"):
        Ledger.loads(json.dumps(old | {"collections": ["0" * 32]}))


@pytest.mark.slow
def test_reports_are_noted_once_also_by_their_tally(path):
    """Of a plan of several rounds, the next of which has reports of its own."""
    weekly = incrowd.plan(one_bit("weekly", 0.5, rounds=3))
    monday, tuesday = of_people(weekly, 5000), of_people(weekly, 5000)
    incrowd.note(path, weekly, monday)
    before = path.read_text()
    for again in (monday, incrowd.count(weekly, monday), [*tuesday, *monday]):
        with pytest.raises(ReportsError, match=f"got '{monday[0].id}'; they are in the ledger"):
            incrowd.note(path, weekly, again)
    assert path.read_text() == before
    noted = incrowd.note(path, weekly, tuesday)
    assert noted.collections == (monday[0].id, tuesday[0].id) and len(noted.asked) == 2
    assert Ledger.load(path) == noted


def test_a_ledger_without_names_of_reports_is_read(first, path):
    """As all were before, and as one is of which nobody counted who came."""
    assert "collections" not in incrowd.note(path, first, as_planned=True).dumps()
    assert Ledger.load(path).collections == ()


@pytest.mark.parametrize(
    "place, value",
    [
        (("asked", 0, "collected"), {"people": [300, 300]}),  # of one message
        (("asked", 0, "collected"), {"tail": 1.0}),
        (("asked", 0, "messages", 0, "questions"), ["unknown"]),
        (("asked", 0, "messages", 0, "questions"), [["a"]]),
        (("asked", 0, "messages", 0, "questions"), ["a", "a"]),
        (("asked", 0, "messages", 0, "copies"), 2**52),
        (("asked", 0, "messages"), []),
        (("asked", 0, "digest"), ["a"]),
        (("asked", 0, "crowd"), 2**52),
        (("asked", 0, "crowd"), 5001),  # more than the survey counted on
        (("asked", 0, "crowd"), -5),
        (("asked", 0), 7),
        (("asked",), {}),
        (("asked",), 7),
        (("asked", 0, "survey"), None),
        (("format",), ["incrowd ledger 9"]),
    ],
)
def test_files_have_to_be_possible(rappor, place, value):
    """Also where the digest fits."""
    content = edited({k: v for k, v in rappor.items() if k != "digest"}, place, value)
    with pytest.raises(PlanFileError, match="ledger"):
        Ledger.loads(json.dumps(sealed(content)))


@pytest.mark.parametrize(
    "text", ["", "7", "[]", "null", "{}", "[" * 10**6, '{"a":' * 10**6, "NaN", "1" * 5000]
)
def test_what_is_no_ledger_is_refused(text):
    with pytest.raises(PlanFileError, match="is not a ledger"):
        Ledger.loads(text)
    with pytest.raises(PlanFileError, match="is not a plan"):
        incrowd.Plan.loads(text)


def test_a_plan_with_a_message_of_unknown_questions_is_refused(first):
    """Where the planner grouped them, so that no list of the survey tells."""
    made = incrowd.plan(one_bit("x", 2.0, reports_per_person=3))
    data = json.loads(made.dumps())
    for questions in (["b"], ["a", "a"], [["a"]], [2**63], []):
        more = {"questions": questions, "noise_numerator": 2**30, "copies": 1, "cells": False}
        data["plan"]["messages"] = [*made.content["messages"], more]
        with pytest.raises(PlanError):
            incrowd.Plan.loads(json.dumps(data))
    earlier = json.loads(json.dumps(first.asked.model_dump(mode="json", by_alias=True)))
    earlier["messages"][0]["questions"] = ["unknown"]
    data = json.loads(made.dumps())
    data["plan"]["earlier"] = [earlier]
    with pytest.raises(PlanError):
        incrowd.Plan.loads(json.dumps(data))


# --- the commands --------------------------------------------------------------------------------


SURVEY = (
    'name = "x"\ncrowd = 500\n[privacy]\nepsilon = 1.0\n[[question]]\nid = "a"\ntype = "yesno"\n'
)


@pytest.mark.slow
@pytest.mark.filterwarnings("always::incrowd.errors.IncrowdWarning")
def test_the_commands_keep_a_ledger_and_refuse_its_misuse(tmp_path, first, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SURVEY)
    (tmp_path / "plan.json").write_text(first.dumps())
    with pytest.warns(IncrowdWarning, match="300 people are randomized"):
        incrowd.save_reports(of_people(first, 300), tmp_path / "r.parquet")

    def said(*arguments, code):
        monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capfd.readouterr()
        assert (ended.value.code or 0) == code, shown.err
        assert "fault" not in shown.err
        return shown.out if "--json" in arguments else shown.err + shown.out

    assert "ledger --new" in said("plan", "s.toml", "--ledger", "typo.json", code=2)
    assert "ledger --new" in said("ledger", "typo.json", "plan.json", "r.parquet", code=2)
    assert "ledger --new" in said("ledger", "typo.json", code=2)
    assert "no survey has been recorded" in said("ledger", "--new", "l.json", code=0)
    assert "exists" in said("ledger", "--new", "l.json", code=2)
    assert "leave out the plan" in said("ledger", "--new", "m.json", "plan.json", code=2)
    assert "--as-planned" in said("ledger", "l.json", "plan.json", code=2)
    assert "name the plan" in said("ledger", "l.json", "--as-planned", code=2)
    said("tally", "plan.json", "r.parquet", "-o", "t.json", code=0)
    assert "occur twice" in said("ledger", "l.json", "plan.json", "r.parquet", "t.json", code=2)
    assert "300 people of the 5,000 planned" in said(
        "ledger", "l.json", "plan.json", "t.json", code=0
    )
    assert "already" in said("ledger", "l.json", "plan.json", "r.parquet", code=1)
    facts = json.loads(said("ledger", "l.json", "--json", code=0))["asked"]
    assert [(f["crowd"], f["planned"], f["counted"]) for f in facts] == [(300, 5000, True)]
    assert "epsilon spent so far" in said("ledger", "l.json", code=0)
    assert json.loads(said("ledger", "l.json", "--json", code=0))["spent"]["delta"] == 1e-6
    assert "have spent epsilon" in said("plan", "s.toml", "--ledger", "l.json", code=2)
    said("ledger", "--new", "n.json", code=0)
    assert "5,000 people as planned, not counted" in said(
        "ledger", "n.json", "plan.json", "--as-planned", code=0
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["s.toml", "plan.json", "r.parquet", "l.json", "t.json", "n.json"]
    )
