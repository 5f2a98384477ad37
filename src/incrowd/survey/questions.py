"""The types of questions: what can be answered, and which bits carry it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple, Self, get_args

from pydantic import Field, FiniteFloat, PrivateAttr, field_validator, model_validator

from incrowd.survey.domains import Domain
from incrowd.survey.frozen import Frozen, Mistake
from incrowd.survey.open import check_open
from incrowd.survey.randomizers import Randomizer
from incrowd.survey.words import Words

NO_ANSWER = "no answer"
NONE = "none"  # a `multi` answer without any option, in a file of answers
SEPARATOR = ";"  # between the options of a `multi` answer, in a file of answers
TABLE_SEPARATOR = ","  # between the questions of a table on the command line
MERGED = " + "  # between answers that are merged, in the name of all of them
SHOWN = 12  # answers, in a message
MOST_TOGETHER = 1000  # options of a question in a joint report; a wider one is sent as cells
CLOSE = 0.01  # to 1: a sum of rounded shares, such as three times 0.33


def _is_none(value: object) -> bool:
    return value is None


class Merged(NamedTuple):
    """Answers to a question that an analysis reads as one, and the name of that one."""

    name: str
    answers: tuple[str, ...]


class _Question(Frozen):
    """What all questions have.

    optional: "no answer" is one more answer. randomizer: a device with fixed probabilities, in
    the place of the planner's bit flip. memoised: the planner's bit flips are drawn once for each
    device and answer, and repeated in every round. open: the answer is not randomized and travels
    in clear. text, help, labels: what people read, the last by answers; what is left out is left
    out of files as well. shares: the expected share of each answer, on which forecasts rest, and
    nothing else: neither noise nor promise nor anything that a device does.
    """

    id: str = Field(min_length=1)
    optional: bool = Field(default=False, strict=True)
    randomizer: Randomizer | None = None
    asked_memoised: bool = Field(
        alias="memoised", default=False, strict=True, exclude_if=lambda set: not set
    )
    open: bool = Field(default=False, strict=True, exclude_if=lambda set: not set)
    text: Words | None = Field(default=None, exclude_if=_is_none)
    help: Words | None = Field(default=None, exclude_if=_is_none)
    labels: dict[str, Words] | None = Field(default=None, exclude_if=_is_none)
    shares: dict[str, FiniteFloat] | None = Field(default=None, exclude_if=_is_none)
    _merged: tuple[Merged, ...] = PrivateAttr(default=())  # of an analysis: no part of any file

    def __hash__(self) -> int:
        """Tables of words have none of their own."""
        return hash((type(self), self.id))

    @field_validator("id")
    @classmethod
    def _one_word(cls, id: str) -> str:
        if TABLE_SEPARATOR in id or id != id.strip():
            raise ValueError(f"should have no {TABLE_SEPARATOR!r} in it and no space around it")
        return id

    @property
    def choices(self) -> tuple[str, ...]:
        """What people choose from, without "no answer"; each type of question has its own."""
        return ()

    @property
    def recorded(self) -> tuple[str, ...]:
        """Every answer of a record, in order; one bit each, except for a plain yes/no."""
        return self.choices + ((NO_ANSWER,) if self.optional else ())

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer that a table shows, in order: those of a record, some merged into one."""
        return tuple(dict.fromkeys(map(self.read_as, self.recorded)))

    @property
    def substantive(self) -> tuple[str, ...]:
        """The answers without "no answer"."""
        return tuple(answer for answer in self.answers if answer != NO_ANSWER)

    @property
    def merged(self) -> tuple[Merged, ...]:
        """Answers that this analysis reads as one; none of a question as it was asked."""
        return self._merged

    def with_merged(self, merged: tuple[Merged, ...]) -> Self:
        """The same question, read with some answers merged; what is sent does not change."""
        read = self.model_copy()
        read._merged = merged
        return read

    def read_as(self, answer: str) -> str:
        """The answer that a table shows for one of a record."""
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
        """Whether it has too many answers for a joint report, and is sent as cells."""
        return False

    @property
    def memoised(self) -> bool:
        """Whether the device remembers a permanent response, and repeats it in every round."""
        return self.asked_memoised or (self.randomizer is not None and self.randomizer.memoised)

    @property
    def one_way_only(self) -> bool:
        """Whether the question can stand in no table with another one."""
        return False

    @model_validator(mode="after")
    def _open_fits(self) -> _Question:
        if self.open:
            check_open(self)
        return self

    @model_validator(mode="after")
    def _labels_fit(self) -> _Question:
        for answer in self.labels or ():
            if answer not in self.answers:
                known = ", ".join(self.answers[:SHOWN]) or "no answers that could be named"
                raise Mistake("labels", answer, f"should name one of the answers: {known}")
        return self

    @property
    def stated_shares(self) -> tuple[float, ...] | None:
        """The expected share of each answer of a record, in order; None if none are stated.

        They sum to 1, except for `multi`, whose answers overlap. The one answer that may be left
        out has the rest.
        """
        if self.shares is None:
            return None
        stated = [self.shares.get(answer) for answer in self.recorded]
        total = math.fsum(share for share in stated if share is not None)
        full = [max(0.0, 1 - total) if share is None else share for share in stated]
        return tuple(full if None in stated else (share / total for share in full))

    @model_validator(mode="after")
    def _shares_fit(self) -> _Question:
        if self.shares is not None and (wrong := self._wrong_share()):
            raise Mistake("shares", *wrong)
        return self

    def _wrong_share(self) -> tuple[object, str] | None:
        """The value that is wrong with the shares, and what would work."""
        shares = self.shares or {}
        if self.open:
            return shares, "forecasts are of each stratum by itself; leave them out"
        for answer, share in shares.items():
            if answer not in self.answers:
                known = ", ".join(self.answers[:SHOWN])
                return answer, f"it is not one of the answers; use {known}"
            if not 0 <= share <= 1:
                return share, f"the share of {answer!r} should be between 0 and 1"
        return self._wrong_sum(shares)

    def _wrong_sum(self, shares: Mapping[str, float]) -> tuple[object, str] | None:
        missing = [answer for answer in self.answers if answer not in shares]
        if len(missing) > 1:
            listed = ", ".join(missing[:SHOWN])
            return shares, f"should give every answer its share, or all but one; missing: {listed}"
        total = math.fsum(shares.values())
        if total > 1 + CLOSE or (not missing and total < 1 - CLOSE):
            return shares, f"should sum to 1; the sum is {total:.4g}"
        return None

    @model_validator(mode="after")
    def _device_fits(self) -> _Question:
        if self.randomizer is None:
            return self
        if self.asked_memoised:
            allowed = (
                "it is for the planner's noise; leave out the randomizer, or take the kind "
                "'rappor' and write memoised into it"
            )
            raise Mistake("memoised", True, allowed)
        exclusive = self.domains == (self.domain,) and self.domain[1:] == (1, 1)
        if self.randomizer.of_answers and not exclusive:
            allowed = (
                "it needs a question with exactly one answer: choice, number, amount with three "
                "edges or more, or optional yesno"
            )
            raise Mistake("randomizer.kind", self.randomizer.kind, allowed)
        if self.wide:
            allowed = (
                f"a question with more than {MOST_TOGETHER:,} options is sent as cells, with the "
                "planner's noise; leave out the randomizer"
            )
            raise Mistake("randomizer.kind", self.randomizer.kind, allowed)
        return self


class YesNo(_Question):
    """A yes/no question: one bit. If optional, a choice of yes, no and "no answer"."""

    type: Literal["yesno"] = "yesno"

    @property
    def choices(self) -> tuple[str, ...]:
        """No, yes."""
        return ("no", "yes")

    @property
    def domain(self) -> Domain:
        """One free bit, or one of three."""
        return super().domain if self.optional else Domain(1, 0, 1)


class _WithOptions(_Question):
    """A question whose options the survey lists."""

    options: tuple[str, ...] = Field(min_length=2)

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        twice = [name for name, count in Counter(options).items() if count > 1]
        if twice:
            raise ValueError(f"should name each option once; {twice[0]!r} is used twice")
        if NO_ANSWER in options:
            raise ValueError(f"should not contain {NO_ANSWER!r}; set optional = true instead")
        if any(not name or name != name.strip() for name in options):
            raise ValueError("should hold no empty option, and none with space around it")
        return options

    @property
    def choices(self) -> tuple[str, ...]:
        """The options as the survey names them."""
        return self.options

    @property
    def wide(self) -> bool:
        """Whether there are more than 1,000 options. Never if it is open."""
        return not self.open and len(self.options) > MOST_TOGETHER


class Choice(_WithOptions):
    """Exactly one of c options: c bits."""

    type: Literal["choice"] = "choice"


class Multi(_WithOptions):
    """At most `at_most` of c options: c bits. If optional, "no answer" is one more option."""

    type: Literal["multi"] = "multi"
    at_most: int = Field(ge=1, strict=True)

    @model_validator(mode="after")
    def _writable(self) -> Multi:
        if self.at_most > len(self.options):
            allowed = f"should be at most {len(self.options)}, the number of options"
            raise Mistake("at_most", self.at_most, allowed)
        if NONE in self.options or any(SEPARATOR in name for name in self.options):
            allowed = (
                f"no option may be {NONE!r} or hold {SEPARATOR!r}, which answers use; rename it"
            )
            raise Mistake("options", list(self.options), allowed)
        return self

    @property
    def domain(self) -> Domain:
        """At most m of the answers (with "no answer" a superset of what can be sent)."""
        return Domain(len(self.recorded), 0, self.at_most)

    @property
    def stated_shares(self) -> tuple[float, ...] | None:
        """The expected share of people who give each answer; answers overlap."""
        if self.shares is None:
            return None
        return tuple(self.shares[answer] for answer in self.recorded)

    def _wrong_sum(self, shares: Mapping[str, float]) -> tuple[object, str] | None:
        if missing := [answer for answer in self.answers if answer not in shares]:
            listed = ", ".join(missing[:SHOWN])
            return shares, f"should give every answer its share; missing: {listed}"
        answered = 1 - shares.get(NO_ANSWER, 0.0)
        options = [shares[option] for option in self.options]
        if max(options) > answered + CLOSE:
            return shares, f"should give no option to more than the {answered:.4g} who answer"
        if (total := math.fsum(options)) > answered * self.at_most + CLOSE:
            most = answered * self.at_most
            return shares, f"the options should sum to {most:.4g} at most; the sum is {total:.4g}"
        return None


class _WithEdges(_Question):
    """edges: numbers that rise."""

    edges: tuple[FiniteFloat, ...] = Field(min_length=2)

    @field_validator("edges")
    @classmethod
    def _rising(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        if any(b <= a for a, b in pairwise(edges)):
            raise ValueError("should rise from each edge to the next, as in [0, 1, 3]")
        return edges


class Number(_WithEdges):
    """A number, sorted into left-closed bins; the last bin is open. Then exactly one bin."""

    type: Literal["number"] = "number"

    @property
    def choices(self) -> tuple[str, ...]:
        """The bins: "0 to <1", ..., "12 or more"."""
        shown = [format(edge, ".12g") for edge in self.edges]
        bins = (f"{a} to <{b}" for a, b in pairwise(shown))
        return (*bins, f"{shown[-1]} or more")


class Amount(_WithEdges):
    """A number whose mean counts, rounded at random to one of the two edges beside it.

    Up with the chance that keeps the mean; what lies outside of the edges is moved to the nearest.
    Then exactly one edge; of two edges, and no more, one bit says whether it is the upper one.
    """

    type: Literal["amount"] = "amount"

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
            allowed = "two are the same number to 12 digits; use edges farther apart"
            raise Mistake("edges", list(self.edges), allowed)
        return self

    @model_validator(mode="after")
    def _subtractable(self) -> Amount:
        if any(math.isinf(b - a) for a, b in pairwise(self.edges)):
            allowed = "two are too far apart to compute with; use edges closer together"
            raise Mistake("edges", list(self.edges), allowed)
        return self

    @model_validator(mode="after")
    def _forgets(self) -> Amount:
        if self.memoised:
            allowed = "every round draws another edge, and each one leaks; leave it out"
            raise Mistake(
                "memoised" if self.asked_memoised else "randomizer.memoised", True, allowed
            )
        return self


class Text(_Question):
    """A word that nobody listed before: a Bloom filter of `hashes` blocks of `block` bits.

    The device draws one of `cohorts` hash functions, says which, and each word sets one bit in
    every block: as many exclusive choices. Estimates need a list of candidate words.
    """

    type: Literal["text"] = "text"
    block: int = Field(default=64, ge=2, le=1024, strict=True)
    hashes: int = Field(default=1, ge=1, le=8, strict=True)
    cohorts: int = Field(default=256, ge=1, le=4096, strict=True)

    @field_validator("cohorts", "block")
    @classmethod
    def _power_of_two(cls, number: int) -> int:
        if number & (number - 1):
            raise ValueError("should be a power of two, such as 16")
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
        """The bits, sent as they are, that say which cohort the device drew."""
        return (self.cohorts - 1).bit_length()

    @property
    def bits(self) -> int:
        """The cohort's bits and those of the blocks."""
        return self.cohort_bits + self.hashes * self.block

    @property
    def one_way_only(self) -> bool:
        """Words are looked up in a list; they stand in no table with other questions."""
        return True

    def _wrong_share(self) -> tuple[object, str] | None:
        return self.shares, "the words are not known beforehand; leave them out"

    @model_validator(mode="after")
    def _symmetric(self) -> Text:
        if self.randomizer and self.randomizer.kind != "bit flip":
            allowed = "a text question takes the randomizer 'bit flip', or none"
            raise Mistake("randomizer.kind", self.randomizer.kind, allowed)
        return self

    @model_validator(mode="after")
    def _forgets(self) -> Text:
        if self.asked_memoised:
            allowed = "every round draws another cohort, and each one leaks; leave it out"
            raise Mistake("memoised", True, allowed)
        return self


AnyQuestion = YesNo | Choice | Multi | Number | Amount | Text
Question = Annotated[AnyQuestion, Field(discriminator="type")]
TYPES: dict[str, type[Frozen]] = {q.model_fields["type"].default: q for q in get_args(AnyQuestion)}
