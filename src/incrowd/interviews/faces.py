"""What people read off a device, and which readings lead to which step of a design.

Two dice are added up and tosses of a coin are counted wherever that divides the outcomes exactly;
otherwise people tell the dice by their colors, and remember the order of the tosses.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import Literal, NamedTuple

from incrowd.catalog.sentences import Sentence, joined, sentence
from incrowd.interviews.devices import Birthday, Cards, Coin, Die, HandDevice

ReadAs = Literal[
    "die", "dice", "two-dice", "spinner", "cards", "coin", "coins", "tosses", "months", "days"
]
MONTHS = (
    "devices.january",
    "devices.february",
    "devices.march",
    "devices.april",
    "devices.may",
    "devices.june",
    "devices.july",
    "devices.august",
    "devices.september",
    "devices.october",
    "devices.november",
    "devices.december",
)
SIDES = 6  # of a die
RANGE = 3  # readings that follow each other, from which on only the first and the last are named
_COMMON_YEAR = 2001


class DeviceReading(NamedTuple):
    """Something that a person reads off a device. ways: the equally likely outcomes that show
    it."""

    name: str | Sentence
    ways: int = 1


class Faces(NamedTuple):
    """The readings that lead to one step. read_as: how the device is read. places: of the readings
    among all of the device."""

    read_as: ReadAs
    places: tuple[int, ...]
    readings: tuple[DeviceReading, ...]

    @property
    def words(self) -> str | Sentence:
        """The readings in words, such as "1 or 2", or "January to March"."""
        runs = [
            [reading for _, (_, reading) in run]
            for _, run in groupby(
                enumerate(zip(self.places, self.readings, strict=True)),
                lambda each: each[1][0] - each[0],
            )
        ]
        ranged = self.read_as not in ("two-dice", "coins", "tosses")
        return either([name for run in runs for name in _names(run, ranged)])


def either(names: Sequence[str | Sentence]) -> str | Sentence:
    """Return names as alternatives: "1", "1 or 2", "1, 3 or 5"."""
    *first, last = names
    if not first:
        return last
    return sentence("shared.or", first=joined("shared.comma", first), second=last)


def _names(run: Sequence[DeviceReading], ranged: bool) -> list[str | Sentence]:
    """Return the names of readings that follow each other."""
    if ranged and len(run) >= RANGE:
        return [sentence("shared.to", low=run[0].name, high=run[-1].name)]
    return [reading.name for reading in run]


def faces_of(device: HandDevice, shares: Sequence[Fraction]) -> tuple[Faces, ...]:
    """Return the faces of a device for each of some shares, which add up to 1.

    Each share is a multiple of one outcome, as `device.realizes` checks.
    """
    counts = [int(share * device.outcomes) for share in shares]
    ways = (
        (read_as, readings, _divided([reading.ways for reading in readings], tuple(counts)))
        for read_as, readings in _ways_to_read(device)
    )
    read_as, readings, divided = next(each for each in ways if each[2] is not None)
    return tuple(
        Faces(read_as, tuple(places), tuple(readings[place] for place in places))
        for places in divided or ()
    )


def _divided(ways: Sequence[int], counts: tuple[int, ...]) -> list[list[int]] | None:
    """Divide readings among steps, so that each step gets exactly its number of outcomes.

    Readings that follow each other stay together as far as possible. None if it is impossible.
    """
    failed: set[tuple[int, tuple[int, ...]]] = set()

    def rest(place: int, left: tuple[int, ...], last: int) -> list[int] | None:
        """Return the step of each reading from a place on."""
        if place == len(ways):
            return []
        if (place, left) in failed:
            return None
        for step in sorted(range(len(left)), key=lambda each: (each - last) % len(left)):
            if left[step] >= ways[place]:
                fewer = (*left[:step], left[step] - ways[place], *left[step + 1 :])
                if (others := rest(place + 1, fewer, step)) is not None:
                    return [step, *others]
        failed.add((place, left))
        return None

    steps = rest(0, counts, 0)
    if steps is None:
        return None
    return [[place for place, of in enumerate(steps) if of == step] for step in range(len(counts))]


ReadingList = tuple[ReadAs, list[DeviceReading]]


def _ways_to_read(device: HandDevice) -> list[ReadingList]:
    """Return the ways to read a device, the easiest one first; the last one reads each outcome."""
    match device:
        case Die(dice=1):
            return [_numbers("die", SIDES)]
        case Die():
            return _of_dice()
        case Coin():
            return _of_tosses(device.tosses)
        case Birthday(calendar="months"):
            return [("months", [DeviceReading(sentence(month)) for month in MONTHS])]
        case Birthday():
            return [("days", _days())]
        case Cards():
            return [_numbers("cards", device.cards)]
    return [_numbers("spinner", device.outcomes)]


def _numbers(read_as: ReadAs, many: int) -> ReadingList:
    return read_as, [DeviceReading(f"{number}") for number in range(1, many + 1)]


def _of_dice() -> list[ReadingList]:
    """Return sums of two dice, and pairs."""
    sums = range(2, 2 * SIDES + 1)
    added = [DeviceReading(f"{each}", SIDES - abs(each - SIDES - 1)) for each in sums]
    pairs = [
        DeviceReading(sentence("devices.pair", red=red, white=white))
        for red in range(1, SIDES + 1)
        for white in range(1, SIDES + 1)
    ]
    return [("dice", added), ("two-dice", pairs)]


def _of_tosses(tosses: int) -> list[ReadingList]:
    """Return how often a coin shows heads, and the order of heads and tails."""
    sides = sentence("devices.heads"), sentence("devices.tails")
    orders: list[tuple[Sentence, ...]] = [()]
    for _ in range(tosses):
        orders = [(*order, side) for order in orders for side in sides]
    ordered = [DeviceReading(joined("devices.then", order)) for order in orders]
    if tosses == 1:
        return [("coin", ordered)]
    heads = [order.count(sides[0]) for order in orders]
    counted = [DeviceReading(_heads(number), heads.count(number)) for number in range(tosses + 1)]
    return [("coins", counted), ("tosses", ordered)]


def _heads(number: int) -> Sentence:
    if number < 2:
        return sentence("devices.heads-once" if number else "devices.heads-never")
    return sentence("devices.heads-times", number=number)


def _days() -> list[DeviceReading]:
    """Return the days of a year of 365 days."""
    return [
        DeviceReading(sentence("devices.day", month=sentence(month), day=day))
        for number, month in enumerate(MONTHS, 1)
        for day in range(1, calendar.monthrange(_COMMON_YEAR, number)[1] + 1)
    ]
