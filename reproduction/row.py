"""One line of the comparison: what a paper prints, what its formula gives, what is true."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

AGREES = "agrees"
MISPRINT = "misprint"
SAME = 1e-9  # relative; numbers closer than this are equal up to rounding

Checked = tuple[str, str, str]  # formula, true and verdict of a row that was checked over a grid


@dataclass(frozen=True)
class Row:
    """One printed value or statement of a paper, recomputed.

    paper: short name and year. place: section, equation, table or figure. printed: what stands
    there. formula: what its own formula gives. true: what is true, and how that was obtained.
    verdict: "agrees", "misprint" or "wrong: " and why.
    """

    paper: str
    place: str
    printed: str
    formula: float | str
    true: str
    verdict: str

    @property
    def kind(self) -> str:
        """The verdict in a word: agrees, misprint or wrong."""
        return self.verdict.partition(":")[0]

    @property
    def formula_text(self) -> str:
        """What the formula gives, a number with six digits."""
        return self.formula if isinstance(self.formula, str) else f"{self.formula:.6g}"


def wrong(why: str) -> str:
    """The verdict on what is not true."""
    return f"wrong: {why}"


def by(value: float, how: str) -> str:
    """A true number with how it was obtained."""
    return f"{value:.6g} ({how})"


def equal(formula: npt.ArrayLike, true: npt.ArrayLike, over: str) -> Checked:
    """The rest of a row whose formula is compared with the truth, number by number.

    formula, true: numbers of one shape. over: how the truth was obtained, and over what grid. The
    largest difference counts in units of the true number, or of 1 if that is smaller.
    """
    formula, true = np.asarray(formula, float), np.asarray(true, float)
    gap = float((abs(formula - true) / np.maximum(abs(true), 1.0)).max())
    verdict = AGREES if gap < SAME else wrong(f"differs by up to {gap:.2g}")
    return f"the same to {gap:.0e}" if gap else "the same", f"{true.size} numbers, {over}", verdict


def always(cases: Iterable[bool | np.bool_], over: str) -> Checked:
    """The rest of a row that states something of every case. over: how, and over what grid."""
    held = [bool(case) for case in cases]
    failed = len(held) - sum(held)
    verdict = wrong(f"fails in {failed} cases") if failed else AGREES
    return "in every case", f"{sum(held)} of {len(held)} cases, {over}", verdict
