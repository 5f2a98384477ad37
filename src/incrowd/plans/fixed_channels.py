"""The channels of randomisers that a survey fixes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from incrowd.channels.base import Channel
from incrowd.channels.bit import Bit
from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.k_ary import KAry
from incrowd.channels.rappor import Rappor
from incrowd.channels.simmons import Simmons
from incrowd.channels.warner import Warner
from incrowd.errors import IncrowdError, InWords, PrivacyError, Problem
from incrowd.survey import AnyQuestion, Randomizer

_TELLS = "some report gives an answer away; keep probabilities strictly between 0 and 1"


@lru_cache(maxsize=1024)
def fixed_channel(question: AnyQuestion) -> Channel | None:
    """The channel of each of the question's bits (k-ary: of the answer), None if none is fixed.

    A device that amounts to a bit flip with q < 1/2 is given as one. Raises PrivacyError if the
    numbers make no device, or one from which nothing can be learnt.
    """
    randomizer = question.randomizer
    if randomizer is None:
        return None
    try:
        made = _made(randomizer, len(question.recorded))
        made.inverse  # noqa: B018  a device that cannot be inverted is an error now
        if made.epsilon == math.inf:
            raise PrivacyError.of("channel", InWords(made), _TELLS)
    except IncrowdError as error:
        place = f"question {question.id}, randomizer"
        problems = [Problem(f"{place}.{p.field}", p.value, p.allowed) for p in error.problems]
        raise PrivacyError(*problems) from None
    return made.simplest


def crowd_channel(question: AnyQuestion) -> Channel | None:
    """The noise that a crowd may count on: of memoised responses the permanent stage alone."""
    channel = fixed_channel(question)
    return channel.permanent_stage if channel and question.memoised else channel


def _made(randomizer: Randomizer, options: int) -> Channel:
    """The device of a randomizer, whose numbers stand in the order of the makers' arguments."""
    if randomizer.kind == "rappor":
        return _rappor(randomizer)
    by_probabilities, by_epsilon = _MAKERS[randomizer.kind]
    make = by_probabilities if randomizer.epsilon is None else by_epsilon
    more = [options] if randomizer.kind == "k-ary" else []
    return make(*randomizer.numbers.values(), *more)


def _rappor(randomizer: Randomizer) -> Rappor:
    numbers = randomizer.numbers
    rates = [numbers[name] for name in ("one_if_zero", "one_if_one") if name in numbers]
    instantaneous = Bit.from_probabilities(*rates) if rates else None
    if "epsilon" in numbers:
        return Rappor.from_epsilon(numbers["epsilon"], instantaneous)
    return Rappor(Rappor.one_time(numbers["f"]).permanent, instantaneous)


Make = Callable[..., Channel]
_MAKERS: dict[str, tuple[Make, Make]] = {
    "bit flip": (BitFlip.at_least, BitFlip.from_epsilon),
    "warner": (Warner.from_probability, Warner.from_epsilon),
    "simmons": (Simmons.from_probabilities, Simmons.from_epsilon),
    "bit": (Bit.from_probabilities, Bit.from_probabilities),
    "k-ary": (KAry.from_probabilities, KAry.from_epsilon),
}
