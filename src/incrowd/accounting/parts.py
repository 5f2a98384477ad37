"""One question in a report: the records it allows and the channel of its bits, or of its option."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from incrowd.channels.answers import takes_answers
from incrowd.channels.base import ROUNDING, Channel
from incrowd.channels.bit_flip import DENOMINATOR, BitFlip, is_flip
from incrowd.errors import InWords, PrivacyError
from incrowd.survey import Domain

AnyChannel = Channel


class Part(NamedTuple):
    """One question in a report. Different questions may have different channels.

    channel: of each bit of the domain; or of whole answers, then the report is an option itself and
    the domain a choice of as many options.
    """

    domain: Domain
    channel: AnyChannel

    @property
    def local_epsilon(self) -> float:
        """The largest log-likelihood ratio of two allowed records, rounded up."""
        return _largest_sum(self.domain, *self.channel.losses) * (1 + ROUNDING)

    @property
    def log_phi(self) -> float:
        """ln max E[P(s|x) / P(s|x')], s a report of x: distance times ln phi for a bit flip.

        Sufficient DP (3.14), for any channel: one more than the chi-square divergence.
        """
        return _largest_sum(self.domain, *self.channel.log_phis)


def check_part(part: Part) -> None:
    """Raises PrivacyError for a channel that does not fit the domain, or hides nothing."""
    domain, channel = part
    if takes_answers(channel):
        if domain != (channel.options, 1, 1):
            allowed = (
                f"it is for a choice of {channel.options} options; use it for no other question"
            )
            raise PrivacyError.of("channel", InWords(channel), allowed)
    elif channel.numerators.shape != (2, 2):
        allowed = "no analysis supports it; use a channel of one bit, or of answers, such as k-ary"
        raise PrivacyError.of("channel", InWords(channel), allowed)
    if channel.epsilon == math.inf:
        allowed = "some report would give an answer away; add noise"
        raise PrivacyError.of("channel", InWords(channel), allowed)


def flip_of(part: Part, analysis: str) -> BitFlip:
    """The bit flip of a part. Raises PrivacyError for any other channel."""
    if not is_flip(part.channel):
        allowed = f"it is for bit flips, not for {part.channel}; use shuffle or local"
        raise PrivacyError.of("analysis", analysis, allowed)
    return part.channel


def as_flip(channel: AnyChannel) -> BitFlip | None:
    """The bit flip that tells exactly as much as a symmetric channel of one bit; None if none does.

    Below p = 1/2 it is the one of the reversed reports, so use it for privacy, not to estimate.
    """
    if is_flip(channel):
        return channel
    if takes_answers(channel) or channel.numerators.shape != (2, 2):
        return None
    (same, reversed_), (other, also_same) = channel.numerators
    numerator, rest = divmod(min(same, other) * DENOMINATOR, channel.denominator)
    if (same, other) != (also_same, reversed_) or rest or not 0 < numerator < DENOMINATOR // 2:
        return None
    return BitFlip(int(numerator))


def widened(part: Part) -> Part:
    """The same with every record allowed, if more than half of the options may be chosen.

    More allowed records only make the common part of all reports smaller: an upper bound, and a
    close one, since then any two records that differ everywhere are allowed or nearly so.
    """
    (bits, fewest, most), channel = part
    if fewest or 2 * most <= bits:
        return part
    return Part(Domain(bits, 0, bits), channel)


def at_most_flip(part: Part) -> Part:
    """A bit flip in the place of a channel that is not symmetric.

    Each bit is post-processing of the bit flip with its local epsilon (Kairouz, Oh, Viswanath
    2015, theorem 3.1), which thus tells at least as much. Raises PrivacyError if that has no noise.
    """
    if part.channel.of_answers or part.channel.alike:
        return part
    nearest = BitFlip.from_logit(-max(part.channel.losses)).numerator
    return Part(part.domain, BitFlip(max(nearest - 2, 0)))


@lru_cache(maxsize=1024)
def farthest(domain: Domain) -> tuple[tuple[int, int], ...]:
    """The largest pairs (|x minus x'|, |x' minus x|) of two allowed records."""
    _, _, most = domain
    found: list[tuple[int, int]] = []
    for u in range(most, -1, -1):
        v = max((v for v in range(most + 1) if _allowed(domain, u, v)), default=-1)
        if v > (found[-1][1] if found else -1):
            found.append((u, v))
    return tuple(found)


def _allowed(domain: Domain, u: int, v: int) -> bool:
    """Whether two records can differ like that, having in common what they must."""
    common = max(0, domain.fewest - min(u, v))
    return max(u, v) + common <= domain.most and u + v + common <= domain.bits


def _largest_sum(domain: Domain, first: float, second: float) -> float:
    """The largest u first + v second."""
    if first == second:
        return domain.distance * first
    return max(u * first + v * second for u, v in farthest(domain))


def bit_log_ratios(channel: AnyChannel) -> tuple[float, float]:
    """ln P(s|1) / P(s|0) of the reports s = 0 and s = 1 of a bit, with a relative error of 2^-51.

    From the exact difference of the probabilities, so that noise next to 1/2 costs no digits.
    """
    (zero_if_zero, zero_if_one), (one_if_zero, one_if_one) = channel.numerators
    return log_ratio(zero_if_one, zero_if_zero), log_ratio(one_if_one, one_if_zero)


def log_ratio(one: int, other: int) -> float:
    """ln(one / other) of two positive integers."""
    if one < other:
        return -log_ratio(other, one)
    return math.log1p((one - other) / other)
