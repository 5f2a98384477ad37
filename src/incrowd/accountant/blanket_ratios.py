"""The ratios of a pair of records for the analysis `blanket`.

Every allowed record gives the report s with at least the probability omega(s) = min over records
of P(s|record). So for any answers of the crowd, Bin(N - 1, gamma) of its reports form a blanket:
they are drawn from omega / gamma, where gamma is the total mass of omega.
Proof: docs/mathematics.md#the-blanket, docs/mathematics.md#the-worst-pairs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product

import numpy as np

from incrowd.accountant.channels.answers import AnswerChannel, AnswerNumbers, takes_answers
from incrowd.accountant.channels.base import Channel
from incrowd.accountant.numerics.laws import log_binomial
from incrowd.accountant.numerics.precision import UNIT
from incrowd.accountant.ratios import Ratios, merged
from incrowd.accountant.schema import Domain, bit_log_ratios, log_ratio
from incrowd.errors import PrivacyError

BlanketPair = tuple[
    int, ...
]  # |x minus x'|, |x' minus x|, |x and x'|; for whole answers also x and x'
MOST_KINDS = 1 << 22  # kinds of reports of one question


def part_pairs(domain: Domain, channel: Channel) -> tuple[BlanketPair, ...]:
    """Return classes of pairs of records of one question that can be the worst."""
    if takes_answers(channel):
        both = channel.equal_or_not
        return tuple((int(x != y), int(x != y), int(x == y), x, y) for x, y in both)
    return pairs(domain, channel.alike)


@lru_cache(maxsize=1024)
def pairs(domain: Domain, alike: bool = True) -> tuple[BlanketPair, ...]:
    """Return classes of pairs of records that can be the worst, by the options that differ or are
    shared.

    alike: whether the channel of a bit is symmetric. A question matters only through the law of
    F = alpha A - beta B + t under omega, for any alpha, beta >= 0 and any t, which represent the
    other questions and the other reports. If F has the same mean for a pair (y, x') as for (x, x'),
    and spreads at least as widely on each of the classes into which the reports are divided, then
    (y, x') is at least as bad, in any schema and any crowd (E max(0, F) is convex).

    1. Exchange. x and x' both hold i and not j; let y' be x' with j in place of i. Take a
    report s with s_i != s_j and its exchange. omega is the same for both; A takes two values, B
    two in the same order for x', in reverse order for y'. The sum is the same and the spread is
    wider, so (x, y') is at least as bad. The same holds for k-ary response, with the reports i and
    j. So x and x' have nothing in common as long as an option is unused.
    2. Addition, for a symmetric channel and at most m of c options. Neither x nor x' holds i, and
    x has fewer than m; let y be x with i added. Take reports s, s + i, which have, up to a factor,
    the probabilities a (p, q) from x, a (q, p) from y, b (p, q) from x', and omega is o (p, q) if s
    sets fewer than c - m options, otherwise o (1, 1): the farthest record holds m of the options
    that s does not set, or all of them if they are fewer. With (p, q), F takes the values
    (p, q)(alpha a - beta b + t o) for x, of one sign, and spreads for y. With (1, 1), the two
    values have the same sum and differ by (p - q)|alpha a - beta b| for x, by
    (p - q)(alpha a + beta b) for y. So x and x' each hold m options, or leave no option unused.
    3. Removal, if every record is allowed (m = c). omega is always o (1, 1), so reading 2.
    backwards for an option that both hold shows that they have nothing in common. By symmetry, all
    pairs that differ in every bit form one class.
    """
    bits, fewest, most = domain
    if alike and fewest == 0 and most == bits:
        return ((bits, 0, 0),)
    if alike and fewest == 0 and 2 * most <= bits:
        return ((most, most, 0),)
    sizes = list(product(range(most + 1), repeat=2))
    common = {(u, v, bits - u - v) for u, v in sizes if u + v <= bits}
    if not alike or fewest:
        common |= {(u, v, 0) for u, v in sizes if u + v <= bits}
    allowed = range(fewest, most + 1)
    return tuple(sorted((u, v, w) for u, v, w in common if u + w in allowed and v + w in allowed))


def ratios(domain: Domain, channel: Channel, pair: BlanketPair) -> Ratios:
    """Return the ratios of one question for a class of pairs; the cover has the mass gamma."""
    if takes_answers(channel):
        return _answers(channel, pair[3:])
    return _bits(domain, channel, pair)


@lru_cache(maxsize=1024)
def _answers(channel: AnswerChannel, answers: AnswerNumbers) -> Ratios:
    """Return the ratios of whole answers: a report's cover is its least probability over all
    answers."""
    numerators, least, ways = channel.laws(answers)
    log_a, log_b = (
        np.array([log_ratio(*both) for both in zip(column, least, strict=True)])
        for column in numerators.T
    )
    log_mass = np.array([math.log(low / channel.denominator) for low in least]) + np.log(ways)
    return Ratios(log_a, log_b, log_mass, 4 * UNIT * float(max(log_a.max(), log_b.max())))


@lru_cache(maxsize=1024)
def _bits(domain: Domain, channel: Channel, pair: BlanketPair) -> Ratios:
    """Return the ratios for a channel that sends each bit independently.

    A report is described by how many options it sets of x minus x', x' minus x, both, and neither.
    ln P(s|record) is linear: a constant, plus `held` for each option of the record, plus
    `held_and_set` for each of these options that s sets. Raises PrivacyError if there are too many
    kinds of reports.
    """
    (p00, _), (p10, _) = np.log(channel.matrix)
    held, if_set = bit_log_ratios(channel)
    held_and_set = if_set - held
    sizes = (*pair, domain.bits - sum(pair))
    counts = _kinds(sizes)
    in_x, in_other, in_both, _ = counts
    least = _least(domain, held, held_and_set)[counts.sum(axis=0)]
    from_x = held * (pair[0] + pair[2]) + held_and_set * (in_x + in_both)
    from_other = held * (pair[1] + pair[2]) + held_and_set * (in_other + in_both)
    laws = [log_binomial(size, p00, p10)[n] for size, n in zip(sizes, counts, strict=True)]
    error = 16 * UNIT * domain.bits * (abs(held) + abs(held_and_set))
    log_mass = least + np.sum(laws, axis=0)
    return merged(Ratios(from_x - least, from_other - least, log_mass, error))


def _kinds(sizes: tuple[int, ...]) -> np.ndarray:
    """Return all counts of set options in groups of the given sizes, shape (groups, kinds)."""
    kinds = math.prod(size + 1 for size in sizes)
    if kinds > MOST_KINDS:
        raise PrivacyError.of("options", "accountant.many-kinds", value=sum(sizes), kinds=kinds)
    return np.indices([size + 1 for size in sizes]).reshape(len(sizes), -1)


def _least(domain: Domain, held: float, held_and_set: float) -> np.ndarray:
    """Return, for each number of set bits, the least value that an allowed record adds to ln P.

    Among records of t options, those that share the fewest or the most with the report are extreme.
    """
    bits, fewest, most = domain
    set_bits, size = np.arange(bits + 1)[:, None], np.arange(fewest, most + 1)
    fewest_common, most_common = np.maximum(0, size + set_bits - bits), np.minimum(size, set_bits)
    extremes = np.minimum(held_and_set * fewest_common, held_and_set * most_common)
    return np.asarray((held * size + extremes).min(axis=1))
