"""Tables of a tally that are weighted to known margins, or describe only those who answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import zip_longest
from typing import NamedTuple, TypeVar

import numpy as np

from incrowd.catalog.sentences import Keyword, Sentence, sentence
from incrowd.errors import TableError
from incrowd.estimation.readings import ReportPlaces, sharpest, table
from incrowd.estimation.regression.levels import levels_of
from incrowd.estimation.regression.model import Model
from incrowd.estimation.results import NotMade
from incrowd.estimation.tables import MOST_COUNTS, TableEstimate, averaged, changed
from incrowd.estimation.weighting.known_margins import KnownMargin
from incrowd.estimation.weighting.margins import LEAVE_OUT, USE_ALL, check_clear
from incrowd.estimation.weighting.people import PeopleCells, ReleaseGroups
from incrowd.estimation.words import WeightedCounts, WordEstimates, estimate_weighted_words
from incrowd.plans import Plan
from incrowd.plans.strata import label
from incrowd.reports.tally import Tally
from incrowd.survey import UNANSWERED, Survey
from incrowd.survey.question import MOST_TOGETHER, QuestionIds

T = TypeVar("T")


class TableChange(NamedTuple):
    """The change of a table: weighting to margins, restriction to some people, or both.

    left_out: the states of the people who are left out: UNANSWERED for a table of those who
    answered, or only "not asked" for one of those who were asked. noise_only, places: as for
    `incrowd.estimation.readings.table`.
    """

    margins: tuple[KnownMargin, ...]
    left_out: tuple[str, ...] = ()
    noise_only: bool = False
    places: ReportPlaces = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the margins."""
        return tuple(margin.words for margin in self.margins)

    def population(self, people: float) -> float:
        """Return the number of people whom the tables describe: those whom margins state, if these
        are no fewer than those who took part (otherwise they are ratios), otherwise those who took
        part."""
        return max(people, *(each.people or 0.0 for each in self.margins), 0.0)

    def closed(self, survey: Survey) -> QuestionIds:
        """Return the randomized questions of the margins."""
        ids = (id for margin in self.margins for id in survey.closed(margin.ids))
        return tuple(dict.fromkeys(ids))


class Derived(NamedTuple):
    """A table that was derived from another one.

    weighted: the weighted table with "any answer", with errors of noise and sampling, before "no
    answer" is left out. swing: what one malicious sender can do to `weighted`, as in
    `incrowd.estimation.amounts.AmountEvidence`; an alternative for each release.
    """

    table: TableEstimate
    weighted: TableEstimate
    swing: np.ndarray


def what_can_be_made(
    wanted: Sequence[QuestionIds], make: Callable[[QuestionIds], T]
) -> tuple[dict[QuestionIds, T], tuple[NotMade, ...]]:
    """Return the results of a function for some tables, and the tables for which it raised
    TableError."""
    results: dict[QuestionIds, T] = {}
    not_made = []
    for ids in wanted:
        try:
            results[ids] = make(ids)
        except TableError as error:
            not_made.append(NotMade(ids, error.problems[0]))
    return results, tuple(not_made)


def counted_for(plan: Plan, ids: QuestionIds, change: TableChange) -> QuestionIds:
    """Return the randomized questions that have to be counted together for a table.

    First those of the table, then those of the margins, whose answers have the weights. Raises
    TableError if they do not travel together, if there are too many, and for a change that needs
    the covariance of too many answers.
    """
    survey, closed = plan.survey, plan.survey.closed(ids)
    weighted = change.closed(survey)
    if closed and (survey.question(closed[0]).one_way_only or wide_alone(survey, closed)):
        if weighted:
            why = sentence(
                "estimation.many-answers-weighted", most=MOST_TOGETHER, questions=weighted
            )
            raise TableError.of("table", "estimation.no-table", value=closed[0], why=why)
        if set(change.left_out) & set(survey.question(closed[0]).unanswered):
            why = sentence(
                "estimation.many-answers-restricted",
                most=MOST_TOGETHER,
                option=Keyword("of_those_who_answered", True),
            )
            raise TableError.of("table", "estimation.no-table", value=closed[0], why=why)
        return closed
    joint = (*(id for id in closed if id not in weighted), *weighted)
    if joint and not any(message.holds(joint) for message in plan.messages):
        why = sentence("estimation.not-with-margins", questions=weighted)
        raise TableError.of("table", "estimation.no-table", value=",".join(ids), why=why)
    bits = [survey.question(id).bits for id in joint]
    if (counts := math.prod(1 + b + b * (b - 1) // 2 for b in bits)) > MOST_COUNTS:
        why = sentence("estimation.too-many-weighted-counts", counts=counts)
        raise TableError.of("table", "estimation.no-table", value=",".join(ids), why=why)
    return joint


def wide_alone(survey: Survey, ids: QuestionIds) -> bool:
    """Return whether a table is of one question with too many options for a covariance."""
    return len(ids) == 1 and survey.question(ids[0]).wide


def derived(plan: Plan, counted: Tally, ids: QuestionIds, change: TableChange) -> Derived:
    """Return a changed table. counted: counts of pairs, of the questions of `counted_for`.

    Raises TableError if a share that weights divide by is not clearly above the noise, and for
    margins that do not fit the releases.
    """
    people = PeopleCells(plan, counted, counted_for(plan, ids, change))
    weighted, jacobian = people.table(ids, change.margins)
    before = _unweighted(plan, counted, ids, change)
    return _derived(people, weighted, jacobian * people.influence(change.places), before, change)


def derived_strata(
    plan: Plan, counted: Tally, ids: QuestionIds, change: TableChange
) -> Iterator[Derived]:
    """Yield the same table for each release: of the weighted people, those who are in it.

    ids: randomized questions. Raises TableError as `derived` does.
    """
    people = PeopleCells(plan, counted, counted_for(plan, ids, change))
    groups = {label(names): [names] for names in people.releases}
    whole, jacobian = people.table(ids, change.margins, groups)
    jacobian *= people.influence(change.places)
    for place, names in enumerate(people.releases):
        before = _unweighted(plan, counted.only([names]), ids, change)
        part, among = _within(whole, place, f"stratum {label(names)}")
        part = part.of_people(before.people)
        yield _derived(people, part, among @ jacobian, before, change)


def _derived(
    people: PeopleCells,
    weighted: TableEstimate,
    shifts: np.ndarray,
    before: TableEstimate,
    change: TableChange,
) -> Derived:
    """Return the figures that follow from a weighted table.

    shifts: how far one sender can move each cell of the table through each cell of the people.
    before: the table without weights.
    """
    last, swing = weighted, people.by_release(shifts)
    if change.left_out:
        last, jacobian = without(weighted, change.left_out)
        shifts = jacobian @ shifts
    cells, influence = last.without_margins(), people.reach(shifts)
    return Derived(
        changed(cells, before, change.names, change.left_out, influence), weighted, swing
    )


def _unweighted(plan: Plan, counted: Tally, ids: QuestionIds, change: TableChange) -> TableEstimate:
    """Return the table without weights; of some people, if the weighted one is."""
    if change.margins and change.left_out:
        return derived(plan, counted, ids, change._replace(margins=())).table
    return table(plan, counted, ids, change.noise_only, change.places)


def weighted_levels(
    plan: Plan,
    counted: Tally,
    model: Model,
    margins: tuple[KnownMargin, ...],
    groups: ReleaseGroups,
) -> TableEstimate:
    """Return the weighted shares of all combinations of a model's levels, with errors of noise and
    sampling.

    groups: the groups of releases, which become the first axis; if empty, there is no such axis.
    Raises TableError as `derived` does.
    """
    people = PeopleCells(plan, counted, counted_for(plan, model.ids, TableChange(margins)))
    weighted, _ = people.table(model.ids, margins, groups)
    return levels_of(weighted, model.randomized)


# --- shares of those who answered: docs/weighting.md#of-those-who-answered --------------------


def without(
    table: TableEstimate,
    left_out: tuple[str, ...] = UNANSWERED,
    absent: Sequence[Collection[str]] = (),
) -> tuple[TableEstimate, np.ndarray]:
    """Return the table t = p / a, and its Jacobian in the cells of `table`.

    p: the cells that are not left out; a: the share of those who answered all questions, or who
    were asked all of them; dt = (dp - t da) / a. The table is of these people alone: N a of them.
    table: with margins. absent: for each question, more answers to leave out, which none of these
    people can have given. A table without people to leave out is returned unchanged. Raises
    TableError if a is not clearly above the noise.
    """
    if not any(set(left_out) & set(answers) for answers in table.answers):
        return table, np.eye(table.estimate.size)
    cells = _of_the_rest(table, left_out, absent)
    whole = without_states(table, left_out, absent)
    answered = left_out == UNANSWERED
    code = "estimation.those-who-answered" if answered else "estimation.those-who-were-asked"
    name = sentence(code, questions=table.questions)
    shares, jacobian = _shares_among(table, cells, cells[-1], name, USE_ALL)
    among = table.linear(shares.reshape(whole.estimate.shape), jacobian, answers=whole.answers)
    return among.of_people(table.people * float(whole.estimate.flat[-1])), jacobian


def without_states(
    table: TableEstimate,
    left_out: tuple[str, ...] = UNANSWERED,
    absent: Sequence[Collection[str]] = (),
) -> TableEstimate:
    """Return the same table without some cells: its shares are of all people, and "any answer" is
    the share of those who are not left out. table: with margins. absent: as in `without`."""
    cells = _of_the_rest(table, left_out, absent)
    answers = tuple(
        tuple(answer for answer, given in zip(each, counts, strict=True) if given)
        for each, counts in zip(table.answers, _counted(table, left_out, absent), strict=True)
    )
    shares = (cells @ table.estimate.ravel()).reshape([1 + len(each) for each in answers])
    return table.linear(shares, cells, answers=answers)


def _counted(
    table: TableEstimate, left_out: tuple[str, ...], absent: Sequence[Collection[str]]
) -> Iterator[np.ndarray]:
    """Yield which answers to each question are not left out."""
    for answers, more in zip_longest(table.answers, absent, fillvalue=()):
        yield np.array([answer not in left_out and answer not in more for answer in answers])


def _of_the_rest(
    table: TableEstimate, left_out: tuple[str, ...], absent: Sequence[Collection[str]]
) -> np.ndarray:
    """Return which cells are summed for those of people who are not left out, with margins.

    Their number is that of "any answer" minus the others, which has less noise than a sum of
    answers, and is right where answers overlap.
    """
    rows = []
    for given in _counted(table, left_out, absent):
        rows.append(np.vstack([np.eye(1 + len(given))[:-1][given], np.append(given - 1.0, 1.0)]))
    return np.asarray(reduce(np.kron, rows))


def _within(table: TableEstimate, place: int, name: str) -> tuple[TableEstimate, np.ndarray]:
    """Return the table of only those who gave one answer to the first question, and its Jacobian.

    table: with margins. Raises TableError if their share is not clearly above the noise.
    """
    places = np.arange(table.estimate.size).reshape(table.estimate.shape)[place]
    cells = np.eye(table.estimate.size)[places.ravel()]
    shares, jacobian = _shares_among(table, cells, cells[-1], name)
    axes = {
        field: getattr(table, field)[1:]
        for field in ("questions", "answers", "exclusive", "margins")
    }
    return table.linear(shares.reshape(places.shape), jacobian, **axes), jacobian


def _shares_among(
    table: TableEstimate,
    cells: np.ndarray,
    whole: np.ndarray,
    name: str | Sentence,
    way_out: Sentence = LEAVE_OUT,
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of cells as shares of another sum, and their Jacobian: dt = (dp - t da) / a.

    cells, whole: which cells are summed, a row for each sum. name: the name of the people who are
    the whole, for the TableError if their share is not clearly above the noise; way_out: what would
    work, for this error.
    """
    values = table.estimate.ravel()
    share = float(whole @ values)
    error = math.sqrt(max(float(whole @ table.error.joint @ whole), 0.0))
    check_clear("table", name, share, error, way_out)
    shares = cells @ values / share
    return shares, (cells - np.outer(shares, whole)) / share


# Words and cells under weights: no report shows what else the same person answered.
#
# Margins of open questions give everybody in a release the same weight, so the estimates of the
# releases are averaged. Proof: docs/weighting.md#words-and-cells.


def release_shares(
    plan: Plan, counted: Tally, margins: Sequence[KnownMargin]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted share of the people who are in each release, and the covariance of the
    shares.

    margins: the margins of open questions. If the margins determine the shares, they have no error.
    Raises TableError for margins that do not fit the releases.
    """
    people = PeopleCells(plan, counted, ())
    groups = {label(names): [names] for names in people.releases}
    weighted, _ = people.table((), margins, groups)
    return weighted.estimate[:-1], weighted.error.joint[:-1, :-1]


def weighted_options(
    plan: Plan, counted: Tally, ids: QuestionIds, change: TableChange
) -> TableEstimate:
    """Return the table of one question with too many options for a covariance. Raises TableError as
    `release_shares` does."""
    weights, drift = release_shares(plan, counted, change.margins)

    def unweighted(part: Tally) -> TableEstimate:
        return table(plan, part, ids, change.noise_only, change.places)

    parts = [unweighted(counted.only([names])) for names in counted.strata]
    before = unweighted(counted)
    mean = averaged(parts, weights, drift, before)
    names = tuple(margin.name for margin in change.margins)
    return changed(mean, before, names, (), mean.provenance.influence)


def weighted_words(
    plan: Plan,
    counted: Tally,
    id: str,
    candidates: Sequence[str],
    places: np.ndarray,
    margins: Sequence[KnownMargin],
) -> WordEstimates:
    """Return the share of each candidate among the answers to a text question. places: as for
    `estimate_words`. Raises TableError as `estimate_words` and `release_shares` do."""
    weights, drift = release_shares(plan, counted, margins)
    strata = [sharpest(plan, counted.only([names]), (id,)) for names in counted.strata]
    parts = [WeightedCounts(w, reading.counts) for w, reading in zip(weights, strata, strict=True)]
    message = strata[0].message
    inverse = message.channels[id].inverse
    words = estimate_weighted_words(candidates, places, parts, drift, inverse, message.copies)
    return replace(words, weighted_to=tuple(margin.name for margin in margins))
