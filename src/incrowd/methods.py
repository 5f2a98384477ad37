"""The statistical methods, by name, and where to compute: what options show without the library."""

from __future__ import annotations

from typing import Literal, get_args

Family = Literal["logistic", "linear"]
Penalty = Literal["firth"]
RegressionMethod = Literal["table", "pairs", "likelihood"]
PostprocessingMethod = Literal["simplex", "likelihood", "consistent"]
SimultaneousMethod = Literal["max-t", "bonferroni"]

THIS_MACHINE = "local[*]"  # for Spark: all cores

FAMILIES: tuple[Family, ...] = get_args(Family)
PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
REGRESSION_METHODS: tuple[RegressionMethod, ...] = get_args(RegressionMethod)
POSTPROCESSING_METHODS: tuple[PostprocessingMethod, ...] = get_args(PostprocessingMethod)
SIMULTANEOUS_METHODS: tuple[SimultaneousMethod, ...] = get_args(SimultaneousMethod)
