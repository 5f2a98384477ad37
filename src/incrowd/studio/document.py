"""A survey file as a document: its text, and the smallest change of it that has another content.

Comments, order and spelling of everything that stays the same are preserved.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Protocol

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Item

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import SurveyError

Raw = dict[str, Any]  # the content of a survey file, or one of its tables
WIDTH = 96  # a value that makes its line longer is written on several


class Operation(Protocol):
    """An edit of a survey, as plain data."""

    def edit(self, content: Raw) -> None:
        """Make the edit in a content that belongs to the caller. Raises UsageError."""


class Comment(NamedTuple):
    """A comment of a file.

    id: the id of the question that it is directly above, or "". beside: the text before it on its
    line.
    """

    text: str
    id: str
    beside: str


Mark = tuple[str, str]  # the text of a comment, and the id of the question that it is above, or ""


class Difference(NamedTuple):
    """A value that differs between two documents; None where there is no value."""

    path: tuple[str, ...]
    before: Any
    after: Any


@dataclass(frozen=True)
class SurveyDocument:
    """The text of a survey file."""

    text: str

    @cached_property
    def version(self) -> str:
        """The digest of the text. A page sends it back with each edit."""
        return version(self.text)

    @cached_property
    def content(self) -> Raw:
        """The parsed text, which nobody changes. Raises SurveyError if it is not TOML."""
        try:
            return tomllib.loads(self.text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            raise SurveyError.of("survey", "studio.not-toml", reason=str(error)) from None

    def comments(self) -> Iterator[Comment]:
        """Yield the comments. Raises ValueError or LookupError if the text is not TOML."""
        for block in _blocks(self.text.replace("\r\n", "\n")):
            for start, comment in _comments(block.text):
                beside = block.text[:start].rpartition("\n")[2].strip()
                yield Comment(comment, block.id, beside)
            for _, comment in _comments(block.rest):
                yield Comment(comment, "", "")

    def without_comments(self, marks: Iterable[Mark]) -> SurveyDocument:
        """Return the document without some comments, and without the lines that consist of one."""
        gone = set(marks)
        if not gone:
            return self
        ends = "\r\n" if "\r\n" in self.text else "\n"
        pieces = []
        for block in _blocks(self.text.replace("\r\n", "\n")):
            pieces += [_uncommented(block.text, gone, block.id), _uncommented(block.rest, gone, "")]
        return SurveyDocument("".join(pieces).replace("\n", ends))

    def differences(self, newer: SurveyDocument) -> tuple[Difference, ...]:
        """Compare with a newer document. Raises SurveyError if one of them is not TOML."""
        return tuple(_differences((), self.content, newer.content))


def version(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def changed(content: Raw, *operations: Operation) -> Raw:
    """Return a copy of the content after operations, one after the other."""
    edited = deepcopy(content)
    for each in operations:
        each.edit(edited)
    return edited


def apply(document: SurveyDocument, *operations: Operation) -> SurveyDocument:
    """Return the document after operations.

    Raises UsageError if an operation does not fit the survey, and SurveyError if the text is not
    TOML, or is written in a way that the operations cannot be written into.
    """
    if "\r\n" in document.text:
        plain = apply(SurveyDocument(document.text.replace("\r\n", "\n")), *operations)
        return SurveyDocument(plain.text.replace("\n", "\r\n"))
    wanted = deepcopy(document.content)
    before = {key: [*value] for key, value in wanted.items() if isinstance(value, list)}
    for each in operations:
        each.edit(wanted)
    if same(wanted, document.content):
        return document
    try:
        result = SurveyDocument(_rewritten(document, wanted, before))
        right = same(tomllib.loads(result.text), wanted)
    except (TOMLKitError, tomllib.TOMLDecodeError, LookupError, TypeError, ValueError):
        right = False
    if not right:
        raise SurveyError.of("survey", "studio.unchangeable")
    return result


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same in TOML, where 1, 1.0 and true differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or repr(one) == repr(other))


def in_toml(value: Any) -> str | Sentence:
    """Return a value as text for people: as it would be in the file."""
    if value is None:
        return sentence("studio.nothing")
    try:
        return str(_item(value).as_string())
    except (TOMLKitError, ValueError):
        return repr(value)


def _differences(path: tuple[str, ...], before: Any, after: Any) -> Iterator[Difference]:
    """Yield the differences of two values, down to the tables that have names or ids."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from _differences((*path, key), before.get(key), after.get(key))
    elif (named := _by_id(before)) is not None and (others := _by_id(after)) is not None:
        for id in {**named, **others}:
            yield from _differences((*path, id), named.get(id), others.get(id))
        if not {*named} ^ {*others} and [*named] != [*others]:
            yield Difference(path, [*named], [*others])
    elif not same(before, after):
        yield Difference(path, before, after)


def _by_id(tables: Any) -> Raw | None:
    """Return tables by their ids; None if they do not have different ids."""
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        return None
    by_id = {each["id"]: each for each in tables if isinstance(each.get("id"), str)}
    return by_id if len(by_id) == len(tables) else None


# --- the parts of the text ------------------------------------------------------------------------


class TextBlock(NamedTuple):
    """A top-level table of the file as text.

    root: its first name; "" for what is above all tables. text: its lines, with the comments
    directly above and below it and the tables inside it. rest: the empty lines and comments that
    follow and belong to no table.
    """

    root: str
    text: str
    rest: str

    @property
    def id(self) -> str:
        """The id of a question; "" for another table."""
        if self.root != "question":
            return ""
        return str(tomllib.loads(self.text)["question"][0].get("id", ""))


_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})|'
    r"'''.*?'''(?:'{0,2})|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments in a text, each after the place where it starts."""
    for token in _TOKEN.finditer(text):
        if token[0].startswith("#"):
            yield token.start(), token[0].rstrip()


def _uncommented(text: str, marks: set[Mark], id: str) -> str:
    """Return a text without the comments that are marked."""
    for start, comment in reversed([*_comments(text)]):
        first = text.rfind("\n", 0, start) + 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        mark = next((each for each, of in marks if of == id and comment.endswith(each)), "")
        if not mark:
            continue
        left = text[first:end].rstrip().removesuffix(mark).rstrip(" ;#")
        text = text[:first] + (left if left else "") + text[end + (not left) :]
    return text


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of the text; those of one value are together."""
    depth = start = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
        elif token[0] == "\n" and not depth:
            yield text[start : token.end()]
            start = token.end()
    if text[start:]:
        yield f"{text[start:]}\n"


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _blocks(text: str) -> list[TextBlock]:
    """Return the tables of a file; together they are its text."""
    groups: list[tuple[str, list[str]]] = [("", [])]
    for line in _lines(text):
        if line.lstrip().startswith("["):
            ((root, inner),) = tomllib.loads(line).items()
            if inner in ({}, [{}]) or groups[-1][0] != root:
                before = groups[-1][1]
                lead = len(before)
                while lead and _is_comment(before[lead - 1]):
                    lead -= 1
                groups.append((root, before[lead:]))
                del before[lead:]
        groups[-1][1].append(line)
    return [_block(root, lines) for root, lines in groups]


def _block(root: str, lines: Sequence[str]) -> TextBlock:
    last = len(lines)
    while last and (not lines[last - 1].strip() or _is_comment(lines[last - 1])):
        last -= 1
    while last < len(lines) and lines[last].strip():
        last += 1
    return TextBlock(root, "".join(lines[:last]), "".join(lines[last:]))


# --- from a content to the text -------------------------------------------------------------------


def _rewritten(document: SurveyDocument, wanted: Raw, before: Mapping[str, Sequence[Any]]) -> str:
    """Return the text of a document with the wanted content.

    before: the elements of each list of the content, in their old order. Those that are still in
    the wanted content are the same objects there. Raises KeyError, ValueError or TOMLKitError if
    the text is written in another way than this can change.
    """
    blocks = _blocks(document.text)
    head = tomllib.loads(blocks[0].text)
    above: Raw = {}
    for root in {**document.content, **wanted}:
        old, new = document.content.get(root), wanted.get(root)
        places = [place for place, block in enumerate(blocks) if block.root == root]
        if places and isinstance(old, list):
            blocks = _with_tables(blocks, places, old, before[root], new or [])
        elif places and root not in head:
            (place,) = places
            text = "" if new is None else _merged(blocks[place].text, {root: new})
            blocks[place] = blocks[place]._replace(text=text) if text else _remains(blocks[place])
        elif old in (None, []) and isinstance(new, list) and _are_tables(new):
            blocks = _appended(blocks, [_written(root, each, in_list=True) for each in new])
        elif old is None and isinstance(new, dict):
            blocks = [*_appended(blocks[:1], [_written(root, new)]), *blocks[1:]]
        elif new is not None:
            above[root] = new
    blocks[0] = blocks[0]._replace(text=_merged(blocks[0].text, above))
    return "".join(chain.from_iterable((block.text, block.rest) for block in blocks))


def _are_tables(value: Sequence[Any]) -> bool:
    return bool(value) and all(isinstance(each, dict) for each in value)


def _with_tables(
    blocks: Sequence[TextBlock],
    places: Sequence[int],
    old: Sequence[Any],
    before: Sequence[Any],
    new: Sequence[Any],
) -> list[TextBlock]:
    """Return the blocks with other tables in a list; those that stay fill the remaining places."""
    if len(places) != len(old):
        raise KeyError(blocks[places[0]].root)
    root = blocks[places[0]].root
    source = {id(each): place for place, each in enumerate(before)}
    slots = iter(sorted(places[source[id(each)]] for each in new if id(each) in source))
    filled: dict[int, str] = {}
    following: dict[int, list[TextBlock]] = {}  # new tables, by the place that they follow
    slot = -1
    for each in new:
        if id(each) not in source:
            following.setdefault(slot, []).append(_written(root, each, in_list=True))
            continue
        slot, place = next(slots), source[id(each)]
        text = blocks[places[place]].text
        filled[slot] = text if same(each, old[place]) else _merged(text, each, root=root)
    result: list[TextBlock] = []
    for at, block in enumerate(blocks):
        if at == places[0]:
            result += [each._replace(rest="\n") for each in following.get(-1, ())]
        if at in filled:
            result.append(block._replace(text=filled[at]))
            result = _appended(result, following.get(at, ()))
        else:
            result.append(_remains(block) if at in places else block)
    return result


def _remains(block: TextBlock) -> TextBlock:
    """Return what stays of a table that is removed: the comments that did not belong to it."""
    return TextBlock("", "", block.rest if block.rest.strip() else "")


def _appended(blocks: Sequence[TextBlock], new: Sequence[TextBlock]) -> list[TextBlock]:
    """Return the blocks with new ones after the last, before the comments that follow it."""
    result = [*blocks]
    for each in new:
        last = result[-1]
        distance = "\n" if last.text or last.rest.strip() else ""
        result[-1] = last._replace(rest=distance)
        result.append(each._replace(rest=last.rest))
    return result


def _written(root: str, entries: Raw, *, in_list: bool = False) -> TextBlock:
    """Return the block of a new table."""
    document = tomlkit.document()
    for key, value in entries.items():
        document.append(key, _item(value, len(key)))
    name = tomlkit.key(root).as_string()
    header = f"[[{name}]]\n" if in_list else f"[{name}]\n"
    return TextBlock(root, header + tomlkit.dumps(document), "")


def _merged(text: str, wanted: Raw, root: str = "") -> str:
    """Return the text of a table with other values. root: the root of a list, whose only table it
    is."""
    document = tomlkit.parse(text)
    table: Any = document[root][0] if root else document
    _merge(table, wanted)
    text = tomlkit.dumps(document)
    return text if text.endswith("\n") or not text else f"{text}\n"


def _merge(table: Any, wanted: Raw) -> None:
    """Make a table of the document equal to the wanted one."""
    for key in [key for key in table if key not in wanted]:
        table.remove(key)
    for key, value in wanted.items():
        if key not in table:
            table.add(key, _item(value, len(key)))
            continue
        now = table[key]
        plain = now.unwrap() if hasattr(now, "unwrap") else now
        if same(plain, value):
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
    pairs = SequenceMatcher(None, list(map(repr, now)), list(map(repr, wanted)), autojunk=False)
    for kind, start, end, first, last in reversed(pairs.get_opcodes()):
        if kind == "replace" and end - start == last - first:
            for place, value in zip(range(start, end), wanted[first:last], strict=True):
                array[place] = value
        elif kind != "equal":
            for place in reversed(range(start, end)):
                del array[place]
            for value in reversed(wanted[first:last]):
                array.insert(start, value)
    try:
        return same(tomllib.loads(f"x = {array.as_string()}")["x"], wanted)
    except tomllib.TOMLDecodeError:
        return False


def _item(value: Any, used: int = 0) -> Item:
    """Return a value as an item of a document; tables are written on one line, long lists on
    several."""
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
