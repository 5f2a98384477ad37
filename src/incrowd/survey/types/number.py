"""A number, of which only the range is sent."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, Literal, Self, TypeGuard

from pydantic import Field, field_validator, model_validator

from incrowd.catalog.sentences import Sentence, sentence, translatable
from incrowd.errors import Unfit
from incrowd.survey.conditions import AnswerComparison, AtLeast, IsAnswer
from incrowd.survey.forms import EDGES, DesignForm, PageField
from incrowd.survey.question import AnswerColumn, AnyQuestion, Read, first_answers
from incrowd.survey.toml import Mistake, Real


def _is_none(value: object) -> bool:
    return value is None


class WithEdges(AnyQuestion):
    """edges: numbers that rise. minimum, maximum, whole: what people may type on the survey page;
    files of answers may have other numbers."""

    of_numbers: ClassVar[bool] = True
    named: ClassVar[bool] = False
    not_open: ClassVar[Sentence | None] = sentence("survey.open-numbers")

    edges: tuple[Real, ...] = Field(min_length=2)
    minimum: Real | None = Field(default=None, exclude_if=_is_none)
    maximum: Real | None = Field(default=None, exclude_if=_is_none)
    whole: bool = Field(default=False, strict=True, exclude_if=lambda set: not set)

    @field_validator("edges")
    @classmethod
    def _rising(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        if any(b <= a for a, b in pairwise(edges)):
            raise Unfit("survey.rising-edges")
        return edges

    @model_validator(mode="after")
    def _typeable(self) -> Self:
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise Mistake("minimum", "survey.minimum-above", value=self.minimum, most=self.maximum)
        return self

    def client_answer(self, text: str) -> float:
        """Return the number."""
        return float(text)


def takes_numbers(question: AnyQuestion) -> TypeGuard[WithEdges]:
    """Return whether people answer by a number."""
    return question.of_numbers


class Number(WithEdges):
    """A number, sorted into left-closed bins; the last bin is open. The answer is then exactly one
    bin."""

    type: Literal["number"] = "number"
    design_form: ClassVar[DesignForm] = DesignForm(
        {"en": "A number, in ranges", "de": "Eine Zahl, in Bereichen"},
        {
            "en": "Only its range is sent, never the number.",
            "de": "Gesendet wird nur der Bereich, nie die Zahl.",
        },
        (EDGES,),
    )

    @property
    def choices(self) -> tuple[str, ...]:
        """The bins: "0 to <1", ..., "12 or more"."""
        shown = [format(edge, ".12g") for edge in self.edges]
        bins = (f"{a} to <{b}" for a, b in pairwise(shown))
        return (*bins, f"{shown[-1]} or more")

    @property
    def values(self) -> tuple[float, ...] | None:
        """The middle of each bin; of the last, which is open, as if it were as wide as the previous
        one. None for merged bins."""
        if self.merged:
            return None
        closed = [(a + b) / 2 for a, b in pairwise(self.edges)]
        return (*closed, self.edges[-1] + (self.edges[-1] - self.edges[-2]) / 2)

    def deciding(self, comparison: AnswerComparison) -> tuple[int, ...] | None:
        """Return the bins from an edge on, or below it; no bin is below the first edge."""
        if isinstance(comparison, IsAnswer):
            return super().deciding(comparison)
        if comparison.edge not in self.edges:
            return None
        edge, bins = self.edges.index(comparison.edge), tuple(range(len(self.edges)))
        return bins[edge:] if isinstance(comparison, AtLeast) else bins[:edge]

    def described(self, named: tuple[str, ...]) -> str:
        """Return the ranges."""
        return translatable("survey.range-of-number", answers=first_answers(named))

    def read(self, column: AnswerColumn[Read]) -> Read:
        """Return the bin of a number."""
        return column.bins(self.edges)

    @property
    def page_field(self) -> PageField:
        """A number that counts as its range."""
        return PageField("range", edges=self.edges)
