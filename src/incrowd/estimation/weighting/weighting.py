"""Tables of a tally that are weighted to known margins, or of those who answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple, TypeVar

import numpy as np

from incrowd.errors import TableError
from incrowd.estimation.answered import of_those_who_answered, within
from incrowd.estimation.readings import Ids, sharpest, table
from incrowd.estimation.regression.levels import levels_of
from incrowd.estimation.regression.model import Model
from incrowd.estimation.results import NotMade
from incrowd.estimation.tables import MOST_COUNTS, TableEstimate, averaged, changed
from incrowd.estimation.weighting.known_margins import KnownMargin
from incrowd.estimation.weighting.people import Groups, PeopleCells
from incrowd.estimation.words import Part, WordEstimates, estimate_weighted_words
from incrowd.plans import Plan
from incrowd.plans.strata import label
from incrowd.reports.tally import Tally
from incrowd.survey import AnyQuestion, Survey
from incrowd.survey.question import MOST_TOGETHER

T = TypeVar("T")
MANY_ANSWERS = f"a text question, or one with more than {MOST_TOGETHER:,} options,"


class Change(NamedTuple):
    """What is made of a table: weights to margins, and whether "no answer" is left out."""

    margins: tuple[KnownMargin, ...]
    answered: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Of the margins."""
        return tuple(known.words for known in self.margins)

    def closed(self, survey: Survey) -> Ids:
        """The randomized questions of the margins."""
        ids = (id for known in self.margins for id in survey.closed(known.ids))
        return tuple(dict.fromkeys(ids))


class Derived(NamedTuple):
    """A table that was made of another one.

    weighted: the same with "any answer", of noise and sampling, before "no answer" is left out.
    swing: what one malicious sender can do to `weighted`, as `incrowd.estimation.amounts.Evidence`
    has it; an alternative for each release.
    """

    table: TableEstimate
    weighted: TableEstimate
    swing: np.ndarray


def what_can_be_made(
    wanted: Sequence[Ids], make: Callable[[Ids], T]
) -> tuple[dict[Ids, T], tuple[NotMade, ...]]:
    """What a function makes of each of some tables, and those of which it raised TableError."""
    made: dict[Ids, T] = {}
    not_made = []
    for ids in wanted:
        try:
            made[ids] = make(ids)
        except TableError as error:
            not_made.append(NotMade(ids, error.problems[0]))
    return made, tuple(not_made)


def counted_for(plan: Plan, ids: Ids, change: Change) -> Ids:
    """The randomized questions that are counted together for a wanted table.

    First those of the table, then those of the margins, whose answers the weights are for. Raises
    TableError if they do not travel together, or are too many.
    """
    survey, wanted = plan.survey, plan.survey.closed(ids)
    among = change.closed(survey)
    found = (*(id for id in wanted if id not in among), *among)
    if wanted and (survey.question(wanted[0]).one_way_only or wide_alone(survey, wanted)):
        _check_alone(survey.question(wanted[0]), among, change.answered)
        return wanted
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


def wide_alone(survey: Survey, ids: Ids) -> bool:
    """Whether a table is of one question with more options than a covariance is made for."""
    return len(ids) == 1 and survey.question(ids[0]).wide


def _check_alone(question: AnyQuestion, among: Ids, answered: bool) -> None:
    """Raises TableError for what needs the covariance of very many answers."""
    if among:
        allowed = (
            f"{MANY_ANSWERS} cannot be weighted by answers to {', '.join(among)}; use margins of "
            "open questions alone"
        )
        raise TableError.of("table", question.id, allowed)
    if answered and question.optional:
        allowed = (
            f"{MANY_ANSWERS} cannot be a table of those who answered; leave "
            "of_those_who_answered=True out, or ask for other tables"
        )
        raise TableError.of("table", question.id, allowed)


def derived(
    plan: Plan,
    counted: Tally,
    ids: Ids,
    change: Change,
    noise_only: bool = False,
    places: int = 0,
) -> Derived:
    """A wanted table. counted: pairs, as `counted_for` says.

    places: as `incrowd.estimation.readings.table_of` has it. Raises TableError where a share that
    weights divide by is not clear of the noise, and for margins that do not fit the releases.
    """
    people = PeopleCells(plan, counted, counted_for(plan, ids, change))
    weighted, jacobian = people.table(ids, change.margins)
    own = _own(plan, counted, ids, change, noise_only, places)
    influence = people.influence(places)
    return _derived(people, weighted, jacobian * influence, own, change)


def derived_strata(
    plan: Plan,
    counted: Tally,
    ids: Ids,
    change: Change,
    noise_only: bool = False,
    places: int = 0,
) -> Iterator[Derived]:
    """The same table in each release by itself: of the weighted people those who are in it.

    ids: randomized questions. Raises TableError as `derived`.
    """
    people = PeopleCells(plan, counted, counted_for(plan, ids, change))
    groups = {label(names): [names] for names in people.releases}
    whole, jacobian = people.table(ids, change.margins, groups)
    jacobian *= people.influence(places)
    for place, names in enumerate(people.releases):
        own = _own(plan, counted.only([names]), ids, change, noise_only, places)
        part, among = within(whole, place, f"stratum {label(names)}")
        part = replace(part, people=own.people)
        yield _derived(people, part, among @ jacobian, own, change)


def _derived(
    people: PeopleCells,
    weighted: TableEstimate,
    moved: np.ndarray,
    own: TableEstimate,
    change: Change,
) -> Derived:
    """moved: how far one sender moves each cell of the table by each cell of the people, at most.
    own: the table without weights."""
    last, swing = weighted, people.by_release(moved)
    if change.answered:
        last, jacobian = of_those_who_answered(weighted)
        moved = jacobian @ moved
    cells, influence = last.without_margins(), people.reach(moved)
    return Derived(changed(cells, own, change.names, change.answered, influence), weighted, swing)


def _own(
    plan: Plan, counted: Tally, ids: Ids, change: Change, noise_only: bool, places: int
) -> TableEstimate:
    """A table without weights; of those who answered, if the weighted one is."""
    if change.margins and change.answered:
        without = Change((), answered=True)
        return derived(plan, counted, ids, without, noise_only, places).table
    return table(plan, counted, ids, noise_only, places)


def weighted_levels(
    plan: Plan, counted: Tally, model: Model, known: Sequence[KnownMargin], groups: Groups
) -> TableEstimate:
    """The weighted shares of all combinations of a model's levels, with errors of noise and
    sampling.

    groups: of releases, an axis of their own; without any there is none. Raises TableError as
    `derived`.
    """
    people = PeopleCells(plan, counted, counted_for(plan, model.ids, Change(tuple(known), False)))
    found, _ = people.table(model.ids, known, groups)
    return levels_of(found, model.randomized)


# Words and cells under weights: of no person a report tells what else she answered.
#
# Margins of open questions give everybody in a release the same weight, so that what the releases
# say is averaged. Proof: docs/weighting.md#words-and-cells.


def release_shares(
    plan: Plan, counted: Tally, known: Sequence[KnownMargin]
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted share of the people who are in each release, and the covariance of these.

    known: margins of open questions. A margin that tells the releases apart is what the shares
    are, without error. Raises TableError for margins that do not fit the releases.
    """
    people = PeopleCells(plan, counted, ())
    groups = {label(names): [names] for names in people.releases}
    found, _ = people.table((), known, groups)
    return found.estimate[:-1], found.joint_covariance[:-1, :-1]


def weighted_options(
    plan: Plan,
    counted: Tally,
    ids: Ids,
    known: Sequence[KnownMargin],
    noise_only: bool = False,
    places: int = 0,
) -> TableEstimate:
    """The table of a question that is sent as cells. Raises TableError as
    `release_shares`."""
    weights, drift = release_shares(plan, counted, known)
    parts = [
        table(plan, counted.only([names]), ids, noise_only, places) for names in counted.strata
    ]
    own = table(plan, counted, ids, noise_only, places)
    made = averaged(parts, weights, drift, own)
    return changed(made, own, tuple(each.name for each in known), False, made.influence)


def weighted_words(
    plan: Plan,
    counted: Tally,
    id: str,
    candidates: Sequence[str],
    places: np.ndarray,
    known: Sequence[KnownMargin],
) -> WordEstimates:
    """The share of each candidate among the answers to a text question. places: as
    `estimate_words` has them. Raises TableError as it, and as `release_shares`."""
    weights, drift = release_shares(plan, counted, known)
    read = [sharpest(plan, counted.only([names]), (id,)) for names in counted.strata]
    parts = [Part(w, found.counts) for w, found in zip(weights, read, strict=True)]
    message = read[0].message
    inverse = message.channels[id].inverse
    made = estimate_weighted_words(candidates, places, parts, drift, inverse, message.copies)
    return replace(made, weighted_to=tuple(each.name for each in known))
