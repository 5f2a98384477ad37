"""How a question is randomised where the survey says it, and the planner does not choose."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from incrowd.errors import InWords
from incrowd.survey.toml import Frozen, Mistake

# The sets of numbers that make one randomiser, for each kind.
NUMBERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "bit flip": (("noise",), ("epsilon",)),
    "warner": (("spinner",), ("epsilon",)),
    "simmons": (("unrelated",), ("unrelated", "prevalence"), ("epsilon",)),
    "rappor": (
        ("f",),
        ("epsilon",),
        ("f", "one_if_zero", "one_if_one"),
        ("epsilon", "one_if_zero", "one_if_one"),
    ),
    "bit": (("one_if_zero", "one_if_one"),),
    "k-ary": (("keep",), ("epsilon",)),
}


class Randomizer(Frozen):
    """A randomising device with fixed probabilities; the planner leaves it as it is.

    kind: "bit flip", "warner" (a spinner), "simmons" (an unrelated question), "rappor" (permanent
    and instantaneous response), "bit" (asymmetric), all of them for each bit, or "k-ary" (for a
    whole answer). Numbers are probabilities; `epsilon` asks for the least noise that keeps it for
    one bit (k-ary: for the answer). memoised: the permanent response is drawn once for each
    device and answer, so that the guarantee holds for all rounds together; needs a device key.
    """

    kind: Literal["bit flip", "warner", "simmons", "rappor", "bit", "k-ary"]
    epsilon: float | None = Field(default=None, gt=0, strict=True)
    noise: float | None = Field(default=None, gt=0, lt=0.5, strict=True)
    spinner: float | None = Field(default=None, gt=0, lt=1, strict=True)
    unrelated: float | None = Field(default=None, gt=0, lt=1, strict=True)
    prevalence: float | None = Field(default=None, gt=0, lt=1, strict=True)
    f: float | None = Field(default=None, gt=0, lt=1, strict=True)
    one_if_zero: float | None = Field(default=None, ge=0, le=1, strict=True)
    one_if_one: float | None = Field(default=None, ge=0, le=1, strict=True)
    keep: float | None = Field(default=None, gt=0, lt=1, strict=True)
    memoised: bool = Field(default=False, strict=True)

    @property
    def numbers(self) -> dict[str, float]:
        """The probabilities that were given, by name."""
        given = self.model_dump(exclude={"kind", "memoised"}, exclude_none=True)
        return {name: float(value) for name, value in given.items()}

    @model_validator(mode="after")
    def _complete(self) -> Randomizer:
        allowed = NUMBERS[self.kind]
        if set(self.numbers) not in map(set, allowed):
            sets = ", or ".join(" and ".join(names) for names in allowed)
            given = InWords(f"{self.kind!r} with {' and '.join(self.numbers) or 'no number'}")
            raise Mistake("kind", given, f"give it {sets}")
        if self.memoised and self.kind != "rappor":
            only = "only the kind 'rappor' has a permanent response; leave it out"
            raise Mistake("memoised", self.memoised, only)
        return self
