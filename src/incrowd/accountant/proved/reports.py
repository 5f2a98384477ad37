"""One report of several bits: the empty seat, the blanket, and no crowd at all.

Proofs: docs/empty-seat.md, docs/mathematics.md#the-blanket, docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import compress
from typing import NamedTuple

import numpy as np
from flint import acb, arb, fmpq

from incrowd.accountant.proved.balls import TimeLimit

NOTHING, ANYTHING = arb(0), arb("inf")  # goals
MOST_TERMS = 3_000_000  # of a sum over a contour

Values = list[tuple[arb, arb, arb]]  # A, B, and their mass


class Flips(NamedTuple):
    """Questions that share a bit flip, in one report.

    distance: the largest number of bits in which two records differ. classes: for each relation of
    x, x' and another person's z that can be the worst, in how many bits only x, only x', and both
    differ from z. common: the blanket's masses by the exponents of (1 - noise) / noise in A and B.
    """

    noise: fmpq
    distance: int
    classes: tuple[tuple[int, int, int], ...]
    common: tuple[tuple[tuple[int, int], fmpq], ...]

    @property
    def odds(self) -> fmpq:
        """The probability that a bit is sent unchanged, over that of a flip."""
        return (1 - self.noise) / self.noise


class JointFlips(NamedTuple):
    """A report of several bits: its questions by noise, and the mass that all answers share."""

    groups: tuple[Flips, ...]
    common: fmpq

    @property
    def local_epsilon(self) -> float:
        """The largest loss without a crowd, approximately."""
        return sum(group.distance * math.log(float(group.odds)) for group in self.groups)

    def spread(self, people: int) -> float:
        """Return the approximate standard deviation of the loss in a crowd."""
        phi = 1.0
        for group in self.groups:
            odds = float(group.odds)
            phi *= (odds + 1 / odds - 1) ** group.distance
        return math.sqrt((phi - 1) / people)


class Atoms(NamedTuple):
    """A law of G = A - e^epsilon B: values and masses."""

    values: list[arb]
    masses: list[arb]

    def up_to(self, cut: float) -> Atoms:
        """Return the values that are not above the cut, or that may not be."""
        return self._those([not value > cut for value in self.values])

    def above(self, cut: float) -> Atoms:
        """Return the values that are above the cut."""
        return self._those([bool(value > cut) for value in self.values])

    def _those(self, chosen: Sequence[bool]) -> Atoms:
        return Atoms(list(compress(self.values, chosen)), list(compress(self.masses, chosen)))

    def mean(self, function: Callable[[arb], arb]) -> arb:
        """Return E function(G)."""
        terms = zip(self.values, self.masses, strict=True)
        return sum((mass * function(value) for value, mass in terms), arb(0))

    def moment(self, w: acb) -> acb:
        """Return E exp(w G)."""
        terms = zip(self.values, self.masses, strict=True)
        return sum((mass * (w * value).exp() for value, mass in terms), acb(0))


class Floats(NamedTuple):
    """The same law in floating-point numbers, to choose tilts."""

    values: np.ndarray
    masses: np.ndarray

    @classmethod
    def of(cls, law: Atoms) -> Floats:
        """Return the midpoints."""
        values, masses = (np.array([float(x.mid()) for x in each]) for each in law)
        return cls(values, masses)

    def log_moment(self, w: np.ndarray, rest: float = 0.0) -> np.ndarray:
        """Return ln |E exp(w G)|, with a further mass at 0."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            total = np.exp(np.multiply.outer(w, self.values)) @ self.masses
            logs: np.ndarray = np.nan_to_num(np.log(np.abs(total + rest)), nan=np.inf)
        return logs

    def saddle(self, draws: float, rest: float = 0.0) -> float:
        """Return the exponent at which the integrand of `draws` draws is smallest."""
        largest = np.abs(self.values).max()
        if largest < 1e-30:  # G is 0
            return 1e20
        thetas = np.geomspace(1e-6, 60.0, 1200) / largest
        costs = draws * self.log_moment(thetas, rest) - 2 * np.log(thetas)
        return float(thetas[int(np.argmin(costs))])

    def variance(self, theta: float, rest: float = 0.0) -> float:
        """Return the variance of a draw, tilted."""
        top = theta * float(self.values.max())
        weights = self.masses * np.exp(theta * self.values - top)
        weights /= weights.sum() + rest * math.exp(min(-top, 700.0))
        return float(weights @ self.values**2 - (weights @ self.values) ** 2)


class Grain(NamedTuple):
    """The fineness of the sums of the empty seat: the smoothing, and the number of places of u."""

    smoothing: float
    places: int


CUTS = (1.2, 1.6, 2.2)  # times n (e^epsilon - 1), which a single value has to exceed to decide
TAILS = (12.0, 27.0, 60.0, 134.0, 300.0)  # values of t times what a decisive value has to spare
FIRST, ROUNDS = 6, 4  # classes for which a contour is chosen; how often another is added
COARSE = Grain(0.06, 80)
FINER = (Grain(0.3, 200), Grain(0.12, 200), Grain(0.03, 160))  # few bits need more, many less


def report_bound(
    report: JointFlips, people: int, epsilon: arb, clock: TimeLimit, goal: arb = NOTHING
) -> arb:
    """Return a bound of delta of one report in a collection, for every crowd and both orders.

    goal: as for `seat_bound`. Lemma (docs/mathematics.md, "The smallest of all bounds"): of
    the empty seat, the blanket, and the local delta.
    """
    alone = local_delta(report.groups, epsilon)
    if alone <= 0:
        return arb(0)
    seat = seat_bound(report, people, epsilon, clock, goal).min(alone).min(arb(1))
    blanket = BlanketSum(report, people, epsilon)
    worth = blanket.guess < math.log(max(float(seat.mid()), 1e-300)) + 0.5
    return seat.min(blanket.bound(clock)) if worth else seat


def local_delta(groups: Sequence[Flips], epsilon: arb) -> arb:
    """Return the sum of max(0, P_x - e^epsilon P_x') of two records as far apart as possible.

    Lemma (docs/mathematics.md, "The devices"): delta of a report with a name on it.
    """
    losses = [(arb(1), arb(1))]
    for group in groups:
        d, p, q = group.distance, 1 - group.noise, group.noise
        here = [
            (arb(math.comb(d, k) * p ** (d - k) * q**k), arb(math.comb(d, k) * p**k * q ** (d - k)))
            for k in range(d + 1)
        ]
        losses = [(a * c, b * e) for a, b in losses for c, e in here]
    scale = epsilon.exp()
    return sum(((a - scale * b).nonnegative_part() for a, b in losses), arb(0))


# --- the blanket ---------------------------------------------------------------------------------


class BlanketSum:
    """E max(0, G_1 + ... + G_M) / (gamma people), by a contour sum that is never too small.

    Lemmas (docs/mathematics.md): the statement of "The blanket"; "The worst pairs", which leaves
    one class of pairs; "Contour sums", for any theta, smoothing, and step. guess: the logarithm of
    the bound, approximately.
    """

    def __init__(self, report: JointFlips, people: int, epsilon: arb) -> None:
        scale = epsilon.exp()
        pairs = _products(
            [(arb(group.odds**a), arb(group.odds**b), arb(mass)) for (a, b), mass in group.common]
            for group in report.groups
        )
        self.people = people
        self.law = Atoms([a - scale * b for a, b, _ in pairs], [mass for *_, mass in pairs])
        self.rest = arb(1) - sum(self.law.masses, arb(0))
        floats, zero = Floats.of(self.law), float(self.rest.mid())
        theta = floats.saddle(people, zero)
        spread = math.sqrt(people * max(floats.variance(theta, zero), 1e-300))
        fall = -people * float(floats.log_moment(np.array([theta]), zero)[0])
        self.guess = -fall - math.log(people * theta**2 * max(spread, 1 / theta) * 2.5)
        self.theta, self.smoothing = arb(theta), arb(0.04 / theta)
        self.step = arb(min(0.5 / spread, 2 * math.pi * theta / (20 + max(fall, 0.0))))

    def bound(self, clock: TimeLimit) -> arb:
        """Return a bound for every crowd and both orders; 1 where the sum would be too long."""
        last = math.ceil(9.0 / float(self.smoothing.mid()) / float(self.step.mid()))
        if last * len(self.law.values) > MOST_TERMS:
            return arb(1)
        total, h = arb(0), self.smoothing
        for j in range(last + 1):
            clock.check()
            w = acb(self.theta, j * self.step)
            height = ((h * w) ** 2 / 2).exp() * self._moment(w) / w**2
            total += (1 if j == 0 else 2) * self.step * height.real
        beyond = last * self.step
        fall = (h**2 * (self.theta**2 - beyond**2) / 2).exp()
        total += 2 * fall / beyond * self._moment(acb(self.theta)).real
        return (total / (2 * arb.pi() * self.people)).nonnegative_part()

    def _moment(self, w: acb) -> acb:
        return (self.rest + self.law.moment(w)) ** self.people


def _products(laws: Iterable[Values]) -> Values:
    """Return A, B, and masses of independent questions together."""
    pairs = [(arb(1), arb(1), arb(1))]
    for here in laws:
        pairs = [(a * c, b * d, m * n) for a, b, m in pairs for c, d, n in here]
    return pairs


# --- the empty seat ------------------------------------------------------------------------------


class Cover(NamedTuple):
    """The quantities that do not depend on the class: n, gamma, e^epsilon - 1, and D (without a
    crowd)."""

    others: int
    common: arb
    gain: arb
    local: arb

    def unlabeled(self, eta: arb) -> arb:
        """Return the probability that nobody has a label of at most eta."""
        return (self.others * (-eta * self.common).log1p()).exp()

    def labels(self, number: int = 40) -> np.ndarray:
        """Return labels u at which the inner integrals are computed: dense where most people have
        one."""
        far = min(0.95, 60 / (float(self.common.mid()) * self.others))
        late = np.linspace(0.5, 0.95, 19)
        return np.unique([0.0, *np.geomspace(far / 4000, far, number), *late])


class IntegrationLine(NamedTuple):
    """theta: where the line of integration crosses the real axis. eta: the last label."""

    theta: float
    eta: arb
    grain: Grain

    @property
    def smoothing(self) -> arb:
        """h."""
        return arb(self.grain.smoothing / self.theta)


def seat_bound(
    report: JointFlips, people: int, epsilon: arb, clock: TimeLimit, goal: arb = NOTHING
) -> arb:
    """Return a bound of delta for every crowd of one report of these questions.

    goal: other ways of smoothing are tried until the bound is at most this.

    Lemmas (docs/empty-seat.md): the theorem; "Both sums are above the integrals", whatever their
    steps; "Which classes": only those that no other class exceeds are tried; "Decisive values",
    with any cut.
    """
    local = local_delta(report.groups, epsilon)
    cover = Cover(people - 1, arb(report.common), epsilon.expm1(), local)
    laws = [_law(report.groups, each, epsilon) for each in _classes(report.groups)]
    level = cover.others * float(cover.gain)
    highest = max(float(value.mid()) for law in laws for value in law.values)
    best = arb("inf")
    for cut in [math.inf, *(share * level for share in CUTS if share * level < highest)]:
        best = best.min(_with_cut(laws, cut, cover, clock, goal))
    return best


def _with_cut(laws: Sequence[Atoms], cut: float, cover: Cover, clock: TimeLimit, goal: arb) -> arb:
    """Return the bound with values above the cut as decisive ones.

    One theta, h, eta, and cut are used for all classes, as the theorem requires: a mixed crowd can
    exceed what each of its classes needs with a contour of its own.
    """
    seats = [SeatSum(law.up_to(cut), cover) for law in laws]
    above = [law.above(cut) for law in laws]
    places = sorted(range(len(seats)), key=lambda place: -seats[place].guess)[:FIRST]
    best = arb("inf")
    for _ in range(ROUNDS):
        theta, eta = _chosen([seats[place] for place in places], cover)
        extra = _decisive(above, laws, cut, eta, cover)
        late = cover.unlabeled(eta) * cover.local
        term, worst = _largest_term(seats, extra, IntegrationLine(theta, eta, COARSE), clock)
        best = best.min(late + term)
        if worst in places:
            break
        places.append(worst)
    for grain in FINER:
        if best <= goal:
            break
        term, _ = _largest_term(seats, extra, IntegrationLine(theta, eta, grain), clock)
        best = best.min(late + term)
    return best


def _chosen(seats: Sequence[SeatSum], cover: Cover) -> tuple[float, arb]:
    """Return the theta and eta with the smallest bound of some classes, by ordinary numbers.

    On a grid of theta, and then on a finer one, since the largest class changes at a corner.
    """
    labels = cover.labels()
    unlabeled = np.exp(cover.others * np.log1p(-float(cover.common.mid()) * labels))
    late = float(cover.local.mid()) * unlabeled

    def best(thetas: np.ndarray) -> tuple[int, int]:
        terms = np.array([[seat.term(theta, labels) for theta in thetas] for seat in seats])
        with np.errstate(over="ignore"):
            bounds = late + np.exp(terms.max(axis=0))
        bounds[:, 0] = math.inf  # eta is above 0
        row, column = np.unravel_index(np.argmin(bounds), bounds.shape)
        return int(row), int(column)

    saddles = [seat.saddle for seat in seats]
    low, high = 0.4 * min(saddles), 4.0 * max(saddles)
    wide = np.geomspace(low, high, 2 + round(6 * math.log(high / low)))
    around = float(wide[best(wide)[0]])
    close = around * np.geomspace(0.85, 1.18, 41)
    row, column = best(close)
    return float(close[row]), arb(float(labels[column]))


def _largest_term(
    seats: Sequence[SeatSum], extra: Sequence[arb], contour: IntegrationLine, clock: TimeLimit
) -> tuple[arb, int]:
    """Return the largest T_z of a contour, and its place;
    not computed where a quick bound is less."""
    quick = [seat.crude(contour) + more for seat, more in zip(seats, extra, strict=True)]
    largest, worst = arb(0), 0
    for place in sorted(range(len(seats)), key=lambda place: -float(quick[place].mid())):
        clock.check()
        if not quick[place] <= largest:
            term = seats[place].bound(contour) + extra[place]
            if not term <= largest:
                worst = place
            largest = largest.max(term)
    return largest, worst


def _decisive(
    above: Sequence[Atoms], laws: Sequence[Atoms], cut: float, eta: arb, cover: Cover
) -> list[arb]:
    """Return H_z for each class: what the values above the cut add.

    Lemma ("Decisive values"), for several t, and K = 8/t. The share of the reports that count is at
    least 0.
    """
    if not any(law.values for law in above):
        return [arb(0)] * len(above)
    rest = cover.others - 1
    spare = cut - rest * float(cover.gain)
    tilts = [arb(tail / spare) for tail in TAILS if spare > 0]
    missing = reduce(arb.min, (_missing(laws, arb(cut), rest, t) for t in tilts), arb("inf"))
    counted = 1 - cover.unlabeled(eta) - 1 / (cover.common * (cover.others + 1))
    net = missing - rest * cover.gain * counted.nonnegative_part()
    return [law.mean(lambda v: v + net).nonnegative_part() for law in above]


def _missing(laws: Sequence[Atoms], cut: arb, rest: int, t: arb) -> arb:
    """Return m: what the sum of the others lacks on average where it is below -v, with K = 8/t."""
    lowest = -8 / t
    raised = (law.mean(lambda g: (lowest - g).nonnegative_part()) for law in laws)
    lowered = (law.mean(lambda g: (-t * g.max(lowest)).exp()) for law in laws)
    tail = (-t * cut - 1).exp() / t * reduce(arb.max, lowered, arb(1)) ** rest
    return rest * reduce(arb.max, raised) + tail


def _classes(groups: Sequence[Flips]) -> Iterator[tuple[tuple[int, int, int], ...]]:
    if not groups:
        yield ()
        return
    for one in groups[0].classes:
        for rest in _classes(groups[1:]):
            yield (one, *rest)


def _law(groups: Sequence[Flips], classes: Sequence[tuple[int, int, int]], epsilon: arb) -> Atoms:
    """Return the law of G for reports of z."""
    pairs = _products(_pair_law(group, *each) for group, each in zip(groups, classes, strict=True))
    scale = epsilon.exp()
    return Atoms([a - scale * b for a, b, _ in pairs], [mass for *_, mass in pairs])


def _pair_law(group: Flips, only_x: int, only_other: int, both: int) -> Values:
    """Return (A, B, mass): the ratios P_x/P_z and P_x'/P_z of bits of three kinds, and their
    chance.

    A bit of z that is flipped multiplies the ratio of each record that differs there by p/q, and
    one that is not by q/p.
    """
    q, p = group.noise, 1 - group.noise
    masses: dict[tuple[int, int], fmpq] = {}
    for i in range(only_x + 1):
        for j in range(only_other + 1):
            for k in range(both + 1):
                ways = math.comb(only_x, i) * math.comb(only_other, j) * math.comb(both, k)
                flipped = i + j + k
                mass = ways * q**flipped * p ** (only_x + only_other + both - flipped)
                at = 2 * (i + k) - only_x - both, 2 * (j + k) - only_other - both
                masses[at] = masses.get(at, fmpq(0)) + mass
    return [(arb(group.odds**a), arb(group.odds**b), arb(mass)) for (a, b), mass in masses.items()]


class SeatSum:
    """The double sum of the theorem for one class.

    The contour, the step of t, and the places of u are chosen by ordinary numbers: any choice gives
    a bound. saddle: the theta that suits this class alone. guess: the logarithm of the integrand
    there.
    """

    def __init__(self, law: Atoms, cover: Cover) -> None:
        self.law, self.cover = law, cover
        self._floats = Floats.of(law)
        self.saddle = self._floats.saddle(cover.others)
        cost = self._floats.log_moment(np.array([self.saddle]))[0]
        self.guess = float(cover.others * cost - 2 * math.log(self.saddle))

    def term(self, theta: float, u: np.ndarray) -> np.ndarray:
        """Return the logarithm of the double integral up to each label u, approximately."""
        gamma = float(self.cover.common.mid())
        if float(self._floats.log_moment(np.array([theta]))[0]) > 1.0:  # far too large
            return np.full(len(u), math.inf)
        width = 1 / math.sqrt(self.cover.others * max(self._floats.variance(theta), 1e-300))
        t = np.linspace(0, 8 * max(width, theta), 80)
        modulus = np.exp(np.clip(self._floats.log_moment(theta + 1j * t), -600.0, 1.0))
        inner = np.log(u[:, None] * (1 - gamma) + (1 - u[:, None]) * modulus)
        logs = self.cover.others * inner - np.log1p(-u[:, None])
        peak = float(np.max(logs))
        over_t = np.trapezoid(np.exp(logs - peak) / (theta**2 + t**2), t, axis=1)
        steps = np.diff(u) * (over_t[1:] + over_t[:-1]) / 2
        sums = np.maximum(np.cumsum([0.0, *steps]), 1e-300)
        logs_of_sums: np.ndarray = peak + np.log(gamma * sums / math.pi)
        return logs_of_sums

    def crude(self, contour: IntegrationLine) -> arb:
        """Return a bound of T_z with |M| at its largest, and the weight without the Gaussian's
        fall."""
        theta, h = arb(contour.theta), contour.smoothing
        weight = (h**2 * theta**2 / 2).exp() * arb.pi() / theta
        return self._up_to(contour.eta, [(self._top(contour), weight)], COARSE.places)

    def bound(self, contour: IntegrationLine) -> arb:
        """Return a bound of T_z."""
        theta, h, top = arb(contour.theta), contour.smoothing, self._top(contour)
        spread = math.sqrt(self.cover.others * max(self._floats.variance(contour.theta), 1e-300))
        step = arb(min(0.8 / spread, 0.8 * contour.theta))
        last = math.ceil(6.0 / float(h.mid()) / float(step.mid()))
        least = arb(max(0.01, 1 - 40 / self.cover.others))
        terms, of_least = [], arb(0)  # most moduli are raised to the least
        for j in range(last + 1):
            t = j * step
            weight = (h**2 * (theta**2 - t**2) / 2).exp() / (theta**2 + t**2)
            share = (abs(self.law.moment(acb(theta, t))) / top).max(least).min(arb(1))
            times = (1 if j == 0 else 2) * step * (share + 1 / share) / 2 * weight
            if share == least:
                of_least += times
            else:
                terms.append((share * top, times))
        terms.append((least * top, of_least))
        beyond = last * step
        terms.append((top, 2 * (h**2 * (theta**2 - beyond**2) / 2).exp() / beyond))
        return self._up_to(contour.eta, terms, contour.grain.places)

    def _top(self, contour: IntegrationLine) -> arb:
        return self.law.moment(acb(arb(contour.theta))).real

    def _up_to(self, eta: arb, terms: Sequence[tuple[arb, arb]], number: int) -> arb:
        """Return the sum over u up to eta by chords, which are above the convex function of u."""
        places = [*(arb(u) for u in self.cover.labels(number) if u < eta), eta]
        heights = [self._at(u, terms) for u in places]
        total = arb(0)
        for i in range(len(places) - 1):
            total += (places[i + 1] - places[i]) * (heights[i] + heights[i + 1]) / 2
        return self.cover.common * total / (2 * arb.pi())

    def _at(self, u: arb, terms: Sequence[tuple[arb, arb]]) -> arb:
        total = arb(0)
        for moment, weight in terms:
            total += weight * (u * (1 - self.cover.common) + (1 - u) * moment) ** self.cover.others
        return total / (1 - u)
