"""Words and numbers of the library that options show, restated because the library is slow to load.

`tests/cli/test_start.py` compares them with the library's.
"""

from __future__ import annotations

from typing import Literal, get_args

Family = Literal["logistic", "linear"]
Penalty = Literal["firth"]
RegressionMethod = Literal["table", "pairs", "likelihood"]
PostprocessingMethod = Literal["simplex", "likelihood", "consistent"]
SimultaneousMethod = Literal["max-t", "bonferroni"]

FAMILIES: tuple[Family, ...] = get_args(Family)
PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
REGRESSION_METHODS: tuple[RegressionMethod, ...] = get_args(RegressionMethod)
POSTPROCESSING_METHODS: tuple[PostprocessingMethod, ...] = get_args(PostprocessingMethod)
SIMULTANEOUS_METHODS: tuple[SimultaneousMethod, ...] = get_args(SimultaneousMethod)

ANALYSES = ("shuffle", "seat", "blanket", "outlier", "local", "exact")
UNKNOWNS = ("crowd", "epsilon", "delta")  # what a wanted error can be solved for
TABLE_SEPARATOR = ","  # between the questions of a table
BETWEEN = ":"  # predictors of an interaction
THIS_MACHINE = "local[*]"  # for Spark: all cores
AT_ONCE = 8  # devices of --each-row
PATIENCE = 120.0  # seconds
