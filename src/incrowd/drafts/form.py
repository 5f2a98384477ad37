"""Forms: what they have in common, whatever software they are from."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.characters import cleaned, hidden
from incrowd.drafts.columns import (
    BAD_NAME,
    ColumnDraft,
    DraftQuestion,
    SkippedColumn,
    coded,
    even,
    is_id,
    merged_or_not,
    whole_or_not,
)
from incrowd.drafts.draft import Draft
from incrowd.drafts.wording import FormWording, Translations
from incrowd.encoding.answers import load_sheet, sheet_names
from incrowd.encoding.formats.csv import SEPARATORS
from incrowd.encoding.formats.registry import FORMATS
from incrowd.encoding.sources import HEAD_BYTES, AnswersSource, readable
from incrowd.encoding.spelling import as_text
from incrowd.errors import AnswersError
from incrowd.survey import NONE, SEPARATOR, Multi, Number, YesNo
from incrowd.survey.question import NO_ANSWER

MOST_MIB = 64  # of a form that is text
SheetTable = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class FormFile:
    """A file that may be a form. What it contains is read when a kind of form looks at it."""

    source: AnswersSource

    @property
    def is_text(self) -> bool:
        """Whether it is text, and not a binary format."""
        format = FORMATS.get(self.source.kind)
        return format is None or not format.magic

    @cached_property
    def start(self) -> str:
        """The beginning of a text; "" of a binary file."""
        if not self.is_text:
            return ""
        with readable(self.source.name), self.source.open() as file:
            head = pa.input_stream(file, compression=self.source.compression).read(HEAD_BYTES)
        return bytes(head).decode(self._encoding, errors="ignore")

    @cached_property
    def text(self) -> str:
        """The text. Raises AnswersError if it is too long for a form, or in another encoding."""
        with readable(self.source.name, self.source), self.source.open() as file:
            stream = pa.input_stream(file, compression=self.source.compression)
            content = bytes(stream.read((MOST_MIB << 20) + 1))
            if len(content) > MOST_MIB << 20:
                raise AnswersError.of(
                    "answers", "drafts.long-form", value=self.source.name, most=MOST_MIB
                )
            return content.decode(self._encoding)

    @property
    def _encoding(self) -> str:
        return self.source.encoding or "utf-8-sig"

    @cached_property
    def first_rows(self) -> list[list[str]]:
        """The first rows of a text, as a table with any separator; all rows of a workbook."""
        whole = self.start[: self.start.rfind("\n") + 1] or self.start
        return table_of(whole) if self.source.kind == "csv" else self._first_sheet

    @cached_property
    def rows(self) -> list[list[str]]:
        """All rows of a text, or of the chosen or first sheet of a workbook, as a table."""
        return table_of(self.text) if self.source.kind == "csv" else self._first_sheet

    @property
    def _first_sheet(self) -> list[list[str]]:
        chosen = self.source.sheet or next(iter(self.sheet_names), None)
        if chosen not in self.sheet_names:
            return []
        return [[as_text(cell) or "" for cell in row] for row in self.sheet(chosen)]

    @cached_property
    def sheet_names(self) -> tuple[str, ...]:
        """The names of the sheets of a workbook."""
        sheets = self.source.kind in FORMATS and FORMATS[self.source.kind].sheets
        return sheet_names(self.source) if sheets else ()

    @cached_property
    def _sheets(self) -> dict[str, SheetTable]:
        return {}

    def sheet(self, name: str) -> SheetTable:
        """Return the rows of a sheet, which are read once."""
        if name not in self._sheets:
            self._sheets[name] = load_sheet(self.source, name)
        return self._sheets[name]


_EXCEL_HINT = re.compile(r'"?sep=[^\r\n]"?\r?\n', re.IGNORECASE)


def table_of(text: str) -> list[list[str]]:
    """Return the rows of the layout whose first rows have equally many cells, and the most; empty
    rows are left out."""
    best: list[list[str]] = []
    hint = _EXCEL_HINT.match(text)
    text = text[hint.end() :] if hint else text
    for separator in SEPARATORS:
        try:
            rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=separator)]
        except csv.Error:  # a cell of more than 128 KiB
            continue
        filled = [row for row in rows if any(cell.strip() for cell in row)]
        best = max(best, filled, key=_regular)
    return best


def _regular(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return how many of the first rows have as many cells as the first, at least two, and how many
    cells there are; below a title, how many rows have the same number of cells, at least two."""
    sizes = [*map(len, rows)]
    if alike := sum(size == sizes[0] > 1 for size in sizes[:3]):
        return alike, sum(sizes[:3])
    return 0, max(Counter(size for size in sizes if size > 1).values(), default=0)


class Form(NamedTuple):
    """One kind of form.

    spoken: its name in messages, such as "an XLSForm". recognized: whether a file is one; a
    recognized file is never read as answers. draft: the draft of one, by the name of the survey.
    """

    spoken: Sentence
    recognized: Callable[[FormFile], bool]
    draft: Callable[[str, FormFile], Draft]


# Questions.

EXAMPLE_EDGES = [0, 1, 2, 5, 10]  # for numbers without bounds
LARGEST = 1e12  # a bound beyond it is a limit of the software


def one_of(id: str, codes: Mapping[str, Translations], wording: FormWording) -> ColumnDraft:
    """Return a question with one answer. codes: the wording of each answer, by its code."""
    names, missing = _named(codes, wording)
    question = coded(id, names)
    if isinstance(question, SkippedColumn):
        return question
    question = _with_labels(question, codes, names, wording)
    if missing:
        keys = {**question.keys, "optional": True, "missing": missing}
        return replace(question, keys=keys)
    return question


def some_of(
    id: str, codes: Mapping[str, Translations], wording: FormWording, at_most: int | None
) -> ColumnDraft:
    """Return a question with several answers. at_most: None if the form does not limit them."""
    names, missing = _named(codes, wording)
    names = {code: name.replace(SEPARATOR, ",") for code, name in names.items()}
    nothing = [code for code, name in names.items() if name == NONE]
    names |= dict.fromkeys(nothing, NONE.capitalize())
    names = _distinct(names)
    options = list(dict.fromkeys(names.values()))
    if len(options) < 2:
        return SkippedColumn(id, sentence("drafts.few-answers"))
    most = len(options) if at_most is None else max(1, min(at_most, len(options)))
    keys: dict[str, Any] = {"type": Multi.type_name(), "options": options, "at_most": most}
    keys["values"] = names
    if missing:
        keys |= {"optional": True, "missing": missing}
    question = _with_labels(DraftQuestion(id, keys), codes, names, wording)
    if at_most is None:
        question = question.doubting("at_most allows all options; a smaller limit needs less noise")
    return question


def _named(
    codes: Mapping[str, Translations], wording: FormWording
) -> tuple[dict[str, str], list[str]]:
    """Return the answer of each code, different ones for different codes; and the codes for no
    answer, which is not an option of its own."""
    names = {c: wording.one(words) or cleaned(c) for c, words in codes.items() if c.strip()}
    missing = [code for code, name in names.items() if name.casefold() == NO_ANSWER]
    answers = {"yes", "no", *(name.casefold() for c, name in names.items() if c not in missing)}
    for code in [code for code in missing if code.casefold() in answers]:  # it cannot be both
        names[code] = f"{names[code]} ({cleaned(code)})"
        missing.remove(code)
    return _distinct({code: name for code, name in names.items() if code not in missing}), missing


def _distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Add the code to names that several codes have, and a number where that is not enough."""
    several, longer = Counter(names.values()), dict[str, str]()
    for code, name in names.items():
        plain = f"{name} ({cleaned(code)})" if several[name] > 1 else name
        numbered = (f"{plain} ({number})" for number in count(2))
        taken = {*longer.values()}
        longer[code] = plain if plain not in taken else next(n for n in numbered if n not in taken)
    return longer


def _with_labels(
    question: DraftQuestion,
    codes: Mapping[str, Translations],
    names: Mapping[str, str],
    wording: FormWording,
) -> DraftQuestion:
    """Add the labels in other languages, and what is doubtful about the answers."""
    languages = wording.languages
    values = question.keys.get("values", {})
    every = {code: wording.every(words) for code, words in codes.items()}
    answers = {values[code]: every[code] for code in names if code in values}
    labels, ambiguous = languages.labels(answers)
    if labels:
        labels = question.keys.get("labels", {}) | labels
        question = replace(question, keys={**question.keys, "labels": labels})
    if any(words and languages.main not in words for words in every.values()):
        question = question.doubting(_incomplete(languages.main))
    for tag in ambiguous:
        question = question.doubting(
            f"two answers have the same label in {tag!r}; the labels in it were left out"
        )
    times = Counter(wording.one(words) for words in codes.values())
    for label in (label for label, several in times.items() if label and several > 1):
        question = question.doubting(merged_or_not(label, times[label]))
    return question


def _incomplete(main: str) -> str:
    return f"some texts are missing in {main!r}, the survey's language"


def ambiguous(column: ColumnDraft, codes: Sequence[str]) -> ColumnDraft:
    """Ask about codes that a form gives two different labels."""
    for code in codes:
        if isinstance(column, DraftQuestion):
            column = column.doubting(
                f"the code {code} has several labels; the first was taken for all of them"
            )
    return column


def numbers(id: str, low: float | None, high: float | None, whole: bool = False) -> DraftQuestion:
    """Return a question about a number between two bounds; None if there is no bound. whole:
    whether people can type whole numbers only."""
    low, high = (None if each is None or abs(each) > LARGEST else each for each in (low, high))
    if low is not None and high is not None and low > high:
        low = high = None
    limits: dict[str, Any] = {
        key: whole_or_not(bound)
        for key, bound in (("minimum", low), ("maximum", high))
        if bound is not None
    }
    limits |= {"whole": True} if whole else {}
    if low is not None and high is not None and high > low:
        keys = {"type": Number.type_name(), "edges": even(low, high)} | limits
        question = DraftQuestion(id, keys)
        return question.noting("The edges are evenly spaced. Choose those that you will report.")
    if low is None and high is not None and high > 0:
        edges = even(0, high)
    else:
        start = low or 0
        edges = [start + each for each in EXAMPLE_EDGES]
    question = DraftQuestion(id, {"type": Number.type_name(), "edges": edges} | limits)
    return question.doubting("the form does not state both bounds of the number; set the edges")


def with_other(column: ColumnDraft, code: str) -> ColumnDraft:
    """Mark the option with a code as the one for every other answer."""
    if isinstance(column, SkippedColumn) or "options" not in column.keys:
        return column
    option = column.keys.get("values", {}).get(code)
    return replace(column, keys={**column.keys, "other": option}) if option else column


def in_steps(question: DraftQuestion, low: float, high: float, step: float) -> DraftQuestion:
    """Return a question about numbers with fractions. step: the distance between two answers."""
    quarters = (low + step * round((high - low) * share / step) for share in (0, 0.25, 0.5, 0.75))
    edges = sorted({float(f"{edge:.12g}") for edge in quarters})
    return replace(question, keys={**question.keys, "edges": edges})


def ticked(id: str, code: str) -> DraftQuestion:
    """Return a question about a single box. code: the one of a ticked box."""
    keys = {"type": YesNo.type_name(), "values": {code: "yes"}, "optional": True}
    return DraftQuestion(id, keys)


def worded(
    column: ColumnDraft, wording: FormWording, text: Translations, help: Translations | None = None
) -> ColumnDraft:
    """Add the text and the help of a question in every language."""
    if isinstance(column, SkippedColumn):
        return column
    main, keys, question = wording.languages.main, dict[str, Any](), column
    shown = {"text": wording.every(text), "help": wording.every(help or {})}
    for key, words in shown.items():
        if words:
            several = len(words) > 1 and main in words
            keys[key] = words if several else wording.one(words)
    question = replace(question, keys=keys | dict(question.keys))
    doubt = _incomplete(main)
    if any(words and main not in words for words in shown.values()):
        question = question if doubt in question.undecided else question.doubting(doubt)
    if not shown["text"]:
        question = question.doubting("the form has no text for this question; write it")
    if referred := [*wording.references([text, help or {}])]:
        question = question.doubting(
            f"the text refers to {', '.join(referred)}, which is not known here; reword it"
        )
    return question


def read_from(column: ColumnDraft, name: str) -> ColumnDraft:
    """Add the name of the column of exported answers. Questions have ids without signs."""
    if isinstance(column, SkippedColumn):
        return column
    return replace(column, keys={**column.keys, "column": name})


OneColumn = TypeVar("OneColumn", DraftQuestion, ColumnDraft)


def optional(column: OneColumn, required: bool) -> OneColumn:
    """Mark a question as optional unless everybody who is asked has to answer it."""
    if isinstance(column, SkippedColumn) or required:
        return column
    return replace(column, keys={**column.keys, "optional": True})


def named(column: ColumnDraft) -> ColumnDraft:
    """Return the question, or the reason why its name cannot be the id of a question."""
    if isinstance(column, SkippedColumn):
        return column
    if not is_id(column.id):
        return SkippedColumn(column.id, BAD_NAME)
    if character := hidden(column.id):
        return SkippedColumn(column.id, sentence("drafts.hidden-character", character=character))
    return column


def unique(columns: Sequence[ColumnDraft]) -> Iterator[ColumnDraft]:
    """Yield columns; later questions with the name of an earlier one are left out."""
    seen = set[str]()
    for each in map(named, columns):
        if isinstance(each, SkippedColumn):
            yield each
        elif each.id in seen:
            yield SkippedColumn(each.id, sentence("drafts.same-name-in-form"))
        else:
            seen.add(each.id)
            yield each
