"""The people of a tally in cells, and the tables that weights to known margins make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import compress, product
from math import prod

import numpy as np

from incrowd.errors import IncrowdError, InWords, TableError
from incrowd.estimation.readings import Ids, open_axis, open_of, readings, table, table_of
from incrowd.estimation.tables import MOST_CELLS, OpenAxis, TableEstimate, across, everybody
from incrowd.estimation.weighting.known_margins import BETWEEN, KnownMargin
from incrowd.estimation.weighting.margins import Layout, Margin, additive, weighted
from incrowd.plans import Plan
from incrowd.plans.strata import Names, answers_of_releases, label, releases_by_answer
from incrowd.reports.consistency import smallest
from incrowd.reports.tally import Tally
from incrowd.survey import NO_ANSWER

RELEASE = ""  # the axis of the releases, which no question is called
Indicators = tuple[tuple[str, ...], np.ndarray]  # answers, and which cells give each
Groups = Mapping[str, Sequence[Names]]  # of releases, each under a name


class PeopleCells:
    """All people of a tally, in cells of a release and of answers to randomized questions."""

    def __init__(self, plan: Plan, counted: Tally, ids: Ids) -> None:
        self.plan, self.counted, self.ids = plan, counted, ids
        self.releases: list[Names] = list(counted.strata) or [()]
        parts = [counted.only([names]) for names in counted.strata] or [counted]
        sizes = [1 + len(plan.survey.question(id).answers) for id in ids]
        if (cells := prod(sizes) * len(parts)) > MOST_CELLS:
            allowed = f"with the margins should have {MOST_CELLS:,} at most; drop a question"
            raise TableError.of("table", InWords(f"{cells:,} cells"), allowed)
        numbers = tuple(smallest(plan, part.messages) for part in parts)
        joints = [self._joint(*pair) for pair in zip(parts, numbers, strict=True)]
        axis = OpenAxis(RELEASE, tuple(map(label, self.releases)), 0, numbers)
        self.joint = across(joints, axis)

    def _joint(self, part: Tally, people: int) -> TableEstimate:
        if not self.ids:
            return everybody(people, noise_only=False, covariance=True)
        found = readings(self.plan, part, self.ids)
        return table_of(self.plan, found, self.ids, covariance=True, margin=True)

    def table(
        self, ids: Ids, known: Sequence[KnownMargin], groups: Groups | None = None
    ) -> tuple[TableEstimate, np.ndarray]:
        """A wanted table with margins, and its Jacobian in the cells of all people.

        Open questions are one axis of it. groups: the answers of a first axis of releases, where
        these are wanted for themselves; then ids are randomized questions alone.
        """
        clear, inner = open_of(self.plan.survey, ids), self._inner(known)
        cells, name, apart = Cells(self, inner), RELEASE, groups or {}
        if clear:
            name = open_axis(self.plan.survey, ids, (), ()).question
            apart = releases_by_answer(self.plan.survey, clear, self.releases)
        openly = {name: cells.by_release(apart)} if apart else {}
        order = list(dict.fromkeys(name if id in clear else id for id in ids))
        axes = openly | {id: cells.of(id) for id in inner}
        return self._table([RELEASE, *order] if groups else order, axes, known)

    def _table(
        self, order: Sequence[str], axes: Mapping[str, Indicators], known: Sequence[KnownMargin]
    ) -> tuple[TableEstimate, np.ndarray]:
        """A table whose axes are in some order. axes: those that the cells of the weights give."""
        inner = self._inner(known)
        front, cells = [id for id in self.ids if id not in inner], Cells(self, inner)
        summed = [name for name in axes if name in order]
        whole = additive(self.joint, inner)
        flat = self.joint.estimate.ravel()
        people = self.joint.linear((whole @ flat).reshape(self.joint.estimate.shape), whole)
        layout = Layout(self._entries(front, inner), cells.sums([axes[name] for name in summed]))
        values, jacobian = weighted(people, layout, [cells.margin(each) for each in known])
        said = {id: self.plan.survey.question(id).answers for id in front}
        said |= {name: answers for name, (answers, _) in axes.items()}
        shape = [1 + len(said[name]) for name in (*front, *summed)]
        turn = [[*front, *summed].index(name) for name in order]
        places = np.arange(prod(shape)).reshape(shape).transpose(turn)
        rows = jacobian.reshape(-1, flat.size)[places.ravel()] @ whole
        exclusive = dict(zip(self.joint.questions, self.joint.exclusive, strict=True))
        return self.joint.linear(
            values.ravel()[places],
            rows,
            questions=tuple(order),
            answers=tuple(said[name] for name in order),
            exclusive=tuple(exclusive.get(name, True) for name in order),
            margins=tuple(True for _ in order),
        ), rows

    def _inner(self, known: Sequence[KnownMargin]) -> list[str]:
        """The randomized questions of the margins."""
        return [id for id in self.ids if any(id in each.ids for each in known)]

    def _entries(self, front: Sequence[str], inner: Sequence[str]) -> np.ndarray:
        """Places in the joint estimate: a row for each cell of the first questions, "any" last; a
        column for each release and answers to the others."""
        places = np.arange(self.joint.estimate.size).reshape(self.joint.estimate.shape)
        for axis in range(1 + len(front), places.ndim):
            places = places.take(range(places.shape[axis] - 1), axis)
        turned = np.moveaxis(places, 0, len(front))
        return turned.reshape(prod(turned.shape[: len(front)]), -1)

    def influence(self, places: int) -> float:
        """How far one malicious sender can move one cell."""
        if not self.ids:
            people = sum(smallest(self.plan, part) for part in self.counted.crowds)
            return self.plan.survey.rows_per_person / people
        openly = tuple(q.id for q in self.plan.survey.open)
        return table(self.plan, self.counted, (*openly, *self.ids), places=places).influence

    def reach(self, jacobian: np.ndarray) -> float:
        """How far cells of the table move at most with those of one release, each by one."""
        return float(np.abs(self.by_release(jacobian)).sum(axis=2).max())

    def by_release(self, jacobian: np.ndarray) -> np.ndarray:
        """Shape (releases, cells of the table, cells of the release)."""
        return jacobian.reshape(len(jacobian), len(self.releases), -1).swapaxes(0, 1)


class Cells:
    """The cells that weights are for: a release, and answers to the questions of the margins."""

    def __init__(self, people: PeopleCells, inner: Sequence[str]) -> None:
        self.survey, self.releases = people.plan.survey, people.releases
        self.inner = list(inner)
        self.shape = (len(self.releases), *(len(self.survey.question(id).answers) for id in inner))

    def of(self, id: str) -> Indicators:
        """Which cells give each answer to a question of the margins."""
        axis, answers = 1 + self.inner.index(id), self.survey.question(id).answers
        own = np.indices(self.shape)[axis].ravel()
        return answers, (own == np.arange(len(answers))[:, None]) * 1.0

    def by_release(self, groups: Groups) -> Indicators:
        """Which cells are of the releases of each group."""
        own = np.indices(self.shape)[0].ravel()
        numbers = [[self.releases.index(names) for names in each] for each in groups.values()]
        return tuple(groups), np.array([np.isin(own, each) * 1.0 for each in numbers])

    def sums(self, axes: Sequence[Indicators]) -> np.ndarray:
        """Which cells are in each cell of some axes together, each with "any answer" at its end."""
        ends = [np.vstack([rows, np.ones(rows.shape[1])]) for _, rows in axes]
        return _crossed(ends, prod(self.shape))

    def margin(self, known: KnownMargin) -> Margin:
        """A known margin of these cells. Raises TableError for an answer that is missing, and one
        of strata that were not released."""
        survey, clear = self.survey, open_of(self.survey, known.ids)
        closed = [id for id in known.ids if id not in clear]
        groups = releases_by_answer(survey, clear, self.releases) if clear else {}
        released = [self.by_release(groups)] if clear else []
        axes = [*released, *map(self.of, closed)]
        answers_of = list(product(*(answers for answers, _ in axes)))
        kept = [not (known.answered and NO_ANSWER in each[len(released) :]) for each in answers_of]
        categories = [BETWEEN.join(each) for each in compress(answers_of, kept)]
        said = {
            a: name
            for name, found in groups.items()
            for a in answers_of_releases(survey, clear, found)
        }
        shares = dict.fromkeys(categories, 0.0)
        for answers, share in known.shares.items():
            given = dict(zip(known.ids, answers, strict=True))
            openly = tuple(given[id] for id in clear)
            if clear and openly not in said:
                raise _not_released(known, answers)
            group = [said[openly]] if clear else []
            shares[BETWEEN.join([*group, *(given[id] for id in closed)])] += share
        if missing := [name for name, share in shares.items() if share == 0]:
            allowed = "this answer is missing; give its share as well"
            raise TableError.of(f"margins.{known.name}", missing[0], allowed)
        rows = _crossed([rows for _, rows in axes], prod(self.shape))[kept]
        values = np.array(list(shares.values()))
        return Margin(known.name, tuple(categories), values, rows, known.answered)


def _crossed(axes: Sequence[np.ndarray], cells: int) -> np.ndarray:
    """Which cells are in each combination of rows of some axes."""
    return reduce(
        lambda first, second: (first[:, None] * second[None]).reshape(-1, cells),
        axes,
        np.ones((1, cells)),
    )


def _not_released(known: KnownMargin, answers: Sequence[str]) -> IncrowdError:
    allowed = (
        "no stratum with this answer was released, too few people or nobody being in it; leave it "
        "out: the tables are then of the others"
    )
    return TableError.of(f"margins.{known.name}", BETWEEN.join(answers), allowed)
