"""Tables of a tally that are weighted to known margins, or of those who answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from incrowd.errors import IncrowdError, InWords, TableError
from incrowd.estimation.across import OpenAxis, across_joint, everybody_joint
from incrowd.estimation.answered import of_those_who_answered, without_margins
from incrowd.estimation.covariance import MOST_CELLS, MOST_COUNTS, JointEstimate
from incrowd.estimation.derived import DerivedTable, derived_table
from incrowd.estimation.margins import Layout, Margin, additive, linear, weighted
from incrowd.estimation.readings import Ids, joint
from incrowd.estimation.tables import NOISE_ONLY
from incrowd.planner.margins import BETWEEN, Known
from incrowd.planner.open_tables import open_axis, open_of, table
from incrowd.planner.sources import readings
from incrowd.plans import Plan
from incrowd.plans.strata import Names, label, said_by, told_apart
from incrowd.tally.consistency import smallest
from incrowd.tally.tally import Tally

RELEASE = ""  # the axis of the releases, which no question is called
Indicators = tuple[tuple[str, ...], np.ndarray]  # answers, and which cells give each


class Asked(NamedTuple):
    """What is made of a table: weights to margins, and whether "no answer" is left out."""

    margins: tuple[Known, ...]
    answered: bool


def counted_for(plan: Plan, ids: Ids, asked: Asked) -> Ids:
    """The randomized questions that are counted together for a wanted table.

    First those of the table, then those of the margins, whose answers the weights are for. Raises
    TableError if they do not travel together, or are too many.
    """
    survey, wanted = plan.survey, plan.survey.closed(ids)
    among = dict.fromkeys(id for known in asked.margins for id in survey.closed(known.ids))
    found = (*(id for id in wanted if id not in among), *among)
    if wanted and survey.question(wanted[0]).one_way_only:
        allowed = (
            "it is a text question or has unlinked bits, and stands in no table; ask for others"
        )
        raise TableError.of("table", wanted[0], allowed)
    if found and not any(message.holds(found) for message in plan.messages):
        allowed = (
            f"no report holds it with {', '.join(among)}, so that its weighted shares cannot be "
            "told; leave a margin out, or plan a table of all of them"
        )
        raise TableError.of("table", ",".join(ids), allowed)
    bits = [survey.question(id).bits for id in found]
    if (counts := prod(1 + b + b * (b - 1) // 2 for b in bits)) > MOST_COUNTS:
        allowed = f"with the margins it needs {counts:,} counts; drop a question or a margin"
        raise TableError.of("table", ",".join(ids), allowed)
    return found


def derived(
    plan: Plan,
    counted: Tally,
    ids: Ids,
    asked: Asked,
    noise_only: bool = False,
    places: int = 0,
) -> tuple[DerivedTable, JointEstimate]:
    """A wanted table, and its cells with their covariance. counted: pairs, as `counted_for` says.

    places: as `incrowd.estimation.readings.table_of` has it. Raises TableError where a share that
    weights divide by is not clear of the noise, and for margins that do not fit the releases.
    """
    people = _People(plan, counted, counted_for(plan, ids, asked))
    wanted, jacobian = people.table(ids, asked.margins)
    if asked.answered:
        wanted, last = of_those_who_answered(wanted)
        jacobian = last @ jacobian
    own = table(plan, counted, ids, noise_only, places)
    if asked.margins and asked.answered:
        own = derived(plan, counted, ids, Asked((), answered=True), noise_only, places)[0]
    influence = people.influence(places) * people.reach(jacobian)
    names = tuple(known.name for known in asked.margins)
    cells = without_margins(wanted)
    made = derived_table(cells, own, influence, names, asked.answered)
    if noise_only:
        cells = replace(cells, covariance=cells.noise_covariance, errors=NOISE_ONLY)
    return made, cells


class _People:
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
        self.joint = across_joint(joints, axis, margin=False)

    def _joint(self, part: Tally, people: int) -> JointEstimate:
        if not self.ids:
            return everybody_joint(people, noise_only=False)
        return joint(self.plan, readings(self.plan, part, self.ids), self.ids, margin=True)

    def table(self, ids: Ids, known: Sequence[Known]) -> tuple[JointEstimate, np.ndarray]:
        """A wanted table with margins, and its Jacobian in the cells of all people."""
        survey = self.plan.survey
        inner = [id for id in self.ids if any(id in each.ids for each in known)]
        front = [id for id in self.ids if id not in inner]
        cells = _Cells(self, inner)
        clear = open_of(survey, ids)
        names = [*([open_axis(survey, ids, (), ()).question] if clear else []), *inner]
        axes = dict(zip(names, [*cells.openly(clear), *map(cells.of, inner)], strict=True))
        order = list(dict.fromkeys(names[0] if id in clear else id for id in ids))
        summed = [name for name in axes if name in order]
        whole = additive(self.joint, inner)
        flat = self.joint.estimate.ravel()
        people = linear(self.joint, (whole @ flat).reshape(self.joint.estimate.shape), whole)
        layout = Layout(self._entries(front, inner), cells.sums([axes[name] for name in summed]))
        values, jacobian = weighted(people, layout, [cells.margin(each) for each in known])
        said = {id: survey.question(id).answers for id in front}
        said |= {name: answers for name, (answers, _) in axes.items()}
        shape = [1 + len(said[name]) for name in (*front, *summed)]
        turn = [[*front, *summed].index(name) for name in order]
        places = np.arange(prod(shape)).reshape(shape).transpose(turn)
        rows = jacobian.reshape(-1, flat.size)[places.ravel()] @ whole
        made = linear(self.joint, values.ravel()[places], rows)
        exclusive = dict(zip(self.joint.questions, self.joint.exclusive, strict=True))
        return replace(
            made,
            questions=tuple(order),
            answers=tuple(said[name] for name in order),
            exclusive=tuple(exclusive.get(name, True) for name in order),
            margins=tuple(True for _ in order),
        ), rows

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
            return 1 / sum(smallest(self.plan, part) for part in self.counted.crowds)
        openly = tuple(q.id for q in self.plan.survey.open)
        return table(self.plan, self.counted, (*openly, *self.ids), places=places).influence

    def reach(self, jacobian: np.ndarray) -> float:
        """How far cells of the table move at most with those of one release, each by one."""
        moved = np.abs(jacobian).reshape(len(jacobian), len(self.releases), -1)
        return float(moved.sum(axis=2).max())


class _Cells:
    """The cells that weights are for: a release, and answers to the questions of the margins."""

    def __init__(self, people: _People, inner: Sequence[str]) -> None:
        self.survey, self.releases = people.plan.survey, people.releases
        self.inner = list(inner)
        self.shape = (len(self.releases), *(len(self.survey.question(id).answers) for id in inner))

    def of(self, id: str) -> Indicators:
        """Which cells give each answer to a question of the margins."""
        axis, answers = 1 + self.inner.index(id), self.survey.question(id).answers
        own = np.indices(self.shape)[axis].ravel()
        return answers, (own == np.arange(len(answers))[:, None]) * 1.0

    def openly(self, ids: Ids) -> list[Indicators]:
        """Which cells give each answer to some open questions, as one axis; none without any."""
        if not ids:
            return []
        own = np.indices(self.shape)[0].ravel()
        found = told_apart(self.survey, ids, self.releases)
        numbers = [[self.releases.index(names) for names in each] for each in found.values()]
        return [(tuple(found), np.array([np.isin(own, each) * 1.0 for each in numbers]))]

    def sums(self, axes: Sequence[Indicators]) -> np.ndarray:
        """Which cells are in each cell of some axes together, each with "any answer" at its end."""
        ends = [np.vstack([rows, np.ones(rows.shape[1])]) for _, rows in axes]
        return _crossed(ends, prod(self.shape))

    def margin(self, known: Known) -> Margin:
        """A known margin of these cells. Raises TableError for an answer that is missing, and one
        of strata that were not released."""
        survey, clear = self.survey, open_of(self.survey, known.ids)
        closed = [id for id in known.ids if id not in clear]
        axes = [*self.openly(clear), *map(self.of, closed)]
        categories = [BETWEEN.join(each) for each in product(*(said for said, _ in axes))]
        groups = told_apart(survey, clear, self.releases) if clear else {}
        said = {a: name for name, found in groups.items() for a in said_by(survey, clear, found)}
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
        rows = _crossed([rows for _, rows in axes], prod(self.shape))
        return Margin(known.name, tuple(categories), np.array(list(shares.values())), rows)


def _crossed(axes: Sequence[np.ndarray], cells: int) -> np.ndarray:
    """Which cells are in each combination of rows of some axes."""
    return reduce(
        lambda first, second: (first[:, None] * second[None]).reshape(-1, cells),
        axes,
        np.ones((1, cells)),
    )


def _not_released(known: Known, answers: Sequence[str]) -> IncrowdError:
    allowed = (
        "no stratum with this answer was released, too few people or nobody being in it; leave it "
        "out: the tables are then of the others"
    )
    return TableError.of(f"margins.{known.name}", BETWEEN.join(answers), allowed)
