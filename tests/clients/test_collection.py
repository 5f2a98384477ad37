"""One collection of two kinds of clients over HTTP: what comes out does not tell them apart."""

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import incrowd
from incrowd.collection import rehearsal
from incrowd.collection.collector.places import CollectorPlaces, load_private
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.parties import ALL_SENT, PARTIES
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.upload import parse_upload
from incrowd.encoding.records import EncodedAnswers
from incrowd.reports.tally import count
from incrowd.survey import Survey
from tests.conftest import slowly
from tests.oracles.javascript import Javascript

SIZES = [200, *slowly(1000)]  # people of each kind
RARE = 1e-6  # a p-value below tells the clients apart: the rate of false alarms, for each of them
OPTIONS, EDGES = "abcd", [0, 20]
WITHIN, BELOW = 8.5, -5  # hours of 90% and 10%: rounded up with chance 0.425, and moved to 0
TRUTH = {
    "smokes": [0.7, 0.3],
    "region": [0.5, 0.3, 0.15, 0.05],
    "hours": [0.6175, 0.3825],
    "daily": [0.05, 0.1, 0.85],  # no, yes, not asked
}
DAILY = {8: "yes", 17: "yes", 19: "no"}  # of 20 people, those who smoke and are not from region a
MEAN, MEAN_OF_NEAREST = 0.9 * WITHIN, 0
CROSSED = "tools", "weekly"
# Shares of the cells of tools x weekly: hammer, saw, file with no and yes; then anything with them.
CELLS = [0.3, 0.2, 0.3, 0.0, 0.0, 0.2, 0.6, 0.4]


def survey(people):
    """A yes or no, cells of one question and of two, numbers that chance rounds, and a condition
    on two questions."""
    smokes = {"id": "smokes", "type": "yesno"}
    region = {"id": "region", "type": "choice", "options": list(OPTIONS)}
    hours = {"id": "hours", "type": "amount", "edges": EDGES}
    tools = {"id": "tools", "type": "multi", "options": ["hammer", "saw", "file"], "at_most": 2}
    weekly = {"id": "weekly", "type": "yesno"}
    daily = {"id": "daily", "type": "yesno", "asked_if": "smokes = yes and region != a"}
    return {
        "name": "Two kinds of clients",
        "crowd": rehearsal.crowd_of(2 * people),
        "privacy": {"epsilon": 4.0, "delta": 1e-6},
        "question": [smokes, region, hours, tools, weekly, daily],
        "message": [
            {"questions": ["smokes"]},
            {"questions": ["region"], "cells": True},
            {"questions": ["hours"]},
            {"questions": list(CROSSED), "cells": True},
            {"questions": ["daily"]},
        ],
    }


def answers(number):
    """Exactly the true shares, for a number of people that 20 divides."""
    crossed = (
        3 * [("hammer;saw", "no")] + 2 * [("hammer", "yes"), ("file", "yes")] + 3 * [("", "no")]
    )
    ends = np.cumsum(np.array(TRUTH["region"]) * 20)
    regions = np.searchsorted(ends, np.arange(number) * 7 % 20, "right")
    return {
        "smokes": [("no", "yes")[i % 10 >= 7] for i in range(number)],
        "region": [OPTIONS[each] for each in regions],
        "hours": [WITHIN if i % 10 else BELOW for i in range(number)],
        "tools": [crossed[i % 10][0] or "none" for i in range(number)],
        "weekly": [crossed[i % 10][1] for i in range(number)],
        "daily": [DAILY.get(i % 20) for i in range(number)],
    }


@dataclass(frozen=True)
class Half:
    """The uploads of one kind of client, as bytes, shape (people, length), and what is in them.

    plaintexts: shape (people, slots, length of a plaintext).
    """

    uploads: np.ndarray
    plaintexts: np.ndarray

    @classmethod
    def of(cls, uploads, bundle, private):
        found = [parse_upload(each, bundle).sealed for each in uploads]
        opened = [
            [list(unseal(one, private, bundle.key, bundle.digest)) for one in sealed]
            for sealed in found
        ]
        shape = len(uploads), -1
        bytes_ = np.frombuffer(b"".join(uploads), np.uint8).reshape(shape)
        return cls(bytes_, np.array(opened, np.uint8))


def p_values(one, other, bundle):
    """Chi-square tests of everything in which the two kinds of clients could differ."""
    size = bundle.sealed_length
    kinds = [half.plaintexts.view(">u1").astype(int) @ _places(half) for half in (one, other)]
    values = {"what is inside": contingency(*(kind.ravel() for kind in kinds))}
    for number in range(len(bundle.plan.messages)):
        own = [half.plaintexts[:, :, 2] == number for half in (one, other)]  # 255 is a dummy
        values[f"message {number}"] = contingency(*(k[o] for k, o in zip(kinds, own, strict=True)))
    for slot in range(bundle.places):
        values[f"slot {slot}"] = contingency(*(kind[:, slot] for kind in kinds))
    dummies = [(half.plaintexts[:, :, 1:3] == 255).all(axis=2).sum(axis=1) for half in (one, other)]
    values["dummies of a person"] = contingency(*dummies)
    for half, name in ((one, "one"), (other, "other")):
        sealed = half.uploads[:, 50:].reshape(-1, size)
        counts = np.apply_along_axis(np.bincount, 0, sealed[:, 7:], minlength=256)
        counts = np.delete(counts, 31, axis=1)  # X25519: the highest bit of a key is 0
        values[f"sealed bytes, {name}"] = stats.chisquare(counts.ravel()).pvalue
        assert (sealed[:, :7] == sealed[0, :7]).all()
    assert (one.uploads[:, :32] == other.uploads[0, :32]).all()
    assert one.uploads.shape[1] == other.uploads.shape[1]
    return values


def _places(half):
    """A plaintext as a number."""
    return 256 ** np.arange(half.plaintexts.shape[2])[::-1]


def contingency(left, right):
    """Whether two samples of small whole numbers have one law; rare values are put together."""
    found, counts = np.unique(np.concatenate([left, right]), return_counts=True)
    common = found[counts >= 20]
    table = np.array([[*((each == value).sum() for value in common)] for each in (left, right)])
    rest = np.array([[len(left)], [len(right)]]) - table.sum(axis=1, keepdims=True)
    table = np.hstack([table, rest])
    table = table[:, table.sum(axis=0) > 0]
    return stats.chi2_contingency(table, correction=False).pvalue if table.shape[1] > 1 else 1.0


def apart(one, other, bundle):
    """What tells the clients apart."""
    return {name for name, p in p_values(one, other, bundle).items() if p < RARE}


def people_for_node(said, codes):
    yes_or_no = {"yes": True, "no": False, None: None}
    given = said | {id: [yes_or_no[e] for e in said[id]] for id in ("smokes", "weekly", "daily")}
    given["tools"] = [each.split(";") if each != "none" else [] for each in said["tools"]]
    rows = zip(*given.values(), strict=True)
    answers = [dict(zip(given, row, strict=True)) for row in rows]
    return [{"answers": a, "code": code} for a, code in zip(answers, codes, strict=True)]


def split(data, length):
    return [data[at : at + length] for at in range(0, len(data), length)]


@dataclass(frozen=True)
class Collected:
    people: int
    bundle: object
    private: object
    opened: object
    node: Half
    python: Half


@pytest.fixture(scope="module", params=SIZES)
def collected(javascript, tmp_path_factory, request):
    """Both halves, sent to one shuffler, released, and opened by a collector."""
    number, folder = request.param, tmp_path_factory.mktemp("two")
    plan, said, sent = incrowd.plan(Survey.model_validate(survey(number))), answers(number), []
    with ExitStack() as running:
        services = PARTIES[1].services
        doors = {name: running.enter_context(rehearsal._door()) for name in services}
        addresses = {name: rehearsal._address(door) for name, door in doors.items()}
        prepared = PARTIES[1].prepare(plan, folder, addresses)
        bundle, collector = prepared.bundle, folder / "collector"
        private = load_private(
            CollectorPlaces(collector).private, bundle
        )  # it is destroyed in the end
        fields = rehearsal._invited(prepared.inviting(), 2 * number)
        processes = [
            running.enter_context(rehearsal._process(service, folder / name, doors[name]))
            for name, service in services.items()
        ]
        codes = [field.decode() for field in fields]
        given = {"link": str(Link(bundle.link_address, bundle.digest)), "send": True}
        given["people"] = people_for_node(said, codes[:number])
        node = javascript("crowd.mjs", given)
        people = EncodedAnswers.of(plan.survey, pa.table(said))
        crowd = send_each(bundle, people, Keeping(sent), codes=fields[number:])
        assert crowd.stored == number and not crowd.refused
        (folder / ALL_SENT).touch()
        opened = collector / "opened" / "release-0"
        rehearsal._wait_for(lambda: (opened / "receipt.json").exists(), processes)
    halves = [Half.of(each, bundle, private) for each in (split(node, len(node) // number), sent)]
    return Collected(number, bundle, private, opened, *halves)


class Keeping(Connection):
    """Keeps the uploads that it sends."""

    def __init__(self, kept):
        super().__init__()
        object.__setattr__(self, "kept", kept)

    def ask(self, method, url, content=b"", **more):
        self.kept.append(content)
        return super().ask(method, url, content, **more)


def test_every_upload_of_both_is_counted(collected):
    receipt, bundle = load_receipt(collected.opened)
    assert receipt.people == receipt.opened_people == 2 * collected.people
    assert sum(receipt.rejected.values()) == 0
    assert receipt.reports == 2 * collected.people * bundle.places


def test_the_estimates_cover_the_truth(collected):
    """All shares are within 5 standard errors (false alarms 3.4e-6); others are not."""
    plan = collected.bundle.plan
    reports = incrowd.load_reports(collected.opened)
    estimates = incrowd.estimate(plan, reports, tables=[[id] for id in TRUTH])
    for table, truth in zip(estimates.tables, TRUTH.values(), strict=True):
        errors = [np.abs(table.estimate - t) / table.standard_error for t in (truth, truth[::-1])]
        assert max(errors[0]) < 5 < max(errors[1])


def test_the_cells_of_two_questions_are_counted(collected):
    """All within 5 standard errors of the noise (false alarms 4.6e-6); as "any" of nobody, not."""
    plan, people = collected.bundle.plan, 2 * collected.people
    counted = count(plan, incrowd.load_reports(collected.opened), [CROSSED])
    declared, *reports = counted.messages[3].tables[CROSSED]
    assert declared == people
    q = plan.messages[3].noise_numerator / 2**32
    cells = (np.array(reports) - people * q) / (1 - 2 * q)
    error = np.sqrt(people * q * (1 - q)) / (1 - 2 * q)
    distances = [np.abs(cells - people * np.array(t)).max() for t in (CELLS, [*CELLS[:6], 0, 0])]
    assert distances[0] < 5 * error < distances[1]


def test_the_mean_of_numbers_is_kept(collected):
    """Within 5 standard errors (false alarms 5.7e-7); that of the nearest edges is another."""
    reports = incrowd.load_reports(collected.opened)
    mean = incrowd.estimate(collected.bundle.plan, reports).amounts["hours"].mean
    assert abs(mean.estimate - MEAN) < 5 * mean.standard_error
    assert abs(mean.estimate - MEAN_OF_NEAREST) > 5 * mean.standard_error


def test_nothing_tells_which_client_sent_which(collected):
    assert apart(collected.node, collected.python, collected.bundle) == set()


DUMMY = "plaintext(DUMMY, new Uint8Array(0), length)"
# A module, a text in it, another in its place, and what then tells the client apart.
WRONG = {
    "no dummies, reports again": (
        "reports.ts",
        "return places",
        "return places.map((each, i) => (each === dummy ? real[i % real.length] : each))",
        "dummies of a person",
    ),
    "a mark in the zeros of a dummy": (
        "reports.ts",
        DUMMY,
        DUMMY.replace("new Uint8Array(0)", "Uint8Array.of(1)"),
        "what is inside",
    ),
    "no random order": (
        "client.ts",
        "randomOrder(size, systemWords).map((at) => reports[start + at])",
        "reports.slice(start, start + size)",
        "slot 0",
    ),
    "a quarter of all cells flipped": (
        "reports.ts",
        "bernoulli(size, noise!, draw)",
        "bernoulli(size, 2 ** 30, draw)",
        "dummies of a person",
    ),
    "no cell for whoever chose none of the options": (
        "cells.ts",
        "return [...numbers(questions), ...any]",
        "return numbers(questions)",
        "message 3",
    ),
    "whoever is not asked says no": (
        "encode.ts",
        "? stateOf(question, NOT_ASKED) : wrong",
        "? setBits(question, 0) : wrong",
        "message 4",
    ),
    "numbers rounded to the nearest edge": (
        "amounts.ts",
        "draw(1)[1] < chance",
        "draw(1)[1] < 2 ** 32 && chance > 2 ** 31",
        "message 2",
    ),
}
# Each takes seconds; all of them slowly.
SHORT = ("numbers rounded to the nearest edge",)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SHORT, *slowly(*(name for name in WRONG if name not in SHORT))])
def test_a_client_with_a_mistake_is_told_apart(collected, tmp_path, name):
    *change, expected = WRONG[name]
    wrong, number = Javascript(tmp_path / "wrong", [change]), collected.people
    bundle = collected.bundle
    given = {"text": bundle.encoded.decode(), "digest": bundle.digest.hex(), "send": False}
    people = people_for_node(answers(number), ["0" * 16] * number)

    def is_detected():
        made = wrong("crowd.mjs", given | {"people": people})
        half = Half.of(split(made, len(made) // number), bundle, collected.private)
        return expected in apart(half, collected.python, bundle)

    # The noise is drawn anew each time, so that a crowd can hide the mistake: three crowds do not.
    assert any(is_detected() for _ in range(3))
