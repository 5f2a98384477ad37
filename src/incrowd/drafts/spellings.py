"""Several spellings of one answer: forms of Unicode, spaces, quotes, dashes, and capitals."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from incrowd.characters import cleaned, look_alikes

_SAME = str.maketrans(
    {
        **dict.fromkeys("\u02bc\u2018\u2019`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    }
)
WORD = 3  # letters: shorter answers may be codes, in which capitals matter


def folded(text: str) -> str:
    """Return a text with usual characters for those that are drawn alike in every font."""
    return " ".join(cleaned(unicodedata.normalize("NFKC", text).translate(_SAME)).split())


def canonical(counts: Mapping[str, int]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the answer that each value means, and the answers of which capitals were ignored.

    counts: the rows with each value. The most frequent spelling of an answer is its name.
    """
    same: dict[str, list[str]] = defaultdict(list)
    for value in counts:
        same[folded(value)].append(value)
    alike: dict[str, list[str]] = defaultdict(list)
    for key in same:
        word = sum(map(str.isalpha, key)) >= WORD
        alike[key.casefold() if word else key].append(key)
    names: dict[str, str] = {}
    ignored = []
    for keys in alike.values():
        values = [value for key in keys for value in same[key]]
        name = cleaned(max(values, key=lambda value: (counts[value], not value.isupper(), value)))
        names |= dict.fromkeys(values, name)
        if len(keys) > 1:
            ignored.append(name)
    return names, tuple(ignored)


def confusable(names: Sequence[str]) -> Iterator[str]:
    """Yield a remark for each pair of names that look alike, with the code points that differ."""
    for one, other in look_alikes(names):
        points = zip_longest(one, other, fillvalue="")
        first = next((a, b) for a, b in points if a != b)
        differ = " and ".join(f"U+{ord(each):04X}" if each else "nothing" for each in first)
        yield f'"{one}" and "{other}" look alike and differ in {differ}'


SLUG = 40  # characters


def clean_id(name: str) -> str:
    """Return the id of a question for the name of a column; of a name with commas, its first
    words."""
    if "," not in name:
        return folded(name)
    words, id = re.findall(r"\w+", folded(name).casefold()), ""
    for word in words:
        if id and len(id) + len(word) >= SLUG:
            break
        id = f"{id}_{word}" if id else word[:SLUG]
    return id
