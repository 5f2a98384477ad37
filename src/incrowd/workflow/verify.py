"""Plan (+ reports) -> does it hold?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from incrowd.accounting.certificates import Certificate
from incrowd.plan import Plan
from incrowd.planning.planner import recertify
from incrowd.reports.collection import Collection
from incrowd.tally.moments import moments
from incrowd.workflow.estimate import check_origin

FALSE_ALARM = 1e-6  # chance that right reports are called impossible, over all bits together


@dataclass(frozen=True)
class Verification:
    """What was found. certificate: recomputed from the plan's noise, copies and crowd.

    impossible: bits whose rate cannot come from the plan, as (bit, rate); None if no reports were
    given. A bit is set with a probability between q and p, whatever the answers are. missing:
    people whom the plan's crowd still lacks.
    """

    certificate: Certificate
    plan_holds: bool
    reports: int | None = None
    impossible: tuple[tuple[int, float], ...] | None = None
    missing: int = 0

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the plan, or the reports."""
        return self.plan_holds and not self.impossible and not self.missing


def verify(plan: Plan, reports: Collection | None = None) -> Verification:
    """Recompute a plan's certificate; check that reports can come from it.

    The reports' digest and length must be the plan's, their padding empty, and every bit's rate
    between q and p within its sampling error. Raises ReportsError for another plan's reports.
    """
    certificate = recertify(plan)
    promise = plan.guarantee
    holds = (
        certificate.delta.upper <= promise.delta * (1 + 1e-9)
        and certificate.delta.upper <= promise.certified_delta * (1 + 1e-6)
        and certificate.assumption == promise.assumption
    )
    if reports is None:
        return Verification(certificate, holds)
    check_origin(plan, reports)
    people = len(reports) // plan.messages[reports.message].copies
    missing = max(plan.survey.crowd - people, 0)
    return Verification(certificate, holds, len(reports), _impossible(plan, reports), missing)


def _impossible(plan: Plan, reports: Collection) -> tuple[tuple[int, float], ...]:
    channel = plan.messages[reports.message].channel
    set_bits = moments(reports.packed, [slice(0, reports.bits)])[1:]
    rates = set_bits / max(len(reports), 1)
    # the spread is largest at the bounds themselves, where it is that of q (or p)
    spread = np.sqrt(channel.p * channel.q / max(len(reports), 1))
    slack = -ndtri(FALSE_ALARM / (2 * reports.bits)) * spread + 1 / max(len(reports), 1)
    wrong = (rates < channel.q - slack) | (rates > channel.p + slack)
    return tuple((int(bit), float(rates[bit])) for bit in np.flatnonzero(wrong))
