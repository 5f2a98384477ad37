"""Changes to the text of a survey file that keep everything else in it, comments included.

A change is plain data. It is defined once, as a function from the parsed file to the parsed file
that is wanted; `edited` writes the difference into the text, and verifies that the result parses
to exactly what was wanted.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tomlkit.exceptions import TOMLKitError

from incrowd.errors import InWords, SurveyError, UsageError
from incrowd.studio.survey_text import (
    Raw,
    mark_of,
    parsed,
    same,
    with_difference,
    with_marks,
    without_mark,
)
from incrowd.survey.formulas import BETWEEN, IS, scored

LISTS = ("question", "table", "regression", "message", "codes")  # written as [[question]]
YES_NO = ("yes", "no")


class SurveyChange(Protocol):
    """A change of a survey."""

    def on(self, raw: Raw) -> Raw:
        """The parsed file after the change; `raw` stays as it is. Raises UsageError."""

    def part(self, raw: Raw) -> Raw:
        """What the change replaces, by name. If it is still the same, the change can be made."""


# --- what a change does to the parsed file --------------------------------------------------------


@dataclass(frozen=True)
class SetValue:
    """A value under nested keys, such as ("privacy", "epsilon"); None removes it."""

    keys: tuple[str, ...]
    value: Any

    def on(self, raw: Raw) -> Raw:
        """The parsed file with the value."""
        return _with_value(raw, self.keys, self.value)

    def part(self, raw: Raw) -> Raw:
        """The value now."""
        value: Any = raw
        for key in self.keys:
            value = value.get(key) if isinstance(value, dict) else None
        return {".".join(self.keys): value}


@dataclass(frozen=True)
class AddQuestion:
    """A new question. after: the id of the question before it; None appends it."""

    entries: Mapping[str, Any]
    after: str | None = None

    def on(self, raw: Raw) -> Raw:
        """The parsed file with the question."""
        id, there = self.entries["id"], ids(raw)
        if id in there:
            raise UsageError.of(
                "id", id, "another question already has this name; use a different one"
            )
        place = there.index(self.after) + 1 if self.after in there else len(there)
        before = questions(raw)
        return raw | {"question": [*before[:place], dict(self.entries), *before[place:]]}

    def part(self, raw: Raw) -> Raw:
        """The question of this name, if there is one already."""
        return {self.entries["id"]: question(raw, self.entries["id"])}


@dataclass(frozen=True)
class RemoveQuestion:
    """A question goes, and what refers to it: from tables, regressions, weights and messages."""

    id: str

    def on(self, raw: Raw) -> Raw:
        """The parsed file without the question."""
        _existing(raw, self.id)
        without = raw | {"question": [q for q in questions(raw) if q.get("id") != self.id]}
        return _without_empty(_without_references(without, self.id, ids(raw)))

    def part(self, raw: Raw) -> Raw:
        """The question."""
        return {self.id: question(raw, self.id)}


@dataclass(frozen=True)
class MoveQuestion:
    """A question moves. step: 1 down, -1 up."""

    id: str
    step: int

    def on(self, raw: Raw) -> Raw:
        """The parsed file in the new order."""
        _existing(raw, self.id)
        order, place = questions(raw), ids(raw).index(self.id)
        other = min(max(place + self.step, 0), len(order) - 1)
        order.insert(other, order.pop(place))
        return raw | {"question": order}

    def part(self, raw: Raw) -> Raw:
        """The question that it changes places with."""
        there = ids(raw)
        if self.id not in there:
            return {self.id: None}
        return {self.id: there[max(there.index(self.id) + self.step, 0) :][:1]}


@dataclass(frozen=True)
class SetQuestion:
    """New values for keys of a question; None removes one.

    renamed: options with a new name. Labels, shares, codes and regressions follow; what belongs to
    a removed option is removed. Tables, regressions, and codes follow a new `id`.
    """

    id: str
    entries: Mapping[str, Any]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def on(self, raw: Raw) -> Raw:
        """The parsed file with the new values."""
        _existing(raw, self.id)
        new_id = self.entries.get("id", self.id)
        if new_id != self.id and new_id in ids(raw):
            raise UsageError.of(
                "id", new_id, "another question already has this name; use a different one"
            )
        before = ids(raw)
        changed = [self._changed(q) if q.get("id") == self.id else q for q in questions(raw)]
        raw = _with_renamed_answers(raw | {"question": changed}, self.id, self.renamed, before)
        if new_id != self.id:
            raw = _with_renamed_question(raw, self.id, new_id, before)
        return _without_empty(raw)

    def _changed(self, asked: Raw) -> Raw:
        follow = {key: _renamed_keys(asked[key], self.renamed) for key in KEYED if key in asked}
        if isinstance(asked.get("values"), dict):
            values = asked["values"].items()
            follow["values"] = {code: self.renamed.get(_plain(a), a) for code, a in values}
        if isinstance(asked.get("options"), list):
            follow["options"] = [self.renamed.get(_plain(each), each) for each in asked["options"]]
        changed = asked | follow | dict(self.entries)
        changed = {key: value for key, value in changed.items() if value is not None}
        return _for_answers(changed) if {"options", "optional"} & {*self.entries} else changed

    def part(self, raw: Raw) -> Raw:
        """The values now."""
        now = question(raw, self.id)
        keys = [*self.entries, *(("options",) if self.renamed else ())]
        return {"question": now and self.id} | {f"{self.id}.{k}": (now or {}).get(k) for k in keys}


@dataclass(frozen=True)
class SetTables:
    """Tables that are wanted from now on, and tables that are no longer wanted, in any order."""

    added: tuple[tuple[str, ...], ...] = ()
    removed: tuple[tuple[str, ...], ...] = ()

    def on(self, raw: Raw) -> Raw:
        """The parsed file with these tables."""
        gone = {frozenset(each) for each in self.removed}
        left = [each for each in tables(raw) if _asked(each) not in gone]
        there = {_asked(each) for each in left}
        new = [{"questions": list(each)} for each in self.added if frozenset(each) not in there]
        return _without_empty(raw | {"table": [*left, *new]})

    def part(self, raw: Raw) -> Raw:
        """Which of these tables are wanted now."""
        there = {_asked(each) for each in tables(raw)}
        named = (*self.added, *self.removed)
        return {", ".join(sorted(each)): frozenset(each) in there for each in named}


@dataclass(frozen=True)
class SetRegression:
    """A regression in the place of another. before: None adds one. after: None removes it."""

    before: Raw | None
    after: Raw | None

    def on(self, raw: Raw) -> Raw:
        """The parsed file with the regression."""
        there = regressions(raw)
        new = [self.after] if self.after else []
        if self.before is None:
            return raw | {"regression": [*there, *new]}
        place = next((n for n, each in enumerate(there) if _marked_same(each, self.before)), None)
        if place is None:
            raise UsageError.of("regression", InWords("is no longer there"), "reload the page")
        left = [{**mark_of(there[place]), **each} for each in new]
        return _without_empty(raw | {"regression": [*there[:place], *left, *there[place + 1 :]]})

    def part(self, raw: Raw) -> Raw:
        """Whether the regression is there."""
        there = [
            each for each in regressions(raw) if self.before and _marked_same(each, self.before)
        ]
        return {"regression": there[:1]}


@dataclass(frozen=True)
class Changes:
    """Several changes at once."""

    changes: tuple[SurveyChange, ...]

    def on(self, raw: Raw) -> Raw:
        """The parsed file after all of them."""
        for each in self.changes:
            raw = each.on(raw)
        return raw

    def part(self, raw: Raw) -> Raw:
        """What all of them replace."""
        parts: Raw = {}
        for each in self.changes:
            parts |= each.part(raw)
        return parts


def conflicts(change: SurveyChange, seen: Raw, now: Raw) -> Iterator[tuple[str, Any, Any]]:
    """Why a change of a page that is out of date cannot be made: each value that it replaces and
    that was changed since, as its name, its old and its new value.

    seen: the parsed file that the page showed. now: the parsed file.
    """
    was, there = change.part(seen), change.part(now)
    wanted = change.part(change.on(seen))
    for name, value in was.items():
        if not same(value, there[name]) and not same(wanted.get(name), there[name]):
            yield name, value, there[name]


# --- the parts of a parsed file, whatever mistakes are in it --------------------------------------


def questions(raw: Raw) -> list[Raw]:
    """The questions."""
    return _tables_of(raw, "question")


def tables(raw: Raw) -> list[Raw]:
    """The wanted tables."""
    return _tables_of(raw, "table")


def regressions(raw: Raw) -> list[Raw]:
    """The wanted regressions."""
    return _tables_of(raw, "regression")


def ids(raw: Raw) -> list[Any]:
    """The ids of the questions, in order."""
    return [each.get("id") for each in questions(raw)]


def question(raw: Raw, id: str) -> Raw | None:
    """The question with an id, or None."""
    return next((each for each in questions(raw) if each.get("id") == id), None)


def answers(asked: Raw) -> tuple[str, ...]:
    """The answers to a question that have names: options, or yes and no."""
    if asked.get("type") == "yesno":
        return YES_NO
    options = asked.get("options")
    return tuple(map(str, options)) if isinstance(options, list) else ()


def names(table: Raw) -> tuple[str, ...]:
    """The ids of the questions of a wanted table."""
    listed = table.get("questions")
    return tuple(map(str, listed)) if isinstance(listed, list) else ()


KEYED = ("labels", "shares")  # by answer


def _tables_of(raw: Raw, root: str) -> list[Raw]:
    value = raw.get(root, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise SurveyError.of(root, value, f"write [[{root}]] before each one; correct the text")
    return list(value)


def _existing(raw: Raw, id: str) -> None:
    if id not in ids(raw):
        raise UsageError.of("question", id, "it is no longer in the survey; reload the page")


def _with_value(raw: Raw, keys: Sequence[str], value: Any) -> Raw:
    first, *rest = keys
    if rest:
        inner = raw.get(first)
        value = _with_value(inner if isinstance(inner, dict) else {}, rest, value)
    if value is None:
        return {key: each for key, each in raw.items() if key != first}
    return raw | {first: value}


def _without_empty(raw: Raw) -> Raw:
    return {key: value for key, value in raw.items() if key not in LISTS or value != []}


def _asked(table: Raw) -> frozenset[str]:
    return frozenset(names(table))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else repr(value)


def _renamed_keys(value: Any, renamed: Mapping[str, str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {renamed.get(key, key): each for key, each in value.items()}


def _for_answers(asked: Raw) -> Raw:
    """A question without labels, shares and codes of answers that it does not have."""
    there = answers(asked)
    if not there:
        return asked
    there = (*there, "no answer")
    fitting = {
        key: {answer: each for answer, each in asked[key].items() if answer in there}
        for key in KEYED
        if isinstance(asked.get(key), dict)
    }
    if not asked.get("optional") and "no answer" in fitting.get("shares", {}):
        fitting["shares"] = {a: s for a, s in fitting["shares"].items() if a != "no answer"}
    if isinstance(asked.get("values"), dict):
        pairs = asked["values"].items()
        fitting["values"] = {code: answer for code, answer in pairs if _plain(answer) in there}
    emptied = {key for key, value in fitting.items() if not value and asked[key]}
    return {key: value for key, value in (asked | fitting).items() if key not in emptied}


# What refers to a question or to an answer.


def _with_renamed_question(raw: Raw, old: str, new: str, there: Sequence[Any]) -> Raw:
    def name(each: Any) -> Any:
        return new if each == old else each

    changed: Raw = {}
    for root in ("table", "message"):
        if root in raw:
            changed[root] = [_with_names(each, name) for each in _tables_of(raw, root)]
    if isinstance(raw.get("weights"), list):
        changed["weights"] = [name(each) for each in raw["weights"]]
    if "codes" in raw:
        of = (each for each in _tables_of(raw, "codes"))
        changed["codes"] = [
            each | ({"question": new} if each.get("question") == old else {}) for each in of
        ]
    if "regression" in raw:
        changed["regression"] = [
            _with_variables(
                _with_keys(each, old, new),
                there,
                lambda id, text: text.replace(old, new, 1) if id == old else text,
            )
            for each in regressions(raw)
        ]
    return raw | changed


def _with_names(table: Raw, name: Any) -> Raw:
    names = table.get("questions")
    return (
        table | {"questions": [name(each) for each in names]} if isinstance(names, list) else table
    )


BY_QUESTION = ("reference", "predictor_scores", "merge")  # keys of a regression


def _with_keys(formula: Raw, old: str, new: str) -> Raw:
    by = {key: formula[key] for key in BY_QUESTION if isinstance(formula.get(key), dict)}
    return formula | {
        key: {new if id == old else id: each for id, each in value.items()}
        for key, value in by.items()
    }


def _with_renamed_answers(
    raw: Raw, id: str, renamed: Mapping[str, str], there: Sequence[Any]
) -> Raw:
    if not renamed or "regression" not in raw:
        return raw

    def variable(of: Any, text: str) -> str:
        answer = text.removeprefix(f"{id}{IS}")
        return f"{id}{IS}{renamed.get(answer, answer)}" if of == id and answer != text else text

    def answer(formula: Raw) -> Raw:
        reference, merge, changed = formula.get("reference"), formula.get("merge"), {}
        if isinstance(reference, dict) and id in reference:
            changed["reference"] = reference | {id: renamed.get(reference[id], reference[id])}
        if isinstance(merge, dict) and id in merge:
            changed["merge"] = merge | {id: _renamed_inside(merge[id], renamed)}
        return formula | changed

    return raw | {
        "regression": [_with_variables(answer(each), there, variable) for each in regressions(raw)]
    }


def _renamed_inside(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed_inside(each, renamed) for each in value]
    if isinstance(value, dict):
        return {key: _renamed_inside(each, renamed) for key, each in value.items()}
    return renamed.get(value, value)


def variable_of(text: str, there: Iterable[Any]) -> Any:
    """The id of the question that one variable of a formula is about, or None.

    there: the ids of all questions. `q`, `q=answer` and `score(q)` are about q.
    """
    there = [each for each in there if isinstance(each, str)]
    if text in there:
        return text
    if score := next((id for id in there if text == scored(id)), None):
        return score
    fitting = [id for id in there if text.startswith(f"{id}{IS}")]
    return min(fitting, key=len, default=None)


def variables_of(text: str, there: Sequence[Any]) -> tuple[str, ...]:
    """The variables of a predictor: one, or those of an interaction."""
    split = tuple(map(str.strip, text.split(BETWEEN)))
    if len(split) > 1 and all(variable_of(each, there) is not None for each in split):
        return split
    return (text,)


def _with_variables(formula: Raw, there: Sequence[Any], variable: Any) -> Raw:
    """A regression whose variables are replaced by variable(id, text)."""

    def text(each: Any) -> Any:
        if not isinstance(each, str):
            return each
        parts = variables_of(each, there)
        changed = [variable(variable_of(part, there), part) for part in parts]
        return each if changed == list(parts) else BETWEEN.join(changed)

    changed: Raw = {}
    if "outcome" in formula:
        changed["outcome"] = text(formula["outcome"])
    if isinstance(formula.get("on"), list):
        changed["on"] = [text(each) for each in formula["on"]]
    return formula | changed


def _without_references(raw: Raw, id: str, there: Sequence[Any]) -> Raw:
    changed: Raw = {}
    if "table" in raw:
        changed["table"] = _without_question(tables(raw), id)
    if "message" in raw:
        shorter = (_with_names_without(each, id) for each in _tables_of(raw, "message"))
        changed["message"] = [each for each in shorter if each.get("questions") != []]
    if isinstance(raw.get("weights"), list):
        changed["weights"] = [each for each in raw["weights"] if each != id]
    if "codes" in raw:
        changed["codes"] = [e for e in _tables_of(raw, "codes") if e.get("question") != id]
    if "regression" in raw:
        formulas = (_formula_without(each, id, there) for each in regressions(raw))
        changed["regression"] = [each for each in formulas if each]
    without = raw | changed
    return without if without.get("weights") != [] else _with_value(without, ("weights",), None)


def _without_question(wanted: Sequence[Raw], id: str) -> list[Raw]:
    """Tables without a question; those of one question, and those that are there, are left out."""
    left: list[Raw] = []
    whole = {_asked(each) for each in wanted if id not in _asked(each)}
    for each in wanted:
        shorter = _with_names_without(each, id)
        if shorter is each:
            left.append(each)
        elif len(_asked(shorter)) > 1 and _asked(shorter) not in whole:
            whole.add(_asked(shorter))
            left.append(shorter)
    return left


def _with_names_without(table: Raw, id: str) -> Raw:
    names = table.get("questions")
    if not isinstance(names, list) or id not in names:
        return table
    return table | {"questions": [each for each in names if each != id]}


def _formula_without(formula: Raw, id: str, there: Sequence[Any]) -> Raw | None:
    """A regression without a question; None if its outcome or all its predictors were about it."""

    def about(text: Any) -> bool:
        parts = variables_of(text, there) if isinstance(text, str) else ()
        return any(variable_of(part, there) == id for part in parts)

    if about(formula.get("outcome")):
        return None
    on = formula.get("on")
    changed: Raw = {}
    if isinstance(on, list):
        changed["on"] = [each for each in on if not about(each)]
        if on and not changed["on"]:
            return None
    emptied = set()
    for key in BY_QUESTION:
        if isinstance(formula.get(key), dict) and id in formula[key]:
            changed[key] = {of: each for of, each in formula[key].items() if of != id}
            emptied |= set() if changed[key] else {key}
    return {key: each for key, each in (formula | changed).items() if key not in emptied}


def _marked_same(table: Raw, other: Raw) -> bool:
    return same(without_mark(table), other)


# --- from the parsed file to the text -------------------------------------------------------------


def edited(text: str, change: SurveyChange) -> str:
    """The text after a change. Raises SurveyError if the text is not TOML, or is written in a way
    that the change cannot be written into; then the text has to be changed by hand."""
    if "\r\n" in text:
        return edited(text.replace("\r\n", "\n"), change).replace("\n", "\r\n")
    raw = parsed(text)
    wanted = change.on(raw)
    try:
        result = with_difference(text, raw, change.on(with_marks(raw)))
        right = same(tomllib.loads(result), wanted)
    except (TOMLKitError, tomllib.TOMLDecodeError, LookupError, TypeError, ValueError):
        right = False
    if not right:
        why = "the file is written in a way that this change does not fit; edit its text"
        raise SurveyError.of("survey", InWords("cannot be changed here"), why)
    return result
