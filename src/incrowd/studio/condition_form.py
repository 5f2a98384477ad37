"""The form of a condition: rows that compare an earlier question with an answer, and its text.

The text is for what rows cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.datastructures import FormData

from incrowd.studio.document import Raw
from incrowd.studio.language import Phrase, in_language, phrase
from incrowd.studio.operations import condition_of
from incrowd.survey.conditions import (
    AllOf,
    AnswerComparison,
    AnyOf,
    AtLeast,
    Below,
    Condition,
    IsAnswer,
    Not,
)
from incrowd.survey.question import AnyQuestion
from incrowd.survey.questions import type_of
from incrowd.survey.types.number import takes_numbers
from incrowd.survey.types.yes_no import YesNo

OPERATORS: Mapping[str, Phrase] = {
    "is": phrase("is"),
    "is-not": phrase("is not"),
    "at-least": phrase("is at least"),
    "below": phrase("is below"),
}
PLAIN = {"yes": phrase("yes"), "no": phrase("no")}  # answers without labels
OF_NUMBERS = ("at-least", "below")
JOINED = {"all": AllOf, "any": AnyOf}
MOST_ROWS = 100


class DecidingQuestion(NamedTuple):
    """A question on whose answer conditions can depend. answers: each with its wording. edges: of
    the ranges of a number."""

    id: str
    wording: str
    answers: Mapping[str, str]
    edges: tuple[str, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """The comparisons that are possible, the usual one first."""
        return (*OF_NUMBERS, "is", "is-not") if self.edges else ("is", "is-not")

    def choices(self, operator: str) -> Mapping[str, str]:
        """Return the values to compare with, each with its wording."""
        if operator in OF_NUMBERS:
            return dict(zip(self.edges, self.edges, strict=True))
        return self.answers

    def decides(self, comparison: AnswerComparison) -> bool:
        """Return whether the answer to the question decides a comparison."""
        if isinstance(comparison, IsAnswer):
            return comparison.answer in self.answers
        return format(comparison.edge, ".12g") in self.edges


class ConditionRow(NamedTuple):
    """A comparison in a form."""

    question: str
    operator: str
    answer: str


class ConditionForm(NamedTuple):
    """The content of the form of a condition.

    rows: None if they cannot say what the text says. joined: "all" or "any" of the rows. earlier:
    the questions that can be chosen, by their ids.
    """

    text: str
    rows: tuple[ConditionRow, ...] | None
    joined: str
    earlier: Mapping[str, DecidingQuestion]


def condition_form(table: Raw, earlier: Iterable[DecidingQuestion]) -> ConditionForm:
    """Return the form of the condition of a question, a section or a matrix.

    earlier: the questions before it on whose answers it can depend.
    """
    text = table.get("asked_if", "")
    joined, rows = "all", None
    if (condition := condition_of(table)) is not None:
        joined, rows = _rows_of(condition)
    by_id = {each.id: each for each in earlier}
    return ConditionForm(str(text), rows if text else (), joined, by_id)


def deciding(questions: Sequence[Raw], main: str) -> Iterator[DecidingQuestion]:
    """Yield the questions on whose answers conditions can depend."""
    for raw in questions:
        question = _question(raw)
        if question is not None and question.decisive and raw.get("id"):
            listed = question.page_field.answers or question.choices
            answers = (*listed, *question.unanswered)
            edges = question.edges if takes_numbers(question) else ()
            yield DecidingQuestion(
                str(raw["id"]),
                in_main(raw.get("text"), main) or str(raw["id"]),
                {answer: label_of(raw, answer, main) for answer in answers},
                tuple(format(edge, ".12g") for edge in edges),
            )


def _question(raw: Raw) -> AnyQuestion | None:
    kind = type_of(raw)
    condition = {"asked_if": "a = b"} if "asked_if" in raw else {}  # whatever mistakes it has
    return kind.without_wording({**raw, **condition}) if kind else None


def in_main(words: Any, language: str) -> str:
    """Return a text of the survey in its main language, or in another if it has only that."""
    if isinstance(words, dict):
        words = words.get(language) or next(iter(words.values()), "")
    return words if isinstance(words, str) else ""


def label_of(raw: Raw, answer: str, main: str) -> str:
    """Return the wording of an answer to a question."""
    labels = raw.get("labels")
    label = in_main(labels.get(answer), main) if isinstance(labels, dict) else ""
    if not label and raw.get("type") == YesNo.type_name() and answer in PLAIN:
        return in_language(PLAIN[answer], main)
    return label or answer


def _rows_of(condition: Condition) -> tuple[str, tuple[ConditionRow, ...] | None]:
    """Return how a condition joins rows, and the rows; None if it is not of that form."""
    parts = condition.conditions if isinstance(condition, AllOf | AnyOf) else (condition,)
    rows = tuple(row for part in parts if (row := _row(part)) is not None)
    joined = "any" if isinstance(condition, AnyOf) else "all"
    return joined, rows if len(rows) == len(parts) else None


def _row(condition: Condition) -> ConditionRow | None:
    if isinstance(condition, AllOf | AnyOf):
        return None
    if isinstance(condition, Not):
        inner = condition.condition
        return _compared(inner, "is-not") if isinstance(inner, IsAnswer) else None
    return _compared(condition)


def _compared(comparison: AnswerComparison, operator: str = "is") -> ConditionRow:
    if isinstance(comparison, IsAnswer):
        return ConditionRow(comparison.question, operator, comparison.answer)
    operator = "at-least" if isinstance(comparison, AtLeast) else "below"
    return ConditionRow(comparison.question, operator, format(comparison.edge, ".12g"))


# --- what a form describes ------------------------------------------------------------------------


def typed_condition(form: FormData, before: Raw, earlier: Sequence[Raw], main: str) -> str | None:
    """Return the text of the condition that a form describes: the text, if it was edited, or else
    that of the rows. before: the table that the form shows."""
    shown = condition_form(before, deciding(earlier, main))
    text = str(form.get("asked_if", shown.text)).strip()
    if text != shown.text.strip():
        return text or None
    joined = str(form.get("asked.joined", shown.joined))
    rows = tuple(_typed_rows(form, shown))
    if "asked.question.0" not in form or (rows, joined) == (shown.rows, shown.joined):
        return before.get("asked_if")
    parts = tuple(map(_comparison, rows))
    if len(parts) > 1:
        return str(JOINED.get(joined, AllOf)(parts))
    return str(parts[0]) if parts else None


def _typed_rows(form: FormData, shown: ConditionForm) -> Iterator[ConditionRow]:
    """Yield the rows of a form. In those that were changed, what does not fit the chosen question
    is replaced by what does."""
    removed = str(form.get("asked.remove", ""))
    for place in range(MOST_ROWS):
        if (id := str(form.get(f"asked.question.{place}", ""))) == "" or str(place) == removed:
            continue
        row = ConditionRow(
            id,
            str(form.get(f"asked.operator.{place}", "")),
            str(form.get(f"asked.answer.{place}", "")),
        )
        unchanged = row in (shown.rows or ())
        yield row if unchanged or id not in shown.earlier else _fitting(row, shown.earlier[id])


def _fitting(row: ConditionRow, question: DecidingQuestion) -> ConditionRow:
    usual = question.operators[0]
    operator = row.operator if row.operator in question.operators else usual
    answers = [*question.choices(operator)]
    if row.answer in answers:
        return row._replace(operator=operator)
    # Everybody is at or above the first edge.
    first = 1 if operator in OF_NUMBERS and len(answers) > 1 else 0
    return ConditionRow(row.question, operator, answers[first] if answers else row.answer)


def _comparison(row: ConditionRow) -> Condition:
    if row.operator in OF_NUMBERS:
        compared: type[AtLeast | Below] = AtLeast if row.operator == "at-least" else Below
        return compared(row.question, float(row.answer))
    condition = IsAnswer(row.question, row.answer)
    return Not(condition) if row.operator == "is-not" else condition


# --- in words -------------------------------------------------------------------------------------

COMPARED: Mapping[str, Phrase] = {
    "is": phrase("“{question}” is “{answer}”"),
    "is-not": phrase("“{question}” is not “{answer}”"),
    "at-least": phrase("“{question}” is at least {answer}"),
    "below": phrase("“{question}” is below {answer}"),
}


def condition_words(condition: Condition, questions: Mapping[str, Raw], main: str) -> Phrase:
    """Return a condition in the wording of questions and answers."""

    def words(condition: Condition, within: bool = False) -> Phrase:
        if isinstance(condition, AllOf | AnyOf):
            joined, *others = (words(each, within=True) for each in condition.conditions)
            for each in others:
                if isinstance(condition, AllOf):
                    joined = phrase("{first} and {second}", first=joined, second=each)
                else:
                    joined = phrase("{first} or {second}", first=joined, second=each)
            return phrase("({condition})", condition=joined) if within else joined
        if not isinstance(condition, Not):
            return row_words(_compared(condition))
        if isinstance(condition.condition, IsAnswer):
            return row_words(_compared(condition.condition, "is-not"))
        return phrase("not {condition}", condition=words(condition.condition, within=True))

    def row_words(row: ConditionRow) -> Phrase:
        raw = questions.get(row.question, {})
        wording = in_main(raw.get("text"), main) or row.question
        answer = row.answer if row.operator in OF_NUMBERS else label_of(raw, row.answer, main)
        english = COMPARED[row.operator].english
        return Phrase(english, (("question", wording), ("answer", answer)))

    return words(condition)
