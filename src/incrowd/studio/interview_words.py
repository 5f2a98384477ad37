"""What the pages of interviews call devices, designs, and what a design does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from incrowd.interviews.designs import DeviceStep, ResponseDesign
from incrowd.interviews.devices import HandDevice
from incrowd.studio.language import Phrase, phrase

DEVICE_NAMES: Mapping[str, Phrase] = {
    "die": phrase("Dice"),
    "spinner": phrase("A spinner"),
    "cards": phrase("A pack of cards"),
    "coin": phrase("A coin"),
    "birthday": phrase("A birthday"),
}
SIZES: Mapping[str, Phrase] = {
    "dice": phrase("Number of dice (1 or 2)"),
    "sectors": phrase("Number of sectors"),
    "cards": phrase("Number of cards"),
    "tosses": phrase("Number of tosses"),
    "calendar": phrase("Birthdays in months or days"),
}


class DesignName(NamedTuple):
    """What a design is called, and what a person does."""

    name: Phrase
    about: Phrase


DESIGN_NAMES: Mapping[str, DesignName] = {
    "forced": DesignName(
        phrase("Forced response"),
        phrase("Some outcomes say which answer to give; with the others, the person answers."),
    ),
    "warner": DesignName(
        phrase("Two opposite statements (Warner)"),
        phrase("The device decides which of two opposite statements is confirmed or denied."),
    ),
    "crosswise": DesignName(
        phrase("Crosswise model"),
        phrase(
            "The person says whether two answers are the same; one of the questions is harmless."
        ),
    ),
    "unrelated": DesignName(
        phrase("Unrelated question"),
        phrase("The device decides whether she answers this question or a harmless one."),
    ),
    "kuk": DesignName(
        phrase("Two packs of cards (Kuk)"),
        phrase("She names the color of a card; her true answer decides from which pack."),
    ),
    "triangular": DesignName(
        phrase("Triangular model"),
        phrase("The person says whether at least one of two answers is yes; “neither” reveals no."),
    ),
    "mangat": DesignName(
        phrase("Mangat’s design"),
        phrase(
            "People whose answer is yes say so; others use two statements. “No” is always true."
        ),
    ),
    "direct": DesignName(
        phrase("Asked openly"),
        phrase("Without a device, for comparison: the report is the answer, unprotected."),
    ),
    "matrix": DesignName(
        phrase("Any probabilities"),
        phrase("The probability of each report for each answer; edit them in the text below."),
    ),
}
PROBABILITIES: Mapping[str, Phrase] = {
    "p": phrase("Probability p"),
    "yes": phrase("Share of red cards for yes"),
    "no": phrase("Share of red cards for no"),
    "prevalence": phrase("Share who say yes to the harmless question; empty if it is unknown"),
}
WORDINGS: Mapping[str, Phrase] = {
    "statement": phrase("Harmless statement"),
    "question": phrase("Harmless question"),
}
FORCED = phrase("Outcomes that force the answer")
COLORS: Mapping[str, Phrase] = {"red": phrase("a red card"), "black": phrase("a black card")}
_ACTIONS: Mapping[str, Phrase] = {
    "truth": phrase("the truth"),
    "opposite": phrase("the opposite statement"),
    "unrelated": phrase("the harmless question"),
    "holds": phrase("the harmless statement holds"),
    "fails": phrase("it does not hold"),
}


def share_text(share: Fraction, device: HandDevice) -> str:
    """Return a probability as a number of outcomes of the device, such as "2/6"."""
    if device.realizes(share) and share.denominator != 1:
        return f"{share * device.outcomes}/{device.outcomes}"
    return str(share)


def steps_in_words(
    design: ResponseDesign, answers: Sequence[str], labels: Sequence[str], device: HandDevice
) -> tuple[tuple[Phrase | str, str], ...]:
    """Return what a person does, with the probabilities; by her true answer if that matters.

    labels: of the answers.
    """
    names: dict[str, Phrase | str] = {**COLORS, **dict(zip(answers, labels, strict=True))}
    by_answer = [
        tuple(_lines(design.steps(answers, true), names, device)) for true in range(len(answers))
    ]
    if all(lines == by_answer[0] for lines in by_answer):
        return by_answer[0]
    return tuple(
        (phrase("{answer}: {what}", answer=label, what=what), share)
        for label, lines in zip(labels, by_answer, strict=True)
        for what, share in lines
    )


def _lines(
    steps: Sequence[DeviceStep], names: Mapping[str, Phrase | str], device: HandDevice
) -> Iterator[tuple[Phrase | str, str]]:
    for step in steps:
        if step.probability:
            what = _ACTIONS.get(step.action) or names.get(step.answer, step.answer)
            yield what, share_text(step.probability, device)
