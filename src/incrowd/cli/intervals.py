"""The option of commands that estimate: apart from the others, since estimation is slow to load."""

from __future__ import annotations

from typing import Annotated, get_args

from incrowd.cli.options import choice
from incrowd.estimation.simultaneous import Method as SimultaneousMethod

Simultaneous = Annotated[
    SimultaneousMethod | None,
    choice(
        "--simultaneous",
        get_args(SimultaneousMethod),
        "Intervals for all cells at once: max-t or bonferroni.",
    ),
]
