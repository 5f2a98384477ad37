"""A number whose mean counts, rounded at random."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar, Literal

from pydantic import model_validator

from incrowd.accountant.schema import Domain
from incrowd.catalog.sentences import Sentence, sentence, translatable
from incrowd.survey.forms import EDGES, DesignForm, PageField
from incrowd.survey.question import AnswerColumn, Read, first_answers
from incrowd.survey.toml import Mistake
from incrowd.survey.types.number import WithEdges


class Amount(WithEdges):
    """A number whose mean counts, rounded at random to one of the two edges around it.

    The probability of rounding up preserves the mean; values outside the edges count as the nearest
    edge. The record is exactly one edge; with only two edges, one bit for the upper one.
    """

    type: Literal["amount"] = "amount"
    design_form: ClassVar[DesignForm] = DesignForm(
        {"en": "A number, for its mean", "de": "Eine Zahl, für ihren Mittelwert"},
        {
            "en": "Rounded at random so that the mean stays correct. You get no distribution.",
            "de": "Zufällig so gerundet, dass der Mittelwert stimmt. Keine Verteilung.",
        },
        (EDGES,),
    )
    rounded: ClassVar[bool] = True
    decisive: ClassVar[bool] = False
    not_merged: ClassVar[Sentence | None] = sentence("survey.edges-not-merged")

    @property
    def choices(self) -> tuple[str, ...]:
        """The edges."""
        return tuple(format(edge, ".12g") for edge in self.edges)

    @property
    def domain(self) -> Domain:
        """One free bit, or one of several."""
        return Domain(1, 0, 1) if len(self.recorded) == 2 else super().domain

    @model_validator(mode="after")
    def _distinct(self) -> Amount:
        if len(set(self.choices)) < len(self.edges):
            raise Mistake("edges", "survey.same-edges", value=list(self.edges))
        return self

    @model_validator(mode="after")
    def _subtractable(self) -> Amount:
        if any(math.isinf(b - a) for a, b in pairwise(self.edges)):
            raise Mistake("edges", "survey.distant-edges", value=list(self.edges))
        return self

    @model_validator(mode="after")
    def _forgets(self) -> Amount:
        if self.memoized:
            path = ("memoized",) if self.asked_memoized else ("randomizer", "memoized")
            raise Mistake(path, "survey.memoized-amount", value=True)
        return self

    @property
    def values(self) -> tuple[float, ...]:
        """The edges; rounding to them is unbiased."""
        return self.edges

    def described(self, named: tuple[str, ...]) -> str:
        """Return the edges."""
        return translatable("survey.edges-of-number", answers=first_answers(named))

    def read(self, column: AnswerColumn[Read]) -> Read:
        """Return the edges around a number."""
        return column.between(self.edges, self.bits < len(self.answers))

    @property
    def page_field(self) -> PageField:
        """A number that counts as an edge."""
        return PageField("edges", edges=self.edges)
