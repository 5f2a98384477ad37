"""The text of a survey file: its tables with their comments, and the least that has to change."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import chain, pairwise
from typing import Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Item

from incrowd.errors import InWords, SurveyError

Raw = dict[str, Any]  # a parsed survey file, or one of its tables
WIDTH = 96  # a value that makes its line longer is written on several


def parsed(text: str) -> Raw:
    """The parsed text. Raises SurveyError if it is not TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise SurveyError.of(
            "survey", InWords(f"is not TOML: {error}"), "correct the text"
        ) from None


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


def without_comment(text: str, comment: str, id: str = "") -> str:
    """The text without a comment: its line, or its part of one. Everything else stays.

    id: the question that it is about, if several have the same comment.
    """
    if not comment:
        return text
    alike = [each.id for each in comments(text) if each.text == comment]
    before = alike.index(id) if id in alike else 0
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.strip() == comment:
            if not before:
                return "".join([*lines[:number], *lines[number + 1 :]])
            before -= 1
        elif line.rstrip().endswith(comment) and not line.lstrip().startswith("#"):
            rest = line.rstrip().removesuffix(comment).rstrip(" ;#")
            shorter = f"{rest}{line[len(line.rstrip()) :]}"
            changed = "".join([*lines[:number], shorter, *lines[number + 1 :]])
            return changed if same(parsed(changed), parsed(text)) else text
    return text


_PLACE = "\0place"  # the key of a marked table: its number in the file


def with_marks(raw: Raw) -> Raw:
    """The parsed file with the place of each table in its list, which changes carry along."""
    return {
        key: [
            each | {_PLACE: n} if isinstance(each, dict) else each for n, each in enumerate(value)
        ]
        if isinstance(value, list)
        else value
        for key, value in raw.items()
    }


def mark_of(table: Raw) -> Raw:
    """The mark of a table, for one that takes its place."""
    return {_PLACE: table[_PLACE]} if _PLACE in table else {}


def without_mark(table: Any) -> Any:
    """A table as it is in the file."""
    if not isinstance(table, dict):
        return table
    return {key: value for key, value in table.items() if key != _PLACE}


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in TOML, where 1, 1.0 and true differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
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


def with_difference(text: str, raw: Raw, wanted: Raw) -> str:
    """The text with what differs between the parsed file and the wanted one, which has marks.

    Raises KeyError, ValueError or TOMLKitError if the text is written in another way than this can
    change; the caller compares the result with what was wanted.
    """
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
            above[root] = [without_mark(e) for e in new] if isinstance(new, list) else new
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
        if not same(without_mark(each), now[each[_PLACE]]):
            body = _merged(body, without_mark(each), root=source.root)
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
    if len(now) == len(wanted):
        for place, value in enumerate(wanted):
            if not same(now[place], value):
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
        return same(tomllib.loads(f"x = {array.as_string()}")["x"], wanted)
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
    for key, value in without_mark(entries).items():
        document.append(key, _item(value, len(key)))
    name = tomlkit.key(root).as_string()
    header = f"[{name}]\n" if single else f"[[{name}]]\n"
    return _Block(root, False, "", header + tomlkit.dumps(document), "")
