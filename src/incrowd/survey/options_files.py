"""Long lists of options, in files of their own beside the survey: one option a line."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.errors import InWords, Problem, SurveyError, unreadable
from incrowd.survey.toml import MOST_BYTES

_log = logging.getLogger(__name__)
KEY = "options_file"


def with_options(
    raw: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """A survey as it is written, with the options that its files list in their place.

    folder: where the survey lies. Beside it stands what is wrong with the files; a question whose
    file is not read asks for yes or no, so that all other mistakes of the survey can be found.
    """
    questions = raw.get("question")
    if not isinstance(questions, list | tuple):
        return dict(raw), ()
    filled: list[object] = []
    problems: list[Problem] = []
    for question in questions:
        try:
            filled.append(_filled(question, folder))
        except SurveyError as error:
            problems += error.problems
            known = {key: each for key, each in question.items() if key in ("id", "open")}
            filled.append(known | {"type": "yesno"})
    return {**raw, "question": filled}, tuple(problems)


def _filled(question: object, folder: Path) -> object:
    """A question with its options. Raises SurveyError for a file that cannot be read."""
    if not isinstance(question, Mapping) or KEY not in question:
        return question
    field = f"{KEY} of {question.get('id', 'a question')}"
    path, rest = question[KEY], {key: each for key, each in question.items() if key != KEY}
    if "options" in rest:
        both = InWords("stands beside options")
        raise SurveyError.of(field, both, "each lists the options; keep one of them")
    if not isinstance(path, str):
        raise SurveyError.of(field, path, "should be the name of a file in quotation marks")
    return {**rest, "options": _options(field, folder / path)}


def _options(field: str, path: Path) -> list[str]:
    _log.info("reading %s, options", path)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        allowed = f"{unreadable(error)}; name a file with an option in each line"
        raise SurveyError.of(field, str(path), allowed) from None
    except UnicodeDecodeError:
        raise SurveyError.of(field, str(path), "it is not UTF-8; save it as UTF-8") from None
    if len(content) > MOST_BYTES:
        allowed = f"it is longer than {MOST_BYTES >> 20} MiB; write a shorter one"
        raise SurveyError.of(field, str(path), allowed)
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if len(found) < 2:
        shown = InWords("lists one option" if found else "lists nothing")
        raise SurveyError.of(field, shown, f"{path.name} should have an option in each line")
    return found
