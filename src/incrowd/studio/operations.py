"""Edits of a survey as plain data.

An operation changes the content of a survey file, and whatever refers to what it changes: tables,
regressions, messages, weights and codes. It does not check what the survey itself checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from incrowd.errors import SurveyError, UsageError
from incrowd.studio.document import Raw, same
from incrowd.survey.formulas import BETWEEN, IS, named_id
from incrowd.survey.question import NO_ANSWER
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
        _put(content, last, self.value)


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
        """Remove the question. Raises UsageError if it is not there."""
        gone, there = _existing(content, self.id), ids(content)
        _put_list(content, "question", [each for each in questions(content) if each is not gone])
        _put_list(content, "table", self._tables(content))
        for each in _tables_of(content, "message"):
            _without_name(each, self.id)
        messages = (each for each in _tables_of(content, "message") if each.get("questions") != [])
        _put_list(content, "message", [*messages])
        codes = _tables_of(content, "codes")
        _put_list(content, "codes", [each for each in codes if each.get("question") != self.id])
        if isinstance(content.get("weights"), list):
            _put_list(content, "weights", [each for each in content["weights"] if each != self.id])
        formulas = (each for each in regressions(content) if self._shortened(each, there))
        _put_list(content, "regression", [*formulas])

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
                _put(formula, key, formula[key] or None)
        has_outcome = "outcome" in formula or outcome is None
        return has_outcome and (formula.get("on") != [] or on == [])


@dataclass(frozen=True)
class MoveQuestion:
    """A question to move. step: 1 down, -1 up."""

    id: str
    step: int

    def edit(self, content: Raw) -> None:
        """Move the question; at the end of the list it stays. Raises UsageError if it is gone."""
        asked, order = _existing(content, self.id), questions(content)
        place = next(place for place, each in enumerate(order) if each is asked)
        order.insert(max(place + self.step, 0), order.pop(place))
        content["question"] = order


@dataclass(frozen=True)
class SetQuestion:
    """New values for keys of a question; None removes one.

    renamed: options with a new name. Labels, shares, codes and regressions follow; what belongs to
    a removed option is removed. All references follow a new `id`.
    """

    id: str
    entries: Mapping[str, Any]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def edit(self, content: Raw) -> None:
        """Set the values. Raises UsageError if the question is gone, or its new id is taken."""
        asked, there = _existing(content, self.id), ids(content)
        before = answers(asked), asked.get("optional")
        new = self.entries.get("id", self.id)
        if new != self.id:
            _check_free(content, new)
        if self.renamed:
            _rename_answers(asked, self.renamed)
            for formula in regressions(content):
                self._rename_in_formula(formula, there)
        for key, value in self.entries.items():
            _put(asked, key, value)
        if (answers(asked), asked.get("optional")) != before:
            _fit_answers(asked)
        if new != self.id:
            _rename_question(content, self.id, new, there)

    def _rename_in_formula(self, formula: Raw, there: Sequence[Any]) -> None:
        def variable(id: Any, text: str) -> str:
            answer = text.removeprefix(f"{self.id}{IS}")
            new = self.renamed.get(answer, answer)
            return f"{self.id}{IS}{new}" if id == self.id and answer != text else text

        _replace_variables(formula, there, variable)
        for key in ("reference", "merge"):
            if isinstance(formula.get(key), dict) and self.id in formula[key]:
                formula[key][self.id] = _renamed(formula[key][self.id], self.renamed)


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
        _put_list(content, "table", [*left, *new])


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
            _put_list(content, "regression", [each for each in there if each is not old])
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


def _existing(content: Raw, id: str) -> Raw:
    asked = question(content, id)
    if asked is None:
        raise UsageError.of("question", "studio.no-such-question", value=id)
    return asked


def _check_free(content: Raw, id: str) -> None:
    if id in ids(content):
        raise UsageError.of("id", "studio.id-taken", id=id)


def _put(table: Raw, key: str, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _put_list(content: Raw, key: str, value: list[Any]) -> None:
    _put(content, key, value or None)


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


def _rename_answers(asked: Raw, renamed: Mapping[str, str]) -> None:
    for key in KEYED:
        if isinstance(asked.get(key), dict):
            asked[key] = {renamed.get(name, name): each for name, each in asked[key].items()}
    for key in ("values", "options"):
        if isinstance(asked.get(key), dict | list):
            asked[key] = _renamed(asked[key], renamed)


def _fit_answers(asked: Raw) -> None:
    """Remove labels, shares and codes of answers that a question does not have."""
    if not (there := answers(asked)):
        return
    fitting = {*there, NO_ANSWER}
    for key in (*KEYED, "values"):
        now = asked.get(key)
        if not isinstance(now, dict):
            continue
        left = {
            name: each
            for name, each in now.items()
            if (_plain(each) if key == "values" else name) in fitting
            and (name != NO_ANSWER or key != "shares" or asked.get("optional"))
        }
        _put(asked, key, left if left or not now else None)


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
        _put(each, "question", renamed(each.get("question")))
    for formula in regressions(content):
        _replace_variables(formula, there, variable)
        for key in BY_QUESTION:
            if isinstance(formula.get(key), dict):
                formula[key] = {renamed(id): each for id, each in formula[key].items()}


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
        _put(formula, "outcome", replaced(formula["outcome"]))
    if isinstance(formula.get("on"), list):
        formula["on"] = [new for each in formula["on"] if (new := replaced(each)) is not None]
