"""What all messages together may leak, in the limit of a large crowd."""

from __future__ import annotations

from incrowd.accounting.analyses import plannable
from incrowd.survey import Survey


def large_crowd_signal(survey: Survey) -> float:
    """mu^2 N that all messages together may have in the limit: docs/mathematics.md#large-crowds.

    Raises PrivacyError if no plan can rest on the survey's analysis.
    """
    privacy = survey.privacy
    by = plannable(privacy.analysis)
    return by.large_crowd_signal(privacy.epsilon, privacy.delta, survey.honest)
