"""What is wrong with a survey, in words: every mistake at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from incrowd.errors import MISSING, InWords, Problem, likely
from incrowd.survey.codes import KEYS, code_problems
from incrowd.survey.open import is_open, open_problems
from incrowd.survey.options_files import KEY as OPTIONS_FILE
from incrowd.survey.questions import TYPES
from incrowd.survey.randomizers import fields
from incrowd.survey.regressions import Wanted, wanted_regressions
from incrowd.survey.toml import Frozen, Mistake
from incrowd.survey.wording import known_keys, wording
from incrowd.survey.words import LANGUAGE, hidden_problems, word_problems


def cross_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong between the parts of a survey; silent on what is not even of the right kind."""
    questions = [q for q in _mappings(raw.get("question")) if isinstance(q.get("id"), str)]
    ids = Counter(question["id"] for question in questions)
    for id, count in ids.items():
        if count > 1:
            yield Problem("question.id", id, f"{count} questions have this id; give each its own")
    yield from _crowd_problems(raw)
    for kind in ("table", "message"):
        for number, part in enumerate(_mappings(raw.get(kind)), 1):
            field, names = f"{kind}[{number}].questions", _names(part)
            yield from _name_problems(field, names, ids)
            yield from _alone_problems(kind, field, names, questions)
    regressions = list(wanted_regressions(questions, _mappings(raw.get("regression"))))
    yield from _regression_problems(regressions, questions)
    yield from _copies_problems(raw, questions)
    yield from _rows_problems(raw, questions)
    yield from _planning_problems(raw, ids, questions)
    closed = Counter(q["id"] for q in questions if not is_open(q))
    yield from _grouping_problems(raw, closed)
    messages = enumerate(_mappings(raw.get("message")), 1)
    yield from open_problems(questions, [(f"message[{n}]", _names(part)) for n, part in messages])
    if raw.get("small_strata", "delete") != "delete" and not any(map(is_open, questions)):
        allowed = "no question is open, so that there are no strata; leave it out"
        yield Problem("small_strata", raw["small_strata"], allowed)
    language = raw.get("language", LANGUAGE)
    for question in questions if isinstance(language, str) else ():
        yield from word_problems(question, language)
    yield from code_problems(raw)
    yield from hidden_problems(raw)


def _crowd_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """At least two honest people have to be left, whatever rows they have."""
    crowd, colluding = raw.get("crowd"), raw.get("colluding", 0)
    rows = raw.get("rows_per_person", 1)
    if not (isinstance(crowd, int) and isinstance(colluding, int) and isinstance(rows, int)):
        return
    if crowd >= 2 > crowd // max(rows, 1) - colluding:
        field = "colluding" if colluding else "rows_per_person"
        yield Problem(field, raw[field], "should leave at least 2 honest people in the crowd")


def _mappings(value: object) -> list[Mapping[str, Any]]:
    """The tables of TOML in a list; nothing if it is no list."""
    items = value if isinstance(value, list | tuple) else []
    return [item for item in items if isinstance(item, Mapping)]


def _names(part: Mapping[str, Any]) -> list[str]:
    """The questions that a part names; what is no text was found by its type."""
    names = part.get("questions")
    items = names if isinstance(names, list | tuple) else []
    return [name for name in items if isinstance(name, str)]


def _name_problems(field: str, names: list[str], ids: Counter[str]) -> Iterator[Problem]:
    for name in names:
        if name not in ids:
            known = ", ".join(ids) or "the ids of questions"
            allowed = f"no question has this id; {likely(name, ids)}use {known}"
            yield Problem(field, name, allowed)
    if len(set(names)) < len(names):
        yield Problem(field, names, "should name each question once")


def _alone_problems(
    kind: str, field: str, names: list[str], questions: list[Mapping[str, Any]]
) -> Iterator[Problem]:
    """A text question stands alone in a table; memoised questions travel among themselves."""
    text = {q["id"] for q in questions if q.get("type") == "text"}
    if kind == "table" and len(names) > 1 and (alone := [name for name in names if name in text]):
        yield Problem(field, alone[0], "it is a text question; give it a table of its own")
    yield from _memory_problems(field, names, questions)


def _memory_problems(
    field: str, names: Sequence[str], questions: list[Mapping[str, Any]]
) -> Iterator[Problem]:
    """Memoised questions travel among themselves."""
    remembered = {q["id"] for q in questions if _remembered(q)}
    clear = {q["id"] for q in questions if is_open(q)}
    kept = [name for name in names if name in remembered]
    if kept and not remembered | clear >= set(names):
        allowed = "it is memoised, and would link reports of different rounds; "
        allowed += "put it only with other memoised questions"
        yield Problem(field, kept[0], allowed)


def _regression_problems(
    regressions: Sequence[Wanted], questions: list[Mapping[str, Any]]
) -> Iterator[Problem]:
    """What cannot be meant, and what no report can hold."""
    for found in regressions:
        yield from found.problems
        yield from _memory_problems(f"{found.field}.on", found.closed, questions)


def _remembered(question: Mapping[str, Any]) -> bool:
    randomizer = question.get("randomizer")
    inside = isinstance(randomizer, Mapping) and randomizer.get("memoised") is True
    return inside or question.get("memoised") is True


def _copies_problems(
    raw: Mapping[str, Any], questions: list[Mapping[str, Any]]
) -> Iterator[Problem]:
    """What is drawn once, and by nothing again, is the same in all copies."""
    once = [q["id"] for q in questions if q.get("memoised") is True]
    groups = _mappings(raw.get("message"))
    sent = [("", once, raw), *((f"message[{n}].", _names(g), g) for n, g in enumerate(groups, 1))]
    for field, names, part in sent:
        kept = [name for name in names if name in once]
        if kept and part.get("copies", 1) != 1:
            allowed = (
                f"{kept[0]!r} is memoised, and all its copies would be the same; leave copies out, "
                "or give them only to a [[message]] of other questions"
            )
            yield Problem(f"{field}copies", part["copies"], allowed)
        if kept and field and names in [_names(group) for group in groups if group is not part]:
            allowed = "another message has the same, which is memoised; leave one of both out"
            yield Problem(f"{field}questions", names, allowed)


def _rows_problems(raw: Mapping[str, Any], questions: list[Mapping[str, Any]]) -> Iterator[Problem]:
    """Rows that one key answers are equal wherever the answers are, and no noise hides that."""
    kept = [q["id"] for q in questions if _remembered(q)]
    if kept and raw.get("rows_per_person", 1) != 1:
        allowed = (
            f"{kept[0]!r} is memoised, and the equal responses of one person's rows would tell "
            "which of her answers are equal; leave rows_per_person out, and name people by an id, "
            "of whom each counts once; or leave memoised out"
        )
        yield Problem("rows_per_person", raw["rows_per_person"], allowed)


def _planning_problems(
    raw: Mapping[str, Any], ids: Counter[str], questions: list[Mapping[str, Any]]
) -> Iterator[Problem]:
    """Keys that say what the planner is to choose, where it has nothing to choose."""
    fixed = [key for key in ("message", "copies") if raw.get(key) not in (None, (), [], 1)]
    if raw.get("tables") == "any" and "message" in fixed:
        allowed = "[[message]] says which tables can be made; keep one of them"
        yield Problem("tables", "any", allowed)
    if raw.get("explore") is not None and (fixed or raw.get("tables") == "any"):
        reason = f"{fixed[0]} fixes what is sent" if fixed else 'tables = "any" sends joint reports'
        yield Problem("explore", raw["explore"], f"{reason}; keep one of them")
    names = _names({"questions": raw.get("weights")})
    yield from _name_problems("weights", names, ids)
    for question in questions:
        if question["id"] in names and (question.get("type") == "text" or _remembered(question)):
            why = "a text question" if question.get("type") == "text" else "memoised"
            allowed = f"it is {why}, and cannot be crossed with all others; leave it out"
            yield Problem("weights", question["id"], allowed)


def _grouping_problems(raw: Mapping[str, Any], ids: Counter[str]) -> Iterator[Problem]:
    """Only one way of grouping, and every question and wanted table in some message.

    ids: of the questions that are randomized.
    """
    groups, budget = _mappings(raw.get("message")), raw.get("reports_per_person")
    ways = {"message": bool(groups), "reports_per_person": budget is not None}
    ways["copies"] = raw.get("copies", 1) != 1
    if sum(ways.values()) > 1:
        given = InWords(f"has {' and '.join(name for name, used in ways.items() if used)}")
        yield Problem("survey", given, "each says how often to send; keep one of them")
    if not groups:
        return
    travelling = [set(_names(group)) for group in groups]
    asked = {q.get("id") for q in _mappings(raw.get("question")) if is_open(q)}
    tables = [[id] for id in ids] + [_names(table) for table in _mappings(raw.get("table"))]
    wanted = [[name for name in names if name not in asked] for names in tables]
    for names in wanted:
        if not any(set(names) <= group for group in travelling):
            shown = ", ".join(names)
            yield Problem(
                "message", shown, "no message holds this; put it in one, so that it can be counted"
            )


def mistakes(
    error: ValidationError,
    raw: Mapping[str, Any],
    survey: type[Frozen],
    parts: Mapping[str, type[Frozen]],
) -> list[Problem]:
    """What pydantic found in a raw survey, in our words; parts: the models below the survey."""
    found: list[Any] = [
        {**e, "loc": _as_written(e["loc"], raw)} for e in error.errors() if not _echo(e)
    ]
    return [_problem(e, raw, survey, parts) for e in found]


def _echo(error: Any) -> bool:
    """Whether pydantic calls a list too short only because its items are wrong."""
    too_short = error["type"] == "too_short"
    return too_short and bool(len(error["input"]) >= error["ctx"]["min_length"])


def _as_written(place: tuple[str | int, ...], raw: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Codes stand at their questions."""
    if len(place) < 3 or place[0] != "codes" or place[2] not in KEYS:
        return place
    id = raw["codes"][place[1]].get("question")
    numbers = [n for n, q in enumerate(raw["question"]) if _mappings([q]) and q.get("id") == id]
    return ("question", numbers[0], *place[2:]) if numbers else place


def _of(raw: Mapping[str, Any], place: tuple[str | int, ...]) -> str:
    """The question that a place belongs to, as " of smoker", if it has an id."""
    if len(place) < 2 or place[0] != "question" or place[-1] == "id":
        return ""
    question = raw["question"][place[1]]
    id = question.get("id") if isinstance(question, Mapping) else None
    return f" of {id}" if id and isinstance(id, str) else ""


def _problem(
    error: Any, raw: Mapping[str, Any], survey: type[Frozen], parts: Mapping[str, type[Frozen]]
) -> Problem:
    """One error of pydantic."""
    place, value = error["loc"], error["input"]
    of = _of(raw, place)
    field = f"{_field(place)}{of}"
    inner = error.get("ctx", {}).get("error")
    if isinstance(inner, Mistake):
        return Problem(f"{_field((*place, inner.field))}{of}", inner.value, inner.allowed)
    if error["type"] == "missing":
        return Problem(field, MISSING, "add this key")
    if error["type"] == "extra_forbidden":
        return Problem(
            field, value, f"this key is unknown here; {_keys(place, raw, survey, parts)}"
        )
    return Problem(field, value, wording(error))


def _field(location: tuple[str | int, ...]) -> str:
    """("question", 1, "choice", "options") as question[2].options."""
    text = "".join(f"[{p + 1}]" if isinstance(p, int) else f".{p}" for p in location)
    return text.removeprefix(".")


def _keys(
    location: tuple[str | int, ...],
    raw: Mapping[str, Any],
    survey: type[Frozen],
    parts: Mapping[str, type[Frozen]],
) -> str:
    """The keys that would be known at that place, the likeliest first."""
    model = survey
    if "randomizer" in location[:-1]:
        model = fields()
    elif location[0] == "question":
        model = TYPES[raw["question"][location[1]]["type"]]
    elif len(location) > 1:
        model = parts[str(location[0])]
    keys, above = _names_of(model), _names_of(survey)
    if location[-1] in above:
        return "it belongs to the survey itself: write it above the first [table]"
    keys += [*KEYS, *([OPTIONS_FILE] if "options" in keys else [])] if "id" in keys else []
    return known_keys(str(location[-1]), keys)


def _names_of(model: type[Frozen]) -> list[str]:
    """The keys of a part, as they are written."""
    return [field.alias or name for name, field in model.model_fields.items()]
