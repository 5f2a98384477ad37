"""The vectors of noise from the services against the library, and against the other client."""

import hashlib
import json

import pytest
from cryptography.exceptions import InvalidTag

from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.plaintext import cell_number
from incrowd.collection.protocol.upload import parse_upload, upload_length
from incrowd.errors import ProtocolError
from tests.collection.protocol.conftest import vectors
from tests.oracles import client, make_vectors, mixers, wire

GIVEN = vectors("services")
CONTENT = json.loads(GIVEN["bundle"])
OF = Bundle.parse(GIVEN["bundle"].encode())
PRIVATE = bytes.fromhex(vectors("keys")["collector"]["private"])
REPORTS = GIVEN["wrong_reports"]


def changed(change):
    return client.canonical(CONTENT | change).encode()


def test_the_bundle_is_accepted_by_both():
    read = wire.read_bundle(GIVEN["bundle"].encode())
    assert client.bundle(GIVEN["bundle"].encode())["plan"]["guarantee"]["crowd"] is None
    assert OF.digest.hex() == GIVEN["digest"] == read["digest"].hex()
    assert upload_length(OF) == GIVEN["upload_bytes"] == read["upload"]
    assert OF.least_people == GIVEN["least_people"] == read["least"]


def test_the_lanes_are_those_of_the_questions():
    lanes = [each._asdict() | {"cells": list(each.cells)} for each in OF.lanes]
    assert lanes == GIVEN["lanes"] == wire.lanes_of(CONTENT)
    people, reports = GIVEN["release"]["people"], GIVEN["release"]["reports"]
    assert OF.spans(people)[-1].stop == reports
    assert reports == sum(people * each["slots"] + each["invented"] for each in lanes)


@pytest.mark.parametrize("person", GIVEN["people"])
def test_each_lane_of_an_upload_says_what_the_person_answered(person):
    data = bytes.fromhex(person["upload"])
    upload = parse_upload(data, OF)
    assert upload.stratum == person["stratum"] and len(data) == GIVEN["upload_bytes"]
    known = {each["id"]: each for each in CONTENT["plan"]["survey"]["question"]}
    bits = wire.read_bundle(GIVEN["bundle"].encode())["bits"]
    for number, (lane, sealed) in enumerate(zip(GIVEN["lanes"], upload.sealed, strict=True)):
        binding = OF.digest + person["stratum"].to_bytes(2) + number.to_bytes(2)
        plain = wire.unseal(sealed, PRIVATE, binding)
        assert plain.hex() == person["plaintexts"][number]
        asked = [known[id] for id in CONTENT["plan"]["messages"][lane["message"]]["questions"]]
        inside = set(wire.cells(asked, person["answers"])) & set(lane["cells"])
        read = wire.read_plaintext(plain, bits)
        sent = set() if read is None else {int.from_bytes(read[1], "little")}
        assert sent == inside and (read is None or read[0] == lane["message"])


@pytest.mark.parametrize("why", GIVEN["wrong_bundles"])
def test_wrong_bundles_are_rejected_by_both(why):
    data = changed(GIVEN["wrong_bundles"][why])
    with pytest.raises(ProtocolError):
        Bundle.parse(data)
    with pytest.raises(client.REJECTED):
        client.bundle(data)


def read(report):
    """The message and the cell of a report in a lane; an error if it does not belong there."""
    sealed, lane = bytes.fromhex(report["sealed"]), OF.lanes[report["lane"]]
    binding = OF.binding(REPORTS["stratum"], report["lane"])
    plain = wire.unseal(sealed, PRIVATE, binding)
    content = OF.shape.read(plain)
    cell = cell_number(content.packed)
    if content.message not in (None, lane.message) or cell not in lane.cells:
        raise ProtocolError.of("report", "collection.unopened")
    return content.message, cell


def test_a_report_of_its_lane_is_read():
    assert read(REPORTS["right"]) == (1, 4)


@pytest.mark.parametrize("why", REPORTS["wrong"])
def test_a_report_of_another_place_is_not(why):
    with pytest.raises((ProtocolError, InvalidTag)):
        read(REPORTS["wrong"][why])


WHOLE = str(2**64)


# A device that knows the digest does not need the law, nor who the guarantee counts on.
@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("messages", 0, "added"), ["1", "2"]),
        (("messages", 0, "added"), []),
        (("messages", 0, "added"), [1]),
        (("messages", 0, "added"), [WHOLE, "0"]),
        (("messages", 0, "added"), [f"0{WHOLE}"]),
        (("guarantee", "crowd"), 60),
    ],
)
def test_laws_and_crowds_that_are_refused_by_both(at, value):
    content = json.loads(GIVEN["bundle"])
    *way, last = "plan", *at
    place = content
    for key in way:
        place = place[key]
    place[last] = value
    content["plan_digest"] = hashlib.sha256(client.canonical(content["plan"]).encode()).hexdigest()
    data = client.canonical(content).encode()
    with pytest.raises(ProtocolError):
        Bundle.parse(data)
    with pytest.raises(client.REJECTED):
        client.bundle(data)


def test_two_mixers_are_refused():
    with pytest.raises(ProtocolError, match="two mixers cannot add noise"):
        mixers.bundle(OF.plan)
    assert make_vectors.INVITED.lanes == ()
