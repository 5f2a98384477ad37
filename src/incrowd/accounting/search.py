"""The smallest noise at which something that falls with the noise is small enough."""

from __future__ import annotations

from collections.abc import Callable

from incrowd.channels.bit_flip import DENOMINATOR, BitFlip

Height = Callable[[BitFlip], float]  # falls as the noise grows; wanted: not above zero

LEAST, MOST = BitFlip(1), BitFlip(DENOMINATOR // 2 - 1)
MOST_STEPS = 40
LONGEST = 3.0  # in logits
NARROW = 1e-7  # share of its logit below which a bracket is not worth another step


def first_below(
    height: Height, start: BitFlip, slope: float, close: float
) -> tuple[BitFlip | None, float]:
    """The smallest noise at which `height` is not above zero, but at most `close` below.

    Secant steps in the logit of the noise, bisection where they leave the bracket. slope: what
    height loses for a logit, about; also returned. No noise if the height is above zero everywhere.
    """
    failing, holding = 0, MOST.numerator + 1
    channel, last = start, None
    for _ in range(MOST_STEPS):
        found = height(channel)
        if found > 0:
            failing = max(failing, channel.numerator)
        else:
            holding = min(holding, channel.numerator)
        if -close <= found <= 0 or _narrow(failing, holding):
            break
        if last and last[0] != channel:
            secant = (found - last[1]) / (channel.logit - last[0].logit)
            slope = secant if secant < 0 else slope
        last = channel, found
        channel = _next(channel, -(found + close / 2) / slope, failing, holding)
    return (BitFlip(holding) if holding <= MOST.numerator else None), slope


def _narrow(failing: int, holding: int) -> bool:
    """Whether nothing is left between the two that is worth trying."""
    if holding - failing <= 1:
        return True
    if not failing or holding > MOST.numerator:
        return False
    low, high = BitFlip(failing).logit, BitFlip(holding).logit
    return high - low < -NARROW * low


def _next(channel: BitFlip, step: float, failing: int, holding: int) -> BitFlip:
    """The noise some logits on, or the middle if that leaves the bracket."""
    limited = max(-LONGEST, min(step, LONGEST))
    tried = BitFlip.from_logit(channel.logit + limited)
    if failing < tried.numerator < holding:
        return tried
    low, high = BitFlip(max(failing, 1)), BitFlip(min(holding, MOST.numerator))
    middle = BitFlip.from_logit((low.logit + high.logit) / 2).numerator
    return BitFlip(max(failing + 1, min(middle, holding - 1)))
