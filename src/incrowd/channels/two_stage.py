"""Two channels in sequence: what the first reports is the answer of the second."""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.channels.channel import ExactChannel, Integers, Matrix
from incrowd.errors import InWords, PrivacyError


@dataclass(frozen=True)
class TwoStage(ExactChannel):
    """The matrix product of two channels, second times first; Vinterbo, section 5.3.

    Raises PrivacyError unless the first reports as many options as the second takes.
    """

    first: ExactChannel
    second: ExactChannel

    def __post_init__(self) -> None:
        reported, taken = len(self.first.numerators), self.second.numerators.shape[1]
        if reported != taken:
            allowed = f"it takes {taken} options; should take the {reported} that the first reports"
            raise PrivacyError.of("second stage", InWords(self.second), allowed)

    def __str__(self) -> str:
        """In words, stage by stage."""
        return f"{self.first}, then {self.second}"

    @property
    def numerators(self) -> Integers:
        """P(report r | answer x) times `denominator`, without rounding."""
        product: Integers = self.second.numerators @ self.first.numerators
        return product

    @property
    def denominator(self) -> int:
        """The product of both stages' denominators."""
        return self.first.denominator * self.second.denominator

    @property
    def stages(self) -> tuple[ExactChannel, ...]:
        """The stages of the first, then those of the second."""
        return self.first.stages + self.second.stages

    @property
    def inverse(self) -> Matrix:
        """The stages undone in reverse. Raises PrivacyError if one of them cannot be."""
        inverse: Matrix = self.first.inverse @ self.second.inverse
        return inverse
