"""Edits of a survey as plain data.

An operation changes the content of a survey file, and whatever refers to what it changes: tables,
regressions, messages, weights, codes and conditions. It does not check what the survey itself
checks, except for an order of questions, or a missing question, that conditions do not allow.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from incrowd.errors import SurveyError, UsageError
from incrowd.studio.document import Raw, same
from incrowd.survey.conditions import (
    AnswerComparison,
    Condition,
    IsAnswer,
    comparisons,
    read_condition,
    with_comparisons,
)
from incrowd.survey.formulas import BETWEEN, IS, named_id
from incrowd.survey.layout import with_layout
from incrowd.survey.question import NO_ANSWER, NOT_ASKED
from incrowd.survey.questions import type_of

KEYED = ("labels", "shares")  # keys of a question: tables by answer
BY_QUESTION = ("reference", "predictor_scores", "merge")  # keys of a regression: tables by question


@dataclass(frozen=True)
class SetValue:
    """A value under nested keys, such as ("privacy", "epsilon"); None removes it."""

    keys: tuple[str, ...]
    value: Any

    def edit(self, content: Raw) -> None:
        """Set the value."""
        *outer, last = self.keys
        for key in outer:
            if not isinstance(content.get(key), dict):
                content[key] = {}
            content = content[key]
        put_value(content, last, self.value)


@dataclass(frozen=True)
class SetEntries:
    """Values of a table of the survey, such as "columns"; None removes one, and the last one that
    is removed the table."""

    table: str
    entries: Mapping[str, Any]

    def edit(self, content: Raw) -> None:
        """Set the values."""
        before = content.get(self.table)
        stated = before if isinstance(before, dict) else {}
        for key, value in self.entries.items():
            put_value(stated, key, value)
        put_value(content, self.table, stated or None)


@dataclass(frozen=True)
class AddQuestion:
    """A new question, at the end."""

    entries: Mapping[str, Any]

    def edit(self, content: Raw) -> None:
        """Append the question. Raises UsageError if its id is taken."""
        _check_free(content, self.entries["id"])
        content["question"] = [*questions(content), dict(self.entries)]


@dataclass(frozen=True)
class RemoveQuestion:
    """A question to remove, with all references to it."""

    id: str

    def edit(self, content: Raw) -> None:
        """Remove the question. Raises UsageError if it is not there, or decides whom others are
        asked."""
        gone, there, opened = existing(content, self.id), ids(content), _opened(content)
        if dependent := [name for name in dependents(content, self.id) if name != self.id]:
            raise UsageError.of("question", "studio.deciding", value=self.id, dependent=dependent)
        parts_before = [_parts_used(content, kind) for kind in PARTS]
        put_tables(content, "question", [each for each in questions(content) if each is not gone])
        for kind, used in zip(PARTS, parts_before, strict=True):
            empty = used - _parts_used(content, kind)
            filled = [each for each in parts(content, kind) if each.get("id") not in empty]
            put_tables(content, kind, filled)
        put_tables(content, "table", self._tables(content))
        for each in _tables_of(content, "message"):
            _without_name(each, self.id)
        messages = (each for each in _tables_of(content, "message") if each.get("questions") != [])
        put_tables(content, "message", [*messages])
        codes = _tables_of(content, "codes")
        put_tables(content, "codes", [each for each in codes if each.get("question") != self.id])
        if isinstance(content.get("weights"), list):
            left = [each for each in content["weights"] if each != self.id]
            put_value(content, "weights", left or None)
        formulas = (each for each in regressions(content) if self._shortened(each, there))
        put_tables(content, "regression", [*formulas])
        _fit_groups(content, opened)

    def _tables(self, content: Raw) -> list[Raw]:
        """Return the tables without the question and without repeats,
        except those of one question."""
        left = []
        there = {_set_of(each) for each in tables(content) if self.id not in names(each)}
        for each in tables(content):
            if self.id in names(each):
                _without_name(each, self.id)
                if len(_set_of(each)) < 2 or _set_of(each) in there:
                    continue
                there.add(_set_of(each))
            left.append(each)
        return left

    def _shortened(self, formula: Raw, there: Sequence[Any]) -> bool:
        """Remove the question from a regression; return whether outcome and predictors are left."""
        outcome, on = formula.get("outcome"), formula.get("on")
        _replace_variables(formula, there, lambda id, text: None if id == self.id else text)
        for key in BY_QUESTION:
            if isinstance(formula.get(key), dict) and formula[key].pop(self.id, None) is not None:
                put_value(formula, key, formula[key] or None)
        has_outcome = "outcome" in formula or outcome is None
        return has_outcome and (formula.get("on") != [] or on == [])


@dataclass(frozen=True)
class MoveQuestion:
    """A question to move. step: 1 down, -1 up.

    It stays in its section and its matrix, and skips others as a whole.
    """

    id: str
    step: int

    def edit(self, content: Raw) -> None:
        """Move the question; at the end of the list it stays. Raises UsageError if it is gone, or
        would be asked before a question that decides about it."""
        asked, there = existing(content, self.id), questions(content)
        place = next(place for place, each in enumerate(there) if each is asked)
        move(content, range(place, place + 1), self.step)


@dataclass(frozen=True)
class PlaceQuestion:
    """A question to move to the place before another one. before: "" for the end.

    It stays in its section and its matrix, and skips others as a whole, as with single steps.
    """

    id: str
    before: str

    def edit(self, content: Raw) -> None:
        """Move the question. Raises UsageError if one of both is gone, or it would be asked before
        a question that decides about it."""
        asked = existing(content, self.id)
        target = existing(content, self.before) if self.before else None
        step, steps = 0, len(questions(content))
        for _ in range(steps):
            order = questions(content)
            place = next(place for place, each in enumerate(order) if each is asked)
            end = next((place for place, each in enumerate(order) if each is target), steps)
            distance = end - place - (end > place)
            if not distance or distance * step < 0:  # it is there, or has skipped a part with it
                return
            step = 1 if distance > 0 else -1
            move(content, range(place, place + 1), step)
            if all(map(operator.is_, order, questions(content))):  # the end of its part
                return


@dataclass(frozen=True)
class SetQuestion:
    """New values for keys of a question; None removes one.

    renamed: options with a new name. Labels, shares, codes and regressions follow; what belongs to
    a removed option is removed. All references follow a new `id`. The sizes of groups go if other
    questions form the groups.
    """

    id: str
    entries: Mapping[str, Any]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def edit(self, content: Raw) -> None:
        """Set the values. Raises UsageError if the question is gone, or its new id is taken."""
        asked, there = existing(content, self.id), ids(content)
        before, opened = (answers(asked), _states(asked)), _opened(content)
        new = self.entries.get("id", self.id)
        if new != self.id:
            _check_free(content, new)
        if self.renamed:
            rename_answers(content, asked, self.id, self.renamed)
        for key, value in self.entries.items():
            put_value(asked, key, value)
        if (answers(asked), _states(asked)) != before:
            fit_answers(asked)
        if new != self.id:
            _rename_question(content, self.id, new, there)
        for kind in PARTS:
            if kind in self.entries:
                join(content, [asked], kind)
        _fit_groups(content, [new if each == self.id else each for each in opened])


@dataclass(frozen=True)
class SetTables:
    """Tables to request, and tables that are no longer requested; their order does not matter."""

    added: tuple[tuple[str, ...], ...] = ()
    removed: tuple[tuple[str, ...], ...] = ()

    def edit(self, content: Raw) -> None:
        """Add and remove the tables."""
        gone = {frozenset(each) for each in self.removed}
        left = [each for each in tables(content) if _set_of(each) not in gone]
        there = {_set_of(each) for each in left}
        new = [{"questions": [*each]} for each in self.added if frozenset(each) not in there]
        put_tables(content, "table", [*left, *new])


@dataclass(frozen=True)
class SetRegression:
    """A regression in place of another. before: None adds one. after: None removes it."""

    before: Raw | None
    after: Raw | None

    def edit(self, content: Raw) -> None:
        """Replace the regression. Raises UsageError if it is not there."""
        there = regressions(content)
        if self.before is None:
            content["regression"] = [*there, dict(self.after or {})]
            return
        old = next((each for each in there if same(each, self.before)), None)
        if old is None:
            raise UsageError.of("regression", "studio.gone")
        if self.after is None:
            put_tables(content, "regression", [each for each in there if each is not old])
            return
        old.clear()
        old.update(self.after)


# --- the parts of a content, whatever mistakes are in it ------------------------------------------


def questions(content: Raw) -> list[Raw]:
    """Return the questions."""
    return _tables_of(content, "question")


def tables(content: Raw) -> list[Raw]:
    """Return the requested tables."""
    return _tables_of(content, "table")


def regressions(content: Raw) -> list[Raw]:
    """Return the requested regressions."""
    return _tables_of(content, "regression")


def ids(content: Raw) -> list[Any]:
    """Return the ids of the questions, in order."""
    return [each.get("id") for each in questions(content)]


def question(content: Raw, id: str) -> Raw | None:
    """Return the question with an id, or None."""
    return next((each for each in questions(content) if each.get("id") == id), None)


def answers(asked: Raw) -> tuple[str, ...]:
    """Return the answers to choose from in a question, as far as they can be read."""
    kind = type_of(asked)
    return kind.listed_answers(asked) if kind else ()


def names(table: Raw) -> tuple[str, ...]:
    """Return the ids of the questions of a requested table."""
    listed = table.get("questions")
    return tuple(map(str, listed)) if isinstance(listed, list) else ()


PARTS = ("section", "matrix")


def parts(content: Raw, kind: str) -> list[Raw]:
    """Return the sections or the matrices. kind: one of PARTS."""
    return _tables_of(content, kind)


def part(content: Raw, kind: str, id: str) -> Raw | None:
    """Return a section or a matrix by its id, or None."""
    return next((each for each in parts(content, kind) if each.get("id") == id), None)


def whole_questions(content: Raw) -> list[Raw]:
    """Return the questions with what their sections and matrices state for them."""
    return questions(with_layout(content))


def _parts_used(content: Raw, kind: str) -> set[Any]:
    """Return the ids of the sections or the matrices that have questions."""
    return {each[kind] for each in whole_questions(content) if isinstance(each.get(kind), str)}


def condition_of(table: Raw) -> Condition | None:
    """Return the condition of a question, a section or a matrix, if it can be read."""
    text = table.get("asked_if")
    try:
        return read_condition(text) if isinstance(text, str) else None
    except ValueError:
        return None


def conditional(content: Raw) -> Iterator[Raw]:
    """Yield the questions, sections and matrices that have a condition."""
    for each in (*questions(content), *(each for kind in PARTS for each in parts(content, kind))):
        if "asked_if" in each:
            yield each


def dependents(content: Raw, id: str) -> list[str]:
    """Return the ids of the questions that are asked depending on the answer to a question."""
    return [
        str(each.get("id"))
        for each in whole_questions(content)
        if (condition := condition_of(each))
        and any(comparison.question == id for comparison in comparisons(condition))
    ]


# --- the order of questions -----------------------------------------------------------------------


def _blocks(order: Sequence[Raw], whole: Mapping[int, Raw], level: int) -> list[range]:
    """Return the places of the sections (level 0), matrices (1) or questions (2) in an order.

    Whatever is in no section or matrix is a block of its own.
    """

    def block(place: int) -> tuple[Any, ...]:
        section, matrix = (whole[id(order[place])].get(kind) for kind in PARTS)
        alone = ("", place)
        return (section or ("", matrix or alone), matrix or alone, place)[: level + 1]

    runs = (list(run) for _, run in groupby(range(len(order)), block))
    return [range(run[0], run[-1] + 1) for run in runs]


def move(content: Raw, places: range, step: int) -> None:
    """Move the questions at some places up or down, beyond the section, matrix or question that is
    next to them in the same part. Raises UsageError if conditions do not allow the new order."""
    order = questions(content)
    whole = {id(each): full for each, full in zip(order, whole_questions(content), strict=True)}
    level = next(level for level in range(3) if places in _blocks(order, whole, level))
    blocks = _blocks(order, whole, level)
    place = blocks.index(places)
    around = next(run for run in _blocks(order, whole, level - 1) if places[0] in run)
    other = place + step
    if not 0 <= other < len(blocks) or blocks[other][0] not in around:
        return
    blocks.insert(other, blocks.pop(place))
    reorder(content, [order[at] for block in blocks for at in block])


def reorder(content: Raw, order: Sequence[Raw]) -> None:
    """Write the questions in another order. Raises UsageError if a question would then be asked
    before one that decides about it, and was not before."""
    there = _wrong_pairs(content)
    content["question"] = [*order]
    for later, deciding in _wrong_pairs(content):
        if (later, deciding) not in there:
            raise UsageError.of("question", "studio.asked-before", value=later, deciding=deciding)


def _wrong_pairs(content: Raw) -> list[tuple[str, str]]:
    """Return each question that is not asked after one that decides about it, with that one."""
    wrong, before = [], set()
    for each in whole_questions(content):
        condition, id = condition_of(each), str(each.get("id"))
        deciding = {one.question for one in comparisons(condition)} if condition else ()
        wrong += [(id, one) for one in deciding if one not in before]
        before.add(id)
    return wrong


def join(content: Raw, members: Sequence[Raw], kind: str) -> None:
    """Move questions together: to the others of their section or matrix, or out of one that they
    left. Raises UsageError if conditions do not allow the new order."""
    there, whole = questions(content), whole_questions(content)
    part_of = {id(each): full.get(kind) for each, full in zip(there, whole, strict=True)}
    gone = [id(each) for each in members]
    order = [each for each in there if id(each) not in gone]
    of, parts_there = part_of[gone[0]], [part_of[id(each)] for each in order]
    if of is not None and of in parts_there:
        place = len(order) - parts_there[::-1].index(of)
    else:
        place = next(place for place, each in enumerate(there) if id(each) in gone)
        while 0 < place < len(order) and None is not parts_there[place] == parts_there[place - 1]:
            place += 1  # not within another part
    reorder(content, [*order[:place], *members, *order[place:]])


def variable_of(text: str, there: Iterable[Any]) -> str | None:
    """Return the id of the question that one variable of a formula is about, or None.

    there: the ids of all questions, whatever they are in the file.
    """
    return named_id(text, [each for each in there if isinstance(each, str)])


def variables_of(text: str, there: Sequence[Any]) -> tuple[str, ...]:
    """Return the variables of a predictor: one, or those of an interaction."""
    split = tuple(map(str.strip, text.split(BETWEEN)))
    if len(split) > 1 and all(variable_of(each, there) is not None for each in split):
        return split
    return (text,)


def _tables_of(content: Raw, root: str) -> list[Raw]:
    value = content.get(root, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise SurveyError.of(root, "studio.not-tables", value=value, root=root)
    return [*value]


def existing(content: Raw, id: str) -> Raw:
    """Return the question with an id. Raises UsageError if it is not there."""
    asked = question(content, id)
    if asked is None:
        raise UsageError.of("question", "studio.no-such-question", value=id)
    return asked


def _check_free(content: Raw, id: str) -> None:
    if id in ids(content):
        raise UsageError.of("id", "studio.id-taken", id=id)


def put_value(table: Raw, key: str, value: Any) -> None:
    """Set a key of a table; None removes it."""
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def put_tables(content: Raw, key: str, value: list[Raw]) -> None:
    """Set a list of tables; an empty one is removed."""
    put_value(content, key, value or None)


def _opened(content: Raw) -> list[Any]:
    """Return the ids of the open questions, which divide people into groups."""
    return [each.get("id") for each in whole_questions(content) if each.get("open") is True]


def _fit_groups(content: Raw, opened: Sequence[Any]) -> None:
    """Remove the sizes of groups if other questions form the groups now. opened: the ids of the
    questions that formed them before."""
    people = content.get("people")
    if isinstance(people, dict) and set(map(str, opened)) != set(map(str, _opened(content))):
        people.pop("groups", None)


def _without_name(table: Raw, id: str) -> None:
    if isinstance(table.get("questions"), list):
        table["questions"] = [each for each in table["questions"] if each != id]


def _set_of(table: Raw) -> frozenset[str]:
    return frozenset(names(table))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else repr(value)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value in which answers have new names; keys of tables stay."""
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    if isinstance(value, dict):
        return {key: _renamed(each, names) for key, each in value.items()}
    return names.get(_plain(value), value)


def rename_answers(content: Raw, table: Raw, id: str, renamed: Mapping[str, str]) -> None:
    """Rename answers to a question, and whatever refers to them. table: where they are listed: the
    question, or its matrix."""
    _rename_listed(table, renamed)
    there = ids(content)

    def variable(of: Any, text: str) -> str:
        answer = text.removeprefix(f"{id}{IS}")
        new = renamed.get(answer, answer)
        return f"{id}{IS}{new}" if of == id and answer != text else text

    def comparison(each: AnswerComparison) -> AnswerComparison:
        if isinstance(each, IsAnswer) and each.question == id:
            return replace(each, answer=renamed.get(each.answer, each.answer))
        return each

    for formula in regressions(content):
        _replace_variables(formula, there, variable)
        for key in ("reference", "merge"):
            if isinstance(formula.get(key), dict) and id in formula[key]:
                formula[key][id] = _renamed(formula[key][id], renamed)
    _replace_comparisons(content, comparison)


def _replace_comparisons(
    content: Raw, replaced: Callable[[AnswerComparison], AnswerComparison]
) -> None:
    """Replace the comparisons in all conditions that can be read."""
    for each in conditional(content):
        before = condition_of(each)
        if before is not None and (after := with_comparisons(before, replaced)) != before:
            each["asked_if"] = str(after)


def _rename_listed(asked: Raw, renamed: Mapping[str, str]) -> None:
    if "other" in asked:
        asked["other"] = _renamed(asked["other"], renamed)
    for key in KEYED:
        if isinstance(asked.get(key), dict):
            asked[key] = {renamed.get(name, name): each for name, each in asked[key].items()}
    for key in ("values", "options"):
        if isinstance(asked.get(key), dict | list):
            asked[key] = _renamed(asked[key], renamed)


def _states(asked: Raw) -> dict[str, bool]:
    """Return whether "no answer" and "not asked" are answers to a question."""
    return {NO_ANSWER: bool(asked.get("optional")), NOT_ASKED: "asked_if" in asked}


def fit_answers(asked: Raw) -> None:
    """Remove labels, shares and codes of answers that a question does not have."""
    if not (there := answers(asked)):
        return
    if asked.get("other") not in there:
        asked.pop("other", None)
    states = {state for state, possible in _states(asked).items() if possible}
    fitting = {
        "labels": {*there, *states},
        "shares": {*there, *states} - {NOT_ASKED},
        "values": {*there, NO_ANSWER},
    }
    for key in (*KEYED, "values"):
        now = asked.get(key)
        if not isinstance(now, dict):
            continue
        left = {
            name: each
            for name, each in now.items()
            if (_plain(each) if key == "values" else name) in fitting[key]
        }
        put_value(asked, key, left if left or not now else None)


def _rename_question(content: Raw, old: str, new: str, there: Sequence[Any]) -> None:
    """Let all references follow a question to its new id."""

    def renamed(id: Any) -> Any:
        return new if id == old else id

    def variable(id: Any, text: str) -> str:
        return text.replace(old, new, 1) if id == old else text

    for each in (*tables(content), *_tables_of(content, "message")):
        if isinstance(each.get("questions"), list):
            each["questions"] = [renamed(id) for id in each["questions"]]
    if isinstance(content.get("weights"), list):
        content["weights"] = [renamed(each) for each in content["weights"]]
    for each in _tables_of(content, "codes"):
        put_value(each, "question", renamed(each.get("question")))
    for formula in regressions(content):
        _replace_variables(formula, there, variable)
        for key in BY_QUESTION:
            if isinstance(formula.get(key), dict):
                formula[key] = {renamed(id): each for id, each in formula[key].items()}
    _replace_comparisons(content, lambda each: replace(each, question=renamed(each.question)))


def _replace_variables(
    formula: Raw, there: Sequence[Any], variable: Callable[[Any, str], str | None]
) -> None:
    """Replace each variable of a regression with variable(id, text); None removes its predictor."""

    def replaced(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        parts = variables_of(text, there)
        new = [variable(variable_of(part, there), part) for part in parts]
        if new == [*parts]:
            return text
        return None if None in new else BETWEEN.join(filter(None, new))

    if "outcome" in formula:
        put_value(formula, "outcome", replaced(formula["outcome"]))
    if isinstance(formula.get("on"), list):
        formula["on"] = [new for each in formula["on"] if (new := replaced(each)) is not None]
