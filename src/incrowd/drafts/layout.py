"""The layout of a form in a draft: whom each question is asked, its section, and its matrix.

Every kind of form states its questions as `FormItem`s; this is the one place that turns them into
questions of a draft. A condition that a survey cannot state becomes an open decision that quotes
it, and the question becomes optional, since some people have no answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from incrowd.drafts.columns import ColumnDraft, DraftQuestion, whole_or_not
from incrowd.drafts.conditions import (
    ALWAYS,
    NEVER,
    EarlierAnswers,
    NotExpressed,
    Referred,
    all_of,
)
from incrowd.drafts.draft import Draft
from incrowd.drafts.expressions import FormCondition
from incrowd.drafts.form import optional, unique, worded
from incrowd.drafts.wording import FormWording, Translations
from incrowd.survey import Choice, YesNo
from incrowd.survey.conditions import Condition, IsAnswer, comparisons, read_condition
from incrowd.survey.question import MOST_TOGETHER

SHARED = ("type", "options", "labels", "optional", "other", "section")  # keys of a whole matrix


class FormPart(NamedTuple):
    """A section or a matrix of a form. key: what tells it from others. name: what its id is made
    of. words: its title, or the text above it. conditions: of all its questions. text: below a
    title."""

    key: Hashable
    name: str
    words: Translations
    conditions: tuple[FormCondition, ...] = ()
    text: Mapping[str, str] = {}


class FormItem(NamedTuple):
    """A question of a form, and its place.

    words, help: its text, and what is below it. required: whether everybody who is asked has to
    answer. name: of the question in expressions, if it is not the id. groups: around it, by which
    equal names are told apart. codes, boxes: see `Referred`; boxes has the codes of single options
    by their names.
    """

    column: ColumnDraft
    words: Mapping[str, str] = {}
    help: Mapping[str, str] = {}
    required: bool = False
    conditions: tuple[FormCondition, ...] = ()
    section: FormPart | None = None
    matrix: FormPart | None = None
    name: str = ""
    groups: tuple[str, ...] = ()
    codes: Mapping[str, str] = {}
    boxes: Mapping[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names in expressions."""
        return (self.name or self.column.id, *self.boxes)


@dataclass(frozen=True)
class FormLayout:
    """The questions of a draft, with the tables of their sections and matrices."""

    columns: tuple[ColumnDraft, ...]
    sections: tuple[Mapping[str, Any], ...]
    matrices: tuple[Mapping[str, Any], ...]

    def draft(
        self,
        name: str,
        notes: Iterable[str],
        language: str,
        frame: Mapping[str, Any] | None = None,
    ) -> Draft:
        """Return the draft of a survey. frame: its table `page`."""
        return Draft(
            name,
            None,
            self.columns,
            (*notes,),
            language,
            frame=frame or {},
            sections=self.sections,
            matrices=self.matrices,
        )


def laid_out(
    items: Iterable[FormItem], wording: FormWording, given: Iterable[str] = ()
) -> FormLayout:
    """Return the questions with their conditions, sections, and matrices. given: the names of boxes
    that everybody has ticked, as consent."""
    items = [*items]
    named = [*unique([item.column for item in items])]
    items = [item._replace(column=column) for item, column in zip(items, named, strict=True)]
    drafting = _Drafting(items, wording, frozenset(given))
    drafting.ask()
    matrices = tuple(drafting.matrices())
    columns = tuple(drafting.final(item) for item in items)
    return FormLayout(columns, tuple(drafting.sections), matrices)


@dataclass
class _Drafting:
    """The state of a draft: the questions so far by their ids, and whether each is conditional."""

    items: Sequence[FormItem]
    wording: FormWording
    given: frozenset[str]
    sections: list[dict[str, Any]] = field(default_factory=list)
    questions: dict[str, DraftQuestion] = field(default_factory=dict)
    conditional: set[str] = field(default_factory=set)
    in_matrix: set[str] = field(default_factory=set)
    edges: dict[str, set[float]] = field(default_factory=lambda: defaultdict(set))

    @property
    def asked(self) -> list[tuple[FormItem, DraftQuestion]]:
        columns = ((item, item.column) for item in self.items)
        return [(item, each) for item, each in columns if isinstance(each, DraftQuestion)]

    # Conditions, and the sections that state them.

    def ask(self) -> None:
        """Decide whom each question is asked, in their order."""
        for _, run in groupby(self.asked, key=lambda each: each[0].section and each[0].section.key):
            items = [*run]
            part = items[0][0].section
            above, left = self._section(part, items[0][0].groups) if part else (ALWAYS, ())
            id = self.sections[-1]["id"] if part and shown(part.words, self.wording) else None
            for item, question in items:
                if id is not None:
                    question = replace(question, keys={"section": id, **question.keys})
                self._ask(item, question, above, left)

    def _section(
        self, part: FormPart, groups: tuple[str, ...]
    ) -> tuple[Condition, tuple[FormCondition, ...]]:
        """Add a section. Return its condition; or, if it has no title or a survey cannot state the
        condition, those of the form, which are then of each question."""
        title = shown(part.words, self.wording)
        if title is None:
            return ALWAYS, part.conditions
        section: dict[str, Any] = {"id": _id(part.name, [each["id"] for each in self.sections])}
        section["title"] = title
        if text := shown(part.text, self.wording):
            section["text"] = text
        self.sections.append(section)
        try:
            above = _fitting(all_of(self._read(each, groups) for each in part.conditions), ALWAYS)
        except NotExpressed:
            return ALWAYS, part.conditions
        if above != ALWAYS:
            section["asked_if"] = str(above)
            self._compare(above)
        return above, ()

    def _read(self, condition: FormCondition, groups: tuple[str, ...]) -> Condition:
        """Return a condition of the form. Raises NotExpressed."""
        return condition.read(EarlierAnswers(lambda name: self._referred(name, groups), self.given))

    def _compare(self, condition: Condition) -> None:
        """Remember the edges that a condition compares numbers with."""
        for comparison in comparisons(condition):
            if not isinstance(comparison, IsAnswer):
                self.edges[comparison.question].add(comparison.edge)

    def _ask(
        self,
        item: FormItem,
        question: DraftQuestion,
        above: Condition,
        left: tuple[FormCondition, ...],
    ) -> None:
        """Add a question with its condition, or with a decision about each that cannot be stated.

        above: the condition of its section. left: those that its section could not state.
        """
        stated: Condition = ALWAYS
        doubts: dict[str, None] = {}
        for each in (*left, *item.conditions):
            try:
                condition = self._read(each, item.groups)
                if condition != above:
                    stated = _fitting(all_of([stated, condition]), above)
            except NotExpressed as reason:
                text = " ".join(each.text.split())
                doubts[f"the form asks it only if {text}, but {reason}; state `asked_if`"] = None
        if stated != ALWAYS:
            question = replace(question, keys={**question.keys, "asked_if": str(stated)})
            self._compare(stated)
        question = optional(question, item.required and not doubts)
        for doubt in doubts:
            question = question.doubting(doubt)
        self.questions[question.id] = question
        if (stated, above) != (ALWAYS, ALWAYS):
            self.conditional.add(question.id)

    def _referred(self, name: str, groups: tuple[str, ...]) -> Referred:
        """Return what an expression of a question in some groups refers to."""
        same = [item for item in self.items if name in item.names]
        if len(same) > 1:
            near = [_common(item.groups, groups) for item in same]
            same = [item for item, steps in zip(same, near, strict=True) if steps == max(near)]
        if len(same) > 1:
            raise NotExpressed(f"several questions are named {name}")
        if not same or not isinstance(same[0].column, DraftQuestion):
            raise NotExpressed(f"{name} is not a question of this draft")
        (item,) = same
        question = self.questions.get(item.column.id)
        if question is None:
            raise NotExpressed(f"{name} is not an earlier question")
        conditional = question.id in self.conditional
        return Referred(question, item.codes, item.boxes.get(name), conditional)

    # Matrices.

    def matrices(self) -> Iterator[dict[str, Any]]:
        """Yield the matrices, and remember which questions are in one."""
        ids: list[str] = []

        def part(each: tuple[FormItem, DraftQuestion]) -> tuple[Hashable, ...]:
            item, _ = each
            return (item.section and item.section.key, item.matrix and item.matrix.key)

        for _, run in groupby(self.asked, key=part):
            items = [item for item, _ in run]
            matrix = items[0].matrix
            rows = [self.questions[item.column.id] for item in items]
            if matrix is None or len(rows) < 2 or not _alike(rows):
                continue
            text = shown(matrix.words, self.wording)
            if text is None:
                continue
            ids.append(_id(matrix.name, ids))
            for row in rows:
                self.questions[row.id] = replace(row, keys={**row.keys, "matrix": ids[-1]})
                self.in_matrix.add(row.id)
            first = self.questions[rows[0].id].keys
            yield {"id": ids[-1], "text": text} | {k: first[k] for k in SHARED if k in first}

    # What is written.

    def final(self, item: FormItem) -> ColumnDraft:
        """Return a question with its wording, and with the edges that conditions compare with."""
        if not isinstance(item.column, DraftQuestion):
            return item.column
        question, words = self.questions[item.column.id], item.words
        if item.matrix and question.id not in self.in_matrix:
            words = _together(item.matrix.words, words)
        if edges := self.edges.get(question.id, set()) - {*question.keys.get("edges", ())}:
            every = sorted({*question.keys["edges"], *edges})
            listed = ", ".join(str(whole_or_not(edge)) for edge in sorted(edges))
            noun = "edges" if len(edges) > 1 else "edge"
            question = replace(
                question, keys={**question.keys, "edges": [*map(whole_or_not, every)]}
            ).noting(f"Who is asked other questions depends on the {noun} {listed}.")
        return _in_order(worded(question, self.wording, words, item.help))


FIRST = ("text", "help", "section", "matrix", "asked_if")


def _in_order(column: ColumnDraft) -> ColumnDraft:
    if not isinstance(column, DraftQuestion):
        return column
    first = {key: column.keys[key] for key in FIRST if key in column.keys}
    return replace(column, keys=first | dict(column.keys))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many of the outermost groups are the same."""
    steps = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        steps += 1
    return steps


def _alike(rows: Sequence[DraftQuestion]) -> bool:
    """Return whether questions can be rows of one matrix."""
    kinds = YesNo.type_name(), Choice.type_name()
    fit = rows[0].keys["type"] in kinds and len(rows[0].keys.get("options", ())) <= MOST_TOGETHER
    answers = [{key: row.keys.get(key) for key in SHARED} for row in rows]
    return fit and all(each == answers[0] for each in answers)


def _fitting(condition: Condition, above: Condition) -> Condition:
    """Return the condition of a question in a section with another one. Raises NotExpressed if
    nobody is asked, or if it is nested too deeply."""
    if condition == NEVER:
        raise NotExpressed("it never holds for the answers in this draft")
    try:
        if condition != ALWAYS:
            read_condition(f"({above}) and ({condition})" if above != ALWAYS else str(condition))
    except ValueError:
        raise NotExpressed("it is nested too deeply") from None
    return condition


def shown(words: Translations, wording: FormWording) -> Mapping[str, str] | str | None:
    """Return a text as a survey states it; None if nothing is left of it."""
    every = wording.every(words)
    several = len(every) > 1 and wording.languages.main in every
    return every if several else wording.one(words) or None


def _id(name: str, taken: Sequence[str]) -> str:
    """Return the id of a part, made of the first words of a name."""
    words = re.findall(r"\w+", name)[:ID_WORDS]
    plain = "_".join(words)[:ID_LETTERS] or "part"
    number, id = 1, plain
    while id in taken:
        number += 1
        id = f"{plain}_{number}"
    return id


ID_WORDS, ID_LETTERS = 4, 40


def _together(first: Translations, second: Translations) -> dict[str, str]:
    """Return the text above a matrix and that of its row, in every language that has the row."""
    rows = {tag: " ".join(filter(None, (first.get(tag), text))) for tag, text in second.items()}
    return rows or {**first}
