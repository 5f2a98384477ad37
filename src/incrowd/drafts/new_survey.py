"""A new survey from a few decisions, as a file that explains each of its lines."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from incrowd.drafts.columns import DraftQuestion
from incrowd.drafts.questionnaire import draft_of_text
from incrowd.drafts.ready_surveys import ready_text
from incrowd.drafts.writing import body, quoted
from incrowd.errors import UsageError
from incrowd.guarantees.strength import EPSILONS, GUESS, SHARES, STRENGTHS, Strength, guess_after
from incrowd.survey.participation import LEAST_ANSWERS, Participation
from incrowd.survey.questions import TYPES

LARGEST_DELTA = 1e-6
LOCAL, SERVICES = 8.0, "services"  # examples
OFFERED = dict(zip(STRENGTHS[: len(EPSILONS)], EPSILONS, strict=True))  # strength -> its epsilon
READY_HEAD = re.compile(r"^\[+(?!people\]|privacy\])", re.MULTILINE)  # the first table after it


def protection_text(strength: Strength) -> str:
    """Return what a strength means, with its numbers."""
    epsilon = OFFERED[strength]
    likely = guess_after(epsilon)
    after = "practically certain" if likely is None else f"at most {likely:.0%} likely"
    return (
        f"{strength} (epsilon {epsilon:g}): a guess about a person that is {GUESS:.0%} likely "
        f"becomes {after}"
    )


def delta_for(people: int) -> float:
    """Return the delta for a number of people: the largest power of ten that is at most 1e-6, and
    that every strength admits."""
    exponent = math.floor(math.log10(SHARES[0] / people))
    while 10.0**exponent * people > SHARES[0]:  # the logarithm was rounded up
        exponent -= 1
    return min(LARGEST_DELTA, 10.0**exponent)


def least_invited(expected: float) -> int:
    """Return how many people have to be invited at least, if so many of them answer."""
    return Participation(invited=LEAST_ANSWERS, expected=expected).to_invite(LEAST_ANSWERS)


def questions_in(text: str) -> tuple[DraftQuestion, ...]:
    """Return the questions of a text, such as "Do you smoke? yes / no".

    Raises UsageError if there is none, or if one of them has no answers.
    """
    draft = draft_of_text("", text)
    if not draft.questions or draft.left_out:
        raise UsageError.of("question", "drafts.question-not-understood", value=text.strip())
    return tuple(_without_codes(each) for each in draft.questions)


def type_text(question: DraftQuestion) -> str:
    """Return what was understood of a question: its type, its id, and its answers."""
    keys = question.keys
    limits = " to ".join(f"{keys[end]:g}" for end in ("minimum", "maximum") if end in keys)
    answers = ", ".join(keys.get("options", ())) or limits
    listed = f": {answers}" if answers else ""
    return f"{TYPES[keys['type']].design_form.name['en']}, {question.id}{listed}"


def with_unique_ids(questions: Iterable[DraftQuestion]) -> tuple[DraftQuestion, ...]:
    """Return questions with a number added to an id that another one has."""
    unique: dict[str, DraftQuestion] = {}
    for each in questions:
        ids = chain([each.id], (f"{each.id}_{number}" for number in count(2)))
        id = next(id for id in ids if id not in unique)
        unique[id] = replace(each, id=id)
    return tuple(unique.values())


def _without_codes(question: DraftQuestion) -> DraftQuestion:
    """Return a question without codes that are the names of its answers."""
    codes = question.keys.get("values")
    if codes is None or any(code != answer for code, answer in codes.items()):
        return question
    return replace(question, keys={k: v for k, v in question.keys.items() if k != "values"})


@dataclass(frozen=True)
class NewSurvey:
    """The decisions about a new survey.

    questions: what people are asked; () for those of a ready survey. ready: its name, or None.
    people: who is invited. strength: of the protection; None for that of the ready survey.
    """

    name: str
    people: Participation
    questions: Sequence[DraftQuestion] = ()
    ready: str | None = None
    strength: Strength | None = None

    @property
    def toml(self) -> str:
        """The text of the survey file."""
        if self.ready is None:
            return "\n".join([*self._head({}), *body(self.questions, ())]) + "\n"
        head = self._head(ready_content(self.ready)["privacy"])
        return "\n".join([*head, "", ready_rest(self.ready)])

    def _head(self, privacy: Mapping[str, Any]) -> Iterator[str]:
        """Yield the lines above the questions. privacy: what a ready survey states."""
        people = self.people
        yield "# Written by `incrowd new`. Text after a # explains a line, and has no effect."
        yield "# `incrowd plan` shows what a change does to the precision of the results."
        yield ""
        yield f"name = {quoted(self.name)}  # shown to the people who answer"
        yield '# language = "de"  # the language of the texts, if it is not English'
        yield ""
        yield "[people]"
        yield f"invited = {people.invited}  # how many people you will ask"
        yield f'expected = "{100 * people.expected:.12g}%"  # the share that will probably answer'
        everybody = _optional("everybody = true", people.everybody)
        yield f"{everybody}  # if they are all the people you want to know about, not a sample"
        yield ""
        yield "[privacy]  # smaller numbers protect each person more, and make results less precise"
        yield from self._privacy(privacy)
        yield ""
        yield "# The questions. An id is the name of a question in files of answers and in tables."
        yield "# With optional = true, people may leave a question out."

    def _privacy(self, stated: Mapping[str, Any]) -> Iterator[str]:
        epsilon = OFFERED[self.strength] if self.strength else stated["epsilon"]
        delta = min(stated.get("delta", LARGEST_DELTA), delta_for(self.people.invited))
        local, noise = stated.get("local_epsilon", LOCAL), stated.get("noise", SERVICES)
        yield f"epsilon = {epsilon}"
        yield from (f"# {protection_text(each)}" for each in OFFERED)
        yield f"delta = {delta:.0e}  # what epsilon does not cover; far below 1 / people".replace(
            "e-0", "e-"
        )
        limit = _optional(f"local_epsilon = {local}", "local_epsilon" in stated)
        yield f"{limit}  # a limit for the epsilon that is left if the mixing fails"
        by_services = _optional(f"noise = {quoted(noise)}", "noise" in stated)
        yield f"{by_services}  # two services add the noise; for fewer than about 300 people"


def _optional(entry: str, stated: bool) -> str:
    """Return an entry, as a comment if it is not stated."""
    return entry if stated else f"# {entry}"


def ready_content(name: str) -> dict[str, Any]:
    """Return a ready survey as data."""
    return tomllib.loads(ready_text(name))


def ready_rest(name: str) -> str:
    """Return a ready survey without its name, people, and privacy: the text of what is asked."""
    text = ready_text(name)
    start = READY_HEAD.search(text)
    return text[start.start() :] if start else ""
