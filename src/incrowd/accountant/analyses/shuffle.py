"""The analysis `shuffle`: the smallest of all bounds that are proved for every collection."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from incrowd.accountant.analyses.base import Analysis, AnalysisResult
from incrowd.accountant.analyses.blanket import BLANKET
from incrowd.accountant.analyses.composing import Composing
from incrowd.accountant.analyses.exact import EXACT, one_bit_channel
from incrowd.accountant.analyses.local import LOCAL
from incrowd.accountant.analyses.seat import SEAT
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.composition import DeltaFunction
from incrowd.accountant.curves import Orders
from incrowd.accountant.schema import Contribution, Schema, as_contribution
from incrowd.accountant.search import NoiseFamily
from incrowd.errors import PrivacyError

PROBES = (0.0, 3.0)  # in spreads of all losses together: where bounds are compared
CLEARLY = 1.02  # if a quick bound is larger by this factor, the sharp one cannot be smaller


class Shuffle(Composing):
    """The smallest bound of `exact` (for one bit) or `seat` (otherwise), `blanket`, and `local`.

    Each holds for every pair of records, in both orders, and for every crowd. So the smallest of
    them does, at each epsilon: the dots of one curve may come from different analyses.
    """

    name = "shuffle"
    assumption = "whole-crowd"
    below_limit = 0.97  # by experiment: 0.985 for copies of two bits

    def one(self, schema: Schema, crowd: int, epsilon: float) -> AnalysisResult:
        """Return the smallest certificate of one report. Raises PrivacyError if no analysis has
        one."""
        first, _ = _of_one(schema)
        certificate = None
        with suppress(PrivacyError):
            certificate = _named(first, first.one(schema, crowd, epsilon))
        return _least(certificate, Contribution.of(schema), crowd, epsilon)

    def bound_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """Return the smallest quick bound of one report."""
        sent = Contribution.of(schema)
        return min(_quick(by, sent, crowd, epsilon) for by in (LOCAL, *_of_one(schema)))

    def searched_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """Return the smallest of the analyses' estimates for searching."""
        tried = (LOCAL.bound(Contribution.of(schema), crowd, epsilon),)
        others = (
            _or_one(partial(by.searched_one, schema, crowd), epsilon) for by in _of_one(schema)
        )
        return min(*tried, *others)

    def certificate(self, sent: Contribution, crowd: int, epsilon: float) -> AnalysisResult:
        """Return the certificate; of several reports their composition, unless the local bound is
        smaller."""
        if sent.single is not None:
            return self.one(sent.single, crowd, epsilon)
        return _least(super().certificate(sent, crowd, epsilon), sent, crowd, epsilon, (LOCAL,))

    def bit(self, schema: Schema) -> Bit | None:
        """Return reports of one bit are composed as in `exact`, whose bounds are the smallest."""
        return one_bit_channel(schema)

    def orders(self, schema: Schema, crowd: int, spread: float, search: bool = False) -> Orders:
        """Return the smallest bound at each epsilon; the worst pair is that of the bound at the
        spread.

        Only bounds that are the smallest at one of the probed epsilons are evaluated elsewhere:
        each of them is valid, and the others would cost as much and gain nothing. For searching,
        the bound that is the smallest at the spread is enough.
        """
        tried: dict[str, tuple[DeltaFunction, WorstPair]] = {}
        for by in _of_one(schema):
            with suppress(PrivacyError):
                forward, _, worst = by.orders(schema, crowd, spread, search)
                tried[by.name] = forward, worst

        def least(epsilon: float) -> str:
            return min(tried, key=lambda name: _or_one(tried[name][0], epsilon))

        probes = [spread] if search else [spread * at for at in PROBES]
        needed = [tried[name][0] for name in {least(epsilon) for epsilon in probes}]

        def delta(epsilon: float) -> float:
            return min(_or_one(forward, epsilon) for forward in needed)

        name = least(spread)
        return Orders(delta, delta, tried[name][1].named(name))

    def spread(self, schema: Schema, crowd: int) -> float:
        """Return the approximate standard deviation of one report's loss;
        the blanket's is quick."""
        first, last = _of_one(schema)
        if first is SEAT:
            with suppress(PrivacyError):
                return last.spread(schema, crowd)
        return first.spread(schema, crowd)

    def noise(self, family: NoiseFamily, crowd: int, epsilon: float, delta: float) -> BitFlip:
        """Return the smallest noise: never larger than the result for `local`, and for one report
        never larger than that for `blanket`."""
        flip = super().noise(family, crowd, epsilon, delta)
        with suppress(PrivacyError):
            flip = min(flip, LOCAL.noise(family, crowd, epsilon, delta))
        sent = as_contribution(family(flip))
        if sent.single and _quick(BLANKET, sent, crowd, epsilon) <= CLEARLY * delta:
            with suppress(PrivacyError):
                flip = min(flip, BLANKET.noise(family, crowd, epsilon, delta))
        return flip


def _of_one(schema: Schema) -> tuple[Composing, Composing]:
    """Return the analyses that bound one report in a crowd; the first is nearly always the
    smallest."""
    return (SEAT if one_bit_channel(schema) is None else EXACT), BLANKET


def _or_one(delta: DeltaFunction, epsilon: float) -> float:
    """Return the bound, or 1 if it cannot be computed."""
    try:
        return delta(epsilon)
    except PrivacyError:
        return 1.0


def _quick(by: Analysis, sent: Contribution, crowd: int, epsilon: float) -> float:
    """Return the quick bound of an analysis, or 1."""
    return _or_one(lambda e: by.bound(sent, crowd, e), epsilon)


def _named(by: Analysis, result: AnalysisResult) -> AnalysisResult:
    return AnalysisResult(
        result.delta, tuple(pair.named(by.name) for pair in result.worst), by.name
    )


def _least(
    best: AnalysisResult | None,
    sent: Contribution,
    crowd: int,
    epsilon: float,
    others: tuple[Analysis, ...] = (BLANKET, LOCAL),
) -> AnalysisResult:
    """Return the best result, or that of another analysis if its delta is smaller.

    Raises PrivacyError if there is no best result and no other analysis has one.
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
