"""What a plan with permanent responses guarantees, alone and with what can be linked to it."""

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema
from incrowd.errors import IncrowdError, SurveyError
from incrowd.plans import fixed_channel
from incrowd.presentation.guarantee_text import assumption_text
from tests.conftest import MEMOIZED, choice_toml, load_survey, slowly, survey_toml, yes_no_toml

ROUNDS = "one_if_zero = 0.25, one_if_one = 0.75"
LOUD_MEMORY = MEMOIZED.replace("0.8", "0.5")
PROMISE = "epsilon = 0.5\ndelta = 0.05"
QUARTER = BitFlip.at_least(0.25)
DRINK = Domain(3, 1, 1)
SECRET = incrowd.DeviceKey(bytes(32))


def promised(folder, *questions, copies=1):
    """The plan of a survey with a loose promise for 500 people."""
    rest = f"copies = {copies}"
    return incrowd.plan(
        load_survey(folder, survey_toml(*questions, privacy=PROMISE, crowd=500, rest=rest))
    )


def certified(*parts, copies=1):
    return certify("shuffle", Contribution.of(Schema.of(parts), copies), 500, 0.5).delta.upper


@pytest.mark.parametrize("said", [*slowly(LOUD_MEMORY), f"{LOUD_MEMORY}, {ROUNDS}"])
@pytest.mark.parametrize("copies", [1, 5])
def test_the_guarantee_is_that_of_the_permanent_stage(said, copies, tmp_path):
    """Neither that of one report, which is smaller if there is a second stage, nor that of
    several rounds composed: all copies and rounds tell what one collection of them does."""
    plan = promised(tmp_path, choice_toml(said), copies=copies)
    alone = certified(Part(DRINK, QUARTER))
    assert plan.guarantee.certified_delta == pytest.approx(alone, rel=1e-9)
    assert certified(Part(DRINK, QUARTER), copies=2) > 2 * alone > 0
    if ROUNDS in said:
        assert certified(Part(DRINK, fixed_channel(plan.survey.question("drinks")))) < 0.9 * alone
    condition = "as long as the same people take part and their answers"
    assert condition in assumption_text(plan.guarantee)
    assert incrowd.verify(plan).holds


def test_without_memory_copies_are_composed(tmp_path):
    """The same device drawn afresh: three copies are three collections."""
    said = LOUD_MEMORY.replace(", memoized = true", "")
    plan = promised(tmp_path, choice_toml(said), copies=3)
    composed = certified(Part(DRINK, QUARTER), copies=3)
    assert plan.guarantee.certified_delta == pytest.approx(composed, rel=1e-9)


@pytest.mark.slow
def test_fresh_questions_travel_by_themselves_and_count_for_every_copy(tmp_path):
    """Next to permanent bits they would be linked from copy to copy and from round to round."""
    old = yes_no_toml('kind = "bit flip", noise = 0.4', "old")
    plan = promised(tmp_path, choice_toml(LOUD_MEMORY), old, copies=3)
    assert [message.ids for message in plan.messages] == [("old",), ("drinks",)]
    kept = Contribution.of(Schema.of([Part(DRINK, QUARTER)]))
    fresh = Contribution.of(Schema.of([Part(FREE_BIT, BitFlip.at_least(0.4))]), 3)
    both = certify("shuffle", kept.also(fresh), 500, 0.5).delta.upper
    assert plan.guarantee.certified_delta == pytest.approx(both, rel=1e-9)
    for kind in ("table", "message"):
        raw = plan.survey.model_dump(by_alias=True) | {"copies": 1}
        with pytest.raises(SurveyError, match=f"{kind}.*is memoized"):
            incrowd.Survey.of(raw | {kind: [{"questions": ["drinks", "old"]}]})


WIDE = [f"o{i}" for i in range(40)]
LINKED = 2000
NOISE = BitFlip.at_least(0.35)
KEPT = {"kind": "rappor", "f": 0.7, "memoized": True}
FIRST, SECOND = ([f"{letter}{i}" for i in range(6)] for letter in "ab")


def linked_survey(ids, **rest):
    """A wide permanent response, of which hardly two in the crowd are alike, and others."""
    wide = {"id": "m", "type": "choice", "options": WIDE, "randomizer": KEPT}
    others = [{"id": id, "type": "yesno", "randomizer": KEPT} for id in ids]
    raw = {"name": "linked", "crowd": LINKED, "privacy": {"epsilon": 1.0, "delta": 0.01}}
    return incrowd.Survey.of(raw | {"question": [wide, *others]} | rest)


def exact_if_linked():
    """delta at epsilon 1 of a homogeneous crowd in which the reports with the same bits of the
    wide response are put together. Of 2,000 people two agree by chance with probability 6e-5 at
    most: 2e6 pairs, (p^2 + q^2)^40 each."""
    parts = [Part(Domain(40, 1, 1), NOISE), *[Part(FREE_BIT, NOISE)] * 12]
    return certify("outlier", Schema.of(parts), LINKED, 1.0).delta.lower - 6e-5


def shared(one, other):
    """How many patterns of the wide response stand in both collections."""
    bits = [np.unpackbits(s.packed, axis=1, bitorder="little")[:, :40] for s in (one, other)]
    first, second = ({row.tobytes() for row in found} for found in bits)
    return len(first & second)


def answers_of_releases(ids):
    """A tenth of the crowd is enough to see whether reports can be linked."""
    said = dict.fromkeys(ids, [True] * 200) | {"m": WIDE * 5}
    return pa.table(said | {"id": [str(i) for i in range(200)]})


@pytest.mark.slow
def test_messages_that_a_permanent_response_links_are_counted_as_one():
    """Two messages with the same permanent bits can be put together. Either such a plan is
    refused, or the bits differ, or the certificate covers both messages as one report."""
    groups = [{"questions": ["m", *FIRST]}, {"questions": ["m", *SECOND]}]
    try:
        plan = incrowd.plan(linked_survey([*FIRST, *SECOND], message=groups))
    except IncrowdError:
        return
    table = answers_of_releases([*FIRST, *SECOND])
    sent = incrowd.randomize(plan, table, id="id", device_key=SECRET)
    linked = shared(*sent) > 100
    assert not linked or plan.guarantee.certified_delta >= exact_if_linked()


@pytest.mark.slow
def test_plans_that_a_permanent_response_links_are_counted_as_one():
    """The same people are asked again, the wide question beside others than before."""
    first = incrowd.plan(linked_survey(FIRST))
    try:
        second = incrowd.plan(linked_survey(SECOND), earlier=[first.asked])
    except IncrowdError:
        return
    sent = [
        incrowd.randomize(plan, answers_of_releases(ids), id="id", device_key=SECRET)[0]
        for plan, ids in ((first, FIRST), (second, SECOND))
    ]
    linked = shared(*sent) > 100
    assert not linked or second.guarantee.certified_delta >= exact_if_linked()
