"""What an analyst may publish: tables, the crowd that arrived, the guarantee that holds for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.estimation.tables import TableEstimate
from incrowd.plan import Guarantee, Plan


@dataclass(frozen=True)
class Estimates:
    """Estimated tables of one plan.

    reports: accepted reports. crowd: reports divided by copies. guarantee: recomputed for that
    crowd. seed: None for real reports, else the seed of the simulation. truth: only where the
    answers are known as well (a demonstration): the true shares, one array for each table.
    """

    plan: Plan
    reports: int
    crowd: int
    guarantee: Guarantee
    tables: tuple[TableEstimate, ...]
    seed: int | None = None
    truth: tuple[np.ndarray, ...] | None = None
