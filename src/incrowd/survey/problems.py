"""All mistakes in a survey at once, as problems.

Pydantic finds the mistakes within each part. Inconsistencies between parts are checked among all
parts that are valid by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from incrowd.catalog.sentences import Sentence, joined, likely, sentence
from incrowd.errors import Of, PathPart, Problem, SurveyError
from incrowd.survey.codes import KEYS, code_problems
from incrowd.survey.conditions import AnswerComparison, IsAnswer, comparisons
from incrowd.survey.crossings import crossing_problem, parities_problem
from incrowd.survey.formulas import BETWEEN, IS, Formula, formula_problems, meant
from incrowd.survey.layout import layout_problems, layout_words
from incrowd.survey.open import open_problems, stratum_names
from incrowd.survey.options_files import KEY as OPTIONS_FILE
from incrowd.survey.participation import LEAST_ANSWERS, LEAST_CROWD, crowd_of, invited_in
from incrowd.survey.question import MOST_TOGETHER, SHOWN, AnyQuestion
from incrowd.survey.questions import TYPES
from incrowd.survey.randomizers import fields
from incrowd.survey.reasons import known_keys, wording
from incrowd.survey.toml import Frozen, Mistake
from incrowd.survey.types.number import takes_numbers
from incrowd.survey.words import word_problems
from incrowd.survey.written import LEAST, Group, WrittenSurvey, without_margin

BY_HAND = ("design", "designs")  # keys of questions in surveys of interviews
Path = tuple[PathPart, ...]


class InvalidParts(NamedTuple):
    """Invalid parts, which are left out of the survey that is checked.

    ids: the ids of the questions left out. numbers: the positions of the parts that remain, by the
    name of their list. lists: the names of the lists with invalid parts.
    """

    ids: tuple[str, ...] = ()
    numbers: Mapping[str, Sequence[int]] = {}
    lists: frozenset[str] = frozenset()

    def numbered(self, name: str, parts: Sequence[Any]) -> list[tuple[Path, Any]]:
        """Return the parts of a list, each with its path."""
        numbers = self.numbers.get(name, range(len(parts)))
        return [((name, number), part) for number, part in zip(numbers, parts, strict=True)]


NOTHING = InvalidParts()


def right_problems(raw: Mapping[str, Any], error: ValidationError) -> list[Problem]:
    """Return mistakes between those parts of a raw survey that are valid by themselves."""
    aliases = {name: field.alias or name for name, field in WrittenSurvey.model_fields.items()}
    raw = {aliases.get(key, key): value for key, value in raw.items()}
    wrong = {
        each["loc"][:2] if isinstance(raw.get(_key(each)), list | tuple) else each["loc"][:1]
        for each in error.errors()
        if each["loc"]
    }
    right: dict[str, Any] = {"name": "-", "crowd": invited_in(raw), "privacy": {"epsilon": 1}}
    numbers: dict[str, list[int]] = {}
    for key, value in raw.items():
        if (key,) in wrong:
            continue
        if isinstance(value, list | tuple):
            places = [place for place in range(len(value)) if (key, place) not in wrong]
            numbers[key] = places
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
    """Yield mistakes between the parts of a survey."""
    questions = {question.id: question for question in survey.questions}
    ids = Counter([*(question.id for question in survey.questions), *left_out.ids])
    for id, count in ids.items():
        if count > 1:
            yield Problem(("question", "id"), "survey.same-id", value=id, count=count)
    yield from _crowd_problems(survey)
    yield from _participation_problems(survey)
    tables = left_out.numbered("table", survey.joint_tables)
    groups = left_out.numbered("message", survey.messages)
    for path, part in (*tables, *groups):
        yield from _name_problems((*path, "questions"), part.questions, ids)
        yield from _memory_problems((*path, "questions"), part.questions, questions)
    for path, table in tables:
        yield from _alone_problems((*path, "questions"), table.questions, questions)
    yield from _layout_problems(survey, left_out)
    yield from _condition_problems(survey, questions, left_out)
    unfit = list(_regression_problems(survey, questions, left_out))
    yield from unfit
    yield from _copies_problems(survey, groups)
    yield from _noise_problems(survey, left_out)
    yield from _planning_problems(survey, ids)
    yield from open_problems(survey.questions, [(path, part.questions) for path, part in groups])
    if survey.small_strata != "delete" and not survey.open:
        yield Problem("small_strata", "survey.no-strata", value=survey.small_strata)
    if "language" not in left_out.lists:
        for question in survey.questions:
            yield from word_problems(question, survey.language)
    yield from code_problems(survey.codes, questions, left_out.ids)
    named = [id for _, part in (*tables, *groups) for id in part.questions]
    sound = not unfit and max(ids.values()) == 1 and {*named, *survey.weights} <= questions.keys()
    if survey.messages and sound and not left_out.lists:
        yield from _message_problems(survey)


def _alone_problems(
    path: Path, names: Sequence[str], questions: Mapping[str, AnyQuestion]
) -> Iterator[Problem]:
    alone = [id for id in names if id in questions and questions[id].one_way_only]
    if alone and len(names) > 1:
        yield Problem(path, "survey.text-in-table", value=alone[0])


def _layout_problems(survey: WrittenSurvey, left_out: InvalidParts) -> Iterator[Problem]:
    """Yield mistakes in sections and matrices, and in their texts."""
    if left_out.ids or {"section", "matrix"} & left_out.lists:
        return
    yield from layout_problems(survey.questions, survey.sections, survey.matrices)
    for path, words in layout_words(survey.frame, survey.sections, survey.matrices):
        if isinstance(words, dict) and survey.language not in words:
            yield Problem(path, "survey.no-main-language", language=survey.language)


def _condition_problems(
    survey: WrittenSurvey, questions: Mapping[str, AnyQuestion], left_out: InvalidParts
) -> Iterator[Problem]:
    """Yield mistakes in the conditions of questions."""
    before: set[str] = set()
    for question in survey.questions:
        if question.asked_if is not None:
            path = ("question", "asked_if", Of(question.id))
            if question.open:
                yield Problem(path, "survey.open-condition", value=str(question.asked_if))
            for comparison in comparisons(question.asked_if):
                if comparison.question not in left_out.ids:
                    yield from _comparison_problems(path, comparison, questions, before)
        before.add(question.id)


def _comparison_problems(
    path: Path,
    comparison: AnswerComparison,
    questions: Mapping[str, AnyQuestion],
    before: Collection[str],
) -> Iterator[Problem]:
    id, text = comparison.question, str(comparison)
    if id not in questions:
        yield from _name_problems(path, [id], Counter(questions))
        return
    if id not in before:
        yield Problem(path, "survey.condition-on-later", value=text, id=id)
        return
    question = questions[id]
    if question.deciding(comparison) is not None:
        return
    if not question.decisive:
        yield Problem(path, "survey.condition-undecided", value=text, id=id)
    elif isinstance(comparison, IsAnswer):
        answers = question.recorded[:SHOWN]
        hint = likely(comparison.answer, question.recorded)
        yield Problem(
            path, "survey.condition-answer", value=text, id=id, answers=answers, hint=hint
        )
    elif takes_numbers(question):
        edges = [format(edge, ".12g") for edge in question.edges[:SHOWN]]
        yield Problem(path, "survey.condition-between", value=text, id=id, edges=edges)
    else:
        yield Problem(path, "survey.condition-number-of", value=text, id=id)


def _regression_problems(
    survey: WrittenSurvey, questions: Mapping[str, AnyQuestion], left_out: InvalidParts
) -> Iterator[Problem]:
    """Yield mistakes in regressions, and regressions that no message can serve."""
    for path, formula in left_out.numbered("regression", survey.regressions):
        if _names(formula, left_out.ids):
            continue
        problems = list(formula_problems(formula, questions))
        yield from (each.within(*path) for each in problems)
        if not problems:
            asked = (each for each in meant(formula, questions).questions if not each.open)
            yield from _memory_problems((*path, "on"), [each.id for each in asked], questions)


def _names(formula: Formula, ids: Sequence[str]) -> bool:
    """Return whether a formula may be about one of these questions."""
    texts = (part.strip() for text in formula.on for part in text.split(BETWEEN))
    return any(text.split(IS)[0] in ids for text in (formula.outcome, *texts))


def _crowd_problems(survey: WrittenSurvey) -> Iterator[Problem]:
    """Check that at least two honest people are left in the crowd."""
    if survey.crowd // survey.rows_per_person - survey.colluding < 2:
        field = "colluding" if survey.colluding else "rows_per_person"
        yield Problem(field, "survey.few-honest", value=getattr(survey, field))


def _participation_problems(survey: WrittenSurvey) -> Iterator[Problem]:
    """Yield what is inconsistent in the numbers of people who are invited."""
    people = survey.people
    if people is None:
        return
    if people.everybody and not survey.census:
        yield Problem("census", "survey.census-and-everybody", value=survey.census)
    if survey.crowd > (most := people.invited * survey.rows_per_person):
        yield Problem("crowd", "survey.crowd-above-invited", value=survey.crowd, most=most)
    if people.groups:
        yield from _group_problems(survey, people.groups, people.invited)


def _group_problems(
    survey: WrittenSurvey, groups: Mapping[str, int], invited: int
) -> Iterator[Problem]:
    """Yield what is wrong with the sizes of the groups that open questions form."""
    path, names = ("people", "groups"), stratum_names(survey.open)
    if not names:
        yield Problem(path, "survey.no-strata", value=[*groups])
        return
    for name in groups:
        if name not in names:
            close, some = likely(name, names), names[:SHOWN]
            yield Problem(path, "survey.unknown-group", value=name, meant=close, names=some)
    if (total := sum(groups.values())) != invited:
        yield Problem(path, "survey.groups-not-invited", value=total, invited=invited)


def derived_crowd(survey: WrittenSurvey) -> int:
    """Return the crowd that follows from who is invited, for a survey that states none.

    Where services add the noise, no crowd hides anybody: it is then the expected number of answers.
    Raises SurveyError if so few people will answer that nothing could be released.
    """
    expected = survey.expected_answers  # no group has the crowd so far: all of them count
    if expected is None:
        return survey.crowd
    answers, services = expected.in_smallest, survey.privacy.noise == "services"
    crowd = answers if services else crowd_of(answers)
    if services and answers < survey.least:
        raise SurveyError.of("people", "survey.fewer-than-least", value=answers, least=survey.least)
    if crowd < LEAST_CROWD:
        raise SurveyError.of("people", "survey.few-answers", value=answers, least=LEAST_ANSWERS)
    return crowd


def _name_problems(path: Path, names: Sequence[str], ids: Counter[str]) -> Iterator[Problem]:
    for name in names:
        if name not in ids:
            close, every = likely(name, ids), list(ids)
            yield Problem(path, "survey.unknown-id", value=name, meant=close, ids=every)
    if len(set(names)) < len(names):
        yield Problem(path, "survey.question-twice", value=list(names))


def _memory_problems(
    path: Path, names: Sequence[str], questions: Mapping[str, AnyQuestion]
) -> Iterator[Problem]:
    """Check that memoized questions are combined only with one another."""
    asked = [questions[name] for name in names if name in questions]
    memoized_ids = [question.id for question in asked if question.memoized]
    if memoized_ids and not all(question.memoized or question.open for question in asked):
        yield Problem(path, "survey.linking-memoized", value=memoized_ids[0])


def _copies_problems(
    survey: WrittenSurvey, groups: Sequence[tuple[Path, Group]]
) -> Iterator[Problem]:
    """Yield memoized questions in several copies or rows.

    A memoized response is the same in all copies. It is also the same in all rows of one device
    key whose answers are equal, and no noise hides that.
    """
    once = [question.id for question in survey.questions if question.asked_memoized]
    sent: list[tuple[Path, tuple[str, ...], int]] = [((), tuple(once), survey.copies)]
    sent += [(path, group.questions, group.copies) for path, group in groups]
    repeated = [
        names for names, times in Counter(g.questions for _, g in groups).items() if times > 1
    ]
    for path, names, copies in sent:
        memoized_ids = [name for name in names if name in once]
        if memoized_ids and copies != 1:
            id = memoized_ids[0]
            yield Problem((*path, "copies"), "survey.same-copies", value=copies, id=id)
        if memoized_ids and path and names in repeated:
            yield Problem((*path, "questions"), "survey.same-messages", value=list(names))
    every = [question.id for question in survey.questions if question.memoized]
    if every and survey.rows_per_person != 1:
        rows = survey.rows_per_person
        yield Problem("rows_per_person", "survey.linked-rows", value=rows, id=every[0])


def _noise_problems(survey: WrittenSurvey, left_out: InvalidParts) -> Iterator[Problem]:
    """Yield what is inconsistent with who adds the noise.

    Services add noise to the counts of cells: whatever is not counted in cells, or has noise of its
    own, needs noise from the devices.
    """
    privacy = survey.privacy
    if (service := privacy.service_epsilon) is not None:
        path = ("privacy", "service_epsilon")
        if privacy.noise == "devices":
            yield Problem(path, "survey.no-services", value=service)
        elif service < privacy.epsilon:
            yield Problem(path, "survey.service-below", value=service, epsilon=privacy.epsilon)
    if survey.least != LEAST and privacy.noise == "devices":
        yield Problem("least", "survey.no-services", value=survey.least)
    if privacy.noise != "services":
        return
    yield from unfit_for_services(survey, left_out)


def unfit_for_services(
    survey: WrittenSurvey, left_out: InvalidParts = NOTHING
) -> Iterator[Problem]:
    """Yield why services cannot add the noise to the answers to a survey."""
    if (local := survey.privacy.local_epsilon) is not None:
        yield Problem(("privacy", "local_epsilon"), "survey.nothing-left", value=local)
    if (rows := survey.rows_per_person) > 1:
        yield Problem("rows_per_person", "survey.rows-by-services", value=rows)
    others: dict[str, object] = {
        "tables": survey.tables if survey.tables == "any" else None,
        "explore": survey.explore,
        "copies": survey.copies if survey.copies > 1 else None,
    }
    for key, value in others.items():
        if value is not None:
            yield Problem(key, "survey.only-counts", value=value)
    for path, group in left_out.numbered("message", survey.messages):
        if not group.cells or group.parities:
            yield Problem(path, "survey.only-cells", value=list(group.questions))
    yield from _unfit_questions(survey)


def _unfit_questions(survey: WrittenSurvey) -> Iterator[Problem]:
    """Yield the questions to whose answers services cannot add the noise."""
    for question in survey.questions:
        of = Of(question.id)
        if question.memoized:
            yield Problem(("question", of), "survey.not-by-services-memoized")
        elif question.randomizer is not None:
            yield Problem(("question", "randomizer", of), "survey.not-by-services-randomizer")
        elif not question.open and question.not_crossed:
            kind = question.not_crossed
            yield Problem(("question", of), "survey.not-by-services-kind", kind=kind)


def _planning_problems(survey: WrittenSurvey, ids: Counter[str]) -> Iterator[Problem]:
    """Yield keys that direct the planner where the survey leaves it no choice."""
    ways = {
        "message": bool(survey.messages),
        "reports_per_person": survey.reports_per_person is not None,
        "copies": survey.copies != 1,
    }
    fixed = [key for key in ("message", "copies") if ways[key]]
    if survey.tables == "any" and survey.messages:
        yield Problem("tables", "survey.tables-and-messages", value="any")
    if survey.explore is not None and (fixed or survey.tables == "any"):
        if fixed:
            key = fixed[0]
            yield Problem("explore", "survey.explore-and-fixed", value=survey.explore, key=key)
        else:
            yield Problem("explore", "survey.explore-and-tables", value=survey.explore)
    if sum(ways.values()) > 1:
        keys = joined("shared.and", [key for key, used in ways.items() if used])
        yield Problem("survey", "survey.several-numbers-of-reports", keys=keys)
    yield from _name_problems(("weights",), survey.weights, ids)
    for question in survey.questions:
        if question.id in survey.weights and (question.one_way_only or question.memoized):
            code = "survey.text-weight" if question.one_way_only else "survey.memoized-weight"
            yield Problem("weights", code, value=question.id)


def _message_problems(survey: WrittenSurvey) -> Iterator[Problem]:
    """Yield mistakes in the messages that the survey fixes."""
    for number, group in enumerate(survey.messages):
        path, questions = ("message", number), [survey.question(id) for id in group.questions]
        problem = parities_problem if group.parities else crossing_problem
        if group.cells and (why := problem(questions)):
            yield Problem((*path, "cells"), "survey.no-cells", value=True, reason=why)
        if group.cells and group.copies > 1:
            yield Problem((*path, "copies"), "survey.copies-of-cells", value=group.copies)
        if group.parities and not group.cells:
            yield Problem((*path, "parities"), "survey.parities-are-cells", value=True)
        for id in without_margin(group, survey.messages):
            yield Problem((*path, "parities"), "survey.only-parities", value=id)
        for question in questions:
            if question.wide and not group.cells:
                id, most = question.id, MOST_TOGETHER
                yield Problem((*path, "questions"), "survey.needs-cells", value=id, most=most)
    for ids in survey.not_held(survey.messages):
        yield Problem("message", "survey.not-together", value=", ".join(ids))


def mistakes(
    error: ValidationError,
    raw: Mapping[str, Any],
    survey: type[Frozen],
    parts: Mapping[str, type[Frozen]],
) -> list[Problem]:
    """Return the errors of pydantic in a raw survey, as problems. parts: the models below the
    survey."""
    errors: list[Any] = [
        {**e, "loc": _as_written(e["loc"], raw)} for e in error.errors() if not _echo(e)
    ]
    return [_problem(e, raw, survey, parts) for e in errors]


def _echo(error: Any) -> bool:
    """Return whether a list is reported as too short only because its items are invalid."""
    too_short = error["type"] == "too_short"
    return too_short and bool(len(error["input"]) >= error["ctx"]["min_length"])


def _as_written(place: tuple[str | int, ...], raw: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Return the place of an error in the TOML file, where codes are keys of questions."""
    if len(place) < 3 or place[0] != "codes" or place[2] not in KEYS:
        return place
    id = raw["codes"][place[1]].get("question")
    numbers = [n for n, q in enumerate(raw["question"]) if _id_of(q) == id]
    return ("question", numbers[0], *place[2:]) if numbers else place


def _of(raw: Mapping[str, Any], place: tuple[str | int, ...]) -> tuple[Of, ...]:
    """Return the question that a place belongs to, the end of its path, if it has an id."""
    if len(place) < 2 or place[0] != "question" or place[-1] == "id":
        return ()
    id = _id_of(raw["question"][place[1]])
    return (Of(id),) if id else ()


def _problem(
    error: Any, raw: Mapping[str, Any], survey: type[Frozen], parts: Mapping[str, type[Frozen]]
) -> Problem:
    """Convert one error of pydantic."""
    place, value = error["loc"], error["input"]
    of = _of(raw, place)
    path = (*place, *of)
    inner = error.get("ctx", {}).get("error")
    if isinstance(inner, Mistake):
        return Problem((*place, *inner.path, *of), inner.message)
    if error["type"] == "missing":
        return Problem(path, "survey.missing-key")
    if error["type"] == "extra_forbidden" and place[0] == "question" and place[-1] in BY_HAND:
        return Problem(path, "survey.design-by-hand")
    if error["type"] == "extra_forbidden":
        hint = _keys(place, raw, survey, parts)
        return Problem(path, "survey.unknown-key", value=value, hint=hint)
    return Problem(path, "survey.unfit", value=value, reason=wording(error))


def _keys(
    location: tuple[str | int, ...],
    raw: Mapping[str, Any],
    survey: type[Frozen],
    parts: Mapping[str, type[Frozen]],
) -> Sentence:
    """Return the keys that are allowed at a place, the most likely first."""
    model = survey
    if "randomizer" in location[:-1]:
        model = fields()
    elif location[0] == "question":
        model = TYPES[raw["question"][location[1]]["type"]]
    elif len(location) > 1:
        model = parts[str(location[0])]
    keys, above = _names_of(model), _names_of(survey)
    if location[-1] in above:
        return sentence("survey.key-of-survey")
    keys += [*KEYS, *([OPTIONS_FILE] if "options" in keys else [])] if "id" in keys else []
    return known_keys(str(location[-1]), keys)


def _names_of(model: type[Frozen]) -> list[str]:
    """Return the keys of a part in the TOML file."""
    return [field.alias or name for name, field in model.model_fields.items()]
