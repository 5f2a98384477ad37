"""The ratios of a pair of records for the analysis `blanket`.

Every allowed record sends the report s with at least the probability omega(s) = min over records
of P(s|record). The crowd's common part is a blanket of Bin(N - 1, gamma) reports drawn from
omega / gamma, whatever its answers are.
Proof: docs/mathematics.md#the-blanket, docs/mathematics.md#the-worst-pairs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product

import numpy as np

from incrowd.accountant.channels.answers import AnswerChannel, Answers, takes_answers
from incrowd.accountant.numerics.laws import log_binomial
from incrowd.accountant.numerics.precision import UNIT
from incrowd.accountant.ratios import Ratios, merged
from incrowd.accountant.schema import AnyChannel, Domain, bit_log_ratios, log_ratio
from incrowd.errors import PrivacyError

Pair = tuple[int, ...]  # |x minus x'|, |x' minus x|, |x and x'|; of whole answers also x and x'
MOST_KINDS = 1 << 22  # kinds of reports of one question


def part_pairs(domain: Domain, channel: AnyChannel) -> tuple[Pair, ...]:
    """Classes of pairs of records of one question that can be the worst."""
    if takes_answers(channel):
        both = channel.equal_or_not
        return tuple((int(x != y), int(x != y), int(x == y), x, y) for x, y in both)
    return pairs(domain, channel.alike)


@lru_cache(maxsize=1024)
def pairs(domain: Domain, alike: bool = True) -> tuple[Pair, ...]:
    """Classes of pairs of records that can be the worst, by what x and x' have apart and in common.

    alike: whether the channel of a bit is symmetric. What counts of a question is the law of
    F = alpha A - beta B + t under omega, for any alpha, beta >= 0 and any t, which stand for the
    other questions and the other reports: if for a pair (y, x') F has the same mean as for (x, x')
    and spreads at least as wide on each of the classes into which reports fall, then (y, x') is at
    least as bad, in any schema and any crowd (E max(0, F) is convex).

    1. Exchange. x and x' both hold i and not j; let y' be x' with j in the place of i. Take a
    report s with s_i != s_j and its exchange. omega is the same for both; A takes two values, B
    two in the same order for x', in reverse for y'. The same sum, the wider spread: (x, y') is at
    least as bad. For k-ary response likewise, with the reports i and j. So x and x' have nothing
    in common while an option is unused.
    2. Addition, for a symmetric channel and at most m of c options. Neither x nor x' holds i, and
    x has fewer than m; let y be x with i. Take reports s, s + i, which have, up to a factor, the
    probabilities a (p, q) from x, a (q, p) from y, b (p, q) from x', and omega is o (p, q) if s
    sets fewer than c - m options, else o (1, 1): the farthest record avoids s, but has to hold
    what s leaves if that is less than m. With (p, q), F takes the values
    (p, q)(alpha a - beta b + t o) for x, of one sign, and spreads for y. With (1, 1), the two
    values have the same sum and differ by (p - q)|alpha a - beta b| for x, by
    (p - q)(alpha a + beta b) for y. So x and x' are full or leave no option unused.
    3. Removal, where every record is allowed (m = c). omega is always o (1, 1), so that 2. read
    backwards for an option that both hold gives: nothing in common. By symmetry all pairs with
    every bit apart are one class.
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


def ratios(domain: Domain, channel: AnyChannel, pair: Pair) -> Ratios:
    """The ratios of one question for a class of pairs; the cover's mass is its gamma."""
    if takes_answers(channel):
        return _answers(channel, pair[3:])
    return _bits(domain, channel, pair)


@lru_cache(maxsize=1024)
def _answers(channel: AnswerChannel, answers: Answers) -> Ratios:
    """Of whole answers: the cover of a report is the least chance that any answer gives it."""
    numerators, least, ways = channel.laws(answers)
    log_a, log_b = (
        np.array([log_ratio(*both) for both in zip(column, least, strict=True)])
        for column in numerators.T
    )
    log_mass = np.array([math.log(low / channel.denominator) for low in least]) + np.log(ways)
    return Ratios(log_a, log_b, log_mass, 4 * UNIT * float(max(log_a.max(), log_b.max())))


@lru_cache(maxsize=1024)
def _bits(domain: Domain, channel: AnyChannel, pair: Pair) -> Ratios:
    """The channel sends each bit by itself.

    A report is described by how many options it sets of x minus x', x' minus x, both, neither.
    ln P(s|record) is what no option at all would give, and so much for each option of the record
    and for each of them that s sets. Raises PrivacyError if there are too many kinds of reports.
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
    """All counts of set options in groups of such sizes, shape (groups, kinds)."""
    kinds = math.prod(size + 1 for size in sizes)
    if kinds > MOST_KINDS:
        allowed = f"they make {kinds:,} kinds of reports; use fewer options, or split the question"
        raise PrivacyError.of("options", sum(sizes), allowed)
    return np.indices([size + 1 for size in sizes]).reshape(len(sizes), -1)


def _least(domain: Domain, held: float, held_and_set: float) -> np.ndarray:
    """For each number of set bits, the least that an allowed record adds to ln P.

    Of records of t options those with the fewest or the most of the report's are extreme.
    """
    bits, fewest, most = domain
    set_bits, size = np.arange(bits + 1)[:, None], np.arange(fewest, most + 1)
    fewest_common, most_common = np.maximum(0, size + set_bits - bits), np.minimum(size, set_bits)
    extremes = np.minimum(held_and_set * fewest_common, held_and_set * most_common)
    return np.asarray((held * size + extremes).min(axis=1))
