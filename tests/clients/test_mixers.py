"""Node's client with two mixers, read by the library's parties: every report has its token, and
nothing shows which is which."""

import numpy as np
import pytest
from scipy import stats

import incrowd
from incrowd.collection.protocol.bundle import INNER_LABEL
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.tokens import Pending, has_entry
from incrowd.collection.protocol.upload import parse_upload, upload_length
from tests.oracles import mixers
from tests.oracles.javascript import Javascript

PEOPLE = 40
DUMMY = 0xFFFF
RARE = 1e-6  # the rate of false alarms, for each test
RAW = {
    "name": "Two mixers",
    "crowd": 200,
    "privacy": {"epsilon": 3.0},
    "question": [
        {"id": "smokes", "type": "yesno"},
        {"id": "region", "type": "choice", "options": ["north", "east", "south"]},
    ],
    "message": [{"questions": ["smokes"], "copies": 2}, {"questions": ["region"], "cells": True}],
}


@pytest.fixture(scope="module")
def bundle():
    return mixers.bundle(incrowd.plan(incrowd.Survey.of(RAW)))


def uploads_of(javascript, bundle, people=PEOPLE):
    """The uploads of people who all give the same answers; the inviter is the oracle."""
    given = {"text": bundle.encoded.decode(), "digest": bundle.digest.hex()}
    person = {"smokes": True, "region": "east"}
    data = javascript("mixers.mjs", given | {"people": [person] * people})
    drawn = cut(data, len(data) // people)
    answers = [mixers.answer(Pending.parse(each, bundle).request, bundle) for each in drawn]
    given |= {"drawn": [each.hex() for each in drawn], "answers": [each.hex() for each in answers]}
    sent = cut(javascript("mixers.mjs", given), upload_length(bundle))
    return [parse_upload(each, bundle) for each in sent]


def cut(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.fixture(scope="module")
def uploads(javascript, bundle):
    return uploads_of(javascript, bundle)


def read(uploads, bundle):
    """Of every report with a valid token: whose it is, its place, its token's message, and that of
    its plaintext."""
    key = bundle.key, bundle.binding(0), INNER_LABEL
    rows = []
    for person, upload in enumerate(uploads):
        for place, report in enumerate(mixers.opened(bundle, [upload])):
            assert report.is_valid(bundle, 0)
            plaintext = unseal(report.inner, mixers.COLLECTOR_KEY, *key)
            inside = bundle.shape.read(plaintext).message
            rows.append((person, place, report.message, DUMMY if inside is None else inside))
    return np.array(rows)


@pytest.mark.slow
def test_every_upload_is_admitted_and_every_report_has_its_token(uploads, bundle):
    assert len(uploads) == PEOPLE and all(has_entry(each, bundle) for each in uploads)
    assert len({each.entry for each in uploads}) == PEOPLE
    rows = read(uploads, bundle)
    for person in range(PEOPLE):
        messages = rows[rows[:, 0] == person, 2]
        assert sorted(messages.tolist()) == list(bundle.slot_messages)
    inside = rows[:, 3]
    assert np.all((inside == rows[:, 2]) | (inside == DUMMY))
    assert (inside == 0).sum() == 2 * PEOPLE


def p_values(uploads, bundle):
    """Whether each place has each kind of token and of report equally often."""
    rows = read(uploads, bundle)
    values = {}
    for name, column in (("token", 2), ("report", 3)):
        found, kinds = np.unique(rows[:, column], return_inverse=True)
        table = np.zeros((bundle.places, len(found)))
        np.add.at(table, (rows[:, 1], kinds), 1)
        values[name] = stats.chi2_contingency(table, correction=False).pvalue
    return values


@pytest.mark.slow
def test_envelopes_are_in_random_order(uploads, bundle):
    assert min(p_values(uploads, bundle).values()) > RARE


@pytest.mark.slow
def test_a_client_that_keeps_the_order_is_found(bundle, tmp_path):
    change = "tokens.ts", "order.map((at) => reports[at])", "reports"
    wrong = uploads_of(Javascript(tmp_path / "wrong", [change]), bundle)
    assert max(p_values(wrong, bundle).values()) < RARE


@pytest.mark.slow
def test_a_client_that_leaves_out_the_stratum_cannot_be_opened(bundle, tmp_path):
    change = "tokens.ts", "INNER, concat(digest, stratum), plaintexts", "INNER, digest, plaintexts"
    wrong = uploads_of(Javascript(tmp_path / "wrong", [change]), bundle, people=1)
    with pytest.raises(incrowd.errors.ProtocolError):
        read(wrong, bundle)
