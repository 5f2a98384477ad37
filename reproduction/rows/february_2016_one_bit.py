"""K-Randomization, 24 February 2016, section 3.1: one bit, m of n people holding a 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import february_2016 as february
from reproduction.enumerated import Record, count_law
from reproduction.row import Row, always, equal
from reproduction.rows.february_2016 import FLIPS, row

CROWDS = [(flip, N, m) for flip in FLIPS for N in (2, 4, 7) for m in range(N + 1)]
GRID = "enumerated for N = 2, 4, 7; all m and s; q = .05, .2, .4"


def rows() -> Iterator[Row]:
    """Yield the law of A_n(m), its recursions, and what follows from them."""
    yield from _laws()
    yield from _recursions()
    yield from _consequences()


def _people(N: int, m: int) -> list[Record]:
    """Return N records of one bit, m of them 1."""
    return [(int(person < m),) for person in range(N)]


def _counted(flip: BitFlip, N: int, m: int) -> np.ndarray:
    """Return the law of A_N(m), enumerated."""
    return np.array(count_law(flip, _people(N, m)))


def _laws() -> Iterator[Row]:
    laws = [february.law(*case) for case in CROWDS]
    yield row(
        "3.1",
        "A_n(m) ~ Bin(m, p) + Bin(n - m, q)",
        *equal(np.concatenate(laws), np.concatenate([_counted(*case) for case in CROWDS]), GRID),
    )
    steps = [(flip, N, m) for flip, N, m in CROWDS if m < N]
    ratios = [february.one_bit_ratio(*case) for case in steps]
    exact = [_counted(flip, N, m) / _counted(flip, N, m + 1) for flip, N, m in steps]
    yield row(
        "3.1",
        "the ratio is pi(s; m - 1) if a 1 becomes a 0, 1/pi(s; m) if a 0 becomes a 1",
        *equal(np.concatenate(ratios), np.concatenate(exact), GRID),
    )


Step = Callable[[BitFlip, np.ndarray], np.ndarray]


def _recursions() -> Iterator[Row]:
    one, zero = february.law_with_one, february.law_with_zero
    printed = "P[A_n(m) = s] = p P[A_(n-1)(m-1) = s-1] + q P[A_(n-1)(m-1) = s]"
    yield row("(3.2)", printed, *_checked(one, 1))
    printed = "P[A_n(m) = s] = q P[A_(n-1)(m) = s-1] + p P[A_(n-1)(m) = s]"
    yield row("(3.3)", printed, *_checked(zero, 0))
    one, zero = february.cumulative_with_one, february.cumulative_with_zero
    printed = "F_n,m(x) = p F_(n-1,m-1)(x-1) + q F_(n-1,m-1)(x)"
    yield row("below (3.3)", printed, *_checked(one, 1, cumulative=True))
    printed = "F_n,m(x) = q F_(n-1,m)(x-1) + p F_(n-1,m)(x)"
    yield row("below (3.3)", printed, *_checked(zero, 0, cumulative=True))


def _checked(step: Step, joined: int, cumulative: bool = False) -> tuple[str, str, str]:
    """Return a recursion for all crowds in which one with this bit can be the last to join."""
    cases = [(f, N, m) for f, N, m in CROWDS if joined <= m <= N - 1 + joined]
    before = [_counted(flip, N - 1, m - joined) for flip, N, m in cases]
    after = [_counted(*case) for case in cases]
    if cumulative:
        before, after = [np.cumsum(law) for law in before], [np.cumsum(law) for law in after]
    laws = [step(case[0], law) for case, law in zip(cases, before, strict=True)]
    return equal(np.concatenate(laws), np.concatenate(after), GRID)


def _consequences() -> Iterator[Row]:
    cases = [(f, N, m, _counted(f, N - 1, m)) for f, N, m in CROWDS if m < N]
    yield row(
        "below (3.3)",
        "P[A_n(m) = 0] <= P[A_(n-1)(m) = 0]",
        *always((_counted(f, N, m)[0] <= before[0] for f, N, m, before in cases), GRID),
    )
    later = [(_counted(f, N, ones), b) for f, N, m, b in cases for ones in (m, m + 1)]
    yield row(
        "below (3.3)",
        "P[A_n(m) = s] and P[A_n(m+1) = s] lie between P[A_(n-1)(m) = s-1] and P[... = s]",
        *always((_between(law, before) for law, before in later), GRID),
    )


def _between(law: np.ndarray, before: np.ndarray) -> bool:
    """Return whether each probability lies between two neighbors of the smaller crowd's law."""
    low = np.minimum(np.append(0.0, before), np.append(before, 0.0))
    high = np.maximum(np.append(0.0, before), np.append(before, 0.0))
    return bool(((law >= low * (1 - 1e-12)) & (law <= high * (1 + 1e-12))).all())
