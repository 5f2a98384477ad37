"""Reports of every kind, written shortly, and channels of any kind drawn at random."""

import math

from hypothesis import strategies as st

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor, TwoStage
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema


def flip(q):
    return BitFlip.at_least(q)


def free(q, bits=1):
    return Schema.uniform([FREE_BIT] * bits, flip(q))


def choice(options):
    return Domain(options, 1, 1)


def everything(*reports):
    """A contribution, from pairs of a schema and its copies."""
    first, *others = (Contribution.of(schema, copies) for schema, copies in reports)
    for sent in others:
        first = first.also(sent)
    return first


def schema(q, *domains):
    return Schema.uniform(domains, BitFlip.at_least(q))


def a_person(bounds, crowd):
    """Bounds of what a crowd's sum may be, for each person of it."""
    return DeltaBounds(bounds.lower / crowd, bounds.estimate / crowd, bounds.upper / crowd)


def same_noise(domains, copies=1):
    """The family of reports with one noise on every bit."""
    return lambda flip: Contribution.of(Schema.uniform(domains, flip), copies)


probabilities = st.integers(1, 19).map(lambda n: n / 20)
flips = st.integers(1, 19).map(lambda n: BitFlip.at_least(n / 40))
bits = st.tuples(probabilities, probabilities).map(lambda two: Bit.from_probabilities(*two))
devices = st.one_of(
    flips,
    bits,
    probabilities.filter(lambda a: a != 0.5).map(Warner.from_probability),
    st.tuples(probabilities, probabilities).map(lambda two: Simmons.from_probabilities(*two)),
    st.tuples(probabilities, probabilities, probabilities).map(
        lambda three: Rappor.from_probabilities(*three)
    ),
    st.tuples(bits, bits).map(lambda two: TwoStage(*two)),
)
k_aries = st.tuples(st.integers(2, 4), st.integers(11, 19)).map(
    lambda two: KAry.from_probabilities(two[1] / 20, two[0])
)
DOMAINS = [
    FREE_BIT,
    choice(2),
    choice(3),
    Domain(2, 0, 1),
    Domain(3, 0, 1),
    Domain(3, 0, 2),
    Domain(3, 0, 3),
    Domain(3, 1, 2),
    Domain(4, 0, 2),
    Domain(4, 0, 3),
]
parts_of_any_kind = st.one_of(
    st.tuples(st.sampled_from(DOMAINS), devices).map(lambda two: Part(*two)),
    k_aries.map(lambda channel: Part(choice(channel.options), channel)),
)


def size(parts):
    """Bits of the reports, about."""
    return sum(
        math.log2(p.channel.options) if isinstance(p.channel, KAry) else p.domain.bits
        for p in parts
    )


def mixes(most_bits):
    """Lists of parts; sometimes one of them twice."""
    lists = st.lists(parts_of_any_kind, min_size=1, max_size=3)
    doubled = st.tuples(lists, st.booleans()).map(lambda two: two[0] + two[0][:1] * two[1])
    return doubled.filter(lambda parts: size(parts) <= most_bits)
