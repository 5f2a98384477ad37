"""Enclosures of what a person's reports reveal, and the choices that decide how close they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from flint import arb, ctx

from incrowd.accountant.proved.balls import (
    PRECISION,
    TimeLimit,
    exact,
    text_above,
    text_below,
    unproved,
)
from incrowd.accountant.proved.bits import BitChances, BitCollection, Sweep, one_bit
from incrowd.accountant.proved.described import Exposure
from incrowd.accountant.proved.losses import (
    DeltaCurve,
    composed,
    composed_below,
    connected,
    lowered,
    named_loss,
)
from incrowd.accountant.proved.reports import ANYTHING, JointFlips, report_bound
from incrowd.accountant.proved.shifts import shifted_delta, split_loss
from incrowd.catalog.sentences import sentence

POINTS = 60.0  # of the lattice in one standard deviation of the loss of a typical report
START = 64  # intervals of m at first
LEVELS = 7  # how often they are halved
DOTS = 32  # epsilons at which the bound of a report of several bits is composed
MOST_POINTS = 60_000  # of the lattice of one curve
SECONDS = 60.0

ProofProgress = Callable[[str], None]


@dataclass(frozen=True)
class Enclosure:
    """delta(epsilon) lies between two numbers; all as decimal text.

    delta_high: no collection has a larger delta. delta_low: some collection of what is described
    has at least this delta; "0" where it was not computed, which is wherever a report of several
    bits, or several reports of a bit with different noise for zeros and ones, go through a crowd,
    or counts with noise from the services are too many to add exactly or have reports beside them.
    seconds: how long it took.
    """

    epsilon: str
    delta_low: str
    delta_high: str
    seconds: float

    def at_most(self, delta: str) -> bool:
        """Return whether the upper end is at most a number as decimal text."""
        return Decimal(self.delta_high) <= Decimal(delta)


def prove(
    ways: Sequence[Exposure],
    people: int | None,
    epsilon: str,
    delta: str,
    *,
    seconds: float = SECONDS,
    progress: ProofProgress = lambda _: None,
) -> Enclosure:
    """Enclose delta of everything that one person sends in a crowd.

    ways: one for each way in which the answers can change; the largest delta counts. people: the
    honest people of the smallest collection, the person included; None if nothing counts on them.
    epsilon, delta: decimal text. The bound is refined until it is at most delta, or until refining
    does not help. Raises ProofError, also if it takes longer than `seconds`.
    """
    before, clock = ctx.prec, TimeLimit(seconds)
    ctx.prec = PRECISION
    try:
        low, high = arb(0), arb(0)
        goal = Goal(people or 1, exact(epsilon), exact(delta), clock, progress)
        for number, sent in enumerate(ways, 1):
            progress(f"way {number} of {len(ways)}" if len(ways) > 1 else "curves of bits")
            least, most = goal.of(sent)
            low, high = low.max(least), high.max(most)
        return Enclosure(epsilon, text_below(low), text_above(high.min(arb(1))), clock.elapsed)
    finally:
        ctx.prec = before


@dataclass(frozen=True)
class LossGrid:
    """step: between losses. cut: masses below e^-cut may be left out. least: heights that do not
    matter."""

    step: float
    cut: float
    least: float


@dataclass(frozen=True)
class Goal:
    """The claim to prove, in a crowd of a given size."""

    people: int
    epsilon: arb
    delta: arb
    clock: TimeLimit
    progress: ProofProgress

    def of(self, sent: Exposure) -> tuple[arb, arb]:
        """Return (low, high) for what is sent.

        Lemmas (docs/protocol.md, "Slots"; docs/mathematics.md, "Redraws from below"): with the cost
        c = N r of redraws, delta is at most e^c delta(epsilon - c) + e^(epsilon - c) (e^c - 1),
        without the last term if all reports have names, and at least delta(epsilon + c) - (1 -
        e^-c).
        """
        # The sum of logarithms was computed in double precision.
        cost = self.people * arb(sent.redraws) * (1 + arb(2) ** -40)
        if not self.epsilon - cost >= 0:
            raise unproved(sentence("accountant.proof-of-redraws"))
        drawn, unseen = self.epsilon - cost, arb(0)
        if sent.bits or sent.reports:  # reports without names do not show whether everything fits
            unseen = drawn.exp() * cost.expm1()
        enough = ((self.delta - unseen) * (-cost).exp()).nonnegative_part()
        low, high = replace(self, delta=enough)._without_redraws(sent, drawn)
        high = high * cost.exp() + unseen
        if cost > 0 and low > 0:
            low, _ = self._without_redraws(sent, self.epsilon + cost)
            low = (low + (-cost).expm1()).nonnegative_part()
        return low, high

    def _without_redraws(self, sent: Exposure, epsilon: arb) -> tuple[arb, arb]:
        number = sum(n for _, n in (*sent.bits, *sent.reports, *sent.linked))
        if not number:
            if not sent.shifts:
                return arb(0), arb(0)
            return shifted_delta(sent.shifts, epsilon, self.clock)
        if not (sent.bits or sent.reports or sent.shifts):
            return named_delta(sent, epsilon)
        number += sum(n for _, n in sent.shifts)
        if number == 1 and sent.bits:
            return one_bit(sent.bits[0][0], self.people, epsilon, self._cut(), self.clock)
        if number == 1 and sent.reports:
            report = sent.reports[0][0]
            high = report_bound(report, self.people, epsilon, self.clock, self.delta)
            return arb(0), high
        lattice = self._lattice(sent)
        return self._below(sent, epsilon, lattice), self._above(sent, epsilon, lattice)

    def _cut(self) -> float:
        return 40 - math.log(max(float(self.delta.mid()), 1e-200))

    def _lattice(self, sent: Exposure) -> LossGrid:
        """Return steps a fraction of the spread of a typical report:
        the added variance comes from them."""
        hidden: list[tuple[BitChances | JointFlips, int]] = [*sent.bits, *sent.reports]
        spreads = [(each.spread(self.people), n) for each, n in hidden]
        widest = max((each.local_epsilon for each, _ in hidden), default=math.inf)
        if sent.shifts:
            spreads += [(count.spread, n) for count, n in sent.shifts]
            widest = max(min(widest, 10.0), *(count.largest for count, _ in sent.shifts))
        number = sum(n for _, n in spreads)
        mean = math.sqrt(sum(n * spread**2 for spread, n in spreads) / number)
        step = max(min(mean, widest) / POINTS, widest / MOST_POINTS)
        return LossGrid(step, self._cut(), 1e-4 * float(self.delta.mid()) / number)

    def _above(self, sent: Exposure, epsilon: arb, lattice: LossGrid) -> arb:
        """Return the composition, with ever shorter intervals of m."""
        others = [(named_loss(noise, lattice.step), n) for noise, n in sent.linked]
        for report, n in sent.reports:
            self.progress("reports of several bits")
            others.append((connected(self._report_curve(report, lattice)), n))
        others += [(split_loss(count, lattice.step), n) for count, n in sent.shifts]
        sweeps = [(*self._sweep(bit, lattice), n) for bit, n in sent.bits]
        high = arb(1)
        for level in range(LEVELS):
            losses = [
                (connected(DeltaCurve(lattice.step, places, sweep.heights)), n)
                for places, sweep, n in sweeps
            ]
            finer = composed([*losses, *others], lattice.cut - 10, self.clock).delta(epsilon)
            gained = float((high - finer).mid()) / max(float(high.mid()), 1e-300)
            high = high.min(finer)
            if high.upper() <= self.delta or (gained < 0.002 and level):
                break
            self.progress(f"crowds, level {level + 2}")
            if not any([sweep.refine() for _, sweep, _ in sweeps]):
                break
        return high

    def _sweep(self, bit: BitChances, lattice: LossGrid) -> tuple[list[int], Sweep]:
        """Return places of a curve and its bounds: close together up to three spreads,
        then rarer."""
        spread, last = bit.spread(self.people), self._last(bit, lattice)
        places = spread_out(last, 3 * spread / lattice.step, spread / POINTS / lattice.step)
        alphas = [(place * arb(lattice.step)).exp() for place in places]
        return places, Sweep(bit, self.people, alphas, lattice.cut, self.clock, START)

    def _last(self, bit: BitChances, lattice: LossGrid) -> int:
        """Return the place beyond which what counts as infinite loss does not matter.

        By trying three crowds; at the local epsilon, nothing is left.
        """
        end = math.ceil(bit.local_epsilon / lattice.step) + 1
        others = self.people - 1
        crowds = [
            BitCollection(order, m, others - m, lattice.cut)
            for order in bit.orders
            for m in {0, others // 2, others}
        ]
        low, high = 0, end
        while low < high:
            middle = (low + high) // 2
            alpha = (middle * arb(lattice.step)).exp()
            enough = all(float(crowd.above(alpha).mid()) < lattice.least for crowd in crowds)
            low, high = (low, middle) if enough else (middle + 1, high)
        return max(low, 2)

    def _report_curve(self, report: JointFlips, lattice: LossGrid) -> DeltaCurve:
        """Return bounds of a report at some epsilons, up to one where they do not matter."""
        end = math.ceil(report.local_epsilon / lattice.step) + 1
        last = min(max(math.ceil(6 * report.spread(self.people) / lattice.step), 4), end)
        while last < end and self._height(report, lattice, last) > lattice.least:
            last = min(math.ceil(1.4 * last), end)
        places = sorted({round(last * i / DOTS) for i in range(DOTS + 1)})
        heights = [self._height(report, lattice, place).upper() for place in places]
        return DeltaCurve(lattice.step, places, heights)

    def _height(self, report: JointFlips, lattice: LossGrid, place: int) -> arb:
        return report_bound(report, self.people, place * arb(lattice.step), self.clock, ANYTHING)

    def _below(self, sent: Exposure, epsilon: arb, lattice: LossGrid) -> arb:
        """Return delta of a crowd in which everybody else holds the same record, from below.

        That of bits with the same noise for zeros and ones alone; otherwise 0. Losses are lowered
        to the lattice, and what is left out only lowers delta.
        """
        if (
            sent.reports
            or sent.linked
            or sent.shifts
            or any(len(bit.orders) > 1 for bit, _ in sent.bits)
        ):
            return arb(0)
        self.progress("one crowd, from below")
        best = arb(0)
        for same in (0, self.people - 1):
            losses = [
                (
                    lowered(
                        BitCollection(bit, same, self.people - 1 - same, lattice.cut),
                        lattice.step / 8,
                    ),
                    n,
                )
                for bit, n in sent.bits
            ]
            best = best.max(composed_below(losses, lattice.cut, self.clock).delta(epsilon))
        return best


def named_delta(sent: Exposure, epsilon: arb) -> tuple[arb, arb]:
    """Return delta of bits that carry a name: the sum of max(0, P - e^epsilon Q), low and high.

    Lemmas (docs/mathematics.md, "The devices", "Rounds without a shuffler"): the reports are
    independent given the answers, and those in which most bits differ reveal the most.
    """
    local = sum((n * arb((1 - noise) / noise).log() for noise, n in sent.linked), arb(0))
    if epsilon >= local:
        return arb(0), arb(0)
    if math.prod(n + 1 for _, n in sent.linked) > 200_000:
        raise unproved(sentence("accountant.proof-of-many-noises"))
    outcomes = [(arb(1), arb(0))]  # probability, and loss
    for noise, n in sent.linked:
        unit = arb((1 - noise) / noise).log()
        here = [
            (arb(math.comb(n, k)) * arb(1 - noise) ** (n - k) * arb(noise) ** k, (n - 2 * k) * unit)
            for k in range(n + 1)
        ]
        outcomes = [(a * b, c + d) for a, c in outcomes for b, d in here]
    total = arb(0)
    for mass, loss in outcomes:
        total += mass * (-(epsilon - loss).expm1()).nonnegative_part()
    return total, total


def spread_out(last: int, dense: float, spacing: float) -> list[int]:
    """Return integers from 0 to last: `spacing` apart up to `dense`,
    and then farther and farther."""
    places, at = [0], 0.0
    while places[-1] < last:
        at += max(spacing, 1.0) + max(at - dense, 0.0) / 16
        places.append(min(max(round(at), places[-1] + 1), last))
    return places
