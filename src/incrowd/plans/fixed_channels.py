"""The channels of randomizers that a survey fixes."""

from __future__ import annotations

import math
from functools import lru_cache

from incrowd.channels.base import Channel
from incrowd.channels.registry import made
from incrowd.errors import IncrowdError, InWords, PrivacyError, Problem
from incrowd.survey import AnyQuestion

_TELLS = "some report gives an answer away; keep probabilities strictly between 0 and 1"


@lru_cache(maxsize=1024)
def fixed_channel(question: AnyQuestion) -> Channel | None:
    """The channel of each of the question's bits, or of its answer; None if none is fixed.

    A device that amounts to a bit flip with q < 1/2 is given as one. Raises PrivacyError if the
    numbers make no device, or one from which nothing can be learnt.
    """
    randomizer = question.randomizer
    if randomizer is None:
        return None
    try:
        channel = made(randomizer.kind, randomizer.numbers, len(question.recorded))
        channel.inverse  # noqa: B018  a device that cannot be inverted is an error now
        if channel.epsilon == math.inf:
            raise PrivacyError.of("channel", InWords(channel), _TELLS)
    except IncrowdError as error:
        place = f"question {question.id}, randomizer"
        problems = [Problem(f"{place}.{p.field}", p.value, p.allowed) for p in error.problems]
        raise PrivacyError(*problems) from None
    return channel.simplest


def crowd_channel(question: AnyQuestion) -> Channel | None:
    """The noise that a crowd may count on: of memoised responses the permanent stage alone."""
    channel = fixed_channel(question)
    return channel.permanent_stage if channel and question.memoised else channel
