"""A draft as the text of a survey file, with a comment on everything that is not sure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incrowd.drafts.columns import DraftQuestion, LeftOut
from incrowd.survey import Codes, Multi, Number
from incrowd.survey.words import LANGUAGE

KNOWN = {*Multi.model_fields, *Number.model_fields, *Codes.model_fields}  # keys of questions
PREDICTING = ("yesno", "choice", "number")
MOST_LEVELS = 12
WIDTH = 96  # of a line, beyond which a list takes a line for each entry


def start(
    name: str, language: str, people: int | None, crowd: int, notes: Sequence[str]
) -> Iterator[str]:
    """The first lines of the file."""
    yield "# A first draft, written by `incrowd init`. DECIDE marks what it could not know."
    yield from (f"# DECIDE: {note}." for note in notes)
    yield ""
    yield f"name = {quoted(name)}"
    if language != LANGUAGE:
        yield f"language = {quoted(language)}"
    counted = (
        "the data do not give the number of people" if people is None else "the rows, rounded down"
    )
    yield f"crowd = {crowd}  # {counted}; DECIDE: the promise is for no fewer"
    yield ""
    yield "[privacy]"
    yield "epsilon = 1.0  # DECIDE: smaller protects more, and blurs more"
    yield "delta = 1e-6"
    yield "# The epsilon that is left if the mixing of reports fails. Without a limit, tables are"
    yield "# most precise and next to nothing is left; `incrowd plan` shows what a limit costs."
    yield "# local_epsilon = 8.0"


def body(asked: Sequence[DraftQuestion], left_out: Sequence[LeftOut]) -> Iterator[str]:
    """The lines of the questions; with those before them the file loads as it is."""
    for each in asked:
        yield from _question(each)
    yield ""
    yield "# Joint tables that you want, such as:"
    yield "# [[table]]"
    yield f"# questions = [{', '.join(quoted(each.id) for each in asked[:2])}]"
    yield from _regression(asked)
    if left_out:
        yield ""
        yield "# No questions:"
        yield from map(_left_out, left_out)


def _regression(asked: Sequence[DraftQuestion]) -> Iterator[str]:
    """Of the first yes/no question on the next two that can explain something."""
    first = next((each for each in asked if each.keys.get("type") == "yesno"), None)
    others = [each for each in asked if each is not first and _explains(each)]
    if first and others:
        yield ""
        yield "# A regression that you want, such as:"
        yield "# [[regression]]"
        yield f"# outcome = {quoted(first.id)}"
        yield f"# on = [{', '.join(quoted(each.id) for each in others[:2])}]"


def _explains(asked: DraftQuestion) -> bool:
    """Whether a question has few answers, of which a person gives one."""
    options = asked.keys.get("options", ())
    return asked.keys.get("type") in PREDICTING and len(options) <= MOST_LEVELS


def _left_out(gone: LeftOut) -> str:
    return f"# {quoted(gone.id)}: {_one_line(gone.reason)}"


def _question(asked: DraftQuestion) -> Iterator[str]:
    yield ""
    yield from (f"# {_one_line(remark)}" for remark in asked.remarks)
    yield from (f"# DECIDE: {_one_line(doubt)}." for doubt in asked.undecided)
    yield "[[question]]"
    yield f"id = {quoted(asked.id)}"
    for key, value in asked.keys.items():
        yield from _entry(key, value)


def _entry(key: str, value: Any) -> Iterator[str]:
    line = f"{key} = {_value(value)}"
    if key not in KNOWN:  # of a later version
        line = f"# {line}"
    if len(line) <= WIDTH or not isinstance(value, list):
        yield line
        return
    yield f"{key} = ["
    yield from (f"    {_value(each)}," for each in value)
    yield "]"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{quoted(k)} = {_value(v)}' for k, v in value.items())} }}"
    return repr(value)


def quoted(text: str) -> str:
    """A text as TOML writes it, in one line."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return " ".join(text.split())
