"""Examples to try every command with: a survey, and the answers of people to it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class PackagedExample(NamedTuple):
    """A survey and answers to it, as files of the package.

    about: whom and what they describe. interviews: whether a device in the hand has randomized the
    answers already.
    """

    name: str
    survey: str
    answers: str
    about: str
    interviews: bool = False

    @property
    def files(self) -> tuple[Path, Path]:
        """The files in the package: the survey, and the answers."""
        return FOLDER / self.survey, FOLDER / self.answers


EXAMPLES = {
    each.name: each
    for each in (
        PackagedExample(
            "health",
            "health.toml",
            "rand_hie.csv",
            "five questions about health, and 20,190 rows of real answers",
        ),
        PackagedExample(
            "department",
            "department.toml",
            "department.csv",
            "one question in a department of 60 people, where two services add the noise",
        ),
        PackagedExample(
            "interviews",
            "interviews.toml",
            "interviews.csv",
            "two questions of an interview with a die, and 300 invented answers",
            interviews=True,
        ),
    )
}


def example_with(file: str) -> PackagedExample | None:
    """Return the example that has a file of this name; None if there is none."""
    having = (each for each in EXAMPLES.values() if file in (each.survey, each.answers))
    return next(having, None)
