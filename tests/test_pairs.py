"""Every two of twenty-two features: what is promised, against everything that is seen, enumerated.

The table is data in tests/oracles/pairs.py, and a page of the manual. Nothing here is statistical
but for the comparison of the oracle's laws with reports that are really drawn.
"""

import json
import math
import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from incrowd.accountant.certificates import certify
from incrowd.errors import IncrowdError
from incrowd.guarantees.certified import planned
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import against
from incrowd.plans.ledger import Ledger
from incrowd.plans.sent import sent_by
from incrowd.plans.slots import separate
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import DeviceKey, remembering
from incrowd.sampling.randomize import randomize_message, rounded
from tests.conftest import run, slowly
from tests.oracles import pairs
from tests.oracles.observers import (
    Encoder,
    Round,
    TooMany,
    records,
    remembered,
    reports,
    times,
)
from tests.oracles.pairs import (
    BEGIN,
    ENUMERATED,
    FEATURES,
    NEVER,
    PAGE,
    PAIRS,
    REFUSED,
    View,
    days,
    honest_people,
    meeting,
    noted,
    page,
    plan_of,
    refusal_of,
    round_of,
    smallest_slots,
    survey_of,
    surveys,
)
from tests.oracles.releases import claims

CLOSE = 0.95  # of a local epsilon: there something is left


def quick(pair):
    """Whether this is one of the few pairs of each feature that are tried in every run."""
    return sum(map(FEATURES.index, pair)) % 8 == 0


def at_length(features):
    return pytest.param(features, marks=pytest.mark.slow)


def some(cases, number):
    """Every so many of these cases; the others at length."""
    return [case if n % number == 0 else at_length(case) for n, case in enumerate(cases)]


def named(features):
    return " + ".join(sorted(features, key=[*FEATURES, "joining", "local"].index))


# --- the table -----------------------------------------------------------------------------------


def test_there_is_no_empty_cell():
    """22 features have 231 pairs; each is enumerated, or refused in every way."""
    assert len(FEATURES) == len(set(FEATURES)) == 22 and len(PAIRS) == 231
    assert {*PAIRS} == {*ENUMERATED} | NEVER and NEVER <= REFUSED.keys() <= {*PAIRS}


def test_the_page_of_the_manual_has_the_table():
    text = PAGE.read_text(encoding="utf-8")
    assert BEGIN in text and page(text) == text, "run python -m tests.oracles.pairs"


@pytest.mark.parametrize("pair", REFUSED, ids=named)
def test_what_cannot_be_together_is_refused(pair):
    refusal = REFUSED[pair]
    fields = [p.field for p in refusal_of(refusal).problems if refusal.part in str(p.message)]
    assert any(refusal.field in field for field in fields)


# --- promises ------------------------------------------------------------------------------------

# Here promises are not close to the truth: a later plan charges permanent responses of an earlier
# one once more; and two stages have more noise than the first alone, until there are many rounds.
LOOSE = {frozenset({"memoized", "ledger"}), frozenset({"memoized", "own randomizer"})}


def check(features):
    """Every promise to people who are asked with these features; how many there are."""
    features, number = frozenset(features), 0
    for number, promise in enumerate(meeting(features), 1):
        told = f"{promise.by}: {promise.truth()} is above {promise.delta} at {promise.epsilon}"
        assert promise.proved or "outlier" in features
        assert promise.holds() or not promise.proved, told
        if number == 1 and promise.proved and len(features) == 2:
            assert promise.truth() > promise.delta / 2, "it is far from the truth"
        if promise.delta == 0 and not any(loose <= features for loose in LOOSE):
            assert promise.truth(CLOSE * promise.epsilon) > 0, f"{promise.by} is far from the truth"
    return number


@pytest.mark.parametrize(
    "pair",
    [pair if quick(pair) else at_length(pair) for pair in ENUMERATED],
    ids=named,
)
def test_a_pair_keeps_what_is_promised(pair):
    parties = 2 if "services" in pair and not pairs.over_a_network({*pair}) else 4
    assert check(pair) >= 2 + parties, "a plan, a collection, and the parties"


SMALL = ("open", "memoized", "rounds", "colluding", "ledger", "copies", "cells", "amount")
TRIPLES = [
    ("open", "memoized", "rounds"),
    ("open", "memoized", "ledger"),
    ("memoized", "rounds", "withdrawn"),
    ("memoized", "cells", "withdrawn"),
    ("memoized", "rounds", "own randomizer"),
    ("memoized", "copies", "own randomizer"),
    ("memoized", "ledger", "local_only"),
    ("memoized", "ledger", "contradicted"),
    ("memoized", "ledger", "withdrawn"),
    ("open", "rows", "rounds"),
    ("open", "rows", "colluding"),
    ("colluding", "ledger", "rows"),
    ("rounds", "optional", "withdrawn"),
    ("ledger", "withdrawn", "cells"),
    ("cells", "optional", "withdrawn"),
    ("amount", "cells", "explore"),
]


@pytest.mark.parametrize("triple", some(TRIPLES, 4), ids=named)
def test_three_features_keep_what_is_promised(triple):
    assert check(triple) >= 6


# Surveys of the same people one after the other, each with features of its own.
SURVEYS = [
    ({"rows"}, {"memoized"}),
    ({"memoized"}, {"rows"}),
    ({"memoized", "rounds", "joining"}, {"memoized", "rounds"}),
    ({"open"}, {"memoized"}),
    ({"colluding"}, {"rows"}),
    ({"rows"}, {"colluding"}),
    ({"local_only"}, {"colluding"}),
    ({"contradicted"}, {"rounds"}),
    ({"local"}, {"colluding"}),
    ({"local"}, {"memoized"}),
    ({"cells"}, {"local"}),
    ({"colluding"}, {"memoized"}, {"cells"}),
    ({"memoized"}, {"withdrawn", "memoized"}, {"memoized"}),
    ({"open"}, {"rows"}, {"colluding"}),
    ({"local_only", "memoized"}, {"memoized"}, {"memoized"}),
]


@pytest.mark.parametrize(
    "asked", some(SURVEYS, 3), ids=lambda asked: " then ".join(map(named, asked))
)
@pytest.mark.parametrize("last", [3, *slowly(4)])
def test_several_surveys_keep_what_is_promised(asked, last):
    """The last one asks as many people, or one more."""
    people = [3] * (len(asked) - 1) + [last]
    for promise in surveys(list(map(frozenset, asked)), people):
        assert promise.holds(), (promise.by, promise.truth(), promise.delta, promise.epsilon)


@pytest.mark.parametrize("people", [9, 10, 11])
def test_permanent_responses_are_not_hidden_from_another_number_of_people(monkeypatch, people):
    """The survey is repeated, and one stays away or joins: the difference is her response."""
    monkeypatch.setattr(pairs, "NOISE", 1 / 8)
    features = frozenset({"memoized"})
    first = plan_of(survey_of(features, 10))
    again = plan_of(survey_of(features, 10), noted(first, features, Ledger()).asked)
    held = guarantee_of(again, people)
    rounds = [Round(first, (tuple(range(10)),)), Round(again, (tuple(range(people)),))]
    assert View([rounds]).delta(held.epsilon) <= held.delta
    assert held.reduced_by == (("permanent-responses",) if people != 10 else ())
    planned = again.guarantee
    assert (View([rounds]).delta(planned.epsilon) > planned.delta) == (people != 10)


# --- the command that assesses a survey before it is planned -------------------------------------

ASSESSED = [
    *combinations(("open", "memoized", "rounds", "rows", "colluding"), 2),
    *(("rounds", other) for other in ("optional", "multi", "amount", "text", "own randomizer")),
    ("rows", "text"),
    ("colluding", "multi"),
    ("open", "memoized", "rounds"),
    ("memoized", "rounds", "own randomizer"),
    ("memoized", "rounds", "amount"),
]


def toml(value):
    """A value in TOML, tables in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def survey_file(folder, features):
    raw, path = survey_of(features, honest_people({*features})), folder / "survey.toml"
    raw["privacy"] |= {"delta": 0.3}
    path.write_text("\n".join(f"{key} = {toml(value)}" for key, value in raw.items()))
    return path


@pytest.mark.parametrize(
    "features", some((each for each in ASSESSED if each not in NEVER), 4), ids=named
)
def test_the_command_privacy_promises_no_more_than_holds(tmp_path, features):
    path = survey_file(tmp_path, features)
    called = run("privacy", "delta", "--survey", path, "--noise", pairs.NOISE, "--json")
    told, promise = json.loads(called.stdout), figures(frozenset(features))
    assert told["guarantee"] and told["epsilon"] == promise.epsilon
    assert promise.truth() <= told["delta"] * (1 + 1e-9) < 1
    called = run("privacy", "epsilon", "--survey", path, "--noise", pairs.NOISE, "--json")
    told = json.loads(called.stdout)
    assert promise.truth(told["epsilon"]) <= told["delta"] * (1 + 1e-9)


# --- two mixers: each message has slots of its own -----------------------------------------------


SEVERAL_CELLS = [{"cells", "optional", *more} for more in ((), ("copies",), ("memoized",))]


@pytest.mark.parametrize("features", [*SEVERAL_CELLS, {"cells", "multi"}], ids=named)
def test_noise_drawn_again_for_two_mixers_costs_no_more_than_is_promised(features):
    plan = plan_of(survey_of(features))
    pools = separate(plan.messages)
    places, chance = smallest_slots(plan, 0.7, pools)
    assert chance > 0.01
    rounds = [[Round(plan, ((0, 1, 2),), slots=places, pools=pools)]]
    for changes in ({}, {"thinned": True}):
        held = guarantee_of(plan, 3, [claims(mixers=2, tail=chance, **changes)])
        assert held.analysis == ("local" if changes else "shuffle")
        seen = View(rounds, linked=bool(changes))
        assert seen.delta(held.epsilon) <= held.delta * (1 + 1e-9) + 1e-12
        both = against(held).afterwards["both mixers and collector"]
        assert View(rounds, linked=True).delta(both.epsilon) <= both.delta + 1e-12


# --- wrong promises, which the enumeration has to refuse -----------------------------------------


def figures(features):
    """The first promise to people who are asked with these features: that of the plan."""
    return next(iter(meeting(features)))


COSTLY = [
    *combinations(("rounds", "rows", "copies", "ledger", "cells"), 2),
    *(("rounds", other) for other in ("parities", "optional", "multi", "text")),
    ("open", "rounds"),
    ("multi", "text"),
    ("parities", "optional"),
    ("cells", "condition"),
    ("rounds", "condition"),
]


@pytest.mark.parametrize("pair", some(COSTLY, 3), ids=named)
def test_a_promise_for_each_feature_alone_is_refused(pair):
    """What is left out is not hidden: the larger promise of both is below the truth."""
    truth = figures(frozenset(pair)).truth()
    alone = [{feature} for feature in pair if feature != "ledger"]
    assert all(figures(frozenset(one)).delta < truth for one in alone)


@pytest.mark.parametrize("features", [{"colluding"}, {"rows"}, {"rows", "colluding"}], ids=named)
def test_a_promise_for_everybody_who_is_counted_is_refused(features):
    """Who colludes hides nobody; nor do the other rows of one person."""
    promise = figures(frozenset(features))
    plan = promise.view.ways[0][0].plan
    counted = certify("shuffle", sent_by(plan), plan.survey.crowd, promise.epsilon)
    assert counted.delta.upper < promise.truth()


def test_a_promise_that_forgets_the_earlier_survey_is_refused():
    promise = next(surveys([frozenset()] * 2, [3, 3]))
    plan = promise.view.ways[0][-1].plan
    assert planned(plan.survey, plan.messages).certified_delta < promise.truth()


def test_a_promise_that_forgets_who_colludes_later_is_refused():
    """One of three in the earlier round works with the analyst of the later one."""
    promise = next(surveys([frozenset(), frozenset({"colluding"})], [3, 3]))
    plan = promise.view.ways[0][-1].plan
    assert certify("shuffle", sent_by(plan), 3, 1.0).delta.upper < promise.truth()


@pytest.mark.parametrize("feature", ["contradicted", "local_only"])
def test_a_promise_to_a_crowd_is_refused_where_names_are_seen(feature):
    first, collection = list(meeting({feature, "optional"}))[:2]
    assert collection.truth(first.epsilon) > first.delta


def test_a_promise_that_forgets_noise_drawn_again_is_refused():
    """Reports with names: how often all of them fit into an upload depends on the answers."""
    plan = plan_of(survey_of({"parities"}))
    places, chance = smallest_slots(plan, 0.7)
    held = guarantee_of(plan, 3, [claims(tail=chance, local_only=True)])
    view = View([[Round(plan, ((0, 1, 2),), slots=places)]], linked=True)
    assert view.delta(held.epsilon) == 0 < 1e-3 < view.delta(plan.guarantee.local_epsilon)


def test_permanent_responses_are_not_hidden_from_round_to_round_where_people_move():
    """A promise for one round, as for the same people, is below what the move of one shows."""
    once = figures(frozenset({"open", "memoized"}))
    rounds = figures(frozenset({"open", "memoized", "rounds"}))
    assert rounds.truth(once.epsilon) > 1.2 * once.delta


# --- the oracle's laws are those of the real sampler ---------------------------------------------

DRAWN = 4000
RARE = 6.0  # standard errors: false alarms below 2e-9 for each of some 200 figures
LAWS = [
    {"memoized"},
    {"memoized", "own randomizer"},
    {"copies"},
    {"cells", "multi"},
    {"parities"},
    {"optional", "own randomizer"},
    {"multi"},
    {"amount"},
    {"text"},
    {"own randomizer"},
    {"memoized", "cells"},
    {"cells", "condition"},
]


def law_of(message, person):
    """The law of one report of a message in one round; of cells, of all that are sent."""
    law = {}
    for chance, record in records(message, person):
        kept = {record: 1.0}
        if message.memoized:
            kept = remembered(message, kept, None)
        for report, p in reports(message, kept, fresh=not message.memoized).items():
            law[report] = law.get(report, 0.0) + chance * p
    return law


def outside(drawn, law, people):
    """The reports whose number is not what the law says."""
    expected = {report: people * p for report, p in law.items()}
    return [
        report
        for report in {*expected, *drawn}
        if abs(drawn.get(report, 0) - expected.get(report, 0.0))
        > RARE * math.sqrt(max(expected.get(report, 0.0), 1.0))
    ]


def drawn_by_devices(plan, message, person):
    """How often each report is drawn for many people with the same answers."""
    people = person.take(np.zeros(DRAWN, np.int64))
    names = [f"device {n}" for n in range(DRAWN)]
    memory = remembering(plan, DRAWN, names, DeviceKey(bytes(range(32))))
    keystream = Keystream.of(11)
    packed = randomize_message(plan, message, rounded(people, keystream), keystream, memory)
    if message.cells:
        numbers = packed.astype(np.int64) @ (1 << 8 * np.arange(packed.shape[1]))
        kinds, counts = np.unique(numbers, return_counts=True)
        return dict(zip(kinds.tolist(), counts.tolist(), strict=True))
    bits = np.unpackbits(packed, axis=1, count=message.bits, bitorder="little")
    kinds, counts = np.unique(bits, axis=0, return_counts=True)
    return dict(zip(map(tuple, kinds.tolist()), counts.tolist(), strict=True))


def expected_law(message, encoder, number):
    """The law of a single report, or the chance of each cell, given a person's answers."""
    law = {}
    for chance, person in encoder.rounded(number):
        for report, p in law_of(message, person).items():
            for item in report if message.cells else (report,):
                law[item] = law.get(item, 0.0) + chance * p
    return law


@pytest.mark.parametrize("features", LAWS, ids=named)
def test_laws_are_those_of_real_devices(features):
    """Every report, or cell, within 6 standard errors; the law of another answer is refused."""
    plan = plan_of(survey_of(features, honest_people(features)))
    for message in plan.messages:
        encoder = Encoder(plan.survey, message.ids)
        law, other = (expected_law(message, encoder, n) for n in (0, 1))
        person = encoder.people.take(np.array([0]))
        drawn = drawn_by_devices(plan, message, person)
        assert not outside(drawn, law, DRAWN * message.copies)
        assert outside(drawn, other, DRAWN * message.copies)


def test_copies_are_independent_of_each_other():
    plan = plan_of(survey_of({"copies"}))
    (message,) = plan.messages
    q = message.noise.q
    law = times({(0,): 1 - q, (1,): q}, 2, message)
    assert law[(0,), (1,)] == pytest.approx(2 * q * (1 - q)) and math.fsum(law.values()) == 1


# --- at length -----------------------------------------------------------------------------------

MANY = 200


@pytest.mark.slow
def test_three_features_at_random_keep_what_is_promised():
    """At most half of all triples cannot be together, or have too many answers to try them all."""
    draw, counted = random.Random(35), Counter()
    for triple in draw.sample(list(combinations(FEATURES, 3)), MANY):
        try:
            counted["kept"] += check(triple) > 0
        except IncrowdError:
            counted["refused"] += 1
        except TooMany:
            counted["too many"] += 1
    assert counted["kept"] > MANY / 2, counted


@pytest.mark.slow
@pytest.mark.parametrize("analysis", ["seat", "blanket", "local", "exact"])
@pytest.mark.parametrize("features", [each for each in ASSESSED if each not in NEVER], ids=named)
def test_no_analysis_of_the_command_privacy_promises_more(tmp_path, features, analysis):
    """`exact` refuses what is not one bit."""
    path = survey_file(tmp_path, features)
    options = ("--noise", pairs.NOISE, "--analysis", analysis, "--json")
    called = run("privacy", "delta", "--survey", path, *options)
    if analysis == "exact" and called.returncode:
        return
    told = json.loads(called.stdout)
    assert told["guarantee"]
    assert figures(frozenset(features)).truth(told["epsilon"]) <= told["delta"] * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [pair for pair in ENUMERATED if {*pair} <= {*SMALL}], ids=named)
@pytest.mark.parametrize("noise", [1 / 64, 1 / 16, 3 / 8])
@pytest.mark.parametrize("honest", [2, 4, 5])
def test_a_pair_keeps_what_is_promised_with_any_noise(monkeypatch, pair, noise, honest):
    """With hardly any noise, much of it, and more people; at several epsilons."""
    honest += honest == 2 and {*pair} == {"colluding", "ledger"}  # who may collude in either
    monkeypatch.setattr(pairs, "NOISE", noise)
    monkeypatch.setattr(pairs, "QUIET", noise)
    monkeypatch.setattr(pairs, "honest_people", lambda features: honest)
    for promise in meeting(pair):
        assert promise.holds(), (promise.by, promise.truth(), promise.delta, promise.epsilon)
    plan = plan_of(survey_of({*pair} - {"ledger"}, honest))
    view = View([[round_of(plan, w) for w in way] for way in days(plan.survey, plan.survey.rounds)])
    for epsilon in (0.25, 0.5, 2.0, 3.0):
        bound = certify("shuffle", sent_by(plan), plan.guarantee.crowd, epsilon).delta.upper
        assert view.delta(epsilon) <= bound * (1 + 1e-9) + 1e-12
