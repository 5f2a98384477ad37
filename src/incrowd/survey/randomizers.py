"""Randomizers that the survey fixes, so that the planner does not choose the noise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from pydantic import ConfigDict, Field, create_model, model_validator

from incrowd.accountant.channels.base import Range
from incrowd.accountant.channels.registry import CHANNELS, parameters
from incrowd.catalog.sentences import joined, sentence
from incrowd.survey.toml import Frozen, Mistake, Real

HIDDEN = "hidden sample"  # what the accountant has, but no collection: its participation is public


class Randomizer(Frozen):
    """A randomizing device with fixed probabilities; the planner leaves it as it is.

    kind: one of `incrowd.accountant.channels.registry.CHANNELS`: "bit flip", "warner" (a spinner),
    "simmons" (an unrelated question), "rappor" (permanent and instantaneous response), "bit"
    (asymmetric), all of them for each bit, or "k-ary" (for a whole answer). All other keys are the
    numbers of that channel: probabilities, or `epsilon`, which asks for the least noise that keeps
    it for one bit (of a channel of whole answers: for the answer). memoized: the permanent response
    is drawn once for each device and answer, so that the guarantee holds for all rounds together;
    needs a device key.
    """

    model_config = ConfigDict(extra="allow")

    kind: str
    memoized: bool = False

    @property
    def numbers(self) -> dict[str, float]:
        """The probabilities that were given, by name."""
        return {name: float(value) for name, value in (self.model_extra or {}).items()}

    @property
    def of_answers(self) -> bool:
        """Whether it randomizes the answer as a whole, not each bit of it."""
        return CHANNELS[self.kind].of_answers

    @model_validator(mode="before")
    @classmethod
    def _written(cls, raw: Any) -> Any:
        """Validate the keys and values against those of all channels."""
        if isinstance(raw, Randomizer):
            return raw
        if isinstance(raw, Mapping) and raw.get("kind") == HIDDEN:
            raise Mistake("kind", "survey.hidden-sample", value=HIDDEN)
        return fields().model_validate(raw).model_dump(exclude_none=True)

    @model_validator(mode="after")
    def _complete(self) -> Randomizer:
        channel = CHANNELS[self.kind]
        sets = tuple(channel.makers())
        if set(self.numbers) not in map(set, sets):
            wanted = joined("shared.or-else", [joined("shared.and", names) for names in sets])
            given = joined("shared.and", self.numbers) or sentence("survey.no-parameter")
            raise Mistake(
                "kind", "survey.numbers-of-device", kind=self.kind, given=given, wanted=wanted
            )
        if self.memoized and not channel.remembers:
            kinds = [kind for kind, each in CHANNELS.items() if each.remembers]
            raise Mistake("memoized", "survey.no-memory", value=self.memoized, kinds=kinds)
        return self


def fields() -> type[Frozen]:
    """Return the model of a randomizer's keys: those of all channels."""
    return _fields(tuple(CHANNELS), tuple(parameters().items()))


@lru_cache(maxsize=16)
def _fields(kinds: tuple[str, ...], numbers: tuple[tuple[str, Range], ...]) -> type[Frozen]:
    optional: Mapping[str, Any] = {name: (Real | None, _field(range)) for name, range in numbers}
    return create_model(
        "Randomizer",
        __base__=Frozen,
        kind=(Literal[kinds], ...),  # type: ignore[arg-type, unused-ignore]
        memoized=(bool, Field(default=False, strict=True)),
        **optional,
    )


def _field(range: Range) -> Any:
    """Return a number in a range."""
    low = "ge" if range.closed else "gt"
    limits: dict[str, Any] = {low: range.low}
    if range.high < float("inf"):
        limits["le" if range.closed else "lt"] = range.high
    return Field(default=None, strict=True, **limits)
