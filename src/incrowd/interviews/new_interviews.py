"""A new survey of interviews from a device and some questions, as a file that explains itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from incrowd.drafts.columns import DraftQuestion
from incrowd.drafts.writing import quoted
from incrowd.interviews.devices import HandDevice
from incrowd.interviews.survey import device_of
from incrowd.survey.questions import TYPES

FORCED = 3  # the outcomes that force an answer are about a third of all
HOLDS = Fraction(1, 4)  # of a statement about a birthday
# Whose birthdays decide: one person for each question.
RELATIVES = ("mother", "father", "oldest aunt", "oldest uncle", "best friend", "next neighbor")


@dataclass(frozen=True)
class NewInterviews:
    """The decisions about a new survey of interviews.

    device: the kind of device. questions: what people are asked.
    """

    name: str
    device: str
    questions: Sequence[DraftQuestion]

    @property
    def toml(self) -> str:
        """The text of the survey file."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# Written by `incrowd new`. Text after a # explains a line, and has no effect."
        yield "# `incrowd check` lists mistakes, also after a change."
        yield ""
        yield f"name = {quoted(self.name)}"
        yield '# language = "de"  # the language of the texts, if it is not English'
        yield ""
        yield "[device]"
        yield f"kind = {quoted(self.device)}  # die, spinner, cards, coin, or birthday"
        yield ""
        yield "# [columns]  # in the file of answers; all others need no declaration"
        yield '# weight = "weight"'
        yield '# cluster = "village"'
        yield ""
        yield "# The questions. An id is the name of a question in files of answers and in results."
        yield "# The design says how the device decides. People may always refuse to answer."
        device = device_of({"kind": self.device})
        for place, question in enumerate(self.questions):
            yield ""
            yield "[[question]]"
            yield f"id = {quoted(question.id)}"
            for key, value in question.keys.items():
                if key != "optional":  # nobody has to answer
                    yield f"{key} = {_written(value)}"
            yield f"design = {_written(_design(device, question.keys, place))}"


def _design(device: HandDevice, keys: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return a design that the device realizes. place: the position of the question."""
    kind = TYPES[keys["type"]]
    answers = kind.listed_answers(keys)
    if device.personal and "options" not in kind.own_keys():
        relative = RELATIVES[place % len(RELATIVES)]
        statement = f"My {relative} was born in January, February, or March."
        return {"kind": "crosswise", "p": str(HOLDS), "statement": statement}
    share = Fraction(max(1, device.outcomes // (FORCED * max(1, len(answers)))), device.outcomes)
    if "options" not in kind.own_keys():
        return {"kind": "forced"} | dict.fromkeys(answers, str(share))
    return {"kind": "forced", "forced": dict.fromkeys(answers, str(share))}


def _written(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_written(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    return repr(value) if isinstance(value, int | float) else quoted(str(value))


def _key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else quoted(name)
