"""Long lists of options in separate files beside the survey, one option per line."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.errors import Of, PathPart, Problem, SurveyError, unreadable
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
    """Return a question with its options. Raises SurveyError for a file that cannot be read."""
    if not isinstance(question, Mapping) or KEY not in question:
        return question
    place = (KEY, Of(str(question.get("id", "a question"))))
    path, rest = question[KEY], {key: each for key, each in question.items() if key != KEY}
    if "options" in rest:
        raise SurveyError.of(place, "survey.options-twice")
    if not isinstance(path, str):
        raise SurveyError.of(place, "survey.no-file-name", value=path)
    return {**rest, "options": _options(place, folder / path)}


def _options(place: tuple[PathPart, ...], path: Path) -> list[str]:
    _log.info("reading %s, options", path)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        why = unreadable(error)
        raise SurveyError.of(
            place, "survey.unreadable-options", value=str(path), reason=why
        ) from None
    except UnicodeDecodeError:
        raise SurveyError.of(place, "survey.not-utf-8", value=str(path)) from None
    if len(content) > MOST_BYTES:
        most = MOST_BYTES >> 20
        raise SurveyError.of(place, "survey.file-too-long", value=str(path), most=most)
    options = [line.strip() for line in text.splitlines() if line.strip()]
    if len(options) < 2:
        code = "survey.file-of-one-option" if options else "survey.file-of-no-options"
        raise SurveyError.of(place, code, file=path.name)
    return options
