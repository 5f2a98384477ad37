"""Balls that contain the exact value, laws of counts in balls, and their decimal text."""

from __future__ import annotations

import math
import time
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple, cast

from flint import arb, arb_poly, fmpq

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import ProofError

PRECISION = 128  # bits of the midpoints
DIGITS = 9  # of a bound as text


def unproved(reason: Sentence) -> ProofError:
    """Return the error that states why there is no enclosure: a verb and what follows."""
    return cast(ProofError, ProofError.of("proof", "accountant.unproved", reason=reason))


class TimeLimit:
    """A time limit. Without one, work can take any time."""

    def __init__(self, seconds: float) -> None:
        self.begun, self.seconds = time.monotonic(), seconds

    @property
    def elapsed(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.begun

    def check(self) -> None:
        """Raise ProofError when the time is up."""
        if self.elapsed > self.seconds:
            raise unproved(sentence("accountant.proof-takes-longer", seconds=self.seconds))


def exact(text: str) -> arb:
    """Return the ball of a number as decimal text."""
    number = Fraction(text)
    return arb(fmpq(number.numerator, number.denominator))


def text_above(ball: arb) -> str:
    """Return a decimal number that is not below any number of the ball."""
    return _text(ball.upper(), ROUND_CEILING)


def text_below(ball: arb) -> str:
    """Return a decimal number that is not above any number of the ball, and not below 0."""
    return _text(ball.lower().nonnegative_part(), ROUND_FLOOR)


def _text(end: arb, rounding: str) -> str:
    mantissa, exponent = (int(part) for part in end.man_exp())
    with localcontext(prec=DIGITS, rounding=rounding):
        if exponent >= 0:
            return f"{Decimal(1) * Decimal(mantissa << exponent):g}"
        return f"{Decimal(mantissa) / Decimal(1 << -exponent):g}"


def floor(ball: arb) -> int:
    """Return the largest integer that is not above any number of the ball."""
    mantissa, exponent = (int(part) for part in ball.lower().man_exp())
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def ceiling(ball: arb) -> int:
    """Return the smallest integer that is not below any number of the ball."""
    return -floor(-ball)


class EnclosedLaw(NamedTuple):
    """Masses at first, first + 1, ...; `missing` bounds the mass of everything else."""

    first: int
    masses: list[arb]
    missing: arb


def binomial(number: int, chance: fmpq, cut: float) -> EnclosedLaw:
    """Return the binomial law, without tails of about e^-cut.

    One probability is computed (through the gamma function), the others by exact ratios. Beyond the
    window, the ratios of neighbors fall further, so that a geometric series bounds the tail.
    """
    if number == 0:
        return EnclosedLaw(0, [arb(1)], arb(0))
    mean, spread = number * float(chance), math.sqrt(number * float(chance * (1 - chance)))
    reach = cut / 3 + math.sqrt(cut * cut / 9 + 2 * cut) * spread
    mode = min(max(round(mean), 0), number)
    low, high = max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), number)
    hit, miss = arb(chance), arb(1 - chance)
    log_mode = (
        arb(number + 1).lgamma()
        - arb(mode + 1).lgamma()
        - arb(number - mode + 1).lgamma()
        + mode * hit.log()
        + (number - mode) * miss.log()
    )
    odds = chance / (1 - chance)
    up, down = [log_mode.exp()], list[arb]()
    for k in range(mode, high):
        up.append(up[-1] * arb(odds * fmpq(number - k, k + 1)))
    last = up[0]
    for k in range(mode, low, -1):
        last = last * arb(fmpq(k, number - k + 1) / odds)
        down.append(last)
    missing = arb(0)
    if high < number:
        missing += up[-1] * _geometric(odds * fmpq(number - high, high + 1))
    if low > 0:
        missing += last * _geometric(fmpq(low, number - low + 1) / odds)
    return EnclosedLaw(low, [*reversed(down), *up], missing)


def _geometric(ratio: fmpq) -> arb:
    """Return ratio + ratio^2 + ..."""
    return arb(ratio / (1 - ratio)) if ratio < 1 else arb("inf")


def convolved(one: EnclosedLaw, other: EnclosedLaw) -> EnclosedLaw:
    """Return the law of the sum of independent draws."""
    masses = product_of(one.masses, other.masses)
    return EnclosedLaw(one.first + other.first, masses, one.missing + other.missing)


def product_of(one: list[arb], other: list[arb]) -> list[arb]:
    """Return the masses of the sum of independent draws."""
    both = arb_poly(one) * arb_poly(other)
    return [both[i] for i in range(len(one) + len(other) - 1)]
