"""The common part of all types of questions: their answers, the bits that carry them, their
wording."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from incrowd.accountant.schema import Domain
from incrowd.catalog.sentences import Sentence, sentence, translatable
from incrowd.errors import Unfit
from incrowd.survey.conditions import AnswerComparison, AskedIf, IsAnswer
from incrowd.survey.forms import DesignForm, PageField
from incrowd.survey.randomizers import Randomizer
from incrowd.survey.toml import Frozen, Mistake, Real
from incrowd.survey.words import Wordings

NO_ANSWER = "no answer"
NOT_ASKED = "not asked"  # a person for whom the condition of a question does not hold
UNANSWERED = (NO_ANSWER, NOT_ASKED)
NONE = "none"  # a `multi` answer without any option, in a file of answers
SEPARATOR = ";"  # between the options of a `multi` answer, in a file of answers
TABLE_SEPARATOR = ","  # between the questions of a table on the command line
MERGED = " + "  # between answers that are merged, in the name of all of them
SHOWN = 12  # answers, in a message
MOST_TOGETHER = 1000  # options of a question in a joint report; with more it is sent as cells
CLOSE = 0.01  # to 1, for a sum of rounded shares, such as three times 0.33
MOST_LISTED = 12  # answers to a question, for people

QuestionIds = tuple[str, ...]
Read = TypeVar("Read", covariant=True)


class AnswerColumn(Protocol[Read]):
    """A column of a file of answers, and the ways to read it."""

    def one_of(self, answers: Sequence[str]) -> Read:
        """Return one of some answers, by name."""

    def yes_or_no(self, separate: bool) -> Read:
        """Read yes or no, in any of the usual spellings. separate: each has a bit of its own."""

    def some_of(self, options: Sequence[str], most: int) -> Read:
        """Return several options, at most `most` of them."""

    def bins(self, edges: Sequence[float]) -> Read:
        """Return the bin of a number: from one edge to below the next; the last is open."""

    def between(self, edges: Sequence[float], one_bit: bool) -> Read:
        """Return the two edges around a number. one_bit: there are only two edges, encoded in one
        bit."""

    def words(self) -> Read:
        """Return a word that is not from a list."""


_SPOKEN = {NO_ANSWER: "estimation.no-answer", NOT_ASKED: "estimation.not-asked"}


def first_answers(answers: Sequence[str]) -> str:
    """Return answers as text for people; of a long list, only the first."""
    shown = "; ".join(answers[:MOST_LISTED])
    if len(answers) <= MOST_LISTED:
        return shown
    return translatable("survey.listed-first", shown=shown, number=len(answers))


def _is_none(value: object) -> bool:
    return value is None


class Merged(NamedTuple):
    """Answers to a question that an analysis treats as one, and the name of the merged answer."""

    name: str
    answers: tuple[str, ...]


class AnyQuestion(Frozen):
    """The properties that all questions have. Each type is a class in a separate module.

    optional: whether "no answer" is one more answer. asked_if: whom the question is asked; "not
    asked" is then one more answer, which the device of everybody else sends. randomizer: a
    device with fixed probabilities, instead of the planner's bit flip. memoized: whether the
    planner's bit flips are drawn once for each device and answer, and repeated in every round.
    open: whether the answer is sent in the clear instead of being randomized. section, matrix:
    the parts of the questionnaire that the question belongs to. text, help, labels: the wording
    that people read; labels by answer. shares: the expected share of each answer among those
    who are asked; only forecasts use it, neither the noise nor the guarantee nor a device.

    The defaults are those of a question with exactly one of some named answers. A type states
    its differences once, and the rest of the package asks the question.

    exclusive: whether everybody gives exactly one of the answers. of_numbers: whether the
    answers are numbers, or ranges of numbers, in order. rounded: whether the answers are
    numbers to which amounts are rounded at random, which preserves only the mean. hashed:
    whether the answers are words that are not listed. named: whether files contain the names of
    the answers, or codes for them. decisive: whether a condition can depend on it. one_value:
    whether a cell of such a file has one value, so that an empty cell is missing. any_case:
    whether names are also recognized in capitals. design_form: how the studio designs questions
    of the type.
    """

    type: str
    design_form: ClassVar[DesignForm]
    exclusive: ClassVar[bool] = True
    of_numbers: ClassVar[bool] = False
    rounded: ClassVar[bool] = False
    hashed: ClassVar[bool] = False
    named: ClassVar[bool] = True
    decisive: ClassVar[bool] = True
    one_value: ClassVar[bool] = True
    any_case: ClassVar[bool] = False
    not_open: ClassVar[Sentence | None] = None  # why it cannot be open, and what would work
    not_merged: ClassVar[Sentence | None] = None  # why its answers cannot be merged
    not_crossed: ClassVar[Sentence | None] = None  # what it is, if it cannot be sent as cells
    not_explained: ClassVar[Sentence | None] = None  # why it cannot be in a regression

    id: str = Field(min_length=1)
    optional: bool = Field(default=False, strict=True)
    asked_if: AskedIf = Field(default=None, exclude_if=_is_none)
    randomizer: Randomizer | None = None
    asked_memoized: bool = Field(
        alias="memoized", default=False, strict=True, exclude_if=lambda set: not set
    )
    open: bool = Field(default=False, strict=True, exclude_if=lambda set: not set)
    section: str | None = Field(default=None, strict=True, exclude_if=_is_none)
    matrix: str | None = Field(default=None, strict=True, exclude_if=_is_none)
    text: Wordings | None = Field(default=None, exclude_if=_is_none)
    help: Wordings | None = Field(default=None, exclude_if=_is_none)
    labels: dict[str, Wordings] | None = Field(default=None, exclude_if=_is_none)
    shares: dict[str, Real] | None = Field(default=None, exclude_if=_is_none)
    _merged: tuple[Merged, ...] = PrivateAttr(default=())  # of an analysis: no part of any file

    def __hash__(self) -> int:
        """Hash type and id only: tables are not hashable."""
        return hash((type(self), self.id))

    @field_validator("id")
    @classmethod
    def _one_word(cls, id: str) -> str:
        if TABLE_SEPARATOR in id or id != id.strip():
            raise Unfit("survey.no-id", separator=TABLE_SEPARATOR)
        return id

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers to choose from, without "no answer" and "not asked"; defined by each type."""
        return ()

    @property
    def recorded(self) -> tuple[str, ...]:
        """Every answer of a record, in order; one bit each, except for a plain yes/no."""
        return self.choices + self.unanswered

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The answers of a record that are not answers to choose from, in order."""
        states = {NO_ANSWER: self.optional, NOT_ASKED: self.asked_if is not None}
        return tuple(name for name, possible in states.items() if possible)

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer that a table shows, in order, with merged answers as one."""
        return tuple(dict.fromkeys(map(self.read_as, self.recorded)))

    @property
    def substantive(self) -> tuple[str, ...]:
        """The answers without "no answer" and "not asked"."""
        return tuple(answer for answer in self.answers if answer not in UNANSWERED)

    @property
    def merged(self) -> tuple[Merged, ...]:
        """The merged answers of this analysis; empty for a question as it was asked."""
        return self._merged

    def with_merged(self, merged: tuple[Merged, ...]) -> Self:
        """Return the same question, read with some answers merged; what is sent does not change."""
        read = self.model_copy()
        read._merged = merged
        return read

    def read_as(self, answer: str) -> str:
        """Return the answer that a table shows for one of a record."""
        return next((each.name for each in self._merged if answer in each.answers), answer)

    @property
    def domain(self) -> Domain:
        """The allowed records; by default exactly one of the answers."""
        return Domain(len(self.recorded), 1, 1)

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The allowed records as independent parts; one part for all types but `text`."""
        return (self.domain,)

    @property
    def bits(self) -> int:
        """The bits of a report that carry the answer."""
        return self.domain.bits

    @property
    def distance(self) -> int:
        """The largest Hamming distance between two answers."""
        return sum(domain.distance for domain in self.domains)

    @property
    def wide(self) -> bool:
        """Whether it has too many answers for a joint report, so that it is sent as cells."""
        return False

    @property
    def memoized(self) -> bool:
        """Whether the device remembers a permanent response, and repeats it in every round."""
        return self.asked_memoized or (self.randomizer is not None and self.randomizer.memoized)

    @property
    def one_way_only(self) -> bool:
        """Whether the question cannot be crossed with others in a table."""
        return self.hashed

    @property
    def cohort_bits(self) -> int:
        """The number of bits, sent without noise, for the cohort of the device, if it has one."""
        return 0

    @property
    def many(self) -> bool:
        """Whether one person can give several answers at once."""
        return self.domain.most > 1

    @property
    def answers_given(self) -> float:
        """The assumed mean number of answers per person."""
        return 1.0

    @property
    def values(self) -> tuple[float, ...] | None:
        """The number of each substantive answer; None if the answers are not numbers."""
        return None

    @property
    def uneven_shares(self) -> tuple[float, ...]:
        """Shares of the substantive answers, each half as common as the previous one."""
        halves = [2.0 ** -(1 + place) for place, _ in enumerate(self.substantive)]
        total = math.fsum(halves)
        return tuple(half / total for half in halves)

    def deciding(self, comparison: AnswerComparison) -> tuple[int, ...] | None:
        """Return the places of the recorded answers for which a comparison holds; None if no answer
        decides it."""
        if not (self.decisive and isinstance(comparison, IsAnswer)):
            return None
        if comparison.answer not in self.recorded:
            return None
        return (self.recorded.index(comparison.answer),)

    def described(self, named: tuple[str, ...]) -> str:
        """Describe the possible answers. named: their labels."""
        return translatable("survey.one-of-answers", answers=first_answers(named))

    def in_words(self, label: Callable[[str], str] = str) -> str:
        """Return all possible answers in one phrase. label: the label of an answer."""
        text = self.described(tuple(map(label, self.substantive)))
        for state in self.unanswered:
            text = translatable("survey.or-unanswered", answers=text, state=label(state))
        return translatable("survey.answered-openly", answers=text) if self.open else text

    def spoken(self, answer: str) -> str:
        """Return an answer without a label; answers that every survey has are known in all
        languages."""
        return translatable(_SPOKEN[answer]) if answer in self.unanswered else answer

    @property
    def advice(self) -> str:
        """Advice to read before planning with this question, or ""."""
        return ""

    def read(self, column: AnswerColumn[Read]) -> Read:
        """Return the answers in a column of a file."""
        return column.one_of(self.choices)

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the type in surveys."""
        name: str = cls.model_fields["type"].default
        return name

    @classmethod
    def own_keys(cls) -> tuple[str, ...]:
        """Return the keys that questions of other types may not have."""
        return tuple(key for key in cls.model_fields if key not in AnyQuestion.model_fields)

    @classmethod
    def listed_answers(cls, raw: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the answers to choose from in the order in which people read them, from a raw
        table that may have mistakes."""
        question = cls.without_wording(raw)
        return (question.page_field.answers or question.choices) if question else ()

    @classmethod
    def without_wording(cls, raw: Mapping[str, Any]) -> Self | None:
        """Return the question of a raw table with only the keys that its answers depend on; None if
        these have mistakes."""
        stated = {key: raw[key] for key in ("type", *cls.own_keys()) if key in raw}
        try:
            states = {"optional": bool(raw.get("optional")), "asked_if": raw.get("asked_if")}
            return cls.model_validate(stated | {"id": "id"} | states)
        except ValidationError:
            return None

    @property
    def page_field(self) -> PageField:
        """The field on the survey page."""
        return PageField("one", self.choices)

    def client_answer(self, text: str) -> object:
        """Return the answer that the client in TypeScript takes for an answer in a file."""
        return text

    @model_validator(mode="after")
    def _open_fits(self) -> Self:
        if not self.open:
            return self
        if self.not_open:
            raise Mistake("open", "survey.unfit", value=True, reason=self.not_open)
        for field, value in (
            ("randomizer", self.randomizer and self.randomizer.kind),
            ("memoized", self.asked_memoized),
        ):
            if value:
                raise Mistake(field, "survey.open-not-randomized", value=value)
        return self

    @model_validator(mode="after")
    def _labels_fit(self) -> Self:
        for answer in self.labels or ():
            if answer not in self.answers:
                named = self.answers[:SHOWN] or sentence("survey.no-named-answers")
                raise Mistake("labels", "survey.label-of-nothing", value=answer, answers=named)
        return self

    @property
    def stated_shares(self) -> tuple[float, ...] | None:
        """The expected share of each answer of a record among those who are asked, in order; None
        if none are stated.

        They sum to 1, except for `multi`, whose answers overlap. The one answer that may be left
        out has the rest.
        """
        if self.shares is None:
            return None
        shares = self.shares | ({NOT_ASKED: 0.0} if self.asked_if else {})
        stated = [shares.get(answer) for answer in self.recorded]
        total = math.fsum(share for share in stated if share is not None)
        full = [max(0.0, 1 - total) if share is None else share for share in stated]
        return tuple(full if None in stated else (share / total for share in full))

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.shares is not None and (wrong := self._wrong_share()):
            raise Mistake("shares", wrong)
        return self

    def _wrong_share(self) -> Sentence | None:
        """Return what is wrong with the shares; None if they are valid."""
        shares = self.shares or {}
        if self.open:
            return sentence("survey.shares-of-open", value=shares)
        for answer, share in shares.items():
            if answer not in self._expected:
                answers = self._expected[:SHOWN]
                return sentence("survey.share-of-no-answer", value=answer, answers=answers)
            if not 0 <= share <= 1:
                return sentence("survey.no-share", value=share, answer=answer)
        return self._wrong_sum(shares)

    @property
    def _expected(self) -> tuple[str, ...]:
        """The answers of those who are asked, whose shares can be stated."""
        return tuple(answer for answer in self.answers if answer != NOT_ASKED)

    def _wrong_sum(self, shares: Mapping[str, float]) -> Sentence | None:
        missing = [answer for answer in self._expected if answer not in shares]
        if len(missing) > 1:
            return sentence("survey.missing-shares", value=shares, missing=missing[:SHOWN])
        total = math.fsum(shares.values())
        if total > 1 + CLOSE or (not missing and total < 1 - CLOSE):
            return sentence("survey.sum-of-shares", value=shares, sum=total)
        return None

    @model_validator(mode="after")
    def _device_fits(self) -> Self:
        if self.randomizer is None:
            return self
        if self.asked_memoized:
            raise Mistake("memoized", "survey.memoized-device", value=True)
        path, kind = ("randomizer", "kind"), self.randomizer.kind
        one_answer = self.domains == (self.domain,) and self.domain[1:] == (1, 1)
        if self.randomizer.of_answers and not one_answer:
            raise Mistake(path, "survey.device-of-one-answer", value=kind)
        if self.wide:
            raise Mistake(path, "survey.device-of-cells", value=kind, most=MOST_TOGETHER)
        return self
