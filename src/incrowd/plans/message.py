"""The messages of a person: a joint report of some answers, or the cells of their table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_serializer,
    model_validator,
)

from incrowd.accountant.additive import AdditiveNoise
from incrowd.accountant.channels.base import Channel
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.channels.registry import channel_of
from incrowd.accountant.schema import Domain
from incrowd.catalog.sentences import NumberText, text_list, translatable
from incrowd.errors import IncrowdError, Place, PrivacyError, Unfit
from incrowd.number_text import noise
from incrowd.survey import AnyQuestion, Group
from incrowd.survey.crossings import (
    Crossing,
    crossing,
    crossing_problem,
    parities_problem,
    parities_record,
)
from incrowd.survey.questions import Question

FREE_BIT = Domain(1, 0, 1)
COUNT_BITS = 64  # of a published count in a file
SERVICES = 2  # that add noise: the mixing service and the counting service
MOST_REACH = 1 << 16  # of a law in a plan
NUMERATOR = re.compile("[1-9][0-9]{0,19}")


def _written_law(law: AdditiveNoise) -> list[str]:
    return [str(numerator) for numerator in law.numerators]


def _read_law(written: Any) -> AdditiveNoise:
    """Read a law from its numerators, which are texts: they are too large for numbers in JSON."""
    if isinstance(written, AdditiveNoise):
        return written
    listed = isinstance(written, list) and 0 < len(written) <= MOST_REACH
    if listed and all(isinstance(each, str) and NUMERATOR.fullmatch(each) for each in written):
        with suppress(PrivacyError):
            return AdditiveNoise(tuple(map(int, written)))
    raise Unfit("plans.no-law")


WrittenLaw = Annotated[AdditiveNoise, BeforeValidator(_read_law), PlainSerializer(_written_law)]
NoiseNumerator = Annotated[int, Field(gt=0, lt=DENOMINATOR // 2)]
DomainChannels = list[tuple[Domain, Channel]]


class BaseMessage(BaseModel):
    """The common part of both kinds of messages. In files the questions are their ids.

    noise_numerator: the planner's noise over 2^32, on each bit of questions without a randomizer.
    copies: how many independent reports of it a person sends. added: the law of the noise that each
    of two services adds to every cell, instead of the planner's noise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    questions: tuple[Question, ...] = Field(min_length=1)
    noise_numerator: NoiseNumerator | None = None
    copies: int = Field(default=1, ge=1)
    cells: bool = False
    parities: bool = Field(default=False, exclude_if=lambda set: not set)
    added: WrittenLaw | None = Field(default=None, exclude_if=lambda law: law is None)

    @field_serializer("questions")
    def _named(self, questions: tuple[AnyQuestion, ...]) -> tuple[str, ...]:
        return tuple(question.id for question in questions)

    @property
    def noise(self) -> BitFlip | None:
        """The planner's noise; None if every question has a randomizer."""
        return None if self.noise_numerator is None else BitFlip(self.noise_numerator)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the questions, in the order of their bits."""
        return tuple(question.id for question in self.questions)

    @property
    def group(self) -> Group:
        """The message as a survey states it."""
        return Group(
            questions=self.ids, copies=self.copies, cells=self.cells, parities=self.parities
        )

    def holds(self, ids: Iterable[str]) -> bool:
        """Return whether the message contains all these questions; for parities, whether they are a
        pair."""
        return self.group.holds(ids)

    @property
    def channels(self) -> dict[str, Channel]:
        """The channel of each bit of a question (k-ary: of the answer), by question id."""
        noise = self.noise
        pairs = ((q.id, fixed_channel(q) or noise) for q in self.questions)
        return {id: channel for id, channel in pairs if channel}

    @property
    def layout(self) -> dict[str, slice]:
        """The bits of each question in a record, by question id."""
        ends = list(accumulate(question.bits for question in self.questions))
        return dict(zip(self.ids, map(slice, [0, *ends], ends), strict=False))

    @property
    def memoized(self) -> bool:
        """Whether all its responses are drawn once and then repeated."""
        return all(question.memoized for question in self.questions)

    @property
    def independent_copies(self) -> int:
        """The number of a person's copies with independent noise; permanent noise is in all of
        them."""
        return 1 if self.memoized else self.copies

    @property
    def record_bits(self) -> int:
        """The number of bits in one record of the questions."""
        return sum(question.bits for question in self.questions)

    @property
    def bits(self) -> int:
        """The number of bits in one report: a whole record, unless only a cell of it is sent."""
        return self.record_bits

    def noise_variance(self, people: int) -> float:
        """Return the variance of a debiased bit by noise, of a share of so many people, times
        people; 0 if every question has a randomizer."""
        return 0.0 if self.noise is None else 1 / self.noise.excess

    @property
    def by_services(self) -> bool:
        """Whether the services add the noise, and the devices send the cells as they are."""
        return self.added is not None

    @property
    def file_bits(self) -> int:
        """The number of bits of a row in a file: those of a report, or of a published count."""
        return COUNT_BITS if self.by_services else self.bits

    @property
    def reused(self) -> str:
        """The note to add if the planner's flips are drawn once instead of in every round."""
        once = any(question.asked_memoized for question in self.questions)
        return translatable("plans.drawn-once") if once else ""


class JointReport(BaseMessage):
    """The answers to some questions travel together, as the bits of one report."""

    cells: Literal[False] = False
    parities: Literal[False] = Field(default=False, exclude_if=lambda set: not set)
    added: None = Field(default=None, exclude_if=lambda law: law is None)

    @property
    def reports_each(self) -> float:
        """The number of reports that a person sends."""
        return float(self.copies)

    @property
    def text(self) -> str:
        """The noise and the copies, in words."""
        fixed = [
            translatable("plans.by-randomizer", question=q.id, kind=q.randomizer.kind)
            for q in self.questions
            if q.randomizer
        ]
        parts: list[str] = []
        if self.noise is not None:
            parts.append(translatable("plans.flipped", q=NumberText(noise(self.noise.q))))
            parts += [self.reused] if self.reused else []
            parts += [translatable("plans.but-fixed", fixed=fixed)] if fixed else []
        else:
            parts.append(translatable("plans.fixed", fixed=fixed))
        if self.copies > 1:
            parts.append(translatable("plans.reports-from-each", copies=self.copies))
        return text_list(parts, "shared.comma")

    @property
    def parts(self) -> DomainChannels:
        """The independent records in one report, and the noise on each that a crowd can rely on."""
        pairs = ((question, crowd_channel(question) or self.noise) for question in self.questions)
        return [(domain, channel) for q, channel in pairs if channel for domain in q.domains]

    @property
    def repeats(self) -> int:
        """The number of independent reports of `parts` to which one person's reports amount.

        Memoized responses are the same in all copies and rounds, which together reveal no more than
        their permanent bits would.
        """
        return self.independent_copies

    def people(self, accepted: int, declared: int) -> int:
        """Return how many people took part: accepted reports divided by copies, rounded down.

        Never more than the collections declare, if they do: a sender can fill the slots of others.
        """
        people = accepted // self.copies
        return min(people, declared) if declared else people

    def declared(self, people: int) -> int | None:
        """Return None: the number of reports already gives the number of participants."""
        return None

    def problems(self) -> Iterator[str]:
        """Yield the fields that do not fit the questions."""
        if any(question.wide for question in self.questions):
            yield "messages.cells"
        if (self.noise_numerator is None) != all(q.randomizer for q in self.questions):
            yield "messages.noise_numerator"


class CellsMessage(BaseMessage):
    """Each cell of a table is a bit, and each bit that is set after the noise is a separate report:
    the number of that cell.

    Reports of one person cannot be linked, so each bit is a separate collection, and a person's
    answers affect at most as many collections as two records can differ in bits, however many cells
    there are (`incrowd.survey.crossings`).

    parities: the bits are not the cells of one table; each says whether the two answers to a pair
    of questions differ. With the cells of each single question they give all two-way tables.

    Either the devices flip the bits (`noise`), or a person sends only the cells that she is in, and
    two services add noise to the counts (`added`).
    """

    cells: Literal[True] = True
    copies: Literal[1] = 1

    @model_validator(mode="after")
    def _has_noise_of_one_kind(self) -> CellsMessage:
        if (self.noise_numerator is None) == (self.added is None):
            raise Unfit("plans.noise-of-one-kind")
        return self

    @property
    def crossing(self) -> Crossing:
        """The cells, and the records made of them."""
        return parities_record(self.questions) if self.parities else crossing(self.questions)

    @property
    def flips(self) -> BitFlip:
        """The noise of the devices, where services add none."""
        assert self.noise_numerator is not None, "services add the noise of these cells"
        return BitFlip(self.noise_numerator)

    def noise_variance(self, people: int) -> float:
        """Return the variance of a cell by noise, as a share of so many people, times people."""
        if self.added is None:
            return 1 / self.flips.excess
        return SERVICES * self.added.variance / people

    @property
    def record_bits(self) -> int:
        """The number of cells."""
        return self.crossing.cells

    @property
    def bits(self) -> int:
        """The number of bits in one report: the number of one cell."""
        return max(1, (self.record_bits - 1).bit_length())

    @property
    def reports_each(self) -> float:
        """The approximate number of reports per person; for parities, if all answers are equally
        common."""
        if self.added is not None:
            return float(len(self.crossing.lanes))
        if self.parities:
            return self.record_bits / 2
        return self.crossing.most + self.record_bits * self.flips.q

    @property
    def text(self) -> str:
        """The noise, in words, and what is sent."""
        if self.added is not None:
            return translatable("plans.services-add", deviation=self.added.deviation)
        q = NumberText(noise(self.flips.q, 3))
        on_each = translatable("plans.on-each-pair" if self.parities else "plans.on-each-cell", q=q)
        flipped = text_list((on_each, self.reused), "shared.comma") if self.reused else on_each
        alone = "plans.pairs-are-reports" if self.parities else "plans.cells-are-reports"
        return text_list((flipped, translatable(alone)))

    @property
    def parts(self) -> DomainChannels:
        """The record in one report, and its noise: each bit is a separate collection. Empty if the
        services add the noise."""
        return [] if self.added else [(FREE_BIT, self.flips)]

    @property
    def repeats(self) -> int:
        """The number of independent reports of `parts` to which one person's reports amount, or of
        cells whose counts she can shift.

        It is the largest number of bits in which two records differ (with other messages:
        `incrowd.plans.changes`).
        """
        return self.crossing.distance

    def people(self, accepted: int, declared: int) -> int:
        """Return how many people took part: as declared, since the number of reports is random."""
        return declared

    def declared(self, people: int) -> int | None:
        """Return the number of participants, which a collection has to declare."""
        return people

    def problems(self) -> Iterator[str]:
        """Yield the fields that do not fit the questions, or each other."""
        if self.added and (self.parities or self.memoized):
            yield "messages.added"
        if (parities_problem if self.parities else crossing_problem)(self.questions):
            yield "messages.cells"


Message = JointReport | CellsMessage


def message_facts(message: Message) -> dict[str, Any]:
    """Return a message as JSON-ready data. noise: the flip probability of a bit.

    The epsilons of a randomizer are of one bit, or of the answer if a channel sends whole answers.
    """
    randomizers = {}
    for question in message.questions:
        if question.randomizer:
            channel = message.channels[question.id]
            each = question.randomizer.model_dump() | {"epsilon_of_one_report": channel.epsilon}
            if channel.permanent_epsilon is not None:
                each["epsilon_of_all_reports"] = channel.permanent_epsilon
            randomizers[question.id] = each
    return {
        "questions": list(message.ids),
        "bits": message.bits,
        "noise": None if message.noise is None else message.noise.q,
        "noise_numerator": message.noise_numerator,
        "added_noise": message.added
        and {
            "standard_deviation": message.added.deviation,
            "most_invented": message.added.most,
        },
        "copies": message.copies,
        "cells": message.cells,
        "parities": message.parities,
        "randomizers": randomizers,
    }


def _knowing(messages: Any, info: ValidationInfo) -> Any:
    """Replace the ids of questions in messages with the survey's questions.

    Raises ValueError for an id that no question has.
    """
    survey = info.data.get("survey")
    if survey is None or not isinstance(messages, list | tuple):
        return messages
    questions = {question.id: question for question in survey.questions}
    return [_with_questions(message, questions) for message in messages]


def _with_questions(message: Any, questions: Mapping[str, AnyQuestion]) -> Any:
    if not isinstance(message, dict) or not isinstance(message.get("questions"), list | tuple):
        return message
    ids = message["questions"]
    if not all(isinstance(id, str) and id in questions for id in ids):
        raise Unfit("plans.unknown-question")
    return {**message, "questions": tuple(questions[id] for id in ids)}


Messages = Annotated[
    tuple[Annotated[Message, Field(discriminator="cells")], ...],
    Field(min_length=1),
    BeforeValidator(_knowing),
]


def place(file: str, location: Sequence[int | str]) -> tuple[int | str, ...]:
    """Return the path of an error in a file of that kind; without pydantic's mark of the message
    type, which follows the number of a message."""
    marks = {at + 2 for at, key in enumerate(location) if key == "messages"}
    return (file, *(key for at, key in enumerate(location) if at not in marks))


# The channels of randomizers that a survey fixes.


@lru_cache(maxsize=1024)
def fixed_channel(question: AnyQuestion) -> Channel | None:
    """Return the channel of each of the question's bits, or of its answer; None if none is fixed.

    A device that is equivalent to a bit flip with q < 1/2 is returned as one. Raises PrivacyError
    if the numbers do not define a device, or its reports carry no information.
    """
    randomizer = question.randomizer
    if randomizer is None:
        return None
    try:
        channel = channel_of(randomizer.kind, randomizer.numbers, len(question.recorded))
        channel.inverse  # noqa: B018  raises if the device cannot be inverted
        if channel.epsilon == math.inf:
            raise PrivacyError.of("channel", "plans.revealing", channel=channel.description)
    except IncrowdError as error:
        where = (Place("question", question.id), "randomizer")
        raise PrivacyError(*(each.within(*where) for each in error.problems)) from None
    return channel.simplest


def crowd_channel(question: AnyQuestion) -> Channel | None:
    """Return the noise a crowd can rely on: for memoized responses only the permanent stage."""
    channel = fixed_channel(question)
    return channel.permanent_stage if channel and question.memoized else channel
