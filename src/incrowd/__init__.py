"""Ask a sensitive question of many people: the public names, loaded when first used."""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

# Module -> the public names that live in it.
_PUBLIC = {
    "accountant.certificates": (
        "Assessment Certificate assess certify privacy_curve smallest_epsilon smallest_noise"
    ),
    "accountant.channels.bit_flip": "BitFlip",
    "accountant.composition": "PrivacyCurve",
    "accountant.schema": "Contribution Domain Part Schema",
    "drafts.data": "draft",
    "drafts.draft": "Draft",
    "encoding.answers": "load_answers",
    "encoding.bloom": "load_words",
    "encoding.margins": "load_margins",
    "errors": (
        "AnswersError IncrowdError PlanError PrivacyError ReportsError SurveyError "
        "TableError UsageError"
    ),
    "estimation.compare": "TwoWay compare",
    "estimation.compare_shares": "ShareDifference compare_shares",
    "estimation.correlate": "Correlations correlate",
    "estimation.estimate": "count estimate",
    "estimation.postprocess": "Postprocessed postprocess",
    "estimation.regression.regress": "regress",
    "estimation.regression.results": "Regression",
    "estimation.results": "Estimates",
    "estimation.tables": "TableEstimate",
    "estimation.words": "WordEstimates",
    "planner.forecast": "TableForecast forecast people_needed",
    "planner.plan": "plan",
    "planner.solving": "solve",
    "planner.regression_forecast": "forecast_regression forecast_regressions",
    "planner.rounds": "new_ledger note",
    "plans": "Plan",
    "plans.ledger": "Ledger",
    "presentation.sentences": "assumption_text guarantee_sentence",
    "presentation.write": "save_estimates",
    "reports.collection": "Collection",
    "reports.folder": "load_reports save_reports stream_reports",
    "reports.tally": "Tally",
    "sampling.check": "AnswersCheck check",
    "sampling.permanent": "DeviceKey",
    "sampling.randomize": "randomize",
    "simulation": "Simulation simulate truth",
    "survey": "Survey",
    "verification": "Verification verify",
}
_HOMES = {name: f"incrowd.{home}" for home, names in _PUBLIC.items() for name in names.split()}

__version__ = "1.0.0rc1"
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Return a public name, from the module it lives in (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from incrowd.arguments import checked  # slow to load, and the command line does not need it

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = checked(value, name) if isinstance(value, FunctionType) else value
    return globals()[name]


def __dir__() -> list[str]:
    """Return the public names; what is imported here is no part of them."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
