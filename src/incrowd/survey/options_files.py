"""Long lists of options in separate files beside the survey, one option per line."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.errors import InWords, Problem, SurveyError, unreadable
from incrowd.survey.toml import MOST_BYTES
from incrowd.survey.types.yes_no import YesNo

_log = logging.getLogger(__name__)
KEY = "options_file"


def with_options(
    raw: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Insert the options that files list into a raw survey. Return it with the files' problems.

    folder: the folder of the survey. A question whose file cannot be read becomes a yes/no
    question, so that all other mistakes in the survey can be found.
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
            identity = {key: each for key, each in question.items() if key in ("id", "open")}
            filled.append(identity | {"type": YesNo.type_name()})
    return {**raw, "question": filled}, tuple(problems)


def _filled(question: object, folder: Path) -> object:
    """A question with its options. Raises SurveyError for a file that cannot be read."""
    if not isinstance(question, Mapping) or KEY not in question:
        return question
    field = f"{KEY} of {question.get('id', 'a question')}"
    path, rest = question[KEY], {key: each for key, each in question.items() if key != KEY}
    if "options" in rest:
        both = InWords("is given together with options")
        raise SurveyError.of(field, both, "both list the options; keep one of them")
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
        allowed = f"{unreadable(error)}; name a file with one option per line"
        raise SurveyError.of(field, str(path), allowed) from None
    except UnicodeDecodeError:
        raise SurveyError.of(field, str(path), "it is not UTF-8; save it as UTF-8") from None
    if len(content) > MOST_BYTES:
        allowed = f"it is longer than {MOST_BYTES >> 20} MiB; write a shorter one"
        raise SurveyError.of(field, str(path), allowed)
    options = [line.strip() for line in text.splitlines() if line.strip()]
    if len(options) < 2:
        shown = InWords("lists one option" if options else "lists nothing")
        raise SurveyError.of(field, shown, f"{path.name} should have one option per line")
    return options
