"""One row of the comparison: the printed value, the result of its formula, the correct value."""

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

    paper: short name and year. place: section, equation, table, or figure. printed: the value or
    statement in the paper. formula: the result of the paper's formula. true: the correct value, and
    how it was obtained. verdict: "agrees", "misprint", or "wrong: " and the reason.
    """

    paper: str
    place: str
    printed: str
    formula: float | str
    true: str
    verdict: str

    @property
    def kind(self) -> str:
        """The verdict in one word: agrees, misprint, or wrong."""
        return self.verdict.partition(":")[0]

    @property
    def formula_text(self) -> str:
        """The result of the formula; a number is shown with six digits."""
        return self.formula if isinstance(self.formula, str) else f"{self.formula:.6g}"


def wrong(why: str) -> str:
    """Return the verdict for a value or statement that is wrong, with the reason."""
    return f"wrong: {why}"


def by(value: float, how: str) -> str:
    """Return a correct number with a description of how it was obtained."""
    return f"{value:.6g} ({how})"


def equal(formula: npt.ArrayLike, true: npt.ArrayLike, over: str) -> Checked:
    """Return the last fields of a row whose formula is compared with correct values one by one.

    formula, true: arrays of equal shape. over: how the correct values were obtained, and for which
    grid. The largest difference is relative to the correct value, or to 1 if that is smaller.
    """
    formula, true = np.asarray(formula, float), np.asarray(true, float)
    gap = float((abs(formula - true) / np.maximum(abs(true), 1.0)).max())
    verdict = AGREES if gap < SAME else wrong(f"differs by up to {gap:.2g}")
    return f"the same to {gap:.0e}" if gap else "the same", f"{true.size} numbers, {over}", verdict


def always(cases: Iterable[bool | np.bool_], over: str) -> Checked:
    """Return the last fields of a row that makes a statement about every case of a grid."""
    held = [bool(case) for case in cases]
    failed = len(held) - sum(held)
    verdict = wrong(f"fails in {failed} cases") if failed else AGREES
    return "in every case", f"{sum(held)} of {len(held)} cases, {over}", verdict
