"""Parts of a report: what they tell without a crowd, their farthest pairs, their flips."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor, TwoStage
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Schema, as_flip, farthest
from tests.accountant.conftest import DOMAINS, choice, mixes, parts_of_any_kind
from tests.conftest import examples
from tests.oracles.matrices import matrix, matrix_of, records_of

# Local


def local_by_matrix(sent, epsilon):
    here, there = sent[:, :, None], sent[:, None, :]
    return np.maximum(here - math.exp(epsilon) * there, 0).sum(axis=0).max()


@given(mixes(5), st.floats(0.0, 3.0))
@examples(80)
def test_local_is_that_of_the_explicit_matrices(parts, epsilon):
    report, sent = Schema.of(parts), matrix(parts)
    logs = np.log(sent)
    wanted = (logs.max(axis=1) - logs.min(axis=1)).max()
    assert wanted * (1 - 1e-13) <= report.local_epsilon <= wanted * (1 + 1e-12) + 1e-15
    found = certify("local", report, 2, epsilon).delta
    assert found.estimate == pytest.approx(local_by_matrix(sent, epsilon), rel=1e-9, abs=1e-14)


@pytest.mark.slow
@given(parts_of_any_kind, parts_of_any_kind, st.integers(1, 2), st.floats(0.0, 2.0))
@settings(max_examples=10, deadline=None)
def test_local_of_several_reports_is_one_of_all_parts(one, other, copies, epsilon):
    sent = Contribution.of(Schema.of([one]), copies).also(Contribution.of(Schema.of([other])))
    whole = matrix([one] * copies + [other])
    if copies == 2:  # a person has one answer, however often it is sent
        first = matrix([one])
        twice = np.stack([np.kron(column, column) for column in first.T], axis=1)
        whole = np.kron(twice, matrix([other]))
    found = certify("local", sent, 2, epsilon).delta.estimate
    exact = local_by_matrix(whole, epsilon)
    assert found >= exact - 1e-12  # copies may take different pairs in the bound, not in life
    if copies == 1:
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-14)


# Parts


@pytest.mark.parametrize("domain", [*DOMAINS, Domain(6, 2, 4), Domain(5, 3, 3)])
def test_farthest_pairs_by_listing(domain):
    apart = {
        (
            sum(a > b for a, b in zip(x, y, strict=True)),
            sum(a < b for a, b in zip(x, y, strict=True)),
        )
        for x, y in product(records_of(domain), repeat=2)
    }
    largest = {
        (u, v)
        for u, v in apart
        if not any((a >= u and b >= v and (a, b) != (u, v)) for a, b in apart)
    }
    assert set(farthest(domain)) == largest
    assert max(u + v for u, v in largest) == domain.distance


@given(parts_of_any_kind)
@examples(60)
def test_log_phi_is_the_largest_chi_square(part):
    sent = matrix_of(part)
    chi = (sent[:, :, None] ** 2 / sent[:, None, :]).sum(axis=0).max()
    assert part.log_phi == pytest.approx(math.log(chi), abs=1e-12)


def test_as_flip_keeps_what_a_symmetric_channel_tells():
    flip = BitFlip.at_least(0.3)
    assert as_flip(flip) == flip
    assert as_flip(Bit.from_flip(flip)) == flip
    assert as_flip(Warner.from_probability(0.3)) == as_flip(Warner.from_probability(0.7)) == flip
    assert as_flip(Rappor.one_time(0.6)) == flip
    assert as_flip(Simmons.from_probabilities(0.6)) == flip
    assert as_flip(Bit.from_probabilities(0.3, 0.3)) is None
    assert as_flip(Bit.from_probabilities(0.3, 0.6)) is None
    assert as_flip(Simmons.from_probabilities(0.5, 0.2)) is None
    assert as_flip(KAry.from_probabilities(0.5, 2)) is None
    two_stage = TwoStage(Bit.from_flip(flip), Bit.from_flip(BitFlip(3)))
    assert as_flip(two_stage) is None and two_stage.alike  # 2^-64 are no 2^-32
    assert not Simmons.from_probabilities(0.5, 0.2).alike


def test_a_symmetric_device_is_worth_its_flip():
    flip = BitFlip.at_least(0.3)
    wanted = certify("blanket", Schema.uniform([choice(3), FREE_BIT], flip), 900, 0.7).delta
    for device in (Bit.from_flip(flip), Warner.from_probability(0.3), Rappor.one_time(0.6)):
        found = certify("blanket", Schema.uniform([choice(3), FREE_BIT], device), 900, 0.7).delta
        assert found.estimate == pytest.approx(wanted.estimate, rel=1e-9)


def test_a_channel_that_tells_nothing_costs_nothing():
    silent = Schema.uniform([FREE_BIT], Bit.from_probabilities(0.4, 0.4))
    assert certify("blanket", silent, 100, 0.0).delta.upper < 1e-12
    assert silent.local_epsilon == 0.0
    loud = Contribution.of(Schema.uniform([FREE_BIT], BitFlip.at_least(0.2)))
    both = certify("blanket", loud.also(Contribution.of(silent, 3)), 500, 0.5).delta.upper
    alone = certify("blanket", loud, 500, 0.5).delta
    assert alone.lower <= both <= 1.05 * alone.upper
