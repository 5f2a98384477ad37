"""What if a question, a table or some answers were different: changes of a survey, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.errors import Place, UsageError
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.studio.document import Operation, Raw
from incrowd.studio.interval_figures import points, rounded
from incrowd.studio.language import decimal
from incrowd.studio.operations import (
    RemoveQuestion,
    SetQuestion,
    SetTables,
    names,
    question,
    questions,
    tables,
)
from incrowd.studio.titles import QuestionTitles, table_title
from incrowd.survey.question import MERGED
from incrowd.survey.questions import type_of

if TYPE_CHECKING:
    from incrowd.planner.outlook import Outlook

KINDS = ("drop", "table", "merge")


class MarginComparison(NamedTuple):
    """One wanted table before and after a change: margins as text, "" if it is not wanted.

    gain: by how many percent the margin gets smaller; None if it is new or gone. people: the
    effective samples.
    """

    name: str
    before: str
    after: str
    gain: float | None
    people: tuple[int, int]


def compared(
    before: Outlook, after: Outlook, language: str, titles: QuestionTitles
) -> tuple[MarginComparison, ...]:
    """Return all tables of two outlooks, in the order of the first one, then those that are new.

    titles: of the questions before the change. Regressions are compared by their largest error, in
    log odds or in units of the outcome.
    """
    old, new = _margins(before), _margins(after)
    return tuple(
        MarginComparison(
            name if isinstance(name, str) else table_title(name, titles),
            _shown(old.get(name), language),
            _shown(new.get(name), language),
            100 * (1 - new[name].error / old[name].error) if name in old and name in new else None,
            (_people(old, name), _people(new, name)),
        )
        for name in dict.fromkeys((*old, *new))
    )


class _TableError(NamedTuple):
    error: float
    people: float
    regression: bool = False


_Measured = tuple[str, ...] | str  # the questions of a table, or a regression


def _margins(outlook: Outlook) -> dict[_Measured, _TableError]:
    tables: dict[_Measured, _TableError] = {
        tuple(each.questions): _TableError(
            each.forecast.standard_error, each.forecast.effective_sample_size
        )
        for each in outlook.tables
    }
    regressions: dict[_Measured, _TableError] = {
        str(each.formula): _TableError(max(term.standard_error for term in each.terms), 0.0, True)
        for each in outlook.regressions
        if each.terms
    }
    return tables | regressions


def _shown(margin: _TableError | None, language: str) -> str:
    if margin is None:
        return ""
    if margin.regression:
        return decimal(HALF_WIDTH * margin.error, 2, language)
    return points(HALF_WIDTH * margin.error, language)


def _people(margins: Mapping[_Measured, _TableError], name: _Measured) -> int:
    return rounded(margins[name].people) if name in margins else 0


def operation_of(raw: Raw, kind: str, chosen: Sequence[str]) -> Operation:
    """Return the operation on a survey, raw, that a person asks about.

    kind: "drop" (a question, by its id), "table" (some questions are requested together), or
    "merge" (the first names the question, the others two or more of its answers). Raises UsageError
    if that is not possible; what the change breaks elsewhere in the survey shows when it is read.
    """
    if kind not in KINDS:
        raise UsageError.of("kind", "shared.use-one-of", value=kind, choices=KINDS)
    return {"drop": _drop, "table": _request, "merge": _merge}[kind](raw, chosen)


def _question(raw: Raw, chosen: Sequence[str]) -> Raw:
    asked = question(raw, chosen[0]) if chosen else None
    if asked is None:
        named = chosen[0] if chosen else ""
        raise UsageError.of("question", "studio.not-a-question", value=named)
    return asked


def _drop(raw: Raw, chosen: Sequence[str]) -> Operation:
    id = _question(raw, chosen)["id"]
    if len(questions(raw)) == 1:
        raise UsageError.of("question", "studio.one-question-left", id=id)
    return RemoveQuestion(id)


def _request(raw: Raw, chosen: Sequence[str]) -> Operation:
    """Ask for the table of some questions."""
    ids = tuple(dict.fromkeys(id for id in chosen if id))
    if len(ids) < 2:
        raise UsageError.of("table", "studio.same-questions", value=", ".join(ids))
    if set(ids) in [set(names(each)) for each in tables(raw)]:
        raise UsageError.of("table", "studio.table-requested", value=", ".join(ids))
    return SetTables((ids,))


def mergeable(asked: Raw) -> tuple[str, ...]:
    """Return the options of a question that can be offered as one; empty if its type does not allow
    it."""
    kind = type_of(asked)
    options = asked.get("options", ()) if kind and not kind.not_merged else ()
    return tuple(map(str, options))


def _merge(raw: Raw, chosen: Sequence[str]) -> Operation:
    """Offer some answers as one: fewer answers are sent, so each has less noise.

    A reader of the results can also merge answers later, but that does not reduce the noise.
    """
    asked = _question(raw, chosen)
    merged = list(dict.fromkeys(chosen[1:]))
    path = Place("answers", chosen[0])
    if len(merged) < 2:
        raise UsageError.of(path, "studio.few-merged", value=", ".join(merged))
    if not mergeable(asked):
        raise UsageError.of(path, "studio.not-merged-here", type=str(asked.get("type")))
    options = list(asked["options"])
    if unknown := [each for each in merged if each not in options]:
        raise UsageError.of(path, "studio.no-such-answer", value=unknown[0], answers=options)
    if len(merged) == len(options):
        raise UsageError.of(path, "studio.all-merged", value=", ".join(merged))
    merged = [each for each in options if each in merged]
    name, first = MERGED.join(merged), merged[0]
    left = [name if each == first else each for each in options if each not in merged[1:]]
    return SetQuestion(chosen[0], {"options": left, **_of_merged(asked, merged, name)})


def _of_merged(asked: Raw, merged: Sequence[str], name: str) -> Raw:
    """Return labels, expected shares, and codes of merged answers."""
    changed: Raw = {}
    for key, join in (("labels", _joined), ("shares", _total)):
        stated = asked.get(key, {})
        if values := [stated[each] for each in merged if each in stated]:
            others = {answer: each for answer, each in stated.items() if answer not in merged}
            changed[key] = others | {name: join(values)}
    if codes := asked.get("values"):
        changed["values"] = {c: name if each in merged else each for c, each in codes.items()}
    return changed


def _total(shares: Sequence[float]) -> float:
    return round(sum(map(float, shares)), 8)


def _joined(texts: Sequence[Any]) -> Any:
    """Join labels in each language that all of them have."""
    if all(isinstance(each, str) for each in texts):
        return MERGED.join(texts)
    if any(isinstance(each, str) for each in texts):
        return MERGED.join(t if isinstance(t, str) else next(iter(t.values())) for t in texts)
    tags = [tag for tag in texts[0] if all(tag in each for each in texts)]
    return {tag: MERGED.join(each[tag] for each in texts) for tag in tags}
