"""What is promised of reports that came over a network."""

from dataclasses import replace

import numpy as np
import pytest

import incrowd
from incrowd.accounting.redraws import redrawn
from incrowd.plans.digests import digest_of
from incrowd.presentation.receipts import receipt_sentences
from incrowd.reports.collection import Collection
from tests.conftest import RECEIPT


@pytest.fixture(scope="module")
def collected():
    question = {"id": "smokes", "type": "yesno"}
    raw = {"name": "s", "crowd": 2000, "privacy": {"epsilon": 1.0}, "question": [question]}
    plan = incrowd.plan(incrowd.Survey.of(raw))
    packed = np.random.default_rng(0).integers(0, 2, (2000, 1), np.uint8)
    return plan, Collection(plan.digest, 0, 1, packed, id=digest_of([]))


def promised(collected, **changes):
    plan, reports = collected
    received = [replace(RECEIPT, **changes)]
    return incrowd.estimate(plan, [reports], received=received).guarantee


def test_one_party_that_mixes_and_opens_promises_the_local_guarantee(collected):
    plan, _ = collected
    assert promised(collected) == plan.guarantee
    alone = promised(collected, local_only=True)
    assert alone.analysis == "local" and alone.delta == 0
    assert alone.epsilon == alone.local_epsilon == plan.guarantee.local_epsilon > 1


def test_reports_that_may_have_been_drawn_again_cost_what_the_formula_says(collected):
    plan, _ = collected
    found = promised(collected, tail=1e-6)
    expected = redrawn(plan.guarantee.epsilon, plan.guarantee.delta, tail=1e-6, crowd=2000)
    assert (found.epsilon, found.delta) == (expected.epsilon, expected.delta)
    assert found.epsilon > 1


def test_permanent_responses_that_come_again_promise_the_local_guarantee(collected):
    alone = promised(collected, again=True)
    assert (alone.analysis, alone.delta) == ("local", 0)
    (said,) = [each for each in receipt_sentences(replace(RECEIPT, again=True)) if "local" in each]
    assert "Permanent responses of an earlier round are repeated" in said
    assert "Permanent" not in " ".join(receipt_sentences(RECEIPT))
