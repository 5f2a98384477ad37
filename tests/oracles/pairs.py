"""Twenty-two features, and for every two of them how they meet: the data behind docs/pairs.md.

`PAIRS` has a case for each of the 231 pairs. A scenario is a survey with both features, sent with
known noise and carried out; `meeting` has the observers' sight of it and what is promised.
`python -m tests.oracles.pairs` writes the table of the manual.
"""

import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

import incrowd
from incrowd import DeviceKey
from incrowd.accountant import AdditiveNoise
from incrowd.accountant.analyses import analysis
from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.collection.mixer.init import make_bundle
from incrowd.errors import IncrowdError, PlanError, ProtocolError, UsageError
from incrowd.estimation.receipts import Received
from incrowd.guarantees.certified import planned
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import against
from incrowd.guarantees.rounds import spent
from incrowd.plans import CellsMessage, JointReport, Plan
from incrowd.plans.grouping import default_groups, grouping
from incrowd.plans.ledger import Ledger
from incrowd.plans.slots import HEADER_BYTES, shared, slots_of, tail
from incrowd.plans.strata import releases
from tests.oracles.observers import Round, Sight, answers
from tests.oracles.releases import stated_release
from tests.oracles.shuffler import CODE, Shuffler, device, said
from tests.oracles.terms import stated

FEATURES = (
    "open", "memoized", "rounds", "rows", "colluding", "ledger", "contradicted", "withdrawn",
    "local_only", "outlier", "copies", "cells", "parities", "explore", "weights", "optional",
    "multi", "amount", "text", "own randomizer", "services",
    "condition",
)  # fmt: skip

# --- surveys -------------------------------------------------------------------------------------

TYPES = {
    "multi": {"type": "multi", "options": ["u", "v"], "at_most": 1},
    "amount": {"type": "amount", "edges": [0, 10]},
    "text": {"type": "text", "block": 2, "cohorts": 2},
}
OF_MESSAGES = ("services", "parities", "cells", "copies", "memoized")
OF_QUESTIONS = ("multi", "amount", "text", "own randomizer", "optional", "condition")
ONE_BIT = {"kind": "bit", "one_if_zero": 0.125, "one_if_one": 0.75}
FLIP = {"kind": "bit flip", "noise": 0.1875}
K_ARY = {"kind": "k-ary", "keep": 0.6875}
TWO_STAGES = {"kind": "rappor", "f": 0.375, "one_if_zero": 0.015625, "one_if_one": 0.984375}

# Two features that no message has together; they then meet in two messages of one survey.
APART = {
    frozenset(pair)
    for one, others in {
        "services": ("cells",),
        "cells": ("text", "own randomizer", "copies"),
        "parities": ("text", "own randomizer", "copies", "optional", "multi", "cells", "condition"),
        "memoized": ("amount", "text", "copies"),
    }.items()
    for pair in ((one, other) for other in others)
}


def messages_of(features):
    """The features of each message: each is added to the first message that can have it."""
    several = []
    for feature in (*OF_MESSAGES, *OF_QUESTIONS):
        if feature in features:
            able = (m for m in several if not any({feature, f} in APART for f in m))
            first = next(able, None)
            if first is None:
                several.append([feature])
            else:
                first.append(feature)
    return several or [[]]


def questions_of(number, features, survey):
    """The questions of a message. survey: the features of the whole survey."""
    kinds = [TYPES[kind] for kind in TYPES if kind in features] or [{"type": "yesno"}]
    if "parities" in features:
        kinds = [*kinds, {"type": "yesno"}]
    questions = [{"id": f"q{number}{i}"} | kind for i, kind in enumerate(kinds)]
    if "optional" in features:
        questions[0]["optional"] = True
    if "condition" in features:
        questions[0]["asked_if"] = f"{filter_of(number, survey)} = yes"
    if "own randomizer" in features:
        questions[0]["randomizer"] = randomizer(features, survey)
    if "memoized" in features:
        for question in questions:
            if "randomizer" not in question:
                question["memoized"] = True
    return questions


def filter_of(number, survey):
    """The question that decides whether the first one of a message is asked.

    It is the weight, a question of the message before, or a question more.
    """
    if "weights" in survey:
        return "weight"
    return f"q{number - 1}1" if number else "filter"


def randomizer(features, survey):
    """A randomizer that a question with these features can have."""
    if "memoized" in features:
        return TWO_STAGES | {"memoized": True}
    if "text" in features or "outlier" in survey:
        return FLIP
    one_of_three = features & {"optional", "condition"} and not features & TYPES.keys()
    return K_ARY if one_of_three else ONE_BIT


def survey_of(features, honest=3, delta=0.9, name="now", epsilon=1.0):
    """The text of a survey with some features, as a mapping."""
    questions, groups = asked_together(features)
    raw = {"name": name, "privacy": {"epsilon": epsilon, "delta": delta}, "question": questions}
    if "explore" in features:
        raw["explore"] = 0.25
    elif {"cells", "parities", "copies", "services"} & {*features}:
        raw["message"] = groups
    if "services" in features:
        raw["privacy"] |= {"noise": "services"}
    if "outlier" in features:
        raw["privacy"] |= {"analysis": "outlier"}
    if "local" in features:
        raw["privacy"] |= {"analysis": "local", "epsilon": 30.0}
    if "open" in features:
        where = {"id": "where", "type": "yesno", "open": True}
        if "optional" in features:
            where |= {"optional": True}
            raw["small_strata"] = "merge"
        raw["question"] = [where, *questions]
    rows, colluding = 1 + ("rows" in features), int("colluding" in features)
    raw |= {"weights": ["weight"]} if "weights" in features else {}
    raw |= {"rounds": 2} if "rounds" in features else {}
    counted = {"crowd": (honest + colluding) * rows, "colluding": colluding}
    if "services" in features:
        counted |= {"least": 2}
    return raw | counted | {"rows_per_person": rows}


def asked_together(features):
    """The questions of a survey, and the messages that they are sent in."""
    several = [(questions_of(n, {*f}, features), f) for n, f in enumerate(messages_of(features))]
    first, some = several[0]
    if "weights" in features:  # of parities, in the place of the second question
        weight = {"id": "weight", "type": "yesno"}
        first[1:] = [*first[1 + ("parities" in some) :], weight]
    if "condition" in some:
        several = [*filtered(first, some), *several[1:]]
    groups = []
    for questions, some in several:
        ids = [question["id"] for question in questions]
        cells = {"cells": True} if {"cells", "parities", "services"} & {*some} else {}
        copies = {"copies": 2} if "copies" in some else {}
        groups.append({"questions": ids} | cells | copies)
        if "parities" in some:
            groups[-1] |= {"parities": True}
            groups += [{"questions": [id], "cells": True} for id in ids]
    return [question for questions, _ in several for question in questions], groups


def filtered(questions, features):
    """A message after its filter, which has a message of its own where tables are sent."""
    if questions[-1]["id"] == "weight":
        return [(questions[::-1], features)]
    memoized = {"memoized": True} if "memoized" in features else {}
    deciding = {"id": "filter", "type": "yesno"} | memoized
    if {"cells", "services"} & {*features}:
        return [([deciding], ["cells"]), (questions, features)]
    return [([deciding, *questions], features)]


# --- plans ---------------------------------------------------------------------------------------

NOISE = 0.1875  # of each bit, unless the planner has to choose the messages
QUIET = 0.125  # of a single cell
ADDED = AdditiveNoise.of([2.0, 1.0])  # by each service to a cell: -1, 0, or 1 person


def messages(survey):
    """The messages that a survey fixes, with known noise."""
    for group in grouping(survey) or default_groups(survey):
        questions = tuple(map(survey.question, group.questions))
        if group.cells and survey.privacy.noise == "services":
            yield CellsMessage(questions=questions, added=ADDED)
        elif group.cells:
            noise = round((NOISE if group.parities else QUIET) * DENOMINATOR)
            yield CellsMessage(questions=questions, noise_numerator=noise, parities=group.parities)
        else:
            fixed = all(question.randomizer for question in questions)
            noise = None if fixed else round(NOISE * DENOMINATOR)
            yield JointReport(questions=questions, copies=group.copies, noise_numerator=noise)


def plan_of(raw, earlier=()):
    """A plan that promises what its noise gives, to six digits."""
    survey = incrowd.Survey.of(raw)
    if survey.explore or (survey.weights and not survey.messages):
        raw = raw | {"privacy": raw["privacy"] | {"delta": 0.3, "epsilon": 1.5}}
        return incrowd.plan(incrowd.Survey.of(raw), earlier=earlier)
    sent = tuple(messages(survey))
    delta = planned(survey, sent, earlier).certified_delta
    close = min(max(delta * (1 + 1e-6), 1e-9), 1 - 1e-9)
    survey = incrowd.Survey.of(raw | {"privacy": raw["privacy"] | {"delta": close}})
    sent = tuple(messages(survey))
    guarantee = planned(survey, sent, earlier)
    return Plan(survey=survey, messages=sent, guarantee=guarantee, earlier=tuple(earlier))


# --- how they are carried out --------------------------------------------------------------------

COLLUDER = 100  # the number of the first person who colludes
OVER_A_NETWORK = {"contradicted", "withdrawn", "local_only"}
NAMES_SEEN = {"contradicted", "local_only", "local"}
MANY_ANSWERS = {"optional", "condition", "text", "multi", "parities", "cells", "own randomizer"}
MOST_REDRAWN = 0.03  # the chance that one person's reports do not fit, in the smallest uploads


def honest_people(features):
    """So few that all crowds can be tried; one more than two if one of them withdraws."""
    small = {"open", "explore", "weights"} | ({"rows"} if features & MANY_ANSWERS else set())
    small |= {"text"} if features & {"optional", "multi", "condition"} else set()
    small |= {"copies", "rounds"} if "condition" in features else set()
    return 2 if features & small and "withdrawn" not in features else 3


def days(survey, rounds, colluding=None, joining=0):
    """Ways in which people can be in strata, as the stratum of each person in each round.

    Person 0 stays in her stratum, or moves to another one, or is in a small one that is merged.
    colluding: how many people of this collection work with the analyst. joining: how many people
    take part in the last round only.
    """
    colluding = survey.colluding if colluding is None else colluding
    whole = survey.crowd // survey.rows_per_person
    honest, colluders = whole - colluding, range(COLLUDER, COLLUDER + colluding)
    everybody = dict.fromkeys(range(honest), 0) | dict.fromkeys(colluders, 0)
    if not survey.open:
        more = dict.fromkeys(range(honest, honest + joining), 0)
        return [[everybody] * (rounds - 1) + [everybody | more]]
    others = dict.fromkeys(range(honest, honest + whole), 1)
    ways = [[everybody | others] * rounds]
    if survey.small_strata == "merge":
        few = {0: 1} | dict.fromkeys(range(1, honest), 2) | dict.fromkeys(colluders, 1)
        ways.append([few | dict.fromkeys(range(honest, honest + whole), 0)] * rounds)
    if survey.rows_per_person == 2:
        apart = dict.fromkeys((0, honest), (0, 1)) | dict.fromkeys(range(1, honest), 0)
        rest = dict.fromkeys(range(honest + 1, honest + whole), 1)
        ways.append([apart | rest | dict.fromkeys(colluders, 0)] * rounds)
    if rounds > 1:
        first = everybody | others | {honest + whole: 0}
        ways.append([first, *[first | {0: 1}] * (rounds - 1)])
    return ways


def rows_of(where, survey):
    """The person and the stratum of each row; she may have rows in several strata."""
    for person, stratum in where.items():
        several = [stratum] * survey.rows_per_person if isinstance(stratum, int) else stratum
        yield from ((person, each) for each in several)


def round_of(plan, where, **changes):
    """One round, with the releases that the survey's rule makes of the strata of people."""
    survey, rows = plan.survey, list(rows_of(where, plan.survey))
    sizes = Counter(stratum for _, stratum in rows)
    groups = releases(sizes, plan.least, survey.small_strata) if survey.open else [(0,)]
    together = (tuple(p for p, s in rows if s in group and p < COLLUDER) for group in groups)
    return Round(plan, tuple(together), **changes)


def draws(plan):
    """How many different draws of one person's answers leave a real device.

    Her upload is refused, sent again, stored, and withdrawn; and then she answers once more.
    """
    survey = plan.survey
    texts = {question.id: "?" for question in survey.questions}
    times = {"opens": "2026-01-01T00:00:00Z", "closes": "2100-01-01T00:00:00Z"}
    terms = stated(questions=texts, **times, disposes="2100-01-02T00:00:00Z")
    shuffler = Shuffler(make_bundle(plan, terms).bundle)
    shuffler.faults = ["", said("sealed")]  # the bundle is sent, the first upload is refused
    given = {question.id: first_answer(question) for question in survey.questions}
    key = DeviceKey(bytes(32)) if plan.memoized else None
    with TemporaryDirectory() as folder:
        person = device(shuffler, folder, code=CODE)
        for act in ("send", "send", "withdraw", "send"):
            with suppress(ProtocolError, UsageError):
                if act == "withdraw":
                    person.withdraw()
                else:
                    person.send(given, device_key=key, keep=True)
    assert {"POST", "DELETE"} <= {request.method for request in shuffler.requests}
    return len({body[HEADER_BYTES:] for body in shuffler.bodies})


def first_answer(question):
    """The answer of people who give the first one to every question, and so are asked no more."""
    return None if question.asked_if else answers(question)[0]


def without_one(survey, ways):
    """The ways after one person withdrew; with open questions, one more than a release needs."""
    last = survey.crowd // survey.rows_per_person - survey.colluding - 1
    return [
        [{p: s for p, s in where.items() if survey.open or p != last} for where in way]
        for way in ways
    ]


def smallest_slots(plan, most=MOST_REDRAWN, pools=None):
    """Fewer slots than an upload has, and the chance that one person's reports do not fit.

    pools: of messages that share slots, by default those of one shuffler.
    """
    chosen = list(slots_of(plan.survey, plan.messages, pools))
    if plan.by_services:  # devices draw nothing, so that all of it fits
        return tuple(chosen), 0.0
    for pool, numbers in enumerate(pools or shared(plan.messages)):
        while any(plan.messages[n].cells for n in numbers) and chosen[pool] > 1:
            fewer = [*chosen[:pool], chosen[pool] - 1, *chosen[pool + 1 :]]
            if tail(plan, fewer, pools) > most:
                break
            chosen = fewer
    return tuple(chosen), tail(plan, chosen, pools)


# --- what is promised, and what is seen ----------------------------------------------------------

LINKING = {"shuffler and collector", "both mixers and collector"}


class View:
    """What an observer sees of everybody, in each way in which people can be in strata.

    linked: with the names of the senders.
    """

    def __init__(self, ways, linked=False):
        self.ways = [[each._replace(linked=each.linked or linked) for each in way] for way in ways]
        self.linked = linked

    @cached_property
    def sights(self):
        return [Sight(way, person) for way in self.ways for person in unlike(way)]

    def delta(self, epsilon):
        return max(sight.delta(epsilon) for sight in self.sights)


@dataclass(frozen=True)
class Promise:
    """What the program says of a view. proved: whether it says that this is a guarantee.

    uncovered: the questions, by their survey, that it says are open.
    """

    by: str
    epsilon: float
    delta: float
    view: View
    proved: bool = True
    uncovered: frozenset = frozenset()

    @classmethod
    def of(cls, by, guarantee, view, **changes):
        figures = {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
        figures |= {"proved": guarantee.proved} | changes
        return cls(by, view=view, uncovered=uncovered(guarantee.assumptions), **figures)

    def truth(self, epsilon=None):
        """The largest delta of what is seen of anybody who changes answers that are covered."""
        asked = [each.plan.survey for way in self.view.ways for each in way]
        if any((s.name, q.id) not in self.uncovered for s in asked for q in s.open):
            return 1.0  # who changes an open answer is counted in another stratum
        return self.view.delta(self.epsilon if epsilon is None else epsilon)

    def holds(self):
        return self.epsilon == math.inf or self.truth() <= self.delta * (1 + 1e-9) + 1e-12


def uncovered(assumptions):
    """The questions that assumptions say are open, with the names of their surveys."""
    told = [each for each in assumptions if each.code in ("open", "earlier-open")]
    now = {("now", id) for each in told for id in each.questions}
    asked = (asked for each in told for asked in each.asked)
    return frozenset(now | {(each.survey, id) for each in asked for id in each.questions})


def unlike(way):
    """One person for each way to be in the releases."""
    people = sorted({p for each in way for release in each.releases for p in release})
    return {tuple(each.release(p) for each in way): p for p in reversed(people)}.values()


def meeting(features):
    """The promises to people who are asked by a survey with these features."""
    features = frozenset(features)
    if "ledger" in features:
        rest = features - {"ledger"}
        people, plain = honest_people(features), frozenset()
        for asked in ((rest, rest), (rest, plain), (plain, rest)):
            yield from surveys(asked, (people, people))
        return
    plan = plan_of(survey_of(features, honest_people(features)))
    yield from promised(features, plan, [[]])
    if "rounds" in features and not {"explore", "weights"} & features:
        yield from rounds_left(features, honest_people(features))


def promised(features, plan, earlier):
    """The promises of a plan, before and after it was carried out.

    earlier: the rounds before, for each way in which people can be in strata.
    """
    survey = plan.survey
    ways = days(survey, survey.rounds)
    before = [[round_of(plan, where) for where in way] for way in ways]
    guarantee, proposed = plan.guarantee, View(both(earlier, before))
    yield Promise.of("plan", guarantee, proposed, delta=guarantee.certified_delta)
    places, chance = smallest_slots(plan) if features & OVER_A_NETWORK else (None, 0.0)
    if "withdrawn" in features:
        ways = without_one(survey, ways)
    after = [[round_of(plan, where, slots=places) for where in way] for way in ways]
    smallest = min(len(release) for way in after for each in way for release in each.releases)
    if over_a_network(features):
        reports, received = collected(plan, ways[0][0], features, "a release", chance)
        held = incrowd.verify(plan, reports, received=received).guarantee
    else:
        held = guarantee_of(plan, smallest + survey.colluding * survey.rows_per_person)
    local = not analysis(held.analysis).shuffled
    drawn = guarantee.proved and not plan.by_services  # devices draw alike by any analysis
    again = "withdrawn" in features and drawn
    uploads = draws(plan) if again else 1
    mixed = View(both(earlier, after), local)
    linked = View(both(earlier, [way * uploads for way in after]), linked=True)
    yield Promise.of("collection", held, mixed)
    for party, limit in against(held).afterwards.items():
        names = party in LINKING or (party == "shuffler" and not held.mixed_by)
        yield Promise.of(party, held, linked if names else mixed, **limit._asdict())


def over_a_network(features):
    return bool(features & OVER_A_NETWORK)


def both(earlier, ways):
    return [(*before, *way) for before in earlier for way in ways]


def surveys(asked, honest):
    """The promises of the last of several surveys of the same people, which covers all of them.

    asked: the features of each. honest: how many people hide each other in each. Whoever colludes
    with the analyst of the last one may have taken part in all others.
    """
    names = [f"survey {n}" for n in range(len(asked) - 1)] + ["now"]
    if all("memoized" in features for features in asked):  # the responses are the same
        names = ["now"] * len(asked)
    plans, ledger = [], Ledger()
    for features, people, name in zip(asked, honest, names, strict=True):
        if plans:
            ledger = noted(plans[-1], asked[len(plans) - 1], ledger)
        plans.append(plan_of(survey_of(features, people, name=name), ledger.asked))
    *before, last = plans
    yield from promised(asked[-1], last, rounds_of(before, asked, last.survey.colluding))
    done = View(rounds_of(before, asked, before[-1].survey.colluding))
    yield spent_promise(spent(ledger), before[-1].guarantee, done)
    with suppress(PlanError):  # unless fewer people took part in a first round than it relies on
        whole = spent(noted(last, asked[-1], ledger))
        everything = View(rounds_of(plans, asked, last.survey.colluding))
        yield spent_promise(whole, last.guarantee, everything)


def rounds_of(plans, asked, colluding):
    """The rounds of surveys that were carried out, in each way in which people can be in strata."""
    ways = [[]]
    for plan, features in zip(plans, asked, strict=False):
        where = carried_out(plan, features, max(plan.survey.colluding, colluding))
        about = {"linked": bool(features & NAMES_SEEN)}
        if over_a_network(features):
            about["slots"] = smallest_slots(plan)[0]
        ways = both(ways, [[round_of(plan, each, **about) for each in way] for way in where])
    return ways


def carried_out(plan, features, colluding=None):
    """Where people are in each round that was carried out."""
    ways = days(plan.survey, plan.survey.rounds, colluding, joining="joining" in features)
    return without_one(plan.survey, ways) if "withdrawn" in features else ways


def rounds_left(features, honest):
    """The promises of a plan of three rounds after the first one, if it covers some of the rest."""
    plan = plan_of(survey_of(features, honest) | {"rounds": 3})
    where = carried_out(plan, features)[0][0]
    about = {"linked": bool(features & NAMES_SEEN)}
    if over_a_network(features):
        about["slots"] = smallest_slots(plan)[0]
    used = spent(noted(plan, features, Ledger(), 1))
    done = round_of(plan, where, **about)
    yield spent_promise(used, plan.guarantee, View([[done]]))
    if used.left:
        more = used.left * [round_of(plan, where)]
        yield Promise.of("left", plan.guarantee, View([[done, *more]]))


def spent_promise(used, guarantee, view):
    """What a ledger says that its rounds have spent."""
    told = {"epsilon": used.epsilon, "delta": used.delta, "proved": guarantee.proved}
    return Promise("spent", view=view, uncovered=uncovered(used.assumptions), **told)


def noted(plan, features, ledger, rounds=None):
    """The ledger after rounds of a plan, by default all, as reports and receipts show them."""
    chance = smallest_slots(plan)[1] if over_a_network(features) else 0.0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.json"
        path.write_text(ledger.dumps())
        for number, where in enumerate(carried_out(plan, features)[0][:rounds]):
            reports, received = collected(plan, where, features, f"{plan.digest} {number}", chance)
            incrowd.note(path, plan, reports, received=received)
        return Ledger.load(path)


def people_in(reports, plan):
    message = plan.messages[reports.message]
    return reports.people or len(reports.packed) // message.copies


def collected(plan, where, features, name, chance):
    """Real reports, and the receipts of their release. chance: that they did not fit."""
    reports = randomized(plan, where)
    if not over_a_network(features):
        return reports, ()
    stated = {"local_only": "local_only" in features, "tail": chance}
    groups = list(dict.fromkeys(each.strata for each in reports))
    came = {
        strata: stated_release(
            f"{name} of {strata}",
            people=next(people_in(each, plan) for each in reports if each.strata == strata),
            strata=(number,),
            bundle=name,
            **stated,
        )
        for number, strata in enumerate(groups)
    }
    received = [
        replace(
            RECEIPT,
            bundle=each.claims.bundle,
            release=each.id,
            tail=chance,
            contradicted="contradicted" in features,
        )
        for each in came.values()
    ]
    sent = [
        replace(each, release=came[each.strata], id=came[each.strata].collection(each.message))
        for each in reports
    ]
    return sent, received


def randomized(plan, where):
    """Real reports of people who all give their first answer."""
    survey = plan.survey
    rows = len(where) * survey.rows_per_person
    columns = {q.id: [first_answer(q)] * rows for q in survey.randomized}
    strata = [stratum for stratum in where.values() for _ in range(survey.rows_per_person)]
    columns |= {q.id: [answers(q)[stratum] for stratum in strata] for q in survey.open}
    remembers = {"id": "id", "device_key": DeviceKey(bytes(32))} if plan.memoized else {}
    table = pa.table(columns | {"id": list(map(str, range(rows)))})
    return incrowd.randomize(plan, table, **remembers)


RECEIPT = Received(
    release="0" * 64,
    bundle="b",
    strata=("all",),
    people=3,
    issued=None,
    reports=3,
    rejected={},
    opened_people=3,
    crowded=(),
    places=1,
    tail=0.0,
    colluding=0,
    local_only=False,
)


# --- pairs that are refused ----------------------------------------------------------------------


def asked(*questions, crowd=10, analysis="shuffle", added=None, **keys):
    """A survey of questions a, b and so on."""
    named = [{"id": id} | question for id, question in zip("abc", questions, strict=False)]
    privacy = {"epsilon": 2.0, "delta": 0.1, "analysis": analysis} | (added or {})
    return {"name": "refused", "crowd": crowd, "privacy": privacy, "question": named} | keys


YES_NO = {"type": "yesno"}
MULTI, AMOUNT, TEXT = TYPES.values()
OWN = {"randomizer": ONE_BIT}
CELLS = [{"questions": ["a"], "cells": True}]
PARITIES = [{"questions": ["a", "b"], "cells": True, "parities": True}, *CELLS]
PARITIES = [*PARITIES, {"questions": ["b"], "cells": True}]
OPEN, MEMOIZED = {"open": True}, {"memoized": True}


@dataclass(frozen=True)
class Refusal:
    """A survey that has both features in one question, or one message, and is refused.

    field, part: of the message, which names the field and says why. network: whether the survey is
    refused only where people send over a network.
    """

    survey: dict
    field: str
    part: str
    network: bool = False


ROWS = Refusal(
    asked(YES_NO, rows_per_person=2), "rows_per_person", "a device sends one row", network=True
)
REFUSED = {("rows", other): ROWS for other in ("contradicted", "withdrawn", "local_only")} | {
    ("open", "memoized"): Refusal(
        asked(YES_NO | OPEN | MEMOIZED, YES_NO), "memoized", "an open question is not randomized"
    ),
    ("open", "cells"): Refusal(
        asked(YES_NO | OPEN, YES_NO, message=[{"questions": ["a", "b"], "cells": True}]),
        "message[1].cells",
        "'a' is open",
    ),
    ("open", "parities"): Refusal(
        asked(YES_NO | OPEN, YES_NO, message=PARITIES), "message[1].cells", "'a' is open"
    ),
    ("open", "copies"): Refusal(
        asked(YES_NO | OPEN, YES_NO, message=[{"questions": ["a", "b"], "copies": 2}]),
        "message[1].questions",
        "it is open, so it is sent in the clear and not in a message",
    ),
    ("open", "multi"): Refusal(asked(MULTI | OPEN, YES_NO), "open", "would be a separate crowd"),
    ("open", "amount"): Refusal(asked(AMOUNT | OPEN, YES_NO), "open", "only named answers"),
    ("open", "text"): Refusal(asked(TEXT | OPEN, YES_NO), "open", "be a crowd of one"),
    ("open", "own randomizer"): Refusal(
        asked(YES_NO | OPEN | OWN, YES_NO), "randomizer", "an open question is not randomized"
    ),
    ("memoized", "rows"): Refusal(
        asked(YES_NO | MEMOIZED, rows_per_person=2), "rows_per_person", "'a' is memoized"
    ),
    ("memoized", "copies"): Refusal(
        asked(YES_NO | MEMOIZED, copies=2), "copies", "all its copies would be the same"
    ),
    ("memoized", "amount"): Refusal(
        asked(AMOUNT | MEMOIZED), "memoized", "every round draws a new edge"
    ),
    ("memoized", "text"): Refusal(
        asked(TEXT | MEMOIZED), "memoized", "every round draws a new cohort"
    ),
    ("memoized", "weights"): Refusal(
        asked(YES_NO | MEMOIZED, YES_NO, weights=["a"]), "weights", "it is memoized"
    ),
    ("outlier", "own randomizer"): Refusal(
        asked(YES_NO | OWN, analysis="outlier"), "analysis", "it is for bit flips"
    ),
    ("copies", "cells"): Refusal(
        asked(YES_NO, message=[CELLS[0] | {"copies": 2}]),
        "message[1].copies",
        "copies do not make cells more precise",
    ),
    ("copies", "parities"): Refusal(
        asked(YES_NO, YES_NO, message=[PARITIES[0] | {"copies": 2}, *PARITIES[1:]]),
        "message[1].copies",
        "copies do not make cells more precise",
    ),
    ("copies", "explore"): Refusal(
        asked(YES_NO, YES_NO, copies=2, explore=0.25), "explore", "copies fixes what is sent"
    ),
    ("cells", "explore"): Refusal(
        asked(YES_NO, message=CELLS, explore=0.25), "explore", "message fixes what is sent"
    ),
    ("cells", "text"): Refusal(
        asked(TEXT, message=CELLS), "message[1].cells", "'a' is a text question"
    ),
    ("cells", "own randomizer"): Refusal(
        asked(YES_NO | OWN, message=CELLS), "message[1].cells", "'a' has its own randomizer"
    ),
    ("parities", "explore"): Refusal(
        asked(YES_NO, YES_NO, message=PARITIES, explore=0.25),
        "explore",
        "message fixes what is sent",
    ),
    ("parities", "optional"): Refusal(
        asked(YES_NO | {"optional": True}, YES_NO, message=PARITIES),
        "message[1].cells",
        "'a' does not have exactly two answers",
    ),
    ("parities", "condition"): Refusal(
        asked(YES_NO, YES_NO | {"asked_if": "a = yes"}, message=PARITIES),
        "message[1].cells",
        "'b' does not have exactly two answers",
    ),
    ("open", "condition"): Refusal(
        asked(YES_NO, YES_NO | OPEN | {"asked_if": "a = yes"}),
        "asked_if",
        "an open question is asked of everybody",
    ),
    ("parities", "multi"): Refusal(
        asked(MULTI, YES_NO, message=PARITIES),
        "message[1].cells",
        "'a' does not have exactly two answers",
    ),
    ("parities", "text"): Refusal(
        asked(TEXT, YES_NO, message=PARITIES),
        "message[1].cells",
        "'a' does not have exactly two answers",
    ),
    ("parities", "own randomizer"): Refusal(
        asked(YES_NO | OWN, YES_NO, message=PARITIES),
        "message[1].cells",
        "'a' has its own randomizer",
    ),
    ("weights", "text"): Refusal(
        asked(TEXT, YES_NO, weights=["a"]), "weights", "it is a text question"
    ),
    ("text", "own randomizer"): Refusal(
        asked(TEXT | OWN), "randomizer.kind", "can only have the randomizer 'bit flip'"
    ),
}

SERVICES = {"noise": "services"}
REFUSED |= {
    (other, "services"): Refusal(asked(*questions, added=SERVICES, **keys), field, part)
    for other, questions, keys, field, part in (
        ("memoized", [YES_NO | MEMOIZED], {}, "question", "drawn once and reused"),
        ("rows", [YES_NO], {"rows_per_person": 2}, "rows_per_person", "noise once to a count"),
        ("copies", [YES_NO], {"copies": 2}, "copies", "only to the counts of wanted tables"),
        ("parities", [YES_NO] * 2, {"message": PARITIES}, "message[1]", "without parities"),
        ("explore", [YES_NO] * 2, {"explore": 0.25}, "explore", "only to the counts of wanted"),
        ("text", [TEXT], {}, "question", "cannot be counted in cells"),
        ("own randomizer", [YES_NO | OWN], {}, "randomizer", "the device adds this noise"),
    )
}

# Pairs that are refused in every way in which they could meet; all others are enumerated.
NEVER = {
    ("memoized", "rows"),
    ("rows", "contradicted"),
    ("rows", "withdrawn"),
    ("copies", "explore"),
    ("parities", "explore"),
    *((other, last) for other, last in REFUSED if last == "services"),
}
PAIRS = tuple(combinations(FEATURES, 2))
ENUMERATED = tuple(pair for pair in PAIRS if pair not in NEVER)


def refusal_of(refusal):
    """The error of a refused survey, as the program words it."""
    try:
        plan = incrowd.plan(incrowd.Survey.of(refusal.survey))
        if refusal.network:
            make_bundle(plan, stated(questions={"a": "Are you ill?"}))
    except IncrowdError as error:
        return error
    raise AssertionError("it is not refused")


# --- the page of the manual ----------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "pairs.md"
BEGIN, END = "<!-- from tests/oracles/pairs.py -->", "<!-- to here -->"
NAMES = {
    "local_only": "`local_only`",
    "open": "open questions",
    "memoized": "permanent responses",
    "rounds": "rounds",
    "rows": "several rows",
    "colluding": "colluding people",
    "ledger": "a ledger",
    "contradicted": "a contradicted release",
    "withdrawn": "a withdrawn upload",
    "outlier": "the analysis `outlier`",
    "copies": "copies",
    "cells": "cells",
    "parities": "parities",
    "explore": "`explore`",
    "weights": "`weights`",
    "optional": "optional answers",
    "multi": "`multi` questions",
    "amount": "`amount` questions",
    "text": "`text` questions",
    "own randomizer": "own randomizers",
    "services": "noise from the services",
    "condition": "conditions",
}


def mark(one, other):
    pair = (one, other) if (one, other) in PAIRS else (other, one)
    if pair in NEVER:
        return "R"
    return "E, R" if pair in REFUSED else "E"


def tables():
    """The part of the page that follows from the data."""
    numbers = range(1, len(FEATURES) + 1)
    yield "| | feature | " + " | ".join(map(str, numbers)) + " |"
    yield "|---" * (len(FEATURES) + 2) + "|"
    for number, one in zip(numbers, FEATURES, strict=True):
        marks = [mark(one, other) if one != other else "" for other in FEATURES]
        yield f"| {number} | {NAMES[one]} | " + " | ".join(marks) + " |"
    yield ""
    yield "## What is refused"
    yield ""
    yield "| | with | what `incrowd` answers |"
    yield "|---|---|---|"
    for (one, other), refusal in sorted(REFUSED.items(), key=lambda item: PAIRS.index(item[0])):
        problem = next(p for p in refusal_of(refusal).problems if refusal.part in str(p.message))
        advice = str(problem.message).partition("; ")[2]  # without what was found
        text = f"`{problem.field}`: {advice}".replace("[[message]]", "`[[message]]`")
        yield f"| {NAMES[one]} | {NAMES[other]} | {text} |"


def page(text):
    """The page, with its tables made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, "", *tables(), "", END + after])


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
