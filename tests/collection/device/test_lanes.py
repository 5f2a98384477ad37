"""What a device sends if services add the noise: its own cells and dummies, each in its lane."""

import pytest

from incrowd.collection.device.sending import plaintexts, sealed_answers
from incrowd.collection.protocol.upload import NO_CODE, parse_upload, sealed_upload
from incrowd.errors import ProtocolError
from incrowd.sampling.keystream import Keystream
from tests.oracles import services

OF = services.bundle(codes=False)
ALSO_JOINT = services.bundle(services.plan(joint=True), codes=False)


def sent(of=OF, **answers):
    """The message and the cell in each slot; None for a dummy."""
    made = sealed_answers(of, services.person(of, **answers), code=NO_CODE, stratum=1)
    read = [
        services.opened(of, each, 1, n) for each, n in zip(made.sealed, of.slot_lanes, strict=True)
    ]
    return [
        None if each.message is None else (each.message, int.from_bytes(each.packed, "little"))
        for each in read
    ]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        # yes; yes and south; beer, wine, rum; these three with yes, then "any" with yes
        ({}, [(0, 0), (1, 5), (2, 0), None, (2, 2), (3, 3), None, (3, 5), (3, 7)]),
        (
            {"smokes": "no", "region": "north", "drinks": "none"},
            [None, (1, 0), None, None, None, None, None, None, (3, 6)],
        ),
    ],
)
def test_each_lane_has_the_own_cell_or_a_dummy(answers, expected):
    for _ in range(2):  # nothing is random
        assert sent(**answers) == expected


def test_the_copies_of_a_joint_report_share_a_lane():
    found = sent(ALSO_JOINT)
    assert [lane.slots for lane in ALSO_JOINT.lanes] == [1, 2, *[1] * 8]
    assert found[0] == (0, 0) and found[3] == (2, 5)
    assert {message for message, _ in found[1:3]} == {1}


def moved(upload, of, stratum=1):
    """Whether each report of an upload opens in the lane after its own, and in another stratum."""
    for lane, sealed in enumerate(upload.sealed):
        for place in ((stratum, (lane + 1) % of.places), (1 - stratum, lane)):
            try:
                services.opened(of, sealed, *place)
            except ProtocolError:
                yield False
            else:
                yield True


def test_a_report_opens_in_its_own_stratum_and_lane_only(monkeypatch):
    made = sealed_answers(OF, services.person(OF), code=NO_CODE, stratum=1)
    assert not any(moved(made, OF))
    monkeypatch.setattr(type(OF), "binding", lambda of, *_: of.digest)  # a wrong variant
    made = sealed_answers(OF, services.person(OF), code=NO_CODE, stratum=1)
    assert all(moved(made, OF))


def test_no_order_leads_over_the_border_of_a_lane():
    plain = plaintexts(ALSO_JOINT, services.person(ALSO_JOINT), Keystream.from_system())
    order = list(range(ALSO_JOINT.places))
    within, across = order.copy(), order.copy()
    within[1], within[2] = 2, 1
    across[0], across[1] = 1, 0
    made = sealed_upload(ALSO_JOINT, NO_CODE, 0, plain, within)
    assert parse_upload(made.encoded(ALSO_JOINT), ALSO_JOINT) == made
    with pytest.raises(ProtocolError):
        sealed_upload(ALSO_JOINT, NO_CODE, 0, plain, across)
