"""What people ask of a two-way table: independence, association, shares in groups, comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incrowd import views
from incrowd.errors import TableError, likely
from incrowd.estimation.association import IndependenceTest, cramers_v, independence_test
from incrowd.estimation.comparisons import conditional_share, difference, odds_ratio
from incrowd.estimation.quotients import Comparison
from incrowd.estimation.tables import TableEstimate
from incrowd.plans import Guarantee


@dataclass(frozen=True)
class TwoWay(views.Notebook, views.Tabular):
    """How two questions go together, every figure with its error or the reason for none.

    independence: a test that is valid under the noise. cramers_v: None where answers overlap.
    groups: the answers to the first question; answers: those to the second. shares: of each answer
    to the second question among those of each answer to the first, group by group.
    differences, odds_ratios: of each answer to the second question, each group that answers the
    first alike against the reference: its share less that of the reference, its odds over theirs;
    none of groups that overlap, where the table comes from cells, which do not tell by how much.
    wording: of both questions and their answers, if there is any. weighted_to: the names of the
    known margins that the table is weighted to; error_ratio: of its errors to those without
    weights, in the mean square.
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
    seed: int | None = None
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
        """All of them, in the order in which they are shown."""
        return tuple(figure for _, figure in self.kinds())

    def kinds(self) -> Iterator[tuple[str, Comparison]]:
        """Every figure with its kind."""
        if self.cramers_v:
            yield "cramers_v", self.cramers_v
        yield from (("share", figure) for figure in self.shares)
        yield from (("difference", figure) for figure in self.differences)
        yield from (("odds_ratio", figure) for figure in self.odds_ratios)


def two_way(
    table: TableEstimate, guarantee: Guarantee, seed: int | None, reference: str | None = None
) -> TwoWay:
    """All figures of a table of two questions that was estimated with its margins.

    reference: the answer to the first question with which its others are compared, as in a
    regression; by default its first. Raises TableError if there is no such answer.
    """
    (first, second), (groups, answers) = table.questions, table.answers
    pairs = [((second, answer), (first, group)) for group in groups for answer in answers]
    compared = groups[0] if reference is None else reference
    if compared not in groups:
        allowed = f"{likely(compared, groups)}this is no answer to {first}; use {', '.join(groups)}"
        raise TableError.of("reference", compared, allowed)
    against = [
        ((second, answer), (first, group), (first, compared))
        for answer in answers
        for group in groups
        if group != compared and (table.overlaps or table.exclusive[0])
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
