"""The channels that a survey can name, by kind. Each is a class in a separate module."""

from __future__ import annotations

from itertools import chain

from incrowd.accountant.channels.base import Channel, Range
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner

CHANNELS: dict[str, type[Channel]] = {
    channel.kind: channel for channel in (BitFlip, Warner, Simmons, Rappor, Bit, KAry)
}


def parameters() -> dict[str, Range]:
    """Return the range of every parameter of any channel, by name."""
    return dict(chain.from_iterable(each.parameters.items() for each in CHANNELS.values()))


def channel_of(kind: str, numbers: dict[str, float], options: int) -> Channel:
    """Return the channel of a kind with the given parameters. options: answers of the question.

    Raises KeyError if the kind is unknown, StopIteration if no constructor takes these parameters,
    and PrivacyError if their values are out of range.
    """
    channel = CHANNELS[kind]
    names = next(names for names in channel.makers() if set(names) == set(numbers))
    more = {"options": options} if channel.of_answers else {}
    return channel.makers()[names](*(numbers[name] for name in names), **more)
