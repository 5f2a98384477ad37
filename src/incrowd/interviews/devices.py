"""Devices in a person's hand: dice, spinners, cards, coins, and birthdays.

A device has a number of equally likely outcomes, so it realizes exactly the probabilities that are
multiples of one outcome.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from incrowd.survey.toml import Frozen

MONTHS, DAYS = 12, 365  # of a year; a leap day counts as the day before


class HandDevice(Frozen):
    """A device that a person in an interview holds, or knows.

    outcomes: the number of its equally likely outcomes. personal: whether it is a fact about a
    person, such as a birthday, which does not change and which others may know. in_methods: the
    code of its name in the methods section of a publication.
    """

    kind: str
    personal: ClassVar[bool] = False
    in_methods: ClassVar[str]

    @property
    def outcomes(self) -> int:
        """The number of equally likely outcomes; defined by each kind."""
        raise NotImplementedError

    def realizes(self, share: Fraction) -> bool:
        """Return whether some of the outcomes have exactly this probability together."""
        return (share * self.outcomes).denominator == 1

    def nearest(self, share: Fraction) -> tuple[Fraction, Fraction]:
        """Return the nearest probabilities, not above and not below, that the device realizes."""
        whole = int(share * self.outcomes)
        below = Fraction(whole, self.outcomes)
        return below, below if below == share else Fraction(whole + 1, self.outcomes)


class Die(HandDevice):
    """One die, or two dice of different colors."""

    kind: Literal["die"] = "die"
    in_methods: ClassVar[str] = "devices.method-die"
    dice: int = Field(default=1, ge=1, le=2, strict=True)

    @property
    def outcomes(self) -> int:
        """Six, or 36 ordered pairs."""
        return int(6**self.dice)


class Spinner(HandDevice):
    """A spinner with equal sectors."""

    kind: Literal["spinner"] = "spinner"
    in_methods: ClassVar[str] = "devices.method-spinner"
    sectors: int = Field(default=100, ge=2, le=360, strict=True)

    @property
    def outcomes(self) -> int:
        """The sectors."""
        return self.sectors


class Cards(HandDevice):
    """A pack of cards, from which one is drawn and put back."""

    kind: Literal["cards"] = "cards"
    in_methods: ClassVar[str] = "devices.method-cards"
    cards: int = Field(default=36, ge=2, le=200, strict=True)

    @property
    def outcomes(self) -> int:
        """The cards."""
        return self.cards


class Coin(HandDevice):
    """A coin, tossed once or several times."""

    kind: Literal["coin"] = "coin"
    in_methods: ClassVar[str] = "devices.method-coin"
    tosses: int = Field(default=2, ge=1, le=8, strict=True)

    @property
    def outcomes(self) -> int:
        """The sequences of heads and tails."""
        return int(2**self.tosses)


class Birthday(HandDevice):
    """The birthday of somebody whom the person knows, in months or days that count as equally
    likely."""

    kind: Literal["birthday"] = "birthday"
    in_methods: ClassVar[str] = "devices.method-birthday"
    calendar: Literal["months", "days"] = "months"
    personal: ClassVar[bool] = True

    @property
    def outcomes(self) -> int:
        """The months or days of a year."""
        return MONTHS if self.calendar == "months" else DAYS


DEVICES: dict[str, type[HandDevice]] = {
    "die": Die,
    "spinner": Spinner,
    "cards": Cards,
    "coin": Coin,
    "birthday": Birthday,
}
