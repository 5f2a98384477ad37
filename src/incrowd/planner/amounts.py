"""How precise the mean of an amount will be, under assumed shares of its edges."""

from __future__ import annotations

import numpy as np

from incrowd.estimation.amounts import Evidence, evidence
from incrowd.estimation.readings import Reading
from incrowd.planner.precision import assumed_shares
from incrowd.planner.sources import sources
from incrowd.plans import Plan
from incrowd.survey import Amount


def expected(plan: Plan, question: Amount, even: bool) -> Evidence:
    """What the plan's crowd would say on average: the counts without chance. even: as
    `assumed_shares` has it."""
    bits = question.domain.bits
    record = np.append(1.0, assumed_shares(question, even)[-bits:])
    found = []
    for source in sources(plan, (question.id,)):
        rates = source.message.channels[question.id].reported(bits) @ record
        counts = plan.survey.crowd * source.message.copies * rates
        found.append(Reading(source.message, source.weight, counts))
    return evidence(plan, question, found)
