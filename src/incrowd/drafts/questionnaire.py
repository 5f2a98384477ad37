"""A questionnaire as plain text or Markdown, such as "Do you smoke? yes / no".

A question is a line with a question mark, or a line above a list of answers. Answers follow on the
line, or below it with a sign, a letter, or a box. Whatever was assumed is a decision for the user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from incrowd.catalog.sentences import sentence
from incrowd.drafts.columns import (
    NO,
    YES,
    ColumnDraft,
    DraftQuestion,
    SkippedColumn,
    yes_and_no,
    yes_no,
)
from incrowd.drafts.draft import Draft
from incrowd.drafts.form import Form, FormFile, numbers, one_of, optional, some_of, worded
from incrowd.drafts.wording import ENGLISH, FormWording, without_html, without_markdown
from incrowd.survey.words import LANGUAGE

ENDINGS = (".txt", ".text", ".md", ".markdown", "")
MARKDOWN = (".md", ".markdown")  # never a table of answers
MOST_LINES, LONGEST_LINE = 5000, 2000  # the rest is not a questionnaire
MOST_SCALE = 11  # answers of a scale such as 0 to 10; more numbers are an amount
MOST_WORDS = 6  # of an answer that a comma separates from others
ID_WORDS, ID_LETTERS = 5, 40
MOST_BARE, LONGEST_BARE = 12, 60  # lines of answers without a sign, and their characters

# What begins a line: the number of a question, a sign or a letter before an answer, a box.

_NUMBERED = re.compile(
    r"(?:[A-Z]|Frage|Question)?\s?\(?(\d{1,3})(?:[.):]|\s?[-–—])\s+(?=\S)|(?:Q|F):\s+(?=\S)", re.I
)
_CODE_IN_BRACKETS = re.compile(r"[(\[](\d{1,3})[)\]]\s+(?=\S)")
_PRINTED_CODE = re.compile(r"(\S.*?)\s*(?:\.\s?){3,}\s*(\d{1,3})|(\S.*?)\s+\.\s+(\d{1,3})")
_ID = re.compile(r"([A-Za-z_]\w{0,39}):\s+(?=\S.*\?)")
_CHECK = re.compile(r"(?:[-*+•]\s*)?(?:\[[ xX_]?\]|[☐□▢☑])\s*(?=\S)")
_RADIO = re.compile(r"(?:[-*+•]\s*)?(?:\([ _]?\)\s*|[○◯◦⚪]\s*|[oO]\s+)(?=\S)")
_SIGN = re.compile(r"[-*+•–—]\s+(?=\S)|\(?[A-Za-z][.)]\s+(?=\S)|A:\s+(?=\S)")
_BOX = re.compile(r"(\[[ xX_]?\]|[☐□▢☑])|(\([ _]?\)|[○◯◦⚪])")
_BLANK = re.compile(r"_{2,}|\.{4,}|…{2,}")
_SPECIFY = re.compile(r"\((?:please )?specify\)|\(bitte angeben\)|\(précisez\)", re.IGNORECASE)
_SERIES = re.compile(r"-?\d{1,3}(?:\s+-?\d{1,3}){1,10}")  # 1 2 3 4 5
_CODED = re.compile(r"(-?\w{1,4})\s*=\s*(\S.*)")

# Instructions, in several languages.

_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "zwei": 2, "drei": 3, "vier": 4}
_WORDS |= {"deux": 2, "trois": 3, "dos": 2, "tres": 3}
_COUNT = rf"(\d{{1,3}}|{'|'.join(_WORDS)})"
_MOST = re.compile(
    rf"\b(?:up to|at most|no more than|maximum(?: of)?|max\.?|bis zu|höchstens|maximal|"
    rf"jusqu'à|au plus|au maximum|hasta|máximo)\s+{_COUNT}\b",
    re.IGNORECASE,
)
_ANY_NUMBER = re.compile(
    r"all that apply|all which apply|more than one|multiple answers|several answers|"
    r"mehrfach|mehrere|alle(?:s)? zutreffende|plusieurs|todas las que|varias",
    re.IGNORECASE,
)
_ONE = re.compile(
    r"\b(?:choose|select|tick|check|pick|mark) (?:only )?(?:one|1)\b|nur eine|eine antwort|"
    r"une seule|solo una",
    re.IGNORECASE,
)
_REQUIRED = re.compile(r"\(?\b(required|mandatory|pflicht(?:frage|feld)?|obligatoire)\b\)?", re.I)
_BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_AMOUNT = re.compile(
    r"\b(how (?:many|much|old|long|often per|tall|far)|what is your age|number of|wie ?viele?|"
    r"age|alter|âge|edad|wie (?:alt|lange|groß|hoch)|anzahl|combien|cuánt[oa]s?|quant[ie])\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"(?:(?:do|does|did|are|is|was|were|have|has|had|can|could|will|would)\b|est-ce que|haben sie|"
    r"sind sie|avez-vous|êtes-vous)",
    re.IGNORECASE,
)
_NUMBER = r"(-?\d{1,9}(?:[.,]\d{1,3})?)"
_LABEL = r"\(\s*([^()]*?)\s*\)|[=:]\s*([^()=:;,/|\d]+?)"  # "1 (never)", "1 = never"
_RANGE = re.compile(
    rf"(?:from|von|de|between|zwischen)?\s*{_NUMBER}\s*(?:{_LABEL})?\s*"
    rf"(?:\bto\b|\bbis\b|\bà\b|\ba\b|\band\b|\bund\b|-|–|—|\.{{2,3}}|…)\s*"
    rf"{_NUMBER}\s*(?:{_LABEL}|\D{{1,20}})?",
    re.IGNORECASE,
)
_SCALE = re.compile(rf"(?:scale|skala|échelle|escala)\b.*?({_RANGE.pattern})", re.IGNORECASE)
_UNIT = re.compile(r"\(?\s*(?:a |as a )?(number|zahl|nombre|número|integer)\s*\)?", re.IGNORECASE)
_SPLIT = re.compile(r"\s*(?:/|\||;)\s*")
_COMMAS = re.compile(r"\s*,\s*(?:or |oder |ou |o )?|\s+(?:or|oder|ou)\s+", re.IGNORECASE)


@dataclass(frozen=True)
class TextQuestion:
    """A question as it is written.

    stated: the answers on its line. listed: the answers below it. boxes: whether these have square
    boxes. round: whether they have round ones.
    """

    id: str
    text: str
    instruction: str = ""
    stated: str = ""
    listed: tuple[str, ...] = ()
    boxes: bool = False
    round: bool = False


@dataclass
class _TextReading:
    """The state of the parser. others: the number of lines that are neither."""

    title: str = ""
    asked: list[TextQuestion] = field(default_factory=list)
    understood: int = 0
    others: int = 0


def recognized(file: FormFile) -> bool:
    """Return whether a text contains questions with answers, and is no table of answers."""
    ending = file.source.path.suffix.lower()
    if file.source.kind != "csv" or ending not in ENDINGS:
        return False
    if ending in MARKDOWN:
        return True
    reading = _read(file.start)
    if not any(each.stated or each.listed for each in reading.asked):
        return False
    return reading.understood >= reading.others and not _is_table(file)


def _is_table(file: FormFile) -> bool:
    """Return whether all rows have equally many cells, and few of them are questions."""
    rows = file.first_rows
    questions = sum("?" in "".join(row) for row in rows)
    regular = len(rows) > 1 and len(rows[0]) > 1 and len({*map(len, rows)}) == 1
    return regular and 2 * questions < len(rows)


def draft_of(name: str, file: FormFile) -> Draft:
    """Draft a question for each question of a file."""
    return draft_of_text(name, file.text)


def draft_of_text(name: str, text: str) -> Draft:
    """Draft a question for each question of a text."""
    reading = _read(text)
    columns = tuple(_column(each) for each in _with_ids(reading.asked))
    notes = ["a text of questions does not say how many people answer; set the crowd"]
    words = {word.casefold() for each in reading.asked for word in _words(each)}
    if {"yes", "no"}.isdisjoint(words) and words & (YES | NO) - {"1", "0", "y", "n", "j"}:
        notes.append("the texts do not seem to be English; set `language`")
    return Draft(reading.title or name, None, columns, tuple(notes))


def _words(asked: TextQuestion) -> Sequence[str]:
    return asked.listed or _SPLIT.split(asked.stated)


# Lines.


def _read(text: str) -> _TextReading:
    """Return the questions of a text."""
    reading = _TextReading()
    lines = [line[:LONGEST_LINE].replace("\t", "    ") for line in text.splitlines()[:MOST_LINES]]
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if not line.strip():
            continue
        if re.fullmatch(r"\s*[-=*_]{3,}\s*", line):
            continue
        heading = re.match(r"\s{0,3}#{1,6}\s+", line)
        below, after = _listed(lines, place, line)
        asked = _asked(line, below)
        if asked:
            reading.asked.append(asked)
            reading.understood += 1 + len(below)
            place = after
        elif heading:
            reading.title = reading.title or _plain(line)
        else:
            reading.others += 1
    return reading


def _listed(lines: Sequence[str], place: int, question: str) -> tuple[list[tuple[str, str]], int]:
    """Return the answers below a line, each with its sign, and the place after them."""
    answers: list[tuple[str, str]] = []
    after = place
    for at in range(place, len(lines)):
        line = lines[at]
        if not line.strip():
            if answers and _sign(lines[at + 1] if at + 1 < len(lines) else "", question)[0] == "":
                break
            continue
        sign, rest = _sign(line, question)
        if not sign:
            break
        boxes = [*_BOX.finditer(line)]
        parts = _parts(line) if len(boxes) > 1 else [rest]
        answers += [(sign, _plain(part)) for part in parts]
        after = at + 1
    return (answers, after) if answers else _bare(lines, place, question)


def _bare(lines: Sequence[str], place: int, question: str) -> tuple[list[tuple[str, str]], int]:
    """Return the answers below a question that have no sign: a few short, different lines, up to
    an empty one. More lines, and equal ones, are a column of answers."""
    after = place
    while after < len(lines) and lines[after].strip() and "?" not in lines[after]:
        after += 1
    answers = [_plain(line) for line in lines[place:after]]
    short = all(len(each) <= LONGEST_BARE and not each.endswith((".", ":")) for each in answers)
    numbered = any(_NUMBERED.match(line.strip()) for line in lines[place:after])
    different = len({*answers}) == len(answers) and 2 <= len(answers) <= MOST_BARE
    if "?" in question and short and different and not numbered:
        return [("line", each) for each in answers], after
    return [], place


def _sign(line: str, question: str) -> tuple[str, str]:
    """Return the kind of sign before an answer, and the answer; "" for any other line."""
    bare = line.strip()
    for name, pattern in (("box", _CHECK), ("circle", _RADIO), ("sign", _SIGN)):
        if match := pattern.match(bare):
            rest = bare[match.end() :]
            return ("", line) if "?" in rest and name == "sign" else (name, rest)
    if (code := _CODE_IN_BRACKETS.match(bare)) and not question.strip().startswith(("(", "[")):
        return "code", f"{code[1]} = {bare[code.end() :]}"
    if printed := _PRINTED_CODE.fullmatch(bare):
        return "code", f"{printed[2] or printed[4]} = {printed[1] or printed[3]}"
    match = _NUMBERED.match(bare)
    deeper = len(line) - len(line.lstrip()) > len(question) - len(question.lstrip())
    above = _NUMBERED.match(question.strip())
    if match and "?" not in bare and (deeper or not above) and "?" in question:
        return "number", bare[match.end() :]
    if coded := _CODED.fullmatch(bare):
        return "code", coded[0]
    return "", line


def _plain(text: str) -> str:
    """Return a text without markup and blanks to fill in."""
    plain = without_html(without_markdown(_SPECIFY.sub(" ", text)))
    return " ".join(_BLANK.sub(" ", plain).split()).strip(" :*")


def _asked(line: str, below: Sequence[tuple[str, str]]) -> TextQuestion | None:
    """Return the question in a line; None if it is not one."""
    bare = re.sub(r"^\s{0,3}(?:#{1,6}|>)\s+", "", line).strip()
    bare = without_markdown(re.sub(r"^[-*+]\s+(?=\*\*|\d)", "", bare))
    number = _NUMBERED.match(bare)
    bare = bare[number.end() :] if number else bare
    named = _ID.match(bare)
    bare = bare[named.end() :] if named else bare
    mark = max(bare.rfind("?"), bare.rfind("？"), bare.rfind("؟"))
    text, stated = (bare[: mark + 1], bare[mark + 1 :]) if mark >= 0 else (bare, "")
    listed = tuple(dict.fromkeys(answer for _, answer in below if answer))
    if mark < 0 and len(listed) < 2:
        text, stated = _without_mark(bare)
        if not stated and not number:
            return None
    text, inside = _with_brackets(text) if mark < 0 or not stated.strip() else (text, "")
    instruction, stated = _instructed(f"{stated} {inside}")
    signs = {sign for sign, _ in below}
    boxed = [*_BOX.finditer(stated)]
    return TextQuestion(
        named[1] if named else "",
        _plain(text),
        f"{instruction} {text if mark < 0 else ''}",
        stated.strip(" ,;\t"),
        listed,
        "box" in signs or any(each[1] for each in boxed),
        "circle" in signs or any(each[2] for each in boxed),
    )


def _without_mark(bare: str) -> tuple[str, str]:
    """Divide a line such as "Age: 18-99" or "Sex (female / male)" into a question and answers."""
    head, colon, rest = bare.partition(":")
    rest = rest.strip()
    ways = _SPLIT.search(rest), _RANGE.fullmatch(rest), _SERIES.fullmatch(rest), _BLANK.search(rest)
    if colon and any(ways):
        return head, rest
    match = re.fullmatch(r"(.+?)\s*[\[(]([^\[\]()]*)[\])]\s*", bare)
    if match and len(_SPLIT.split(match[2])) > 1:
        return match[1], match[2]
    return bare, ""


def _with_brackets(text: str) -> tuple[str, str]:
    """Divide a text from what is in brackets at its end."""
    match = re.fullmatch(r"(.+?)\s*([\[(][^\[\]()]*[\])])(\s*[?:.]?)\s*", text)
    return (match[1] + match[3].strip(), match[2]) if match else (text, "")


def _instructed(text: str) -> tuple[str, str]:
    """Divide what follows a question into instructions and answers."""
    instructions = []

    def taken(match: re.Match[str]) -> str:
        inside = match[1].strip()
        if any(
            p.search(inside) for p in (_MOST, _ANY_NUMBER, _ONE, _REQUIRED)
        ) or inside.casefold() in (
            "optional",
            "freiwillig",
        ):
            instructions.append(inside)
            return " "
        return match[0]

    rest = _BRACKETS.sub(taken, text).strip()
    for pattern in (_MOST, _ANY_NUMBER, _ONE):
        if pattern.search(rest) and not _SPLIT.search(rest):
            return " ".join([*instructions, rest]), ""
    whole = re.fullmatch(r"[\[(]([^\[\]()]*)[\])]", rest)
    return " ".join(instructions), whole[1] if whole and not _BOX.fullmatch(rest) else rest


def _with_ids(asked: Sequence[TextQuestion]) -> Iterator[TextQuestion]:
    """Yield the questions with different ids, made of their first words."""
    several = Counter[str]()
    for each in asked:
        words = re.findall(r"\w+", each.text.casefold())[:ID_WORDS]
        id = each.id or "_".join(words)[:ID_LETTERS].strip("_") or "question"
        several[id] += 1
        yield replace(each, id=id if several[id] == 1 else f"{id}_{several[id]}")


# Answers.

_ENGLISH = FormWording(ENGLISH)


def _column(asked: TextQuestion) -> ColumnDraft:
    column = worded(_typed(asked), _ENGLISH, {LANGUAGE: asked.text})
    return optional(column, bool(_REQUIRED.search(asked.instruction)))


def _typed(asked: TextQuestion) -> ColumnDraft:
    if asked.listed:
        return _of_options(asked, asked.listed)
    stated = _BLANK.sub(" ", asked.stated).strip(" .:")
    if bounds := _RANGE.fullmatch(stated):
        return _of_range(asked, bounds)
    if _SERIES.fullmatch(stated):
        return _of_options(asked, stated.split())
    scale = None if stated else _SCALE.search(asked.text)
    if scale and (bounds := _RANGE.search(scale[1])):
        return _of_range(asked, bounds)
    if _BOX.search(stated):
        return _of_options(asked, [part.strip(" ,/") for part in _parts(stated)])
    if len(answers := _SPLIT.split(stated)) > 1:
        return _of_options(asked, answers)
    answers = _COMMAS.split(stated)
    short = all(0 < len(each.split()) <= MOST_WORDS for each in answers)
    if short and (len(answers) > 2 or (len(answers) == 2 and yes_and_no(answers))):
        column = _of_options(asked, answers)
        if len(answers) > 2 and isinstance(column, DraftQuestion):
            return column.doubting("the answers were divided at commas and words such as or")
        return column
    return _without_answers(asked, stated)


def _parts(stated: str) -> list[str]:
    """Return the texts after each box of a line."""
    ends = [match.end() for match in _BOX.finditer(stated)]
    starts = [match.start() for match in _BOX.finditer(stated)][1:]
    return [stated[a:b] for a, b in zip(ends, [*starts, len(stated)], strict=True)]


def _without_answers(asked: TextQuestion, stated: str) -> ColumnDraft:
    if _AMOUNT.search(asked.text) or _UNIT.fullmatch(stated):
        return numbers(asked.id, None, None)
    alternatives = _COMMAS.search(asked.text)  # as in "Are you male or female?"
    blank = stated or _BLANK.search(asked.stated) or alternatives
    if not blank and _YES_NO.match(asked.text):
        return yes_no(asked.id, {}).doubting("no answers are listed; yes and no were assumed")
    return SkippedColumn(asked.id, sentence("drafts.no-answers-listed"))


def _of_options(asked: TextQuestion, answers: Sequence[str]) -> ColumnDraft:
    """Return a question with options; several if the text or square boxes say so."""
    codes: dict[str, Mapping[str, str]] = {}
    for answer in answers:
        plain = _plain(answer)
        coded = _CODED.fullmatch(plain)
        code, label = (coded[1], coded[2]) if coded else (plain, plain)
        if label:
            codes.setdefault(code, {LANGUAGE: label})
    most = _MOST.search(asked.instruction)
    limit = _number(most[1]) if most else None
    one = bool(_ONE.search(asked.instruction)) or asked.round
    if yes_and_no([words[LANGUAGE] for words in codes.values()]) or (one and limit is None):
        return one_of(asked.id, codes, _ENGLISH)
    if limit is not None or _ANY_NUMBER.search(asked.instruction) or asked.boxes:
        return some_of(asked.id, codes, _ENGLISH, limit)
    return one_of(asked.id, codes, _ENGLISH)


def _number(text: str) -> int:
    return _WORDS.get(text.casefold()) or int(text)


def _of_range(asked: TextQuestion, bounds: re.Match[str]) -> ColumnDraft:
    """Return a question about a number, or a scale such as "1 (never) to 5 (always)"."""
    first, in_brackets, stated, last, last_in_brackets, last_stated = bounds.groups()
    low, high = (float(each.replace(",", ".")) for each in (first, last))
    whole = low.is_integer() and high.is_integer() and 1 <= high - low < MOST_SCALE
    labels = {int(low): in_brackets or stated, int(high): last_in_brackets or last_stated}
    if not whole or _AMOUNT.search(asked.text) or high <= low:
        return numbers(asked.id, min(low, high), max(low, high))
    codes: dict[str, Mapping[str, str]] = {}
    for n in range(int(low), int(high) + 1):
        label = (labels.get(n) or "").strip()
        codes[str(n)] = {LANGUAGE: f"{n} ({label})" if label else str(n)}
    column = one_of(asked.id, codes, _ENGLISH)
    if any(labels.values()) or isinstance(column, SkippedColumn):
        return column
    return column.doubting(
        f"{first} to {last} was taken for a scale; if it is an amount, use edges"
    )


FORM = Form(sentence("drafts.questionnaire"), recognized, draft_of)
