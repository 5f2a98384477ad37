"""Channels of every kind, drawn at random, and their exact probabilities."""

from fractions import Fraction

from hypothesis import strategies as st

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.channels.k_ary import KAry

HALF = DENOMINATOR // 2

inner = st.integers(1, DENOMINATOR - 1)

bits = st.builds(Bit, st.integers(0, DENOMINATOR), st.integers(0, DENOMINATOR))

flips = st.builds(BitFlip, st.integers(1, HALF - 1))

OPTIONS = st.integers(2, 6)


@st.composite
def k_ary(draw, options=OPTIONS):
    number = draw(options)
    return KAry(draw(st.integers(-(-DENOMINATOR // number), DENOMINATOR - 1)), number)


def fractions_of(channel):
    """The exact matrix of any channel as nested lists of fractions."""
    if isinstance(channel, BitFlip):
        return fractions_of(Bit.from_flip(channel))
    return [[Fraction(n, channel.denominator) for n in row] for row in channel.numerators]
