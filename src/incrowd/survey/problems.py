"""All mistakes in a survey at once, as problems.

Pydantic finds the mistakes within each part. Inconsistencies between parts are checked among all
parts that are valid by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from incrowd.errors import MISSING, InWords, Problem, likely
from incrowd.survey.codes import KEYS, code_problems
from incrowd.survey.crossings import crossing_problem, parities_problem
from incrowd.survey.formulas import BETWEEN, IS, Formula, formula_problems, meant
from incrowd.survey.open import open_problems
from incrowd.survey.options_files import KEY as OPTIONS_FILE
from incrowd.survey.question import MOST_TOGETHER, AnyQuestion
from incrowd.survey.questions import TYPES
from incrowd.survey.randomizers import fields
from incrowd.survey.toml import Frozen, Mistake
from incrowd.survey.wording import known_keys, wording
from incrowd.survey.words import word_problems
from incrowd.survey.written import MOST_PEOPLE, Group, WrittenSurvey, without_margin


class InvalidParts(NamedTuple):
    """Invalid parts, which are left out of the survey that is checked.

    ids: of the questions left out. numbers: of the parts that remain, by the name of their list.
    lists: the names of the lists with invalid parts.
    """

    ids: tuple[str, ...] = ()
    numbers: Mapping[str, Sequence[int]] = {}
    lists: frozenset[str] = frozenset()

    def numbered(self, name: str, parts: Sequence[Any]) -> list[tuple[str, Any]]:
        """The parts of a list, each with its field."""
        numbers = self.numbers.get(name, range(1, len(parts) + 1))
        return [(f"{name}[{number}]", part) for number, part in zip(numbers, parts, strict=True)]


NOTHING = InvalidParts()


def right_problems(raw: Mapping[str, Any], error: ValidationError) -> list[Problem]:
    """Mistakes between those parts of a raw survey that are valid by themselves."""
    aliases = {name: field.alias or name for name, field in WrittenSurvey.model_fields.items()}
    raw = {aliases.get(key, key): value for key, value in raw.items()}
    wrong = {
        each["loc"][:2] if isinstance(raw.get(_key(each)), list | tuple) else each["loc"][:1]
        for each in error.errors()
        if each["loc"]
    }
    right: dict[str, Any] = {"name": "-", "crowd": MOST_PEOPLE, "privacy": {"epsilon": 1}}
    numbers: dict[str, list[int]] = {}
    for key, value in raw.items():
        if (key,) in wrong:
            continue
        if isinstance(value, list | tuple):
            places = [place for place in range(len(value)) if (key, place) not in wrong]
            numbers[key] = [place + 1 for place in places]
            value = [value[place] for place in places]
        right[key] = value
    try:
        survey = WrittenSurvey.model_validate(right)
    except ValidationError:  # no question is valid
        return []
    questions = raw["question"]
    ids = [_id_of(questions[place]) for key, *rest in wrong if key == "question" for place in rest]
    left_out = InvalidParts(
        tuple(filter(None, ids)), numbers, frozenset(str(key) for key, *_ in wrong)
    )
    return list(cross_problems(survey, left_out))


def _key(error: Any) -> str:
    return str(error["loc"][0])


def _id_of(question: Any) -> str:
    id = question.get("id") if isinstance(question, Mapping) else None
    return id if isinstance(id, str) else ""


def cross_problems(survey: WrittenSurvey, left_out: InvalidParts = NOTHING) -> Iterator[Problem]:
    """Mistakes between the parts of a survey."""
    questions = {question.id: question for question in survey.questions}
    ids = Counter([*(question.id for question in survey.questions), *left_out.ids])
    for id, count in ids.items():
        if count > 1:
            yield Problem(
                "question.id", id, f"{count} questions have this id; give each a different id"
            )
    yield from _crowd_problems(survey)
    tables = left_out.numbered("table", survey.joint_tables)
    groups = left_out.numbered("message", survey.messages)
    for field, part in (*tables, *groups):
        yield from _name_problems(f"{field}.questions", part.questions, ids)
        yield from _memory_problems(f"{field}.questions", part.questions, questions)
    for field, table in tables:
        yield from _alone_problems(f"{field}.questions", table.questions, questions)
    unfit = list(_regression_problems(survey, questions, left_out))
    yield from unfit
    yield from _copies_problems(survey, groups)
    yield from _planning_problems(survey, ids)
    yield from open_problems(survey.questions, [(f, part.questions) for f, part in groups])
    if survey.small_strata != "delete" and not survey.open:
        allowed = "no question is open, so there are no strata; leave it out"
        yield Problem("small_strata", survey.small_strata, allowed)
    if "language" not in left_out.lists:
        for question in survey.questions:
            yield from word_problems(question, survey.language)
    yield from code_problems(survey.codes, questions, left_out.ids)
    named = [id for _, part in (*tables, *groups) for id in part.questions]
    sound = not unfit and max(ids.values()) == 1 and {*named, *survey.weights} <= questions.keys()
    if survey.messages and sound and not left_out.lists:
        yield from _message_problems(survey)


def _alone_problems(
    field: str, names: Sequence[str], questions: Mapping[str, AnyQuestion]
) -> Iterator[Problem]:
    alone = [id for id in names if id in questions and questions[id].one_way_only]
    if alone and len(names) > 1:
        yield Problem(field, alone[0], "it is a text question; give it a separate table")


def _regression_problems(
    survey: WrittenSurvey, questions: Mapping[str, AnyQuestion], left_out: InvalidParts
) -> Iterator[Problem]:
    """Mistakes in regressions, and regressions that no message can serve."""
    for field, formula in left_out.numbered("regression", survey.regressions):
        if _names(formula, left_out.ids):
            continue
        problems = list(formula_problems(formula, questions))
        yield from (each.within(field) for each in problems)
        if not problems:
            asked = (each for each in meant(formula, questions).questions if not each.open)
            yield from _memory_problems(f"{field}.on", [each.id for each in asked], questions)


def _names(formula: Formula, ids: Sequence[str]) -> bool:
    """Whether a formula may be about one of these questions."""
    texts = (part.strip() for text in formula.on for part in text.split(BETWEEN))
    return any(text.split(IS)[0] in ids for text in (formula.outcome, *texts))


def _crowd_problems(survey: WrittenSurvey) -> Iterator[Problem]:
    """Check that at least two honest people are left in the crowd."""
    if survey.crowd // survey.rows_per_person - survey.colluding < 2:
        field = "colluding" if survey.colluding else "rows_per_person"
        allowed = "should leave at least 2 honest people in the crowd"
        yield Problem(field, getattr(survey, field), allowed)


def _name_problems(field: str, names: Sequence[str], ids: Counter[str]) -> Iterator[Problem]:
    for name in names:
        if name not in ids:
            listed = ", ".join(ids) or "the ids of questions"
            allowed = f"no question has this id; {likely(name, ids)}use {listed}"
            yield Problem(field, name, allowed)
    if len(set(names)) < len(names):
        yield Problem(field, list(names), "should name each question once")


def _memory_problems(
    field: str, names: Sequence[str], questions: Mapping[str, AnyQuestion]
) -> Iterator[Problem]:
    """Check that memoized questions are combined only with one another."""
    asked = [questions[name] for name in names if name in questions]
    memoized_ids = [question.id for question in asked if question.memoized]
    if memoized_ids and not all(question.memoized or question.open for question in asked):
        allowed = "it is memoized and would link reports of different rounds; "
        allowed += "put it with memoized questions only"
        yield Problem(field, memoized_ids[0], allowed)


def _copies_problems(
    survey: WrittenSurvey, groups: Sequence[tuple[str, Group]]
) -> Iterator[Problem]:
    """Memoized questions in several copies or rows.

    A memoized response is the same in all copies. It is also the same in all rows of one device
    key whose answers are equal, and no noise hides that.
    """
    once = [question.id for question in survey.questions if question.asked_memoized]
    sent = [("", tuple(once), survey.copies)]
    sent += [(f"{field}.", group.questions, group.copies) for field, group in groups]
    repeated = [
        names for names, times in Counter(g.questions for _, g in groups).items() if times > 1
    ]
    for field, names, copies in sent:
        memoized_ids = [name for name in names if name in once]
        if memoized_ids and copies != 1:
            allowed = (
                f"{memoized_ids[0]!r} is memoized, so all its copies would be the same; leave "
                "copies out, or give them only to a [[message]] of other questions"
            )
            yield Problem(f"{field}copies", copies, allowed)
        if memoized_ids and field and names in repeated:
            allowed = "another message has the same memoized questions; leave one of the two out"
            yield Problem(f"{field}questions", list(names), allowed)
    every = [question.id for question in survey.questions if question.memoized]
    if every and survey.rows_per_person != 1:
        allowed = (
            f"{every[0]!r} is memoized, and equal responses in one person's rows would reveal "
            "which of the answers are equal; leave rows_per_person out and identify people by an "
            "id, so that each counts once; or leave memoized out"
        )
        yield Problem("rows_per_person", survey.rows_per_person, allowed)


def _planning_problems(survey: WrittenSurvey, ids: Counter[str]) -> Iterator[Problem]:
    """Keys that direct the planner where the survey leaves it no choice."""
    ways = {
        "message": bool(survey.messages),
        "reports_per_person": survey.reports_per_person is not None,
        "copies": survey.copies != 1,
    }
    fixed = [key for key in ("message", "copies") if ways[key]]
    if survey.tables == "any" and survey.messages:
        allowed = "[[message]] fixes which tables can be estimated; keep one of them"
        yield Problem("tables", "any", allowed)
    if survey.explore is not None and (fixed or survey.tables == "any"):
        reason = f"{fixed[0]} fixes what is sent" if fixed else 'tables = "any" sends joint reports'
        yield Problem("explore", survey.explore, f"{reason}; keep one of them")
    if sum(ways.values()) > 1:
        value = InWords(f"has {' and '.join(name for name, used in ways.items() if used)}")
        yield Problem("survey", value, "each of them sets the number of reports; keep one of them")
    yield from _name_problems("weights", survey.weights, ids)
    for question in survey.questions:
        if question.id in survey.weights and (question.one_way_only or question.memoized):
            why = "a text question" if question.one_way_only else "memoized"
            allowed = f"it is {why} and cannot be crossed with all other questions; leave it out"
            yield Problem("weights", question.id, allowed)


def _message_problems(survey: WrittenSurvey) -> Iterator[Problem]:
    """Mistakes in the messages that the survey fixes."""
    for number, group in enumerate(survey.messages, 1):
        field, questions = f"message[{number}]", [survey.question(id) for id in group.questions]
        problem = parities_problem if group.parities else crossing_problem
        if group.cells and (why := problem(questions)):
            allowed = f"{why}; use a joint report, or put its questions in other messages"
            yield Problem(f"{field}.cells", True, allowed)
        if group.cells and group.copies > 1:
            allowed = "copies do not make cells more precise; leave it out"
            yield Problem(f"{field}.copies", group.copies, allowed)
        if group.parities and not group.cells:
            allowed = "parities are a kind of cells; add cells = true"
            yield Problem(f"{field}.parities", True, allowed)
        for id in without_margin(group, survey.messages):
            allowed = "parities do not show its answers; add a message of cells for it"
            yield Problem(f"{field}.parities", id, allowed)
        for question in questions:
            if question.wide and not group.cells:
                allowed = f"it has more than {MOST_TOGETHER:,} options; add cells = true"
                yield Problem(f"{field}.questions", question.id, allowed)
    for ids in survey.not_held(survey.messages):
        allowed = "no message has all of these questions; put them in one message"
        yield Problem("message", ", ".join(ids), allowed)


def mistakes(
    error: ValidationError,
    raw: Mapping[str, Any],
    survey: type[Frozen],
    parts: Mapping[str, type[Frozen]],
) -> list[Problem]:
    """The errors of pydantic in a raw survey, as problems. parts: the models below the survey."""
    errors: list[Any] = [
        {**e, "loc": _as_written(e["loc"], raw)} for e in error.errors() if not _echo(e)
    ]
    return [_problem(e, raw, survey, parts) for e in errors]


def _echo(error: Any) -> bool:
    """Whether a list is reported as too short only because its items are invalid."""
    too_short = error["type"] == "too_short"
    return too_short and bool(len(error["input"]) >= error["ctx"]["min_length"])


def _as_written(place: tuple[str | int, ...], raw: Mapping[str, Any]) -> tuple[str | int, ...]:
    """The place of an error in the TOML file, where codes are keys of questions."""
    if len(place) < 3 or place[0] != "codes" or place[2] not in KEYS:
        return place
    id = raw["codes"][place[1]].get("question")
    numbers = [n for n, q in enumerate(raw["question"]) if _id_of(q) == id]
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
    """Convert one error of pydantic."""
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
    """The keys that are allowed at a place, the most likely first."""
    model = survey
    if "randomizer" in location[:-1]:
        model = fields()
    elif location[0] == "question":
        model = TYPES[raw["question"][location[1]]["type"]]
    elif len(location) > 1:
        model = parts[str(location[0])]
    keys, above = _names_of(model), _names_of(survey)
    if location[-1] in above:
        return "it is a key of the survey itself: write it above the first [table]"
    keys += [*KEYS, *([OPTIONS_FILE] if "options" in keys else [])] if "id" in keys else []
    return known_keys(str(location[-1]), keys)


def _names_of(model: type[Frozen]) -> list[str]:
    """The keys of a part in the TOML file."""
    return [field.alias or name for name, field in model.model_fields.items()]
