"""Whether the figures of a tally, and the numbers of people and reports, are possible together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.accountant.additive import AdditiveNoise
from incrowd.catalog.sentences import FileDigest, Sentence, sentence
from incrowd.errors import IncrowdError, Place, ReportsError
from incrowd.plans import CellsMessage, Message, Plan
from incrowd.plans.strata import StratumNames, label
from incrowd.reports.acceptance import DIGITS, check_stratum
from incrowd.reports.tally import MessageTally, Tally, TallyKind
from incrowd.survey.question import QuestionIds

FALSE_ALARM = 1e-9  # probability that a correct number of people is rejected, on either side


class Sends(NamedTuple):
    """The fewest and the most reports of cells that some people can send."""

    low: float
    high: float


def check_possible(plan: Plan, tally: Tally) -> None:
    """Raise ReportsError for a tally of another plan, or one that no reports of the plan can
    give."""
    if tally.plan != plan.digest:
        raise ReportsError.of(
            "tally",
            "reports.tally-of-another-plan",
            value=FileDigest(tally.plan),
            start=tally.plan[:DIGITS],
        )
    check_strata(plan, tally)
    for number, counts in chain.from_iterable(crowd.items() for crowd in tally.crowds):
        if number >= len(plan.messages):
            raise _impossible(number, sentence("reports.message-of-no-plan"))
        for wrong in _wrong(plan, plan.messages[number], counts, tally):
            raise _impossible(number, wrong)


def check_strata(plan: Plan, tally: Tally) -> None:
    """Raise ReportsError unless every stratum belongs to the plan and is in one release."""
    for names in tally.strata or ((),) * bool(tally.messages):
        check_stratum(plan, "tally", names)
    seen = Counter(name for names in tally.strata for name in names)
    for name, times in seen.items():
        if times > 1:
            raise ReportsError.of("reports", "reports.released-twice", stratum=name, releases=times)


def check_people(plan: Plan, tally: Tally) -> None:
    """Raise ReportsError if more people are declared than can have sent so few reports.

    Files of cells declare the number of people, which the guarantee relies on. tally: the tally of
    all reports of its messages, not of parts.
    """
    for number, counts in chain.from_iterable(crowd.items() for crowd in tally.crowds):
        message = plan.messages[number]
        if not message.cells or message.by_services:
            continue
        low = sends(message, counts.declared).low
        if counts.accepted < low:
            why = sentence(
                "reports.fewer-than-sent",
                people=counts.declared,
                least=math.ceil(low),
                reports=counts.accepted,
            )
            raise _impossible(number, why)


def people_of(plan: Plan, tally: Tally) -> int:
    """Return how many people took part: the smallest number of any message (rows, if one person has
    several), of any stratum and of any release over a network, since each is a separate crowd.

    tally: the tally of all reports of every message. Raises ReportsError if a message is missing,
    or for figures that are not possible together.
    """
    check_possible(plan, tally)
    for names, crowd in tally.strata.items() or [((), tally.messages)]:
        for number in range(len(plan.messages)):
            if number not in crowd:
                raise nothing_of(number, names)
    check_people(plan, tally)
    crowds = (smallest(plan, crowd) for crowd in tally.crowds)
    return min([*crowds, *(release.people for release in tally.releases)])


def smallest(plan: Plan, crowd: Mapping[int, MessageTally]) -> int:
    """Return the number of people of the message that has the fewest."""
    return min(crowd[number].people(message) for number, message in enumerate(plan.messages))


def nothing_of(number: int, names: StratumNames = ()) -> IncrowdError:
    """Return the error for a message without reports."""
    none = sentence("reports.none")
    if names:
        none = sentence("reports.none-of-stratum", stratum=label(names))
    return ReportsError.of(Place("message", number + 1), "reports.of-every-message", none=none)


def sends(message: CellsMessage, people: int) -> Sends:
    """Return how many reports of cells that many people can send.

    Every bit is set independently, with probability p if the person chose it and q if not. So the
    variance is the same whatever people answer, and the mean lies between two bounds. By
    Bernstein's inequality (Boucheron, Lugosi and Massart 2013, theorem 2.10) the probability beyond
    the result is below FALSE_ALARM on each side.
    """
    record, p, q = message.crossing, message.flips.p, message.flips.q
    log = -math.log(FALSE_ALARM)
    slack = log / 3 + math.sqrt(log * log / 9 + 2 * log * people * record.cells * p * q)
    least, most = (people * (k * p + (record.cells - k) * q) for k in (record.fewest, record.most))
    return Sends(least - slack, most + slack)


def _impossible(number: int, why: Sentence) -> IncrowdError:
    return ReportsError.of("reports", "reports.impossible", message=number + 1, why=why)


def _wrong(plan: Plan, message: Message, counts: MessageTally, tally: Tally) -> Iterator[Sentence]:
    """Yield what is impossible in the counts of a message."""
    if min(counts.accepted, counts.rejected, counts.declared) < 0:
        yield sentence("reports.fewer-than-none")
    if message.by_services != (counts.draws > 0):
        yield sentence("reports.wrong-draws", draws=counts.draws)
    held = set(filter(message.holds, tally.tables))
    if message.cells:
        held = {message.ids} if tally.tables else set()
    if set(counts.tables) != held:
        yield sentence("reports.other-tables")
    else:
        for ids, table in counts.tables.items():
            if table.shape != _shape(plan, message, ids, tally.kind):
                yield sentence("reports.other-shape", questions=ids)
            elif not _adds_up(plan, message, ids, table, counts, tally.kind):
                yield sentence("reports.unfit-counts", questions=ids, reports=counts.accepted)
        if tally.kind == "singles" and not message.cells and not _agree(counts):
            yield sentence("reports.tables-disagree")


def _shape(plan: Plan, message: Message, ids: QuestionIds, kind: TallyKind) -> tuple[int, ...]:
    """Return the shape of a table's counts, as in `incrowd.reports.tally.count_part`."""
    question = plan.survey.question(ids[0])
    if question.hashed:
        return (1 << question.cohort_bits, 1 + question.bits - question.cohort_bits)
    if message.cells:
        return (1 + message.record_bits,)
    widths = [plan.survey.question(id).bits for id in ids]
    if kind == "singles":
        return tuple(1 + width for width in widths)
    if kind == "pairs":
        return tuple(1 + width + width * (width - 1) // 2 for width in widths)
    return tuple(1 << width for width in widths)


def _adds_up(
    plan: Plan,
    message: Message,
    ids: QuestionIds,
    table: np.ndarray,
    counts: MessageTally,
    kind: TallyKind,
) -> bool:
    """Return whether the accepted reports can give these counts; necessary conditions only."""
    if message.by_services:  # published counts can be negative, and exceed the people
        return bool(table[0] == counts.declared)
    if message.cells:
        right = table[0] == counts.declared and table[1:].sum() == counts.accepted
        return bool(right and table.min() >= 0)
    if table.min() < 0 or table.max() > counts.accepted:
        return False
    if plan.survey.question(ids[0]).hashed:
        return bool(table[:, 0].sum() == counts.accepted and (table <= table[:, :1]).all())
    if kind == "patterns":
        return bool(table.sum() == counts.accepted)
    return bool(table.flat[0] == counts.accepted) and _nested(table)


def _nested(table: np.ndarray) -> bool:
    """Return whether all counts of met conditions, with those of at most one question unmet, are >=
    0.

    For yes/no questions alone this is the whole histogram.
    """
    if table.ndim == 1:
        return _no_negative(table)
    return all(_no_negative(part) for met in table[1:] for part in (met, table[0] - met))


def _no_negative(table: np.ndarray) -> bool:
    """Return whether no count of reports that meet, or do not meet, the conditions is negative."""
    for axis in range(table.ndim):
        none, met = np.split(table, [1], axis=axis)
        table = np.concatenate([met, none - met], axis=axis)
    return bool(table.min() >= 0)


def _agree(counts: MessageTally) -> bool:
    """Return whether all tables agree on every question, and every pair of questions, that they
    share."""
    margins: dict[QuestionIds, np.ndarray] = {}
    for ids, table in counts.tables.items():
        if table.ndim > len(ids):  # a text question, which has a table alone
            continue
        for shared in chain(combinations(sorted(ids), 1), combinations(sorted(ids), 2)):
            margin = _marginal(ids, table, shared)
            if not np.array_equal(margins.setdefault(shared, margin), margin):
                return False
    return True


def _marginal(ids: QuestionIds, table: np.ndarray, shared: QuestionIds) -> np.ndarray:
    """Return the counts of some questions of a table, summed over the others."""
    counts = table[tuple(slice(None) if id in shared else 0 for id in ids)]
    order = [id for id in ids if id in shared]
    return counts.transpose([order.index(id) for id in shared])


# Rates of bits and numbers of people that the reports of a plan cannot have.
#
# The proof is in docs/mathematics.md#what-reports-can-be.


FALSE_ALARM_OF_BITS = 1e-6  # probability that correct reports are rejected, over all bits together


@dataclass(frozen=True)
class Impossible:
    """A bit whose rate cannot come from the plan.

    message: its number, from 1. bit: within the question, from 0. low, high: the rates that the
    noise can give.
    """

    message: int
    question: str
    bit: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class ImpossiblePeople:
    """A number of people that does not match the reports of a message of cells.

    message: its number, from 1. low, high: how many reports that many people can send.
    """

    message: int
    people: int
    reports: int
    low: int
    high: int


@dataclass(frozen=True)
class PublishedSum:
    """Published counts of which every person is in exactly one: what they add up to.

    message: its number, from 1. strata: those of the release. counts: how many there are.
    deviation: the standard deviation of the noise of their sum. most: how far noise takes the sum
    from the number of people, but for a probability below FALSE_ALARM on each side.
    """

    message: int
    strata: StratumNames
    counts: int
    people: int
    total: int
    deviation: float
    most: float

    @property
    def z(self) -> float:
        """The difference from the number of people, in standard deviations."""
        return (self.total - self.people) / self.deviation

    @property
    def possible(self) -> bool:
        """Whether noise can explain the difference."""
        return abs(self.total - self.people) <= self.most


def published_sums(
    plan: Plan, tallies: Sequence[MessageTally], strata: StratumNames = ()
) -> Iterator[PublishedSum]:
    """Yield the sums of the published counts of a release whose people are known to be in one cell
    each."""
    for number, (message, counts) in enumerate(zip(plan.messages, tallies, strict=True), 1):
        if message.added is None or message.ids not in counts.tables:
            continue
        people, *cells = counts.tables[message.ids].tolist()
        for block in message.crossing.blocks:
            if block.exclusive and block.shape != (1,):
                drawn, total = block.size * counts.draws, sum(cells[block.cells])
                deviation = math.sqrt(drawn * message.added.variance)
                most = _farthest(message.added, drawn)
                yield PublishedSum(number, strata, block.size, people, total, deviation, most)


def _farthest(law: AdditiveNoise, numbers: int) -> float:
    """Return how far a sum of so many numbers of a law strays from 0, but for a probability below
    FALSE_ALARM on each side: Chernoff's bound, at the best of some exponents."""
    exponents = np.geomspace(1e-3, 1e2, 500) / (law.deviation or 1.0)
    places = np.arange(-law.reach, law.reach + 1)
    logs = scipy.special.logsumexp(np.outer(exponents, places), axis=1, b=law.chances)
    return float(((numbers * logs - math.log(FALSE_ALARM)) / exponents).min())


def impossible_rates(plan: Plan, tallies: Sequence[MessageTally]) -> Iterator[Impossible]:
    """Yield the bits whose rates lie outside their bounds. tallies: one-way tables of every
    message.

    A bit is set with a probability between two bounds, whatever the answers are; the spread is
    largest at the bounds. The probability of a false alarm is split over all bits of the plan.
    """
    bits = sum(message.record_bits for message in plan.messages)
    quantile = -float(scipy.special.ndtri(FALSE_ALARM_OF_BITS / (2 * bits)))
    for number, (message, counts) in enumerate(zip(plan.messages, tallies, strict=True), 1):
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


def impossible_people(plan: Plan, tallies: Sequence[MessageTally]) -> Iterator[ImpossiblePeople]:
    """Yield the messages of cells whose people cannot have sent that many reports."""
    for number, (message, counts) in enumerate(zip(plan.messages, tallies, strict=True), 1):
        if message.cells and not message.by_services:
            low, high = sends(message, counts.declared)
            bounds = max(math.ceil(low), 0), math.floor(high)
            if not bounds[0] <= counts.accepted <= bounds[1]:
                yield ImpossiblePeople(number, counts.declared, counts.accepted, *bounds)
