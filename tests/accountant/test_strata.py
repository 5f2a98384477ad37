"""The guarantee of strata is that of the smallest crowd: by enumeration of all tiny collections."""

from itertools import product

import numpy as np
import pytest

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.planner.plan import make_plan
from incrowd.survey import Survey
from tests.oracles.crowds import deltas, joined

EPSILON, NOISE = 0.6, BitFlip.at_least(0.2)
BIT = np.asarray(NOISE.matrix)  # P[report, answer]


def law(answers, noise):
    """The law of how many reports of some people are 0."""
    counts = np.zeros(len(answers) + 1)
    counts[0] = 1.0
    for answer in answers:
        counts = joined(counts, noise[:, answer])
    return counts


def published(people, groups, noise):
    """The law of all that is published: the reports of each release, as (stratum, answer) rows."""
    total = np.ones(1)
    for group in groups:
        total = np.outer(total, law([x for s, x in people if s in group], noise)).ravel()
    return total


def worst(sizes, groups, epsilon=EPSILON, noise=BIT):
    """The largest delta over all answers, of whoever is in stratum 0 and changes her own."""
    where = np.repeat(np.arange(len(sizes)), sizes)
    found = 0.0
    for others in product((0, 1), repeat=len(where) - 1):
        yes, no = (
            published(list(zip(where, (own, *others), strict=True)), groups, noise)
            for own in (1, 0)
        )
        for one, other in ((yes, no), (no, yes)):
            found = max(found, np.maximum(one - np.exp(epsilon) * other, 0).sum())
    return float(found)


def crowd(people, epsilon=EPSILON):
    """The largest delta of one crowd, enumerated elsewhere."""
    return max(float(each.max()) for each in deltas(BIT, people, epsilon))


@pytest.mark.parametrize("sizes", [(3, 2), (2, 3), (4, 4), (2, 2, 3)])
def test_a_stratum_has_the_guarantee_of_its_own_crowd_and_no_more(sizes):
    """Whatever the others are, and however many: exactly that of the stratum she is in."""
    alone = [(s,) for s in range(len(sizes))]
    assert worst(sizes, alone) == pytest.approx(crowd(sizes[0]), rel=1e-9)
    # The wrong claim, that all people together are the crowd, would be refused here.
    assert worst(sizes, alone) > crowd(sum(sizes)) * 1.05


@pytest.mark.parametrize("sizes", [(1, 2), (2, 3)])
def test_merged_strata_have_the_guarantee_of_all_of_them(sizes):
    together = worst(sizes, [tuple(range(len(sizes)))])
    assert together == pytest.approx(crowd(sum(sizes)), rel=1e-9)


@pytest.mark.parametrize(("crowd", "sizes"), [(4, (4, 3)), (4, (5, 2)), (3, (3, 4))])
def test_a_plan_keeps_its_promise_in_every_stratum_as_large_as_its_crowd(crowd, sizes):
    """The noise of a real plan. A smaller stratum by itself would break the promise."""
    open_question = {"id": "s", "type": "choice", "options": ["a", "b"], "open": True}
    raw = {"name": "tiny", "crowd": crowd, "privacy": {"epsilon": 0.5, "delta": 0.1}}
    raw |= {"question": [open_question, {"id": "x", "type": "yesno"}]}
    made = make_plan(Survey.of(raw))
    noise = np.asarray(made.messages[0].noise.matrix)
    assert made.guarantee.crowd == crowd
    assert worst(sizes, [(0,), (1,)], 0.5, noise) <= made.guarantee.certified_delta <= 0.1
    assert worst((crowd - 2 or 1, 6), [(0,), (1,)], 0.5, noise) > 0.1


def test_what_is_deleted_tells_nothing():
    assert worst((2, 3), [(1,)]) == 0.0


def test_a_larger_crowd_is_never_worse():
    """So the promise of the smallest released stratum holds in each."""
    falling = [crowd(people) for people in range(2, 9)]
    assert falling == sorted(falling, reverse=True)


def test_an_open_answer_is_not_protected():
    """Who changes it is in another stratum, and the numbers of people tell."""
    before, after = [(0, 1), (0, 0), (1, 1)], [(1, 1), (0, 0), (1, 1)]
    sizes = [[sum(s == g for s, _ in people) for g in (0, 1)] for people in (before, after)]
    assert sizes[0] != sizes[1]
