"""A survey as a first draft: questions, what was left out, and what somebody has to decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incrowd.drafts.columns import DraftQuestion, Found, LeftOut
from incrowd.drafts.writing import body, start
from incrowd.survey.words import LANGUAGE

CROWD = 1000  # where no data says how many people there are
DIGITS = 2  # of the number of rows, which a survey makes public


@dataclass(frozen=True)
class Draft:
    """A survey that can be planned, with everything about it that is not sure.

    people: in the data; None of a questionnaire. language: of what people read in it.
    """

    name: str
    people: int | None
    found: tuple[Found, ...]
    notes: tuple[str, ...] = ()
    language: str = LANGUAGE

    @property
    def asked(self) -> tuple[DraftQuestion, ...]:
        """The questions."""
        return tuple(each for each in self.found if isinstance(each, DraftQuestion))

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The columns that make no question."""
        return tuple(each for each in self.found if isinstance(each, LeftOut))

    @property
    def crowd(self) -> int:
        """The people in the data, rounded down."""
        if self.people is None:
            return CROWD
        unit: int = 10 ** max(0, len(str(self.people)) - DIGITS)
        return max(2, self.people // unit * unit)

    @property
    def toml(self) -> str:
        """The text of a survey file, which can be loaded and planned as it is."""
        head = start(self.name, self.language, self.people, self.crowd, self.notes)
        return "\n".join([*head, *body(self.asked, self.left_out)]) + "\n"

    @property
    def undecided(self) -> tuple[str, ...]:
        """What somebody has to look at, a line for each."""
        return tuple(self._undecided())

    def _undecided(self) -> Iterator[str]:
        yield from self.notes
        for each in self.asked:
            yield from (f"{each.id}: {text}" for text in each.undecided)
        for gone in self.left_out:
            yield f"{gone.id}: left out: {gone.reason}"
