"""What is said of plans and ledgers, and of surveys that no plan keeps."""

import json
from unittest import mock

import incrowd
from incrowd.estimation.readings import check_tables
from incrowd.guarantees.rounds import check_left
from incrowd.planner.plan import make_plan
from incrowd.plans.digests import sealed
from incrowd.plans.ledger import Ledger
from incrowd.plans.plan import Collected
from tests.messages.shared import YESNO, asked, file, made, options, plan_of, survey

BLANKET = {"epsilon": 1.0, "delta": 1e-6, "analysis": "blanket"}
MEMOIZED = {"kind": "rappor", "f": 0.5, "memoized": True}
LOOSE = {"epsilon": 2.0, "delta": 1e-4}
NOISE = {"epsilon": 2.0, "delta": 1e-5, "noise": "services"}
SEVERAL = {"id": "m", "type": "multi", "options": ["x", "y", "z"], "at_most": 2}


def plan(*questions, **changed):
    return lambda _: incrowd.plan(survey(*questions, **changed))


def edited(change, seal=True):
    """A plan file that was changed; seal: with the digest of what it says now."""

    def call(_):
        data = json.loads(asked().dumps())
        change(data["plan"])
        if seal:
            data["digest"] = incrowd.Plan.model_validate(data["plan"]).digest
        return incrowd.Plan.loads(json.dumps(data))

    return call


def by_law(law, **changed):
    """A plan file in which a message has another law of the noise from services."""

    def call(_):
        data = json.loads(incrowd.plan(survey(privacy=NOISE)).dumps())
        data["plan"]["messages"][0].update(added=law, **changed)
        return incrowd.Plan.loads(json.dumps(data))

    return call


def worst(**changed):
    """Change the worst pair of the guarantee."""
    return lambda plan: plan["guarantee"]["worst"][0].update(changed)


def held(**changed):
    """Change what the others hold in the worst collection."""
    return worst(others=[{"record": "1", "people": 1} | changed])


def forged(plan, **guarantee):
    """A plan with another promise, which nobody kept from being written."""
    promise = plan.guarantee.model_copy(update=guarantee)
    return plan.model_copy(update={"guarantee": promise})


def ledger(change):
    """A ledger file that was changed, with the digest of what it says now."""

    def call(_):
        data = json.loads(Ledger().with_plan(asked(), None).dumps())
        del data["digest"]
        change(data)
        return Ledger.loads(json.dumps(sealed(data)))

    return call


def noted(plan, people=1000):
    return Ledger().with_plan(asked(), people).with_plan(plan, None)


def after(people, **changed):
    """A plan for people who were asked before, of whom so many came."""
    return lambda _: make_plan(survey(crowd=1000, **changed), earlier=[asked().asked_of(people)])


def used_up(_):
    """A survey with the guarantee that an earlier round has used up."""
    first = incrowd.plan(survey(crowd=1000, privacy=BLANKET))
    make_plan(survey(crowd=1000, privacy=BLANKET), earlier=[first.asked])


def among_colluding(_):
    """People who collude may have been in an earlier round with a shuffler."""
    first = incrowd.plan(survey(crowd=1000, privacy=BLANKET))
    make_plan(survey(crowd=1000, privacy=BLANKET, colluding=800), earlier=[first.asked])


def other_survey(_):
    covered = asked().asked.model_copy(update={"survey": survey(crowd=1000, name="B")})
    noted(plan_of("bits").model_copy(update={"earlier": (covered,)}))


def never(_):
    """An error that no plan reaches, although the limit does."""
    with mock.patch("incrowd.planner.solving.plan_error", lambda _: 0.5):
        incrowd.solve(survey(), "crowd", error=0.01)


def asked_by(**question):
    return lambda data: data["messages"][0].update(**question)


def rounds(planned, *people):
    """A ledger in which a plan of several rounds was noted, and the plan."""
    plan, known = incrowd.plan(survey(rounds=planned, privacy=LOOSE)), Ledger()
    for came in people:
        known = known.with_plan(plan, came)
    return known, plan


def uncovered(noted, **question):
    """A plan that takes it that two rounds were as planned is noted after they were otherwise."""

    def call(_):
        first = incrowd.plan(survey(YESNO | question, rounds=2, privacy=LOOSE))
        later = plan_of("bits").model_copy(update={"earlier": (first.asked, first.asked)})
        Ledger(asked=(first.asked, noted(first))).with_plan(later, None)

    return call


CASES = {
    "guarantee: a language without texts": lambda _: incrowd.guarantee_sentence(
        made().guarantee, language="fr"
    ),
    "a number for a path": lambda _: incrowd.Plan.load(3),
    "no plan file": lambda folder: incrowd.Plan.load(folder / "plan.json"),
    "a plan that is no text": lambda folder: incrowd.Plan.load(file(folder, "p.json", b"\xff")),
    "a plan of something else": lambda _: incrowd.Plan.loads("{}"),
    "a plan that is nested": lambda _: incrowd.Plan.loads("[" * 100_000),
    "a plan of another format": edited(lambda p: p.update(format="incrowd plan 9"), seal=False),
    "a plan with another digest": edited(lambda p: p["survey"].update(name="B"), seal=False),
    "a plan with another survey": edited(lambda p: p["survey"].update(colluding=999), seal=False),
    "a plan with another epsilon": edited(lambda p: p["guarantee"].update(epsilon=1.0), seal=False),
    "a plan with a word for a number": edited(
        lambda p: p["guarantee"].update(epsilon="one"), seal=False
    ),
    "a plan with fewer than no places": edited(worst(x=-1), seal=False),
    "a plan with a record that is no bits": edited(held(record="2"), seal=False),
    "a plan with a record of fewer than nobody": edited(held(people=-1), seal=False),
    "a plan with a message of another question": edited(asked_by(questions=["b"]), seal=False),
    "a plan with more copies": edited(asked_by(copies=2), seal=False),
    "a plan with an earlier round of another survey": edited(
        lambda p: (
            p.update(earlier=[asked().asked.model_dump(mode="json", by_alias=True)])
            or p["earlier"][0]["survey"].update(copies=2)
        ),
        seal=False,
    ),
    "a plan with more people in an earlier round": edited(
        lambda p: (
            p.update(earlier=[asked().asked.model_dump(mode="json", by_alias=True)])
            or p["earlier"][0].update(crowd=2000)
        ),
        seal=False,
    ),
    "reports that are in a ledger": lambda _: (
        rounds(3)[0].with_plan(rounds(3)[1], 100, ["r"]).with_plan(rounds(3)[1], 100, ["r"])
    ),
    "no ledger file": lambda folder: Ledger.load(folder / "ledger.json"),
    "a ledger that is no text": lambda folder: Ledger.load(file(folder, "l.json", b"\xff")),
    "a ledger of something else": lambda _: Ledger.loads("{}"),
    "a ledger of another format": lambda _: Ledger.loads('{"format": "incrowd ledger 9"}'),
    "a ledger with another digest": lambda _: Ledger.loads(
        Ledger().dumps().replace('"digest": "', '"digest": "0')
    ),
    "a ledger with a word for a number": ledger(lambda d: d["asked"][0].update(crowd="all")),
    "a ledger with an impossible survey": ledger(
        lambda d: d["asked"][0]["survey"].update(colluding=999)
    ),
    "a ledger that counts another number of messages": ledger(
        lambda d: d["asked"][0].update(collected={"people": [1, 1]})
    ),
    "a plan that is noted twice": lambda _: noted(asked()),
    "a round too many": lambda _: rounds(2, 100, 100, 100),
    "a round after one of few people": lambda _: check_left(*rounds(3, 5)),
    "a plan that does not cover the ledger": lambda _: noted(made()),
    "a plan that counts on more people": uncovered(lambda plan: plan.asked_of(50)),
    "a plan that counts on a shuffler": uncovered(
        lambda plan: plan.asked_of(100, Collected(local_only=True))
    ),
    "a plan that counts no redraws": uncovered(
        lambda plan: plan.asked_of(100, Collected(tail=1e-9))
    ),
    "a plan that counts on the same people": uncovered(
        lambda plan: plan.asked_of(100, Collected(people=(99,))), memoized=True
    ),
    "a plan that covers another survey": other_survey,
    "an analysis that plans nothing": plan(privacy={"epsilon": 1.0, "analysis": "exact"}),
    "an analysis that is none": plan(privacy={"epsilon": 1.0, "analysis": "guess"}),
    "earlier rounds that have spent everything": after(900, privacy=BLANKET | {"epsilon": 0.01}),
    "earlier rounds that have spent nearly everything": used_up,
    "earlier rounds to which nobody came": after(1, privacy=BLANKET),
    "earlier rounds in which many may collude": among_colluding,
    "a budget too small": plan(
        YESNO, options(1001), reports_per_person=1, privacy=BLANKET, crowd=10**6
    ),
    "a promise that no messages keep": plan(
        *[YESNO | {"id": f"q{n}"} for n in range(8)],
        reports_per_person=2,
        privacy={"epsilon": 1e-9, "delta": 1e-300, "analysis": "blanket"},
    ),
    "an upload too small": plan(upload_bytes=60, privacy=BLANKET, crowd=10**4),
    "a local epsilon without a shuffler": plan(
        YESNO, privacy={"epsilon": 2.0, "analysis": "local", "local_epsilon": 1.0}
    ),
    "a local epsilon that a device breaks": plan(
        YESNO | {"randomizer": {"kind": "bit flip", "noise": 0.3}},
        YESNO | {"id": "b"},
        privacy=BLANKET | {"local_epsilon": 0.5},
        crowd=10**4,
    ),
    "a promise that a device breaks": plan(
        YESNO | {"randomizer": {"kind": "bit flip", "noise": 0.01}},
        YESNO | {"id": "b"},
        privacy=BLANKET,
    ),
    "a device that gives an answer away": plan(
        YESNO | {"randomizer": {"kind": "bit", "one_if_zero": 0.0, "one_if_one": 0.5}}
    ),
    "a plan by an unknown analysis": lambda _: incrowd.verify(forged(asked(), analysis="guess")),
    "a plan with another delta": lambda _: incrowd.verify(forged(asked(), delta=0.1)),
    "a plan that is not proved": lambda _: incrowd.verify(forged(asked(), proved=False)),
    "an unknown thing to solve for": lambda _: incrowd.solve(survey(), "noise", error=0.01),
    "an error of two": lambda _: incrowd.solve(survey(), "crowd", error=2.0),
    "an error that no epsilon reaches": lambda _: incrowd.solve(survey(), "epsilon", error=1e-6),
    "a margin that no crowd reaches": lambda _: incrowd.solve(survey(), "crowd", margin=2e-9),
    "neither an error nor a margin": lambda _: incrowd.solve(survey(), "crowd"),
    "an error and a margin": lambda _: incrowd.solve(survey(), "crowd", error=0.1, margin=0.2),
    "an error that no crowd reaches": lambda _: incrowd.solve(survey(), "crowd", error=1e-9),
    "an error that is never met": never,
    "a delta that is too small for copies": lambda _: incrowd.plan(
        survey(copies=2, privacy={"epsilon": 1.0, "delta": 1e-16})
    ),
    "a delta that is too small for any error": lambda _: incrowd.solve(
        survey(copies=2, privacy={"epsilon": 1.0, "delta": 1e-16}), "epsilon", error=0.05
    ),
    "a table in no message": lambda _: check_tables(made("messages"), [["a", "b"]]),
    "a table of an unknown question": lambda _: check_tables(made(), [["z"]]),
    "a table of a question twice": lambda _: check_tables(made(), [["a", "a"]]),
    "a table of text and another": lambda _: check_tables(made("text"), [["t", "a"]]),
    "a table too large": lambda _: check_tables(
        incrowd.plan(survey(*[options(300, id=f"c{n}") for n in range(3)])),
        [["c0", "c1", "c2"]],
    ),
    "a table that is in no cells, with noise from services": plan(
        SEVERAL, SEVERAL | {"id": "n"}, privacy=NOISE, table=[{"questions": ["m", "n"]}]
    ),
    "more options than reports, with noise from services": plan(
        SEVERAL, privacy=NOISE, reports_per_person=1
    ),
    "a law that is none": by_law(["1", "2"]),
    "noise of both kinds": by_law(["18446744073709551616"], noise_numerator=1 << 20),
}
