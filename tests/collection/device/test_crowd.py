"""A crowd of devices: a connection for each, and each upload taken once."""

import threading

import numpy as np
import pyarrow as pa
import pytest

from incrowd.collection.device.crowd import send_each
from incrowd.collection.protocol.upload import NO_CODE, code_field, new_code, upload_length
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import UsageError
from tests.oracles.make_vectors import ANSWERS
from tests.oracles.shuffler import INVITED, OPEN, Shuffler, connection, said

CODES = [code_field(new_code(number.to_bytes(10))) for number in range(12)]


def crowd(rows=12):
    drawn = [ANSWERS[row % 3] for row in range(rows)]
    table = pa.table({id: [each[id] for each in drawn] for id in ANSWERS[0]})
    return EncodedAnswers.of(OPEN.plan.survey, table)


class Locked(Shuffler):
    """Handles one request at a time."""

    lock = threading.Lock()

    def __call__(self, request):
        with self.lock:
            return super().__call__(request)


def test_everybody_sends_once_whatever_goes_wrong():
    faults = ["lost", "unanswered", said("busy"), "unanswered"]
    shuffler, told = Locked(OPEN, faults=faults), []
    found = send_each(
        OPEN, crowd(), connection(shuffler), codes=[NO_CODE] * 12, progress=told.append
    )
    assert (found.people, found.stored + found.repeated, found.refused) == (12, 12, {})
    assert 1 <= found.repeated <= 2 and len(shuffler.stored) == 12 and sum(told) == 12
    assert found.sealed_reports == 12 * OPEN.places and found.bytes == upload_length(OPEN)
    assert found.uploads_per_second > 0
    assert {len(body) for body in shuffler.bodies} == {upload_length(OPEN)}


def test_who_is_refused_stops_nobody():
    shuffler = Locked(INVITED)
    codes = [*CODES[:10], CODES[0], CODES[1]]
    found = send_each(INVITED, crowd(), connection(shuffler), codes=codes)
    assert (found.stored, dict(found.refused)) == (10, {"code-used": 2})


def test_a_code_is_needed_for_everybody():
    with pytest.raises(UsageError, match="12, one for each row"):
        send_each(INVITED, crowd(), connection(Locked(INVITED)), codes=CODES[:11])


def test_each_person_sends_her_own_answers():
    """What is sealed is what row i says, under the code of row i."""
    shuffler, people = Locked(INVITED), crowd()
    send_each(INVITED, people, connection(shuffler), codes=CODES)
    assert set(shuffler.stored) == set(CODES)
    assert [people.take(np.array([row])).number for row in range(12)] == [1] * 12
