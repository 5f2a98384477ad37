"""What all messages together may leak, in the limit of a large crowd."""

from __future__ import annotations

import math

from incrowd.accounting.calibration import gaussian_signal
from incrowd.survey import Survey


def large_crowd_signal(survey: Survey) -> float:
    """mu^2 N that all messages together may have in the limit: docs/mathematics.md#large-crowds.

    mu is the signal of the Gaussian mechanism that gives (epsilon, delta). Where nobody hides
    anybody, one report of privacy epsilon stands for it: only the shares of messages matter.
    """
    privacy = survey.privacy
    if privacy.analysis == "local":
        return math.expm1(min(privacy.epsilon, 300.0))
    return gaussian_signal(privacy.epsilon, privacy.delta) ** 2 * survey.honest
