"""Interviews whose answers a die, a spinner, cards, or a birthday randomizes.

The person holds the device, so its probabilities are given, and answers arrive randomized. A
survey of this kind is an `InterviewSurvey`; `read_answers` reads its answers without randomizing
them, and the functions here estimate from them.
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

from incrowd.arguments import checked

# Loaded on first use (PEP 562), as most of these modules need numpy and scipy.
# `python -m tests.oracles.public_names` writes the stub that type checkers and editors read.
_HOMES = {
    "DesignForecast": "planning",
    "Factor": "columns",
    "GroupDifferences": "group_differences",
    "HonestyEstimates": "honesty_estimates",
    "InterviewAnswers": "answers",
    "InterviewOverview": "arrivals",
    "InterviewPlan": "planning",
    "InterviewPower": "power_forecasts",
    "InterviewTable": "cross_table",
    "ItemCorrelations": "item_correlations",
    "ItemRegression": "item_regression",
    "OutcomeRegression": "outcome_regression",
    "PowerForecast": "power_forecasts",
    "Prevalence": "item_prevalence",
    "SensitivityCurves": "sensitivity_curves",
    "VaryingRegression": "varying",
    "compare": "group_differences",
    "correlate": "item_correlations",
    "honesty": "honesty_estimates",
    "overview": "arrivals",
    "plan_interviews": "planning",
    "power_curves": "power_forecasts",
    "prevalence": "item_prevalence",
    "regress": "regression",
    "regress_outcome": "outcome_models",
    "regress_with_intercepts": "varying",
    "sensitivity": "sensitivity_curves",
    "table": "cross_table",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Return a public name, from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = checked(value, name, __name__) if isinstance(value, FunctionType) else value
    return globals()[name]


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return __all__
