"""The people of a tally in cells, and the tables that result from weighting them to margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import compress, product
from math import prod

import numpy as np

from incrowd.errors import TableError
from incrowd.estimation.readings import ReportPlaces, open_axis, open_of, table
from incrowd.estimation.tables import MOST_CELLS, OpenAxis, TableEstimate, across, everybody
from incrowd.estimation.weighting.known_margins import BETWEEN, KnownMargin
from incrowd.estimation.weighting.margins import CellSums, MarginCells, additive, weighted
from incrowd.plans import Plan
from incrowd.plans.strata import StratumNames, answers_of_releases, label, releases_by_answer
from incrowd.reports.consistency import smallest
from incrowd.reports.tally import Tally
from incrowd.survey import UNANSWERED
from incrowd.survey.question import QuestionIds

RELEASE = ""  # the axis of the releases; no question has this name
Indicators = tuple[tuple[str, ...], np.ndarray]  # answers, and a row of cells for each
ReleaseGroups = Mapping[str, Sequence[StratumNames]]  # of releases, by name


class PeopleCells:
    """All people of a tally, in cells: a release and answers to randomized questions."""

    def __init__(self, plan: Plan, counted: Tally, ids: QuestionIds) -> None:
        self.plan, self.counted, self.ids = plan, counted, ids
        self.releases: list[StratumNames] = list(counted.strata) or [()]
        parts = [counted.only([names]) for names in counted.strata] or [counted]
        sizes = [1 + len(plan.survey.question(id).answers) for id in ids]
        if (cells := prod(sizes) * len(parts)) > MOST_CELLS:
            raise TableError.of(
                "table", "estimation.too-many-weighted-cells", cells=cells, most=MOST_CELLS
            )
        people = tuple(smallest(plan, part.messages) for part in parts)
        if ids:
            tables = [table(plan, part, ids, covariance=True, margin=True) for part in parts]
        else:
            tables = [everybody(number, noise_only=False, covariance=True) for number in people]
        axis = OpenAxis(RELEASE, tuple(map(label, self.releases)), 0, people)
        self.joint = across(tables, axis)

    def table(
        self, ids: QuestionIds, margins: Sequence[KnownMargin], groups: ReleaseGroups | None = None
    ) -> tuple[TableEstimate, np.ndarray]:
        """Return a weighted table with margins, and its Jacobian in the cells of all people.

        Its open questions are one axis. groups: the answers of a first axis of releases, if one is
        wanted; then ids are randomized questions only.
        """
        survey, joint = self.plan.survey, self.joint
        inner = [id for id in self.ids if any(id in each.ids for each in margins)]
        front = [id for id in self.ids if id not in inner]
        cells, name, releases = WeightCells(self, inner), RELEASE, groups or {}
        if clear := open_of(survey, ids):
            name = open_axis(survey, ids, (), ()).question
            releases = releases_by_answer(survey, clear, self.releases)
        axes = {name: cells.by_release(releases)} if releases else {}
        axes |= {id: cells.of(id) for id in inner}
        order = list(dict.fromkeys(name if id in clear else id for id in ids))
        if groups:
            order = [RELEASE, *order]
        summed = [name for name in axes if name in order]
        whole = additive(joint, inner)
        people = joint.linear((whole @ joint.estimate.ravel()).reshape(joint.estimate.shape), whole)
        layout = CellSums(self._entries(len(front)), cells.sums([axes[name] for name in summed]))
        values, jacobian = weighted(people, layout, [cells.margin(each) for each in margins])
        answers = {id: survey.question(id).answers for id in front}
        answers |= {name: names for name, (names, _) in axes.items()}
        shape = [1 + len(answers[name]) for name in (*front, *summed)]
        turn = [[*front, *summed].index(name) for name in order]
        places = np.arange(prod(shape)).reshape(shape).transpose(turn)
        rows = jacobian.reshape(-1, joint.estimate.size)[places.ravel()] @ whole
        exclusive = dict(zip(joint.questions, joint.exclusive, strict=True))
        return joint.linear(
            values.ravel()[places],
            rows,
            questions=tuple(order),
            answers=tuple(answers[name] for name in order),
            exclusive=tuple(exclusive.get(name, True) for name in order),
            margins=tuple(True for _ in order),
        ), rows

    def _entries(self, front: int) -> np.ndarray:
        """Return places in the joint estimate: a row for each cell of the first questions, "any"
        last; a column for each release and answers to the other questions."""
        places = np.arange(self.joint.estimate.size).reshape(self.joint.estimate.shape)
        for axis in range(1 + front, places.ndim):
            places = places.take(range(places.shape[axis] - 1), axis)
        turned = np.moveaxis(places, 0, front)
        return turned.reshape(prod(turned.shape[:front]), -1)

    def influence(self, places: ReportPlaces) -> float:
        """Return how far one malicious sender can move one cell."""
        if not self.ids:
            people = sum(smallest(self.plan, part) for part in self.counted.crowds)
            return self.plan.survey.rows_per_person / people
        clear = tuple(question.id for question in self.plan.survey.open)
        return table(
            self.plan, self.counted, (*clear, *self.ids), places=places
        ).provenance.influence

    def reach(self, jacobian: np.ndarray) -> float:
        """Return how far cells of the table move at most if each cell of one release
        moves by one."""
        return float(np.abs(self.by_release(jacobian)).sum(axis=2).max())

    def by_release(self, jacobian: np.ndarray) -> np.ndarray:
        """Return shape (releases, cells of the table, cells of the release)."""
        return jacobian.reshape(len(jacobian), len(self.releases), -1).swapaxes(0, 1)


class WeightCells:
    """The cells that have weights: a release, and answers to the questions of the margins."""

    def __init__(self, people: PeopleCells, inner: Sequence[str]) -> None:
        self.survey, self.releases = people.plan.survey, people.releases
        self.inner = list(inner)
        self.shape = (len(self.releases), *(len(self.survey.question(id).answers) for id in inner))

    def of(self, id: str) -> Indicators:
        """Return which cells give each answer to a question of the margins."""
        axis, answers = 1 + self.inner.index(id), self.survey.question(id).answers
        places = np.indices(self.shape)[axis].ravel()
        return answers, (places == np.arange(len(answers))[:, None]) * 1.0

    def by_release(self, groups: ReleaseGroups) -> Indicators:
        """Return which cells belong to the releases of each group."""
        places = np.indices(self.shape)[0].ravel()
        numbers = [[self.releases.index(names) for names in each] for each in groups.values()]
        return tuple(groups), np.array([np.isin(places, each) * 1.0 for each in numbers])

    def sums(self, axes: Sequence[Indicators]) -> np.ndarray:
        """Return which cells are in each cell of some axes crossed, each with "any answer" at its
        end."""
        ends = [np.vstack([rows, np.ones(rows.shape[1])]) for _, rows in axes]
        return _crossed(ends, prod(self.shape))

    def margin(self, stated: KnownMargin) -> MarginCells:
        """Return a known margin in terms of these cells. Raises TableError for a missing answer,
        and for an answer of strata that were not released."""
        survey, clear = self.survey, open_of(self.survey, stated.ids)
        closed = [id for id in stated.ids if id not in clear]
        groups = releases_by_answer(survey, clear, self.releases) if clear else {}
        released = [self.by_release(groups)] if clear else []
        axes = [*released, *map(self.of, closed)]
        combinations = list(product(*(answers for answers, _ in axes)))
        used = [
            not (stated.answered and set(UNANSWERED) & set(each[len(released) :]))
            for each in combinations
        ]
        categories = [BETWEEN.join(each) for each in compress(combinations, used)]
        group_of = {
            answers: name
            for name, releases in groups.items()
            for answers in answers_of_releases(survey, clear, releases)
        }
        shares = dict.fromkeys(categories, 0.0)
        for answers, share in stated.shares.items():
            given = dict(zip(stated.ids, answers, strict=True))
            openly = tuple(given[id] for id in clear)
            if clear and openly not in group_of:
                raise TableError.of(
                    ("margins", stated.name),
                    "estimation.answer-not-released",
                    value=BETWEEN.join(answers),
                )
            group = [group_of[openly]] if clear else []
            shares[BETWEEN.join([*group, *(given[id] for id in closed)])] += share
        if missing := [name for name, share in shares.items() if share == 0]:
            raise TableError.of(
                ("margins", stated.name), "estimation.answer-missing", value=missing[0]
            )
        rows = _crossed([rows for _, rows in axes], prod(self.shape))[used]
        values = np.array(list(shares.values()))
        return MarginCells(stated.name, tuple(categories), values, rows, stated.answered)


def _crossed(axes: Sequence[np.ndarray], cells: int) -> np.ndarray:
    """Return which cells are in each combination of rows of some axes."""
    return reduce(
        lambda first, second: (first[:, None] * second[None]).reshape(-1, cells),
        axes,
        np.ones((1, cells)),
    )
