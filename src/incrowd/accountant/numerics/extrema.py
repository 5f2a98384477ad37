"""Zeros and minima of functions of one variable; the versions in scipy are slow to import."""

from __future__ import annotations

import math
from collections.abc import Callable

GOLDEN = (3 - math.sqrt(5)) / 2
RealFunction = Callable[[float], float]


def root(
    function: RealFunction, low: float, high: float, *, close: float = 0.0, relative: float = 1e-15
) -> float:
    """Return the zero of a function with different signs at `low` and `high`.

    close, relative: the absolute and relative tolerance of the result. Inverse quadratic steps if
    three points allow them, otherwise bisection (Chandrupatla 1997).
    """
    a, b, share = high, low, 0.5
    at_a, at_b = function(a), function(b)
    if at_a == 0 or at_b == 0:
        return a if at_a == 0 else b
    assert (at_a > 0) != (at_b > 0), (low, high)
    while True:
        x = a + share * (b - a)
        at_x = function(x)
        if (at_x > 0) == (at_a > 0):
            c, at_c = a, at_a
        else:
            b, at_b, c, at_c = a, at_a, b, at_b
        a, at_a = x, at_x  # a and b are on different sides, c is on the side of a
        best = a if abs(at_a) < abs(at_b) else b
        least = (close + max(relative, 1e-15) * abs(best)) / abs(b - a)
        if least > 0.5 or at_x == 0:
            return best
        place, height = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        share = 0.5
        if height**2 < place and (1 - height) ** 2 < 1 - place:
            share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        share = min(max(share, least), 1 - least)


def valley(function: RealFunction, low: float, high: float, close: float) -> float:
    """Return the minimum of a function with one valley, within `close`.

    Parabolas through the three lowest points, or golden sections (Brent 1973, chapter 5).
    """
    lowest = second = third = low + GOLDEN * (high - low)
    at_lowest = at_second = at_third = function(lowest)
    step = before = 0.0
    while True:
        middle, near = (low + high) / 2, close / 3 + 1.5e-8 * abs(lowest)
        if abs(lowest - middle) <= 2 * near - (high - low) / 2:
            return lowest
        r = (lowest - second) * (at_lowest - at_third)
        q = (lowest - third) * (at_lowest - at_second)
        up, down = (lowest - third) * q - (lowest - second) * r, 2 * (q - r)
        up, down = (-up, down) if down > 0 else (up, -down)
        allowed = abs(up) < abs(down * before / 2)
        if allowed and down * (low - lowest) < up < down * (high - lowest):
            before, step = step, up / down
            if min(lowest + step - low, high - lowest - step) < 2 * near:
                step = math.copysign(near, middle - lowest)
        else:
            before = (low if lowest >= middle else high) - lowest
            step = GOLDEN * before
        x = lowest + math.copysign(max(abs(step), near), step)
        at_x = function(x)
        if at_x <= at_lowest:
            low, high = (low, lowest) if x < lowest else (lowest, high)
            third, at_third, second, at_second = second, at_second, lowest, at_lowest
            lowest, at_lowest = x, at_x
            continue
        low, high = (x, high) if x < lowest else (low, x)
        if at_x <= at_second or second == lowest:
            third, at_third, second, at_second = second, at_second, x, at_x
        elif at_x <= at_third or third in (lowest, second):
            third, at_third = x, at_x
