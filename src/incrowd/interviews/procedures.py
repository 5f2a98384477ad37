"""What a respondent does, in words: the card of a question, and every way in which it can come out.

The words follow from the steps of the design and from the faces of the device, so that a card never
states other probabilities than the estimates use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.interviews.designs import (
    REPORT_TEXTS,
    Crosswise,
    DeviceStep,
    DirectQuestion,
    KukCards,
    ResponseDesign,
    Triangular,
    UnrelatedQuestion,
)
from incrowd.interviews.devices import Cards, Coin, HandDevice
from incrowd.interviews.faces import DeviceReading, Faces, ReadAs, faces_of

SpokenText = str | Sentence
LabelOf = Callable[[str], SpokenText]  # of an answer, in the words of the survey
PACKS = ("B", "A")  # Kuk's packs: for the true answers no and yes
HALF = Fraction(1, 2)
_SHOWS: dict[ReadAs, str] = {
    "die": "devices.shows-die",
    "dice": "devices.shows-dice",
    "two-dice": "devices.shows-two-dice",
    "spinner": "devices.shows-spinner",
    "cards": "devices.shows-cards",
    "coin": "devices.shows-coin",
    "coins": "devices.shows-coin",
    "tosses": "devices.shows-coin",
    "months": "devices.shows-months",
    "days": "devices.shows-days",
}
_ASKS: dict[ReadAs, str] = {
    "die": "devices.asks-die",
    "dice": "devices.asks-dice",
    "two-dice": "devices.asks-two-dice",
    "spinner": "devices.asks-spinner",
    "cards": "devices.asks-cards",
    "coin": "devices.asks-coin",
    "coins": "devices.asks-coin",
    "tosses": "devices.asks-coin",
    "months": "devices.asks-months",
    "days": "devices.asks-days",
}
_ACTS: dict[ReadAs, str] = {
    "die": "devices.act-die",
    "dice": "devices.act-dice",
    "two-dice": "devices.act-two-dice",
    "spinner": "devices.act-spinner",
    "cards": "devices.act-cards",
    "coin": "devices.act-coin",
    "months": "devices.act-birthday",
    "days": "devices.act-birthday",
}


class CardLine(NamedTuple):
    """A line of a card: what the device shows, and what to do then. faces: None if that does not
    depend on the device alone."""

    faces: Faces | None
    do: Sentence


class CardRule(NamedTuple):
    """Lines for the people with one true answer, or for all. whose: None for all."""

    whose: Sentence | None
    lines: tuple[CardLine, ...]


class DeviceOutcome(NamedTuple):
    """A way in which it can come out for a person. report: the place of what she says among the
    reports. shows, do: what the device shows, and what the card says then; other: her answer to
    the other question, if that matters. face: the number on a single die."""

    probability: Fraction
    report: int
    shows: Sentence | None
    do: Sentence | None
    other: int | None = None
    face: int | None = None


@dataclass(frozen=True)
class Procedure:
    """What a respondent of one group does at one question.

    answers: the true answers by their names. label_of: the label of an answer.
    """

    design: ResponseDesign
    device: HandDevice
    answers: tuple[str, ...]
    label_of: LabelOf = str

    @property
    def direct(self) -> bool:
        """Whether the question is asked openly."""
        return isinstance(self.design, DirectQuestion)

    @property
    def reports(self) -> tuple[SpokenText, ...]:
        """What a person can say at each draw, in words."""
        return tuple(map(self.report_label, self.design.drawn_reports(self.answers)))

    def report_label(self, name: str) -> SpokenText:
        """Return a report in words: the label of an answer, or a word such as "same"."""
        if name not in self.answers and name in REPORT_TEXTS:
            return sentence(REPORT_TEXTS[name])
        return self.label_of(name)

    @property
    def _packs(self) -> bool:
        """Whether people draw from one of two packs of cards."""
        return isinstance(self.design, KukCards) and isinstance(self.device, Cards)

    @property
    def _compares(self) -> bool:
        """Whether people compare the answers to two questions."""
        return isinstance(self.design, Crosswise | Triangular)

    @property
    def uses_device(self) -> bool:
        """Whether the device decides: not where people compare with a statement about them."""
        if self._compares and getattr(self.design, "statement", None) is None:
            return all(self.device.realizes(each.probability) for each in self._all_steps)
        return not (self.direct or self._compares)

    @property
    def has_fact(self) -> bool:
        """Whether a fact decides as well, such as a birthday or the answer to another question.

        It does not change from one answer to the next, and others may know it.
        """
        if self.direct:
            return False
        of_device = self._compares and self.uses_device
        personal = self.device.personal and self.uses_device
        return personal or (self.design.innocuous and not of_device)

    @property
    def _all_steps(self) -> Iterator[DeviceStep]:
        for true in range(len(self.answers)):
            yield from self.design.steps(self.answers, true)

    def faces(self, true: int) -> tuple[tuple[DeviceStep, Faces], ...]:
        """Return the steps of a person with a true answer, with the faces that lead to them."""
        steps = [step for step in self.design.steps(self.answers, true) if step.probability]
        return tuple(zip(steps, faces_of(self.device, [s.probability for s in steps]), strict=True))

    @property
    def read_as(self) -> ReadAs:
        """How the device is read."""
        return self.faces(0)[0][1].read_as

    @property
    def acts(self) -> tuple[Sentence, ...]:
        """What the respondent does first, and how often."""
        acts = [self._act] if self.uses_device else []
        if self.design.repeats > 1:
            acts.append(sentence("devices.act-times", times=self.design.repeats))
        return tuple(acts)

    @property
    def _act(self) -> Sentence:
        if self._packs:
            return sentence("devices.act-packs")
        if isinstance(self.device, Coin) and self.device.tosses > 1:
            return sentence("devices.act-tosses", tosses=self.device.tosses)
        return sentence(_ACTS[self.read_as])

    @property
    def other(self) -> str | dict[str, str] | Sentence | None:
        """The other question, as the survey words it, or as the device answers it."""
        if isinstance(self.design, UnrelatedQuestion):
            return self.design.question
        if not self._compares:
            return None
        if not self.uses_device:
            return getattr(self.design, "statement", None)
        (_, holds), *_ = self.faces(0)
        return Sentence(_ASKS[holds.read_as], {"faces": holds.words})

    @property
    def rules(self) -> tuple[CardRule, ...]:
        """What the card says, for all people or for those with each true answer."""
        if self._compares:
            return (CardRule(None, tuple(CardLine(None, do) for do in self._comparisons)),)
        if self._packs:
            first, second = self.reports
            color = sentence("devices.say-color", first=first, second=second)
            return (*self._drawn_from, CardRule(None, (CardLine(None, color),)))
        steps = [self.design.steps(self.answers, true) for true in range(len(self.answers))]
        if all(each == steps[0] for each in steps):
            return (CardRule(None, self._lines(0, alike=True)),)
        return tuple(
            CardRule(self._whose(true), self._lines(true, alike=False)) for true in self.order
        )

    @property
    def yes_first(self) -> bool:
        """Whether the answers are no and yes, which people read in the other order."""
        return self.answers == ("no", "yes")

    @property
    def order(self) -> tuple[int, ...]:
        """The places of the true answers in the order in which people read them."""
        places = range(len(self.answers))
        return tuple(reversed(places) if self.yes_first else places)

    def _whose(self, true: int) -> Sentence:
        return sentence("devices.if-true", answer=self.label_of(self.answers[true]))

    def _lines(self, true: int, alike: bool) -> tuple[CardLine, ...]:
        steps = self.faces(true)
        return tuple(
            CardLine(faces if len(steps) > 1 else None, self._do(step, true, alike))
            for step, faces in steps
        )

    def _do(self, step: DeviceStep, true: int, alike: bool) -> Sentence:
        """Return what a step is in words. alike: whether it is the same for all true answers."""
        if step.action == "unrelated":
            return sentence("devices.do-unrelated")
        if alike and step.action != "say":
            opposite = step.action == "opposite"
            return sentence("devices.do-opposite" if opposite else "devices.do-truth")
        if step.action == "say":
            report = self.report_label(step.answer)
            return sentence("devices.do-say-anyway" if alike else "devices.do-say", report=report)
        says = self.answers[1 - true if step.action == "opposite" else true]
        return sentence("devices.do-say", report=self.label_of(says))

    @property
    def _comparisons(self) -> Iterator[Sentence]:
        """Yield what to say about two answers."""
        first, second = self.reports
        no, yes = map(self.label_of, self.answers)
        if isinstance(self.design, Crosswise):
            yield sentence("devices.say-same", report=second)
            yield sentence("devices.say-different", report=first, first=yes, second=no)
        else:
            yield sentence("devices.say-at-least-one", report=second, answer=yes)
            yield sentence("devices.say-neither", report=first, answer=no)

    @property
    def _drawn_from(self) -> Iterator[CardRule]:
        """Yield from which pack people with each true answer draw."""
        for true in self.order:
            draw = sentence("devices.draw-from", answer=PACKS[true])
            yield CardRule(self._whose(true), (CardLine(None, draw),))

    def outcomes(self, true: int, unknown: Fraction = HALF) -> tuple[DeviceOutcome, ...]:
        """Return every way in which one draw can come out for people with a true answer.

        unknown: the share of people who would answer yes to an unrelated question, if it is not
        known.
        """
        if self._compares and not self.uses_device:
            steps = self.design.steps(self.answers, true)
            drawn = [(step, step.probability, None) for step in steps]
            return tuple(each for one in drawn for each in self._outcome(*one, true, unknown))
        return tuple(
            outcome
            for step, faces in self.faces(true)
            for reading in faces.readings
            for outcome in self._outcome(
                step,
                Fraction(reading.ways, self.device.outcomes),
                (faces.read_as, reading),
                true,
                unknown,
            )
        )

    def _outcome(
        self,
        step: DeviceStep,
        probability: Fraction,
        read: tuple[ReadAs, DeviceReading] | None,
        true: int,
        unknown: Fraction,
    ) -> Iterator[DeviceOutcome]:
        """Yield what follows from a reading: two ways if the person then answers another
        question."""
        shows = None if read is None else self._shows(step, *read)
        face = int(str(read[1].name)) if read is not None and read[0] == "die" else None
        do = None if self._compares or self._packs else self._do(step, true, alike=False)
        other = int(step.action == "holds") if self._compares else None
        for report, share in self.design.reported(step, self.answers, true, unknown):
            if share:
                answered = report if step.action == "unrelated" else other
                yield DeviceOutcome(probability * share, report, shows, do, answered, face)

    def _shows(self, step: DeviceStep, read_as: ReadAs, reading: DeviceReading) -> Sentence:
        if self._packs:
            return sentence("devices.shows-color", face=self.report_label(step.answer))
        return Sentence(_SHOWS[read_as], {"face": reading.name})


def procedure(
    design: ResponseDesign, device: HandDevice, answers: Sequence[str], label_of: LabelOf = str
) -> Procedure:
    """Return what a respondent does at a question with these answers."""
    return Procedure(design, device, tuple(answers), label_of)
