"""The difference of two shares of the same people, whether or not one table holds both.

The noise of both estimates and its covariance are always known. Only a table that holds all
questions shows how many people are in both shares. Otherwise it lies within Fréchet's bounds, and
the smallest possible number gives the largest error. Proof:
docs/mathematics.md#shares-of-two-tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from typing import Any, NamedTuple, Unpack

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import likely, sentence, translatable
from incrowd.errors import TableError, UsageError
from incrowd.estimation.cell_errors import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.estimation.cells import CellsReading, answer_sums
from incrowd.estimation.delta_method import named, pick
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.interactions import CombinedTable
from incrowd.estimation.intervals import HALF_WIDTH, LEVEL
from incrowd.estimation.options import ErrorOptions, without_sampling
from incrowd.estimation.ratios import Comparison
from incrowd.estimation.readings import check_tables, readings, table
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.weighting.margins import USE_ALL, check_clear
from incrowd.estimation.wording import IN_R, POINTS, comparison_sheet, methods_words, row
from incrowd.number_text import percent
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import with_merged
from incrowd.reports.tally import Tally
from incrowd.survey import UNANSWERED, Survey
from incrowd.survey.question import QuestionIds
from incrowd.views import Sheet, View

UNKNOWN = translatable("estimation.overlap-not-known")
POSITIVE = translatable("estimation.overlap-positive")
SelectedAnswers = Mapping[str, str]


@dataclass(frozen=True)
class ShareDifference(views.Result):
    """One share minus another, with its standard error and interval, and the guarantee.

    Attributes
    ----------
    first, second : mapping of str to str
        The answers that define each share, by question.
    figure : Comparison
        The difference.
    guarantee : Guarantee
        What holds for the people in the reports.
    seed : int or None
        Of a simulation; None for real reports.
    answered : tuple of float or None
        For each share, the share of the people who answered its questions, to whom it refers; None
        if both refer to all people.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> good, fair = {"self_rated_health": "good"}, {"self_rated_health": "fair"}
    >>> figure = incrowd.compare_shares(plan, reports, good, fair).figure
    >>> 0 < figure.low < figure.high < 1
    True
    """

    first: SelectedAnswers
    second: SelectedAnswers
    figure: Comparison
    guarantee: Guarantee
    seed: int | None = None
    answered: tuple[float, float] | None = None

    @property
    def in_r(self) -> str:
        """Lines of R that use the figure."""
        return IN_R

    def facts(self) -> dict[str, Any]:
        """Return the shares, and the figure with its interval."""
        return {**vars(self)}

    def long_table(self) -> Sheet:
        """Return one row, as `TwoWay` has it."""
        return comparison_sheet([("difference", self.figure)])

    def view(self) -> View:
        """Return the difference in one line, and to whom the shares refer."""
        name, estimate, interval = row(self.figure, "difference")
        figures = {"name": name, "estimate": estimate, "interval": interval}
        lines = [translatable("estimation.figure-line", **figures)]
        if self.answered:
            first, second = (percent(each, 1) for each in self.answered)
            lines.append(translatable("estimation.each-share-of", first=first, second=second))
        notes = filter(None, (self.figure.reason, methods_words([self.figure]), POINTS))
        return View(title=name, lines=tuple(lines), notes=tuple(notes))


def compare_shares(
    plan: Plan,
    reports: Reports,
    first: Mapping[str, str],
    second: Mapping[str, str],
    *,
    positive: bool = False,
    of_those_who_answered: bool = True,
    **options: Unpack[ErrorOptions],
) -> ShareDifference:
    """Estimate the share of people who gave some answers minus the share of those who gave others.

    Parameters
    ----------
    plan : Plan
        The plan that the reports were made with.
    reports : Collection or iterable of Collection
        All reports.
    first, second : mapping of str to str
        Answers by question, such as {"smokes": "yes"} or {"smokes": "yes", "sex": "f"}. A question
        with the answer "no answer" restricts no one.
    positive : bool
        Whether people in one share are in the other at least as often as people in general. This
        matters if the questions of the two shares do not travel together: how many people are in
        both shares is then unknown, and the error is the largest possible one.
    of_those_who_answered : bool
        Whether each share refers to the people who answered all of its questions, or to all people.

    Returns
    -------
    ShareDifference
        The difference.

    Raises
    ------
    TableError
        For questions and answers that the plan does not have, and for questions of one share that
        do not travel together.
    UsageError
        If a share names no answers.
    ReportsError
        As for `estimate`.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> good, fair = {"self_rated_health": "good"}, {"self_rated_health": "fair"}
    >>> round(float(incrowd.compare_shares(plan, reports, good, fair).figure.estimate), 1)
    0.3
    """
    plan = with_merged(plan, options.get("merge"))
    for name, answers in (("first", first), ("second", second)):
        if not answers:
            raise UsageError.of(name, "estimation.no-answers")
    tables = check_tables(plan, [tuple(first), tuple(second)])
    for answers in (first, second):
        _check_answers(plan.survey, answers)
    joint = joint_table(plan, first, second)
    counted = count(plan, reports, tables=[joint] if joint else tables, kind="pairs")
    _, guarantee = check_arrived(plan, counted, options)
    shares = estimated_shares(plan, counted, first, second, of_those_who_answered)
    noise_only = without_sampling(plan, options)
    figure = shares_compared(plan, counted, shares, noise_only, positive)
    whose = None
    if any(share.selections[1:] for share in shares):
        whose = shares[0].answered, shares[1].answered
    return ShareDifference(dict(first), dict(second), figure, guarantee, counted.seed, whose)


def _check_answers(survey: Survey, answers: SelectedAnswers) -> None:
    """Raise TableError for an open question or a text question, and for an answer that a question
    does not have."""
    for id, answer in answers.items():
        question = survey.question(id)
        if question.open or question.one_way_only:
            code = "estimation.open-question" if question.open else "estimation.text-question"
            raise TableError.of("question", code, value=id)
        if answer not in question.answers:
            raise TableError.of(
                id,
                "estimation.no-such-answer",
                value=answer,
                hint=likely(answer, question.answers),
                question=id,
                answers=question.answers,
            )


def joint_table(plan: Plan, first: SelectedAnswers, second: SelectedAnswers) -> QuestionIds | None:
    """Return all questions of two shares, if one message holds them."""
    ids = tuple(dict.fromkeys((*first, *second)))
    return ids if any(message.holds(ids) for message in plan.messages) else None


class ComparedShare(NamedTuple):
    """An estimated share of the people who answered its questions, t = p / a.

    ids: the questions of the table from which it was estimated. selections: the selections of that
    table, first the answers of the share, then for each set of optional questions "no answer" to
    all of them; a is 1 minus the shares of the others, with signs. weights: the gradient of t in
    the shares of the selections. noise: the variance by noise; step: what one report moves.
    """

    answers: SelectedAnswers
    selections: tuple[SelectedAnswers, ...]
    estimate: float
    answered: float
    weights: np.ndarray
    table: TableEstimate
    noise: float
    step: float

    @property
    def law(self) -> ShareLaw:
        """The law of one person's contribution to the estimate, up to its mean: of people with the
        answers, of others who answered, and of those who did not."""
        share, answered = (min(max(each, 0.0), 1.0) for each in (self.estimate, self.answered))
        chances = np.array([share * answered, (1 - share) * answered, 1 - answered])
        return ShareLaw(np.array([1 - share, -share, 0.0]) / self.answered, chances)


class ShareLaw(NamedTuple):
    """A random number: values and their probabilities."""

    values: np.ndarray
    chances: np.ndarray

    @property
    def variance(self) -> float:
        """The variance of the number, whose mean is zero."""
        return float(self.chances @ self.values**2)


def least_covariance(first: ShareLaw, second: ShareLaw) -> float:
    """Return the smallest possible mean of the product of two random numbers: the largest values of
    one go with the smallest of the other (Hoeffding 1940; Fréchet's bound if both are shares)."""
    up, down = np.argsort(first.values), np.argsort(-second.values)
    ends = np.cumsum(first.chances[up]), np.cumsum(second.chances[down])
    cuts = np.unique(np.clip(np.concatenate([[0.0], *ends]), 0, 1))
    middles = (cuts[1:] + cuts[:-1]) / 2
    x, y = (
        law.values[order][np.minimum(np.searchsorted(end, middles), len(order) - 1)]
        for law, order, end in zip((first, second), (up, down), ends, strict=True)
    )
    return float(np.diff(cuts) @ (x * y))


def estimated_shares(
    plan: Plan,
    counted: Tally,
    first: SelectedAnswers,
    second: SelectedAnswers,
    of_those_who_answered: bool,
) -> tuple[ComparedShare, ComparedShare]:
    """Return both shares, from the table of all questions if a message holds it, otherwise each
    from its own.

    counted: counts of pairs for these tables. Raises TableError if the share of those who answered
    is not clearly above the noise.
    """
    ids = joint_table(plan, first, second)
    joint = table(plan, counted, ids, covariance=True, margin=True) if ids else None

    def share(answers: SelectedAnswers) -> ComparedShare:
        silent = _silent(plan.survey, answers) if of_those_who_answered else {}
        if joint is None and not silent:
            return _of_all_people(plan, counted, answers)
        ids = tuple(answers)
        whole = joint or table(plan, counted, ids, places=(1,), covariance=True, margin=True)
        return _among(whole, answers, silent)

    return share(first), share(second)


def _silent(survey: Survey, answers: SelectedAnswers) -> dict[str, tuple[str, ...]]:
    """Return the questions of a share that some people did not answer, who are then left out, and
    how these people are counted."""
    states = {id: survey.question(id).unanswered for id in answers}
    return {
        id: states[id] for id, answer in answers.items() if states[id] and answer not in UNANSWERED
    }


def _of_all_people(plan: Plan, counted: Tally, answers: SelectedAnswers) -> ComparedShare:
    """Return a share of all people, from a table of its questions without a covariance, which may
    have any number of cells."""
    whole = table(plan, counted, tuple(answers), places=(1,))
    place = tuple(plan.survey.question(id).answers.index(answer) for id, answer in answers.items())
    step = float(np.broadcast_to(whole.error.report, whole.estimate.shape)[place])
    noise = float(whole.error.noise[place]) ** 2
    return ComparedShare(
        answers, (answers,), float(whole.estimate[place]), 1.0, np.ones(1), whole, noise, step
    )


def _among(
    table: TableEstimate, answers: SelectedAnswers, silent: Mapping[str, tuple[str, ...]]
) -> ComparedShare:
    """Return a share of those who answered, from a table with margins. silent: the questions that
    some people did not answer, and how these people are counted, who are counted once each."""
    sets = [
        dict(zip(some, states, strict=True))
        for size in range(1, 1 + len(silent))
        for some in combinations(silent, size)
        for states in product(*(silent[id] for id in some))
    ]
    selections = (answers, *sets)
    signs = np.array([-((-1.0) ** len(each)) for each in sets])
    picked, noise = (pick(each, selections) for each in (table, table.noise_alone()))
    whole = 1 - float(signs @ picked.values[1:])
    error = math.sqrt(max(float(signs @ picked.covariance[1:, 1:] @ signs), 0.0))
    if sets:
        name = sentence("estimation.those-who-answered", questions=[*silent])
        check_clear("table", name, whole, error, USE_ALL)
    share = float(picked.values[0]) / whole
    weights = np.append(1.0, share * signs) / whole
    return ComparedShare(
        answers,
        selections,
        share,
        whole,
        weights,
        table,
        float(weights @ noise.covariance @ weights),
        float((np.abs(weights) * noise.step).max()),
    )


def shares_compared(
    plan: Plan,
    counted: Tally,
    shares: tuple[ComparedShare, ComparedShare],
    noise_only: bool,
    positive: bool,
) -> Comparison:
    """Return the first share minus the second. counted: as for `estimated_shares`.

    positive: whether people in one share are known to be in the other at least as often as people
    in general.
    """
    first, second = shares
    people, laws = int(min(share.table.people for share in shares)), (first.law, second.law)
    joint = first.table is second.table
    if joint:
        noise_covariance = _covariance(*shares, first.table.noise_alone())
        together = _covariance(*shares, first.table) - noise_covariance
    else:
        noise_covariance = _noise_covariance(plan, counted, first, second)
        together = 0.0 if positive else least_covariance(*laws) / people
    noise = max(first.noise + second.noise - 2 * noise_covariance, 0.0)
    sampling = max(sum(law.variance for law in laws) / people - 2 * together, 0.0)
    step = max(share.step if noise_only else 1 / people / share.answered for share in shares)
    error = math.sqrt(noise if noise_only else noise + sampling)
    reach = HALF_WIDTH * math.hypot(error, HALF_WIDTH * step if error else 0.0)
    estimate = first.estimate - second.estimate
    return Comparison(
        name=f"share of {named(first.answers)} less that of {named(second.answers)}",
        estimate=estimate,
        standard_error=error,
        low=estimate - reach,
        high=estimate + reach,
        scale="linear",
        level=LEVEL,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        reason="" if joint or noise_only else POSITIVE if positive else UNKNOWN,
        method="Wald",
    )


def _covariance(first: ComparedShare, second: ComparedShare, table: TableEstimate) -> float:
    """Return the covariance of two shares of one table, by its errors."""
    picked = pick(table, (*first.selections, *second.selections))
    across = picked.covariance[: len(first.weights), len(first.weights) :]
    return float(first.weights @ across @ second.weights)


def _noise_covariance(
    plan: Plan, counted: Tally, first: ComparedShare, second: ComparedShare
) -> float:
    """Return the covariance by noise of two tables in different messages.

    Joint reports of different messages have independent noise. The tables that come from all
    messages of cells together do not; they count with the weight that each table gives them.
    """
    parts, weight = [], 1.0
    for share in (first, second):
        sources = readings(plan, counted, tuple(share.answers))
        cells = [reading for reading in sources if isinstance(reading, CellsReading)]
        if not cells:
            return 0.0
        weight *= cells[0].weight / sum(reading.weight for reading in sources)
        parts.append([*_in_cells(plan.survey, cells[0], share)])
    return weight * sum(
        float(left @ one.covariance_with(other) @ right)
        for one, left in parts[0]
        for other, right in parts[1]
    )


def _in_cells(
    survey: Survey, reading: CellsReading, share: ComparedShare
) -> Iterator[tuple[CombinedTable, np.ndarray]]:
    """Yield a share as weighted sums of the cells of some tables.

    "Any answer" to a question that allows several answers is the table without the question.
    """
    questions = [survey.question(id) for id in share.answers]
    for selection, weight in zip(share.selections, share.weights, strict=True):
        held = [q for q in questions if q.id in selection or not q.many]
        rows = [
            np.eye(len(q.answers))[q.answers.index(selection[q.id])] @ answer_sums(q)
            if q.id in selection
            else answer_sums(q, margin=True)[-1]
            for q in held
        ]
        yield reading.combined(tuple(q.id for q in held)), weight * reduce(np.kron, rows)
