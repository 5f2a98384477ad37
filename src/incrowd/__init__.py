"""Ask a sensitive question of many people: the public names, loaded when first used."""

from __future__ import annotations

import importlib
import pkgutil
from types import FunctionType
from typing import Any

from incrowd.methods import METHODS

# The distribution incrowd-accountant may be installed in another folder.
__path__ = pkgutil.extend_path(__path__, __name__)

from incrowd.version import __version__ as __version__

_ESTIMATES = "Reports + plan → counts → estimates"
# Section of the page "Python" -> module -> its public names, in the order of the page. Names
# without a section are on the page of the accountant. Those of statistical methods are declared in
# `methods.py`; `python -m tests.oracles.public_names` writes the stub and the page.
_PUBLIC = {
    "": {
        "accountant.certificates": (
            "Assessment Certificate assess certify privacy_curve smallest_delta smallest_epsilon "
            "smallest_noise"
        ),
        "accountant.channels.bit_flip": "BitFlip",
        "accountant.composition": "PrivacyCurve",
        "accountant.schema": "Contribution Domain Part Schema",
    },
    "Survey → plan": {
        "survey": "Survey",
        "drafts.data": "draft",
        "drafts.draft": "Draft",
        "planner.plan": "plan",
        "planner.solving": "solve",
        "plans": "Plan",
        "planner.forecast": "forecast TableForecast people_needed",
        "planner.regression_forecast": "forecast_regression forecast_regressions",
        "planner.rounds": "new_ledger note",
        "plans.ledger": "Ledger",
        "verification": "verify Verification",
        "presentation.guarantee_text": "assumption_text guarantee_sentence",
    },
    "Answers + plan → reports": {
        "encoding.answers": "load_answers",
        "sampling.check": "check AnswersCheck",
        "sampling.randomize": "randomize",
        "sampling.permanent": "DeviceKey",
        "reports.collection": "Collection",
        "reports.folder": "save_reports load_reports stream_reports",
    },
    _ESTIMATES: {
        "estimation.estimate": "count",
        "reports.tally": "Tally",
        "estimation.compare_shares": "compare_shares ShareDifference",
        "encoding.margins": "load_margins",
        "encoding.bloom": "load_words",
        "estimation.words": "WordEstimates",
    },
    "Estimates → page": {"presentation.write": "save_estimates"},
    "Interviews": {
        "interviews.survey": "InterviewSurvey",
        "interviews.answers": "InterviewAnswers",
        "interviews.reading": "read_answers",
    },
    "Simulation": {"simulation": "simulate Simulation truth"},
    "Errors": {
        "errors": (
            "IncrowdError SurveyError PlanError PrivacyError TableError AnswersError ReportsError "
            "UsageError"
        ),
    },
}


_MODULES = ("accountant", "interviews")  # with public names of their own


def _sections() -> dict[str, dict[str, str]]:
    """Return the public names of each section of the page, with their modules."""
    sections = {
        section: {
            name: f"incrowd.{home}" for home, names in homes.items() for name in names.split()
        }
        for section, homes in _PUBLIC.items()
    }
    for method in METHODS.values():
        sections[_ESTIMATES] |= {name: f"incrowd.{home}" for name, home in method.names.items()}
    return sections


def _homes() -> dict[str, str]:
    """Return the module of each public name."""
    return {name: home for names in _sections().values() for name, home in names.items()}


_HOMES = _homes()
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Return a public name, from the module it lives in (PEP 562)."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    home = _HOMES.get(name) or _homes().get(name)  # a method may be declared later
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from incrowd.arguments import checked  # slow to load, and the command line does not need it

    value = getattr(importlib.import_module(home), name)
    globals()[name] = checked(value, name) if isinstance(value, FunctionType) else value
    return globals()[name]


def __dir__() -> list[str]:
    """Return the public names, without what is imported here."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
