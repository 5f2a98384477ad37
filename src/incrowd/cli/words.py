"""Words and numbers of the library that options show, copied because the library is slow to load.

`tests/cli/test_start.py` compares them with the library's.
"""

from __future__ import annotations

ANALYSES = ("shuffle", "seat", "blanket", "outlier", "local", "exact")
UNKNOWNS = ("crowd", "epsilon", "delta")  # what a wanted error can be solved for
TABLE_SEPARATOR = ","  # between the questions of a table
BETWEEN = ":"  # predictors of an interaction
AT_ONCE = 8  # devices of --each-row
PATIENCE = 120.0  # seconds
READY = ("health", "works-council", "harassment", "sensitive-behavior", "students", "telemetry")
EXAMPLES = ("health", "department", "interviews")
DEVICES = ("die", "spinner", "cards", "coin", "birthday")
PROTECTIONS = ("strong", "moderate", "weak")
