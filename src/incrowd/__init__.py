"""Ask a sensitive question of many people: the public names, loaded when first used."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.accounting.calibration import smallest_epsilon, smallest_noise
    from incrowd.accounting.certificates import Certificate, certify, privacy_curve
    from incrowd.accounting.composition import PrivacyCurve
    from incrowd.accounting.schema import Schema
    from incrowd.channels.bit_flip import BitFlip
    from incrowd.encoding.answers import load_answers
    from incrowd.errors import (
        AnswersError,
        IncrowdError,
        PlanError,
        PrivacyError,
        ReportsError,
        SurveyError,
        TableError,
        UsageError,
    )
    from incrowd.estimation.results import Estimates
    from incrowd.estimation.tables import TableEstimate
    from incrowd.plan import Plan
    from incrowd.report.write import write as save_estimates
    from incrowd.reports.collection import Collection
    from incrowd.reports.collection import load as load_reports
    from incrowd.reports.collection import save as save_reports
    from incrowd.survey import Domain, Survey
    from incrowd.workflow.compare import TwoWay, compare
    from incrowd.workflow.estimate import estimate
    from incrowd.workflow.forecast import TableForecast, forecast
    from incrowd.workflow.plan import plan
    from incrowd.workflow.privacy import Assessment, assess
    from incrowd.workflow.randomize import randomize
    from incrowd.workflow.simulate import Simulation, simulate
    from incrowd.workflow.verify import Verification, verify

_HOMES = {
    "AnswersError": "errors",
    "Assessment": "workflow.privacy",
    "BitFlip": "channels.bit_flip",
    "Certificate": "accounting.certificates",
    "Collection": "reports.collection",
    "Domain": "survey",
    "Estimates": "estimation.results",
    "IncrowdError": "errors",
    "Plan": "plan",
    "PlanError": "errors",
    "PrivacyCurve": "accounting.composition",
    "PrivacyError": "errors",
    "ReportsError": "errors",
    "Schema": "accounting.schema",
    "Simulation": "workflow.simulate",
    "Survey": "survey",
    "SurveyError": "errors",
    "TableError": "errors",
    "TableEstimate": "estimation.tables",
    "TableForecast": "workflow.forecast",
    "TwoWay": "workflow.compare",
    "UsageError": "errors",
    "Verification": "workflow.verify",
    "assess": "workflow.privacy",
    "certify": "accounting.certificates",
    "compare": "workflow.compare",
    "estimate": "workflow.estimate",
    "forecast": "workflow.forecast",
    "load_answers": "encoding.answers",
    "load_reports": "reports.collection:load",
    "plan": "workflow.plan",
    "privacy_curve": "accounting.certificates",
    "randomize": "workflow.randomize",
    "save_estimates": "report.write:write",
    "save_reports": "reports.collection:save",
    "simulate": "workflow.simulate",
    "smallest_epsilon": "accounting.calibration",
    "smallest_noise": "accounting.calibration",
    "verify": "workflow.verify",
}

__all__ = [
    "AnswersError",
    "Assessment",
    "BitFlip",
    "Certificate",
    "Collection",
    "Domain",
    "Estimates",
    "IncrowdError",
    "Plan",
    "PlanError",
    "PrivacyCurve",
    "PrivacyError",
    "ReportsError",
    "Schema",
    "Simulation",
    "Survey",
    "SurveyError",
    "TableError",
    "TableEstimate",
    "TableForecast",
    "TwoWay",
    "UsageError",
    "Verification",
    "assess",
    "certify",
    "compare",
    "estimate",
    "forecast",
    "load_answers",
    "load_reports",
    "plan",
    "privacy_curve",
    "randomize",
    "save_estimates",
    "save_reports",
    "simulate",
    "smallest_epsilon",
    "smallest_noise",
    "verify",
]


class _Package(ModuleType):
    """A package whose functions `plan` and `randomize` are not hidden by its modules of that name.

    Importing a module binds it as an attribute of its package, whenever that happens; the public
    name has to win, in whatever order people import.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home, _, inside = _HOMES[name].partition(":")
        found = getattr(importlib.import_module(f"incrowd.{home}"), inside or name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
