"""How the papers choose the noise: the smallest at which a left side is at most lambda."""

from __future__ import annotations

from collections.abc import Callable

from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip


def check_limit(limit: float) -> None:
    """Raise PrivacyError unless lambda = e^epsilon is above 1."""
    if not limit > 1:
        raise ValueError(f"lambda: got {limit}; should be greater than 1")


def smallest_noise(left_side: Callable[[BitFlip], float], limit: float) -> BitFlip:
    """Return the smallest noise n / 2^32 with left_side(noise) <= limit, by bisection over n.

    left_side: falls as the noise rises; limit: lambda = e^epsilon, above 1. Raises PrivacyError if
    lambda is not, or if no noise below 1/2 is enough. Sufficient DP, section 3.2.
    """
    check_limit(limit)
    too_little, enough = 0, DENOMINATOR // 2 - 1
    if not _holds(left_side, BitFlip(enough), limit):
        raise ValueError(f"lambda: got {limit}; cannot be kept by any noise below 1/2")
    while enough - too_little > 1:
        middle = (too_little + enough) // 2
        if _holds(left_side, BitFlip(middle), limit):
            enough = middle
        else:
            too_little = middle
    return BitFlip(enough)


def _holds(left_side: Callable[[BitFlip], float], channel: BitFlip, limit: float) -> bool:
    """Return whether the condition holds; it does not if the left side overflows."""
    try:
        return left_side(channel) <= limit
    except OverflowError:
        return False
