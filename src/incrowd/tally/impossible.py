"""Rates of bits, and numbers of people, that the reports of a plan cannot have.

Proof: docs/mathematics.md#what-reports-can-be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from incrowd.plans import Plan
from incrowd.tally.consistency import sends
from incrowd.tally.tally import MessageTally

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
    """A number of people that does not fit the reports of a message (from 1) of cells.

    low, high: how many reports so many people can send.
    """

    message: int
    people: int
    reports: int
    low: int
    high: int


def impossible_rates(plan: Plan, found: Sequence[MessageTally]) -> Iterator[Impossible]:
    """The bits whose rates lie outside their bounds. found: one-way tables of every message.

    A bit is set with a probability between two bounds, whatever the answers are; the spread is
    largest at the bounds themselves. All bits of the plan share the false alarm.
    """
    bits = sum(message.record_bits for message in plan.messages)
    quantile = -float(scipy.special.ndtri(FALSE_ALARM / (2 * bits)))
    for number, (message, counts) in enumerate(zip(plan.messages, found, strict=True), 1):
        for id, channel in ({} if message.cells else message.channels).items():
            if (id,) not in counts.tables:
                continue
            table = np.atleast_2d(counts.tables[(id,)]).sum(axis=0)  # of all cohorts
            reports = max(int(table[0]), 1)
            rates = table[1:] / reports
            low, high = float(channel.set_rates.min()), float(channel.set_rates.max())
            slack = [quantile * np.sqrt(r * (1 - r) / reports) + 1 / reports for r in (low, high)]
            for bit in np.flatnonzero((rates < low - slack[0]) | (rates > high + slack[1])):
                yield Impossible(number, id, int(bit), float(rates[bit]), low, high)


def impossible_people(plan: Plan, found: Sequence[MessageTally]) -> Iterator[ImpossiblePeople]:
    """The messages of cells whose people cannot have sent as many reports."""
    for number, (message, counts) in enumerate(zip(plan.messages, found, strict=True), 1):
        if message.cells:
            low, high = sends(message, counts.declared)
            bounds = max(math.ceil(low), 0), math.floor(high)
            if not bounds[0] <= counts.accepted <= bounds[1]:
                yield ImpossiblePeople(number, counts.declared, counts.accepted, *bounds)
