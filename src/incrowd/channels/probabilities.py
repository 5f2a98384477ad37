"""Probabilities as numerators over 2^32, and the search for the one that an epsilon allows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from incrowd.channels.base import Channel
from incrowd.channels.bit_flip import DENOMINATOR
from incrowd.errors import PrivacyError

Some = TypeVar("Some", bound=Channel)


def check_numerator(field: str, numerator: int, low: int = 0, high: int = DENOMINATOR) -> None:
    """Raise PrivacyError unless `numerator` is an integer with low <= numerator <= high."""
    if type(numerator) is not int or not low <= numerator <= high:
        allowed = f"should be an integer numerator over 2^32 from {low} to {high}"
        raise PrivacyError.of(field, numerator, allowed)


def scaled(field: str, probability: float) -> float:
    """`probability` times 2^32, without rounding. Raises PrivacyError unless it is in [0, 1]."""
    if not 0 <= probability <= 1:
        raise PrivacyError.of(field, probability, "should lie between 0 and 1")
    return probability * DENOMINATOR


def towards_half(numerator: float) -> int:
    """The next whole numerator on the way to 1/2."""
    return math.floor(numerator) if numerator > DENOMINATOR // 2 else math.ceil(numerator)


def first_within(epsilon: float, channels: Iterable[Some]) -> Some:
    """The first channel that is epsilon-private by itself and not useless.

    Raises PrivacyError if epsilon is not positive, or smaller than any channel's.
    """
    if not epsilon > 0:
        raise PrivacyError.of("epsilon", epsilon, "should be greater than 0")
    for channel in channels:
        if 0 < channel.epsilon <= epsilon:
            return channel
    allowed = "no multiple of 2^-32 gives so much privacy and any information; use a larger one"
    raise PrivacyError.of("epsilon", epsilon, allowed)
