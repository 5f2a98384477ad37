"""What travels of a person who is asked nothing is like what travels of anybody else."""

import socket
import threading
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

from incrowd.collection.device import sending
from incrowd.collection.device.connection import Connection
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.upload import NO_CODE, parse_upload, upload_length
from incrowd.encoding.records import EncodedAnswers, set_cells
from incrowd.errors import AnswersError
from incrowd.planner.plan import make_plan
from incrowd.plans import CellsMessage
from incrowd.plans.slots import slots
from incrowd.survey import Survey
from tests.oracles import make_vectors
from tests.oracles.shuffler import Shuffler, device

ASKED = {"smokes": "yes", "daily": "yes", "brand": "Marlboro", "spent": 40, "sorts": "x;y"}
NOT_ASKED = dict.fromkeys(ASKED) | {"smokes": "no"}
TIMES = 2  # uploads of each
CONNECTION = Connection()  # making one takes long


@pytest.fixture(scope="module")
def bundle():
    """One of a survey in which a person who does not smoke is asked nothing else."""
    smokers = {"asked_if": "smokes = yes"}
    raw = {
        "name": "Tobacco",
        "crowd": 1000,
        "privacy": {"epsilon": 12.0, "analysis": "local"},
        "question": [
            {"id": "smokes", "type": "yesno"},
            {"id": "daily", "type": "yesno"} | smokers,
            {"id": "brand", "type": "text", "block": 16, "hashes": 2} | smokers,
            {"id": "spent", "type": "amount", "edges": [0, 50, 100]} | smokers,
            {"id": "sorts", "type": "multi", "options": ["x", "y"], "at_most": 2} | smokers,
        ],
        "message": [
            {"questions": ["smokes", "daily"], "cells": True},
            {"questions": ["brand", "spent"]},
            {"questions": ["sorts"], "cells": True},
        ],
    }
    plan = make_plan(Survey.of(raw))
    asked = {question.id: f"About {question.id}?" for question in plan.survey.questions}
    words = {"language": "en", "title": "Tobacco", "questions": asked}
    return make_vectors.bundle(
        plan=plan, wording=words, slots=slots(plan), codes=False, colluding=0
    )


def encoded(bundle, answers):
    columns = {id: pa.array([said], None if said else pa.string()) for id, said in answers.items()}
    return EncodedAnswers.of(bundle.plan.survey, pa.table(columns))


@contextmanager
def tapped():
    """Yields the address of a server that stores every upload, and the bytes of each request."""
    requests = []

    def listen():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:  # it is closed
                return
            with connection, connection.makefile("rb") as read:
                head = b"".join(iter(read.readline, b"\r\n"))
                [length] = [
                    int(line.split(b":")[1])
                    for line in head.splitlines()
                    if line.lower().startswith(b"content-length")
                ]
                requests.append((head, read.read(length)))
                connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/upload", requests


def on_the_wire(bundle, answers):
    """The requests of some people with these answers: their first lines, and their bodies."""
    with tapped() as (address, requests):
        for _ in range(TIMES):
            person = encoded(bundle, answers)
            upload = sending.sealed_answers(bundle, person, code=NO_CODE, stratum=0)
            assert CONNECTION.ask("POST", address, upload.encoded(bundle)).status == 201
    port = address.rsplit(":", 1)[1].split("/")[0].encode()
    return [(head.replace(port, b"port"), body) for head, body in requests]


@pytest.fixture(scope="module")
def requests(bundle):
    """Of people who are asked everything, and of people who are asked nothing."""
    return [on_the_wire(bundle, answers) for answers in (ASKED, NOT_ASKED)]


def visible(bundle, requests):
    """What everybody sees who sees a request but cannot open what is sealed."""
    size = bundle.sealed_length
    return {
        (head, len(body), body[:50], tuple(body[at : at + 7] for at in range(50, len(body), size)))
        for head, body in requests
    }


def test_requests_have_the_same_lines_lengths_and_headers(bundle, requests):
    seen = [visible(bundle, each) for each in requests]
    assert seen[0] == seen[1] and len(seen[0]) == 1
    [(_, length, *_)] = seen[0]
    assert length == upload_length(bundle)


def test_a_device_that_leaves_out_what_it_was_not_asked_is_seen(bundle, monkeypatch):
    """It sends no slot for questions that are not asked."""
    whole = sending.plaintexts

    def wrong(bundle, person, *others):
        asked = len(person.encoded["spent"].rows) and person.encoded["spent"].places[0] < 3
        return whole(bundle, person, *others)[: None if asked else -1]

    def unchecked(bundle, code, stratum, plaintexts, order):
        sealed = tuple(make_vectors.seal(each, "wrong", bundle) for each in plaintexts)
        return sending.Upload(code, stratum, sealed)

    monkeypatch.setattr(sending, "plaintexts", wrong)
    monkeypatch.setattr(sending, "sealed_upload", unchecked)
    seen = [visible(bundle, on_the_wire(bundle, answers)) for answers in (ASKED, NOT_ASKED)]
    assert seen[0] != seen[1]


def test_what_is_sealed_has_one_length_and_one_number_of_reports(bundle, requests):
    """Also inside: a plaintext of one length in each slot, and as many joint reports."""
    found = []
    for [(_, body), *_] in requests:
        inside = [
            unseal(each, make_vectors.RECEIVER, bundle.key, bundle.digest)
            for each in parse_upload(body, bundle).sealed
        ]
        joint = sum(each[1:3] == b"\0\1" for each in inside)
        found.append((len(inside), {len(each) for each in inside}, joint))
    assert found[0] == found[1] == (bundle.places, {bundle.shape.length}, 1)


def test_as_many_cells_are_set_before_the_noise(bundle):
    """So that the number of cells after the noise has the same law where one answer is given."""
    message = next(each for each in bundle.plan.messages if isinstance(each, CellsMessage))
    counts = [
        len(set_cells(message.crossing.blocks, message.questions, people.encoded, 1)[1])
        for people in (encoded(bundle, ASKED), encoded(bundle, NOT_ASKED))
    ]
    assert np.diff(counts) == [0] and counts[0] == 1


def test_answers_by_question_may_leave_out_what_is_not_asked(bundle, home):
    shuffler = Shuffler(bundle)
    with pytest.raises(AnswersError, match="daily"):
        device(shuffler, home / "asked").send({"smokes": "yes"})
    assert device(shuffler, home).send({"smokes": "no"}).outcome == "stored"
