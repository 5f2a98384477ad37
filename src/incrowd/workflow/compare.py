"""Reports + Plan -> what people ask of a two-way table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import pyarrow as pa

from incrowd import views
from incrowd.estimation.association import IndependenceTest, cramers_v, independence_test
from incrowd.estimation.comparisons import conditional_share, difference, odds_ratio
from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.quotients import Comparison
from incrowd.estimation.readings import joint
from incrowd.planner.sources import check_tables
from incrowd.plans import Guarantee, Plan
from incrowd.presentation import comparisons
from incrowd.presentation.guarantees import guarantee_sentence
from incrowd.presentation.shell import rendered
from incrowd.presentation.simulated import marked_table, simulation_warning
from incrowd.workflow.estimate import Reports, check_arrived, count, readings


@dataclass(frozen=True)
class TwoWay(views.Tabular):
    """How two questions go together, every figure with its error or the reason for none.

    independence: a test that is valid under the noise. cramers_v: None where answers overlap.
    shares: of each answer to the second question among those of each answer to the first.
    differences, odds_ratios: of each answer to the second question, the first answer to the first
    question against each other one.
    """

    questions: tuple[str, str]
    guarantee: Guarantee
    independence: IndependenceTest
    cramers_v: Comparison | None
    shares: tuple[Comparison, ...]
    differences: tuple[Comparison, ...]
    odds_ratios: tuple[Comparison, ...]
    seed: int | None = None

    def __repr__(self) -> str:
        first, second = self.questions
        p = f"p={self.independence.p_value:.3g}" if self.independence.estimable else "no test"
        figures = f"{len(self.figures)} figures{views.simulated(self.seed)}"
        return f"TwoWay({second} by {first}, independence: {p}, {figures})"

    @property
    def figures(self) -> tuple[Comparison, ...]:
        """All of them, in the order in which they are shown."""
        return tuple(figure for _, figure in self._kinds())

    def _kinds(self) -> Iterator[tuple[str, Comparison]]:
        """Every figure with its kind."""
        if self.cramers_v:
            yield "cramers_v", self.cramers_v
        kinds = {
            "share": self.shares,
            "difference": self.differences,
            "odds_ratio": self.odds_ratios,
        }
        for kind, found in kinds.items():
            yield from ((kind, figure) for figure in found)

    def to_arrow(self) -> pa.Table:
        """A row for each figure: its kind, and the fields of `Comparison`."""
        rows = [{"kind": kind, **asdict(figure)} for kind, figure in self._kinds()]
        return marked_table(pa.Table.from_pylist(rows), self.seed)

    def _repr_html_(self) -> str:
        """What a notebook shows: what the terminal shows."""
        warned = [] if self.seed is None else [simulation_warning(self.seed)]
        independence = comparisons.independence_words(self.independence)
        return rendered(
            "comparison.html",
            title=comparisons.title(self.questions),
            said=[*warned, guarantee_sentence(self.guarantee), independence],
            headings=comparisons.HEADINGS,
            rows=list(map(comparisons.row, self.figures)),
            notes=comparisons.notes(self.figures),
        )


def compare(
    plan: Plan,
    reports: Reports,
    first: str,
    second: str,
    *,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
) -> TwoWay:
    """Compare the answers to `second` between those who gave each answer to `first`.

    Raises ReportsError as `estimate` does, TableError for questions that the plan does not have.
    """
    ids = check_tables(plan, [(first, second)])[0]
    counted = count(plan, reports, tables=[ids], kind="pairs")
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd)
    table = joint(plan, readings(plan, counted, ids), ids, noise_only, margin=True)
    return TwoWay(
        questions=(first, second),
        guarantee=guarantee,
        independence=independence_test(table),
        cramers_v=cramers_v(table) if all(table.exclusive) else None,
        shares=tuple(conditional_share(table, of, given) for of, given in _pairs(table)),
        differences=tuple(difference(table, *of) for of in _against_first(table)),
        odds_ratios=tuple(odds_ratio(table, *of) for of in _against_first(table)),
        seed=counted.seed,
    )


Answer = tuple[str, str]


def _pairs(joint: JointEstimate) -> Iterator[tuple[Answer, Answer]]:
    (first, second), (groups, answers) = joint.questions, joint.answers
    return (((second, answer), (first, group)) for group in groups for answer in answers)


def _against_first(joint: JointEstimate) -> Iterator[tuple[Answer, Answer, Answer]]:
    (first, second), (groups, answers) = joint.questions, joint.answers
    for answer in answers:
        for group in groups[1:]:
            yield (second, answer), (first, groups[0]), (first, group)
