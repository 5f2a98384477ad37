"""The analysis `shuffle`: the least of all bounds that are proved for every collection."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from incrowd.accounting.analyses.base import QUICK, WHOLE_CROWD, Analysis, Found
from incrowd.accounting.analyses.blanket import BLANKET
from incrowd.accounting.analyses.composing import Composing
from incrowd.accounting.analyses.exact import EXACT, one_bit_channel
from incrowd.accounting.analyses.local import LOCAL
from incrowd.accounting.analyses.seat import SEAT
from incrowd.accounting.composition import Delta
from incrowd.accounting.curves import Orders
from incrowd.accounting.schema import Schema, Sent, as_sent
from incrowd.accounting.search import Family
from incrowd.channels.bit_flip import BitFlip
from incrowd.errors import PrivacyError

CLEARLY = 2.0  # a quick bound so many times larger belongs to no better certificate


class Shuffle(Composing):
    """`exact` for one bit, else `seat`; `blanket`; and `local`: whichever is least.

    Each holds for every pair of records, in both orders, and every crowd. So the least of them
    does, at each epsilon: the dots of one curve may come from different analyses.
    """

    name = "shuffle"
    assumption = WHOLE_CROWD
    joint = ", provided that "

    def one(self, schema: Schema, crowd: int, epsilon: float) -> Found:
        """The least certificate of one report. Raises PrivacyError if no analysis has one."""
        return _least((LOCAL, *_of_one(schema)), Sent.of(schema), crowd, epsilon)

    def bound_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """The least quick bound of one report."""
        sent = Sent.of(schema)
        return min(_quick(by, sent, crowd, epsilon) for by in (LOCAL, *_of_one(schema)))

    def certificate(self, sent: Sent, crowd: int, epsilon: float) -> Found:
        """Of several reports the composition, unless that of one analysis alone is less."""
        if sent.single is not None:
            return self.one(sent.single, crowd, epsilon)
        composed = super().certificate(sent, crowd, epsilon)
        return _least((LOCAL, BLANKET), sent, crowd, epsilon, composed)

    def orders(self, schema: Schema, crowd: int, spread: float) -> Orders:
        """The least bound at each epsilon; in words, whose it is at the spread."""
        tried: dict[str, tuple[Delta, str]] = {}
        for by in _of_one(schema):
            with suppress(PrivacyError):
                forward, _, worst = by.orders(schema, crowd, spread)
                tried[by.name] = forward, worst

        def delta(epsilon: float) -> float:
            return min(_careful(forward, epsilon) for forward, _ in tried.values())

        name, (_, worst) = min(tried.items(), key=lambda one: _careful(one[1][0], spread))
        return Orders(delta, delta, _words(name, worst))

    def spread(self, schema: Schema, crowd: int) -> float:
        """Standard deviation of one report's loss, about; the blanket's is soon found."""
        first, last = _of_one(schema)
        by = first if first is EXACT else last
        return by.spread(schema, crowd)

    def noise(self, family: Family, crowd: int, epsilon: float, delta: float) -> BitFlip:
        """The smallest noise; never larger than the blanket's, however either search ends."""
        found = super().noise(family, crowd, epsilon, delta)
        if _quick(BLANKET, as_sent(family(found)), crowd, epsilon) > CLEARLY * delta:
            return found
        return min(found, BLANKET.noise(family, crowd, epsilon, delta))


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
    return _careful(lambda e: by.bound(sent, crowd, e, QUICK), epsilon)


def _words(name: str, worst: str) -> str:
    return f"by {name}: {worst}"


def _least(
    tried: Iterable[Analysis], sent: Sent, crowd: int, epsilon: float, known: Found | None = None
) -> Found:
    """The least certificate, which says whose it is; only those are made that can be it."""
    best, refused = known, None
    ranked = sorted(tried, key=lambda by: _quick(by, sent, crowd, epsilon))
    for by in ranked:
        if best and _quick(by, sent, crowd, epsilon) > CLEARLY * best.delta.upper:
            break
        try:
            found = by.certificate(sent, crowd, epsilon)
        except PrivacyError as error:
            refused = error
            continue
        if best is None or found.delta.upper < best.delta.upper:
            best = Found(found.delta, _words(by.name, found.worst), by.name)
    if best is None:
        assert refused is not None
        raise refused
    return best


SHUFFLE = Shuffle()
