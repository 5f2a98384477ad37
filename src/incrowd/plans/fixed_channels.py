"""The channels of randomisers that a survey fixes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from incrowd.channels.bit import Bit, BitDevice
from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.channels.channel import ExactChannel
from incrowd.channels.k_ary import KAry
from incrowd.channels.rappor import Rappor
from incrowd.channels.simmons import Simmons
from incrowd.channels.warner import Warner
from incrowd.errors import IncrowdError, InWords, PrivacyError, Problem
from incrowd.survey import AnyQuestion, Randomizer

QuestionChannel = BitFlip | ExactChannel


@lru_cache(maxsize=1024)
def fixed_channel(question: AnyQuestion) -> QuestionChannel | None:
    """The channel of each of the question's bits (k-ary: of the answer), None if none is fixed.

    A device that amounts to a bit flip with q < 1/2 is given as one. Raises PrivacyError if the
    numbers make no device, or one from which nothing can be learnt.
    """
    randomizer = question.randomizer
    if randomizer is None:
        return None
    try:
        made = _DEVICES[randomizer.kind](randomizer, len(question.answers))
        made.inverse  # noqa: B018  a device that cannot be inverted is an error now
        _check_private(made)
    except IncrowdError as error:
        place = f"question {question.id}, randomizer"
        problems = [Problem(f"{place}.{p.field}", p.value, p.allowed) for p in error.problems]
        raise PrivacyError(*problems) from None
    return _as_flip(made)


def crowd_channel(question: AnyQuestion) -> QuestionChannel | None:
    """The noise that a crowd may count on: of memoised responses the permanent stage alone."""
    channel = fixed_channel(question)
    if question.memoised and isinstance(channel, Rappor):
        return channel.crowd_noise
    return channel


def _check_private(made: QuestionChannel) -> None:
    """Raises PrivacyError for a device with a report that gives some answer away."""
    if made.epsilon == math.inf:
        allowed = "some report gives an answer away; keep probabilities strictly between 0 and 1"
        raise PrivacyError.of("channel", InWords(made), allowed)


def _as_flip(made: QuestionChannel) -> QuestionChannel:
    """The same channel as a bit flip, where it is one: everything knows that best."""
    if isinstance(made, BitDevice):
        bit = made.as_bit()
        if bit.symmetric and 0 < bit.one_if_zero < DENOMINATOR // 2:
            return BitFlip(bit.one_if_zero)
    if isinstance(made, Rappor) and made.instantaneous is None:
        return made.permanent
    return made


def _bit_flip(randomizer: Randomizer, _: int) -> BitFlip:
    numbers = randomizer.numbers
    if "epsilon" in numbers:
        return BitFlip.from_epsilon(numbers["epsilon"])
    return BitFlip.at_least(numbers["noise"])


def _warner(randomizer: Randomizer, _: int) -> Warner:
    numbers = randomizer.numbers
    if "epsilon" in numbers:
        return Warner.from_epsilon(numbers["epsilon"])
    return Warner.from_probability(numbers["spinner"])


def _simmons(randomizer: Randomizer, _: int) -> Simmons:
    numbers = randomizer.numbers
    prevalence = numbers.get("prevalence", 0.5)
    if "epsilon" in numbers:
        return Simmons.from_epsilon(numbers["epsilon"], prevalence)
    return Simmons.from_probabilities(numbers["unrelated"], prevalence)


def _rappor(randomizer: Randomizer, _: int) -> Rappor:
    numbers = randomizer.numbers
    instantaneous = _bit(randomizer, _) if "one_if_zero" in numbers else None
    if "epsilon" in numbers:
        return Rappor.from_epsilon(numbers["epsilon"], instantaneous)
    return Rappor(Rappor.one_time(numbers["f"]).permanent, instantaneous)


def _bit(randomizer: Randomizer, _: int) -> Bit:
    numbers = randomizer.numbers
    return Bit.from_probabilities(numbers["one_if_zero"], numbers["one_if_one"])


def _k_ary(randomizer: Randomizer, options: int) -> KAry:
    numbers = randomizer.numbers
    if "epsilon" in numbers:
        return KAry.from_epsilon(numbers["epsilon"], options)
    return KAry.from_probabilities(numbers["keep"], options)


_DEVICES: dict[str, Callable[[Randomizer, int], QuestionChannel]] = {
    "bit flip": _bit_flip,
    "warner": _warner,
    "simmons": _simmons,
    "rappor": _rappor,
    "bit": _bit,
    "k-ary": _k_ary,
}
