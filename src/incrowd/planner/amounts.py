"""How precise the mean of an amount will be, under assumed shares of its edges."""

from __future__ import annotations

from functools import partial

import numpy as np

from incrowd.estimation.amounts import Evidence, evidence
from incrowd.planner.precision import assumed_shares
from incrowd.planner.sources import expected_readings
from incrowd.plans import JointReport, Plan
from incrowd.survey import WithEdges


def expected(plan: Plan, question: WithEdges, even: bool) -> Evidence:
    """What the plan's crowd would say on average: the counts without chance. even: as
    `assumed_shares` has it."""
    crowd, bits = plan.survey.crowd, question.domain.bits
    record = np.append(1.0, assumed_shares(question, even)[-bits:])

    def counts(message: JointReport) -> np.ndarray:
        return np.asarray(
            crowd * message.copies * (message.channels[question.id].reported(bits) @ record)
        )

    shares = partial(assumed_shares, even=even)
    return evidence(plan, question, expected_readings(plan, (question.id,), crowd, counts, shares))
