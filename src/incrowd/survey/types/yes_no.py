"""Yes or no."""

from __future__ import annotations

from typing import ClassVar, Literal

from incrowd.accountant.schema import Domain
from incrowd.catalog.sentences import translatable
from incrowd.survey.forms import DesignForm, PageField
from incrowd.survey.question import AnswerColumn, AnyQuestion, Read

RARE = 0.1  # of all people say yes, if answers are uneven


_SPOKEN = {"yes": "estimation.yes", "no": "estimation.no"}


class YesNo(AnyQuestion):
    """A yes/no question: one bit. If optional or conditional, a choice that includes "no answer" or
    "not asked"."""

    type: Literal["yesno"] = "yesno"
    any_case: ClassVar[bool] = True
    design_form: ClassVar[DesignForm] = DesignForm(
        {"en": "Yes or no", "de": "Ja oder nein"},
        {
            "en": "The most precise kind of question.",
            "de": "Die genaueste Art von Frage.",
        },
    )

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers no and yes."""
        return ("no", "yes")

    @property
    def domain(self) -> Domain:
        """One free bit, or one of three or four."""
        return super().domain if self.unanswered else Domain(1, 0, 1)

    @property
    def values(self) -> tuple[float, ...]:
        """The values 0 for no and 1 for yes."""
        return (0.0, 1.0)

    @property
    def uneven_shares(self) -> tuple[float, ...]:
        """One yes in ten."""
        return (1 - RARE, RARE)

    def described(self, named: tuple[str, ...]) -> str:
        """Return both answers."""
        one, other = named
        return translatable("survey.either-answer", one=one, other=other)

    def spoken(self, answer: str) -> str:
        """Return an answer without a label, known in all languages."""
        return translatable(_SPOKEN[answer]) if answer in _SPOKEN else super().spoken(answer)

    def read(self, column: AnswerColumn[Read]) -> Read:
        """Read yes or no."""
        return column.yes_or_no(bool(self.unanswered))

    @property
    def page_field(self) -> PageField:
        """The field of the page, where yes comes first."""
        return PageField("one", ("yes", "no"))
