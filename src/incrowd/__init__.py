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
    from incrowd.accounting.schema import Part, Schema, Sent
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
    from incrowd.estimation.words import WordEstimates
    from incrowd.plan import Plan
    from incrowd.plan.ledger import Ledger
    from incrowd.randomize.memo import DeviceKey
    from incrowd.report.write import write as save_estimates
    from incrowd.reports.collection import Collection
    from incrowd.reports.folder import load as load_reports
    from incrowd.reports.folder import save as save_reports
    from incrowd.reports.folder import stream as stream_reports
    from incrowd.survey import Domain, Survey
    from incrowd.tally.tally import Tally
    from incrowd.workflow.compare import TwoWay, compare
    from incrowd.workflow.estimate import count, estimate
    from incrowd.workflow.forecast import TableForecast, forecast, people_needed
    from incrowd.workflow.plan import plan, solve
    from incrowd.workflow.postprocess import Postprocessed, postprocess
    from incrowd.workflow.privacy import Assessment, assess
    from incrowd.workflow.randomize import randomize
    from incrowd.workflow.rounds import new_ledger, note
    from incrowd.workflow.simulate import Simulation, simulate
    from incrowd.workflow.truth import truth
    from incrowd.workflow.verify import Verification, verify
    from incrowd.workflow.words import load_candidates as load_words

_HOMES = {
    "AnswersError": "errors",
    "Assessment": "workflow.privacy",
    "BitFlip": "channels.bit_flip",
    "Certificate": "accounting.certificates",
    "Collection": "reports.collection",
    "DeviceKey": "randomize.memo",
    "Domain": "survey",
    "Estimates": "estimation.results",
    "IncrowdError": "errors",
    "Ledger": "plan.ledger",
    "Part": "accounting.schema",
    "Plan": "plan",
    "PlanError": "errors",
    "Postprocessed": "workflow.postprocess",
    "PrivacyCurve": "accounting.composition",
    "PrivacyError": "errors",
    "ReportsError": "errors",
    "Schema": "accounting.schema",
    "Sent": "accounting.schema",
    "Simulation": "workflow.simulate",
    "Survey": "survey",
    "SurveyError": "errors",
    "TableError": "errors",
    "TableEstimate": "estimation.tables",
    "TableForecast": "workflow.forecast",
    "Tally": "tally.tally",
    "TwoWay": "workflow.compare",
    "UsageError": "errors",
    "Verification": "workflow.verify",
    "WordEstimates": "estimation.words",
    "assess": "workflow.privacy",
    "certify": "accounting.certificates",
    "compare": "workflow.compare",
    "count": "workflow.estimate",
    "estimate": "workflow.estimate",
    "forecast": "workflow.forecast",
    "load_answers": "encoding.answers",
    "load_reports": "reports.folder:load",
    "load_words": "workflow.words:load_candidates",
    "new_ledger": "workflow.rounds",
    "note": "workflow.rounds",
    "people_needed": "workflow.forecast",
    "plan": "workflow.plan",
    "postprocess": "workflow.postprocess",
    "privacy_curve": "accounting.certificates",
    "randomize": "workflow.randomize",
    "save_estimates": "report.write:write",
    "save_reports": "reports.folder:save",
    "simulate": "workflow.simulate",
    "smallest_epsilon": "accounting.calibration",
    "smallest_noise": "accounting.calibration",
    "solve": "workflow.plan",
    "stream_reports": "reports.folder:stream",
    "truth": "workflow.truth",
    "verify": "workflow.verify",
}

__all__ = [
    "AnswersError",
    "Assessment",
    "BitFlip",
    "Certificate",
    "Collection",
    "DeviceKey",
    "Domain",
    "Estimates",
    "IncrowdError",
    "Ledger",
    "Part",
    "Plan",
    "PlanError",
    "Postprocessed",
    "PrivacyCurve",
    "PrivacyError",
    "ReportsError",
    "Schema",
    "Sent",
    "Simulation",
    "Survey",
    "SurveyError",
    "TableError",
    "TableEstimate",
    "TableForecast",
    "Tally",
    "TwoWay",
    "UsageError",
    "Verification",
    "WordEstimates",
    "assess",
    "certify",
    "compare",
    "count",
    "estimate",
    "forecast",
    "load_answers",
    "load_reports",
    "load_words",
    "new_ledger",
    "note",
    "people_needed",
    "plan",
    "postprocess",
    "privacy_curve",
    "randomize",
    "save_estimates",
    "save_reports",
    "simulate",
    "smallest_epsilon",
    "smallest_noise",
    "solve",
    "stream_reports",
    "truth",
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
