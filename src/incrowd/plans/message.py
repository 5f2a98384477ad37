"""What a person sends: a joint report of some answers, or the cells of their table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_serializer,
)

from incrowd.accountant.channels.base import Channel
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.channels.registry import channel_of
from incrowd.accountant.schema import Domain
from incrowd.errors import IncrowdError, InWords, PrivacyError, Problem
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

Numerator = Annotated[int, Field(gt=0, lt=DENOMINATOR // 2)]
Parts = list[tuple[Domain, Channel]]


class _Message(BaseModel):
    """What both kinds have. A file names the questions; the survey knows them.

    noise_numerator: the planner's noise over 2^32, on each bit of the questions without a
    randomizer of their own. copies: how many independent times a person sends it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    questions: tuple[Question, ...] = Field(min_length=1)
    noise_numerator: Numerator | None = None
    copies: int = Field(default=1, ge=1)
    cells: bool = False
    parities: bool = Field(default=False, exclude_if=lambda set: not set)

    @field_serializer("questions")
    def _named(self, questions: tuple[AnyQuestion, ...]) -> tuple[str, ...]:
        return tuple(question.id for question in questions)

    @property
    def noise(self) -> BitFlip | None:
        """The planner's noise; None if every question has a randomizer of its own."""
        return None if self.noise_numerator is None else BitFlip(self.noise_numerator)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the questions, in the order of their bits."""
        return tuple(question.id for question in self.questions)

    @property
    def group(self) -> Group:
        """The message as a survey can fix it."""
        return Group(
            questions=self.ids, copies=self.copies, cells=self.cells, parities=self.parities
        )

    def holds(self, ids: Iterable[str]) -> bool:
        """Whether all these questions are in it; of parities, whether they are a pair."""
        return self.group.holds(ids)

    @property
    def channels(self) -> dict[str, Channel]:
        """What happens to each bit of a question (k-ary: to the answer)."""
        found = ((q.id, fixed_channel(q) or self.noise) for q in self.questions)
        return {id: channel for id, channel in found if channel}

    @property
    def layout(self) -> dict[str, slice]:
        """Which bits of a record hold which question."""
        ends = list(accumulate(question.bits for question in self.questions))
        return dict(zip(self.ids, map(slice, [0, *ends], ends), strict=False))

    @property
    def memoized(self) -> bool:
        """Whether all of its responses are drawn once, and repeated."""
        return all(question.memoized for question in self.questions)

    @property
    def independent_copies(self) -> int:
        """How many of a person's copies have noise of their own: permanent noise is in all."""
        return 1 if self.memoized else self.copies

    @property
    def record_bits(self) -> int:
        """The number of bits in one record of the questions."""
        return sum(question.bits for question in self.questions)


class JointReport(_Message):
    """The answers to some questions travel together, as the bits of one report."""

    cells: Literal[False] = False
    parities: Literal[False] = Field(default=False, exclude_if=lambda set: not set)

    @property
    def bits(self) -> int:
        """The number of bits in one report: a whole record."""
        return self.record_bits

    @property
    def reports_each(self) -> float:
        """How many reports a person sends."""
        return float(self.copies)

    @property
    def parts(self) -> Parts:
        """What a crowd counts on in one report: independent records, and the channel of each."""
        found = ((question, crowd_channel(question) or self.noise) for question in self.questions)
        return [(domain, channel) for q, channel in found if channel for domain in q.domains]

    @property
    def repeats(self) -> int:
        """Of how many independent reports of `parts` a person's are made up.

        Memoized responses are the same in all copies and rounds, so that their permanent bits
        once tell at least as much.
        """
        return self.independent_copies

    def people(self, accepted: int, declared: int) -> int:
        """Who took part: accepted reports divided by copies, rounded down.

        And no more than the collections say, if they do: a sender can fill the places of others.
        """
        people = accepted // self.copies
        return min(people, declared) if declared else people

    def declared(self, people: int) -> int | None:
        """Collections need not say who took part: the number of reports tells."""
        return None

    def problems(self) -> Iterator[str]:
        """The fields that do not fit the questions."""
        if any(question.wide for question in self.questions):
            yield "messages.cells"
        if (self.noise_numerator is None) != all(q.randomizer for q in self.questions):
            yield "messages.noise_numerator"


class Cells(_Message):
    """Each cell of a table is a bit, and each bit that is set after the noise a report of its own:
    the number of that cell.

    No report says which others the same person sent, so that each bit is a collection of its own,
    and a person's answers show in as many of them as two records can differ in, however many cells
    there are (`incrowd.survey.crossings`).

    parities: whether the bits are not cells of one table, but say of each pair of questions whether
    the two answers differ. With the cells of each question alone they tell all tables of two.
    """

    noise_numerator: Numerator
    cells: Literal[True] = True
    copies: Literal[1] = 1

    @property
    def crossing(self) -> Crossing:
        """The cells, and the records made of them."""
        return parities_record(self.questions) if self.parities else crossing(self.questions)

    @property
    def noise(self) -> BitFlip:
        """The planner's noise."""
        return BitFlip(self.noise_numerator)

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
        """About how many reports a person sends; of parities, if all answers are equally common."""
        if self.parities:
            return self.record_bits / 2
        return self.crossing.most + self.record_bits * self.noise.q

    @property
    def parts(self) -> Parts:
        """What a crowd counts on in one report: each bit is a collection of its own."""
        return [(FREE_BIT, self.noise)]

    @property
    def repeats(self) -> int:
        """Of how many independent reports of `parts` a person's are made up: two records differ
        in so many bits at most (with other messages: `incrowd.plans.changes`)."""
        return self.crossing.distance

    def people(self, accepted: int, declared: int) -> int:
        """Who took part: as declared, since the number of reports does not tell."""
        return declared

    def declared(self, people: int) -> int | None:
        """What a collection has to say of who took part."""
        return people

    def problems(self) -> Iterator[str]:
        """The fields that do not fit the questions."""
        if (parities_problem if self.parities else crossing_problem)(self.questions):
            yield "messages.cells"


Message = JointReport | Cells


UNKNOWN_QUESTION = "a message names an unknown question, or one twice"


def _knowing(messages: Any, info: ValidationInfo) -> Any:
    """Messages as a file has them, with the survey's questions in the place of their ids.

    Raises ValueError for an id that no question has.
    """
    survey = info.data.get("survey")
    if survey is None or not isinstance(messages, list | tuple):
        return messages
    known = {question.id: question for question in survey.questions}
    return [_with_questions(message, known) for message in messages]


def _with_questions(message: Any, known: Mapping[str, AnyQuestion]) -> Any:
    if not isinstance(message, dict) or not isinstance(message.get("questions"), list | tuple):
        return message
    ids = message["questions"]
    if not all(isinstance(id, str) and id in known for id in ids):
        raise ValueError(UNKNOWN_QUESTION)
    return {**message, "questions": tuple(known[id] for id in ids)}


Messages = Annotated[
    tuple[Annotated[Message, Field(discriminator="cells")], ...],
    Field(min_length=1),
    BeforeValidator(_knowing),
]


def place(file: str, found: Sequence[int | str]) -> str:
    """Where in a file of that kind an error was found; the kind of a message is no place."""
    return re.sub(r"(messages\.\d+)\.[01]\b", r"\1", ".".join(map(str, (file, *found))))


# The channels of randomizers that a survey fixes.


_TELLS = "some report gives an answer away; keep probabilities strictly between 0 and 1"


@lru_cache(maxsize=1024)
def fixed_channel(question: AnyQuestion) -> Channel | None:
    """The channel of each of the question's bits, or of its answer; None if none is fixed.

    A device that amounts to a bit flip with q < 1/2 is given as one. Raises PrivacyError if the
    numbers make no device, or one from which nothing can be learnt.
    """
    randomizer = question.randomizer
    if randomizer is None:
        return None
    try:
        channel = channel_of(randomizer.kind, randomizer.numbers, len(question.recorded))
        channel.inverse  # noqa: B018  a device that cannot be inverted is an error now
        if channel.epsilon == math.inf:
            raise PrivacyError.of("channel", InWords(channel), _TELLS)
    except IncrowdError as error:
        place = f"question {question.id}, randomizer"
        problems = [Problem(f"{place}.{p.field}", p.value, p.allowed) for p in error.problems]
        raise PrivacyError(*problems) from None
    return channel.simplest


def crowd_channel(question: AnyQuestion) -> Channel | None:
    """The noise that a crowd may count on: of memoized responses the permanent stage alone."""
    channel = fixed_channel(question)
    return channel.permanent_stage if channel and question.memoized else channel
