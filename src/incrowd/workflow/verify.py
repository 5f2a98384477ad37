"""Plan (+ reports) -> does it hold? Proof: docs/mathematics.md#what-reports-can-be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from incrowd.accounting.certificates import Certificate
from incrowd.channels.base import Channel
from incrowd.planner.planner import analysis_of, assumption, recertify
from incrowd.planner.sent import sent_by
from incrowd.plans import Message, Plan
from incrowd.reports.collection import Collection
from incrowd.tally.consistency import sends
from incrowd.tally.tally import MessageTally
from incrowd.workflow.estimate import Reports, count

FALSE_ALARM = 1e-6  # chance that right reports are called impossible, over all bits together


@dataclass(frozen=True)
class Impossible:
    """A bit whose rate cannot come from the plan: of message (from 1), question and bit (from 0).

    low, high: the rates that the noise can give.
    """

    message: int
    question: str
    bit: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class ImpossiblePeople:
    """A number of people that does not fit the reports of a message (from 1) of unlinked set bits.

    low, high: how many reports so many people can send.
    """

    message: int
    people: int
    reports: int
    low: int
    high: int


@dataclass(frozen=True)
class Verification:
    """What was found. certificate: recomputed from the plan's noise, copies and crowd.

    reports: accepted; rejected: those that no client can have sent. impossible: bits whose rate
    cannot come from the plan; both None if no reports were given. A bit is set with a probability
    between two bounds, whatever the answers are. impossible_people: numbers of people that cannot
    have sent so many reports, or so few; None likewise. missing: people whom the plan's crowd still
    lacks. seed: of reports that were made in a simulation, and protect nobody.
    """

    certificate: Certificate
    plan_holds: bool
    reports: int | None = None
    rejected: int = 0
    impossible: tuple[Impossible, ...] | None = None
    impossible_people: tuple[ImpossiblePeople, ...] | None = None
    missing: int = 0
    seed: int | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the plan, or the reports."""
        wrong = self.impossible or self.impossible_people
        found = wrong or self.rejected or self.missing or self.seed is not None
        return self.plan_holds and not found


def verify(plan: Plan, reports: Reports | None = None) -> Verification:
    """Recompute a plan's certificate; check that reports can come from it.

    The reports' digest and length must be the plan's, and every bit's rate between its bounds
    within its sampling error; so must the number of reports where set bits travel unlinked. Raises
    ReportsError for another plan's reports.
    """
    by, certificate = analysis_of(plan), recertify(plan)
    promise = plan.guarantee
    holds = (
        certificate.delta.upper <= promise.delta * (1 + 1e-9)
        and certificate.delta.upper <= promise.certified_delta * (1 + 1e-6)
        and sent_by(plan).local_epsilon <= promise.local_epsilon * (1 + 1e-9)
        and promise.assumption in (assumption(plan.survey, said) for said in by.assumptions)
    )
    if reports is None:
        return Verification(certificate, holds)
    parts: Iterable[Collection] = [reports] if isinstance(reports, Collection) else reports
    one_way = [(question.id,) for question in plan.survey.questions]
    counted = count(plan, parts, tables=one_way)
    found = [counted.messages.get(n, NOTHING) for n in range(len(plan.messages))]
    people = min(f.people(message) for f, message in zip(found, plan.messages, strict=True))
    wrong = [
        impossible
        for number, (message, counts) in enumerate(zip(plan.messages, found, strict=True))
        for impossible in _impossible(plan, number, message, counts)
    ]
    return Verification(
        certificate,
        holds,
        reports=sum(f.accepted for f in found),
        rejected=sum(f.rejected for f in found),
        impossible=tuple(wrong),
        impossible_people=tuple(_impossible_people(plan, found)),
        missing=max(plan.survey.crowd - people, 0),
        seed=counted.seed,
    )


def _impossible_people(plan: Plan, found: list[MessageTally]) -> Iterator[ImpossiblePeople]:
    for number, (message, counts) in enumerate(zip(plan.messages, found, strict=True)):
        if message.unlinked:
            low, high = sends(message, counts.declared)
            bounds = max(math.ceil(low), 0), math.floor(high)
            if not bounds[0] <= counts.accepted <= bounds[1]:
                yield ImpossiblePeople(number + 1, counts.declared, counts.accepted, *bounds)


NOTHING = MessageTally(0, 0, 0, {})


def _impossible(
    plan: Plan, number: int, message: Message, counts: MessageTally
) -> list[Impossible]:
    """The bits of a message whose rates lie outside their bounds.

    The spread is largest at the bounds themselves. All bits of the plan share the false alarm.
    """
    bits = sum(m.record_bits for m in plan.messages)
    quantile = -float(ndtri(FALSE_ALARM / (2 * bits)))
    found = []
    for id, channel in message.channels.items():
        if (id,) not in counts.tables:
            continue
        table = np.atleast_2d(counts.tables[(id,)]).sum(axis=0)
        reports = max(int(table[0]), 1)
        low, high = _bounds(channel)
        slack = [quantile * np.sqrt(r * (1 - r) / reports) + 1 / reports for r in (low, high)]
        rates = table[1:] / reports
        wrong = (rates < low - slack[0]) | (rates > high + slack[1])
        found += [
            Impossible(number + 1, id, int(bit), float(rates[bit]), low, high)
            for bit in np.flatnonzero(wrong)
        ]
    return found


def _bounds(channel: Channel) -> tuple[float, float]:
    """The rates a bit of a question can have, whatever people answer."""
    rates = channel.set_rates
    return float(rates.min()), float(rates.max())
