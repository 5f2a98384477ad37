"""Any channel in a report: against explicit matrices, and against every small collection.

Oracle: the Kronecker matrix of all reports and all allowed records. From it the blanket of every
ordered pair of records, the local delta, and, person by person, the law of every collection.
"""

import math
from functools import reduce
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.accountant.certificates import certify, privacy_curve
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor, TwoStage
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from incrowd.accountant.pairs import FEW_CLASSES, _blanket_pairs, _number
from incrowd.accountant.ratios import Ratios, merged
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema
from incrowd.accountant.worst import delta
from incrowd.errors import PrivacyError
from tests.accountant.conftest import choice, mixes
from tests.conftest import examples
from tests.oracles.matrices import matrix

ROUNDING = 1e-9


# The oracle


def blanket_by_matrix(parts, crowd, epsilon):
    """The largest blanket delta over all ordered pairs of records; equal laws are tried once.

    Its lower bound and its estimate.
    """
    sent = matrix(parts)
    cover = sent.min(axis=1)
    low, best, seen = 0.0, 0.0, set()
    for x, other in permutations(range(sent.shape[1]), 2):
        ratios = Ratios(
            *(np.log(column) for column in (sent[:, x] / cover, sent[:, other] / cover)),
            np.log(cover),
        )
        ratios = merged(ratios)
        key = tuple(
            np.round(np.concatenate([ratios.log_a, ratios.log_b, ratios.log_mass]), 7) + 0.0
        )
        if key not in seen:
            seen.add(key)
            found = delta(ratios, crowd, epsilon)
            low, best = max(low, found.lower), max(best, found.estimate)
    return low, best


def largest_delta(sent, crowd, epsilon):
    """The largest delta over all collections and pairs of records."""
    return max(
        np.maximum(laws[x] - math.exp(epsilon) * laws[other], 0).sum()
        for laws in laws_of_collections(sent, crowd)
        for x, other in permutations(range(len(laws)), 2)
    )


def laws_of_collections(sent, crowd):
    """For all answers of the others: the laws of what is collected, one for each own record."""
    kinds, records = sent.shape
    ordered = np.array(list(product(range(kinds), repeat=crowd)))
    _, group = np.unique(np.sort(ordered, axis=1), axis=0, return_inverse=True)
    for others in combinations_with_replacement(range(records), crowd - 1):
        rest = reduce(np.multiply.outer, (sent[:, record] for record in others)).ravel()
        yield [
            np.bincount(group.ravel(), np.outer(sent[:, x], rest).ravel()) for x in range(records)
        ]


# The blanket


@pytest.mark.slow
@given(mixes(5), st.sampled_from([3, 40, 1000]), st.floats(0.0, 2.0))
@examples(20)
def test_the_blanket_is_that_of_the_explicit_matrices(parts, crowd, epsilon):
    """All pairs of records of any mix: none is worse than the classes that are tried.

    Where the classes are too many, a few that cover them are tried, and the bound is looser.
    """
    schema = Schema.of(parts)
    low, wanted = blanket_by_matrix(parts, crowd, epsilon)
    found = certify("blanket", schema, crowd, epsilon).delta
    assert found.upper >= low * (1 - ROUNDING) - 1e-300
    if _number(schema.parts, _blanket_pairs) <= FEW_CLASSES:
        assert found.estimate == pytest.approx(wanted, rel=1e-4, abs=1e-13)


@pytest.mark.parametrize(
    "part",
    [
        Part(FREE_BIT, Bit.from_probabilities(0.1, 0.7)),
        Part(choice(4), Bit.from_probabilities(0.2, 0.5)),
        Part(Domain(5, 0, 3), BitFlip.at_least(0.3)),
        Part(Domain(5, 0, 2), Simmons.from_probabilities(0.6, 0.2)),
        Part(choice(4), KAry.from_probabilities(0.6, 4)),
    ],
)
def test_a_single_draw_is_seen_exactly(part):
    """crowd = 2 has few ways to fall, so that the engine adds them all up."""
    _, wanted = blanket_by_matrix([part], 2, 0.3)
    assert certify("blanket", Schema.of([part]), 2, 0.3).delta.estimate == pytest.approx(
        wanted, rel=1e-9
    )


# Every small collection


SMALL = [
    ([Part(FREE_BIT, Bit.from_probabilities(0.1, 0.7))], 4),
    ([Part(FREE_BIT, Bit.from_probabilities(0.8, 0.3))], 4),
    ([Part(FREE_BIT, Simmons.from_probabilities(0.5, 0.1))] * 2, 3),
    (
        [
            Part(FREE_BIT, Rappor.from_probabilities(0.3, 0.4, 0.8)),
            Part(FREE_BIT, BitFlip.at_least(0.2)),
        ],
        3,
    ),
    ([Part(choice(3), KAry.from_probabilities(0.7, 3))], 4),
    ([Part(choice(4), KAry.from_probabilities(0.5, 4))], 3),
    ([Part(choice(3), Bit.from_probabilities(0.2, 0.6))], 3),
    ([Part(Domain(3, 0, 2), Bit.from_probabilities(0.1, 0.4))], 3),
    ([Part(choice(3), KAry.from_probabilities(0.6, 3)), Part(FREE_BIT, BitFlip.at_least(0.25))], 2),
    (
        [
            Part(Domain(3, 0, 2), BitFlip.at_least(0.2)),
            Part(FREE_BIT, Warner.from_probability(0.3)),
        ],
        2,
    ),
]


@pytest.mark.parametrize(("parts", "crowd"), SMALL)
def test_no_small_collection_exceeds_the_certificate(parts, crowd):
    """Exact deltas of all collections; a claim at an epsilon that is too small must fail."""
    report, sent = Schema.of(parts), matrix(parts)
    for epsilon in (0.1, 0.5, 1.0):
        exact = largest_delta(sent, crowd, epsilon)
        assert exact <= certify("blanket", report, crowd, epsilon).delta.upper * (1 + ROUNDING)
    wrong = certify("blanket", report, crowd, report.local_epsilon * 0.999).delta.upper
    assert largest_delta(sent, crowd, 0.0) > wrong


@given(mixes(2.6), st.integers(2, 3), st.floats(0.0, 1.5))
@examples(40)
def test_no_small_collection_of_any_mix_exceeds_the_certificate(parts, crowd, epsilon):
    exact = largest_delta(matrix(parts), crowd, epsilon)
    found = certify("blanket", Schema.of(parts), crowd, epsilon).delta.upper
    assert exact <= found * (1 + ROUNDING) + 1e-14


# Wrong use


@pytest.mark.parametrize(
    ("wrong", "field", "says"),
    [
        (lambda: Schema.of([Part(FREE_BIT, Bit(0, 2**31))]), "channel", "add noise"),
        (
            lambda: Schema.of([Part(choice(3), KAry.from_probabilities(0.5, 4))]),
            "channel",
            "4 options",
        ),
        (
            lambda: Schema.of([Part(Domain(3, 0, 2), KAry.from_probabilities(0.5, 3))]),
            "channel",
            "choice",
        ),
        (
            lambda: Schema.of([Part(choice(3), TwoStage(*[KAry.from_probabilities(0.5, 3)] * 2))]),
            "channel",
            "k-ary",
        ),
        (lambda: Schema.of([]), "bits", "1 to 64"),
        (
            lambda: certify("outlier", Schema.uniform([FREE_BIT], Bit(2**30, 2**31)), 90, 1.0),
            "analysis",
            "use shuffle or local",
        ),
        (
            lambda: certify("exact", Schema.uniform([choice(3)], KAry(2**31, 3)), 9, 1.0),
            "analysis",
            "use shuffle or local",
        ),
        (
            lambda: certify(
                "blanket", Schema.uniform([Domain(600, 0, 250)], BitFlip(2**30)), 9, 1.0
            ),
            "options",
            "kinds of reports",
        ),
    ],
)
def test_wrong_use_says_what_works(wrong, field, says):
    with pytest.raises(PrivacyError) as error:
        wrong()
    (problem,) = error.value.problems
    assert problem.field == field and says in str(error.value)


def test_curves_of_other_channels_compose():
    """Two reports of k-ary response, explicitly: every pair of small collections of two people."""
    channel, crowd = KAry.from_probabilities(0.6, 3), 3
    sent = channel.matrix
    curve = privacy_curve(
        "blanket", Contribution.of(Schema.uniform([choice(3)], channel), 2), crowd
    )
    for epsilon in (0.2, 0.6):
        assert largest_delta_of_two(sent, crowd, epsilon) <= curve.delta(epsilon)


def largest_delta_of_two(sent, crowd, epsilon):
    """Two collections, each of everybody's reports: the largest delta over all answers."""
    both = ([np.outer(law, law) for law in laws] for laws in laws_of_collections(sent, crowd))
    return max(
        np.maximum(laws[x] - math.exp(epsilon) * laws[other], 0).sum()
        for laws in both
        for x, other in permutations(range(len(laws)), 2)
    )
