"""Changes to the text of a survey file that keep everything else in it, comments included.

A change is plain data. It is defined once, as a function from the parsed file to the parsed file
that is wanted; `edited` writes the difference into the text, and verifies that the result parses
to exactly what was wanted.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Item

from incrowd.errors import InWords, SurveyError, UsageError
from incrowd.survey.formulas import BETWEEN, IS, scored

Raw = dict[str, Any]  # a parsed survey file, or one of its tables
LISTS = ("question", "table", "regression", "message", "codes")  # written as [[question]]
YES_NO = ("yes", "no")
WIDTH = 96  # a value that makes its line longer is written on several


class Change(Protocol):
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
            raise UsageError.of("id", id, "another question has this name; use another one")
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
    an option that is no more goes. A new `id` is followed by tables, regressions and codes.
    """

    id: str
    entries: Mapping[str, Any]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def on(self, raw: Raw) -> Raw:
        """The parsed file with the new values."""
        _existing(raw, self.id)
        new_id = self.entries.get("id", self.id)
        if new_id != self.id and new_id in ids(raw):
            raise UsageError.of("id", new_id, "another question has this name; use another one")
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
    """Tables that are wanted from now on, and those that are not any more, in any order."""

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
            raise UsageError.of(
                "regression", InWords("is not there any more"), "load the page again"
            )
        left = [{**_mark(there[place]), **each} for each in new]
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

    changes: tuple[Change, ...]

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


def conflict(change: Change, seen: Raw, now: Raw) -> tuple[str, Any, Any] | None:
    """Why a change of a page that is out of date cannot be made: what, its old and its new value.

    seen: the parsed file that the page showed. now: the parsed file.
    """
    was, there = change.part(seen), change.part(now)
    wanted = change.part(change.on(seen))
    for name, value in was.items():
        if not _same(value, there[name]) and not _same(wanted.get(name), there[name]):
            return name, value, there[name]
    return None


def without_comment(text: str, comment: str) -> str:
    """The text without a comment: its line, or its part of one. Everything else stays."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.strip() == comment:
            return "".join([*lines[:number], *lines[number + 1 :]])
        if line.rstrip().endswith(comment) and not line.lstrip().startswith("#"):
            rest = line.rstrip().removesuffix(comment).rstrip(" ;#")
            shorter = f"{rest}{line[len(line.rstrip()) :]}"
            changed = "".join([*lines[:number], shorter, *lines[number + 1 :]])
            return changed if _same(parsed(changed), parsed(text)) else text
    return text


class Comment(NamedTuple):
    """A comment of a file. id: of the question that it is directly above, or "". beside: what is
    on the same line."""

    text: str
    id: str
    beside: str


def comments(text: str) -> Iterator[Comment]:
    """The comments of a file. Raises ValueError or LookupError if it is not TOML."""
    for block in _blocks(text.replace("\r\n", "\n")):
        id = ""
        if block.root == "question":
            id = str(tomllib.loads(block.body)["question"][0].get("id", ""))
        for part, about in ((block.lead, id), (block.body, ""), (block.rest, "")):
            for token in _TOKEN.finditer(part):
                if token.group().startswith("#"):
                    line = part[: token.start()].rpartition("\n")[2].strip()
                    yield Comment(token.group().rstrip(), about, line)


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
        raise UsageError.of("question", id, "it is not in the survey any more; load the page again")


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


# --- from the parsed file to the text -------------------------------------------------------------


def parsed(text: str) -> Raw:
    """The parsed text. Raises SurveyError if it is not TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise SurveyError.of(
            "survey", InWords(f"is not TOML: {error}"), "correct the text"
        ) from None


def set_value(text: str, keys: tuple[str, ...], value: Any) -> str:
    """The text with a value under nested keys, such as ("privacy", "epsilon"); None removes it.

    Raises SurveyError if the text is not TOML.
    """
    return edited(text, SetValue(keys, value))


def edited(text: str, change: Change) -> str:
    """The text after a change. Raises SurveyError if the text is not TOML, or is written in a way
    that the change cannot be written into; then the text has to be changed by hand."""
    if "\r\n" in text:
        return edited(text.replace("\r\n", "\n"), change).replace("\n", "\r\n")
    raw = parsed(text)
    wanted = change.on(raw)
    try:
        result = _with_difference(text, raw, change.on(_with_marks(raw)))
        right = _same(tomllib.loads(result), wanted)
    except (TOMLKitError, tomllib.TOMLDecodeError, LookupError, TypeError, ValueError):
        right = False
    if not right:
        why = "the file is written in a way that this change does not fit; edit its text"
        raise SurveyError.of("survey", InWords("cannot be changed here"), why)
    return result


_PLACE = "\0place"  # the key of a marked table: its number in the file


def _with_marks(raw: Raw) -> Raw:
    """The parsed file with the place of each table in its list, which changes carry along."""
    return {
        key: [
            each | {_PLACE: n} if isinstance(each, dict) else each for n, each in enumerate(value)
        ]
        if isinstance(value, list)
        else value
        for key, value in raw.items()
    }


def _mark(table: Raw) -> Raw:
    return {_PLACE: table[_PLACE]} if _PLACE in table else {}


def _without_mark(table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    return {key: value for key, value in table.items() if key != _PLACE}


def _marked_same(table: Raw, other: Raw) -> bool:
    return _same(_without_mark(table), other)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same in TOML, where 1, 1.0 and true differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and (one == other or repr(one) == repr(other))


@dataclass(frozen=True)
class _Block:
    """A table of the file as text: the comments above it, its lines, and what follows up to the
    next one: empty lines, and comments that belong to neither. root: its first name; "" for what
    is above all tables."""

    root: str
    nested: bool
    lead: str
    body: str
    rest: str


_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})|'
    r"'''.*?'''(?:'{0,2})|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)


def _headers(text: str) -> Iterator[int]:
    """The places where the lines begin that name a table, such as [privacy]."""
    depth = start = 0
    for token in _TOKEN.finditer(text):
        shown = token.group()
        if shown == "[" and not depth and not text[start : token.start()].strip():
            yield start
        if shown == "\n":
            start = token.end()
        elif shown in "[{":
            depth += 1
        elif shown in "]}":
            depth -= 1


def _blocks(text: str) -> list[_Block]:
    """The tables of a file, each with the tables within it; together they are the text."""
    starts = [0, *_headers(text), len(text)]
    pieces = [text[a:b] for a, b in pairwise(starts)]
    blocks: list[_Block] = []
    lead = ""
    for number, piece in enumerate(pieces):
        body, rest = _without_tail(piece)
        last = number == len(pieces) - 1
        rest, following = (rest, "") if last else _with_lead(rest)
        attached = _attached(rest)
        body, rest = body + attached, rest[len(attached) :]
        root, nested = _root(body) if number else ("", False)
        if nested and blocks and blocks[-1].root == root:
            before = blocks.pop()
            inner = before.body + before.rest + lead + body
            blocks.append(replace(before, body=inner, rest=rest))
        else:
            blocks.append(_Block(root, nested, lead, body, rest))
        lead = following
    return blocks


def _without_tail(piece: str) -> tuple[str, str]:
    """A piece without the empty lines and comments at its end, and these."""
    lines = piece.splitlines(keepends=True)
    last = len(lines)
    while last and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1
    return "".join(lines[:last]), "".join(lines[last:])


def _with_lead(tail: str) -> tuple[str, str]:
    """What follows a table, and the comments directly above the next one."""
    lines = tail.splitlines(keepends=True)
    last = len(lines)
    while last and lines[last - 1].strip():
        last -= 1
    return "".join(lines[:last]), "".join(lines[last:])


def _attached(tail: str) -> str:
    """The comments directly below the last line of a table."""
    lines = tail.splitlines(keepends=True)
    count = next((n for n, line in enumerate(lines) if not line.strip()), len(lines))
    return "".join(lines[:count])


def _root(body: str) -> tuple[str, bool]:
    """The first name of a table, and whether it has more."""
    named = tomllib.loads(body.partition("\n")[0])
    ((root, inner),) = named.items()
    return root, bool(inner) and inner != [{}]


def _with_difference(text: str, raw: Raw, wanted: Raw) -> str:
    blocks = _blocks(text)
    head = tomllib.loads(blocks[0].body)
    above: Raw = {}
    for root in {**raw, **wanted}:
        now, new = raw.get(root), wanted.get(root)
        tabular = isinstance(new, list) and bool(new) and all(isinstance(e, dict) for e in new)
        there = [n for n, block in enumerate(blocks) if block.root == root]
        if there and isinstance(now, list):
            blocks = _with_list(blocks, there, now, new or [])
        elif there and root not in head:
            blocks = _with_table(blocks, there, new)
        elif tabular and now in (None, []):
            blocks = _appended(blocks, [_written(root, each) for each in new or []])
        elif now is None and isinstance(new, dict):
            blocks = _inserted(blocks, _written(root, new, single=True))
        elif new is not None:
            above[root] = [_without_mark(e) for e in new] if isinstance(new, list) else new
    blocks[0] = replace(blocks[0], body=_merged(blocks[0].body, above))
    return _joined(blocks)


def _joined(blocks: Sequence[_Block]) -> str:
    text = ""
    for block in blocks:
        for part in (block.lead, block.body, block.rest):
            if part and text and not text.endswith("\n"):
                text += "\n"
            text += part
    return text


def _with_list(
    blocks: list[_Block], there: list[int], now: Sequence[Any], new: Sequence[Any]
) -> list[_Block]:
    """The blocks with new tables in a list: in their old places if the order is the same."""
    if len(there) != len(now):
        raise KeyError(blocks[there[0]].root)
    places = [each[_PLACE] for each in new if _PLACE in each]
    if len(set(places)) < len(places):
        raise KeyError(blocks[there[0]].root)
    slots = iter(sorted(there[place] for place in places))
    following: dict[int, list[_Block]] = {}
    filled: dict[int, _Block] = {}
    slot, first = -1, there[0]
    for each in new:
        if _PLACE not in each:
            following.setdefault(slot, []).append(_written(blocks[first].root, each))
            continue
        slot, source = next(slots), blocks[there[each[_PLACE]]]
        body = source.body
        if not _same(_without_mark(each), now[each[_PLACE]]):
            body = _merged(body, _without_mark(each), root=source.root)
        filled[slot] = _Block(source.root, False, source.lead, body, blocks[slot].rest)
    result: list[_Block] = []
    for number, block in enumerate(blocks):
        if number == first and -1 in following:
            result += [replace(each, rest="\n") for each in following[-1]]
        if number in filled:
            result = _appended([*result, filled[number]], following.get(number, []))
        elif number in there:
            result.append(_remains(block))
        else:
            result.append(block)
    return result


def _remains(block: _Block) -> _Block:
    """What stays of a table that is removed: the comments that did not belong to it."""
    return _Block("", False, "", "", block.rest if block.rest.strip() else "")


def _with_table(blocks: list[_Block], there: Sequence[int], new: Any) -> list[_Block]:
    """The blocks with another content of a table."""
    if len(there) != 1:
        raise KeyError(blocks[there[0]].root)
    (place,) = there
    block = blocks[place]
    if new is None:
        changed = _remains(block)
    else:
        changed = replace(block, body=_merged(block.body, {block.root: new}))
    return [*blocks[:place], changed, *blocks[place + 1 :]]


def _appended(blocks: list[_Block], new: Sequence[_Block]) -> list[_Block]:
    """The blocks with new ones after the last, before the comments that follow it."""
    for each in new:
        last = blocks[-1]
        text = last.lead + last.body
        if not text and not last.rest.strip():  # nothing to keep a distance from
            blocks = [*blocks[:-1], replace(last, rest=""), replace(each, rest=last.rest)]
            continue
        blocks = [*blocks[:-1], replace(last, rest="\n"), replace(each, rest=last.rest)]
    return blocks


def _inserted(blocks: list[_Block], new: _Block) -> list[_Block]:
    """The blocks with a new one above all others."""
    return [*_appended(blocks[:1], [new]), *blocks[1:]]


# --- values ---------------------------------------------------------------------------------------


def _merged(body: str, wanted: Raw, root: str = "") -> str:
    """The text of a table with other values. root: of a list, whose only table it is."""
    document = tomlkit.parse(body)
    table: Any = document[root][0] if root else document
    _merge(table, wanted)
    text = tomlkit.dumps(document)
    return text if text.endswith("\n") or not text else f"{text}\n"


def _merge(table: Any, wanted: Raw) -> None:
    """Make a table of the document equal to what is wanted."""
    for key in [key for key in table if key not in wanted]:
        table.remove(key)
    for key, value in wanted.items():
        if key not in table:
            table.add(key, _item(value, len(key)))
            continue
        now = table[key]
        plain = now.unwrap() if hasattr(now, "unwrap") else now
        if _same(plain, value):
            continue
        if isinstance(plain, dict) and isinstance(value, dict) and value:
            _merge(now, value)
        elif isinstance(now, Array) and isinstance(value, list) and _spliced(now, plain, value):
            continue
        else:
            table[key] = _item(value, len(key))


def _spliced(array: Array, now: list[Any], wanted: list[Any]) -> bool:
    """Replace only what differs in an array; return whether that was possible."""
    if any(isinstance(each, dict | list) for each in chain(now, wanted)):
        return False
    if len(now) == len(wanted):
        for place, value in enumerate(wanted):
            if not _same(now[place], value):
                array[place] = value
    else:
        pairs = SequenceMatcher(None, list(map(repr, now)), list(map(repr, wanted)), autojunk=False)
        for kind, start, end, first, last in reversed(pairs.get_opcodes()):
            if kind == "equal":
                continue
            for place in reversed(range(start, end)):
                del array[place]
            for value in reversed(wanted[first:last]):
                array.insert(start, value)
    try:
        return _same(tomllib.loads(f"x = {array.as_string()}")["x"], wanted)
    except tomllib.TOMLDecodeError:
        return False


def _item(value: Any, used: int = 0) -> Item:
    """A value as an item of a document; tables are written on one line, long lists on several."""
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        for key, each in value.items():
            table.append(key, _item(each))
        return table
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        for each in value:
            array.append(_item(each))
        simple = not any(isinstance(each, dict | list) for each in value)
        array.multiline(simple and used + len(array.as_string()) > WIDTH)
        return array
    item: Item = tomlkit.item(value)
    return item


def in_toml(value: Any) -> str:
    """A value as text for people: as it would be in the file."""
    if value is None:
        return "nothing"
    try:
        return str(_item(value).as_string())
    except (TOMLKitError, ValueError):
        return repr(value)


def _written(root: str, entries: Raw, *, single: bool = False) -> _Block:
    """The block of a new table."""
    document = tomlkit.document()
    for key, value in _without_mark(entries).items():
        document.append(key, _item(value, len(key)))
    name = tomlkit.key(root).as_string()
    header = f"[{name}]\n" if single else f"[[{name}]]\n"
    return _Block(root, False, "", header + tomlkit.dumps(document), "")
