"""Characters that hide, reorder or imitate text, and how to find and remove them.

A survey's text reaches terminals and pages of people who did not write it. Control characters move
the cursor and clear the screen, bidirectional characters reverse the order of a line, others have
no width. With each of them a text can hide what a program prints beside it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

# By code points and not by category, so that every client and every version of Unicode agrees
# (docs/protocol.md, "Bundle"). U+200C and U+200D stay: Persian, Hindi and emoji are written with
# them.
HIDDEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional
    "\u2028\u2029"  # separators of lines and paragraphs
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"  # no width
    "\ud800-\udfff"  # half of a pair
    "]"
)
_WIDTHLESS = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")

# Characters that most fonts draw alike: Greek, Cyrillic, digits, dashes, quotation marks. Far fewer
# than Unicode lists (UTS #39), since each warning should be worth reading.
_DRAWN_AS = {
    "A": "\u0391\u0410", "B": "\u0392\u0412", "C": "\u03f9\u0421", "E": "\u0395\u0415",
    "G": "\u050c", "H": "\u0397\u041d", "J": "\u0408", "K": "\u039a\u041a", "M": "\u039c\u041c",
    "N": "\u039d", "O": "\u039f\u041e0", "P": "\u03a1\u0420", "S": "\u0405", "T": "\u03a4\u0422",
    "X": "\u03a7\u0425", "Y": "\u03a5\u04ae", "Z": "\u0396", "a": "\u03b1\u0430",
    "c": "\u03f2\u0441", "d": "\u0501", "e": "\u0435", "g": "\u0261", "h": "\u04bb",
    "i": "\u03b9\u0456", "j": "\u03f3\u0458", "k": "\u03ba\u043a",
    "l": "1I|\u0399\u0406\u04c0\u04cf", "o": "\u03bf\u043e", "p": "\u03c1\u0440", "q": "\u051b",
    "s": "\u0455", "u": "\u03c5", "v": "\u03bd\u0475", "w": "\u051d", "x": "\u03c7\u0445",
    "y": "\u03b3\u0443", "-": "\u2010\u2011\u2012\u2013\u2014\u2212", "'": "\u02bc\u2018\u2019`",
    '"': "\u201c\u201d\u201e",
}  # fmt: skip
_IMITATED = str.maketrans({each: as_ for as_, all_ in _DRAWN_AS.items() for each in all_})


def hidden(text: str, paragraphs: bool = False) -> str:
    """Return the first forbidden character of a text, as "U+202E"; "" if there is none.

    paragraphs: whether the text may have several paragraphs, so that U+000A is allowed.
    """
    match = HIDDEN.search(text.replace("\n", "") if paragraphs else text)
    return f"U+{ord(match[0]):04X}" if match else ""


def visible(text: str) -> str:
    """Return the text with such characters as JSON escapes; line ends and tabs stay."""
    return HIDDEN.sub(_escaped, text)


def cleaned(text: str) -> str:
    """Return the text on one line, without such characters; if nothing is left, their code
    points."""
    return " ".join(HIDDEN.sub(" ", text).split()) or " ".join(
        f"U+{ord(each):04X}" for each in text
    )


_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")


def typed(text: str) -> str:
    """Return a text from a form without what nobody types: browsers end lines with CR LF, and word
    processors and tables add soft hyphens, other characters without width, line breaks of their
    own, and tabs."""
    return HIDDEN.sub(
        lambda each: {"\n": "\n", "\t": " "}.get(each[0], ""), _LINE_ENDS.sub("\n", text)
    )


def on_one_line(text: str) -> str:
    """Return the text with single spaces in the place of line breaks."""
    return " ".join(each for line in text.split("\n") if (each := line.strip()))


def shortened(text: str, most: int) -> str:
    """Return the text on one line, with at most so many characters; a longer one ends with "…",
    after a whole word if there is one."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    words, space, _ = line[:most].rpartition(" ")
    return f"{words if space and len(words) > most // 2 else line[: most - 1]}…"


def _escaped(match: re.Match[str]) -> str:
    if match[0] in "\n\t":
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def texts(content: object, *place: str | int) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every text in nested lists and tables with its location; keys of tables count too."""
    if isinstance(content, str):
        yield place, content
    elif isinstance(content, Mapping):
        for key, value in content.items():
            yield from texts(key, *place)
            yield from texts(value, *place, str(key))
    elif isinstance(content, list | tuple):
        for at, value in enumerate(content):
            yield from texts(value, *place, at)


def look_alikes(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of different names that a reader can confuse.

    They differ only in letter case, in forms that Unicode calls compatible (NFKC), in white space,
    in characters without width, or in letters that are drawn alike.
    """
    seen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        compatible = unicodedata.normalize("NFKC", _WIDTHLESS.sub("", name))
        folded = " ".join(compatible.split())
        keys = {folded.casefold(), folded.translate(_IMITATED).casefold()}
        if earlier := [seen[key] for key in sorted(keys) if key in seen]:
            yield earlier[0], name
        seen.update({key: name for key in keys if key not in seen})
