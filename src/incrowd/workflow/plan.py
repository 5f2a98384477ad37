"""Survey -> Plan."""

from __future__ import annotations

from incrowd.plan import Plan
from incrowd.planning.planner import make_plan
from incrowd.survey import Survey


def plan(survey: Survey) -> Plan:
    """Find the smallest noise that keeps the survey's promise.

    Raises PrivacyError if no noise keeps it.
    """
    return make_plan(survey)
