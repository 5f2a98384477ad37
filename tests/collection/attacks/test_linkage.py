"""What parties can link afterwards, together, from everything that they saw and stored.

The parties are the real services, and everybody is honest. Then every group of parties compares its
records: by bytes, with all keys that it ever had, and by order. The groups that link a person with
a report have to be exactly those that the claims name: both mixers with the collector. A party that
does not do its part must be noticed, and by exactly the groups that gain from it: these are the
incorrect variants.

Order is tested with three statistics, pooled over messages: rank correlation, reports in the same
places, and neighbors that stay neighbors. For independent orders, the first is about normal, the
others about Poisson. Each has a false-alarm rate of at most 1e-8, and there are 27 distinct ones in
a collection: less than 3e-7 together. With 40 people and two messages, an alarm needs a correlation
of .65, or 15 of 80 reports in the same places; with 400 people (slow), .21, or 15 of 800. So a
mixer that leaves a twentieth of 800 reports in their places, 40 of them, is always noticed; a test
does it.
"""

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import poisson

import incrowd
from incrowd.collection.collector import collections
from incrowd.collection.mixer import keeper
from incrowd.collection.mixer.second import releasing
from incrowd.collection.protocol.blind import EXPONENT
from incrowd.collection.protocol.mixing import MixedRelease
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.protocol.tokens import TokenReport, TokenRequest, open_envelope
from incrowd.guarantees.parties import is_undone
from incrowd.sampling.shuffle import mixed
from tests.collection.attacks.conftest import (
    MESSAGES,
    OF,
    PEOPLE,
    Second,
    asking,
    opened,
)
from tests.conftest import slowly
from tests.oracles import mixers
from tests.oracles.mixing import Site

FALSE_ALARM = 1e-8
MANY = 400
INVITER, FIRST, SECOND, COLLECTOR = "inviter", "first mixer", "second mixer", "collector"
PARTIES = (INVITER, FIRST, SECOND, COLLECTOR)
GROUPS = [frozenset(group) for size in range(5) for group in combinations(PARTIES, size)]


@dataclass(frozen=True)
class Records:
    """What is seen of a collection, in its order.

    requests: codes and blinded values, by the inviter. uploads: by the first mixer. envelopes: of
    the batch, by both mixers. rows: of the release, by the second mixer and the collector. files:
    of each message, by everybody who reads what the collector publishes.
    """

    requests: list
    uploads: list
    envelopes: list
    rows: list
    files: list


def recorded(folder, people):
    """Everybody sends in the order in which they asked for tokens."""
    requests = [TokenRequest.parse(each.pending.request, OF) for each in people]
    uploads = [each.upload for each in people]
    site = Site(folder, OF)
    assert {*site.post(*uploads)} == {201}
    site.look_at("closes")
    site.close()
    signed, by_stratum = site.collector.batch()
    second = Second(folder / "second")
    second.take((signed, b"".join(by_stratum[0])))
    (release,) = second.sent
    _, start = Signed.parse(MixedRelease, release)
    rows = [release[at : at + OF.row_length] for at in range(start, len(release), OF.row_length)]
    places = opened(folder / "collector", OF, release)
    files = [[*map(bytes, each.packed)] for each in incrowd.load_reports(places.opened_ones)]
    return Records(requests, uploads, by_stratum[0], [*map(TokenReport.parse, rows)], files)


@pytest.fixture(scope="module")
def records(people, tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("records"), people)


# --- by bytes: who knows what at which stage -----------------------------------------------------


@cache
def in_envelope(envelope):
    """What the second mixer's key shows."""
    return open_envelope(envelope, mixers.SECOND_CLASSICAL, OF, 0).inner


@cache
def in_report(inner):
    """What the collector's key shows: the message, and the report."""
    plain = unseal(inner, mixers.COLLECTOR_KEY, OF.key, OF.binding(0), OF.label)
    opened = OF.shape.read(plain)
    return opened.message, opened.packed


def people_by_stage(records, parties):
    """By stage, the number of the person of every item that the parties can follow there."""
    whose = {}
    if INVITER in parties:
        whose["requests"] = {request.code: n for n, request in enumerate(records.requests)}
        if {SECOND, COLLECTOR} & parties and (recognized := by_token(records)):
            whose["release"] = recognized
    if FIRST in parties:
        uploads = enumerate(records.uploads)
        whose["batch"] = {envelope: n for n, upload in uploads for envelope in upload.sealed}
        if SECOND in parties:
            whose["release"] = {in_envelope(each): n for each, n in whose["batch"].items()}
    if "release" in whose and COLLECTOR in parties:
        whose["file"] = {in_report(inner): n for inner, n in whose["release"].items()}
    return whose


@cache
def power(row):
    """The number whose root a token is."""
    key = OF.inviter.messages[row.message].key
    return pow(int.from_bytes(row.token), EXPONENT, key.modulus).to_bytes(256)


def by_token(records):
    """The person of every report whose token the inviter recognizes.

    Without blinding, it was asked for the root of the token's power.
    """
    asked = {value: n for n, each in enumerate(records.requests) for value in each.blinded}
    return {row.inner: asked[power(row)] for row in records.rows if power(row) in asked}


def reports_by_stage(records, parties):
    """By stage, the content of every item that the parties can follow up to there, in its order."""
    stages = {"file": [(n, packed) for n, file in enumerate(records.files) for packed in file]}
    if COLLECTOR in parties:
        stages["release"] = [in_report(row.inner) for row in records.rows]
        if SECOND in parties:
            stages["batch"] = [in_report(in_envelope(each)) for each in records.envelopes]
    return stages


def order_of(records, stage):
    """The items of a stage in their order."""
    return {
        "requests": [request.code for request in records.requests],
        "batch": records.envelopes,
        "release": [row.inner for row in records.rows],
        "file": [(n, packed) for n, file in enumerate(records.files) for packed in file],
    }[stage]


def linked_by_bytes(records, parties):
    """The person of every report that the parties can link, by its content."""
    whose, reports = people_by_stage(records, parties), reports_by_stage(records, parties)
    return {
        report: whose[stage][item]
        for stage in whose.keys() & reports.keys()
        for item, report in zip(order_of(records, stage), reports[stage], strict=True)
    }


# --- by order: what is not followed may still be in its old place --------------------------------


def truth(people):
    """The person and the message of every item; whoever only knows the person is told the
    message."""
    known = {(n, p): (number, n) for number, each in enumerate(people)
             for n, p in enumerate(each.reports)}  # fmt: skip
    for each in people:
        for envelope in each.upload.sealed:
            inner = in_envelope(envelope)
            known[envelope] = known[inner] = known[in_report(inner)]
    return known


def places_in(order, other):
    """For each item of an order, its place in another order of the same items."""
    place = {item: at for at, item in enumerate(other)}
    return np.array([place[item] for item in order])


def depend(pairs):
    """Whether some pairs of orders, each of the same items, are dependent."""
    found = [places_in(*pair) for pair in pairs]
    lines = [np.arange(len(each)) for each in found]
    z = sum(
        np.corrcoef(each, line)[0, 1] * np.sqrt(len(line) - 1)
        for each, line in zip(found, lines, strict=True)
    ) / np.sqrt(len(pairs))
    same = sum(int(np.sum(each == line)) for each, line in zip(found, lines, strict=True))
    neighbors = sum(int(np.sum(abs(np.diff(each)) == 1)) for each in found)
    limits = [poisson.isf(FALSE_ALARM, mean) for mean in (len(pairs), 2 * len(pairs))]
    return abs(z) > -ndtri(FALSE_ALARM / 2) or same > limits[0] or neighbors > limits[1]


def linked_by_order(records, people, parties):
    """Whether the parties see a person's place in the order of reports, or that two reports are of
    one person. One order is that of a stage where they know the people, the other that of a stage
    where they know the reports: of all messages together, or of each in a file of its own."""
    known = truth(people)

    def items(stage):
        if stage == "requests":
            return [(number, n) for number in range(len(people)) for n in MESSAGES]
        return [known[each] for each in order_of(records, stage)]

    def of_message(stage, message):
        return [person for person, n in items(stage) if n == message]

    def is_followed(stage, other):
        if {stage, other} <= {"batch", "release"}:
            return depend([(items(stage), items(other))])
        return depend([(of_message(stage, n), of_message(other, n)) for n in MESSAGES])

    known_people, known_reports = (
        by_stage(records, parties) for by_stage in (people_by_stage, reports_by_stage)
    )
    return any(is_followed(*each) for each in product(known_people, known_reports)) or any(
        depend([(of_message(stage, 0), of_message(stage, 1))]) for stage in known_reports
    )


def linking(records, people):
    """The groups of parties that link."""
    return {
        parties
        for parties in GROUPS
        if linked_by_bytes(records, parties) or linked_by_order(records, people, parties)
    }


def undone():
    """The groups that can link, by the claims."""
    return {each for each in GROUPS if is_undone(each, cells=False, planned=False)}


def with_all(*parties):
    return {each for each in GROUPS if each >= {*parties}}


def test_the_claims_name_both_mixers_with_the_collector():
    assert undone() == with_all(FIRST, SECOND, COLLECTOR)


@pytest.mark.slow
def test_only_the_groups_that_the_claims_name_link_anything(records, people):
    assert linking(records, people) == undone()


@pytest.mark.slow
def test_a_group_that_links_knows_every_report(records, people):
    right = {(n, p): number for number, each in enumerate(people)
             for n, p in enumerate(each.reports)}  # fmt: skip
    for parties in GROUPS:
        assert linked_by_bytes(records, parties) == (right if parties in undone() else {})


def test_both_mixers_know_who_sent_which_sealed_report_and_not_what_it_says(records):
    known = people_by_stage(records, {FIRST, SECOND})
    assert len(known["release"]) == OF.places * PEOPLE and "file" not in known


# --- parties that do not do their part -----------------------------------------------------------


def not_mixed(pieces, *_):
    """A mixer that does not mix."""
    return pieces


def first_mixer(place):
    """A first mixer that puts each envelope at the place of its person and message."""

    def order(pieces, *_):
        rows = np.concatenate([*pieces])
        yield rows[np.argsort([place(row.tobytes()) for row in rows], kind="stable")]

    return order


def by_arrival(people):
    """The reports of the first message in the order of uploads, the others mixed."""
    known, draw = truth(people), np.random.default_rng(1)

    def place(envelope):
        person, message = known[envelope]
        return draw.random() * PEOPLE if message else person

    return first_mixer(place)


def by_upload(people):
    """Uploads are mixed with each other, and each stays together."""
    known, moved = truth(people), np.random.default_rng(1).permutation(len(people))
    return first_mixer(lambda envelope: moved[known[envelope][0]])


def partly(share):
    """A second mixer that leaves a share of the reports in their places."""

    def order(pieces, width, keystream, disk):
        rows = np.concatenate([*pieces])
        moving = np.random.default_rng(1).permutation(len(rows))[int(share * len(rows)) :]
        rows[moving] = np.concatenate([*mixed([rows[moving]], width, keystream, disk)])
        yield rows

    return order


@pytest.mark.parametrize(
    ("module", "wrong", "gain"),
    [
        (keeper, by_arrival, (INVITER, SECOND, COLLECTOR)),
        *slowly(
            (keeper, by_upload, (SECOND, COLLECTOR)),
            (releasing, lambda _: not_mixed, (FIRST, COLLECTOR)),
            (collections, lambda _: not_mixed, (FIRST, SECOND)),
        ),
    ],
    ids=["by arrival", "by upload", "second mixer", "collector"],
)
def test_a_party_that_does_not_mix_is_noticed(people, tmp_path, monkeypatch, module, wrong, gain):
    monkeypatch.setattr(module, "mixed", wrong(people))
    assert linking(recorded(tmp_path, people), people) == undone() | with_all(*gain)


def test_devices_that_do_not_blind_are_noticed(records, people):
    """What they would ask for: the power of each token."""
    keys = [key.modulus for key in OF.token_keys]
    tokens = {row.inner: row.token for row in records.rows}
    requests = [
        replace(
            TokenRequest.parse(each.pending.request, OF),
            blinded=tuple(
                pow(int.from_bytes(token), EXPONENT, key).to_bytes(256)
                for token, key in zip(
                    [each.upload.entry[32:], *map(tokens.__getitem__, each.pending.inners)],
                    keys,
                    strict=True,
                )
            ),
        )
        for each in people
    ]
    gain = with_all(INVITER, COLLECTOR)
    assert linking(replace(records, requests=requests), people) == undone() | gain


# --- more people ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return asking(tmp_path_factory.mktemp("many"), MANY)


@pytest.mark.slow
def test_of_many_people_nothing_is_linked(many, tmp_path):
    assert linking(recorded(tmp_path, many), many) == undone()


@pytest.mark.slow
def test_a_mixer_that_leaves_a_twentieth_in_place_is_noticed(many, tmp_path, monkeypatch):
    monkeypatch.setattr(releasing, "mixed", partly(0.05))
    assert linking(recorded(tmp_path, many), many) == undone() | with_all(FIRST, COLLECTOR)
