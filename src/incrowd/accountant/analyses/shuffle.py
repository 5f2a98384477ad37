"""The analysis `shuffle`: the least of all bounds that are proved for every collection."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from incrowd.accountant.analyses.base import Analysis, Result
from incrowd.accountant.analyses.blanket import BLANKET
from incrowd.accountant.analyses.composing import Composing
from incrowd.accountant.analyses.exact import EXACT, one_bit_channel
from incrowd.accountant.analyses.local import LOCAL
from incrowd.accountant.analyses.seat import SEAT
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.composition import Delta
from incrowd.accountant.curves import Orders
from incrowd.accountant.schema import Schema, Sent, as_sent
from incrowd.accountant.search import Family
from incrowd.errors import PrivacyError

PROBES = (0.0, 3.0)  # spreads of all losses together at which bounds are compared
CLEARLY = 1.02  # a quick bound of the blanket so many times larger belongs to no less certificate


class Shuffle(Composing):
    """`exact` for one bit, else `seat`; `blanket`; and `local`: whichever is least.

    Each holds for every pair of records, in both orders, and every crowd. So the least of them
    does, at each epsilon: the dots of one curve may come from different analyses.
    """

    name = "shuffle"
    assumption = "whole-crowd"
    below_limit = 0.97  # found by trial: 0.985 for copies of two bits

    def one(self, schema: Schema, crowd: int, epsilon: float) -> Result:
        """The least certificate of one report. Raises PrivacyError if no analysis has one."""
        first, _ = _of_one(schema)
        certificate = None
        with suppress(PrivacyError):
            certificate = _named(first, first.one(schema, crowd, epsilon))
        return _least(certificate, Sent.of(schema), crowd, epsilon)

    def bound_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """The least quick bound of one report."""
        sent = Sent.of(schema)
        return min(_quick(by, sent, crowd, epsilon) for by in (LOCAL, *_of_one(schema)))

    def searched_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """The least of what the analyses search with."""
        tried = (LOCAL.bound(Sent.of(schema), crowd, epsilon),)
        others = (
            _careful(partial(by.searched_one, schema, crowd), epsilon) for by in _of_one(schema)
        )
        return min(*tried, *others)

    def certificate(self, sent: Sent, crowd: int, epsilon: float) -> Result:
        """Of several reports the composition, unless the local bound is less."""
        if sent.single is not None:
            return self.one(sent.single, crowd, epsilon)
        return _least(super().certificate(sent, crowd, epsilon), sent, crowd, epsilon, (LOCAL,))

    def bit(self, schema: Schema) -> Bit | None:
        """Reports of one bit are composed as `exact` does it: no bound of theirs is less."""
        return one_bit_channel(schema)

    def orders(self, schema: Schema, crowd: int, spread: float, search: bool = False) -> Orders:
        """The least bound at each epsilon; with it whose it is at the spread.

        Only bounds that are the least at one of the probed epsilons are evaluated elsewhere: each
        of them holds by itself, and the others would cost as much and gain nothing. To search
        with, the one that is the least at the spread is enough.
        """
        tried: dict[str, tuple[Delta, WorstPair]] = {}
        for by in _of_one(schema):
            with suppress(PrivacyError):
                forward, _, worst = by.orders(schema, crowd, spread, search)
                tried[by.name] = forward, worst

        def least(epsilon: float) -> str:
            return min(tried, key=lambda name: _careful(tried[name][0], epsilon))

        probes = [spread] if search else [spread * at for at in PROBES]
        needed = [tried[name][0] for name in {least(epsilon) for epsilon in probes}]

        def delta(epsilon: float) -> float:
            return min(_careful(forward, epsilon) for forward in needed)

        name = least(spread)
        return Orders(delta, delta, tried[name][1].named(name))

    def spread(self, schema: Schema, crowd: int) -> float:
        """Standard deviation of one report's loss, about; the blanket's is soon found."""
        first, last = _of_one(schema)
        if first is SEAT:
            with suppress(PrivacyError):
                return last.spread(schema, crowd)
        return first.spread(schema, crowd)

    def noise(self, family: Family, crowd: int, epsilon: float, delta: float) -> BitFlip:
        """The smallest noise; of one report never larger than the blanket's, however either search
        ends."""
        flip = super().noise(family, crowd, epsilon, delta)
        sent = as_sent(family(flip))
        if sent.single and _quick(BLANKET, sent, crowd, epsilon) <= CLEARLY * delta:
            with suppress(PrivacyError):
                flip = min(flip, BLANKET.noise(family, crowd, epsilon, delta))
        return flip


def _of_one(schema: Schema) -> tuple[Composing, Composing]:
    """What bounds one report with a crowd; the first is nearly always the least."""
    return (SEAT if one_bit_channel(schema) is None else EXACT), BLANKET


def _careful(delta: Delta, epsilon: float) -> float:
    """1 where a bound ends."""
    try:
        return delta(epsilon)
    except PrivacyError:
        return 1.0


def _quick(by: Analysis, sent: Sent, crowd: int, epsilon: float) -> float:
    """A quick bound of an analysis."""
    return _careful(lambda e: by.bound(sent, crowd, e), epsilon)


def _named(by: Analysis, result: Result) -> Result:
    return Result(result.delta, tuple(pair.named(by.name) for pair in result.worst), by.name)


def _least(
    best: Result | None,
    sent: Sent,
    crowd: int,
    epsilon: float,
    others: tuple[Analysis, ...] = (BLANKET, LOCAL),
) -> Result:
    """What was found, unless another analysis alone has less.

    Raises PrivacyError if nothing was found, and none has anything.
    """
    for by in others:
        if best and _quick(by, sent, crowd, epsilon) > CLEARLY * best.delta.upper:
            continue
        with suppress(PrivacyError):
            other = by.certificate(sent, crowd, epsilon)
            if best is None or other.delta.upper <= best.delta.upper:
                best = _named(by, other)
    return best or _named(BLANKET, BLANKET.certificate(sent, crowd, epsilon))


SHUFFLE = Shuffle()
