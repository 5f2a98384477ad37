"""Several columns that each stand for an option of one question -> that question.

Survey software exports check boxes as columns such as `q3_1`, `race___2`, `Q5: Mail`, or
`Media (choice=Radio)`, with a mark or a blank, with 0 and 1, or with words such as "Unchecked".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import count, takewhile
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.catalog.sentences import sentence
from incrowd.characters import cleaned
from incrowd.drafts.columns import (
    AT_MOST,
    BLANK_IS_NO,
    ColumnDraft,
    DraftQuestion,
    SkippedColumn,
    reviewed,
)
from incrowd.drafts.spellings import clean_id
from incrowd.encoding.chosen import MISSING, UNKNOWN, YES, boxes
from incrowd.survey import NONE, SEPARATOR, Codes, Multi, YesNo


class NameForm(IntEnum):
    """How surely the form of its name says that a column is an option of a question."""

    WORD = 0  # illness_asthma: "illness" may be a topic
    NUMBER = 1  # q3_1
    PART = 2  # Media [Radio]
    BOX = 3  # Media (choice=Radio)


class OptionName(NamedTuple):
    """The name of a column that is an option of a question: its form, the question, the option."""

    mark: NameForm
    sign: str
    stem: str
    option: str


_CHOICE = "choice|selected choice|auswahl|choix|opción|scelta"
_FORMS = (
    (NameForm.BOX, rf"(?P<stem>.+?) ?(?P<sign>\((?:{_CHOICE})=)(?P<option>.+)\)"),
    (NameForm.BOX, r"(?P<stem>.+?)(?P<sign>___)(?P<option>.+)"),
    (NameForm.PART, r"(?P<stem>.+?) ?(?P<sign>\[)(?P<option>[^\[\]]+)\]"),
    (NameForm.PART, r"(?P<stem>.+?)(?P<sign> [-–—|] )(?P<option>.+)"),
    (NameForm.PART, r"(?P<stem>.+?)(?P<sign>::? )(?P<option>.+)"),
    (NameForm.PART, r"(?P<stem>.+)(?P<sign>/)(?P<option>[^/]+)"),
    (NameForm.NUMBER, r"(?P<stem>.+?)(?P<sign>[_. -])(?P<option>\d{1,3})"),
    (NameForm.WORD, r"(?P<stem>.*[^\W\d_])(?P<sign>)(?P<option>\d+)"),
    (NameForm.WORD, r"(?P<stem>.+?)(?P<sign>[_.-])(?P<option>[^\W\d].*)"),
)
_PATTERNS = tuple((mark, re.compile(form, re.IGNORECASE | re.DOTALL)) for mark, form in _FORMS)
# Beginnings of names that number all questions, not the options of one.
_GENERIC = frozenset(
    {
        *("item", "var", "variable", "question", "frage", "col", "column", "field", "feld"),
        *("spalte", "answer", "antwort", "pregunta", "merkmal"),
    }
)
LETTERS = 3  # of a beginning without digits; shorter ones number all questions, as in q_7
# Words in boxes, which are no answers to a question of its own.
_BOX_WORDS = frozenset(
    {
        *("checked", "unchecked", "not checked", "selected", "not selected", "unselected"),
        *("ticked", "unticked", "not ticked", "chosen", "not chosen", "mentioned"),
        *("not mentioned", "quoted", "not quoted", "ausgewählt", "nicht ausgewählt", "gewählt"),
        *("nicht gewählt", "genannt", "nicht genannt", "angekreuzt", "nicht angekreuzt"),
        *("marked", "not marked", "markiert", "nicht markiert"),
    }
)
FEWEST, MOST = 2, 1000  # columns of a question
FEWEST_WORDS = 3  # columns with a common first word, from which the user is asked
_CODE = re.compile(r"[^\W\d_]{0,3}_?-?\d+(_\d+)*|[^\W\d_]")  # an option that is only a code
_END = re.compile(rf"[\s\-–—:|(\[/]*({_CHOICE})?[\s=\-–—:|(\[/]*$", re.IGNORECASE)


def parts_of(name: str) -> OptionName | None:
    """Return the parts of the name of a column; None if it names no option."""
    for mark, form in _PATTERNS:
        if match := form.fullmatch(name.strip()):
            stem = match["stem"].strip(" _.-:")
            short = sum(map(str.isalpha, stem)) < LETTERS or stem.casefold() in _GENERIC
            if short and not re.search(r"\d", stem):
                return None
            return OptionName(mark, match["sign"].casefold(), stem, match["option"].strip())
    return None


def together(
    drafts: Sequence[ColumnDraft],
    table: pa.Table,
    texts: Mapping[str, str],
    sets: Mapping[str, str],
) -> tuple[ColumnDraft, ...]:
    """Return the drafts of columns, with one question for those that are its options.

    drafts: one for each column of the table. texts: the wording of columns. sets: the question that
    a column answers together with others, if the file states it.
    """
    names = table.column_names
    groups: dict[tuple[NameForm, str, str], list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        parts = OptionName(NameForm.BOX, "", sets[name], name) if name in sets else parts_of(name)
        if names.count(name) == 1 and parts:
            groups[parts[:3]].append(place)
    result: list[ColumnDraft | None] = [*drafts]
    ids = {*names} | {each.id for each in drafts}
    for (mark, _, stem), places in groups.items():
        ticked = [place for place in places if _is_box(drafts[place])]
        if not FEWEST <= len(ticked) <= MOST:
            continue
        if stem in names and _lists(drafts[names.index(stem)]):
            for place in ticked:
                why = sentence("drafts.same-answers", name=stem)
                result[place] = SkippedColumn(names[place], why)
        elif boxes_of_one := _option_columns(mark, stem, drafts, table, ticked, places):
            question = boxes_of_one.question(texts, ids)
            ids.add(question.id)
            for place in boxes_of_one.places:
                result[place] = None
            result[ticked[0]] = question
        elif mark == NameForm.WORD and len(ticked) >= FEWEST_WORDS:
            result[ticked[0]] = _asked(drafts[ticked[0]], [names[place] for place in ticked])
    return tuple(each for each in result if each is not None)


def _is_box(draft: ColumnDraft) -> bool:
    """Return whether a draft is a question of yes or no without codes for no answer."""
    if isinstance(draft, SkippedColumn):
        return False
    return draft.keys["type"] == YesNo.type_name() and "missing" not in draft.keys


def _lists(draft: ColumnDraft) -> bool:
    """Return whether the cells of a column list several answers."""
    return isinstance(draft, DraftQuestion) and draft.keys["type"] == Multi.type_name()


def _asked(draft: ColumnDraft, names: Sequence[str]) -> ColumnDraft:
    if isinstance(draft, SkippedColumn):
        return draft
    return draft.doubting(
        f"if {_first(names)} are the options of one question, of which people choose several, make "
        'them one question with type = "multi" and columns'
    )


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


class _OptionColumns(NamedTuple):
    """Columns of boxes that have the answers to one question.

    sure: whether they cannot be questions of their own. places, names: of the columns. marks: what
    stands in the ticked boxes of each. values: the codes of ticked and empty boxes. cells: as in
    `incrowd.encoding.chosen.boxes`.
    """

    stem: str
    sure: bool
    places: list[int]
    names: list[str]
    marks: list[tuple[str, ...]]
    values: Mapping[str, str]
    cells: np.ndarray

    def question(self, texts: Mapping[str, str], ids: set[str]) -> DraftQuestion:
        """Return the question."""
        wording, options = self._options(texts)
        chosen = self.cells == YES
        keys: dict[str, Any] = {"text": wording} if wording else {}
        keys |= {
            "type": Multi.type_name(),
            "options": options,
            "at_most": max(1, int(chosen.sum(axis=1).max())),
            "columns": dict(zip(self.names, options, strict=True)),
        }
        keys |= {"values": dict(self.values)} if self.values else {}
        keys |= {"optional": True} if (self.cells == MISSING).any() else {}
        question = DraftQuestion(_free(clean_id(self.stem), ids), keys).noting(AT_MOST)
        rows = dict(zip(options, chosen.sum(axis=0).tolist(), strict=True))
        return reviewed(self._doubted(question, options), rows)

    def _options(self, texts: Mapping[str, str]) -> tuple[str, list[str]]:
        """Return the wording of the question, and the option of each column."""
        worded = [texts.get(name, "") for name in self.names]
        wording = self.stem if " " in self.stem else ""
        written = [parts.option if (parts := parts_of(name)) else name for name in self.names]
        if all(worded) and len({*worded}) == len(worded):
            shared = _shared(worded)
            wording = _END.sub("", shared) or wording
            written = [text[len(shared) :].strip(" )]") for text in worded]
        shown = [_shown(*each) for each in zip(self.names, self.marks, written, strict=True)]
        plain = [cleaned(option).replace(SEPARATOR, ",").strip() for option in shown]
        usable = len({*plain}) == len(plain) and all(each and each != NONE for each in plain)
        return wording, plain if usable else self.names

    def _doubted(self, question: DraftQuestion, options: Sequence[str]) -> DraftQuestion:
        if "" in self.values:
            question = question.doubting(BLANK_IS_NO)
        if not self.sure:
            question = question.doubting(
                f"{_first(options)} were taken for the options of one question, of which people "
                'choose several; if they are different questions, ask each with type = "yesno"'
            )
        if {*options} & {*self.names}:
            question = question.doubting(
                "some options have the names of their columns; write them as people read them"
            )
        return question


def _option_columns(
    mark: NameForm,
    stem: str,
    drafts: Sequence[ColumnDraft],
    table: pa.Table,
    ticked: Sequence[int],
    places: Sequence[int],
) -> _OptionColumns | None:
    """Return the columns of a question; None if they are questions of their own.

    ticked: the places of columns of yes and no. places: those of all columns with such a name; one
    that nobody ticked is an option as well.
    """
    stated = [_values(drafts[place]) for place in ticked]
    values = {code: answer for each in stated for code, answer in each.items()}
    together = all(values[code] == answer for each in stated for code, answer in each.items())
    if not together or len({"" in each for each in stated}) > 1:
        return None
    sure = (
        mark == NameForm.BOX
        or "" in values
        or any(code.casefold() in _BOX_WORDS for code in values)
    )
    if not sure and mark == NameForm.WORD:
        return None
    codes = Codes(question=stem, values=values)

    def read(chosen: Sequence[int]) -> np.ndarray:
        return boxes(codes, [table.column(place).combine_chunks() for place in chosen])

    missing = read(ticked) == MISSING
    if (missing.any(axis=1) != missing.all(axis=1)).any():
        return None
    empty = [place for place in places if isinstance(drafts[place], SkippedColumn)]
    empty = [
        place
        for place in empty
        if not (read([place]) == UNKNOWN).any()
        and ((read([place]) == MISSING)[:, 0] == missing[:, 0]).all()
    ]
    used = sorted([*ticked, *empty])
    names = [table.column_names[place] for place in used]
    marks = [
        tuple(code for code, answer in _values(drafts[place]).items() if code and answer == "yes")
        for place in used
    ]
    return _OptionColumns(stem, sure, used, names, marks, values, read(used))


def _values(draft: ColumnDraft) -> Mapping[str, str]:
    return draft.keys.get("values", {}) if isinstance(draft, DraftQuestion) else {}


def _shared(texts: Sequence[str]) -> str:
    """Return the beginning that texts have in common, up to the last sign between two parts."""
    ends = zip(min(texts), max(texts), strict=False)
    common = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], ends))
    return re.sub(r"[^-–—:|(\[/=?]*$", "", common)


def _shown(name: str, marks: Sequence[str], option: str) -> str:
    """Return an option as people read it: the mark in its column, if the name only numbers it."""
    if not _CODE.fullmatch(option):
        return option
    words = [mark for mark in marks if len(mark) > 3 and mark.casefold() not in _BOX_WORDS]
    return words[0] if len(words) == 1 else name


def _free(id: str, ids: set[str]) -> str:
    """Return an id that no other question and no column has."""
    numbered = (f"{id}_{number}" for number in count(2))
    return id if id not in ids else next(each for each in numbered if each not in ids)
