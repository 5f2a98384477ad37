"""Everything that three people and two services do, enumerated with the real code: what the
collector, the shuffler, and readers see, and the exact delta of a changed answer.

Devices make their plaintexts, the shuffler its invented reports, and the collector opens, counts
and writes. The words from which both services draw are those of every number of a small law, each
with its probability; only the sealing is left out. The laws themselves are enumerated in
tests/accountant.
"""

import math
import os
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from incrowd.accountant import AdditiveNoise, certify
from incrowd.collection.collector import collections, noise, receipt
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.opening import Opener
from incrowd.collection.device.sending import plaintexts
from incrowd.collection.mixer import inventing
from incrowd.collection.protocol.bundle import LANE_BYTES
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.taking import Shelf
from incrowd.encoding.records import EncodedAnswers
from incrowd.plans.sent import sent, sent_by
from tests.oracles.make_vectors import RECEIVER
from tests.oracles.noisy_releases import bundle_of, containing, plan_of, unsealing

LAW = AdditiveNoise((1 << 63, 1 << 62))  # of -1, 0, 1: a quarter, a half, a quarter
ALPHAS = [Fraction(3, 2), Fraction(5, 2), Fraction(4), Fraction(10)]  # e^epsilon
WITHIN = 1e-4  # of what a lattice of losses adds to delta
LONE = {"id": "a", "type": "yesno"}
OTHER = {"id": "b", "type": "yesno"}
THREE = {"id": "c", "type": "choice", "options": ["x", "y", "z"]}
MULTI = {"id": "d", "type": "multi", "options": ["x", "y"], "at_most": 2}


class Kind(NamedTuple):
    """Messages by their questions, and all answers of a person. strata: of the release, if there
    are several in the bundle."""

    questions: list
    messages: list
    answers: list
    strata: tuple = ("all",)


def answers_of(**given):
    return [dict(zip(given, each, strict=True)) for each in product(*given.values())]


YES_NO = ["no", "yes"]
KINDS = {
    "a lone bit": Kind([LONE], [("a",)], answers_of(a=YES_NO)),
    "two cells, each in a lane": Kind([MULTI], [("d",)], answers_of(d=["x", "y", "x;y", "none"])),
    "three cells": Kind([THREE], [("c",)], answers_of(c=["x", "y", "z"])),
    "a lone bit in a stratum": Kind([LONE], [("a",)], answers_of(a=YES_NO), ("n", "s")),
    "two tables sharing a question": Kind(
        [LONE, OTHER], [("a",), ("a", "b")], answers_of(a=YES_NO, b=YES_NO)
    ),
}


class Words:
    """A keystream of words that were chosen, in turn."""

    def __init__(self, words):
        self.left = iter(words)

    def words(self, count):
        return np.array([next(self.left) for _ in range(count)], np.uint64)


def word(number):
    """The first word that draws a number."""
    return sum(LAW.whole[: number + LAW.reach])


def drawn(cells):
    """Every draw of a service for all cells, with its probability."""
    numbers = range(-LAW.reach, LAW.reach + 1)
    for z in product(numbers, repeat=cells):
        yield z, Fraction(math.prod(LAW.whole[n + LAW.reach] for n in z), 1 << 64 * cells)


class Path:
    """The path of three people's answers: from the devices to what is published."""

    def __init__(self, kind, folder):
        questions, messages, self.answers, strata = KINDS[kind]
        self.plan = plan_of(*messages, law=LAW, questions=questions)
        self.bundle, self.folder = bundle_of(self.plan, strata=strata), folder
        self.stratum, self.number = len(strata) - 1, 0
        self.cells = sum(message.record_bits for message in self.plan.messages)
        self.device = {tuple(each.values()): self._sent(each) for each in self.answers}

    def _sent(self, answers):
        table = pa.table({id: [answer] for id, answer in answers.items()})
        person = EncodedAnswers.of(self.plan.survey, table)
        return plaintexts(self.bundle, person, Words([]))

    def in_lanes(self, people, z1):
        """The plaintexts of each lane of a release, in an order without meaning."""
        lanes = [[] for _ in self.bundle.lanes]
        for answers in people:
            for lane, plain in zip(lanes, self.device[tuple(answers.values())], strict=True):
                lane.append(plain)
        size = LANE_BYTES + self.bundle.shape.length
        for rows in inventing._pieces(self.bundle, Words(map(word, z1))):
            for at in range(0, len(rows), size):
                lane = int.from_bytes(rows[at : at + LANE_BYTES])
                lanes[lane].append(rows[at + LANE_BYTES : at + size])
        return [sorted(plain) for plain in lanes]

    def written(self, people, z1, z2):
        """All that the collector writes, by the names of the files."""
        data, contents = containing(
            self.bundle, len(people), self.in_lanes(people, z1), self.stratum
        )
        words, starts = list(map(word, z2)), [0]
        for message in self.plan.messages:
            starts.append(starts[-1] + message.record_bits)
        self.number += 1
        place = self.folder / str(self.number)
        place.mkdir()
        (place / "release").write_bytes(data)
        signed, start = Signed.parse(Header, data)
        with unsealing(contents), pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: None)
            patch.setattr(noise, "_stream", lambda _, __, number: Words(words[starts[number] :]))
            shelf, output = Shelf(Header, place), place / "opened"
            given = place / "release", start, signed, self.bundle, RECEIVER, output
            open_release(*given, workers=1, shelf=shelf)
        return tuple(sorted((path.name, path.read_bytes()) for path in output.iterdir()))


def law_of(outcomes):
    law = defaultdict(Fraction)
    for outcome, chance in outcomes:
        law[outcome] += chance
    return law


def collector(path, people):
    """It sees what the sealed reports of each lane contain, and knows its own noise."""
    return law_of((str(path.in_lanes(people, z1)), chance) for z1, chance in drawn(path.cells))


def shuffler(path, people):
    """It knows its own noise, here the largest of all, and reads what is written."""
    known = [LAW.reach] * path.cells
    return law_of((path.written(people, known, z2), chance) for z2, chance in drawn(path.cells))


def readers(path, people):
    """They read what is written."""
    every = list(drawn(path.cells))
    return law_of((path.written(people, z1, z2), p * q) for z1, p in every for z2, q in every)


def delta(one, other, alpha):
    """The larger delta of the two orders, at the epsilon ln(alpha)."""
    return max(
        sum(max(Fraction(0), chance - alpha * b.get(outcome, Fraction(0))) for outcome, chance in a)
        for a, b in ((one.items(), other), (other.items(), one))
    )


def certified(plan, view, alpha):
    """The certificate; readers face both noises, though they are promised that of one."""
    if view == "readers":
        privacy = plan.survey.privacy.model_copy(update={"service_epsilon": 9.0})
        survey = plan.survey.model_copy(update={"privacy": privacy})
        seen = sent(survey, plan.messages, view=view)
    else:
        seen = sent_by(plan, view)
    return certify("shuffle", seen, None, math.log(alpha)).delta.upper


def worst(path, sees, crowds):
    """The largest delta of two answers of one person, at each alpha."""
    found = dict.fromkeys(ALPHAS, 0.0)
    for others in crowds:
        laws = [sees(path, [*others, answers]) for answers in path.answers]
        for one, other in combinations(laws, 2):
            for alpha in ALPHAS:
                found[alpha] = max(found[alpha], float(delta(one, other, alpha)))
    return found


def crowds_of(answers, all_of_them):
    every = list(combinations_with_replacement(answers, 2))
    return every if all_of_them else every[:1]


slow = pytest.mark.slow
CASES = [
    ("a lone bit", collector, "service", True),
    ("a lone bit", shuffler, "service", True),
    ("a lone bit", readers, "readers", True),
    ("a lone bit in a stratum", shuffler, "service", True),
    ("two cells, each in a lane", collector, "service", True),
    ("two cells, each in a lane", shuffler, "service", False),
    ("three cells", collector, "service", True),
    pytest.param("two cells, each in a lane", readers, "readers", False, marks=slow),
    pytest.param("three cells", shuffler, "service", True, marks=slow),
    pytest.param("two tables sharing a question", collector, "service", True, marks=slow),
    pytest.param("two tables sharing a question", shuffler, "service", False, marks=slow),
]


@pytest.mark.parametrize(("kind", "sees", "view", "all_of_them"), CASES)
def test_each_party_learns_exactly_what_is_certified(tmp_path, kind, sees, view, all_of_them):
    path = Path(kind, tmp_path)
    found = worst(path, sees, crowds_of(path.answers, all_of_them))
    for alpha, true in found.items():
        bound = certified(path.plan, view, alpha)
        assert true <= bound * (1 + 1e-12)
        assert bound - true <= WITHIN


# Services that show too much.


def exceeds(path, sees, view):
    found = worst(path, sees, crowds_of(path.answers, all_of_them=False))
    return any(true > certified(path.plan, view, a) + WITHIN for a, true in found.items())


def test_a_number_of_dummies_in_the_receipt_shows_the_answer(tmp_path, monkeypatch):
    """The shuffler knows how many reports it invented; the rest are people."""
    right, opened = collections.receipt_of, []

    def counted(self, number, rows):
        piece = of_lane(self, number, rows)
        opened.append(piece.opened - int(piece.cells.sum()))
        return piece

    of_lane = Opener._of_lane
    monkeypatch.setattr(Opener, "_of_lane", counted)
    monkeypatch.setattr(receipt, "_fit_lanes", lambda *_: True)
    path = Path("a lone bit", tmp_path)
    assert not exceeds(path, shuffler, "service")
    monkeypatch.setattr(
        collections, "receipt_of", lambda *given: right(*given[:4], opened[-1:], given[5])
    )
    assert exceeds(path, shuffler, "service")


def test_published_counts_that_are_limited_show_no_more_but_a_refusal_does(tmp_path, monkeypatch):
    """A limit is post-processing of what is published. A check of the counts before the noise is
    not: the shuffler invents so many that it fails if Ann is in the cell."""
    right = collections.published

    def checked(counts, law, private, header, message):
        if counts.max() > header.people + law.reach:  # more reports than people
            return np.zeros_like(counts)
        return right(counts, law, private, header, message)

    monkeypatch.setattr(collections, "published", lambda *given: right(*given).clip(0))
    path = Path("a lone bit", tmp_path)
    assert not exceeds(path, shuffler, "service")
    monkeypatch.setattr(collections, "published", checked)
    yes = [{"a": "yes"}, {"a": "yes"}]
    laws = [shuffler(path, [*yes, answers]) for answers in path.answers]
    assert delta(*laws, ALPHAS[0]) > certified(path.plan, "service", ALPHAS[0]) + WITHIN
