"""The usual figures of a two-way table: independence, association, shares in groups, comparisons.

The figures take a `TableEstimate` with margins on the axes that a comparison leaves free: "any
answer" is read off the reports directly, with less noise than a sum of noisy cells, and this is
also right for the overlapping options of a `multi` question. Each figure is a ratio with a positive
denominator (see `ratios`), and its interval covers at any size; `unbounded` says where the data set
no limit. Measures of a whole table are in `association`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, Unpack

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import likely, translatable
from incrowd.errors import TableError
from incrowd.estimation.association import IndependenceTest, cramers_v, independence_test
from incrowd.estimation.delta_method import linear, named, product
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.options import WeightedOptions, without_sampling
from incrowd.estimation.ratios import (
    DIFFERENCE,
    ODDS,
    SHARE,
    Comparison,
    GroupPrecision,
    QuestionAnswer,
    compared,
    groups_of,
    precision_of,
)
from incrowd.estimation.readings import check_tables, table
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.weighting.known_margins import known_margins
from incrowd.estimation.weighting.margins import USE_ALL, weights_facts, weights_words
from incrowd.estimation.weighting.weighting import (
    TableChange,
    counted_for,
    derived,
    without,
    without_states,
)
from incrowd.estimation.wording import (
    IN_R,
    INTERVALS,
    PERCENT,
    POINTS_BETWEEN,
    among_each,
    comparison_sheet,
    marks,
    methods_words,
    notes,
    people_words,
    percent_lines,
    precision_tables,
    row,
)
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import with_merged
from incrowd.survey import NOT_ASKED, UNANSWERED, Survey
from incrowd.survey.asking import answers_of_asked
from incrowd.survey.question import QuestionIds
from incrowd.views import IntervalPlot, Numbers, Sheet, View

_HEADINGS = (
    translatable("estimation.figure"),
    translatable("estimation.column-estimate"),
    INTERVALS,
)
A, NOT_A, B, NOT_B = np.eye(4)  # gave the answer or did not: first group, then second group


@dataclass(frozen=True)
class TwoWay(views.Result):
    """The relation of two questions. Every figure has its error, or the reason why it has none.

    Attributes
    ----------
    questions : tuple of str
        The ids of both questions.
    groups : tuple of str
        The answers to the first question.
    answers : tuple of str
        The answers to the second question.
    guarantee : Guarantee
        What holds for the people in the reports.
    independence : IndependenceTest
        A test that is valid under the noise.
    cramers_v : Comparison or None
        None if answers overlap.
    shares : tuple of Comparison
        Of each answer to the second question among those who gave each answer to the first, group
        by group.
    differences, odds_ratios : tuple of Comparison
        For each answer to the second question, every other group compared with the reference group:
        its share minus theirs, its odds divided by theirs. Both are empty if the groups overlap and
        the table comes from cells, which do not show by how much.
    precision : tuple of GroupPrecision
        The effective number of people and the design effect of each group; empty if the people are
        fixed.
    seed : int or None
        Of a simulation; None for real reports.
    answered : float or None
        The share of the people who answered both questions, to whom all figures refer. None if they
        refer to all people, for whom "no answer" is an answer, or if no question is optional.
    wording : tuple of str
        Of both questions and their answers, if the survey has it.
    weighted_to : tuple of str
        The names of the known margins to which the table is weighted.
    error_ratio : float or None
        The errors divided by those without weights, in the mean square.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> both = incrowd.compare(plan, reports, "physical_limitation", "self_rated_health")
    >>> both.groups, both.answers
    (('no', 'yes'), ('excellent', 'good', 'fair', 'poor'))
    >>> excellent = both.differences[0]  # of those with a limitation against those without
    >>> excellent.high < 0
    True
    """

    questions: tuple[str, str]
    groups: tuple[str, ...]
    answers: tuple[str, ...]
    guarantee: Guarantee
    independence: IndependenceTest
    cramers_v: Comparison | None
    shares: tuple[Comparison, ...]
    differences: tuple[Comparison, ...]
    odds_ratios: tuple[Comparison, ...]
    precision: tuple[GroupPrecision, ...] = ()
    seed: int | None = None
    answered: float | None = None
    wording: tuple[str, ...] = ()
    weighted_to: tuple[str, ...] = ()
    error_ratio: float | None = None

    def __repr__(self) -> str:
        first, second = self.questions
        p = f"p={self.independence.p_value:.3g}" if self.independence.estimable else "no test"
        figures = f"{len(self.figures)} figures{views.simulated(self.seed)}"
        return f"TwoWay({second} by {first}, independence: {p}, {figures})"

    @property
    def figures(self) -> tuple[Comparison, ...]:
        """All figures, in the order in which they are shown."""
        return tuple(figure for _, figure in self.kinds())

    def kinds(self) -> Iterator[tuple[str, Comparison]]:
        """Yield every figure with its kind."""
        if self.cramers_v:
            yield "cramers_v", self.cramers_v
        yield from (("share", figure) for figure in self.shares)
        yield from (("difference", figure) for figure in self.differences)
        yield from (("odds_ratio", figure) for figure in self.odds_ratios)

    @property
    def in_r(self) -> str:
        """Lines of R that use the figures."""
        return IN_R

    def facts(self) -> dict[str, Any]:
        """Return all figures. JSON has no infinity: it is null, and `unbounded` names the sides
        without a limit."""
        facts = {**vars(self)}
        weights = weights_facts(facts.pop("weighted_to"), facts.pop("error_ratio"))
        if not self.wording:
            del facts["wording"]
        return facts | weights

    def long_table(self) -> Sheet:
        """Return a row for each figure: its kind, and the fields of `Comparison`."""
        return comparison_sheet(self.kinds())

    def sheets(self) -> Sequence[Sheet]:
        """Return the figures, and the test of independence."""
        names = ("statistic", "degrees_of_freedom", "p_value")
        tested = tuple(getattr(self.independence, name) for name in names)
        return self.long_table(), Sheet("independence", names, (tested,))

    def view(self) -> View:
        """Return the test of independence, the crosstab and the comparisons."""
        first, second = self.questions
        title = translatable("estimation.one-by-other", second=second, first=first)
        mark, kinds = marks(self.figures), [each for each in self.kinds() if each[0] != "share"]
        figures = tuple(row(item, kind, mark(item)) for kind, item in kinds)
        return View(
            title=title,
            legend=self.wording,
            lines=(
                *people_words((*self.groups, *self.answers), self.answered),
                self.independence.sentence,
            ),
            tables=(
                self._shares_table(mark),
                Numbers(title, _HEADINGS, figures),
                *precision_tables(first, self.precision),
            ),
            notes=tuple(self._notes()),
        )

    def _shares_table(self, mark: Callable[[Comparison], str]) -> Numbers:
        """Return the shares of answers within each group, with their intervals."""
        (first, second), number = self.questions, len(self.answers)
        rows = zip(self.shares, (row(item, "share") for item in self.shares), strict=True)
        cells = [
            translatable(
                "estimation.with-interval", estimate=estimate, interval=interval, mark=mark(item)
            )
            for item, (_, estimate, interval) in rows
        ]
        lines = tuple(
            (group, *cells[place * number : (place + 1) * number])
            for place, group in enumerate(self.groups)
        )
        return Numbers(among_each(second, first), (first, *self.answers), lines)

    def _notes(self) -> Iterator[str]:
        """Yield the weights, if any, the methods, and the notes on the figures."""
        if weights := weights_words(self.weighted_to, self.error_ratio):
            yield weights
        yield methods_words(self.figures)
        if self.odds_ratios:
            yield translatable("estimation.odds-ratios-mean")
        length, test = self.cramers_v, self.independence
        rejected = test.estimable and test.p_value <= 0.05
        if length and length.estimable and length.low <= 0 and rejected:
            yield translatable("estimation.cramers-v-and-p")
        yield from notes(self.figures)

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the shares within each group, and the differences to the reference group."""
        first, second = self.questions
        plots = [
            IntervalPlot(
                among_each(second, first),
                translatable("estimation.percent-of-group"),
                percent_lines(self.groups, self.answers, self.shares),
                PERCENT,
            )
        ]
        if self.differences:
            # Every difference names the reference group last.
            names = (f" {named({first: group})}" for group in self.groups)
            ends = zip(self.groups, names, strict=True)
            last = self.differences[0].name
            reference = max((group for group, end in ends if last.endswith(end)), key=len)
            others = [group for group in self.groups if group != reference]
            lines = percent_lines(self.answers, others, self.differences)
            title = translatable(
                "estimation.difference-to", second=second, first=first, reference=reference
            )
            axis = translatable("estimation.percentage-points")
            plots.append(IntervalPlot(title, axis, lines, POINTS_BETWEEN))
        return plots

    def worded(self, survey: Survey) -> Self:
        """Return the same figures with a survey's wording of the questions."""
        return replace(self, wording=survey.legend(*self.questions))


def compare(
    plan: Plan,
    reports: Reports,
    first: str,
    second: str,
    *,
    reference: str | None = None,
    of_those_who_answered: bool = True,
    **options: Unpack[WeightedOptions],
) -> TwoWay:
    """Compare the answers to one question between those who gave each answer to another.

    Parameters
    ----------
    plan : Plan
        The plan that the reports were made with.
    reports : Collection or iterable of Collection
        All reports.
    first : str
        The id of the question whose answers define the groups.
    second : str
        The id of the question whose answers are compared.
    reference : str, optional
        The answer to `first` with which each of the others is compared, as in `regress`; by default
        the first one.
    of_those_who_answered : bool
        Whether all figures describe the people who answered both questions, as in `correlate` and
        `regress`. Otherwise they describe all people: "no answer" is then a group of its own, and
        people who did not answer are among those who did not give each other answer.

    Returns
    -------
    TwoWay
        Shares, differences, odds ratios, and a test of independence.

    Raises
    ------
    ReportsError
        As for `estimate`.
    TableError
        For questions or answers that the plan does not have, and tables that cannot be weighted.
    UsageError
        For answers that cannot be merged.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> both = incrowd.compare(plan, reports, "physical_limitation", "self_rated_health")
    >>> both.independence.p_value < 0.001
    True
    """
    joint = joint_table(
        plan, reports, (first, second), of_those_who_answered=of_those_who_answered, **options
    )
    result = two_way(joint.table, joint.guarantee, joint.seed, reference)
    return replace(
        result,
        precision=precision_of(joint.table, joint.unweighted),
        answered=joint.answered,
        wording=joint.plan.survey.legend(first, second),
        weighted_to=joint.weighted_to,
        error_ratio=joint.error_ratio,
    )


class Joint(NamedTuple):
    """A table of two questions with its covariance, and the margin "any answer" of each.

    plan: with merged answers. table: the table of all people or of those who answered both
    questions; cells: the same cells as shares of all people. population: the number of all people,
    as stated by margins or else in the reports. unweighted: `table` without weights, if it is
    weighted. The other fields are as in `TwoWay`.
    """

    plan: Plan
    table: TableEstimate
    cells: TableEstimate
    population: float
    guarantee: Guarantee
    seed: int | None
    answered: float | None
    unweighted: TableEstimate | None = None
    weighted_to: tuple[str, ...] = ()
    error_ratio: float | None = None


def joint_table(
    plan: Plan,
    reports: Reports,
    questions: tuple[str, str],
    *,
    of_those_who_answered: bool = True,
    **options: Unpack[WeightedOptions],
) -> Joint:
    """Return the table of two questions. Arguments and errors are those of `compare`."""
    plan = with_merged(plan, options.get("merge"))
    noise_only, margins = without_sampling(plan, options), options.get("margins")
    ids = check_tables(plan, [questions])[0]
    absent = _never_given(plan.survey, ids) if of_those_who_answered else ()
    change = None
    if margins is not None:
        change = TableChange(
            known_margins(plan.survey, margins), UNANSWERED if of_those_who_answered else ()
        )
    weighting = (counted_for(plan, ids, change),) if change else ()
    counted = count(plan, reports, tables=list(filter(None, (ids, *weighting))), kind="pairs")
    _, guarantee = check_arrived(plan, counted, options)
    changed = derived(plan, counted, ids, change) if change else None
    if changed:
        joint = changed.weighted
    else:
        joint = table(plan, counted, ids, noise_only, covariance=True, margin=True)
    cells, population, answered = joint, joint.people, None
    if change:
        population = change.population(joint.people)
    if of_those_who_answered and any(set(UNANSWERED) & set(each) for each in joint.answers):
        cells, (joint, _) = without_states(joint, absent=absent), without(joint, absent=absent)
        answered = float(cells.estimate.flat[-1])
    if noise_only:
        joint, cells = joint.noise_alone(), cells.noise_alone()
    result = Joint(plan, joint, cells, population, guarantee, counted.seed, answered)
    if not changed:
        return result
    before = table(plan, counted, ids, noise_only, covariance=True, margin=True)
    return result._replace(
        unweighted=without(before, absent=absent)[0] if answered is not None else before,
        weighted_to=changed.table.provenance.weighted_to,
        error_ratio=changed.table.provenance.error_ratio,
    )


def _never_given(survey: Survey, ids: QuestionIds) -> tuple[tuple[str, ...], ...]:
    """Return the answers to each of two questions that nobody gives who is asked the other one.

    Raises TableError if only one answer is left.
    """
    first, second = map(survey.question, ids)
    absent = []
    for question, other in ((first, second), (second, first)):
        given = set(question.substantive)
        if NOT_ASKED in other.answers:
            given = {*map(question.read_as, answers_of_asked(question, other, survey.questions))}
        if len(given) == 1 < len(question.substantive):
            raise TableError.of(
                "table",
                "estimation.one-answer-of-asked",
                value=",".join(ids),
                other=other.id,
                id=question.id,
                answer=given.pop(),
                way_out=USE_ALL,
            )
        absent.append(tuple(each for each in question.substantive if each not in given))
    return tuple(absent)


def two_way(
    table: TableEstimate, guarantee: Guarantee, seed: int | None, reference: str | None = None
) -> TwoWay:
    """Return all figures of a table of two questions that was estimated with its margins.

    reference: the answer to the first question with which the others are compared, as in a
    regression; by default the first one. Raises TableError if there is no such answer.
    """
    (first, second), (groups, answers) = table.questions, table.answers
    pairs = [((second, answer), (first, group)) for group in groups for answer in answers]
    base = groups[0] if reference is None else reference
    if base not in groups:
        raise TableError.of(
            "reference",
            "estimation.no-such-answer",
            value=base,
            hint=likely(base, groups),
            question=first,
            answers=groups,
        )
    against = [
        ((second, answer), (first, group), (first, base))
        for answer in answers
        for group in groups
        if group != base and (table.error.overlaps or table.exclusive[0])
    ]
    return TwoWay(
        questions=(first, second),
        groups=groups,
        answers=answers,
        guarantee=guarantee,
        independence=independence_test(table),
        cramers_v=cramers_v(table) if all(table.exclusive) else None,
        shares=tuple(conditional_share(table, *pair) for pair in pairs),
        differences=tuple(difference(table, *each) for each in against),
        odds_ratios=tuple(odds_ratio(table, *each) for each in against),
        seed=seed,
    )


# --- the figures ------------------------------------------------------------------------------


def conditional_share(
    table: TableEstimate, of: QuestionAnswer, given: QuestionAnswer
) -> Comparison:
    """Return the share of those who answer `of` among those who answer `given`.

    Raises TableError if the table has no such answer or lacks a margin.
    """
    both = {"of": named(dict([of])), "given": named(dict([given]))}
    name = translatable("estimation.share-of", **both)
    shares, groups = groups_of(table, of, given)
    over, under = linear(shares, np.array([1, 0])), linear(shares, np.array([1, 1]))
    factors = {named(dict([given])): under.gradient}
    return compared(name, over, under, shares, factors, groups, SHARE)


def difference(
    table: TableEstimate, of: QuestionAnswer, first: QuestionAnswer, second: QuestionAnswer
) -> Comparison:
    """Return the share of `of` among `first` minus the share among `second`, with little bias.

    Raises TableError if the table has no such answer or lacks a margin.
    """
    shares, groups = groups_of(table, of, first, second)
    over = product(shares, A, NOT_B) - product(shares, NOT_A, B)
    under = product(shares, A + NOT_A, B + NOT_B)
    factors = {named(dict([first])): A + NOT_A, named(dict([second])): B + NOT_B}
    name = _name("estimation.difference-of", of, first, second)
    return compared(name, over, under, shares, factors, groups, DIFFERENCE)


def odds_ratio(
    table: TableEstimate, of: QuestionAnswer, first: QuestionAnswer, second: QuestionAnswer
) -> Comparison:
    """Return the odds of `of` among `first` divided by the odds among `second`, with little bias.

    Raises TableError if the table has no such answer or lacks a margin.
    """
    shares, groups = groups_of(table, of, first, second)
    over, under = product(shares, A, NOT_B), product(shares, NOT_A, B)
    without = translatable(
        "estimation.without", group=named(dict([first])), answer=named(dict([of]))
    )
    factors = {without: NOT_A, named(dict([of, second])): B}
    name = _name("estimation.odds-ratio-of", of, first, second)
    return compared(name, over, under, shares, factors, groups, ODDS)


def _name(code: str, of: QuestionAnswer, first: QuestionAnswer, second: QuestionAnswer) -> str:
    names = {
        "of": named(dict([of])),
        "first": named(dict([first])),
        "second": named(dict([second])),
    }
    return translatable(code, **names)
