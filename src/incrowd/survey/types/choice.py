"""One of some options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from incrowd.errors import Unfit
from incrowd.survey.forms import OPTIONS, DesignForm, PageField
from incrowd.survey.question import MOST_TOGETHER, NO_ANSWER, NOT_ASKED, SHOWN, AnyQuestion
from incrowd.survey.toml import Mistake


class WithOptions(AnyQuestion):
    """A question whose options the survey lists. other: the option of those who would give another
    answer; the page says that it does not ask which."""

    options: tuple[str, ...] = Field(min_length=2)
    other: str | None = Field(default=None, strict=True, exclude_if=lambda option: option is None)

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        twice = [name for name, count in Counter(options).items() if count > 1]
        if twice:
            raise Unfit("survey.option-twice", option=twice[0])
        if NO_ANSWER in options:
            raise Unfit("survey.no-answer-listed", option=NO_ANSWER)
        if NOT_ASKED in options:
            raise Unfit("survey.not-asked-listed", option=NOT_ASKED)
        if any(not name or name != name.strip() for name in options):
            raise Unfit("survey.blank-option")
        return options

    @model_validator(mode="after")
    def _other_listed(self) -> Self:
        if self.other is not None and self.other not in self.options:
            options = self.options[:SHOWN]
            raise Mistake("other", "survey.other-not-listed", value=self.other, options=options)
        return self

    @property
    def choices(self) -> tuple[str, ...]:
        """The options as the survey names them."""
        return self.options

    @property
    def wide(self) -> bool:
        """Whether there are more than 1,000 options. Never if it is open."""
        return not self.open and len(self.options) > MOST_TOGETHER

    @classmethod
    def listed_answers(cls, raw: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the options, also if there are too few, or some are named twice."""
        options = raw.get("options")
        return tuple(map(str, options)) if isinstance(options, list) else ()

    @property
    def page_field(self) -> PageField:
        """One of the options."""
        return PageField("one")


class Choice(WithOptions):
    """Exactly one of c options: c bits."""

    type: Literal["choice"] = "choice"
    design_form: ClassVar[DesignForm] = DesignForm(
        {"en": "One of several answers", "de": "Eine von mehreren Antworten"},
        {
            "en": "Fewer answers are more precise.",
            "de": "Je weniger Antworten, desto genauer.",
        },
        (OPTIONS,),
    )
