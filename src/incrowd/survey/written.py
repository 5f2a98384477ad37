"""The fields of a survey, and the properties that follow from them.

Crowd: docs/mathematics.md#the-crowd, docs/mathematics.md#several-rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import Annotated, Literal

from pydantic import Field

from incrowd.accountant.codes import AnalysisName
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.survey.codes import Codes
from incrowd.survey.formulas import Formula, meant
from incrowd.survey.layout import QuestionMatrix, QuestionSection, SurveyFrame
from incrowd.survey.participation import (
    MOST_PEOPLE,
    ExpectedAnswers,
    Participation,
    people_of_release,
)
from incrowd.survey.question import AnyQuestion
from incrowd.survey.questions import Question
from incrowd.survey.toml import REGISTERED, Frozen, Real
from incrowd.survey.words import LANGUAGE, Tag

MOST_COPIES = 10_000
MOST_ROUNDS = 1000
LEAST = 10  # people of a release whose noise the services add, unless the survey says otherwise


def _none(value: object) -> bool:
    return not value


class Privacy(Frozen):
    """The requested guarantee. The analysis `local` does not use `delta`.

    analysis: the name of an analysis, which the accountant defines. `shuffle` is a guarantee for
    every collection in which enough honest people take part, by the smallest of all proved bounds;
    `blanket` and `seat` use only one of them. `outlier` is the papers' analysis: exact for
    homogeneous crowds, but not a guarantee. local_epsilon: the largest allowed epsilon if the
    reports are not mixed. noise: who adds the noise of cells: the devices, which flip them; or the
    mixing service and the counting service, each of which adds to their counts; `auto` chooses the
    services where tables become clearly more precise. service_epsilon: the most that one of these
    services may learn alone; by default epsilon.
    """

    epsilon: Real = Field(gt=0, strict=True)
    delta: Real = Field(default=1e-6, gt=0, lt=1, strict=True)
    analysis: Annotated[AnalysisName, REGISTERED] = Field(
        default="shuffle", min_length=1, strict=True
    )
    local_epsilon: Real | None = Field(
        default=None, gt=0, strict=True, exclude_if=lambda cap: cap is None
    )
    noise: Literal["devices", "services", "auto"] = Field(
        default="devices", exclude_if="devices".__eq__
    )
    service_epsilon: Real | None = Field(
        default=None, gt=0, strict=True, exclude_if=lambda epsilon: epsilon is None
    )


class Table(Frozen):
    """A wanted joint table of some questions."""

    questions: tuple[str, ...] = Field(min_length=1)


class Group(Table):
    """Questions that form a message: a joint report, which a person may send several times; the
    cells of the table of all questions; or the parities of all pairs."""

    copies: int = Field(default=1, ge=1, le=MOST_COPIES, strict=True)
    cells: bool = Field(default=False, strict=True, exclude_if=lambda set: not set)
    parities: bool = Field(default=False, strict=True, exclude_if=lambda set: not set)

    def holds(self, ids: Iterable[str]) -> bool:
        """Return whether it holds all these questions; parities hold pairs only."""
        wanted = set(ids)
        return wanted <= set(self.questions) and (len(wanted) == 2 or not self.parities)


def without_margin(group: Group, groups: Iterable[Group]) -> Iterator[str]:
    """Yield the questions of a message of parities that are in no message of cells."""
    alone = {id for other in groups if other.cells and not other.parities for id in other.questions}
    yield from (id for id in group.questions if group.parities and id not in alone)


class WrittenSurvey(Frozen):
    """The fields of a survey, as `Survey` describes them, without the rules between them."""

    name: str = Field(min_length=1)
    language: Tag = Field(default=LANGUAGE, exclude_if=LANGUAGE.__eq__)
    crowd: int = Field(ge=2, le=MOST_PEOPLE, strict=True)
    people: Participation | None = Field(default=None, exclude=True)  # is in no plan
    colluding: int = Field(default=0, ge=0, strict=True)
    least: int = Field(default=LEAST, ge=2, strict=True, exclude_if=LEAST.__eq__)
    census: bool = Field(default=False, strict=True, exclude_if=lambda set: not set)
    copies: int = Field(default=1, ge=1, le=MOST_COPIES, strict=True)
    reports_per_person: int | None = Field(default=None, ge=1, le=MOST_COPIES, strict=True)
    rows_per_person: int = Field(default=1, ge=1, le=1000, strict=True)
    rounds: int = Field(default=1, ge=1, le=MOST_ROUNDS, strict=True, exclude_if=(1).__eq__)
    upload_bytes: int | None = Field(
        default=None, ge=1, strict=True, exclude_if=lambda most: most is None
    )
    objective: Literal["largest", "mean"] = "largest"
    tables: Literal["any", "pairs"] | None = Field(
        default=None, exclude_if=lambda wanted: wanted is None
    )
    explore: Real | None = Field(
        default=None, gt=0, lt=1, strict=True, exclude_if=lambda share: share is None
    )
    weights: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)
    small_strata: Literal["delete", "merge"] = Field(
        default="delete", exclude_if=lambda rule: rule == "delete"
    )
    frame: SurveyFrame = Field(alias="page", default=SurveyFrame(), exclude_if=SurveyFrame().__eq__)
    sections: tuple[QuestionSection, ...] = Field(alias="section", default=(), exclude_if=_none)
    matrices: tuple[QuestionMatrix, ...] = Field(alias="matrix", default=(), exclude_if=_none)
    privacy: Privacy
    questions: tuple[Question, ...] = Field(alias="question", min_length=1)
    joint_tables: tuple[Table, ...] = Field(alias="table", default=())
    regressions: tuple[Formula, ...] = Field(alias="regression", default=(), exclude_if=_none)
    messages: tuple[Group, ...] = Field(alias="message", default=())
    codes: tuple[Codes, ...] = Field(default=(), exclude_if=_none)

    def question(self, id: str) -> AnyQuestion:
        """Return the question with an id.

        Raises
        ------
        KeyError
            If there is no such question.
        """
        for question in self.questions:
            if question.id == id:
                return question
        raise KeyError(id)

    @property
    def honest(self) -> int:
        """The number of people on whom a guarantee can rely: the crowd without colluding people.

        If R rows can belong to one person, the crowd is counted in rows, and each colluding person
        has R rows. A person's R reports then hide among those of others as in R collections of
        crowd / R rows, with one report in each; the whole collection is a mixture of these.
        """
        return self.hidden(self.crowd)

    def hidden(self, rows: int) -> int:
        """Return the number of people on whom a guarantee can rely, given a number of rows of
        answers."""
        return (rows - self.colluding * self.rows_per_person) // self.rows_per_person

    @property
    def expected_answers(self) -> ExpectedAnswers | None:
        """The expected number of people who answer, if the survey states who is invited."""
        if self.people is None:
            return None
        groups = math.prod(len(question.recorded) for question in self.open) if self.open else 0
        needed = self.least if self.privacy.noise == "services" else self.crowd
        return self.people.answers(groups, needed)

    @property
    def unreachable_release(self) -> Sentence | None:
        """A statement that fewer people are invited than a release over a network needs, if that is
        so; it matters only if the guarantee counts on the crowd.

        A file of answers needs no reserve, and several rows of a person are never sent over a
        network.
        """
        needed, people = people_of_release(self.crowd), self.people
        if people is None or people.invited >= needed or self.rows_per_person > 1:
            return None
        return sentence(
            "survey.release-above-invited",
            value=self.crowd,
            invited=people.invited,
            needed=needed,
            reserve=needed - self.crowd,
        )

    @property
    def open(self) -> tuple[AnyQuestion, ...]:
        """The questions whose answers are sent in the clear."""
        return tuple(question for question in self.questions if question.open)

    @property
    def randomized(self) -> tuple[AnyQuestion, ...]:
        """The questions whose answers are randomized."""
        return tuple(question for question in self.questions if not question.open)

    def closed(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Return the randomized ones among some questions."""
        clear = {question.id for question in self.open}
        return tuple(id for id in ids if id not in clear)

    @property
    def counted(self) -> tuple[tuple[str, ...], ...]:
        """The tables that reports are counted for: the randomized questions of wanted tables."""
        return tuple(dict.fromkeys(ids for ids in map(self.closed, self.wanted) if ids))

    @property
    def regressed(self) -> tuple[tuple[str, ...], ...]:
        """The randomized questions of each wanted regression, its outcome first."""
        by_id = {question.id: question for question in self.questions}
        regressed = (meant(formula, by_id).questions for formula in self.regressions)
        return tuple(self.closed(question.id for question in asked) for asked in regressed)

    @property
    def wanted(self) -> tuple[tuple[str, ...], ...]:
        """The tables to show: first the table of each question, in order; then the tables that the
        survey lists, all pairs if it requests them, and the tables for which it fixes cells."""
        fixed = chain.from_iterable(
            combinations(group.questions, 2) if group.parities else [group.questions]
            for group in self.messages
            if group.cells
        )
        listed = chain(
            ((question.id,) for question in self.questions),
            (table.questions for table in self.joint_tables),
            self._pairs if self.tables == "pairs" else (),
            fixed,
        )
        tables: dict[frozenset[str], tuple[str, ...]] = {}
        for ids in listed:
            tables.setdefault(frozenset(ids), ids)
        return tuple(tables.values())

    @property
    def _pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of randomized questions that can be crossed."""
        crossed = [q for q in self.randomized if not q.one_way_only]
        return tuple(
            (one.id, other.id)
            for one, other in combinations(crossed, 2)
            if one.memoized == other.memoized
        )

    @property
    def held(self) -> tuple[tuple[str, ...], ...]:
        """The questions that one message has to hold together: those of each wanted table and of
        each wanted regression, with those that it is to be weighted by."""
        return tuple(dict.fromkeys(map(self.crossed, (*self.counted, *self.regressed))))

    def crossed(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Add the questions that the table is to be weighted by."""
        first = self.question(ids[0])
        if first.one_way_only or first.memoized:
            return ids
        return tuple(dict.fromkeys((*ids, *self.closed(self.weights))))

    def not_held(self, groups: Sequence[Group]) -> Iterator[tuple[str, ...]]:
        """Yield the sets of questions in `held` that no group holds together.

        A linear regression can also be estimated from the cells of all pairs of its questions.
        """
        by_id = {question.id: question for question in self.questions}
        linear = {
            self.crossed(ids): list(combinations(ids, 2))
            for ids, formula in zip(self.regressed, self.regressions, strict=True)
            if meant(formula, by_id).family == "linear"
        }
        for ids in self.held:
            pairs = linear.get(ids, ())
            by_pairs = all(
                any(group.cells and group.holds(pair) for group in groups) for pair in pairs
            )
            if not any(group.holds(ids) for group in groups) and not (pairs and by_pairs):
                yield ids
