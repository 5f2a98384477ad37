"""A word that is not from a list."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeGuard

from pydantic import Field, field_validator, model_validator

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import Domain
from incrowd.catalog.sentences import Sentence, sentence, translatable
from incrowd.errors import Unfit
from incrowd.survey.forms import DesignForm, PageField
from incrowd.survey.question import AnswerColumn, AnyQuestion, Read
from incrowd.survey.toml import Mistake


class Text(AnyQuestion):
    """A word that is not from a list: a Bloom filter of `hashes` blocks of `block` bits.

    The device draws one of `cohorts` hash functions and sends which one. A word sets one bit in
    each block, so each block is an exclusive choice. Estimates need a list of candidate words.
    """

    type: Literal["text"] = "text"
    design_form: ClassVar[DesignForm] = DesignForm(
        {"en": "A word", "de": "Ein Wort"},
        {
            "en": "Typed freely. You can count only the words that you look for.",
            "de": "Freie Eingabe. Zählen lassen sich nur Wörter, nach denen Sie suchen.",
        },
    )
    hashed: ClassVar[bool] = True
    decisive: ClassVar[bool] = False
    named: ClassVar[bool] = False
    one_value: ClassVar[bool] = False
    not_open: ClassVar[Sentence | None] = sentence("survey.open-words")
    not_merged: ClassVar[Sentence | None] = sentence("survey.words-not-merged")
    not_crossed: ClassVar[Sentence | None] = sentence("survey.text-question")
    not_explained: ClassVar[Sentence | None] = sentence("survey.words-not-explained")
    block: int = Field(default=64, ge=2, le=1024, strict=True)
    hashes: int = Field(default=1, ge=1, le=8, strict=True)
    cohorts: int = Field(default=256, ge=1, le=4096, strict=True)

    @field_validator("cohorts", "block")
    @classmethod
    def _power_of_two(cls, number: int) -> int:
        if number & (number - 1):
            raise Unfit("survey.power-of-two")
        return number

    @property
    def domain(self) -> Domain:
        """One block: exactly one bit."""
        return Domain(self.block, 1, 1)

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The blocks."""
        return (self.domain,) * self.hashes

    @property
    def cohort_bits(self) -> int:
        """The number of bits, sent without noise, for the cohort of the device."""
        return (self.cohorts - 1).bit_length()

    @property
    def bits(self) -> int:
        """The cohort's bits and those of the blocks."""
        return self.cohort_bits + self.hashes * self.block

    def _wrong_share(self) -> Sentence | None:
        return sentence("survey.shares-of-words", value=self.shares)

    @model_validator(mode="after")
    def _symmetric(self) -> Text:
        if self.randomizer and self.randomizer.kind != BitFlip.kind:
            path, kind = ("randomizer", "kind"), self.randomizer.kind
            raise Mistake(path, "survey.device-of-words", value=kind)
        return self

    @model_validator(mode="after")
    def _forgets(self) -> Text:
        if self.asked_memoized:
            raise Mistake("memoized", "survey.memoized-words", value=True)
        return self

    @property
    def uneven_shares(self) -> tuple[float, ...]:
        """One word, which half of the people have."""
        return (0.5,)

    def described(self, named: tuple[str, ...]) -> str:
        """Describe what is sent."""
        return translatable("survey.hashes-of-word", hashes=self.hashes, values=self.block)

    @property
    def advice(self) -> str:
        """Advice on what a text question can and cannot estimate."""
        return translatable("survey.advice-on-words", id=self.id, bits=self.bits)

    def read(self, column: AnswerColumn[Read]) -> Read:
        """Return a word."""
        return column.words()

    @property
    def page_field(self) -> PageField:
        """A word."""
        return PageField("word")


def takes_words(question: AnyQuestion) -> TypeGuard[Text]:
    """Return whether it is a text question."""
    return question.hashed
