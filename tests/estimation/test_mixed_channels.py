"""Estimates of every mix of channels, against explicit Kronecker products."""

import math
from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor
from incrowd.accountant.channels.simmons import Simmons
from incrowd.estimation.decoders import decoder, question_decoder
from incrowd.estimation.tables import along_axes
from incrowd.survey import Choice, Multi, YesNo
from tests.conftest import examples
from tests.oracles.axes import axis_of, records_of, with_one

YES_NO = YesNo(id="a")
CHOICES = [Choice(id=f"c{n}", options=tuple(map(str, range(n)))) for n in (2, 3)]
MULTI = Multi(id="m", options=("u", "v"), at_most=1)
CHANNELS = [
    BitFlip.at_least(0.2),
    Bit.from_probabilities(0.1, 0.7),
    Simmons.from_probabilities(0.4, 0.1),
    Rappor.from_probabilities(0.4, 0.1, 0.7),
]
KARY = [(question, KAry.from_probabilities(0.7, len(question.options))) for question in CHOICES]
pairs = st.sampled_from([*product([YES_NO, *CHOICES, MULTI], CHANNELS), *KARY])
mixes = st.lists(pairs, min_size=1, max_size=8).filter(
    lambda mix: sum(question.bits for question, _ in mix) <= 8
)


@given(mixes, st.integers(0, 10**6))
@examples(40)
def test_axis_by_axis_is_the_explicit_kronecker_product_for_every_mix(mix, seed):
    """Oracle: the Kronecker product of the laws of all reports, written out; a random crowd of
    records. The estimate of the exact law is the crowd's own table, and E[g^2] is that of the
    explicit reports. `reported` is the same law for the counts of set bits."""
    laws = [axis_of(*pair) for pair in mix]
    sizes = [law.shape[1] for _, law, _ in laws]
    crowd = np.random.default_rng(seed).dirichlet(np.ones(math.prod(sizes)))
    shown = reduce(np.kron, [law for _, law, _ in laws]) @ crowd
    table = reduce(np.kron, [meaning for _, _, meaning in laws]) @ crowd
    shape = [len(reports) for reports, _, _ in laws]
    seen = along_axes([with_one(reports) for reports, _, _ in laws], shown.reshape(shape))
    decoders = [question_decoder(*pair) for pair in mix]
    found = along_axes([d.mean for d in decoders], seen)
    assert np.allclose(found.ravel(), table, rtol=0, atol=1e-9)
    each = [d.mean @ with_one(reports) for d, (reports, _, _) in zip(decoders, laws, strict=True)]
    assert np.allclose(
        along_axes([d.square for d in decoders], seen).ravel(),
        reduce(np.kron, [g**2 for g in each]) @ shown,
        rtol=1e-9,
    )
    sent = along_axes([with_one(records_of(q)[0]) for q, _ in mix], crowd.reshape(sizes))
    assert np.allclose(
        along_axes([c.reported(q.domain.bits) for q, c in mix], sent), seen, atol=1e-12
    )


@pytest.mark.parametrize(("question", "channel"), [*product([YES_NO, MULTI], CHANNELS), *KARY])
def test_a_decoder_undoes_what_a_channel_does(question, channel):
    """C^-1 C = I for the counts of set bits; with half the noise it is not."""
    honest = decoder(question, np.eye(2)).mean
    found = question_decoder(question, channel).mean @ channel.reported(question.domain.bits)
    assert np.allclose(found[:, 1:], honest[:, 1:], atol=1e-12)
    assert np.allclose(found[:, 0], honest[:, 0], atol=1e-12)
    if not isinstance(channel, KAry):
        half = np.linalg.inv((channel.matrix + np.eye(2)) / 2)
        wrong = decoder(question, half).mean @ channel.reported(question.domain.bits)
        assert not np.allclose(wrong, honest, atol=0.02)
