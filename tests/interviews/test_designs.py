"""Designs: their matrices against the formulas of the literature and the outcomes of devices."""

import math
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from incrowd.interviews.designs import DESIGNS, ItemDesign, design_of
from incrowd.interviews.devices import DEVICES

YES_NO = ("no", "yes")
P, Q = F(1, 6), F(2, 3)
# Kind -> a design, and P(second report | no), P(second report | yes), as its authors give them.
BINARY = {
    "warner": ({"p": "1/6"}, (1 - P, P)),
    "forced": ({"yes": "1/6", "no": "1/3"}, (P, 1 - F(1, 3))),
    "unrelated": ({"p": "2/3", "prevalence": "1/6"}, ((1 - Q) * P, Q + (1 - Q) * P)),
    "crosswise": ({"p": "1/6"}, (1 - P, P)),
    "triangular": ({"p": "1/6"}, (P, F(1))),
    "kuk": ({"yes": "2/3", "no": "1/6"}, (P, Q)),
    "mangat": ({"p": "2/3"}, (1 - Q, F(1))),
    "direct": ({}, (F(0), F(1))),
    "matrix": ({"columns": {"no": ["5/6", "1/6"], "yes": ["1/3", "2/3"]}}, (P, Q)),
}


def item(*raw, answers=YES_NO):
    found = ItemDesign(answers, tuple(design_of(each) for each in raw))
    assert not list(found.problems())
    return found


def test_every_design_is_tested():
    assert set(BINARY) == set(DESIGNS)


@pytest.mark.parametrize("kind", BINARY)
def test_matrices_are_those_of_the_literature(kind):
    keys, (of_no, of_yes) = BINARY[kind]
    design = design_of({"kind": kind, **keys})
    assert design.matrix(YES_NO) == ((1 - of_no, 1 - of_yes), (of_no, of_yes))
    again = design_of(design.model_dump(mode="json"))
    assert again == design


@pytest.mark.parametrize("kind", ["warner", "forced", "kuk", "mangat", "matrix"])
def test_a_repeated_design_counts_independent_draws(kind):
    keys, (of_no, of_yes) = BINARY[kind]
    matrix = design_of({"kind": kind, "repeats": 3, **keys}).matrix(YES_NO)
    for column, share in enumerate((of_no, of_yes)):
        law = [F()] * 4
        for draws in product((0, 1), repeat=3):
            law[sum(draws)] += math.prod(
                (share if draw else 1 - share for draw in draws), start=F(1)
            )
        assert [row[column] for row in matrix] == law


def test_forced_response_of_several_answers():
    answers = ("never", "once", "often")
    design = design_of({"kind": "forced", "forced": {"never": "1/10", "often": "2/10"}})
    expected = [[F(8, 10), F(1, 10), F(1, 10)], [0, F(7, 10), 0], [F(2, 10), F(2, 10), F(9, 10)]]
    assert [list(row) for row in design.matrix(answers)] == expected


def test_an_unknown_prevalence_makes_matrices_affine():
    groups = [{"kind": "unrelated", "p": p} for p in ("2/3", "1/3")]
    matrices = item(*groups).matrices
    for theta in (0.0, 0.3, 1.0):
        known = [{**each, "prevalence": theta} for each in groups]
        assert np.allclose(matrices.at(np.array([theta])), item(*known).matrices.base)


@pytest.mark.parametrize(
    ("raw", "ratio", "evidence"),
    [
        ({"kind": "warner", "p": "1/6"}, F(5), (F(5), F(5))),
        ({"kind": "forced", "yes": "1/6", "no": "1/6"}, F(5), (F(5), F(5))),
        ({"kind": "forced", "yes": "1/6", "no": "1/3"}, F(4), (F(5, 2), F(4))),
        ({"kind": "triangular", "p": "1/4"}, None, (None, F(4))),
        ({"kind": "mangat", "p": "3/4"}, None, (None, F(4))),
        ({"kind": "direct"}, None, (None, None)),
        ({"kind": "warner", "p": "1/6", "repeats": 3}, F(125), (F(125), F(125))),
        ({"kind": "unrelated", "p": "1/2", "prevalence": "1/2"}, F(3), (F(3), F(3))),
    ],
)
def test_what_a_report_reveals(raw, ratio, evidence):
    found = item(raw)
    assert (found.ratio, found.evidence) == (ratio, evidence)
    if ratio is None:
        assert found.epsilon == math.inf
    else:
        assert 0 <= F(found.epsilon) - F(math.log(ratio)) < F(1, 10**14)


def test_an_unknown_prevalence_promises_nothing_unless_it_is_expected():
    groups = [{"kind": "unrelated", "p": p} for p in ("2/3", "1/3")]
    assert item(*groups).epsilon == math.inf
    assert item(*({**each, "expected": "1/2"} for each in groups)).ratio == F(5)


@pytest.mark.parametrize("kind", DEVICES)
def test_a_device_realizes_multiples_of_an_outcome(kind):
    device = DEVICES[kind](kind=kind)
    n = device.outcomes
    assert device.realizes(F(n - 1, n)) and not device.realizes(F(1, 2 * n))
    assert device.nearest(F(3, 2 * n)) == (F(1, n), F(2, n))
