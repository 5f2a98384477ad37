"""What an estimate is of: interviews, items, groups of people, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.catalog.sentences import Keyword, NumberText, Placeholder, translatable
from incrowd.errors import UsageError
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.columns import Factor
from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem
from incrowd.interviews.shares import ItemShares, likelihood, moments

ESTIMATORS: dict[str, Callable[..., ItemShares]] = {"moments": moments, "likelihood": likelihood}
METHOD_NOTES = {
    "moments": "interviews.method-moments",
    "likelihood": "interviews.method-likelihood",
}
MOST_VALUES = 10  # of a number that is not divided by a threshold


@dataclass(frozen=True)
class SampleDesign:
    """How interviews were sampled, as far as errors depend on it.

    weighted: whether weights are used. clusters: the number of clusters, or None.
    """

    weighted: bool
    clusters: int | None

    def notes(self) -> Iterator[str]:
        """Yield what the errors include."""
        yield translatable("interviews.errors-include")
        if self.weighted:
            yield translatable("interviews.weights-used")
        if self.clusters is not None:
            yield translatable("interviews.clusters-used", clusters=self.clusters)


@dataclass(frozen=True, eq=False)
class SampleArrays:
    """The weights and clusters of interviews, as the estimators take them."""

    weights: np.ndarray | None
    clusters: np.ndarray | None

    @classmethod
    def of(cls, answers: InterviewAnswers, weighted: bool) -> SampleArrays:
        """Return those of some answers. weighted: whether weights are used, if there are any."""
        return cls(answers.weights if weighted else None, answers.clusters)

    @property
    def design(self) -> SampleDesign:
        """What results state about it."""
        clusters = None if self.clusters is None else len(np.unique(self.clusters))
        return SampleDesign(self.weights is not None, clusters)


@dataclass(frozen=True, eq=False)
class PeopleGroups:
    """A division of people by an open column. codes: shape (n,), `MISSING` for no group."""

    name: str
    labels: tuple[str, ...]
    codes: np.ndarray


def estimator(method: str) -> Callable[..., ItemShares]:
    """Return the estimator with a name."""
    if method not in ESTIMATORS:
        raise UsageError.of("method", "shared.use-one-of", value=method, choices=[*ESTIMATORS])
    return ESTIMATORS[method]


def chosen_items(answers: InterviewAnswers, ids: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the ids of the questions that are asked for, each once; by default all of them."""
    if ids is None:
        return tuple(each.id for each in answers.survey.items)
    chosen = tuple(dict.fromkeys([ids] if isinstance(ids, str) else ids))
    for id in chosen:
        answers.survey.item(id)
    return chosen


def people_groups(
    answers: InterviewAnswers, name: str, threshold: float | None = None
) -> PeopleGroups:
    """Divide people by an open column: by its levels or few numbers, or at a threshold."""
    column = answers.column(name)
    if isinstance(column, Factor):
        if threshold is not None:
            raise UsageError.of("threshold", "interviews.threshold-of-factor", value=name)
        seen = [level for level in range(len(column.levels)) if np.any(column.codes == level)]
        return _of_codes(name, [column.levels[level] for level in seen], column.codes, seen)
    if threshold is not None:
        places = np.where(np.isnan(column), MISSING, column >= threshold).astype(int)
        below, above = (
            translatable(code, name=name, value=NumberText(f"{threshold:g}"))
            for code in ("interviews.below", "interviews.at-least")
        )
        return _of_codes(name, [below, above], places, [0, 1])
    values = np.unique(column[~np.isnan(column)])
    if len(values) > MOST_VALUES:
        raise UsageError.of(
            "by",
            "interviews.many-numbers",
            value=name,
            number=len(values),
            most=MOST_VALUES,
            option=Keyword("threshold", Placeholder(f"{np.nanmedian(column):g}")),
        )
    labels = [NumberText(f"{value:g}") for value in values]
    return _of_codes(name, labels, column, [float(value) for value in values])


def _of_codes(
    name: str, labels: Sequence[str], column: np.ndarray, values: Sequence[float]
) -> PeopleGroups:
    codes = np.full(len(column), MISSING)
    for code, value in enumerate(values):
        codes[column == value] = code
    if len(labels) < 2:
        raise UsageError.of("by", "interviews.one-group", value=name)
    return PeopleGroups(name, tuple(labels), codes)


def check_sizes(id: str, item: ReportedItem, groups: PeopleGroups) -> None:
    """Raise UsageError if a group has fewer than two interviews with a report."""
    for code, label in enumerate(groups.labels):
        people = int(np.sum((groups.codes == code) & (item.reported != MISSING)))
        if people < 2:
            raise UsageError.of(
                "by",
                "interviews.small-group",
                value=f"{groups.name} = {label}",
                people=people,
                question=id,
            )


def open_item(groups: PeopleGroups) -> ReportedItem:
    """Return groups as an item that was asked openly."""
    identity = np.eye(len(groups.labels))[np.newaxis]
    group = np.zeros(len(groups.codes), np.int64)
    return ReportedItem(groups.codes, group, ItemMatrices(identity))


def answer_labels(answers: InterviewAnswers, id: str) -> tuple[str, ...]:
    """Return what the answers to a question are called."""
    names = answers.survey.item(id).design.answers
    return tuple(answers.survey.label_of(id, name) for name in names)


def left_out_words(people: int, of: int) -> str:
    """Return how many interviews are used, and how many have missing values."""
    if people == of:
        return translatable("interviews.all-used", people=people)
    return translatable("interviews.some-used", people=people, out=of - people)
