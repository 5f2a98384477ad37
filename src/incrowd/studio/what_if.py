"""What if a question, a table or some answers were different: changes of a survey's text, compared.

A change is made in the text of the survey file, so that what is compared is what is then saved, and
comments stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

from incrowd.errors import SurveyError, UsageError
from incrowd.estimation.tables import HALF_WIDTH
from incrowd.planner.outlook import Outlook
from incrowd.studio.pictures import points, rounded, table_name
from incrowd.survey import Survey
from incrowd.survey.formulas import meant
from incrowd.survey.question import MERGED

KINDS = ("drop", "table", "merge")


class Comparison(NamedTuple):
    """One wanted table before and after a change: margins as text, "" if it is not wanted.

    gain: by how many percent the margin gets smaller; None if it is new or gone. people: the
    effective samples.
    """

    name: str
    before: str
    after: str
    gain: float | None
    people: tuple[int, int]


def compared(before: Outlook, after: Outlook, language: str) -> tuple[Comparison, ...]:
    """All tables of two outlooks, in the order of the first one, then those that are new.

    Regressions are compared by their largest error, in log odds or in units of the outcome.
    """
    old, new = _margins(before), _margins(after)
    return tuple(
        Comparison(
            name,
            _shown(old.get(name), language),
            _shown(new.get(name), language),
            100 * (1 - new[name].error / old[name].error) if name in old and name in new else None,
            (_people(old, name), _people(new, name)),
        )
        for name in dict.fromkeys((*old, *new))
    )


class _Margin(NamedTuple):
    error: float
    people: float
    regression: bool = False


def _margins(outlook: Outlook) -> dict[str, _Margin]:
    tables = {
        table_name(each.questions): _Margin(
            each.forecast.standard_error, each.forecast.effective_sample_size
        )
        for each in outlook.tables
    }
    regressions = {
        str(each.formula): _Margin(max(term.standard_error for term in each.terms), 0.0, True)
        for each in outlook.regressions
        if each.terms
    }
    return tables | regressions


def _shown(margin: _Margin | None, language: str) -> str:
    if margin is None:
        return ""
    if margin.regression:
        text = f"{HALF_WIDTH * margin.error:.2f}"
        return text.replace(".", ",") if language == "de" else text
    return points(HALF_WIDTH * margin.error, language)


def _people(margins: Mapping[str, _Margin], name: str) -> int:
    return rounded(margins[name].people) if name in margins else 0


def changed_text(survey: Survey, text: str, kind: str, chosen: Sequence[str]) -> str:
    """The text of a survey after a change. survey: the one that the text describes.

    kind: "drop" (a question, by its id), "table" (some questions are requested together), or
    "merge" (the first names the question, the others two or more of its answers). Raises UsageError
    if that is not possible; what the change breaks elsewhere in the survey shows when it is read.
    """
    try:
        document: Any = tomlkit.parse(text)
    except TOMLKitError as error:
        raise SurveyError.of("survey", str(error), "correct the file first") from None
    if kind not in KINDS:
        raise UsageError.of("kind", kind, f"use one of {', '.join(KINDS)}")
    {"drop": _drop, "table": _request, "merge": _merge}[kind](survey, document, list(chosen))
    return tomlkit.dumps(document)


def _question(document: Any, chosen: Sequence[str]) -> Any:
    for question in document.get("question", ()):
        if chosen and question.get("id") == chosen[0]:
            return question
    raise UsageError.of("question", chosen[0] if chosen else "", "use one of the questions")


def _drop(survey: Survey, document: Any, chosen: list[str]) -> None:
    """Remove a question, and the tables, regressions and fixed messages that have it."""
    question, id = _question(document, chosen), chosen[0]
    document["question"].remove(question)
    if not document["question"]:
        raise UsageError.of("question", id, "it is the only question; a survey needs one")
    for key, names in (("table", "questions"), ("message", "questions")):
        _keep(document, key, [each for each in document.get(key, ()) if id in each.get(names, ())])
    by_id = {each.id: each for each in survey.questions}
    uses = [
        any(each.id == id for each in meant(formula, by_id).questions)
        for formula in survey.regressions
    ]
    _keep(document, "regression", list(compress(document.get("regression", ()), uses)))
    if id in document.get("weights", ()):
        document["weights"].remove(id)


def _keep(document: Any, key: str, gone: Sequence[Any]) -> None:
    for each in gone:
        document[key].remove(each)
    if key in document and not document[key]:
        document.remove(key)


def _request(_: Survey, document: Any, chosen: list[str]) -> None:
    """Ask for the table of some questions."""
    ids = list(dict.fromkeys(id for id in chosen if id))
    if len(ids) < 2:
        raise UsageError.of("table", ", ".join(ids), "use two or more different questions")
    requested = [set(each.get("questions", ())) for each in document.get("table", ())]
    if set(ids) in requested:
        raise UsageError.of(
            "table", ", ".join(ids), "the survey already requests it; use other questions"
        )
    table = tomlkit.table()
    table["questions"] = ids
    if "table" not in document:
        document["table"] = tomlkit.aot()
    document["table"].append(table)


def _merge(_: Survey, document: Any, chosen: list[str]) -> None:
    """Offer some answers as one: fewer answers are sent, so each has less noise.

    A reader of the results can also merge answers later, but that does not reduce the noise.
    """
    question = _question(document, chosen)
    kind, answers = question.get("type"), list(dict.fromkeys(chosen[1:]))
    field = f"answers to {chosen[0]}"
    if len(answers) < 2:
        raise UsageError.of(field, ", ".join(answers), "use two or more answers")
    if kind != "choice" or "options" not in question:
        allowed = (
            "its answers cannot be merged here; use a choice whose options are in the survey file"
        )
        raise UsageError.of(field, str(kind), allowed)
    options = list(question["options"])
    if unknown := [each for each in answers if each not in options]:
        raise UsageError.of(field, unknown[0], f"use {', '.join(options)}")
    if len(answers) == len(options):
        raise UsageError.of(field, ", ".join(answers), "leave at least two answers")
    answers = [each for each in options if each in answers]
    name, first = MERGED.join(answers), answers[0]
    question["options"] = [
        name if each == first else each for each in options if each == first or each not in answers
    ]
    _merge_names(question, answers, name)


def _merge_names(question: Any, answers: Sequence[str], name: str) -> None:
    """Labels, expected shares and codes of merged answers."""
    labels = question.get("labels", {})
    if texts := [labels.pop(each) for each in answers if each in labels]:
        labels[name] = _joined(texts)
    shares = question.get("shares", {})
    if numbers := [shares.pop(each) for each in answers if each in shares]:
        shares[name] = round(sum(float(each) for each in numbers), 8)
    for code, answer in question.get("values", {}).items():
        if answer in answers:
            question["values"][code] = name


def _joined(texts: Sequence[Any]) -> Any:
    """Labels in one, in each language that all of them have."""
    if all(isinstance(each, str) for each in texts):
        return MERGED.join(texts)
    tables = [each for each in texts if not isinstance(each, str)]
    if len(tables) < len(texts):
        return MERGED.join(next(iter(t.values())) if t in tables else t for t in texts)
    joined = tomlkit.inline_table()
    joined.update(
        {
            tag: MERGED.join(t[tag] for t in tables)
            for tag in tables[0]
            if all(tag in t for t in tables)
        }
    )
    return joined
