"""Guarantees where services, or whoever holds the answers, add noise to counts."""

import math
from itertools import product

import pytest

from incrowd.accountant import AdditiveNoise
from incrowd.errors import SurveyError
from incrowd.guarantees.certified import planned
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import against
from incrowd.guarantees.rounds import check_left, spent
from incrowd.plans import CellsMessage, JointReport
from incrowd.plans.ledger import Ledger
from incrowd.plans.plan import message_problems, relied_crowd, smallest_crowd
from tests.oracles.releases import claims
from tests.oracles.service_plans import QUESTIONS, plan_of, survey_of

SMALL = AdditiveNoise.laplace(0.6, most=8)
FLIPS = JointReport(questions=(survey_of().question("team"),), noise_numerator=1 << 30)


def excess(law, shifts, epsilon):
    """delta at epsilon if so many counts shift by one, by going through the noise of all."""
    places = range(-law.reach, law.reach + 2)
    chance = dict(zip(range(-law.reach, law.reach + 1), law.chances.tolist(), strict=True))
    one = {z: chance.get(z, 0.0) for z in places}
    other = {z: chance.get(z - 1, 0.0) for z in places}
    return sum(
        max(
            math.prod(one[z] for z in all) - math.exp(epsilon) * math.prod(other[z] for z in all), 0
        )
        for all in product(places, repeat=shifts)
    )


# --- collections ---------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 59, 60, 1000])
def test_no_number_of_people_weakens_the_promise_to_readers(people):
    plan = plan_of(survey_of(crowd=60))
    held = guarantee_of(plan, people)
    promise = plan.guarantee
    assert (held.epsilon, held.delta, held.crowd) == (promise.epsilon, promise.delta, None)
    assert held.reduced_by == () and held.mixed_by == ("curator",)
    over = guarantee_of(plan, people, [claims()])
    assert (over.epsilon, over.service_epsilon, over.mixed_by) == (2.0, 2.0, ("services",))


def test_whoever_holds_the_answers_is_kept_from_nothing():
    plan = plan_of(survey_of(service=3.0))
    limits = against(guarantee_of(plan, 60)).afterwards
    assert {party: limit.epsilon for party, limit in limits.items()} == {
        "readers": 2.0,
        "curator": math.inf,
    }
    network = against(guarantee_of(plan, 60, [claims()])).afterwards
    assert {party: limit.epsilon for party, limit in network.items()} == {
        "collector": 3.0,
        "readers": 2.0,
        "shuffler": 3.0,
        "shuffler and collector": math.inf,
    }


def test_a_simulation_protects_nobody():
    held = guarantee_of(plan_of(survey_of()), 60, seed=1)
    assert held.reduced_by == ("simulation",) and held.mixed_by == ("curator",)


@pytest.mark.slow
def test_fewer_people_weaken_only_what_counts_on_a_crowd():
    """The joint report hides each among 60; 40 hide less, and the counts as much as before."""
    plan = plan_of(survey_of(epsilon=1.0), ("smokes",), others=[FLIPS])
    assert plan.guarantee.crowd == 60
    held = guarantee_of(plan, 40)
    assert held.reduced_by == ("fewer-people",) and held.epsilon > plan.guarantee.epsilon
    alone = plan_of(survey_of(epsilon=1.0), ("smokes",), ("team",))
    assert guarantee_of(alone, 40).epsilon == alone.guarantee.epsilon


# --- rounds --------------------------------------------------------------------------------------


def test_each_round_shifts_counts_again():
    """A lone yes/no shifts one count in each of two rounds. Wrong: as in one."""
    survey = survey_of(QUESTIONS[:1], delta=0.5, rounds=2)
    message = CellsMessage(questions=survey.questions, added=SMALL)
    found = planned(survey, [message]).certified_delta
    assert found == pytest.approx(excess(SMALL, 2, 2.0), rel=1e-3)
    assert found > 1.1 * excess(SMALL, 1, 2.0)


def test_several_rows_of_a_person_are_refused():
    """They move one count by two, whose noise was added once. Certified as two counts that move by
    one, each with noise of its own, the delta would be far below the truth."""
    moved = {z: p for z, p in zip(range(-4, 5), SMALL.chances.tolist(), strict=True)}
    truth = sum(max(p - math.exp(1.0) * moved.get(z - 2, 0.0), 0.0) for z, p in moved.items())
    assert truth > 1.2 * excess(SMALL, 2, 1.0)
    with pytest.raises(SurveyError, match="several rows of one person"):
        survey_of(QUESTIONS[:1], rows_per_person=2)
    once = plan_of(survey_of(QUESTIONS[:1]))
    twice = once.survey.model_copy(update={"rows_per_person": 2})
    assert "messages.added" in message_problems(twice, once.messages)
    assert "messages.added" not in message_problems(once.survey, once.messages)


def test_a_table_shifts_two_counts_and_two_tables_four():
    for tables, shifts in (((("smokes", "team"),), 2), ((("smokes", "team"), ("team",)), 4)):
        survey = survey_of(delta=0.5)
        sent = [
            CellsMessage(questions=tuple(map(survey.question, ids)), added=SMALL) for ids in tables
        ]
        found = planned(survey, sent).certified_delta
        assert found == pytest.approx(excess(SMALL, shifts, 2.0), rel=1e-3)


def ledger_of(*plans):
    ledger = Ledger()
    for plan, people in plans:
        ledger = ledger.with_plan(plan, people)
    return ledger


def test_a_ledger_charges_each_round_whoever_took_part():
    """Two of three rounds: the epsilon of twice as many shifts; any number of people."""
    survey = survey_of(QUESTIONS[:1], rounds=3, delta=1e-3, epsilon=3.0)
    plan = plan_of(survey, law=AdditiveNoise.laplace(0.8, most=30))
    for people in (60, 12, 1):
        used = spent(ledger_of((plan, people), (plan, people)))
        assert used.left == 1 and used.done == 2
        assert excess(plan.messages[0].added, 2, used.epsilon) <= 1e-3
        assert excess(plan.messages[0].added, 2, used.epsilon - 0.02) > 1e-3
        check_left(ledger_of((plan, people)), plan)


def test_a_round_of_one_noise_is_charged_for_one_noise():
    """Without a service_epsilon, whoever holds the answers adds noise once; with one, twice."""
    law = AdditiveNoise.laplace(0.8, most=30)
    told = {}
    for service in (None, 6.0):
        survey = survey_of(QUESTIONS[:1], delta=1e-3, epsilon=3.0, service=service)
        told[service] = spent(ledger_of((plan_of(survey, law=law), 20))).epsilon
    assert excess(law, 1, told[None]) <= 1e-3 < excess(law, 1, told[None] - 0.02)
    assert told[6.0] < told[None] - 0.02
    assert excess(law.plus(law), 1, told[6.0]) <= 1e-3


def test_earlier_rounds_of_services_leave_the_crowd_of_later_ones():
    """12 people of a survey by services hide nobody there; of the later survey all 60 do."""
    before = plan_of(survey_of()).asked_of(12)
    survey = survey_of(name="later")
    assert smallest_crowd(survey, [before]) == 60
    assert relied_crowd(survey, [FLIPS], [before]) == 60
    assert relied_crowd(survey, plan_of(survey).messages, [before]) is None
    flips = plan_of(survey_of(), ("smokes",), others=[FLIPS]).asked_of(12)
    assert relied_crowd(survey, plan_of(survey).messages, [flips]) == 12


def test_fewer_people_in_a_later_round_of_services_weaken_nothing_of_an_earlier_one():
    """The earlier joint reports were hidden by those who sent them."""
    before = plan_of(survey_of(epsilon=4.0), ("smokes",), others=[FLIPS]).asked
    survey = survey_of(name="later", epsilon=8.0)
    messages = plan_of(survey).messages
    held = planned(survey, messages, [before])
    later = plan_of(survey).model_copy(update={"earlier": (before,), "guarantee": held})
    assert held.crowd == 60
    assert guarantee_of(later, 12).epsilon == held.epsilon
    assert guarantee_of(later, 12).reduced_by == ()
