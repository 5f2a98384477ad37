"""The reports in the terms of this program, from the accountant's description of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from flint import fmpq

from incrowd.accountant.proved.balls import unproved
from incrowd.accountant.proved.bits import BitChances
from incrowd.accountant.proved.reports import Flips, JointFlips
from incrowd.accountant.proved.shifts import ShiftedCount
from incrowd.accountant.schema import (
    AnyContribution,
    Contribution,
    Domain,
    Part,
    Schema,
    alternatives,
)
from incrowd.catalog.sentences import sentence

MOST_ATOMS = 20_000  # of the law of a report
MOST_CLASSES = 1_000


@dataclass(frozen=True)
class Exposure:
    """What one person sends: bits that a crowd hides, reports of several bits, and linked bits.

    Each with how many of it. linked: noise of bit flips that carry a name, and the largest number
    of bits that differ. redraws: the sum of -ln(1 - t) over the rounds in which noise was drawn
    again with probability t. shifts: counts that shift by one, with the noise of each.
    """

    bits: tuple[tuple[BitChances, int], ...] = ()
    reports: tuple[tuple[JointFlips, int], ...] = ()
    linked: tuple[tuple[fmpq, int], ...] = ()
    redraws: float = 0.0
    shifts: tuple[tuple[ShiftedCount, int], ...] = ()


def described(sent: AnyContribution, *, named: bool = False) -> tuple[Exposure, ...]:
    """Return what is sent, in the terms of this program; one for each way in which answers can
    change.

    named: all reports count as if they carried names, as without a shuffler. Raises ProofError for
    channels or questions that it does not cover.
    """
    return tuple(dict.fromkeys(_described(each, named) for each in alternatives(sent)))


def _described(sent: Contribution, named: bool) -> Exposure:
    if sent.shifts and named:
        raise unproved(sentence("accountant.proof-of-shifts"))
    bits: dict[BitChances, int] = {}
    reports: dict[JointFlips, int] = {}
    linked: dict[fmpq, int] = {}
    for schema, number in () if named else sent.reports:
        if bit := _single_bit(schema):
            bits[bit] = bits.get(bit, 0) + number
        else:
            report = _report(schema)
            reports[report] = reports.get(report, 0) + number
    for schema, number in sent.every if named else sent.linked:
        for part, count in schema.parts:
            noise, distance = _noise(part), _distance(part.domain)
            linked[noise] = linked.get(noise, 0) + number * count * distance
    counts = tuple(bits.items()), tuple(reports.items()), tuple(linked.items())
    shifts = tuple((ShiftedCount(n.numerators, 1 << n.bits), cells) for n, cells in sent.shifts)
    return Exposure(*counts, redraws=sent.redraws, shifts=shifts)


def _single_bit(schema: Schema) -> BitChances | None:
    """Return the channel of a report of one bit, with a 1 as evidence for a 1; otherwise None."""
    [(part, count), *others] = schema.parts
    if others or count > 1 or part.domain != (1, 0, 1) or part.channel.of_answers:
        return None
    (_, _), (one_if_zero, one_if_one) = part.channel.numerators
    stray, direct = (
        fmpq(int(chance), int(part.channel.denominator)) for chance in (one_if_zero, one_if_one)
    )
    return BitChances(direct, stray) if direct > stray else BitChances(1 - direct, 1 - stray)


def _noise(part: Part) -> fmpq:
    """Return the noise of a bit flip. Raises ProofError for other channels."""
    channel = part.channel
    if channel.of_answers or channel.numerators.shape != (2, 2):
        raise unproved(sentence("accountant.proof-of-channel", channel=channel.description))
    (zero, _), (one_if_zero, one_if_one) = channel.numerators
    same = int(zero) == int(one_if_one)
    if not same or not 0 < 2 * int(one_if_zero) < int(channel.denominator):
        raise unproved(sentence("accountant.proof-of-symmetric-bits", channel=channel.description))
    return fmpq(int(one_if_zero), int(channel.denominator))


def _distance(domain: Domain) -> int:
    """Return the largest number of bits in which two allowed records differ,
    by trying all sizes."""
    _, fewest, most = domain
    return max(
        _difference(domain.bits, one, other)
        for one in range(fewest, most + 1)
        for other in range(fewest, most + 1)
    )


def _difference(bits: int, one: int, other: int) -> int:
    """Return the largest number of bits in which two sets of these sizes differ."""
    return one + other - 2 * max(0, one + other - bits)


def _report(schema: Schema) -> JointFlips:
    common, questions = fmpq(1), dict[fmpq, list[tuple[Domain, int]]]()
    for part, count in schema.parts:
        noise = _noise(part)
        questions.setdefault(noise, []).append((part.domain, count))
        common *= sum((mass for _, mass in _by_ones(part.domain, noise)), fmpq(0)) ** count
    groups = tuple(_flips(noise, asked) for noise, asked in sorted(questions.items()))
    atoms = math.prod(
        max((a + c + 1) * (b + c + 1) for a, b, c in group.classes) for group in groups
    )
    classes = math.prod(len(group.classes) for group in groups)
    pairs = math.prod(len(group.common) for group in groups)
    if max(atoms, pairs) > MOST_ATOMS or classes > MOST_CLASSES:
        raise unproved(sentence("accountant.proof-of-many-questions"))
    return JointFlips(groups, common)


def _flips(noise: fmpq, asked: Iterable[tuple[Domain, int]]) -> Flips:
    classes: tuple[tuple[int, int, int], ...] = ((0, 0, 0),)
    common, distance = {(0, 0): fmpq(1)}, 0
    for domain, count in asked:
        relations, shared = _largest(_relations(domain)), _shared(domain, noise)
        distance += _distance(domain) * count
        for _ in range(count):
            sums = {(a + d, b + e, c + f) for a, b, c in classes for d, e, f in relations}
            classes = _largest(sums)
            together: dict[tuple[int, int], fmpq] = {}
            for (a, b), mass in common.items():
                for (c, d), other in shared.items():
                    at = a + c, b + d
                    together[at] = together.get(at, fmpq(0)) + mass * other
            common = together
    return Flips(noise, distance, classes, tuple(common.items()))


def _by_ones(domain: Domain, noise: fmpq) -> list[tuple[int, fmpq]]:
    """Return, for each number of ones in a report, how far the farthest record is, and the common
    mass.

    Lemma (docs/mathematics.md, "The common part of each question"): the smallest probability of a
    report belongs to the allowed record farthest from it.
    """
    bits, fewest, most = domain
    masses = []
    for ones in range(bits + 1):
        far = max(_difference(bits, ones, size) for size in range(fewest, most + 1))
        masses.append((far, math.comb(bits, ones) * noise**far * (1 - noise) ** (bits - far)))
    return masses


def _shared(domain: Domain, noise: fmpq) -> dict[tuple[int, int], fmpq]:
    """Return the blanket's masses of one question by the exponents of the odds in A and B.

    Lemma (docs/mathematics.md, "The worst pairs"): x and x' hold as many options as they may, and
    none in common; if every record is allowed, they differ everywhere. Where neither case fits,
    more records are allowed, which lowers the common part.
    """
    bits, fewest, most = domain
    if 2 * most > bits:
        allowed, size, other = Domain(bits, 0, bits), bits, 0  # the options of x, and of x'
    else:
        allowed = Domain(bits, fewest if fewest == most else 0, most)
        size, other = most, most
    farthest = [far for far, _ in _by_ones(allowed, noise)]
    masses: dict[tuple[int, int], fmpq] = {}
    left = bits - size - other
    for i, j, k in product(range(size + 1), range(other + 1), range(left + 1)):
        ones, far = i + j + k, farthest[i + j + k]
        ways = math.comb(size, i) * math.comb(other, j) * math.comb(left, k)
        at = far - (ones + size - 2 * i), far - (ones + other - 2 * j)
        mass = ways * noise**far * (1 - noise) ** (bits - far)
        masses[at] = masses.get(at, fmpq(0)) + mass
    return masses


def _relations(domain: Domain) -> set[tuple[int, int, int]]:
    """Return in how many bits only x, only x', and both differ from z, for all allowed x, x', z."""
    bits, fewest, most = domain
    if (most + 1) ** 7 > 300_000:
        raise unproved(sentence("accountant.proof-of-many-options"))
    relations = set()
    # Sizes of the parts of the Venn diagram: in x only, x' only, z only, pairs, and all three.
    for sizes in product(range(most + 1), repeat=7):
        x, y, z, xy, xz, yz, xyz = sizes
        totals = (x + xy + xz + xyz, y + xy + yz + xyz, z + xz + yz + xyz)
        if sum(sizes) <= bits and all(fewest <= total <= most for total in totals):
            relations.add((x + yz, y + xz, z + xy))
    return relations


def _largest(classes: Iterable[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Return those that no other exceeds.

    Lemma (docs/empty-seat.md, "Which classes"): more bits that differ spread G, and so do two bits
    in which only x and only x' differ, in the place of one in which both do.
    """
    every = sorted(set(classes), reverse=True)

    def exceeds(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
        turned = max(other[2] - one[2], 0)
        return one != other and one[0] >= other[0] + turned and one[1] >= other[1] + turned

    return tuple(each for each in every if not any(exceeds(one, each) for one in every))
