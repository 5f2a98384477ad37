"""Several options at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from incrowd.accountant.schema import Domain
from incrowd.catalog.sentences import Sentence, sentence, translatable
from incrowd.survey.forms import OPTIONS, DesignForm, KeyInput, PageField
from incrowd.survey.question import (
    CLOSE,
    NO_ANSWER,
    NONE,
    SEPARATOR,
    SHOWN,
    AnswerColumn,
    Read,
    first_answers,
)
from incrowd.survey.toml import Mistake
from incrowd.survey.types.choice import WithOptions


class Multi(WithOptions):
    """At most `at_most` of c options: c bits. If optional, "no answer" is one more option."""

    type: Literal["multi"] = "multi"
    exclusive: ClassVar[bool] = False
    one_value: ClassVar[bool] = False
    not_open: ClassVar[Sentence | None] = sentence("survey.open-combinations")
    not_merged: ClassVar[Sentence | None] = sentence("survey.overlapping-not-merged")
    design_form: ClassVar[DesignForm] = DesignForm(
        {"en": "Several answers at once", "de": "Mehrere Antworten zugleich"},
        {
            "en": "Up to a number that you set; fewer are more precise.",
            "de": "Bis zu einer Zahl, die Sie festlegen; je weniger, desto genauer.",
        },
        (
            OPTIONS,
            KeyInput(
                "at_most",
                "count",
                {
                    "en": "Maximum number of answers per person",
                    "de": "Höchstzahl der Antworten je Person",
                },
                2,
            ),
        ),
    )
    at_most: int = Field(ge=1, strict=True)

    @model_validator(mode="after")
    def _writable(self) -> Multi:
        if self.at_most > len(self.options):
            most = len(self.options)
            raise Mistake("at_most", "survey.more-than-options", value=self.at_most, most=most)
        if NONE in self.options or any(SEPARATOR in name for name in self.options):
            raise Mistake(
                "options",
                "survey.reserved-option",
                value=list(self.options),
                none=NONE,
                separator=SEPARATOR,
            )
        return self

    @property
    def domain(self) -> Domain:
        """The sets of at most m of the answers (with "no answer" a superset of what can
        be sent)."""
        return Domain(len(self.recorded), 0, self.at_most)

    @property
    def stated_shares(self) -> tuple[float, ...] | None:
        """The expected share of people who give each answer; answers overlap."""
        if self.shares is None:
            return None
        return tuple(self.shares.get(answer, 0.0) for answer in self.recorded)

    def _wrong_sum(self, shares: Mapping[str, float]) -> Sentence | None:
        if missing := [answer for answer in self._expected if answer not in shares]:
            return sentence("survey.missing-option-shares", value=shares, missing=missing[:SHOWN])
        answered = 1 - shares.get(NO_ANSWER, 0.0)
        options = [shares[option] for option in self.options]
        if max(options) > answered + CLOSE:
            return sentence("survey.share-above-answered", value=shares, answered=answered)
        most = answered * self.at_most
        if (total := math.fsum(options)) > most + CLOSE:
            return sentence("survey.sum-of-option-shares", value=shares, most=most, sum=total)
        return None

    @property
    def answers_given(self) -> float:
        """Half of the allowed number."""
        return self.at_most / 2

    @property
    def uneven_shares(self) -> tuple[float, ...]:
        """Each option half as common as the one before, the first given by half of the people."""
        return tuple(2.0 ** -(1 + place) for place, _ in enumerate(self.substantive))

    def described(self, named: tuple[str, ...]) -> str:
        """Return how many of the options."""
        return translatable("survey.some-answers", most=self.at_most, answers=first_answers(named))

    def read(self, column: AnswerColumn[Read]) -> Read:
        """Return some options."""
        return column.some_of(self.options, self.at_most)

    @property
    def page_field(self) -> PageField:
        """Some of the options."""
        return PageField("several", most=self.at_most)

    def client_answer(self, text: str) -> list[str]:
        """Return the chosen options."""
        return [] if text == NONE else text.split(SEPARATOR)
